//! The Rust core call by call, and when C may answer differently.
//!
//! Where a comparison is too close to call, rounding decides it, and the two may go different ways for good. Such a tie
//! is honest if the Rust core itself takes C's way when what it measured so far differs by a few parts in a million.

use pcc::utility::Utility;
use pcc::{Cut, IntervalPlan, Measurement, PathState, Phase, Rate, RateControl, Role};
use std::sync::Arc;
use std::time::Duration;

/// How far the rates may be apart.
pub const TOLERANCE: f64 = 1e-3;
/// How much measurements are varied in the search for a tie, and how often. A rate in C is a whole number of bits per
/// second, so it varies by one bit per second at least.
const VARIATION: f64 = 4e-6;
const VARIANTS: u64 = 200;

/// One call of a control, to be repeated.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    Plan(PathState),
    Result(Role, Measurement),
    Cut(Cut),
    Limit(Rate),
}

/// What a control does after a call: its rate (that of the interval, of a plan), its phase, and whether it changed the
/// rate at once.
pub type Answer = (Rate, u32, bool);

pub fn agree(a: Answer, b: Answer) -> bool {
    ((a.0 / b.0) - 1.0).abs() <= TOLERANCE && (a.1, a.2) == (b.1, b.2)
}

/// The Rust core with all that was asked of it.
pub struct Core {
    control: Box<dyn RateControl>,
    utility: Arc<dyn Utility>,
    path: PathState,
}

impl Core {
    pub fn new(profile: &pcc::Profile, seed: u64) -> Core {
        let path = PathState::new(0, Duration::ZERO);
        Core { control: profile.control.build(seed), utility: profile.utility.shared(), path }
    }

    pub fn plan(&mut self, path: &PathState) -> IntervalPlan {
        self.path = *path;
        self.control.plan(path)
    }

    pub fn rate(&self) -> Rate {
        self.control.rate()
    }

    fn phase(&self) -> u32 {
        match self.control.phase() {
            Phase::Starting => 0,
            Phase::Probing => 1,
            Phase::Moving => 2,
            other => panic!("C has no {other:?}"),
        }
    }

    pub fn planned(&self, plan: &IntervalPlan) -> Answer {
        (plan.rate, self.phase(), false)
    }

    pub fn call(&mut self, call: Call) -> Answer {
        let realigned = match call {
            Call::Plan(path) => {
                let plan = self.plan(&path);
                return self.planned(&plan);
            }
            Call::Result(role, result) => self.control.on_result(role, &result, &*self.utility, &self.path),
            Call::Cut(cut) => {
                self.control.cut(cut);
                true
            }
            Call::Limit(ceiling) => {
                self.control.limit(ceiling);
                true
            }
        };
        (self.control.rate(), self.phase(), realigned)
    }
}

/// Varies what was measured by a few parts in a million.
fn varied(call: Call, rng: &mut fastrand::Rng) -> Call {
    let Call::Result(role, mut m) = call else { return call };
    let bits = m.rate.bits_per_sec();
    m.rate = Rate::from_bits_per_sec(bits + (bits * VARIATION).max(1.0) * (2.0 * rng.f64() - 1.0));
    let mut factor = || 1.0 + VARIATION * (2.0 * rng.f64() - 1.0);
    m.loss *= factor();
    m.rtt *= factor();
    m.rtt_gradient *= factor();
    m.rtt_gradient_error *= factor();
    Call::Result(role, m)
}

/// Whether the Rust core may answer the last call as C did, if what it measured was a little different.
pub fn is_tie(profile: &pcc::Profile, seed: u64, calls: &[Call], c: Answer) -> bool {
    (0..VARIANTS).any(|variant| {
        let mut rng = fastrand::Rng::with_seed(variant);
        let mut core = Core::new(profile, seed);
        calls.iter().map(|&call| core.call(varied(call, &mut rng))).last().is_some_and(|answer| agree(answer, c))
    })
}
