//! How long a connection may wait, so that one wake-up serves several packets.
//!
//! Most of what a packet costs is waking up for it: at 100 Mbit/s a wake-up costs several times as much as the packet. noq
//! gives a controller no way to reach the timer and the socket of its connection. But each time that a connection's task runs,
//! noq first asks the controller, then sends, then sets the timer. So the controller leaves what it has to say in a
//! variable of the thread, with the task that it is for. noq's own controllers say nothing, so their connections don't wait.

use std::cell::Cell;
use std::time::{Duration, Instant};
use tokio::task::{Id, try_id};

/// The shortest time between two wake-ups of one connection.
///
/// A wake-up per packet costs most of a core from about 400 Mbit/s on. With this bound packets of 1452 bytes leave
/// one by one up to 232 Mbit/s. Above that several leave together: as many as the rate sends in 50 µs.
pub(crate) const MIN_WAIT: Duration = Duration::from_micros(50);

/// A wait is at most the shortest round trip divided by this: far less than what the controllers take for a queue.
const ROUND_TRIPS: u32 = 64;

/// And it is no longer than this, unless the path's queue is known to hold more: half the time that the longest bursts take in which Linux sends
/// paced TCP.
const LONGEST: Duration = Duration::from_micros(500);

/// How long wake-ups may be put off on a path with this shortest round trip, whatever its queue. Zero if a wait would be so short that setting a
/// timer for it costs more than it saves.
pub(crate) fn longest(round_trip: Duration) -> Duration {
    let wait = (round_trip / ROUND_TRIPS).min(LONGEST);
    if wait < MIN_WAIT { Duration::ZERO } else { wait }
}

/// How long a controller lets the timer and the socket of its connection wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits {
    /// The tokio task of the connection; `None` before it has sent a packet.
    pub(crate) task: Option<Id>,
    /// When the last packet was sent.
    pub(crate) sent: Instant,
    /// How long packets to send may be collected from then on.
    pub(crate) collect: Duration,
    /// How long packets that arrived may stay in the socket.
    pub(crate) gather: Duration,
}

thread_local! {
    static SAID: Cell<Option<Waits>> = const { Cell::new(None) };
}

impl Waits {
    /// Leaves this for the timer and the socket that the connection's task turns to next.
    pub(crate) fn say(self) {
        SAID.set(Some(self));
    }

    /// What was said last on this thread, if it is for the running task.
    pub(crate) fn said() -> Option<Waits> {
        SAID.get().filter(|waits| waits.task.is_some() && waits.task == try_id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_hears_only_what_is_for_it() {
        let said = || Waits::said().map(|waits| waits.gather);
        let task = tokio::spawn(async move {
            let waits = Waits { task: try_id(), sent: Instant::now(), collect: MIN_WAIT, gather: LONGEST };
            waits.say();
            (waits, said())
        });
        let (waits, heard) = task.await.expect("no panic");
        assert_eq!(heard, Some(LONGEST));
        let task = tokio::spawn(async move {
            // As if it had asked for the statistics of that connection.
            waits.say();
            said()
        });
        assert_eq!(task.await.expect("no panic"), None);
    }
}
