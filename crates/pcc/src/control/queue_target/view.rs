//! What the search for others sees in a round trip, and what it finds.

use crate::units::larger;

/// Others don't keep a queue of less than this part of the base round-trip time: on a path that is longer than theirs it is one that flows
/// with shorter round trips let swing.
const OF_OTHERS: f64 = 1.0 / 32.0;
/// The path is longer if a delay that rose at once is more than this part of the base round-trip time, and so many packet times, in each round trip of
/// a drain.
const LONGER_PART: f64 = 0.02;
const LONGER_PACKETS: f64 = 2.0;

/// What is known at the end of a round trip; times in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub now: f64,
    pub rtt: f64,
    pub base: f64,
    /// What stands above the base round-trip time, its standard deviation, and what of it isn't ours.
    pub excess: f64,
    pub deviation: f64,
    pub noise: f64,
    /// What of any queue may be noise, and whether all of this one may be.
    pub may_be_noise: f64,
    pub noisy: bool,
    /// Whether some of what isn't ours is noise.
    pub is_noise: bool,
    /// Whether acknowledgements come in bunches so seldom that a few round trips show little of the delay.
    pub bunched: bool,
    /// By how much the delay rose at once beyond what may be noise.
    pub rise: f64,
    /// What was delivered of late, in bytes/s, and the time of a packet at that rate.
    pub bandwidth: f64,
    pub packet_time: f64,
    pub window: f64,
    /// The part of the round trip that isn't queue.
    pub unqueued: f64,
    pub background: f64,
    /// Whether many flows with small windows seem to share the path.
    pub in_crowd: bool,
    /// Whether to drain although the queue looks empty: many may share it all the same, or who yields may yield to noise.
    pub doubtful: bool,
    /// A flow of weight w grows as w flows.
    pub weight: f64,
}

impl View {
    /// Whether what stands is enough to be a queue that others keep.
    pub fn may_be_of_others(&self, excess: f64) -> bool {
        excess > OF_OTHERS * self.base
    }

    /// Whether what stands may be a longer path.
    pub fn is_longer(&self) -> bool {
        self.excess - self.noise > larger(LONGER_PART * self.base, LONGER_PACKETS * self.packet_time)
    }
}

/// What a round trip led to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    Nothing,
    /// A drain has ended, and this remained above the base round-trip time.
    Drained(f64),
    /// This remained above the base round-trip time in drain after drain: it isn't ours.
    Background(f64, f64),
    /// The delay rose at once, and this remained above the base round-trip time: the path seems to be longer. So many bytes/s were delivered before
    /// the drain.
    Longer(f64, f64),
    /// Others are at work: back to this window; and what remained.
    Others(f64, f64),
    /// Beside others, and loss is heavy: this part of the window remains.
    Loss(f64),
}

impl Found {
    /// What remained above the base round-trip time in a drain that has ended.
    pub fn remains(&self) -> Option<f64> {
        match *self {
            Found::Drained(remains)
            | Found::Longer(remains, _)
            | Found::Background(_, remains)
            | Found::Others(_, remains) => Some(remains),
            Found::Nothing | Found::Loss(_) => None,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::View;

    /// What a flow sees in a crowd in whose queue it has 20 ms.
    pub fn view(rtt: f64, weight: f64, noise: f64) -> View {
        View {
            now: 1.0,
            rtt,
            base: rtt - 0.02,
            excess: 0.02,
            deviation: 0.0,
            noise,
            may_be_noise: 0.0,
            noisy: false,
            is_noise: false,
            bunched: false,
            rise: 0.0,
            bandwidth: 1.2e6,
            packet_time: 0.001,
            window: 100.0,
            unqueued: 0.5,
            background: 0.0,
            in_crowd: true,
            doubtful: false,
            weight,
        }
    }
}
