//! The user in whose name a program runs.

use nix::unistd::{User, getgrouplist};
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::ffi::{CString, OsString};
use std::io;

/// The shell of the user in whose name programs run.
///
/// # Errors
///
/// When the user who became root can't be found out.
pub fn shell() -> io::Result<OsString> {
    let entry = Caller::find()?.and_then(|caller| caller.entry).map(|entry| entry.shell.into());
    let shell = entry.or_else(|| std::env::var_os("SHELL")).filter(|shell| !shell.is_empty());
    Ok(shell.unwrap_or_else(|| "/bin/sh".into()))
}

/// The user who became root with `sudo`, `doas` or `pkexec`.
pub(super) struct Caller {
    uid: u32,
    gid: u32,
    /// The entry in the database of users, which has none for a number that was made up.
    entry: Option<User>,
}

impl Caller {
    /// `None` when nobody used one of them. Where there is doubt, it is an error: the program would run as root.
    pub(super) fn find() -> io::Result<Option<Caller>> {
        let mut callers = [of_sudo()?, of_pkexec()?, of_doas()?].into_iter().flatten();
        let Some(caller) = callers.next() else { return Ok(None) };
        if callers.any(|other| other.uid != caller.uid) {
            let why = "SUDO_UID, PKEXEC_UID and DOAS_USER name different users; unset those that are not yours";
            return Err(io::Error::other(why));
        }
        // A user who became root in a user namespace is the only user there.
        let alone = std::fs::read_to_string("/proc/self/setgroups").is_ok_and(|allowed| allowed.trim() == "deny");
        Ok(Some(caller).filter(|_| !alone))
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

    /// The variables that were changed for root, as they are for the user.
    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        let variables = |entry: &User| {
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

/// sudo(8), "ENVIRONMENT"; `run0` sets the same.
fn of_sudo() -> io::Result<Option<Caller>> {
    match (number("SUDO_UID")?, number("SUDO_GID")?) {
        (Some(uid), Some(gid)) => Ok(Some(Caller { uid, gid, entry: User::from_uid(uid.into())? })),
        (None, None) => Ok(None),
        _ => Err(io::Error::other("of SUDO_UID and SUDO_GID only one is set; it must be both, or neither")),
    }
}

/// pkexec(1), "SECURITY NOTES".
fn of_pkexec() -> io::Result<Option<Caller>> {
    let Some(uid) = number("PKEXEC_UID")? else { return Ok(None) };
    let unknown = || io::Error::other(format!("PKEXEC_UID must be the number of a user, and there is no user {uid}"));
    User::from_uid(uid.into())?.map(Caller::from).ok_or_else(unknown).map(Some)
}

/// doas(1), "ENVIRONMENT".
fn of_doas() -> io::Result<Option<Caller>> {
    let Some(name) = std::env::var_os("DOAS_USER") else { return Ok(None) };
    let unknown = || io::Error::other(format!("DOAS_USER must be the name of a user, and there is no user {name:?}"));
    let user = name.to_str().map(User::from_name).transpose()?.flatten();
    user.map(Caller::from).ok_or_else(unknown).map(Some)
}

impl From<User> for Caller {
    fn from(user: User) -> Self {
        Caller { uid: user.uid.as_raw(), gid: user.gid.as_raw(), entry: Some(user) }
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
