//! What a window allows: a pacing rate and bytes in flight.

use super::QueueTargetConfig;
use crate::control::Limits;
use crate::units::{Rate, larger, smaller};
use core::num::NonZeroU64;

/// The round-trip time that is assumed before the first sample, in seconds.
pub(super) const INITIAL_RTT: f64 = 0.1;
/// The pacing rate of start-up as a multiple of the window per round trip.
const START_PACING: f64 = 2.0;
/// While the window is of fewer packets, they leave as fast as those of before arrived, up to this multiple: a path that takes ten packets at once
/// needn't wait for the next twenty. A path that is slow or shared spreads them.
const FEW_PACKETS: f64 = 64.0;
const FAST_PACING: f64 = 6.0;
/// The pacing rate as such a multiple where packets leave about as fast as they arrive.
const EVEN_PACING: f64 = 1.05;
/// The first packets leave within this time.
const FIRST_SECONDS: f64 = 0.001;
/// The shortest round-trip time that makes a rate, in seconds.
const SHORTEST: f64 = 1e-6;

/// What decides how fast the packets of a window leave.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// Start-up, in which packets that were sent together arrived as fast as this, in bytes/s.
    Start {
        arrives: f64,
    },
    /// About as fast as they arrive: loss caps the window, so that the queue has no room for more, and the gaps that losses leave between
    /// acknowledgements would become bursts; or a window is tried that makes no queue.
    Even,
    Usual,
}

/// The limits of a window of `bytes`, with packets of `packet` bytes, at a round-trip time in seconds.
pub(super) fn of_window(config: &QueueTargetConfig, pace: Pace, rtt: Option<f64>, bytes: f64, packet: f64) -> Limits {
    let seconds = larger(rtt.unwrap_or(INITIAL_RTT), SHORTEST);
    // Of a window in a second.
    let part = match (pace, rtt) {
        (Pace::Start { .. }, None) if config.first_rate.is_zero() => 1.0 / FIRST_SECONDS,
        (Pace::Start { arrives }, _) if bytes < FEW_PACKETS * packet => {
            larger(START_PACING / seconds, smaller(arrives / bytes, FAST_PACING / seconds))
        }
        (Pace::Start { .. }, _) => START_PACING / seconds,
        (Pace::Even, _) => smaller(config.pacing, EVEN_PACING) / seconds,
        (Pace::Usual, _) => config.pacing / seconds,
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

    /// The rate in Mbit/s of so many packets of 1250 bytes in a round trip of 0.1 s.
    fn rate(pace: Pace, packets: f64) -> f64 {
        let ControlConfig::QueueTarget(config) = Profile::default().control else { panic!("not the default") };
        of_window(&config, pace, Some(0.1), packets * 1250.0, 1250.0).rate.mbps()
    }

    #[test]
    fn where_loss_caps_the_window_packets_leave_about_as_fast_as_they_arrive() {
        let usual = rate(Pace::Usual, 100.0);
        assert!(usual > 1.2 * 10.0, "{usual}");
        assert!((10.0..11.0).contains(&rate(Pace::Even, 100.0)), "{}", rate(Pace::Even, 100.0));
    }

    #[test]
    fn the_few_packets_of_start_up_leave_as_fast_as_those_of_before_arrived() {
        let [slow, path, fast] = [0.0, 625_000.0, 1e9].map(|arrives| Pace::Start { arrives });
        assert_eq!([slow, path, fast].map(|pace| rate(pace, 20.0)), [4.0, 5.0, 12.0]);
        assert_eq!([slow, path, fast].map(|pace| rate(pace, 100.0)), [20.0; 3], "many would fill the queue");
    }
}
