//! What a default was before PCC: kept until it is brought back, or the machine restarts.

use super::namespaces::Place;
use super::profiles::is_ours;
use super::route::Prefix;
use anyhow::Context;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// It is empty again after a restart of the machine, as the defaults are.
const FOLDER: &str = "/run/pcc";

/// Where the controller is kept that the default of a namespace, or of a route there, was before PCC.
pub struct Before {
    file: PathBuf,
}

impl Before {
    /// Of a namespace, or of a route there.
    pub fn of(place: &Place, route: Option<Prefix>) -> anyhow::Result<Before> {
        // A namespace may have several names, and none.
        let file = "/proc/thread-self/ns/net";
        let inode = place.run(|| Ok(fs::metadata(file).context(file)?.ino()))?;
        Ok(Before::in_folder(Path::new(FOLDER), inode, route))
    }

    fn in_folder(folder: &Path, inode: u64, route: Option<Prefix>) -> Before {
        let route = route.map_or(String::new(), |prefix| format!("-{}", prefix.to_string().replace('/', "-")));
        Before { file: folder.join(format!("default-{inode}{route}")) }
    }

    /// The controller that is kept.
    pub fn get(&self) -> Option<String> {
        let kept = fs::read_to_string(&self.file).ok()?.trim().to_owned();
        (!kept.is_empty() && !is_ours(&kept)).then_some(kept)
    }

    /// Takes note of a change from one controller to another: keeps the last one before PCC, and nothing any more once another one is back.
    pub fn changed(&self, from: &str, to: &str) -> anyhow::Result<()> {
        match (is_ours(from), is_ours(to)) {
            (false, true) => crate::output::write_file(&self.file, &format!("{from}\n")),
            (true, true) => Ok(()),
            (_, false) => match fs::remove_file(&self.file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    Err(error).with_context(|| format!("can't remove {}", self.file.display()))
                }
                _ => Ok(()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_controller_that_is_not_ours_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let before = Before::in_folder(&folder.path().join("pcc"), 7, None);
        let route = Before::in_folder(&folder.path().join("pcc"), 7, Some("10.0.0.0/8".parse().unwrap()));
        assert_eq!(before.get(), None);
        before.changed("bbr", "pcc_vivace").unwrap();
        for again in ["pcc_vivace", "pcc_allegro", "pcc_vivaceloss"] {
            before.changed("pcc_vivace", again).unwrap();
            assert_eq!(before.get().as_deref(), Some("bbr"));
        }
        // One of a route has a place of its own.
        route.changed("none", "pcc_vivace").unwrap();
        assert_eq!((before.get().as_deref(), route.get().as_deref()), (Some("bbr"), Some("none")));
        before.changed("pcc_vivaceloss", "cubic").unwrap();
        assert_eq!((before.get(), route.get().as_deref()), (None, Some("none")));
        before.changed("cubic", "reno").unwrap();
        before.changed("reno", "pcc_vivace").unwrap();
        assert_eq!(before.get().as_deref(), Some("reno"));
    }
}
