//! Gives everything its final name, once all is verified.

use super::Store;
use crate::failure::Result;
use crate::transfer::commit;
use crate::transfer::disk::{Disk, RealDisk};
use crate::transfer::in_place::{Same, is_in_place};
use crate::transfer::journal::{COMMITTED, NEW_FOLDER};
use crate::transfer::protocol::Record;
use crate::transfer::rules::Rules;

impl Store {
    /// Gives everything its final name, where it survives a loss of power. Can be repeated after a cut.
    pub fn commit(&mut self, rules: Rules) -> Result<()> {
        self.commit_on(&RealDisk, rules)
    }

    pub(super) fn commit_on(&mut self, disk: &impl Disk, rules: Rules) -> Result<()> {
        if self.published {
            return Ok(());
        }
        let is_resumed = self.committed;
        self.seal(disk, rules)?;
        let Self { staging, manifest, new_folders: ours, given_up, in_place, .. } = &*self;
        let attempt = commit::Attempt { is_resumed, ours, given_up, in_place };
        for file in commit::publish(staging, manifest, rules, &attempt, disk)? {
            self.finished.set(file.into(), false);
            self.unfinished += 1;
            self.given_up.insert(file);
            self.lost.insert(file);
        }
        self.published = true;
        Ok(())
    }

    /// Completes everything under its staged name, and notes that names may be given from now on.
    pub fn seal(&mut self, disk: &impl Disk, rules: Rules) -> Result<()> {
        if self.committed {
            return Ok(());
        }
        for file in 0..self.manifest.entries.len() as u32 {
            if self.is_empty_file(file) && !self.in_place.contains_key(&file) {
                self.file(file)?;
            }
        }
        self.open = None;
        commit::prepare(&self.staging, &self.manifest, &self.given_up, &self.in_place, &self.completed, rules)?;
        disk.sync_files(&self.staging.data, self.staging.handle(), &self.staging.path)?;
        for folder in commit::missing_folders(&self.staging, &self.manifest) {
            self.journal.append(Record::Root { file: folder, hash: NEW_FOLDER })?;
        }
        for &file in &self.given_up {
            self.journal.append(Record::Skip { file })?;
        }
        for (&file, same) in &self.in_place {
            let is_plain = || is_in_place(&self.staging, &self.manifest.entries[file as usize]);
            if matches!(same, Same::ByContent(_)) && !is_plain() {
                // It stays as it is, though its time could not be set.
                self.journal.append(Record::Same { file, hash: [0; 32] })?;
            }
        }
        self.journal.append(COMMITTED)?;
        self.journal.sync()?;
        self.committed = true;
        Ok(())
    }
}
