//! What a tunnel carried, and how it ended.

use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};

/// How one direction of a tunnel ended, or all of it, or a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// All has arrived; of a flow, the program has gone or has many newer ones.
    Closed,
    /// One of the two programs cut the connection off.
    Reset,
    /// The connection between the two sides of the proxy was lost.
    Lost,
    /// Nothing has moved for long, which only ends a flow.
    Idle,
}

impl End {
    /// All of them.
    pub const ALL: [End; 4] = [End::Closed, End::Reset, End::Lost, End::Idle];

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            End::Closed => "closed",
            End::Reset => "reset",
            End::Lost => "lost",
            End::Idle => "idle",
        }
    }
}

/// Bytes that a tunnel or a flow has carried so far.
#[derive(Debug, Default)]
pub struct Carried {
    /// To the target.
    pub up: AtomicU64,
    /// From the target.
    pub down: AtomicU64,
}

impl Carried {
    /// To the target, and from it.
    pub fn bytes(&self) -> (u64, u64) {
        (self.up.load(Ordering::Relaxed), self.down.load(Ordering::Relaxed))
    }
}
