//! Running a program so that nothing of it is left, however it or this process ends.
//!
//! Between this process and the program stands a *guard*: this binary once more, as the first process of a namespace of process
//! identifiers. When the guard ends, the kernel kills all that the program started, daemons among them; and the kernel kills the
//! guard when the thread that started it ends, be it by `kill -9`.

mod guarded;
mod init;
mod proc;

pub use guarded::{Ended, Guarded};
pub use init::guard;
