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

/// What noq's own controllers are called after.
pub(super) const OF_NOQ: &str = "noq-";

/// The kernel's controllers, and their counterparts among ours.
const OF_KERNEL: [(&str, &str); 11] = [
    ("bbr", "bbr1"),
    ("bic", "bic"),
    ("cubic", "cubic"),
    ("hybla", "hybla"),
    ("illinois", "illinois"),
    ("pcc_allegro", "kernel-allegro"),
    ("pcc_vivace", "kernel-vivace"),
    ("pcc_vivaceloss", "kernel-vivace-loss"),
    ("reno", "newreno"),
    ("vegas", "vegas"),
    ("westwood", "westwood"),
];

/// What stands for a controller of the kernel in the simulator.
pub(super) fn counterpart_of_kernel(name: &str) -> Option<&'static str> {
    OF_KERNEL.iter().find(|(kernel, _)| *kernel == name).map(|(_, ours)| *ours)
}

/// The controller of noq's own called `name`, if it is one.
pub(super) fn of_noq(name: &str) -> Option<Algorithm> {
    let algorithm = name.strip_prefix(OF_NOQ)?.parse::<Algorithm>().ok()?;
    algorithm.profile().is_none().then_some(algorithm)
}
