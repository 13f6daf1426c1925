//! The event loop: moves packets from senders over links to receivers, and acknowledgements back.

use super::fate::Fate;
use super::flow::Flow;
use super::network::{Due, Network, Tick};
use super::outcome::Outcome;
use super::receiver::Ack;
use super::simulation::Simulation;
use super::wire::{ACK_BYTES, Departure};
use crate::link::Delivered;
use pcc::Time;
use std::time::Duration;

impl Simulation {
    /// Runs it to its end.
    pub fn run(self) -> Outcome {
        World::new(self).run()
    }
}

/// What a link carries.
#[derive(Debug)]
struct InTransit {
    flow: u32,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Data {
        packet: Departure,
        fate: Fate,
        /// How many links of its route it has passed.
        passed: u32,
        /// How long it waited in their queues.
        queued: Duration,
    },
    Ack(Ack),
}

#[derive(Debug)]
struct World {
    network: Network<InTransit>,
    flows: Vec<Flow>,
    end: Time,
}

impl World {
    fn new(simulation: Simulation) -> World {
        let mut seeds = fastrand::Rng::with_seed(simulation.seed);
        let end = Time::ZERO + simulation.duration;
        let Simulation { links, flows, packet_bytes, measure_from, record, .. } = simulation;
        let links = links.iter().map(|link| (link, seeds.u64(..)));
        let mut network = Network::new(links, flows.len(), measure_from, record);
        let flow = |flow| Flow::new(flow, packet_bytes, end, seeds.fork());
        let mut flows: Vec<Flow> = flows.into_iter().map(flow).collect();
        for (index, flow) in flows.iter_mut().enumerate() {
            network.wake(index, flow.next_event(Time::ZERO));
        }
        World { network, flows, end }
    }

    fn run(mut self) -> Outcome {
        while let Some((now, due)) = self.network.next_due().filter(|(now, _)| *now < self.end) {
            match due {
                Due::Link(link) => self.on_link(now, link),
                Due::Other(flow) => self.on_flow(now, flow),
                Due::Clock => self.on_clock(now),
            }
        }
        let end = self.end;
        Outcome {
            links: self.network.outcomes().collect(),
            flows: self.flows.into_iter().map(|flow| flow.into_outcome(end)).collect(),
        }
    }

    fn on_link(&mut self, now: Time, link: usize) {
        while let Some(delivered) = self.network.poll(now, link) {
            self.deliver(delivered);
        }
    }

    /// A packet has passed a link.
    fn deliver(&mut self, delivered: Delivered<InTransit>) {
        let now = delivered.due;
        let InTransit { flow, body } = delivered.payload;
        let index = flow as usize;
        match body {
            Body::Data { packet, fate, passed, queued } => {
                let packet = Departure { ecn: delivered.ecn, ..packet };
                let (passed, queued) = (passed + 1, queued + delivered.queued);
                if let Some(next) = self.flows[index].route.get(passed as usize).copied() {
                    let body = Body::Data { packet, fate, passed, queued };
                    return self.enqueue_data(now, next, flow, packet, body);
                }
                fate.arrive();
                let ack = self.flows[index].on_packet(now, &packet, queued);
                self.acknowledge(now, index, ack);
            }
            Body::Ack(ack) => self.flows[index].on_ack_arrival(now, ack),
        }
        self.network.wake(index, self.flows[index].next_event(now));
    }

    /// Puts a packet of data on a link.
    fn enqueue_data(&mut self, now: Time, link: usize, flow: u32, packet: Departure, body: Body) {
        self.network.enqueue_ecn(now, link, flow, InTransit { flow, body }, packet.bytes.into(), packet.ecn);
    }

    fn acknowledge(&mut self, now: Time, index: usize, ack: Option<Ack>) {
        let Some(ack) = ack else { return };
        match self.flows[index].reverse {
            Some(link) => {
                let (flow, body) = (index as u32, Body::Ack(ack));
                // Acknowledgements can't be marked (RFC 3168, section 6.1.4).
                self.network.enqueue(now, link, flow, InTransit { flow, body }, ACK_BYTES);
            }
            None => self.flows[index].on_ack_arrival(now, ack),
        }
    }

    fn on_flow(&mut self, now: Time, index: usize) {
        let ack = self.flows[index].wake(now);
        self.acknowledge(now, index, ack);
        while let Some(packet) = self.flows[index].send(now) {
            let (first, fate) = (self.flows[index].route[0], self.flows[index].census.send());
            let body = Body::Data { packet, fate, passed: 0, queued: Duration::ZERO };
            self.enqueue_data(now, first, index as u32, packet, body);
        }
        self.network.wake(index, self.flows[index].next_event(now));
    }

    /// Begins the measurement, and takes samples at the end of each bin.
    fn on_clock(&mut self, now: Time) {
        let Tick { begins, samples } = self.network.tick(now);
        if begins {
            self.flows.iter_mut().for_each(Flow::begin_measurement);
        }
        if samples {
            self.flows.iter_mut().for_each(Flow::sample);
        }
    }
}
