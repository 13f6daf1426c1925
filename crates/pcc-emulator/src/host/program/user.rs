//! The user in whose name a program runs.

use nix::unistd::getgrouplist;
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::ffi::{CString, OsString};
use std::io;

/// The shell of the user in whose name programs run.
///
/// # Errors
///
/// When the user who called `sudo` can't be found out.
pub fn shell() -> io::Result<OsString> {
    let entry = Caller::of_sudo()?.and_then(|caller| caller.entry).map(|entry| entry.shell.into());
    let shell = entry.or_else(|| std::env::var_os("SHELL")).filter(|shell| !shell.is_empty());
    Ok(shell.unwrap_or_else(|| "/bin/sh".into()))
}

/// The user who called `sudo`.
pub(super) struct Caller {
    uid: u32,
    gid: u32,
    /// The entry in the database of users, which has none for a number that was made up.
    entry: Option<nix::unistd::User>,
}

impl Caller {
    /// `None` when nobody called `sudo`. Where there is doubt, it is an error: the program would run as root.
    pub(super) fn of_sudo() -> io::Result<Option<Caller>> {
        let (uid, gid) = match (number("SUDO_UID")?, number("SUDO_GID")?) {
            (Some(uid), Some(gid)) => (uid, gid),
            (None, None) => return Ok(None),
            _ => return Err(io::Error::other("of SUDO_UID and SUDO_GID only one is set; it must be both, or neither")),
        };
        // A user who became root in a user namespace is the only user there.
        let alone = std::fs::read_to_string("/proc/self/setgroups").is_ok_and(|allowed| allowed.trim() == "deny");
        if alone {
            return Ok(None);
        }
        let entry = nix::unistd::User::from_uid(uid.into())?;
        Ok(Some(Caller { uid, gid, entry }))
    }

    /// Makes this thread, and the processes that it starts, run in the name of the user.
    pub(super) fn take_over(&self) -> io::Result<()> {
        let groups = match &self.entry {
            Some(entry) => getgrouplist(&CString::new(entry.name.as_str())?, self.gid.into())?,
            None => vec![self.gid.into()],
        };
        let groups: Vec<Gid> = groups.into_iter().map(|group| Gid::from_raw(group.as_raw())).collect();
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        set_thread_groups(&groups)?;
        set_thread_res_gid(gid, gid, gid)?;
        Ok(set_thread_res_uid(uid, uid, uid)?)
    }

    /// The variables that `sudo` changed, as they are for the user.
    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        let variables = |entry: &nix::unistd::User| {
            let (name, home, shell) =
                (OsString::from(&entry.name), entry.dir.clone().into(), entry.shell.clone().into());
            vec![
                ("USER".into(), name.clone()),
                ("LOGNAME".into(), name),
                ("HOME".into(), home),
                ("SHELL".into(), shell),
            ]
        };
        self.entry.as_ref().map(variables).unwrap_or_default()
    }
}

/// The number of a user or group that a variable has, if it is set.
fn number(name: &str) -> io::Result<Option<u32>> {
    let Some(text) = std::env::var_os(name) else { return Ok(None) };
    // The greatest means "leave it as it is" to the kernel.
    let number = text.to_str().and_then(|text| text.parse().ok()).filter(|number| *number != u32::MAX);
    let wrong = || io::Error::other(format!("{name} must be the number of a user or group, and it is {text:?}"));
    number.map(Some).ok_or_else(wrong)
}
