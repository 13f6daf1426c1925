//! A recorded run over time, as lines of a CSV file.

use super::data::RunReport;
use crate::sim::{BIN, FlowOutcome};
use pcc::{Rate, Time};
use std::fmt::Write;

/// The head of the lines of [`course`], for runs of the same scenario.
pub fn course_head(run: &RunReport) -> String {
    let cells = run.case.iter().map(|(name, _)| quoted(name));
    let fixed = ["seed", "flow", "seconds", "goodput_mbps", "wanted_mbps", "rtt_ms"].map(str::to_owned);
    let queues = run.links.iter().map(|link| quoted(&format!("queue_bytes {}", link.name)));
    line(cells.chain(fixed).chain(queues))
}

/// What a recorded run came to: for each flow a line for each tenth of a second, with the labels of the sweeps, the goodput in it, and at its
/// end the rate that the controller wants, the newest round-trip time, and the queues of all links. What isn't known is empty.
pub fn course(run: &RunReport) -> String {
    let labels: String = run.case.iter().map(|(_, label)| quoted(label) + ",").collect();
    let mut text = String::new();
    let mut flows = run.outcome.flows.iter();
    for group in &run.flows {
        for (index, flow) in flows.by_ref().take(group.count).enumerate() {
            let name = if group.count > 1 { format!("{} {}", group.name, index + 1) } else { group.name.clone() };
            let start = format!("{labels}{},{}", run.seed, quoted(&name));
            for bin in bins(flow) {
                let _ = writeln!(text, "{start},{}", values(run, flow, bin));
            }
        }
    }
    text
}

/// The bins in which a flow ran, all or in part.
fn bins(flow: &FlowOutcome) -> std::ops::Range<usize> {
    let bin = |time: Time| (time.since(Time::ZERO).as_nanos() as f64 / BIN.as_nanos() as f64).max(0.0);
    let end = (bin(flow.end).ceil() as usize).min(flow.samples.len());
    (bin(flow.start) as usize).min(end)..end
}

fn values(run: &RunReport, flow: &FlowOutcome, bin: usize) -> String {
    let known = |value: f64| if value > 0.0 { format!("{value:.3}") } else { String::new() };
    let (sample, bytes) = (&flow.samples[bin], flow.bins.get(bin).copied().unwrap_or(0));
    let seconds = (BIN * (bin as u32 + 1)).as_secs_f64();
    let mut text = format!(
        "{seconds:.1},{:.3},{},{}",
        Rate::from_bytes_over(bytes, BIN).mbps(),
        known(sample.rate_mbps),
        known(sample.rtt_ms)
    );
    for link in &run.outcome.links {
        text += &link.queue.get(bin).map_or_else(|| ",".to_owned(), |bytes| format!(",{bytes}"));
    }
    text
}

fn line(cells: impl Iterator<Item = String>) -> String {
    cells.collect::<Vec<_>>().join(",") + "\n"
}

/// A cell as CSV has it (RFC 4180): what has commas or quotation marks is quoted.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Plan;

    #[test]
    fn a_line_for_each_flow_and_tenth_of_a_second_while_it_runs() {
        let link = "[[link]]\nname = 'a'\nrate = '10mbit'\ndelay = '10ms'\nqueue = '30kB'\n";
        let flows = "[[flow]]\nname = 'all, of it'\ncontroller = 'cubic'\n[[flow]]\ncontroller = 'bbr1'\ncount = 2\nstart = '1s'\nstop = '1500ms'\n";
        let sweep = "[[sweep]]\nname = 'rate'\nkey = 'link.rate'\nvalues = ['20mbit']\n";
        let text = format!("duration = '2s'\n{link}{flows}{sweep}");
        let run = crate::run::simulate(&Plan::parse("x.toml", &text, &[]).unwrap().cases[0], 7, true).unwrap();
        assert_eq!(course_head(&run), "rate,seed,flow,seconds,goodput_mbps,wanted_mbps,rtt_ms,queue_bytes a\n");
        let lines = course(&run);
        let of = |flow: &str| lines.lines().filter(|line| line.starts_with(&format!("20mbit,7,{flow},"))).count();
        // What ends with the run has no sample at that instant.
        assert_eq!([of("\"all, of it\""), of("bbr1 1"), of("bbr1 2")], [19, 5, 5], "{lines}");
        let seventh: Vec<&str> = lines.lines().nth(6).unwrap().rsplit(',').collect();
        let [queue, rtt, wanted, goodput, seconds] = [0, 1, 2, 3, 4].map(|cell| seventh[cell].parse::<f64>().unwrap());
        assert!(seconds == 0.7 && queue <= 30_000.0 && rtt >= 20.0 && wanted > 0.0 && goodput > 5.0, "{seventh:?}");
    }
}
