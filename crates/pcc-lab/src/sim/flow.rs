//! A flow in the simulated network: its two ends, the way back between them, and what is counted.

use super::outcome::{FlowOutcome, Sample};
use super::player::Player;
use super::receiver::{Ack, Receiver};
use super::sender::{Departure, Sender};
use super::simulation::FlowConfig;
use super::source::{App, Source};
use super::wire::HEADER_BYTES;
use pcc::Time;
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Flow {
    pub route: Vec<usize>,
    pub reverse: Option<usize>,
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
}

impl Flow {
    pub fn new(flow: FlowConfig, packet_bytes: u32, end: Time, rng: fastrand::Rng) -> Flow {
        let player = match flow.app {
            App::Video(video) => Some(Player::new(video, flow.start, u64::from(packet_bytes - HEADER_BYTES))),
            _ => None,
        };
        let source = Source::new(flow.app, flow.start, packet_bytes);
        let complete = source.total().map(|_| false);
        let stop = flow.stop.unwrap_or(end).min(end);
        let ends = Ends {
            sender: Sender::new(flow.control, source, flow.start, packet_bytes, flow.acks.max_delay, rng),
            receiver: Receiver::new(flow.acks),
            player,
            acks: VecDeque::new(),
            requests: VecDeque::new(),
        };
        Flow {
            route: flow.route,
            reverse: flow.reverse,
            reverse_delay: flow.reverse_delay,
            stop,
            ends: Some(Box::new(ends)),
            newest_rtt: Duration::ZERO,
            outcome: FlowOutcome::new(flow.start, stop, complete),
        }
    }

    /// When [`wake`](Self::wake) wants to be called.
    pub fn next_event(&self, now: Time) -> Option<Time> {
        let ends = self.ends.as_ref()?;
        let start = self.outcome.start;
        if now < start {
            return Some(start);
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
        let Flow { ends: Some(ends), outcome, newest_rtt, .. } = self else { return None };
        while let Some(ack) = pop_due(&mut ends.acks, now) {
            ends.sender.on_ack(now, ack, &mut ends.receiver, |rtt| {
                *newest_rtt = rtt;
                outcome.rtt.add(rtt);
            });
        }
        while let Some(segments) = pop_due(&mut ends.requests, now) {
            ends.sender.source.extend(segments);
        }
        ends.sender.on_time(now);
        if let Some(segments) = ends.player.as_mut().and_then(|player| player.request(now)) {
            ends.requests.push_back((now + self.reverse_delay, segments));
        }
        ends.receiver.on_time(now)
    }

    /// The next packet to send, if one may go.
    pub fn send(&mut self, now: Time) -> Option<Departure> {
        self.ends.as_mut()?.sender.send(now)
    }

    /// A packet arrives at the receiver. Returns an acknowledgement that has to go back.
    pub fn on_packet(&mut self, now: Time, packet: &Departure, queued: Duration) -> Option<Ack> {
        let ends = self.ends.as_mut()?;
        let (new, ack) = ends.receiver.on_packet(now, packet.number, packet.segment);
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
        ack
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
