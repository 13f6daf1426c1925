//! Where the results of a scenario go.

use super::plots::{Drawn, Names};
use super::selection::{heading, of_seeds};
use crate::exit::usage;
use crate::output::{json_lines, show, write_file};
use anyhow::Context;
use pcc_lab::page::{RunLines, runs_page};
use pcc_lab::report::{RunReport, Table, course, course_head};
use pcc_lab::scenario::Plan;
use std::path::{Path, PathBuf};

/// What is printed, and the files that are written.
#[derive(clap::Args, Default)]
pub struct Outputs {
    /// Print a JSON document for each run, one a line, on standard output instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Write runs.jsonl, table.txt, and plots of the runs over time (SVG) into this directory, which is made if it isn't there.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write all runs over time into this file, as CSV: goodput, wanted rate, round-trip time and queues for each tenth of a second.
    /// Folders of it that aren't there are made.
    #[arg(long, value_name = "FILE")]
    pub series: Option<PathBuf>,
    /// In the table, add the least and the most of the seeds to each median.
    #[arg(long)]
    pub spread: bool,
    /// Write the table and the runs over time into this file: an HTML page to zoom and read, which needs no network and no other file.
    /// Folders of it that aren't there are made.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl Outputs {
    /// That all of them have an effect.
    ///
    /// # Errors
    ///
    /// A mistake of the user, otherwise.
    pub fn check(&self) -> anyhow::Result<()> {
        for (option, file) in [("--html", &self.html), ("--series", &self.series)] {
            if file.as_deref() == Some(Path::new("-")) {
                return Err(usage(format!(
                    "{option} doesn't write to standard output, only into a file; {option} ./- is one of this name"
                )));
            }
        }
        if self.json && self.spread && self.out.is_none() && self.html.is_none() {
            return Err(usage("--spread is about the table, and with --json there is none without --out or --html"));
        }
        Ok(())
    }

    /// Makes the folders of the files, before the work that would be lost.
    fn make_folders(&self) -> anyhow::Result<()> {
        let of_files = [&self.html, &self.series].into_iter().flatten().filter_map(|file| file.parent());
        for folder in self.out.as_deref().into_iter().chain(of_files) {
            std::fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
        }
        Ok(())
    }
}

/// Takes the runs of a plan, and writes what came of them.
pub struct Writer<'a> {
    outputs: &'a Outputs,
    plan: &'a Plan,
    seeds: &'a [u64],
    /// Those of the plots.
    names: Names,
    /// Which runs are, in plots or on the page.
    drawn: Option<Drawn>,
}

/// What files need of a run beside its report.
pub struct OverTime {
    /// For the page.
    lines: Option<RunLines>,
    /// For the CSV: its heading, and the lines of this run.
    course: Option<(String, String)>,
    /// Whether the plot could be written, if there is one: nothing else must be lost because of it.
    plotted: anyhow::Result<()>,
}

impl<'a> Writer<'a> {
    /// For the runs of this plan with these seeds.
    ///
    /// # Errors
    ///
    /// When there can be no folder for the files.
    pub fn new(outputs: &'a Outputs, plan: &'a Plan, seeds: &'a [u64]) -> anyhow::Result<Writer<'a>> {
        outputs.make_folders()?;
        let drawn = (outputs.out.is_some() || outputs.html.is_some()).then(|| Drawn::of(plan, seeds));
        Ok(Writer { outputs, plan, seeds, names: Names::of(plan), drawn })
    }

    fn draws(&self, seed: u64) -> bool {
        self.drawn.is_some_and(|drawn| drawn.has(seed))
    }

    /// Whether the runs with this seed are wanted over time.
    pub fn wants(&self, seed: u64) -> bool {
        self.outputs.series.is_some() || self.draws(seed)
    }

    /// Draws a run, and takes what the other files need of it over time.
    pub fn take(&self, report: &RunReport) -> OverTime {
        let is_drawn = self.draws(report.seed);
        let Outputs { out, html, series, .. } = self.outputs;
        OverTime {
            lines: (html.is_some() && is_drawn).then(|| RunLines::of(report)),
            course: series.as_ref().map(|_| (course_head(report), course(report))),
            plotted: match out.as_ref().filter(|_| is_drawn) {
                Some(folder) => self.names.draw(folder, &self.plan.scenario.title, report),
                None => Ok(()),
            },
        }
    }

    fn table(&self, reports: &[RunReport]) -> Table {
        if self.outputs.spread { Table::with_spread(reports) } else { Table::of(reports) }
    }

    fn text(&self, table: &Table) -> String {
        format!("{}\n{table}", heading(self.plan, self.seeds))
    }

    /// Prints the results.
    ///
    /// # Errors
    ///
    /// When standard output can't be written.
    pub fn show(&self, reports: &[RunReport]) -> anyhow::Result<()> {
        let results = if self.outputs.json { json_lines(reports)? } else { self.text(&self.table(reports)) };
        Ok(show(&results)?)
    }

    /// Writes the files.
    ///
    /// # Errors
    ///
    /// When one can't be written; when it is a plot, all others are.
    pub fn write(&self, reports: &[RunReport], over_time: Vec<OverTime>) -> anyhow::Result<()> {
        let (mut pictures, mut courses, mut plotted) = (Vec::new(), Vec::new(), Vec::new());
        for run in over_time {
            pictures.extend(run.lines);
            courses.extend(run.course);
            plotted.push(run.plotted);
        }
        let table = self.table(reports);
        if let Some(folder) = &self.outputs.out {
            write_file(&folder.join("runs.jsonl"), &json_lines(reports)?)?;
            write_file(&folder.join("table.txt"), &self.text(&table))?;
        }
        if let Some(page) = &self.outputs.html {
            write_file(page, &runs_page(&self.plan.scenario.title, &of_seeds(self.seeds), &table, &pictures)?)?;
        }
        if let Some(file) = &self.outputs.series {
            let head = courses.first().map(|(head, _)| head.clone());
            let text: String = head.into_iter().chain(courses.into_iter().map(|(_, lines)| lines)).collect();
            write_file(file, &text)?;
        }
        plotted.into_iter().collect()
    }
}
