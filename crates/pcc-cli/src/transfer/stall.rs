//! Notices that the two sides are connected and yet nothing moves: QUIC's keep-alives hide it.

use crate::failure::{Failure, Kind};
use std::time::Duration;
use tokio::time::sleep;

/// What the end of a transfer may take longer than a step on the way: the disk writes all that is still in memory.
pub const FINISHING: u32 = 10;

/// What is looked at, and how long it may stay the same.
pub struct Look<T> {
    /// Differs from what it was if something moved.
    pub progress: T,
    /// How long it may be what it was.
    pub limit: Duration,
}

/// Ends when nothing has moved for too long.
pub async fn stalled<T: PartialEq>(look: impl Fn() -> Look<T>) {
    let mut last = look().progress;
    let mut waited = Duration::ZERO;
    loop {
        let Look { progress, limit } = look();
        // At least a second: a limit of nothing would be reached before anything can move.
        let limit = limit.max(Duration::from_secs(1));
        if progress != last {
            (last, waited) = (progress, Duration::ZERO);
        } else if waited >= limit {
            return;
        }
        // Counted in steps and not by the clock, so that the time in which this process was stopped does not count.
        let step = (limit / 10).min(Duration::from_secs(1));
        sleep(step).await;
        waited += step;
    }
}

/// That the sender is the one to blame.
pub fn nothing_came(patience: Duration) -> Failure {
    let seconds = patience.as_secs();
    Failure::new(
        Kind::Stalled,
        format!("the sender is connected, but nothing came from it for {seconds} s; run both commands again to go on"),
    )
}

/// That the disk is.
pub fn disk_is_stuck() -> Failure {
    Failure::new(Kind::Stalled, "the receiver's disk does not get done; run both commands again to go on")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[tokio::test]
    async fn only_a_pause_that_is_too_long_counts() {
        let looks = Cell::new(0);
        // It moves at every fifth of the first twenty looks; ten are a pause that is too long.
        let look = || {
            looks.set(looks.get() + 1);
            Look { progress: looks.get().min(20) / 5, limit: Duration::ZERO }
        };
        stalled(look).await;
        assert_eq!(looks.get(), 30);
    }
}
