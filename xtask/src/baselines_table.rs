//! The table of `docs/baselines.md`: our baselines beside independent implementations, medians over seeds.

use anyhow::Context;
use pcc_lab::report::median;
use std::path::Path;

/// An independent implementation: its source, its name there, and a note that its rows must have.
type Peer = (&'static str, &'static str, &'static str);

/// Our name, and the independent implementations.
const PEERS: [(&str, &[Peer]); 19] = [
    ("newreno", &[("linux", "reno", ""), ("noq", "newreno", ""), ("ns3", "TcpLinuxReno", "")]),
    ("cubic", &[("ns3", "TcpCubic", "")]),
    ("cubic-paced", &[("linux", "cubic", ""), ("noq", "cubic", "")]),
    ("bbr1", &[("linux", "bbr", ""), ("ns3", "TcpBbr", "")]),
    ("bbr3", &[("noq", "bbr3", "")]),
    ("bic", &[("ns3", "TcpBic", "")]),
    ("htcp", &[("ns3", "TcpHtcp", ""), ("ns3", "TcpHtcp", "DelAckCount=1")]),
    ("hybla", &[("ns3", "TcpHybla", "")]),
    ("illinois", &[("ns3", "TcpIllinois", "")]),
    ("ledbat", &[("ns3", "TcpLedbat", "")]),
    ("scalable", &[("ns3", "TcpScalable", ""), ("ns3", "TcpScalable", "DelAckCount=1")]),
    ("udt", &[("udt", "udt4", "")]),
    ("vegas", &[("ns3", "TcpVegas", ""), ("ns3", "TcpVegas", "DelAckCount=1")]),
    ("veno", &[("ns3", "TcpVeno", ""), ("ns3", "TcpVeno", "DelAckCount=1")]),
    ("westwood", &[("ns3", "TcpWestwood", "")]),
    ("compound", &[]),
    ("fast", &[]),
    ("newreno-paced", &[]),
    ("cubic-hystart", &[("ns3", "TcpCubic", "")]),
];

struct Row {
    source: String,
    controller: String,
    link: String,
    goodput: f64,
    note: String,
}

/// Prints the table of the data in `folder`.
pub fn run(folder: &Path) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for file in ["ours.csv", "kernel.csv", "noq.csv", "ns3.csv"] {
        rows.extend(read(&folder.join(file))?);
    }
    let links = std::fs::read_to_string(folder.join("links.csv"))?;
    let links: Vec<&str> = links.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    println!("| controller | from | {} |", links.join(" | "));
    println!("|---|---|{}", "---:|".repeat(links.len()));
    for (name, peers) in PEERS {
        for (source, theirs, note) in [("ours", name, "")].iter().chain(peers) {
            let cells: Vec<String> = links.iter().map(|link| cell(&rows, source, theirs, link, note)).collect();
            let from = if note.is_empty() { (*source).to_owned() } else { format!("{source}, {note}") };
            println!("| {} | {from} | {} |", if *source == "ours" { name } else { "" }, cells.join(" | "));
        }
    }
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<Vec<Row>> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [source, controller, link, _seed, flow, goodput, _, note] = fields.as_slice() else { return None };
        (*flow == "1").then_some(())?;
        Some(Row {
            source: (*source).to_owned(),
            controller: (*controller).to_owned(),
            link: (*link).to_owned(),
            goodput: goodput.parse().ok()?,
            note: (*note).to_owned(),
        })
    };
    Ok(text.lines().skip(1).filter_map(row).collect())
}

fn cell(rows: &[Row], source: &str, controller: &str, link: &str, note: &str) -> String {
    let matches = |row: &&Row| {
        row.source == source
            && row.controller == controller
            && row.link == link
            && row.note.contains("DelAckCount") != note.is_empty()
    };
    let values = rows.iter().filter(matches).map(|row| row.goodput).collect();
    median(values).map_or("".to_owned(), |value| format!("{value:.*}", if value < 10.0 { 2 } else { 1 }))
}
