//! The initial windows that a connection carries for others.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, Ordering};

/// Counts connections of applications that begin over one connection, as a proxy carries them.
///
/// Each of them would have begun with an initial window of its own (RFC 6928). While start-up doesn't know the path yet, a control adds one
/// for each that is announced, so that a page of many small files doesn't wait for the one window that all of them share. What isn't used
/// within a round trip goes again. Later connections share what the path has.
///
/// A count serves one connection: what its controller has taken is gone. Two controllers that were built with clones of one count, for
/// example from one [`Profile`](crate::Profile) for several connections, would take each other's windows. So make an
/// `InitialWindows` for each connection. The clones are for those who announce:
///
/// ```
/// use pcc::{InitialWindows, Profile};
///
/// let begun = InitialWindows::default();
/// let profile = Profile::default().with_initial_windows(begun.clone()).expect("the default profile has a window");
/// let controller = profile.build(1);
/// begun.announce();
/// ```
#[derive(Clone, Debug, Default)]
pub struct InitialWindows(Arc<AtomicU32>);

impl InitialWindows {
    /// One more connection begins.
    pub fn announce(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How many have begun since the last call.
    pub(crate) fn take(&self) -> u32 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl PartialEq for InitialWindows {
    /// A count is no constant of a profile.
    fn eq(&self, _: &InitialWindows) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AckedPacket, CongestionControl, Profile, SentPacket, Time, profiles};
    use core::time::Duration;

    const PACKET: u64 = 1200;
    const RTT: Duration = Duration::from_millis(100);

    /// The windows in packets, after each of some round trips in which one packet was sent, by when so many connections had begun.
    fn windows(profile: Profile, connections: [u32; 4]) -> [u64; 4] {
        let begun = InitialWindows::default();
        let mut control = profile.with_initial_windows(begun.clone()).expect("a profile with a window").build(1);
        control.on_mtu_change(PACKET);
        let mut number = 0;
        connections.map(|connections| {
            (0..connections).for_each(|_| begun.announce());
            let sent = Time::ZERO + RTT * (2 * number as u32 + 1);
            control.on_packet_sent(&SentPacket { time: sent, number, bytes: PACKET });
            control.on_packet_acked(&AckedPacket { time: sent + RTT, number, sent, bytes: PACKET, rtt: RTT });
            control.on_batch_end(sent + RTT);
            number += 1;
            control.in_flight_cap() / PACKET
        })
    }

    #[test]
    fn each_connection_that_begins_brings_a_window() {
        let [none, one, six] = [0, 1, 6].map(|first| windows(profiles::queue_target(), [first, 0, 0, 0])[0]);
        assert_eq!([one - none, six - none], [10, 60]);
    }

    #[test]
    fn what_is_not_used_in_a_round_trip_goes_again() {
        let without = windows(profiles::queue_target(), [0; 4]);
        let with = windows(profiles::queue_target(), [6, 0, 4, 0]);
        assert_eq!([0, 1, 2, 3].map(|n| with[n] - without[n]), [60, 0, 40, 0]);
    }

    #[test]
    fn who_yields_begins_as_one() {
        let profile = profiles::scavenger;
        assert_eq!(windows(profile(), [6, 0, 0, 0]), windows(profile(), [0; 4]));
    }

    #[test]
    fn a_profile_that_has_no_window_has_none_to_add() {
        assert!(profiles::vivace_latency().with_initial_windows(InitialWindows::default()).is_none());
    }
}
