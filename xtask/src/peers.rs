//! Controllers over the links of `docs/data/links.csv` in virtual time, as rows of `docs/data/noq.csv` and `docs/data/ours.csv`.
//!
//! ```text
//! cargo xtask peers noq <docs/data/links.csv >docs/data/noq.csv
//! cargo xtask peers ours <docs/data/links.csv >docs/data/ours.csv
//! ```
//!
//! noq's own: packets are 1480 bytes on the wire, of which a stream gets about 1417: no goodput is above 0.958 of the rate.
//! Ours, the baselines in the simulator: of 1500 bytes on the wire 1448 count, as in TCP with timestamps.

use anyhow::Context;
use pcc::Rate;
use pcc_baselines as baselines;
use pcc_lab::link::PathConfig;
use pcc_lab::sim::{FlowConfig, Simulation};
use pcc_lab::virtual_quic::Bulk;
use pcc_quic::{Algorithm, Transport};
use std::io;
use std::time::Duration;

/// A line `link,rate_mbps,rtt_ms,queue_bytes,loss,seconds`.
struct Link<'a> {
    name: &'a str,
    path: PathConfig,
    duration: Duration,
    /// Without random loss the seed changes next to nothing.
    seeds: u64,
}

/// Which controllers run: ours, or those of noq.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Whose {
    /// noq's own, over real QUIC in virtual time.
    Noq,
    /// The baselines, in the simulator.
    Ours,
}

/// Prints a row for each link, controller and seed.
pub fn run(whose: Whose) -> anyhow::Result<()> {
    let run = match whose {
        Whose::Noq => noq,
        Whose::Ours => ours,
    };
    println!("source,controller,link,seed,flow,goodput_mbps,second_half_mbps,note");
    for line in io::stdin().lines().skip(1) {
        let line = line?;
        run(&parse(&line).with_context(|| format!("not a link: {line}"))?);
    }
    Ok(())
}

fn parse(line: &str) -> Option<Link<'_>> {
    let mut fields = line.split(',');
    let name = fields.next()?;
    let mut number = || -> Option<f64> { fields.next()?.parse().ok() };
    let rate = Rate::from_mbps(number()?);
    let delay = Duration::from_secs_f64(number()? / 2e3);
    let (queue, loss, seconds) = (number()? as u64, number()?, number()?);
    let path =
        PathConfig { capacity: rate.into(), queue: queue.into(), loss: loss.into(), ..PathConfig::delay_only(delay) };
    Some(Link { name, path, duration: Duration::from_secs_f64(seconds), seeds: if loss > 0.0 { 3 } else { 1 } })
}

fn noq(link: &Link<'_>) {
    let bulk = Bulk { duration: link.duration, ..Bulk::over(link.path.clone()) };
    for algorithm in [Algorithm::Cubic, Algorithm::NewReno, Algorithm::Bbr3] {
        for seed in 1..=link.seeds {
            let report = Bulk { seed, ..bulk.clone() }.run(&Transport { algorithm, ..Transport::default() });
            let goodput = |from| report.goodput(from, bulk.duration).mbps();
            let (mean, second_half) = (goodput(Duration::ZERO), goodput(bulk.duration / 2));
            let closed = report.closed.map(|reason| format!("closed: {reason}")).unwrap_or_default();
            println!("noq,{algorithm},{},{seed},1,{mean:.3},{second_half:.3},{closed}", link.name);
        }
    }
}

fn ours(link: &Link<'_>) {
    for controller in baselines::names() {
        for seed in 1..=link.seeds {
            let Some(control) = baselines::build(controller, seed) else { continue };
            let flows = vec![FlowConfig::bulk(control, link.path.delay)];
            let flow = Simulation::dumbbell(link.path.clone(), flows, link.duration, seed).run().flows.remove(0);
            let goodput = |from| flow.goodput_between(from, link.duration).mbps() * 1448.0 / 1500.0;
            let (mean, second_half) = (goodput(Duration::ZERO), goodput(link.duration / 2));
            println!("ours,{controller},{},{seed},1,{mean:.3},{second_half:.3},", link.name);
        }
    }
}
