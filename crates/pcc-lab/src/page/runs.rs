//! The runs of a scenario as a page: the table, and for each run its lines over time.

use super::Page;
use crate::plot::{Colour, Curve, Mark, Panel, lines};
use crate::report::{RunReport, Table};
use serde::Serialize;

const PAGE: Page = Page { body: include_str!("runs.html"), style: "", script: include_str!("runs.js") };

/// A run over time, as the page shows it.
#[derive(Clone, Debug, Serialize)]
pub struct RunLines {
    /// For each sweep the label of its value.
    labels: Vec<String>,
    seed: u64,
    /// How long it took.
    seconds: f64,
    panels: Vec<PanelData>,
}

#[derive(Clone, Debug, Serialize)]
struct PanelData {
    label: String,
    curves: Vec<CurveData>,
    /// From and to, in seconds, with a colour.
    bands: Vec<(f64, f64, String)>,
}

#[derive(Clone, Debug, Serialize)]
struct CurveData {
    name: String,
    colour: String,
    mark: &'static str,
    /// Seconds and values.
    points: Vec<(f64, f64)>,
}

#[derive(Serialize)]
struct Data<'a> {
    title: &'a str,
    seeds: &'a str,
    table: &'a Table,
    runs: &'a [RunLines],
}

/// The page of some runs: their table, and the lines of those that were recorded, at least one. `title` says what they are of, `seeds` what
/// the table has of their seeds.
///
/// # Errors
///
/// When a number has no form in JSON.
pub fn runs_page(title: &str, seeds: &str, table: &Table, runs: &[RunLines]) -> serde_json::Result<String> {
    PAGE.with(&Data { title, seeds, table, runs })
}

impl RunLines {
    /// Those of a recorded run.
    pub fn of(run: &RunReport) -> RunLines {
        let (seconds, panels) = lines(run);
        RunLines {
            labels: run.case.iter().map(|(_, label)| label.clone()).collect(),
            seed: run.seed,
            seconds,
            panels: panels.into_iter().map(panel).collect(),
        }
    }
}

fn panel(panel: Panel) -> PanelData {
    let bands = panel.bands.into_iter().map(|(from, to, colour)| (rounded(from), rounded(to), css(colour)));
    PanelData { label: panel.y.label, bands: bands.collect(), curves: panel.curves.into_iter().map(curve).collect() }
}

fn curve(Curve { label, colour, mark, points }: Curve) -> CurveData {
    let mark = match mark {
        Mark::Line | Mark::Dotted => "line",
        Mark::Thin => "thin",
        Mark::Dashed(..) => "dashed",
        Mark::Dots => "dots",
        Mark::Up => "up",
        Mark::Down => "down",
    };
    let points = points.into_iter().map(|(time, value)| (rounded(time), rounded(value))).collect();
    CurveData { name: label, colour: css(colour), mark, points }
}

/// More digits can't be seen.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// A colour as CSS; what is nearly black is the colour of text, also on a dark ground.
fn css(Colour { 0: red, 1: green, 2: blue }: Colour) -> String {
    if red.max(green).max(blue) < 0x40 { "var(--ink)".to_owned() } else { format!("#{red:02x}{green:02x}{blue:02x}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Plan;

    #[test]
    fn a_page_has_the_table_and_the_lines_of_each_run() {
        let link = "[[link]]\nrate = '10mbit'\ndelay = '10ms'\nqueue = '30kB'";
        let sweep = "[[sweep]]\nname = 'by'\nvalues = [{ label = 'a </script>', 'flow.controller' = 'cubic' }]";
        let text = format!("duration = '2s'\n{link}\n[[flow]]\n{sweep}\n");
        let plan = Plan::parse("x.toml", &text, &[]).unwrap();
        let run = crate::run::simulate(&plan.cases[0], 1, true).unwrap();
        let lines = [RunLines::of(&run)];
        let page = runs_page("two seconds", "seed 1", &Table::of(&[run]), &lines).unwrap();
        for part in ["\"Mbit/s\"", "\"queue\"", "\"RTT, ms\"", "a \\u003c/script>", "goodput Mbit/s"] {
            assert!(page.contains(part), "{part}");
        }
        assert_eq!(page.matches("</script>").count(), 2, "a label ends no script");
        for outside in ["http:", "https:", "src=", "url(", "@import", "/*STYLE*/", "/*SCRIPT*/", "/*DATA*/", "/*BODY*/"]
        {
            assert!(!page.contains(outside), "{outside}");
        }
    }
}
