//! Runs a folder of scenarios with several controllers in turn and prints medians over seeds, as CSV.
//!
//! ```sh
//! cargo run --release -p pcc-lab --example controllers -- benches/controllers/dev vivace-latency,bbr1 2
//! ```
//!
//! The arguments are the folder, the controllers, how many seeds, and a part of the names of the cases to run, if not all.
//! A controller takes the place of every flow whose name begins with `test`; `name/key=value` sets a constant of it.

use pcc_lab::report::{RunReport, median};
use pcc_lab::run::simulate_all;
use pcc_lab::scenario::Plan;
use std::error::Error;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, controllers, rest @ ..] = &arguments[..] else { return Err("a folder and controllers".into()) };
    let seeds: Vec<u64> = (1..=rest.first().map_or(Ok(2), |seeds| seeds.parse())?).collect();
    let part = rest.get(1).map_or("", String::as_str);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, Box<dyn Error>>>()?;
    files.sort();
    println!("file,case,controller,goodput,utilisation,share,loss,queueing_p95,jain,fct");
    for file in &files {
        for controller in controllers.split(',') {
            run(file, controller, &seeds, part)?;
        }
    }
    Ok(())
}

/// Runs the cases of a file whose labels contain `part`.
fn run(file: &Path, controller: &str, seeds: &[u64], part: &str) -> Result<(), Box<dyn Error>> {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut plan = Plan::read(file, &[])?;
    plan.cases.retain(|case| format!("{name}: {}", label(&case.labels)).contains(part));
    let mut settings = controller.split('/');
    let controller_name = settings.next().unwrap_or_default();
    let set = settings.map(|setting| setting.replacen('=', " = ", 1)).collect::<Vec<_>>().join("\n");
    for flow in plan.cases.iter_mut().flat_map(|case| &mut case.scenario.flow) {
        if flow.name.as_deref().is_some_and(|name| name.starts_with("test")) {
            flow.controller = controller_name.to_owned();
            flow.set = toml::from_str(&set)?;
        }
    }
    let jobs = std::thread::available_parallelism()?.get();
    for runs in simulate_all(&plan, seeds, jobs, &|_| {})?.chunk_by(|a, b| a.case == b.case) {
        let of = |value: &dyn Fn(&RunReport) -> Option<f64>| {
            median(runs.iter().filter_map(value).collect()).map_or(String::new(), |value| format!("{value:.4}"))
        };
        let whole = |run: &RunReport| run.flows.iter().map(|flow| flow.goodput).sum::<f64>();
        if std::env::var_os("FLOWS").is_some() {
            for run in runs {
                eprintln!("{:?}", run.flows.iter().map(|f| (f.goodput, f.loss, f.queueing_p95)).collect::<Vec<_>>());
            }
        }
        println!(
            "{name},\"{}\",{controller},{},{},{},{},{},{},{}",
            label(&runs[0].case),
            of(&|run| Some(run.goodput)),
            of(&|run| run.links[0].utilisation),
            of(&|run| Some(run.flows[0].goodput / whole(run))),
            of(&|run| Some(run.flows[0].loss)),
            of(&|run| Some(run.flows[0].queueing_p95)),
            of(&|run| run.jain),
            of(&|run| run.flows[0].fct_mean),
        );
    }
    Ok(())
}

fn label(labels: &[(String, String)]) -> String {
    labels.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(", ")
}
