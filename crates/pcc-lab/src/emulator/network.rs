//! The links between the two sides, in virtual time: a packet enters the next link when it was due from the last, however late
//! the thread is.

use super::flow::{Fate, Flow};
use super::frame::Frame;
use super::{Addressing, Config, Route};
use crate::link::{Delivered, PathConfig};
use crate::sim::{Agenda, Clock, Link, Outcome};
use pcc::Time;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

/// The two ends of the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Senders of data.
    Left,
    /// Receivers of data.
    Right,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }
}

/// A packet that has passed all links of its route.
#[derive(Debug)]
pub(super) struct Arrival {
    pub to: Side,
    pub flow: usize,
    pub due: Time,
    pub frame: Rc<Frame>,
    pub segment: u32,
}

#[derive(Debug)]
struct InTransit {
    frame: Rc<Frame>,
    segment: u32,
    flow: usize,
    to: Side,
    /// How many links of its route it has passed.
    passed: usize,
    entered: Time,
    /// How long it waited in queues.
    queued: Duration,
    /// Of data.
    fate: Option<Fate>,
}

/// The actors of the agenda are the links, then the ways back, then the clock.
#[derive(Debug)]
pub(super) struct Network {
    addressing: Addressing,
    flows: Vec<Flow>,
    /// How many of `links` are the configured ones; then comes for each flow what else its way back takes.
    configured: usize,
    links: Vec<Link<InTransit>>,
    agenda: Agenda,
    clock: Clock,
    end: Time,
    arrivals: VecDeque<Arrival>,
    delivered_bytes: u64,
    /// Once the end has come; and of each flow how large its bursts were.
    outcome: Option<(Outcome, Vec<u64>)>,
}

impl Network {
    pub fn new(config: Config) -> Network {
        let mut seeds = fastrand::Rng::with_seed(config.seed);
        let configured = config.links.len();
        let ways_back: Vec<PathConfig> =
            config.routes.iter().map(|route| PathConfig::delay_only(route.reverse_delay)).collect();
        let links: Vec<_> = config.links.iter().chain(&ways_back).map(|link| Link::new(link, seeds.u64(..))).collect();
        let end = Time::ZERO + config.duration;
        let flow = |(index, route): (usize, Route)| {
            let stop = route.stop.map_or(config.duration, |stop| stop.min(config.duration));
            let delays = route.reverse.iter().filter_map(|link| config.links.get(*link)).map(|link| link.delay);
            let way_back = delays.sum::<Duration>() + route.reverse_delay;
            Flow::new(route, configured + index, way_back, Time::ZERO + stop, config.record)
        };
        let mut network = Network {
            addressing: config.addressing,
            flows: config.routes.into_iter().enumerate().map(flow).collect(),
            configured,
            agenda: Agenda::new(links.len() + 1),
            links,
            clock: Clock::new(config.measure_from, config.record),
            end,
            arrivals: VecDeque::new(),
            delivered_bytes: 0,
            outcome: None,
        };
        network.set_clock(Time::ZERO);
        network
    }

    /// The packets of a frame come from a side at `now`; whether they belong to a flow.
    pub fn enter(&mut self, now: Time, from: Side, frame: Frame) -> bool {
        self.advance(now);
        let Some(index) = self.addressing.flow(from, &frame).filter(|flow| *flow < self.flows.len()) else {
            return false;
        };
        let frame = Rc::new(frame);
        for segment in 0..frame.segments() {
            let fate = (from == Side::Left).then(|| self.flows[index].on_sent(now, frame.tcp_data(segment)));
            let (frame, to) = (frame.clone(), from.other());
            let queued = Duration::ZERO;
            self.forward(now, InTransit { frame, segment, flow: index, to, passed: 0, entered: now, queued, fate });
        }
        true
    }

    /// Lives through what happens until `now`.
    pub fn advance(&mut self, now: Time) {
        while let Some((at, actor)) = self.agenda.first().filter(|(at, _)| *at <= now) {
            if actor < self.links.len() { self.on_link(at, actor) } else { self.on_clock(at) }
        }
    }

    /// When something happens next.
    pub fn next_event(&self) -> Option<Time> {
        self.agenda.first().map(|(at, _)| at)
    }

    /// Takes the next packet that has arrived, in order.
    pub fn pop(&mut self) -> Option<Arrival> {
        self.arrivals.pop_front()
    }

    /// What came of it by the end, or by `now` if that is earlier, and how large the bursts of each flow were.
    pub fn outcome(&mut self, now: Time) -> (Outcome, Vec<u64>) {
        self.finish(now);
        self.outcome.take().unwrap_or_default()
    }

    /// Of each flow what became of its TCP segments until now, if that was recorded.
    pub fn segments(&mut self) -> Vec<Vec<bool>> {
        self.flows.iter_mut().map(Flow::segments).collect()
    }

    /// Bytes of new data delivered so far, from the beginning on.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    fn on_link(&mut self, at: Time, index: usize) {
        while let Some(Delivered { due, queued, payload: mut packet, .. }) = self.links[index].path.poll(at) {
            packet.passed += 1;
            packet.queued += queued;
            self.forward(due, packet);
        }
        self.agenda.set(index, self.links[index].path.next_event());
    }

    /// Puts a packet on the next link of its route, or hands it out at the end.
    fn forward(&mut self, now: Time, packet: InTransit) {
        let flow = &mut self.flows[packet.flow];
        if let Some(link) = flow.route(packet.to).get(packet.passed).copied() {
            let (number, bytes) = (packet.flow as u32, packet.frame.wire_bytes(packet.segment));
            let path = &mut self.links[link].path;
            path.enqueue(now, number, packet, bytes);
            return self.agenda.set(link, path.next_event());
        }
        let InTransit { frame, segment, flow: index, to, entered, queued, fate, .. } = packet;
        match fate {
            Some(fate) => {
                flow.on_arrival(fate);
                let (bytes, data) = (frame.wire_bytes(segment), frame.tcp_data(segment));
                self.delivered_bytes += flow.on_data(now, now.since(entered), queued, bytes, data);
            }
            None => flow.on_way_back(now.since(entered)),
        }
        self.arrivals.push_back(Arrival { to, flow: index, due: now, frame, segment });
    }

    /// Begins the measurement, takes samples at the end of each bin, and ends it.
    fn on_clock(&mut self, now: Time) {
        if self.clock.begins(now) {
            self.flows.iter_mut().for_each(Flow::begin_measurement);
            self.links.iter_mut().for_each(Link::begin_measurement);
        }
        if self.clock.samples(now) {
            self.flows.iter_mut().for_each(Flow::sample);
            self.links.iter_mut().for_each(Link::sample);
        }
        if now >= self.end {
            self.finish(now);
        }
        self.set_clock(now);
    }

    fn set_clock(&mut self, now: Time) {
        let running = self.outcome.is_none();
        let next = self.clock.next_event(now).into_iter().chain([self.end]).min().filter(|_| running);
        self.agenda.set(self.links.len(), next);
    }

    /// From now on nothing counts.
    fn finish(&mut self, now: Time) {
        if self.outcome.is_some() {
            return;
        }
        let end = now.min(self.end);
        let links = self.links.iter().take(self.configured).map(Link::outcome).collect();
        let flows = self.flows.iter().map(|flow| flow.outcome(end)).collect();
        let bursts = self.flows.iter_mut().map(Flow::burst).collect();
        self.outcome = Some((Outcome { flows, links }, bursts));
    }
}
