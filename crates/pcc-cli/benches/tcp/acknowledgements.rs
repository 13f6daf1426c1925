//! Time that an acknowledgement takes in PCC's programs. The kernel counts it for BPF programs only.

use crate::Args;
use crate::runs::plan;
use anyhow::Context;
use pcc_emulator::emulate;
use pcc_lab::report::aligned;
use pcc_tcp::kernel::{KernelStatistics, statistics};
use serde_json::json;
use std::fs;

/// Prints it for the cases of the scenario `tcp-cost` that are PCC's.
pub fn measure(args: &Args) -> anyhow::Result<()> {
    let mut rows = vec![["rate", "controller", "ns/ACK"].map(str::to_owned).to_vec()];
    let _counting = Counting::begin()?;
    for case in &plan("tcp-cost", args)?.cases {
        let labels: Vec<String> = case.labels.iter().map(|(_, label)| label.clone()).collect();
        if !case.scenario.flow.iter().all(|flow| flow.controller.starts_with("pcc_")) {
            continue;
        }
        let before = now()?;
        emulate(case, 1, false, &|_| {})?;
        let after = now()?;
        let acknowledgements = after.acknowledgements - before.acknowledgements;
        let each = (after.nanoseconds - before.nanoseconds) as f64 / acknowledgements as f64;
        if args.json {
            println!("{}", json!({ "case": labels, "acknowledgements": acknowledgements, "ns": each }));
        }
        rows.push(labels.into_iter().chain([format!("{each:.0}")]).collect());
    }
    if !args.json {
        println!("{}", aligned(&rows, 2));
    }
    Ok(())
}

fn now() -> anyhow::Result<KernelStatistics> {
    statistics().context("no statistics of the controllers")
}

/// Lets the kernel count while it lives.
struct Counting {
    before: String,
}

const SWITCH: &str = "/proc/sys/kernel/bpf_stats_enabled";

impl Counting {
    fn begin() -> anyhow::Result<Counting> {
        let before = fs::read_to_string(SWITCH)?;
        fs::write(SWITCH, "1")?;
        Ok(Counting { before })
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        if let Err(error) = fs::write(SWITCH, &self.before) {
            eprintln!("can't set {SWITCH} to what it was: {error}");
        }
    }
}
