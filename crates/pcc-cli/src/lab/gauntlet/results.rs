//! Results in a folder: a line of JSON for each case and controller, written as soon as it is known.

use crate::exit::usage;
use crate::output::{json_lines, write_file};
use anyhow::Context;
use pcc_lab::gauntlet::{CaseResult, CaseRun, GauntletCase};
use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Whose result: a case and a controller.
type Key = (u32, String);

/// The results of some runs: those that were there, and those that come.
pub struct Results {
    known: BTreeMap<Key, CaseResult>,
    /// The file that new ones are appended to.
    file: Option<(PathBuf, File)>,
}

fn key(run: &CaseRun) -> Key {
    (run.case, run.controller.clone())
}

impl Results {
    /// Results that are kept in memory only.
    pub fn in_memory() -> Results {
        Results { known: BTreeMap::new(), file: None }
    }

    /// Results that go to `file`.
    ///
    /// # Errors
    ///
    /// When there are some already, or it can't be written.
    pub fn create(file: PathBuf) -> anyhow::Result<Results> {
        if std::fs::metadata(&file).is_ok_and(|metadata| metadata.len() > 0) {
            let reason = "has results: --resume goes on with them, and another --out begins anew";
            return Err(usage(format!("{} {reason}", file.display())));
        }
        write_file(&file, "")?;
        Results::of(file, BTreeMap::new())
    }

    /// Results that go to `file`, after those that are there and in the files `others`; all must be of the `runs`.
    ///
    /// # Errors
    ///
    /// When a file can't be read, or has results of other runs.
    pub fn resume(file: PathBuf, others: &[PathBuf], runs: &[CaseRun]) -> anyhow::Result<Results> {
        let wanted: BTreeMap<Key, &CaseRun> = runs.iter().map(|run| (key(run), run)).collect();
        let mut known = BTreeMap::new();
        if !file.exists() {
            write_file(&file, "")?;
        }
        for source in others.iter().chain([&file]) {
            let text = std::fs::read_to_string(source).with_context(|| format!("can't read {}", source.display()))?;
            let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
            for (line, number) in whole.lines().zip(1..) {
                let result = read(line, &wanted)
                    .map_err(|reason| usage(format!("{}:{number}: {reason}; give another --out", source.display())))?;
                known.insert((result.case, result.controller.clone()), result);
            }
            if *source == file && whole.len() < text.len() {
                // What was being written when somebody killed it.
                let file = options().write(true).open(source).and_then(|file| file.set_len(whole.len() as u64));
                file.with_context(|| format!("can't write {}", source.display()))?;
            }
        }
        Results::of(file, known)
    }

    fn of(file: PathBuf, known: BTreeMap<Key, CaseResult>) -> anyhow::Result<Results> {
        let open = options().append(true).open(&file);
        let open = open.with_context(|| format!("can't write {}", file.display()))?;
        Ok(Results { known, file: Some((file, open)) })
    }

    /// Whether the result of a run is there.
    pub fn has(&self, run: &CaseRun) -> bool {
        self.known.contains_key(&key(run))
    }

    /// Adds one.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    pub fn add(&mut self, result: CaseResult) -> anyhow::Result<()> {
        if let Some((path, file)) = &mut self.file {
            let line = json_lines([&result])?;
            file.write_all(line.as_bytes()).with_context(|| format!("can't write {}", path.display()))?;
        }
        self.known.insert((result.case, result.controller.clone()), result);
        Ok(())
    }

    /// All of them in the order of the runs, as the file has them from now on, however they came.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    pub fn finish(mut self, runs: &[CaseRun]) -> anyhow::Result<Vec<CaseResult>> {
        let results: Vec<CaseResult> = runs.iter().filter_map(|run| self.known.remove(&key(run))).collect();
        if let Some((path, _)) = &self.file {
            write_file(path, &json_lines(&results)?)?;
        }
        Ok(results)
    }
}

/// Follows no link: somebody else may have put it into the folder.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(OFlags::NOFOLLOW.bits() as i32);
    options
}

/// Reads a result, which must be of one of the runs.
fn read(line: &str, wanted: &BTreeMap<Key, &CaseRun>) -> Result<CaseResult, String> {
    let result: CaseResult = serde_json::from_str(line).map_err(|error| format!("this is no result: {error}"))?;
    let CaseResult { set, seed, case, name, controller, .. } = &result;
    let run = wanted.get(&(*case, controller.clone())).filter(|run| (run.set, run.seed) == (*set, *seed));
    if run.is_none() {
        return Err(format!("this is {controller} in the {set} case {case} of seed {seed}, which isn't asked for now"));
    }
    let drawn = GauntletCase::draw(*set, *seed, *case).name();
    if *name != drawn {
        return Err(format!("case {case} is {drawn} and not {name}: this is of another version"));
    }
    Ok(result)
}

/// The results of shards in a folder, in the order of their names.
pub fn of_shards(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let is_shard = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix("results-").and_then(|rest| rest.strip_suffix(".jsonl")).is_some()
    };
    let entries = std::fs::read_dir(folder).with_context(|| format!("can't read {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    files.retain(is_shard);
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_do_not_go_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let [link, other] = ["results.jsonl", "other"].map(|name| folder.path().join(name));
        // Without an end of line: as if a result had been cut.
        std::fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, &link).unwrap();
        assert!(Results::resume(link, &[], &[]).is_err());
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "mine");
    }
}
