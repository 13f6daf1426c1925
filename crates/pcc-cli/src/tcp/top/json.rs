//! Monitor intervals as lines of JSON.

use super::format;
use super::repeat::repeat;
use crate::output::{json_lines, write};
use pcc::Time;
use pcc_tcp::kernel::{Interval, Record, Watch, now};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

/// How long a result waits at most.
const PAUSE: Duration = Duration::from_millis(50);

/// Writes intervals to standard output until a signal comes or nobody reads them.
pub fn stream() -> anyhow::Result<()> {
    let mut watch = Watch::begin(false)?;
    let clock = Clock::new()?;
    repeat(PAUSE, || {
        let lines = watch.poll()?.into_iter().filter_map(|record| match record {
            Record::Interval(interval) => Some(line(&interval, &clock)),
            _ => None,
        });
        Ok(write(&json_lines(lines)?)?)
    })?;
    match watch.dropped()? {
        0 => {}
        dropped => eprintln!("{dropped} intervals are missing: there were more than could be written in time"),
    }
    Ok(())
}

/// From the monotonic clock to the time of day.
struct Clock {
    /// When the monotonic clock began.
    origin: Duration,
}

impl Clock {
    fn new() -> anyhow::Result<Clock> {
        let today = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        Ok(Clock { origin: today.saturating_sub(now().since(Time::ZERO)) })
    }

    fn seconds(&self, time: Time) -> f64 {
        (self.origin + time.since(Time::ZERO)).as_secs_f64()
    }
}

fn line(interval: &Interval, clock: &Clock) -> Value {
    let Interval { connection, result, .. } = interval;
    json!({
        "time": clock.seconds(interval.time),
        "local": connection.local,
        "remote": connection.remote,
        "controller": connection.controller.name(),
        "began_ns": connection.began.as_nanos(),
        "age_s": interval.time.since(connection.began).as_secs_f64(),
        "role": format::role(interval.role),
        "target_mbps": result.target.mbps(),
        "rate_mbps": result.rate.mbps(),
        "packets": result.packets_sent,
        "lost": result.packets_lost,
        "loss": result.loss,
        "rtt_ms": result.rtt * 1e3,
        "min_rtt_ms": result.min_rtt * 1e3,
        "rtt_gradient": result.rtt_gradient,
        "utility": interval.utility,
        "phase": format::phase(interval.phase),
        "pacing_mbps": interval.rate.mbps(),
    })
}
