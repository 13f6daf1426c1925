//! How window-based controllers space packets.

use super::congestion_window::Window;

/// How packets are spaced once there is a round-trip time; the first packets go out at once, as in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pacing {
    /// When the window allows, that is when acknowledgements come.
    AckClocked,
    /// Twice the window in a round trip in slow start and 1.2 times from half the threshold on (Linux).
    Linux,
    /// One window in a round trip ("paced TCP").
    Even,
}

impl Pacing {
    /// The rate in windows for each round trip, `None` if packets aren't paced.
    pub fn gain(self, window: &Window) -> Option<f64> {
        match self {
            Pacing::AckClocked => None,
            Pacing::Linux => Some(if window.size < window.threshold / 2.0 { 2.0 } else { 1.2 }),
            Pacing::Even => Some(1.0),
        }
    }
}
