//! The links between the two sides, in virtual time: a packet enters the next link when it was due from the last, however late
//! the thread is.

use super::addressing::Addressing;
use super::config::{EmulatorConfig, Route};
use super::flow::{Flow, SegmentOutcome};
use super::frame::Frame;
use super::side::Side;
use pcc::Time;
use pcc_lab::link::{Delivered, PathConfig};
use pcc_lab::sim::{self, Due, Outcome, Tick};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

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
    /// The outcome of a segment that carries data.
    outcome: Option<SegmentOutcome>,
}

#[derive(Debug)]
pub(super) struct Network {
    addressing: Addressing,
    flows: Vec<Flow>,
    /// How many of `links` are the configured ones; then comes for each flow what else its way back takes.
    configured: usize,
    links: sim::Network<InTransit>,
    end: Time,
    arrivals: VecDeque<Arrival>,
    /// Once the end has come; and of each flow how large its bursts were.
    outcome: Option<(Outcome, Vec<u64>)>,
}

impl Network {
    pub fn new(config: EmulatorConfig) -> Network {
        let mut seeds = fastrand::Rng::with_seed(config.seed);
        let configured = config.links.len();
        let ways_back: Vec<PathConfig> =
            config.routes.iter().map(|route| PathConfig::delay_only(route.reverse_delay)).collect();
        let all = config.links.iter().chain(&ways_back).map(|link| (link, seeds.u64(..)));
        // Besides links and clock only the end is due at some time.
        let mut links = sim::Network::new(all, 1, config.measure_from, config.record);
        let end = Time::ZERO + config.duration;
        let flow = |(index, route): (usize, Route)| {
            let stop = route.stop.map_or(config.duration, |stop| stop.min(config.duration));
            let delays = route.reverse.iter().filter_map(|link| config.links.get(*link)).map(|link| link.delay);
            let way_back = delays.sum::<Duration>() + route.reverse_delay;
            Flow::new(route, configured + index, way_back, Time::ZERO + stop, config.record)
        };
        links.wake(0, Some(end));
        Network {
            addressing: config.addressing,
            flows: config.routes.into_iter().enumerate().map(flow).collect(),
            configured,
            links,
            end,
            arrivals: VecDeque::new(),
            outcome: None,
        }
    }

    /// The packets of a frame come from a side at `now`; whether they belong to a flow.
    pub fn enter(&mut self, now: Time, from: Side, frame: Frame) -> bool {
        self.advance(now);
        let Some(index) = self.addressing.flow(from, &frame).filter(|flow| *flow < self.flows.len()) else {
            return false;
        };
        let frame = Rc::new(frame);
        for segment in 0..frame.segments() {
            let outcome = (from == Side::Left).then(|| self.flows[index].on_sent(now, frame.tcp_data(segment)));
            let (frame, to) = (frame.clone(), from.other());
            let queued = Duration::ZERO;
            self.forward(now, InTransit { frame, segment, flow: index, to, passed: 0, entered: now, queued, outcome });
        }
        true
    }

    /// Lives through what happens until `now`.
    pub fn advance(&mut self, now: Time) {
        while let Some((at, due)) = self.links.next_due().filter(|(at, _)| *at <= now) {
            match due {
                Due::Link(link) => self.on_link(at, link),
                Due::Other(_) => {
                    self.on_clock(at);
                    self.finish(at);
                }
                Due::Clock => self.on_clock(at),
            }
        }
    }

    /// When something happens next.
    pub fn next_event(&self) -> Option<Time> {
        self.links.next_due().map(|(at, _)| at)
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

    fn on_link(&mut self, at: Time, index: usize) {
        while let Some(Delivered { due, queued, payload: mut packet, .. }) = self.links.poll(at, index) {
            packet.passed += 1;
            packet.queued += queued;
            self.forward(due, packet);
        }
    }

    /// Puts a packet on the next link of its route, or hands it out at the end.
    fn forward(&mut self, now: Time, packet: InTransit) {
        let flow = &mut self.flows[packet.flow];
        if let Some(link) = flow.route(packet.to).get(packet.passed).copied() {
            let (number, bytes) = (packet.flow as u32, packet.frame.wire_bytes(packet.segment));
            return self.links.enqueue(now, link, number, packet, bytes);
        }
        let InTransit { frame, segment, flow: index, to, entered, queued, outcome, .. } = packet;
        match outcome {
            Some(outcome) => {
                flow.on_arrival(outcome);
                let (bytes, data) = (frame.wire_bytes(segment), frame.tcp_data(segment));
                flow.on_data(now, now.since(entered), queued, bytes, data);
            }
            None => flow.on_way_back(now.since(entered)),
        }
        self.arrivals.push_back(Arrival { to, flow: index, due: now, frame, segment });
    }

    /// Begins the measurement, and takes samples at the end of each bin.
    fn on_clock(&mut self, now: Time) {
        let Tick { begins, samples } = self.links.tick(now);
        if begins {
            self.flows.iter_mut().for_each(Flow::begin_measurement);
        }
        if samples {
            self.flows.iter_mut().for_each(Flow::sample);
        }
    }

    /// Ends the measurement: nothing that happens from now on counts.
    fn finish(&mut self, now: Time) {
        if self.outcome.is_some() {
            return;
        }
        self.links.wake(0, None);
        self.links.stop_clock();
        let end = now.min(self.end);
        let links = self.links.outcomes().take(self.configured).collect();
        let flows = self.flows.iter().map(|flow| flow.outcome(end)).collect();
        let bursts = self.flows.iter_mut().map(Flow::burst).collect();
        self.outcome = Some((Outcome { flows, links }, bursts));
    }
}
