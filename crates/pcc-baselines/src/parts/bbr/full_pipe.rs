//! Whether the pipe is full (draft-ietf-ccwg-bbr-04, section 5.3.1.2; draft-cardwell-iccrg-bbr-congestion-control-00,
//! section 4.3.2.2).

use pcc::Rate;

/// Growth of the bandwidth below which a round trip counts as one without.
const FULL_GROWTH: f64 = 1.25;
/// Round trips without growth after which the pipe is full.
const FULL_ROUNDS: u32 = 3;

/// Looks for a plateau of the bandwidth.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FullPipe {
    /// What the next round trips must exceed.
    bandwidth: Rate,
    /// Round trips in which the bandwidth didn't grow.
    pub rounds: u32,
    /// Whether the plateau was found since the last reset.
    pub now: bool,
}

impl FullPipe {
    /// Begins anew, with growth counted from `bandwidth`.
    pub fn reset(&mut self, bandwidth: Rate) {
        *self = FullPipe { bandwidth, ..FullPipe::default() };
    }

    /// A round trip ended with an estimate of `bandwidth`; whether the pipe is full.
    pub fn on_round(&mut self, bandwidth: Rate) -> bool {
        if !self.now {
            if bandwidth >= self.bandwidth * FULL_GROWTH {
                self.reset(bandwidth);
            } else {
                self.rounds += 1;
                self.now = self.rounds >= FULL_ROUNDS;
            }
        }
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_rounds_without_growth_by_a_quarter_fill_the_pipe() {
        let mut pipe = FullPipe::default();
        let full =
            [10.0, 12.6, 15.0, 15.0, 20.0, 21.0, 22.0, 20.0, 90.0].map(|mbps| pipe.on_round(Rate::from_mbps(mbps)));
        assert_eq!(full, [false, false, false, false, false, false, false, true, true]);
        pipe.reset(Rate::from_mbps(90.0));
        assert!(!pipe.on_round(Rate::from_mbps(90.0)));
    }
}
