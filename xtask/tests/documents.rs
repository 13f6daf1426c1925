//! The documents: their links lead somewhere, and what the README says of the reproduction is what came out.

use pcc::profiles;
use pcc::utility::UtilityConfig;
use pcc_lab::report::{EmulatorReport, RealReport};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All Markdown files of the repository.
fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() && name != "target" && !name.starts_with('.') {
            documents(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

#[test]
fn links_lead_to_files() {
    let mut files = Vec::new();
    documents(&root(), &mut files);
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for link in links.filter(|link| !link.is_empty() && !link.contains("://") && !link.contains(' ')) {
            assert!(file.parent().unwrap().join(link).exists(), "{}: {link}", file.display());
        }
    }
}

/// The anchor that a heading has on GitHub.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.trim_start_matches('#').trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

#[test]
fn links_lead_to_headings() {
    let mut files = Vec::new();
    documents(&root(), &mut files);
    let mut anchors = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for (path, wanted) in links.filter(|link| !link.contains("://")).filter_map(|link| link.split_once('#')) {
            let target = if path.is_empty() { file.clone() } else { file.parent().unwrap().join(path) };
            if target.extension().is_none_or(|extension| extension != "md") {
                continue;
            }
            anchors += 1;
            let target_text = fs::read_to_string(&target).unwrap();
            let found = target_text.lines().filter(|line| line.starts_with('#')).any(|line| anchor(line) == wanted);
            assert!(found, "{}: {path}#{wanted}", file.display());
        }
    }
    assert!(anchors > 20, "{anchors}");
}

/// The tables of what the default controller does are rows of those that a command makes.
#[test]
fn the_page_of_queue_target_has_rows_of_the_measured_tables() {
    let [page, measured] = ["queue-target.md", "queue-target-measured.md"]
        .map(|file| fs::read_to_string(root().join("docs").join(file)).unwrap());
    let page = &page[page.find("## What was measured").expect("a section")..];
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| |");
    let rows: Vec<&str> = page.lines().filter(is_row).collect();
    assert!(rows.len() > 5, "{rows:?}");
    for row in rows {
        assert!(measured.lines().any(|line| line == row), "docs/queue-target-measured.md doesn't have {row}");
    }
}

#[test]
fn the_readme_counts_the_claims_that_agree() {
    let [readme, reproduction] =
        ["README.md", "figures/README.md"].map(|file| fs::read_to_string(root().join(file)).unwrap());
    let total = reproduction.lines().find_map(|line| line.strip_suffix(" do.")).expect("a total");
    assert!(readme.contains(total), "README.md should say {total}");
}

/// The README's table of QUIC in virtual time is what the snapshots of its test have.
#[test]
fn the_readme_has_what_quic_does_in_virtual_time() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for path in ["satellite", "lossy", "shallow"] {
        let row = readme.lines().find(|line| line.starts_with(&format!("| {path}: "))).expect("a row of the README");
        let file = format!("crates/pcc-lab/tests/virtual_quic/snapshots/virtual_quic__paths__{path}.snap");
        let snapshot = fs::read_to_string(root().join(&file)).unwrap();
        let lines = snapshot.lines().skip_while(|line| !line.starts_with("controller")).skip(1);
        let measured = lines.map(|line| line.split_whitespace().skip(1).take(2).map(|rate| rate.parse().unwrap()));
        let cells = row.split('|').skip(2).map(str::trim).filter(|cell| !cell.is_empty());
        let written = cells.map(|cell| cell.split(" / ").map(|rate| rate.parse().unwrap()));
        let (measured, written): (Vec<f64>, Vec<f64>) = (measured.flatten().collect(), written.flatten().collect());
        assert_eq!((measured.len(), written.len()), (12, 12), "{row}");
        for (measured, written) in measured.iter().zip(&written) {
            assert!((measured - written).abs() < 0.051, "README.md says {written}, {file} {measured}");
        }
    }
}

/// The tables of docs/lab-json.md have the fields of a run's JSON, each in the section of its object, and no others.
#[test]
fn every_field_of_the_json_is_documented() {
    let text = "duration = '1s'\n[[link]]\nrate = '10mbit'\nqueue = { kind = 'codel', limit = '30kB', ecn = true }\n\
        [[flow]]\ncontroller = 'cubic'\necn = true\n[[sweep]]\nname = 'x'\nkey = 'link.delay'\nvalues = ['5ms']";
    let plan = pcc_lab::scenario::Plan::parse("x.toml", text, &[]).unwrap();
    let mut run = pcc_lab::run::simulate(&plan.cases[0], 1, false).unwrap();
    run.flows[0].real = Some(RealReport {
        payload: None,
        sender_cpu_per_gb: None,
        receiver_cpu_per_gb: None,
        pacing_error: None,
        burst_p99: 1,
        errors: Vec::new(),
    });
    run.emulator = Some(EmulatorReport {
        lateness_p50: 0.0,
        lateness_p99: 0.0,
        lateness_max: 0.0,
        cpu: 0.0,
        interface_drops: 0,
        system_cpu_per_gb: None,
        doubt: None,
    });
    let json = serde_json::to_value(&run).unwrap();
    let flow = &json["flows"][0];
    let objects = [
        ("## A run", &json),
        ("## `flows`", flow),
        ("### `packets`", &flow["packets"]),
        ("### `real`", &flow["real"]),
        ("## `links`", &json["links"][0]),
        ("## `emulator`", &json["emulator"]),
    ];
    let page = fs::read_to_string(root().join("docs/lab-json.md")).unwrap();
    for (heading, object) in objects {
        let section =
            page.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.starts_with('#'));
        let documented: BTreeSet<&str> =
            section.filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
        let fields: BTreeSet<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(documented, fields, "{heading}");
    }
}

#[test]
fn every_name_is_in_the_documents() {
    let scenarios = fs::read_to_string(root().join("docs/scenarios.md")).unwrap();
    let kinds = UtilityConfig::BUILT_IN.iter().map(|(kind, _)| *kind);
    for name in pcc_lab::controller::names().chain(kinds) {
        assert!(scenarios.contains(&format!("`{name}`")), "docs/scenarios.md doesn't name {name}");
    }
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for entry in profiles::LIST {
        assert!(readme.contains(&format!("`{}`", entry.name)), "README.md doesn't name {}", entry.name);
    }
}
