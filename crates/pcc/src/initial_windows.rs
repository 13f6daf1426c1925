//! The initial windows that a connection carries for others.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, Ordering};

/// Counts connections of applications that begin over one connection, as a proxy carries them.
///
/// Each of them would have begun with an initial window of its own (RFC 6928). While start-up doesn't know the path yet, a control adds one
/// for each that is announced, so that a page of many small files doesn't wait for the one window that all of them share. Later
/// ones share what the path has.
///
/// Clones share one count:
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

    /// The window in packets after one of them was acknowledged, by when so many connections had begun.
    fn window(profile: Profile, connections: u32) -> u64 {
        let begun = InitialWindows::default();
        let mut control = profile.with_initial_windows(begun.clone()).expect("a profile with a window").build(1);
        control.on_mtu_change(PACKET);
        (0..connections).for_each(|_| begun.announce());
        let sent = Time::ZERO + RTT;
        control.on_packet_sent(&SentPacket { time: sent, number: 0, bytes: PACKET });
        control.on_packet_acked(&AckedPacket { time: sent + RTT, number: 0, sent, bytes: PACKET, rtt: RTT });
        control.on_batch_end(sent + RTT);
        control.in_flight_cap() / PACKET
    }

    #[test]
    fn each_connection_that_begins_brings_a_window() {
        let [none, one, six] = [0, 1, 6].map(|connections| window(profiles::queue_target(), connections));
        assert_eq!([one - none, six - none], [10, 60]);
    }

    #[test]
    fn who_yields_begins_as_one() {
        assert_eq!(window(profiles::scavenger(), 6), window(profiles::scavenger(), 0));
    }

    #[test]
    fn a_profile_that_has_no_window_has_none_to_add() {
        assert!(profiles::vivace_latency().with_initial_windows(InitialWindows::default()).is_none());
    }
}
