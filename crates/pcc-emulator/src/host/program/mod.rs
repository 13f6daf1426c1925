//! Running a program as if its caller had started it: in the name of who called `sudo`, `doas` or `pkexec`, with terminal, signals and exit code its own.

mod handover;
mod run;
mod signals;
mod user;

pub use handover::Handover;
pub use run::run;
pub(crate) use signals::{exit_code, forwarded_signals};
pub use user::shell;
