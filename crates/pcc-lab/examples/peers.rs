//! noq's own controllers in virtual time, as rows of `docs/data/noq.csv`.
//!
//! `cargo run --release -p pcc-lab --example peers <docs/data/links.csv`
//!
//! Packets are 1480 bytes on the wire, of which a stream gets about 1417: no goodput is above 0.958 of the rate.

use pcc::Rate;
use pcc_lab::link::PathConfig;
use pcc_lab::virtual_quic::Bulk;
use pcc_quic::{Algorithm, Transport};
use std::error::Error;
use std::io;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    println!("source,controller,link,seed,flow,goodput_mbps,second_half_mbps,note");
    for line in io::stdin().lines().skip(1) {
        let line = line?;
        let (link, bulk) = parse(&line).ok_or_else(|| format!("not a link: {line}"))?;
        // Without random loss the seed changes next to nothing.
        let seeds = if bulk.forward.loss > 0.0 { 3 } else { 1 };
        for algorithm in [Algorithm::Cubic, Algorithm::NewReno, Algorithm::Bbr3] {
            for seed in 1..=seeds {
                let report = Bulk { seed, ..bulk.clone() }.run(&Transport { algorithm, ..Transport::default() });
                let goodput = |from| report.goodput(from, bulk.duration).mbps();
                let (mean, second_half) = (goodput(Duration::ZERO), goodput(bulk.duration / 2));
                let closed = report.closed.map(|reason| format!("closed: {reason}")).unwrap_or_default();
                println!("noq,{algorithm},{link},{seed},1,{mean:.3},{second_half:.3},{closed}");
            }
        }
    }
    Ok(())
}

/// Name and transfer of a line `link,rate_mbps,rtt_ms,queue_bytes,loss,seconds`.
fn parse(line: &str) -> Option<(&str, Bulk)> {
    let mut fields = line.split(',');
    let link = fields.next()?;
    let mut number = || -> Option<f64> { fields.next()?.parse().ok() };
    let rate = Some(Rate::from_mbps(number()?));
    let delay = Duration::from_secs_f64(number()? / 1e3);
    let (queue, loss, seconds) = (number()? as u64, number()?, number()?);
    let path = PathConfig { rate, queue, loss, ..PathConfig::delay_only(delay) };
    Some((link, Bulk { duration: Duration::from_secs_f64(seconds), ..Bulk::over(path) }))
}
