//! Controllers to compare with, by name, behind [`CongestionControl`].
//!
//! | name | source |
//! |---|---|
//! | `bic` | Xu, Harfoush and Rhee, INFOCOM 2004, with the constants of Linux |
//! | `cubic`, `cubic-hystart` | RFC 9438; with HyStart++ (RFC 9406) in the first slow start |
//! | `hybla` | Caini and Firrincieli 2004, as in Linux |
//! | `illinois` | Liu, Basar and Srikant 2008 |
//! | `ledbat` | RFC 6817, by round-trip times |
//! | `newreno` | RFC 5681 and 6582, not paced |
//! | `newreno-paced` | the same, evenly paced over a round trip: the papers' "paced TCP" |
//! | `vegas` | Brakmo and Peterson 1995, as in Linux |
//! | `westwood` | Westwood+: Mascolo et al. 2001, Grieco and Mascolo 2004, as in Linux |
//!
//! All but NewReno are paced as Linux paces them. Where Linux differs from a source so that it matters for throughput,
//! the file of the controller says which of the two it follows.

mod bic;
mod cubic;
mod hybla;
mod hystart;
mod illinois;
mod ledbat;
mod newreno;
mod pacing;
mod persistent;
mod rtt;
mod vegas;
mod westwood;
mod window;

use bic::Bic;
use cubic::Cubic;
use hybla::Hybla;
use illinois::Illinois;
use ledbat::Ledbat;
use newreno::NewReno;
use pacing::Pacing;
use pcc::CongestionControl;
use vegas::Vegas;
use westwood::Westwood;
use window::{Rule, Windowed};

/// All names that [`build`] knows, sorted.
pub const NAMES: &[&str] =
    &["bic", "cubic", "cubic-hystart", "hybla", "illinois", "ledbat", "newreno", "newreno-paced", "vegas", "westwood"];

/// A new controller called `name`, `None` for an unknown one; its random choices, if any, come from `seed`.
pub fn build(name: &str, seed: u64) -> Option<Box<dyn CongestionControl>> {
    let _ = seed;
    Some(match name {
        "bic" => windowed(Bic::default(), Pacing::Linux),
        "cubic" => windowed(Cubic::new(), Pacing::Linux),
        "cubic-hystart" => windowed(Cubic::with_hystart(), Pacing::Linux),
        "hybla" => windowed(Hybla::new(), Pacing::Linux),
        "illinois" => windowed(Illinois::new(), Pacing::Linux),
        "ledbat" => windowed(Ledbat::new(), Pacing::Linux),
        "newreno" => windowed(NewReno, Pacing::AckClocked),
        "newreno-paced" => windowed(NewReno, Pacing::Even),
        "vegas" => windowed(Vegas::new(), Pacing::Linux),
        "westwood" => windowed(Westwood::default(), Pacing::Linux),
        _ => return None,
    })
}

fn windowed<R: Rule + 'static>(rule: R, pacing: Pacing) -> Box<dyn CongestionControl> {
    Box::new(Windowed::new(rule, pacing))
}
