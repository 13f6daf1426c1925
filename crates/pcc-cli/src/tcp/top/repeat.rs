//! Doing the same again and again, until it is enough.

use crate::signals::Signals;
use std::ops::ControlFlow;
use std::time::Duration;

/// Calls `step` again and again, `pause` apart, until it says that this is the end, or SIGINT or SIGTERM does.
pub fn repeat(pause: Duration, mut step: impl FnMut() -> anyhow::Result<ControlFlow<()>>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut signals = Signals::new()?;
        let mut ticks = tokio::time::interval(pause);
        loop {
            tokio::select! {
                _ = ticks.tick() => if step()?.is_break() { return Ok(()) },
                () = signals.next() => return Ok(()),
            }
        }
    })
}
