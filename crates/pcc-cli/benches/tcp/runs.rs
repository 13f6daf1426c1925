//! Scenarios of `benches/`, with each controller in turn.

use crate::Args;
use pcc_emulator::emulate;
use pcc_lab::report::{RunReport, aligned, median};
use pcc_lab::run::in_turn;
use pcc_lab::scenario::Plan;
use serde_json::json;
use std::path::Path;

/// Bytes of a full packet.
const PACKET: f64 = 1500.0;
/// Processor time is compared with that of this one.
const REFERENCE: &str = "cubic";

/// A scenario of `benches/`, changed as asked for.
pub fn plan(name: &str, args: &Args) -> anyhow::Result<Plan> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches").join(name).with_extension("toml");
    Ok(Plan::read(&file, &args.set)?)
}

/// Prints what came of each case of a scenario.
pub fn measure(name: &str, args: &Args) -> anyhow::Result<()> {
    let plan = plan(name, args)?;
    let seeds: Vec<u64> = (1..=args.seeds).collect();
    let runs = in_turn(&plan, &seeds, |case, seed| {
        let run = emulate(case, seed, false, &|_| {})?;
        let Run { goodput, second_half, jain, resent, cpu } = Run::of(&run);
        let doubt = run.emulator.as_ref().and_then(|emulator| emulator.doubt.as_ref());
        if args.json {
            let run = json!({ "scenario": name, "case": run.case, "seed": seed, "goodput": goodput, "second-half": second_half, "jain": jain, "resent": resent, "cpu": cpu, "doubt": doubt });
            println!("{run}");
        } else if let Some(doubt) = doubt {
            eprintln!("{name}, {:?}, seed {seed}: {doubt}", run.case);
        }
        anyhow::Ok(run)
    })?;
    if !args.json {
        println!("{}\n{}", plan.scenario.title, table(&runs));
    }
    Ok(())
}

/// What is shown of a run.
struct Run {
    /// In Mbit/s.
    goodput: f64,
    second_half: f64,
    jain: Option<f64>,
    /// The share of packets that brought nothing new.
    resent: f64,
    /// Processor time of the whole machine in s/GB.
    cpu: Option<f64>,
}

impl Run {
    fn of(run: &RunReport) -> Run {
        let flows = &run.outcome.flows;
        let sent = flows.iter().map(|flow| flow.sent).sum::<u64>() as f64 * PACKET;
        let new = flows.iter().map(|flow| flow.delivered_bytes).sum::<u64>() as f64;
        let cpu = run.emulator.as_ref().and_then(|emulator| emulator.system_cpu_per_gb);
        let second_half = run.flows.iter().filter_map(|flow| flow.second_half).sum();
        Run { goodput: run.goodput, second_half, jain: run.jain, resent: 1.0 - new / sent, cpu }
    }
}

/// Medians over the seeds, which are one after the other.
fn table(runs: &[RunReport]) -> String {
    let cases: Vec<&[RunReport]> = runs.chunk_by(|a, b| a.case == b.case).collect();
    let value = |case: &[RunReport], part: fn(Run) -> Option<f64>| {
        median(case.iter().filter_map(|run| part(Run::of(run))).collect())
    };
    let shown = |value: Option<f64>, digits: usize| value.map_or_else(String::new, |value| format!("{value:.digits$}"));
    let headings =
        ["rate", "controller", "goodput Mbit/s", "2nd half", "Jain", "sent again %", "CPU s/GB", "of cubic's"];
    let mut rows = vec![headings.map(str::to_owned).to_vec()];
    for case in &cases {
        let labels: Vec<&String> = case[0].case.iter().map(|(_, label)| label).collect();
        let cpu = value(case, |run| run.cpu);
        let reference =
            cases.iter().find(|other| other[0].case[0] == case[0].case[0] && other[0].case[1].1 == REFERENCE);
        let reference = reference.and_then(|case| value(case, |run| run.cpu));
        let values = [
            shown(value(case, |run| Some(run.goodput)), 1),
            shown(value(case, |run| Some(run.second_half)), 1),
            shown(value(case, |run| run.jain), 3),
            shown(value(case, |run| Some(run.resent * 100.0)), 2),
            shown(cpu, 2),
            shown(cpu.zip(reference).map(|(cpu, reference)| cpu / reference), 2),
        ];
        rows.push(labels.into_iter().cloned().chain(values).collect());
    }
    aligned(&rows, 2)
}
