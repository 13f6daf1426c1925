//! `pcc lab figures`: the figures of the papers.

use super::machine::jobs;
use super::progress::Progress;
use crate::exit::usage;
use crate::output::{json_lines, show, write_file};
use anyhow::Context;
use pcc_lab::figure::{self, Finding, Finished, Study};
use pcc_lab::report::aligned;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Name and text of the files in `figures/`.
const FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/figures.rs"));

const EXAMPLES: &str = "\
Examples:
  pcc lab figures --list
  pcc lab figures A5 V2       # leaves figures/README.md as it is
  pcc lab figures --quick
  pcc lab figures --out .     # in the repository: renews figures/README.md and its plots

Exit codes:
  0 done, whatever came of the claims (--json tells), 1 it failed, 2 wrong command line, 130 interrupted";

/// Runs the experiments behind figures of the PCC papers, and compares what comes out with what the papers report.
///
/// Each figure is a scenario with claims, in the folder figures/ of the repository; docs/scenarios.md describes them.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The figures [default: all].
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Print what there is, and run nothing.
    #[arg(long)]
    list: bool,
    /// Shorter and fewer runs: a minute instead of a quarter of an hour, on two cores.
    #[arg(long)]
    quick: bool,
    /// How many runs at a time [default: as many as there are cores].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print a JSON document for each claim, one a line, on standard output instead of the tables; with --list, for each figure.
    #[arg(long)]
    json: bool,
    /// Where to write figures/plots, figures/data and, if no ID is given, figures/README.md; folders that aren't there are made.
    #[arg(long, value_name = "DIR", default_value = "pcc-figures")]
    out: PathBuf,
}

/// Runs the chosen figures, prints what came of their claims, and writes plots and data.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let files = figure::choose(FILES, &args.ids).map_err(usage)?;
    let parse = |(file, text): &(&str, &str)| Study::parse(&format!("figures/{file}"), text, args.quick);
    let studies = files.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    if args.list {
        let listed: Vec<Listed<'_>> = studies.iter().map(Listed::of).collect();
        show(&if args.json { json_lines(&listed)? } else { list(&listed) })?;
        return Ok(ExitCode::SUCCESS);
    }
    let progress = Progress::start(studies.iter().map(Study::runs).sum::<usize>() as u64, "runs");
    let finished = figure::run(&studies, jobs(args.jobs), &|done| progress.show(done as u64))?;
    progress.finish();
    let results = if args.json { json_lines(findings(&finished))? } else { finished.iter().map(table).collect() };
    show(&results)?;
    if args.quick {
        eprintln!("These were the short versions: what differs here may agree in full length.");
    }
    write_results(args, &finished).with_context(|| format!("can't write the results to {}", args.out.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// What `--list` says of a figure.
#[derive(Serialize)]
struct Listed<'a> {
    id: &'a str,
    source: &'a str,
    title: &'a str,
    runs: usize,
    simulated_seconds: f64,
}

impl Listed<'_> {
    fn of(study: &Study) -> Listed<'_> {
        let Study { figure, plan } = study;
        Listed {
            id: &figure.id,
            source: &figure.source,
            title: &plan.scenario.title,
            runs: study.runs(),
            simulated_seconds: study.simulated_seconds(),
        }
    }
}

fn list(listed: &[Listed<'_>]) -> String {
    let heading = ["ID", "source", "title", "runs", "simulated s"].map(str::to_owned).to_vec();
    let row = |&Listed { id, source, title, runs, simulated_seconds }: &Listed<'_>| {
        [id, source, title]
            .map(str::to_owned)
            .into_iter()
            .chain([runs.to_string(), simulated_seconds.to_string()])
            .collect()
    };
    aligned(&[heading].into_iter().chain(listed.iter().map(row)).collect::<Vec<_>>(), 3)
}

/// The claims of a figure.
fn table(finished: &Finished<'_>) -> String {
    let Study { figure, plan } = finished.study;
    let heading = ["claim", "published", "measured", "accepted", "verdict"].map(str::to_owned).to_vec();
    let rows = finished.findings.iter().map(|finding| finding.row().to_vec());
    let rows: Vec<Vec<String>> = [heading].into_iter().chain(rows).collect();
    format!("{}  {}: {}\n{}\n", figure.id, figure.source, plan.scenario.title, aligned(&rows, 5))
}

fn findings<'a>(finished: &'a [Finished<'_>]) -> impl Iterator<Item = &'a Finding> {
    finished.iter().flat_map(|figure| &figure.findings)
}

/// Writes the plots and the data, and the document if it is about all figures.
fn write_results(args: &Args, finished: &[Finished<'_>]) -> anyhow::Result<()> {
    let mut drawn = Vec::new();
    for figure in finished {
        let id = &figure.study.figure.id;
        let plots = figure.plots()?;
        for (number, plot) in (1..).zip(&plots) {
            if let Some(svg) = plot {
                write_file(&args.out.join(format!("figures/plots/{id}-{number}.svg")), svg)?;
            }
        }
        drawn.push(plots.iter().map(Option::is_some).collect());
        write_file(&args.out.join(format!("figures/data/{id}.jsonl")), &json_lines(figure.reports())?)?;
    }
    if !args.ids.is_empty() {
        return Ok(());
    }
    let command = if args.quick { "pcc lab figures --quick" } else { "pcc lab figures" };
    let text = figure::markdown(finished, &drawn, command, env!("CARGO_PKG_VERSION"));
    write_file(&args.out.join("figures/README.md"), &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_in_the_repository_is_well_formed() {
        for (file, text) in figure::choose(FILES, &[]).unwrap() {
            for quick in [false, true] {
                let study = Study::parse(file, text, quick);
                assert!(
                    study.as_ref().is_ok_and(|study| study.runs() > 0),
                    "{:?}",
                    study.map_err(|error| error.to_string())
                );
            }
        }
    }

    #[test]
    fn ids_are_unique() {
        let ids: Vec<String> =
            FILES.iter().filter_map(|(file, text)| Some(Study::parse(file, text, true).ok()?.figure.id)).collect();
        let distinct: std::collections::BTreeSet<&String> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len(), "{ids:?}");
    }
}
