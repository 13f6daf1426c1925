//! A flow in the simulated network: its two ends, the way back between them, and what is counted.

use super::fate::Census;
use super::host::{Arrival, Hosts};
use super::outcome::{FlowOutcome, Sample};
use super::pacer::Pacer;
use super::player::Player;
use super::receiver::{Ack, Receiver};
use super::sender::Sender;
use super::simulation::FlowConfig;
use super::source::{App, Source};
use super::wire::{Departure, HEADER_BYTES};
use pcc::Time;
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Flow {
    pub route: Vec<usize>,
    pub reverse: Option<usize>,
    pub census: Census,
    reverse_delay: Duration,
    stop: Time,
    /// `None` once the flow has ended.
    ends: Option<Box<Ends>>,
    newest_rtt: Duration,
    outcome: FlowOutcome,
}

#[derive(Debug)]
struct Ends {
    sender: Sender,
    receiver: Receiver,
    player: Option<Player>,
    /// Acknowledgements, and segments that the viewer asked for, with the time when the sender hears of them.
    acks: VecDeque<(Time, Ack)>,
    requests: VecDeque<(Time, u64)>,
    /// `None` if they are perfect.
    hosts: Option<Box<Hosts>>,
}

impl Ends {
    /// When one of the ends, whose hosts aren't perfect, runs next.
    fn next_run(&mut self, now: Time) -> Option<Time> {
        let (timer, came) = (self.sender.next_event(now), self.came());
        self.hosts.as_mut()?.next_run(now, timer, came, self.receiver.next_event())
    }

    /// Whether the sender, whose host isn't perfect, runs now.
    fn sender_runs(&mut self, now: Time) -> bool {
        let (timer, came) = (self.sender.next_event(now), self.came());
        self.hosts.as_mut().is_some_and(|hosts| hosts.sender_runs(now, timer, came))
    }

    /// When the first of what waits for the sender came, or comes.
    fn came(&self) -> Option<Time> {
        let ack = self.acks.front().map(|(due, _)| *due);
        ack.into_iter().chain(self.requests.front().map(|(due, _)| *due)).min()
    }

    /// The sender does what is due. Returns the number of acknowledgements that it took.
    #[inline]
    fn run_sender(&mut self, now: Time, outcome: &mut FlowOutcome, newest_rtt: &mut Duration) -> u32 {
        let mut taken = 0;
        while let Some(ack) = pop_due(&mut self.acks, now) {
            taken += 1;
            self.sender.on_ack(now, ack, &mut self.receiver, |rtt| {
                *newest_rtt = rtt;
                outcome.rtt.add(rtt);
            });
        }
        while let Some(segments) = pop_due(&mut self.requests, now) {
            self.sender.source.extend(segments);
        }
        self.sender.on_time(now);
        taken
    }
}

impl Flow {
    pub fn new(mut flow: FlowConfig, packet_bytes: u32, end: Time, mut rng: fastrand::Rng) -> Flow {
        if let Some(packets) = flow.sender.initial_window {
            flow.control.on_initial_window(packets);
        }
        let player = match flow.app {
            App::Video(video) => Some(Player::new(video, flow.start, u64::from(packet_bytes - HEADER_BYTES))),
            _ => None,
        };
        let source = Source::new(flow.app, flow.start, packet_bytes);
        let complete = source.total().map(|_| false);
        let stop = flow.stop.unwrap_or(end).min(end);
        let hosts = Hosts::new(&flow.sender, &flow.receiver, &mut rng);
        let pacer = Pacer::new(flow.sender.pacing, flow.start, rng);
        let receiver = Receiver::new(flow.acks, &flow.receiver);
        let mut sender =
            Sender::new(flow.control, flow.ecn, source, flow.start, packet_bytes, flow.acks.max_delay, pacer);
        sender.edge = receiver.edge();
        let ends = Ends { sender, receiver, hosts, player, acks: VecDeque::new(), requests: VecDeque::new() };
        Flow {
            route: flow.route,
            reverse: flow.reverse,
            census: Census::default(),
            reverse_delay: flow.reverse_delay,
            stop,
            ends: Some(Box::new(ends)),
            newest_rtt: Duration::ZERO,
            outcome: FlowOutcome::new(flow.start, stop, complete),
        }
    }

    /// When [`wake`](Self::wake) wants to be called.
    pub fn next_event(&mut self, now: Time) -> Option<Time> {
        let ends = self.ends.as_mut()?;
        let start = self.outcome.start;
        if now < start {
            return Some(start);
        }
        if ends.hosts.is_some() {
            let events = [ends.next_run(now), ends.player.as_ref().and_then(Player::next_request), Some(self.stop)];
            return events.into_iter().flatten().min();
        }
        let events = [
            ends.sender.next_event(now),
            ends.receiver.next_event(),
            ends.acks.front().map(|(due, _)| *due),
            ends.requests.front().map(|(due, _)| *due),
            ends.player.as_ref().and_then(Player::next_request),
            Some(self.stop),
        ];
        events.into_iter().flatten().min()
    }

    /// Does what is due. Returns an acknowledgement that has to go back.
    pub fn wake(&mut self, now: Time) -> Option<Ack> {
        if now >= self.stop {
            self.finish(now);
        }
        if self.ends.as_ref().is_some_and(|ends| ends.hosts.is_some()) {
            return self.wake_hosts(now);
        }
        let Flow { ends: Some(ends), outcome, newest_rtt, .. } = self else { return None };
        ends.run_sender(now, outcome, newest_rtt);
        self.watch(now);
        self.ends.as_mut()?.receiver.on_time(now)
    }

    /// The same for hosts that aren't perfect: each end does what is due when it runs.
    fn wake_hosts(&mut self, now: Time) -> Option<Ack> {
        let Flow { ends: Some(ends), outcome, newest_rtt, .. } = self else { return None };
        if ends.sender_runs(now) {
            let taken = ends.run_sender(now, outcome, newest_rtt);
            ends.hosts.iter_mut().for_each(|hosts| hosts.sender_took(now, taken));
        }
        self.watch(now);
        let ends = self.ends.as_mut()?;
        let hosts = ends.hosts.as_mut()?;
        if !hosts.receiver_runs(now, ends.receiver.next_event()) {
            return None;
        }
        let arrived = std::mem::take(&mut hosts.inbox);
        hosts.receiver_took(now, arrived.len() as u32);
        let hides_delay = hosts.hides_delay;
        ends.receiver.rtt = ends.sender.smoothed_rtt().unwrap_or_default();
        let mut due = ends.receiver.next_event().is_some_and(|due| due <= now);
        for Arrival { packet, queued, .. } in arrived {
            let (new, at_once) = self.ends.as_mut()?.receiver.take(now, &packet);
            due |= at_once;
            self.count(now, &packet, queued, new);
        }
        let ack = if due { self.ends.as_mut()?.receiver.ack(now) } else { None };
        ack.map(|ack| if hides_delay { Ack { delay: Duration::ZERO, ..ack } } else { ack })
    }

    /// The viewer of a video asks for more.
    #[inline]
    fn watch(&mut self, now: Time) {
        let Some(ends) = &mut self.ends else { return };
        if let Some(segments) = ends.player.as_mut().and_then(|player| player.request(now)) {
            ends.requests.push_back((now + self.reverse_delay, segments));
        }
    }

    /// The next packet to send, if one may go.
    pub fn send(&mut self, now: Time) -> Option<Departure> {
        let ends = self.ends.as_mut()?;
        let Some(hosts) = &mut ends.hosts else { return ends.sender.send(now) };
        if !hosts.may_send(now) {
            return None;
        }
        let packet = ends.sender.send(now)?;
        hosts.sender_sent(now);
        Some(packet)
    }

    /// A packet arrives at the receiver. Returns an acknowledgement that has to go back.
    pub fn on_packet(&mut self, now: Time, packet: &Departure, queued: Duration) -> Option<Ack> {
        let ends = self.ends.as_mut()?;
        if let Some(hosts) = &mut ends.hosts {
            hosts.inbox.push_back(Arrival { time: now, packet: *packet, queued });
            return None;
        }
        let (new, ack) = ends.receiver.on_packet(now, packet);
        self.count(now, packet, queued, new);
        ack
    }

    /// Counts a packet that the receiver has taken in.
    #[inline]
    fn count(&mut self, now: Time, packet: &Departure, queued: Duration, new: bool) {
        let Some(ends) = &mut self.ends else { return };
        self.outcome.queueing.add(queued);
        if new {
            self.outcome.deliver(now, packet.bytes.into());
        }
        let in_order = ends.receiver.in_order;
        if let Some(player) = &mut ends.player {
            player.on_progress(now, in_order);
        }
        if ends.sender.source.total().is_some_and(|total| in_order >= total) {
            self.outcome.complete = Some(true);
            self.finish(now);
        }
    }

    /// An acknowledgement has passed all links of the way back.
    pub fn on_ack_arrival(&mut self, now: Time, ack: Ack) {
        if let Some(ends) = &mut self.ends {
            ends.acks.push_back((now + self.reverse_delay, ack));
        }
    }

    /// Forgets what was counted so far.
    pub fn begin_measurement(&mut self) {
        if let Some(ends) = &mut self.ends {
            ends.sender.counts = Default::default();
            self.census.begin_measurement();
        }
        self.outcome.begin_measurement();
    }

    pub fn sample(&mut self) {
        let rate_mbps = self.ends.as_ref().map_or(0.0, |ends| ends.sender.rate_mbps());
        self.outcome.samples.push(Sample { rate_mbps, rtt_ms: self.newest_rtt.as_secs_f64() * 1e3 });
    }

    fn finish(&mut self, now: Time) {
        let Some(mut ends) = self.ends.take() else { return };
        self.outcome.end = now;
        self.outcome.sent = ends.sender.counts.sent;
        self.outcome.lost = ends.sender.counts.lost;
        self.outcome.spurious = ends.sender.counts.spurious;
        self.outcome.fates = Some(self.census.fates());
        self.outcome.marked = ends.sender.is_ecn_capable().then_some(ends.sender.counts.marked);
        self.outcome.stall_ratio = ends.player.as_mut().map(|player| player.stall_ratio(now));
    }

    pub fn into_outcome(mut self, now: Time) -> FlowOutcome {
        self.finish(now);
        self.outcome
    }
}

/// The first of a queue by time, if it is due.
fn pop_due<T>(queue: &mut VecDeque<(Time, T)>, now: Time) -> Option<T> {
    if queue.front()?.0 <= now { queue.pop_front().map(|(_, item)| item) } else { None }
}
