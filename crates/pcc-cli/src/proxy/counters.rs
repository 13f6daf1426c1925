//! What has happened since the start.

use crate::proxy::outcome::End;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what is reported.
#[derive(Debug, Default)]
pub struct Counters {
    /// Tunnels, by how they ended.
    tunnels: [AtomicU64; End::ALL.len()],
    /// Flows, by how they ended.
    flows: [AtomicU64; End::ALL.len()],
    dropped: AtomicU64,
    denied: AtomicU64,
    refused: AtomicU64,
    /// Refusals that the door doesn't report one by one.
    unreported: Arc<AtomicU64>,
}

impl Counters {
    /// A tunnel has ended, or a flow, of which so many datagrams were dropped.
    pub fn ended(&self, end: End, dropped: Option<u64>) {
        let by_end = if dropped.is_some() { &self.flows } else { &self.tunnels };
        by_end[end as usize].fetch_add(1, Ordering::Relaxed);
        self.dropped(dropped.unwrap_or_default());
    }

    /// So many datagrams were dropped.
    pub fn dropped(&self, datagrams: u64) {
        self.dropped.fetch_add(datagrams, Ordering::Relaxed);
    }

    /// A program got no tunnel or flow, for whatever reason: it may not, there is no place, or the target doesn't answer.
    pub fn denied(&self) {
        self.denied.fetch_add(1, Ordering::Relaxed);
    }

    /// Somebody was turned away.
    pub fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Where refusals are counted that aren't reported one by one.
    pub fn unreported(&self) -> Arc<AtomicU64> {
        self.unreported.clone()
    }

    /// The protocol, how its tunnels or flows ended, and how many did so.
    pub fn all_ended(&self) -> impl Iterator<Item = (&'static str, End, u64)> {
        let by_end = [("tcp", &self.tunnels), ("udp", &self.flows)];
        by_end.into_iter().flat_map(|(protocol, counts)| {
            End::ALL.into_iter().map(move |end| (protocol, end, counts[end as usize].load(Ordering::Relaxed)))
        })
    }

    /// Those without labels: name, meaning and count.
    pub fn others(&self) -> [(&'static str, &'static str, u64); 3] {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [
            (
                "dropped_datagrams_total",
                "Datagrams of flows and associations that ended that were dropped",
                load(&self.dropped),
            ),
            (
                "denied_total",
                "Connections and flows of programs that were refused or could not be opened",
                load(&self.denied),
            ),
            (
                "refused_total",
                "Attempts to connect that were turned away for lack of the ticket or a place",
                load(&self.refused) + load(&self.unreported),
            ),
        ]
    }
}
