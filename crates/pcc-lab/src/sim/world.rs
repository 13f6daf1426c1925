//! The event loop: moves packets from senders over links to receivers, and acknowledgements back.

use super::agenda::Agenda;
use super::flow::Flow;
use super::measurement::{Clock, Link};
use super::outcome::Outcome;
use super::receiver::Ack;
use super::sender::Departure;
use super::{ACK_BYTES, Simulation};
use crate::link::Delivered;
use pcc::Time;
use std::time::Duration;

/// What a link carries.
#[derive(Clone, Copy, Debug)]
struct InTransit {
    flow: u32,
    body: Body,
}

#[derive(Clone, Copy, Debug)]
enum Body {
    Data {
        packet: Departure,
        /// How many links of its route it has passed.
        passed: u32,
        /// How long it waited in their queues.
        queued: Duration,
    },
    Ack(Ack),
}

/// The actors of the agenda are the links, then the flows, then the clock.
#[derive(Debug)]
pub(super) struct World {
    links: Vec<Link<InTransit>>,
    flows: Vec<Flow>,
    agenda: Agenda,
    end: Time,
    clock: Clock,
}

impl World {
    pub fn new(simulation: Simulation) -> World {
        let mut seeds = fastrand::Rng::with_seed(simulation.seed);
        let end = Time::ZERO + simulation.duration;
        let links: Vec<_> = simulation.links.iter().map(|link| Link::new(link, seeds.u64(..))).collect();
        let flow = |flow| Flow::new(flow, simulation.packet_bytes, end, seeds.fork());
        let flows: Vec<Flow> = simulation.flows.into_iter().map(flow).collect();
        let mut agenda = Agenda::new(links.len() + flows.len() + 1);
        for (index, flow) in flows.iter().enumerate() {
            agenda.set(links.len() + index, flow.next_event(Time::ZERO));
        }
        let clock = Clock::new(simulation.measure_from, simulation.record);
        let mut world = World { links, flows, agenda, end, clock };
        world.set_clock(Time::ZERO);
        world
    }

    pub fn run(mut self) -> Outcome {
        while let Some((now, actor)) = self.agenda.first().filter(|(now, _)| *now < self.end) {
            if let Some(flow) = actor.checked_sub(self.links.len()) {
                if flow < self.flows.len() { self.on_flow(now, flow) } else { self.on_clock(now) }
            } else {
                self.on_link(now, actor);
            }
        }
        let end = self.end;
        Outcome {
            flows: self.flows.into_iter().map(|flow| flow.into_outcome(end)).collect(),
            links: self.links.iter().map(Link::outcome).collect(),
        }
    }

    fn on_link(&mut self, now: Time, index: usize) {
        while let Some(delivered) = self.links[index].path.poll(now) {
            self.deliver(delivered);
        }
        self.agenda.set(index, self.links[index].path.next_event());
    }

    /// A packet has passed a link.
    fn deliver(&mut self, delivered: Delivered<InTransit>) {
        let now = delivered.due;
        let InTransit { flow, body } = delivered.payload;
        let index = flow as usize;
        match body {
            Body::Data { packet, passed, queued } => {
                let (passed, queued) = (passed + 1, queued + delivered.queued);
                if let Some(next) = self.flows[index].route.get(passed as usize).copied() {
                    let body = Body::Data { packet, passed, queued };
                    return self.enqueue(now, next, InTransit { flow, body }, packet.bytes.into());
                }
                let ack = self.flows[index].on_packet(now, &packet, queued);
                self.acknowledge(now, index, ack);
            }
            Body::Ack(ack) => self.flows[index].on_ack_arrival(now, ack),
        }
        self.agenda.set(self.links.len() + index, self.flows[index].next_event(now));
    }

    fn enqueue(&mut self, now: Time, link: usize, packet: InTransit, bytes: u64) {
        let path = &mut self.links[link].path;
        path.enqueue(now, packet.flow, packet, bytes);
        self.agenda.set(link, path.next_event());
    }

    fn acknowledge(&mut self, now: Time, index: usize, ack: Option<Ack>) {
        let Some(ack) = ack else { return };
        match self.flows[index].reverse {
            Some(link) => self.enqueue(now, link, InTransit { flow: index as u32, body: Body::Ack(ack) }, ACK_BYTES),
            None => self.flows[index].on_ack_arrival(now, ack),
        }
    }

    fn on_flow(&mut self, now: Time, index: usize) {
        let ack = self.flows[index].wake(now);
        self.acknowledge(now, index, ack);
        while let Some(packet) = self.flows[index].send(now) {
            let body = Body::Data { packet, passed: 0, queued: Duration::ZERO };
            let first = self.flows[index].route[0];
            self.enqueue(now, first, InTransit { flow: index as u32, body }, packet.bytes.into());
        }
        self.agenda.set(self.links.len() + index, self.flows[index].next_event(now));
    }

    /// Begins the measurement, and takes samples at the end of each bin.
    fn on_clock(&mut self, now: Time) {
        if self.clock.begins(now) {
            self.flows.iter_mut().for_each(Flow::begin_measurement);
            self.links.iter_mut().for_each(Link::begin_measurement);
        }
        if self.clock.samples(now) {
            self.flows.iter_mut().for_each(Flow::sample);
            self.links.iter_mut().for_each(Link::sample);
        }
        self.set_clock(now);
    }

    fn set_clock(&mut self, now: Time) {
        self.agenda.set(self.links.len() + self.flows.len(), self.clock.next_event(now));
    }
}
