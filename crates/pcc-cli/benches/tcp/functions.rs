//! Time that the processor spends in the functions of a controller: samples of perf, which see those of the kernel, too.

use crate::Args;
use crate::runs::plan;
use anyhow::ensure;
use pcc_emulator::emulate;
use pcc_lab::report::{aligned, median};
use pcc_lab::run::in_turn;
use pcc_lab::scenario::Case;
use serde_json::json;
use std::process::{Command, Stdio};

/// Samples a second of each processor.
const FREQUENCY: &str = "4000";

/// What the names of a controller's functions begin with. Of BPF that is all of it: programs, helpers, and what calls them.
fn functions(controller: &str) -> &'static [&'static str] {
    match controller {
        "cubic" => &["cubictcp_", "tcp_cong_avoid_ai", "tcp_slow_start"],
        "bbr" => &["bbr_"],
        _ => &["bpf_", "__bpf_"],
    }
}

/// Prints it for each case of the scenario `tcp-cost`.
pub fn measure(args: &Args) -> anyhow::Result<()> {
    if Command::new("perf").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: there is no perf");
        return Ok(());
    }
    let plan = plan("tcp-cost", args)?;
    let seeds: Vec<u64> = (1..=args.seeds).collect();
    let times = in_turn(&plan, &seeds, |case, seed| {
        let time = per_gb(case, seed)?;
        if args.json {
            println!("{}", json!({ "case": case.labels, "seed": seed, "functions": time }));
        }
        anyhow::Ok(time)
    })?;
    if !args.json {
        let mut rows = vec![["rate", "controller", "time in its functions, ms/GB"].map(str::to_owned).to_vec()];
        for (case, times) in plan.cases.iter().zip(times.chunks(seeds.len())) {
            let time = format!("{:.2}", median(times.to_vec()).unwrap_or_default());
            rows.push(case.labels.iter().map(|(_, label)| label.clone()).chain([time]).collect());
        }
        println!("{}", aligned(&rows, 2));
    }
    Ok(())
}

/// In ms for each 10^9 bytes of delivered packets.
fn per_gb(case: &Case, seed: u64) -> anyhow::Result<f64> {
    let file = tempfile::NamedTempFile::new()?;
    let seconds = case.scenario.duration.as_secs().to_string();
    let mut recorder = Command::new("perf")
        .args(["record", "--quiet", "--event=cpu-clock", "--all-cpus", "--freq", FREQUENCY, "--output"])
        .arg(file.path())
        .args(["sleep", &seconds])
        .spawn()?;
    let run = emulate(case, seed, false, &|_| {})?;
    ensure!(recorder.wait()?.success(), "perf record failed");
    let samples =
        Command::new("perf").args(["script", "--fields=period,ip,sym", "--input"]).arg(file.path()).output()?;
    ensure!(samples.status.success(), "perf script failed: {}", String::from_utf8_lossy(&samples.stderr));
    let functions = functions(&case.scenario.flow[0].controller);
    let nanoseconds: u64 = String::from_utf8_lossy(&samples.stdout)
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace();
            let (period, function) = (fields.next()?, fields.nth(1)?);
            functions.iter().any(|name| function.starts_with(name)).then(|| period.parse::<u64>().ok()).flatten()
        })
        .sum();
    let bytes: u64 = run.outcome.flows.iter().flat_map(|flow| &flow.bins).sum();
    Ok(nanoseconds as f64 * 1e3 / bytes as f64)
}
