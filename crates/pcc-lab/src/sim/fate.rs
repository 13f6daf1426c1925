//! What became of the packets of a flow, whatever its sender believes.

use serde::Serialize;
use std::cell::Cell;
use std::rc::Rc;

/// What the network did with a flow's packets of data. Of those that were sent in the measurement or were on their way when it began,
/// `on_the_way_at_start + sent` are `arrived + lost + on_the_way_at_end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fates {
    /// Packets that came to the receiving host.
    pub arrived: u64,
    /// Packets that links lost at random, or that their queues or policers dropped.
    pub lost: u64,
    /// Packets that were on their way when the measurement began.
    pub on_the_way_at_start: u64,
    /// Packets that were on their way when the flow or the run ended.
    pub on_the_way_at_end: u64,
}

impl std::ops::Add for Fates {
    type Output = Fates;

    fn add(self, other: Fates) -> Fates {
        Fates {
            arrived: self.arrived + other.arrived,
            lost: self.lost + other.lost,
            on_the_way_at_start: self.on_the_way_at_start + other.on_the_way_at_start,
            on_the_way_at_end: self.on_the_way_at_end + other.on_the_way_at_end,
        }
    }
}

/// Counts the packets of a flow by what becomes of them.
#[derive(Debug, Default)]
pub(super) struct Census(Rc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    arrived: Cell<u64>,
    lost: Cell<u64>,
    on_the_way: Cell<u64>,
    on_the_way_at_start: Cell<u64>,
}

/// Goes with a packet: if it is dropped before it arrives, a link has lost it.
#[derive(Debug)]
pub(super) struct Fate(Option<Rc<Counts>>);

impl Census {
    /// A packet leaves.
    pub fn send(&self) -> Fate {
        change(&self.0.on_the_way, 1);
        Fate(Some(self.0.clone()))
    }

    /// What is counted from now on is the measurement.
    pub fn begin_measurement(&self) {
        self.0.arrived.set(0);
        self.0.lost.set(0);
        self.0.on_the_way_at_start.set(self.0.on_the_way.get());
    }

    /// What became of the packets so far.
    pub fn fates(&self) -> Fates {
        Fates {
            arrived: self.0.arrived.get(),
            lost: self.0.lost.get(),
            on_the_way_at_start: self.0.on_the_way_at_start.get(),
            on_the_way_at_end: self.0.on_the_way.get(),
        }
    }
}

impl Fate {
    /// The packet is there.
    pub fn arrive(mut self) {
        if let Some(counts) = self.0.take() {
            change(&counts.on_the_way, -1);
            change(&counts.arrived, 1);
        }
    }
}

impl Drop for Fate {
    fn drop(&mut self) {
        if let Some(counts) = self.0.take() {
            change(&counts.on_the_way, -1);
            change(&counts.lost, 1);
        }
    }
}

fn change(count: &Cell<u64>, by: i64) {
    count.set(count.get().wrapping_add_signed(by));
}
