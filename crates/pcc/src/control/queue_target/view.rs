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
    /// The smoothed round-trip time, and that of the empty path.
    pub rtt: f64,
    pub base: f64,
    /// The mean delay above that of the empty path in this round trip, and its standard deviation.
    pub excess: f64,
    pub deviation: f64,
    /// What of such a delay isn't ours.
    pub background_delay: f64,
    /// What of such a delay may be noise.
    pub noise: f64,
    /// Whether all of it may be noise.
    pub all_may_be_noise: bool,
    /// Whether some of the background delay is noise.
    pub background_is_noise: bool,
    /// Whether acknowledgements come in bunches so seldom that a few round trips show little of the delay.
    pub bunched: bool,
    /// By how much the delay rose at once beyond what may be noise.
    pub rise: f64,
    /// What was delivered of late, in bytes/s, and the time of a packet at that rate.
    pub bandwidth: f64,
    pub packet_time: f64,
    /// The window in packets.
    pub window: f64,
    /// The part of the round trip that isn't queue, in 0..=1.
    pub unqueued: f64,
    /// The part of the packets that the path loses, whatever is sent, in 0..=1.
    pub background_loss: f64,
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
        self.excess - self.background_delay > larger(LONGER_PART * self.base, LONGER_PACKETS * self.packet_time)
    }
}

/// What a round trip led to. After a drain, `remains` is the delay above that of the empty path that it left, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    Nothing,
    /// A drain has ended.
    Drained {
        remains: f64,
    },
    /// What remains did so in drain after drain, so it isn't ours. The window goes back to so many packets.
    Background {
        remains: f64,
        window: f64,
    },
    /// The delay had risen at once, and the path seems to be longer. So many bytes/s were delivered before the drain.
    Longer {
        remains: f64,
        bandwidth: f64,
    },
    /// Others keep the queue full. The window goes back to so many packets.
    Others {
        remains: f64,
        window: f64,
    },
    /// Beside others, loss is so heavy that only this part of the window remains, in 0..=1.
    Loss {
        left: f64,
    },
}

impl Found {
    /// The delay above that of the empty path that a drain left, if one has ended, in seconds.
    pub fn remains(&self) -> Option<f64> {
        match *self {
            Found::Drained { remains }
            | Found::Longer { remains, .. }
            | Found::Background { remains, .. }
            | Found::Others { remains, .. } => Some(remains),
            Found::Nothing | Found::Loss { .. } => None,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::View;

    /// What a flow sees in a crowd in whose queue it has 20 ms.
    pub fn view(rtt: f64, weight: f64, background_delay: f64) -> View {
        View {
            now: 1.0,
            rtt,
            base: rtt - 0.02,
            excess: 0.02,
            deviation: 0.0,
            background_delay,
            noise: 0.0,
            all_may_be_noise: false,
            background_is_noise: false,
            bunched: false,
            rise: 0.0,
            bandwidth: 1.2e6,
            packet_time: 0.001,
            window: 100.0,
            unqueued: 0.5,
            background_loss: 0.0,
            in_crowd: true,
            doubtful: false,
            weight,
        }
    }
}
