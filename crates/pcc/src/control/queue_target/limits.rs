//! What a window allows: a pacing rate and bytes in flight.

use super::QueueTargetConfig;
use crate::control::Limits;
use crate::units::{Rate, larger, smaller};
use core::num::NonZeroU64;

/// The round-trip time that is assumed before the first sample, in seconds.
pub(super) const INITIAL_RTT: f64 = 0.1;
/// The pacing rate of start-up as a multiple of the window per round trip.
const START_PACING: f64 = 2.0;
/// The same where loss caps the window: the queue has no room for packets that come faster than they leave. The gaps that losses leave between
/// acknowledgements would otherwise become bursts, which lose more.
const CAPPED_PACING: f64 = 1.05;
/// The first packets leave within this time.
const FIRST_SECONDS: f64 = 0.001;
/// The shortest round-trip time that makes a rate, in seconds.
const SHORTEST: f64 = 1e-6;

/// The limits of a window of `bytes`, in start-up and capped by loss or not, with packets of `packet` bytes, at a round-trip time in seconds.
pub(super) fn of_window(
    config: &QueueTargetConfig,
    starting: bool,
    capped: bool,
    rtt: Option<f64>,
    bytes: f64,
    packet: f64,
) -> Limits {
    let seconds = larger(rtt.unwrap_or(INITIAL_RTT), SHORTEST);
    // Of a window in a second.
    let part = match (starting, rtt) {
        (true, None) if config.first_rate.is_zero() => 1.0 / FIRST_SECONDS,
        (true, _) => START_PACING / seconds,
        (false, _) if capped => smaller(config.pacing, CAPPED_PACING) / seconds,
        (false, _) => config.pacing / seconds,
    };
    // No more than the largest rate fills.
    let most = 2.0 * config.bounds.max.bytes_per_sec() * seconds + 2.0 * packet;
    Limits {
        rate: config.bounds.clamp(Rate::from_bits_per_sec(8.0 * part * bytes)),
        in_flight: NonZeroU64::new(smaller(bytes, most) as u64).unwrap_or(NonZeroU64::MIN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::control::ControlConfig;

    #[test]
    fn where_loss_caps_the_window_packets_leave_about_as_fast_as_they_arrive() {
        let ControlConfig::QueueTarget(config) = Profile::default().control else { panic!("not the default") };
        let rate = |starting, capped| of_window(&config, starting, capped, Some(0.1), 125_000.0, 1250.0).rate.mbps();
        assert_eq!(rate(true, false), 20.0);
        assert_eq!(rate(false, false), 10.0 * config.pacing);
        assert!((10.0..11.0).contains(&rate(false, true)), "{}", rate(false, true));
    }
}
