//! The applications on real stacks.

use pcc_lab::sim::App;
use pcc_quic::precise::Timer;
use std::io;
use std::time::Instant;

/// Bytes that an application with much to send writes at once.
const CHUNK: usize = 64 * 1024;

/// Bytes that an application of constant rate has at once, about a packet.
const SEGMENT: u64 = 1400;

/// A stream or connection that data is written to.
pub(super) trait Output {
    /// Writes this much, as soon as the stream takes it. It may be dropped when only a part is written.
    fn write(&mut self, bytes: usize) -> impl Future<Output = io::Result<()>> + Send;

    /// Takes back what has been written and isn't sent, as far as the stack can.
    fn discard(&mut self);

    /// Returns when everything has arrived.
    fn finish(self) -> impl Future<Output = io::Result<()>> + Send;
}

/// Writes what `app` has to send, when it has it, counted from `start` on.
pub(super) async fn run(app: App, start: Instant, mut output: impl Output) -> io::Result<()> {
    match app {
        App::Bulk => loop {
            output.write(CHUNK).await?;
        },
        App::Transfer { bytes } => {
            let mut left = bytes;
            while left > 0 {
                let chunk = left.min(CHUNK as u64);
                output.write(chunk as usize).await?;
                left -= chunk;
            }
            output.finish().await
        }
        App::OnOff { on, off } => {
            let mut timer = Timer::new()?;
            let mut begin = start;
            loop {
                timer.sleep_until(begin).await;
                tokio::select! {
                    failed = async { loop { if let Err(error) = output.write(CHUNK).await { break error; } } } => return Err(failed),
                    () = timer.sleep_until(begin + on) => output.discard(),
                }
                begin += on + off;
            }
        }
        App::ConstantRate { rate } => {
            let mut timer = Timer::new()?;
            let mut produced = 0;
            loop {
                produced += SEGMENT;
                timer.sleep_until(start + rate.time_for(produced)).await;
                output.write(SEGMENT as usize).await?;
            }
        }
        App::Video(_) => Err(io::Error::other("a video runs on the simulator only")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    /// Fails after the second time that data is taken back.
    struct Pausing<'a> {
        discards: u32,
        writes: &'a mut Vec<Duration>,
        start: Instant,
    }

    impl Output for Pausing<'_> {
        async fn write(&mut self, _: usize) -> io::Result<()> {
            self.writes.push(self.start.elapsed());
            if self.discards == 2 {
                return Err(io::Error::other("enough"));
            }
            tokio::time::sleep(MS).await;
            Ok(())
        }

        fn discard(&mut self) {
            self.discards += 1;
        }

        async fn finish(self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn nothing_is_written_between_the_times_that_are_on() {
        let mut writes = Vec::new();
        let start = Instant::now();
        let output = Pausing { discards: 0, writes: &mut writes, start };
        let error = run(App::OnOff { on: 10 * MS, off: 40 * MS }, start, output).await.unwrap_err();
        assert_eq!(error.to_string(), "enough");
        // A machine that is busy makes all of this later, and none of it earlier.
        assert!(writes.last().is_some_and(|last| *last >= 100 * MS), "{writes:?}");
    }
}
