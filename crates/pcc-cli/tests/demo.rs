//! `pcc demo` in virtual time: the README shows what it prints, and everybody gets the same.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_readme_shows_what_the_demo_prints() {
    let folder = tempfile::tempdir().expect("a folder");
    let chart = folder.path().join("chart.svg");
    let run =
        Command::new(env!("CARGO_BIN_EXE_pcc")).arg("demo").arg("--out").arg(&chart).output().expect("pcc starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let printed = String::from_utf8(run.stdout).expect("text");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).expect("a README");
    let table: Vec<&str> = printed.lines().skip_while(|line| !line.starts_with("controller")).take(4).collect();
    assert_eq!(table.len(), 4, "{printed}");
    assert!(readme.contains(&table.join("\n")), "the README should show\n{}", table.join("\n"));
    let drawn = fs::read_to_string(chart).expect("a chart");
    let shown = fs::read_to_string(root.join("docs/satellite.svg")).expect("the chart of the README");
    assert!(drawn == shown, "docs/satellite.svg isn't what `pcc demo --out docs/satellite.svg` draws");
}
