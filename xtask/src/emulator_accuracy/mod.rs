//! How exactly the emulator does what it should: real UDP traffic through it, as Markdown tables or as JSON.
//!
//! Takes about a minute and a half. Senders, emulator and receivers share this machine: what else runs on it shows.

mod hosts;
mod measure;
mod traffic;

use measure::{Delay, Loss, Queue, Rate};
use pcc_emulator::EmulatorError;
use pcc_emulator::realtime::Lateness;
use std::time::Duration;

/// All that was measured.
#[derive(serde::Serialize)]
struct Accuracy {
    delays: Vec<Delay>,
    rates: Vec<Rate>,
    queues: Vec<Queue>,
    losses: Vec<Loss>,
}

/// A [`Lateness`] in us.
#[derive(serde::Serialize)]
struct LatenessUs {
    p50: u128,
    p99: u128,
    max: u128,
}

impl From<Lateness> for LatenessUs {
    fn from(lateness: Lateness) -> LatenessUs {
        let [p50, p99, max] = [lateness.p50, lateness.p99, lateness.max].map(|time| time.as_micros());
        LatenessUs { p50, p99, max }
    }
}

impl std::fmt::Display for LatenessUs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} | {} | {}", self.p50, self.p99, self.max)
    }
}

/// Measures, and prints what came out.
pub fn run(json: bool) -> anyhow::Result<()> {
    let ms = Duration::from_millis;
    let accuracy = Accuracy {
        delays: each([(ms(15), 0), (ms(15), 2), (ms(400), 0), (ms(400), 2)], |(delay, burners)| {
            measure::delay(delay, burners)
        })?,
        rates: each([10.0, 100.0, 400.0, 800.0, 1000.0], measure::rate)?,
        queues: each([(15_000, 1), (100_000, 1), (100_000, 44), (1_000_000, 44)], |(limit, segments)| {
            measure::queue(limit, segments)
        })?,
        losses: each([0.001, 0.01, 0.1], measure::loss)?,
    };
    if json {
        println!("{}", serde_json::to_string_pretty(&accuracy)?);
    } else {
        print(&accuracy);
    }
    Ok(())
}

fn each<T, R>(
    inputs: impl IntoIterator<Item = T>,
    measure: impl Fn(T) -> Result<R, EmulatorError>,
) -> Result<Vec<R>, EmulatorError> {
    inputs.into_iter().map(measure).collect()
}

fn print(accuracy: &Accuracy) {
    println!("| one way, ms | busy loops beside | error, us: p50 | p99 | lateness, us: p50 | p99 | max |");
    println!("|---|---|---|---|---|---|---|");
    for row in &accuracy.delays {
        println!(
            "| {} | {} | {:.0} | {:.0} | {} |",
            row.ms, row.burners, row.error_p50_us, row.error_p99_us, row.lateness_us
        );
    }
    println!();
    println!(
        "| rate, Mbit/s | measured | error, % | lateness, us: p50 | p99 | max | emulator, % of a core | interface drops | queue found empty |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for row in &accuracy.rates {
        println!(
            "| {} | {:.3} | {:+.3} | {} | {:.0} | {} | {} |",
            row.mbps,
            row.measured_mbps,
            row.error_percent,
            row.lateness_us,
            row.cpu_percent,
            row.interface_drops,
            row.found_empty
        );
    }
    println!();
    println!("| queue, bytes | packets in a super-packet | packets sent | in the queue | should be |");
    println!("|---|---|---|---|---|");
    for row in &accuracy.queues {
        println!("| {} | {} | {} | {} | {} |", row.limit, row.segments, row.sent, row.queued, row.expected);
    }
    println!();
    println!("| loss, % | packets sent | lost | off the mean, in standard deviations | not lost, and not received |");
    println!("|---|---|---|---|---|");
    for row in &accuracy.losses {
        println!(
            "| {} | {} | {} | {:+.1} | {} |",
            row.probability * 100.0,
            row.sent,
            row.lost,
            row.deviations,
            row.missing
        );
    }
}
