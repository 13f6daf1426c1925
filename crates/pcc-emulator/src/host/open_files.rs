//! How many files may be open at once: the soft limit.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::LazyLock;

/// The limit of open files when this process began.
static AT_FIRST: LazyLock<Rlimit> = LazyLock::new(|| getrlimit(Resource::Nofile));

/// Raises the limit of this process as far as it may: a flow takes several files, and the usual limit is 1024.
pub(crate) fn raise() {
    limit(AT_FIRST.maximum.unwrap_or(u64::MAX));
}

/// The limit that this process began with. Programs get it too, for some can't cope with a greater one: select(2).
pub(crate) fn at_first() -> u64 {
    AT_FIRST.current.unwrap_or(u64::MAX)
}

/// Sets the limit of this process.
pub(crate) fn limit(files: u64) {
    // Where this fails, who opens one too many says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(files), ..getrlimit(Resource::Nofile) });
}
