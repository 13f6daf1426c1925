//! Links in virtual time, and when what happens next: what the simulator and the emulator have in common.

use super::agenda::Agenda;
use super::clock::Clock;
use super::outcome::LinkOutcome;
use crate::link::{Codepoint, Counters, Delivered, Path, PathConfig};
use pcc::Time;
use std::time::Duration;

/// Who is due next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A link, by its index: something comes out of it.
    Link(usize),
    /// Somebody else, by the index that [`Network::wake`] was given.
    Other(usize),
    /// The clock: [`Network::tick`] says what begins or ends.
    Clock,
}

/// What happens at a tick of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// The measurement begins: what was counted before is to be forgotten.
    pub begins: bool,
    /// A [`BIN`](super::BIN) ends: samples are to be taken.
    pub samples: bool,
}

/// Links that carry packets of one kind, with a clock and an agenda that others can be on, too.
///
/// Of those that are due at the same time links come first, in their order, then the others, then the clock.
#[derive(Debug)]
pub struct Network<P> {
    links: Vec<Link<P>>,
    others: usize,
    agenda: Agenda,
    clock: Clock,
}

impl<P> Network<P> {
    /// Empty links, each with the seed of its random choices, and so many `others`. The measurement begins at `measure_from`; with
    /// `record` samples are taken at the end of each [`BIN`](super::BIN).
    pub fn new<'a>(
        links: impl IntoIterator<Item = (&'a PathConfig, u64)>,
        others: usize,
        measure_from: Duration,
        record: bool,
    ) -> Network<P> {
        let links: Vec<Link<P>> = links.into_iter().map(|(link, seed)| Link::new(link, seed)).collect();
        let agenda = Agenda::new(links.len() + others + 1);
        let mut network = Network { links, others, agenda, clock: Clock::new(measure_from, record) };
        network.set_clock(Time::ZERO);
        network
    }

    /// Who is due next, and when.
    pub fn next_due(&self) -> Option<(Time, Due)> {
        let (time, actor) = self.agenda.first()?;
        let due = match actor.checked_sub(self.links.len()) {
            None => Due::Link(actor),
            Some(other) if other < self.others => Due::Other(other),
            Some(_) => Due::Clock,
        };
        Some((time, due))
    }

    /// Sets when one of the others is due; `None` for never.
    pub fn wake(&mut self, other: usize, at: Option<Time>) {
        self.agenda.set(self.links.len() + other, at);
    }

    /// Puts a packet of a flow that can't be marked on a link.
    pub fn enqueue(&mut self, now: Time, link: usize, flow: u32, packet: P, bytes: u64) {
        self.enqueue_ecn(now, link, flow, packet, bytes, Codepoint::NotEct);
    }

    /// Puts a packet of a flow on a link, with what its ECN field says.
    pub fn enqueue_ecn(&mut self, now: Time, link: usize, flow: u32, packet: P, bytes: u64, ecn: Codepoint) {
        let path = &mut self.links[link].path;
        path.enqueue_ecn(now, flow, packet, bytes, ecn);
        self.agenda.set(link, path.next_event());
    }

    /// What a link that is due delivers, a packet at a time until there is none.
    pub fn poll(&mut self, now: Time, link: usize) -> Option<Delivered<P>> {
        let path = &mut self.links[link].path;
        let delivered = path.poll(now);
        if delivered.is_none() {
            self.agenda.set(link, path.next_event());
        }
        delivered
    }

    /// The clock is due: does for the links what is to be done.
    pub fn tick(&mut self, now: Time) -> Tick {
        let tick = Tick { begins: self.clock.begins(now), samples: self.clock.samples(now) };
        if tick.begins {
            self.links.iter_mut().for_each(Link::begin_measurement);
        }
        if tick.samples {
            self.links.iter_mut().for_each(Link::sample);
        }
        self.set_clock(now);
        tick
    }

    /// What came of the links so far.
    pub fn outcomes(&self) -> impl Iterator<Item = LinkOutcome> {
        self.links.iter().map(Link::outcome)
    }

    /// From now on there is no tick of the clock.
    pub fn stop_clock(&mut self) {
        self.agenda.set(self.links.len() + self.others, None);
    }

    fn set_clock(&mut self, now: Time) {
        self.agenda.set(self.links.len() + self.others, self.clock.next_event(now));
    }
}

/// A link and what is noted of it.
#[derive(Debug)]
struct Link<P> {
    path: Path<P>,
    before_measurement: Counters,
    queue: Vec<u64>,
}

impl<P> Link<P> {
    /// An empty link; its random choices come from `seed`.
    fn new(config: &PathConfig, seed: u64) -> Link<P> {
        Link { path: Path::new(config, seed), before_measurement: Counters::default(), queue: Vec::new() }
    }

    /// Forgets what was counted so far.
    fn begin_measurement(&mut self) {
        self.before_measurement = self.path.counters();
    }

    /// Notes how long the queue is.
    fn sample(&mut self) {
        self.queue.push(self.path.queued_bytes());
    }

    /// What came of it so far.
    fn outcome(&self) -> LinkOutcome {
        LinkOutcome { counters: self.path.counters() - self.before_measurement, queue: self.queue.clone() }
    }
}
