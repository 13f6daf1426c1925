//! How much a flow yielded, and whether that helped.

/// Who yielded did so in vain if this part of the delay remained all the time.
pub(super) const REMAINS: f64 = 0.7;

/// How much of the window was given up, and to what delay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Yielding {
    /// Much is given up by who goes down to this part of the window, and stays there for so many round trips.
    part: f64,
    patience: u32,
    /// The largest window since it last grew or the delay fell, and the largest excess delay since then in seconds.
    from: Option<(f64, f64)>,
    /// Round trips since so much of that window was given up.
    rounds: u32,
}

/// A quarter of the window, and eight round trips: longer than any probe for bandwidth takes, so that nobody asks for one because of that of another.
impl Default for Yielding {
    fn default() -> Yielding {
        Yielding::to(0.25, 8)
    }
}

impl Yielding {
    /// Asks whether this part of a window was given up in vain, and stayed so for `patience` round trips.
    pub fn to(part: f64, patience: u32) -> Yielding {
        Yielding { part, patience, from: None, rounds: 0 }
    }

    /// The largest window since it last grew or the delay fell.
    pub fn largest(&self) -> Option<f64> {
        self.from.map(|(window, _)| window)
    }

    /// A round trip had a window of `packets` and `excess` seconds of delay. Returns whether so much was given up in vain.
    pub fn on_round(&mut self, packets: f64, excess: f64) -> bool {
        match &mut self.from {
            Some((window, most)) if packets <= *window && excess >= REMAINS * *most => {
                *most = most.max(excess);
                self.rounds = if packets > self.part * *window { 0 } else { self.rounds + 1 };
                if self.rounds < self.patience {
                    return false;
                }
                *self = Yielding::to(self.part, self.patience);
                true
            }
            _ => {
                (self.from, self.rounds) = (Some((packets, excess)), 0);
                false
            }
        }
    }
}

/// What was before a probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub window: f64,
    /// The cap on it because of loss.
    pub cap: f64,
    /// The delivery rate, in bytes/s, that without a longer queue shows that there is more.
    pub enough: f64,
    /// The delay that wasn't ours, in seconds.
    pub background: f64,
    /// Whether the delay had risen at once.
    pub rose: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the last of these round trips, of a window and a delay, asks for a probe.
    fn asks(rounds: impl IntoIterator<Item = (f64, f64)>) -> bool {
        let mut yielding = Yielding::default();
        rounds.into_iter().fold(false, |_, (window, delay)| yielding.on_round(window, delay))
    }

    #[test]
    fn who_yielded_in_vain_asks_for_more() {
        let yields = [100.0, 60.0, 30.0].map(|window| (window, 0.02));
        let waits = |delay| core::iter::repeat_n((20.0, delay), Yielding::default().patience as usize);
        assert!(asks(yields.into_iter().chain(waits(0.02))));
        assert!(!asks(yields.into_iter().chain(waits(0.02).skip(1))), "not at once");
        assert!(!asks(yields.into_iter().chain(waits(0.01))), "the delay fell: it was ours");
        assert!(!asks([(60.0, 0.02)].into_iter().chain(waits(0.02))), "not enough given up");
        assert!(!asks([(20.0, 0.02)].into_iter().chain(waits(0.02))), "nothing given up");
    }
}
