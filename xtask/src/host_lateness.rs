//! How late a thread of this machine runs: what a host of the simulator takes as `slack` and `stalls`.
//!
//! A thread sleeps for a fifth of a millisecond again and again, with the timer that our QUIC sender paces with, and notes how late it
//! was. Beside it busy loops of the lowest priority may run, which end by themselves.

use anyhow::Context;
use pcc_quic::precise::Timer;
use std::fmt::Write;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How long each sleep is.
const SLEEP: Duration = Duration::from_micros(200);
/// What is later than this was a stall, and what is less the slack of the timer.
const STALL: Duration = Duration::from_micros(500);
/// Slack is uniform in the simulator: twice the median of what was measured has the same median.
const SLACK_OF_MEDIAN: u32 = 2;

/// Busy loops of the lowest priority, which end by themselves, at the latest after the measurement.
struct Load(Vec<Child>);

impl Load {
    fn start(loops: u32, seconds: u64) -> anyhow::Result<Load> {
        let start = |_| {
            let limit = (seconds + 5).to_string();
            let command = ["nice", "-n", "19", "sh", "-c", "while :; do :; done"];
            Command::new("timeout").arg(limit).args(command).spawn().context("can't start a busy loop")
        };
        Ok(Load((0..loops).map(start).collect::<anyhow::Result<_>>()?))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // One that has ended already needs nothing. `timeout` hands on that it should end, but not that it must.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
    }
}

/// Measures, and prints the table.
pub fn run(seconds: u64, loops: u32) -> anyhow::Result<()> {
    let load = Load::start(loops, seconds)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let time = Duration::from_secs(seconds);
    let latenesses = runtime.block_on(measure(time))?;
    drop(load);
    print!("{}", table(latenesses, time, loops));
    Ok(())
}

/// How late each sleep ended.
async fn measure(time: Duration) -> anyhow::Result<Vec<Duration>> {
    let mut timer = Timer::new()?;
    let mut latenesses = Vec::with_capacity((time.as_micros() / SLEEP.as_micros()) as usize);
    let end = Instant::now() + time;
    loop {
        let due = Instant::now() + SLEEP;
        if due > end {
            return Ok(latenesses);
        }
        timer.sleep_until(due).await;
        latenesses.push(Instant::now().saturating_duration_since(due));
    }
}

/// The latenesses as TOML.
fn table(mut latenesses: Vec<Duration>, time: Duration, loops: u32) -> String {
    latenesses.sort_unstable();
    let (slack, stalls) = latenesses.split_at(latenesses.partition_point(|lateness| *lateness < STALL));
    let us = |at: Option<&Duration>| at.map_or(0, Duration::as_micros);
    let quantile = |percent: usize| us(latenesses.get(latenesses.len() * percent / 100));
    let median = slack.get(slack.len() / 2).copied().unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let mut text = String::new();
    // Writing to a string doesn't fail.
    let _ = writeln!(
        text,
        "# {} sleeps of {SLEEP:?} in {time:?}, on {cores} cores, beside {loops} busy loops of the lowest priority:\n\
         # late by {} us (median), {} us (90 %), {} us (99 %), {} us (the most).",
        latenesses.len(),
        quantile(50),
        quantile(90),
        quantile(99),
        us(latenesses.last()),
    );
    let _ = writeln!(text, "slack = \"{}us\"", (median * SLACK_OF_MEDIAN).as_micros());
    let stalled: Duration = stalls.iter().sum();
    let every = time.saturating_sub(stalled).checked_div(stalls.len() as u32);
    if let Some(every) = every {
        let _ = writeln!(text, "\n# {} stalls, {:.1} % of the time.", stalls.len(), share(stalled, time) * 100.0);
        let _ = writeln!(text, "[stalls]\nevery = \"{}us\"\nlength = [", every.as_micros());
        for (length, count) in bins(stalls) {
            let _ = writeln!(text, "    [\"{}us\", {count}],", length.as_micros());
        }
        text.push_str("]\n");
    }
    text
}

fn share(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64()
}

/// The mean and the number of the sorted lengths in each bin, of which four make a factor of two.
fn bins(lengths: &[Duration]) -> Vec<(Duration, usize)> {
    let bin = |length: &Duration| (share(*length, STALL).log2() * 4.0) as u32;
    let of_bin = |bin: &[Duration]| (bin.iter().sum::<Duration>() / bin.len() as u32, bin.len());
    lengths.chunk_by(|a, b| bin(a) == bin(b)).map(of_bin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slack_and_stalls_are_told_apart() {
        let us = Duration::from_micros;
        let latenesses = [vec![us(30); 95], vec![us(510), us(530), us(2000), us(2100), us(9000)]].concat();
        let text = table(latenesses, us(100_000), 2);
        assert!(text.contains("slack = \"60us\"\n") && text.contains("# 5 stalls, 14.1 % of the time"), "{text}");
        assert!(text.contains("[\"520us\", 2],\n    [\"2050us\", 2],\n    [\"9000us\", 1],"), "{text}");
    }
}
