//! Who is due next.

use pcc::Time;

/// The next wake-up of each of a fixed number of actors, as a tournament: changing one costs O(log n), the earliest is at the
/// root. Of actors that are due at the same time the one with the lowest index comes first, so that runs can be repeated.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    /// Per actor, padded to a power of two.
    times: Vec<Time>,
    /// The winners: `winners[1]` is the root, and the children of node i are 2 i and 2 i + 1.
    winners: Vec<u32>,
}

/// The time of an actor that waits for others only.
const NEVER: Time = Time::from_nanos(u64::MAX);

impl Agenda {
    pub fn new(actors: usize) -> Agenda {
        let leaves = actors.next_power_of_two().max(2);
        let mut winners: Vec<u32> = vec![0; leaves];
        for node in (1..leaves).rev() {
            winners[node] = if node >= leaves / 2 { 2 * node as u32 - leaves as u32 } else { winners[2 * node] };
        }
        Agenda { times: vec![NEVER; leaves], winners }
    }

    /// Sets when an actor is due next.
    pub fn set(&mut self, actor: usize, time: Option<Time>) {
        let time = time.unwrap_or(NEVER);
        if self.times[actor] == time {
            return;
        }
        self.times[actor] = time;
        let leaves = self.times.len();
        let mut node = (actor + leaves) / 2;
        while node > 0 {
            let [left, right] = [2 * node, 2 * node + 1]
                .map(|child| if child >= leaves { child - leaves } else { self.winners[child] as usize });
            let winner = if self.times[left] <= self.times[right] { left } else { right };
            if self.winners[node] as usize != actor && winner != actor {
                return;
            }
            self.winners[node] = winner as u32;
            node /= 2;
        }
    }

    /// The actor that is due first, and when.
    pub fn first(&self) -> Option<(Time, usize)> {
        let actor = self.winners[1] as usize;
        Some((self.times[actor], actor)).filter(|(time, _)| *time < NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest_with_the_lowest_index(
            actors in 1..40usize,
            changes in prop::collection::vec((0..40usize, prop::option::of(0..20u64)), 0..200),
        ) {
            let mut agenda = Agenda::new(actors);
            let mut expected = vec![None; actors];
            for (actor, nanos) in changes {
                let (actor, time) = (actor % actors, nanos.map(Time::from_nanos));
                agenda.set(actor, time);
                expected[actor] = time;
                let first = expected.iter().enumerate().filter_map(|(i, time)| Some(((*time)?, i))).min();
                prop_assert_eq!(agenda.first(), first);
            }
        }
    }
}
