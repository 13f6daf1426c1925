//! The findings as a document.

use super::claims::Verdict;
use super::set_up;
use super::study::Finished;
use std::fmt::Write;

/// A document about all figures that were run with `command`. Its plots are expected in `plots/ID-N.svg`, N from 1, as far as `drawn`
/// says (per figure and plot) that they are there.
pub fn markdown(figures: &[Finished<'_>], drawn: &[Vec<bool>], command: &str, version: &str) -> String {
    let agreeing: usize = figures.iter().map(Finished::agreeing).sum();
    let claims: usize = figures.iter().map(|figure| figure.findings.len()).sum();
    let mut text = String::new();
    // Writing to a string doesn't fail.
    let _ = write!(
        text,
        "# Figures of the papers, run again\n\n\
         Made with `{command}`, version {version}. Everything ran in virtual time with fixed seeds: the same command gives\n\
         this document to the byte on any machine. A claim agrees if what was measured is within the accepted range:\n\
         {agreeing} of {claims} do.\n\
         `queue-target`, the default, is in neither paper; it is drawn beside the others.\n\n\
         | figure | source | title | claims that agree |\n| --- | --- | --- | --- |\n"
    );
    for figure in figures {
        let (id, source) = (cell(&figure.study.figure.id), cell(&figure.study.figure.source));
        let (agreeing, all) = (figure.agreeing(), figure.findings.len());
        let unrun = figure.findings.iter().filter(|finding| finding.verdict == Verdict::NotRun).count();
        let unrun = if unrun > 0 { format!(", {unrun} not run") } else { String::new() };
        let _ = writeln!(
            text,
            "| [{id}](#{}) | {source} | {} | {agreeing} of {all}{unrun} |",
            anchor(&id),
            cell(&figure.study.plan.scenario.title)
        );
    }
    for (figure, drawn) in figures.iter().zip(drawn) {
        section(&mut text, figure, drawn);
    }
    text
}

fn section(text: &mut String, finished: &Finished<'_>, drawn: &[bool]) {
    let (figure, scenario) = (&finished.study.figure, &finished.study.plan.scenario);
    let _ = write!(text, "\n## {}\n\n**{}** ({})\n\n", figure.id, scenario.title, figure.source);
    let _ = writeln!(text, "Set-up: {}.\n", set_up::line(scenario));
    let _ = writeln!(text, "Published: {}", figure.published.trim());
    if !figure.note.is_empty() {
        let _ = writeln!(text, "\nNote: {}", figure.note.trim());
    }
    for (number, _) in (1..).zip(drawn).filter(|(_, drawn)| **drawn) {
        let id = &figure.id;
        let _ = writeln!(text, "\n![{id}, plot {number}](plots/{id}-{number}.svg)");
    }
    if !finished.findings.is_empty() {
        text.push_str("\n| claim | published | measured | accepted | verdict |\n| --- | --- | --- | --- | --- |\n");
    }
    for finding in &finished.findings {
        let _ = writeln!(text, "| {} |", finding.row().map(|text| cell(&text)).join(" | "));
    }
}

/// Text that doesn't end its cell.
fn cell(text: &str) -> String {
    text.trim().replace('|', "\\|").replace('\n', " ")
}

/// What a heading is linked by.
fn anchor(id: &str) -> String {
    id.to_lowercase().chars().filter(|c| c.is_alphanumeric() || *c == '-').collect()
}
