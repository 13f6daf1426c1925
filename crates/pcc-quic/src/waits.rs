//! How long a connection may wait, so that one wake-up serves several packets.
//!
//! Most of what a packet costs is waking up for it: at 100 Mbit/s a wake-up costs several times as much as the packet. noq
//! lets a controller say nothing to the timer and the socket of its connection. But within one call of a connection's task,
//! noq first asks the controller, then sends, then sets the timer. So the controller leaves what it has to say with the
//! thread. A connection with a controller of noq's says nothing, and gets what was said last, if anything.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The shortest time between two wake-ups of one connection, on the shortest paths.
///
/// A wake-up per packet costs most of a core from about 400 Mbit/s on. With this bound packets of 1452 bytes leave
/// one by one up to 232 Mbit/s, and above that in the small batches which the rate puts into 50 µs.
pub(crate) const MIN_WAIT: Duration = Duration::from_micros(50);

/// A wait is at most this share of the shortest round trip: far below what the controllers take for a queue.
const ROUND_TRIPS: u32 = 64;

/// And no more than this, where the path's queue isn't known to hold more: half of the longest bursts that Linux makes of paced TCP.
const LONGEST: Duration = Duration::from_micros(500);

/// How long wake-ups may be delayed on a path with this shortest round trip, whatever its queue: not at all where setting a timer would cost more than
/// it saves.
pub(crate) fn bearable(round_trip: Duration) -> Duration {
    let wait = (round_trip / ROUND_TRIPS).min(LONGEST);
    if wait < MIN_WAIT { Duration::ZERO } else { wait }
}

/// What a controller lets its endpoint wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits {
    /// When the last packet was sent.
    pub(crate) sent: Option<Instant>,
    /// How long packets to send may be collected from then on.
    pub(crate) collect: Duration,
    /// How long packets that arrived may stay in the socket.
    pub(crate) gather: Duration,
}

thread_local! {
    static SAID: Cell<Waits> =
        const { Cell::new(Waits { sent: None, collect: Duration::ZERO, gather: Duration::ZERO }) };
}

impl Waits {
    /// Leaves this for the timer and the socket that the thread turns to next.
    pub(crate) fn say(self) {
        SAID.set(self);
    }

    /// What was said last on this thread.
    pub(crate) fn said() -> Waits {
        SAID.get()
    }
}
