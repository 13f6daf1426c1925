//! A drain that is under way: for some round trips, so few packets are in flight that none of the flow's own are in the queue.

use super::window::LEAST;

/// A drain takes so many round trips and seconds.
pub(super) const ROUNDS: u32 = 3;
const SECONDS: f64 = 0.2;
/// It took nothing away if this part of what stood before was there on the average: not all, since what stands varies, and a small flow's own
/// packets aren't nothing.
const STAYED: f64 = 0.8;

/// What is to be drained, and why; times in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub now: f64,
    /// The packets in flight meanwhile.
    pub window: f64,
    /// The mean of what stood in the round trips before.
    pub before: f64,
    /// What stands when it begins, and what may be noise of any queue.
    pub at_first: f64,
    /// What was delivered before, in bytes/s.
    pub bandwidth: f64,
    /// Whether it takes out as many packets as if all that stands were ours.
    pub is_deep: bool,
    /// Whether it is there because the delay rose at once.
    pub after_rise: bool,
    /// Whether most of the window had been given up to what stands, in vain.
    pub in_vain: bool,
}

/// A drain that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    pub plan: Plan,
    rounds: u32,
    /// The least of a round trip since the first one with its standard deviation, in seconds. The least, because who has a longer round
    /// trip drains later.
    least: Option<(f64, f64)>,
    /// The sum over these round trips, and how many there were.
    sum: f64,
    seen: u32,
}

impl Drain {
    /// Begins one.
    pub fn new(plan: Plan) -> Drain {
        Drain { plan, rounds: ROUNDS, least: None, sum: 0.0, seen: 0 }
    }

    /// Takes in what stood in a round trip, in seconds, with its standard deviation.
    pub fn on_round(&mut self, excess: f64, deviation: f64) {
        if self.rounds < ROUNDS {
            if self.least.is_none_or(|(least, _)| excess < least) {
                self.least = Some((excess, deviation));
            }
            self.sum += excess;
            self.seen += 1;
        }
        self.rounds = self.rounds.saturating_sub(1);
    }

    /// Whether it has lasted long enough.
    pub fn is_over(&self, now: f64) -> bool {
        self.rounds == 0 && now >= self.plan.now + SECONDS
    }

    /// The least that stood in a round trip, and its standard deviation.
    pub fn least(&self) -> (f64, f64) {
        self.least.unwrap_or_default()
    }

    /// The mean of what stood.
    pub fn mean(&self) -> f64 {
        if self.seen > 0 { self.sum / f64::from(self.seen) } else { 0.0 }
    }

    /// Whether all that stood before stayed.
    pub fn took_nothing(&self) -> bool {
        self.mean() > STAYED * self.plan.before
    }

    /// Whether fewer packets weren't possible.
    pub fn is_smallest(&self) -> bool {
        self.plan.window <= LEAST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drain before which 10 ms stood, after round trips in which so much stood.
    fn drain(rounds: &[f64]) -> Drain {
        let plan = Plan {
            now: 5.0,
            window: 50.0,
            before: 0.01,
            at_first: 0.01,
            bandwidth: 1.2e6,
            is_deep: true,
            after_rise: false,
            in_vain: false,
        };
        let mut drain = Drain::new(plan);
        rounds.iter().for_each(|excess| drain.on_round(*excess, excess / 2.0));
        drain
    }

    #[test]
    fn what_was_sent_before_it_began_tells_nothing() {
        assert_eq!(drain(&[0.0, 0.009, 0.006, 0.012]).least(), (0.006, 0.003));
        assert!((drain(&[0.0, 0.009, 0.006, 0.012]).mean() - 0.009).abs() < 1e-12);
        assert_eq!((drain(&[]).least(), drain(&[0.1]).mean()), ((0.0, 0.0), 0.0));
    }

    #[test]
    fn it_lasts_three_round_trips_and_some_time() {
        assert!(!drain(&[0.01; 2]).is_over(9.0));
        assert_eq!([5.1, 5.3].map(|now| drain(&[0.01; 3]).is_over(now)), [false, true]);
    }

    #[test]
    fn noise_stays_and_a_queue_goes() {
        assert!(drain(&[0.01, 0.006, 0.011, 0.009]).took_nothing(), "a single round trip may show less");
        assert!(!drain(&[0.01, 0.006, 0.007, 0.009]).took_nothing());
    }
}
