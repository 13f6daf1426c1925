//! What flows run on in reality, and what stands for it in the simulator.

use pcc_quic::Algorithm;
use serde::Deserialize;

/// What carries a flow on the emulator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stack {
    /// QUIC over noq, with one of our controllers, or one of noq's: `noq-cubic`, `noq-newreno`, `noq-bbr3`.
    #[default]
    Quic,
    /// TCP of the kernel, with one of its controllers.
    Tcp,
}

/// What begins the names of noq's own controllers.
pub(super) const OF_NOQ: &str = "noq-";

/// The controller of noq's own called `name`, if it is one.
pub(super) fn of_noq(name: &str) -> Option<Algorithm> {
    let algorithm = name.strip_prefix(OF_NOQ)?.parse::<Algorithm>().ok()?;
    algorithm.profile().is_none().then_some(algorithm)
}

/// The names of noq's own controllers.
pub(super) fn names_of_noq() -> String {
    let names: Vec<_> = Algorithm::OF_NOQ.iter().map(|algorithm| format!("{OF_NOQ}{algorithm}")).collect();
    names.join(", ")
}
