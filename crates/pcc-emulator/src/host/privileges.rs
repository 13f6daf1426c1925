//! The privileges that emulated paths need, for users who aren't root.

use crate::error::EmulatorError;
use nix::sched::{CloneFlags, unshare};
use rustix::process::{getegid, geteuid};
use std::io;

/// The settings of Linux that forbid users to have namespaces, with the value at which they do and one at which they don't.
const SETTINGS: [(&str, &str, &str); 3] = [
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ("user.max_user_namespaces", "0", "10000"),
];

/// Makes this process root in a namespace of users of its own, where it may have networks, unless it is root already. Files keep their
/// owners and rights.
///
/// To be called before there are other threads. Without being root outside, the emulator gets no real-time priority.
///
/// # Errors
///
/// When the system forbids it; the error says what would allow it.
pub fn acquire() -> Result<(), EmulatorError> {
    if geteuid().is_root() {
        return Ok(());
    }
    become_root().map_err(|error| {
        let value = |name: &str| std::fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).ok();
        EmulatorError::Privileges { error, remedy: remedy(value) }
    })
}

fn become_root() -> io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    // Else who has lost a group could read what is kept from it: user_namespaces(7).
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {group} 1"))?;
    // AppArmor lets a user have a namespace, and then no rights in it.
    let may_have_networks = || unshare(CloneFlags::CLONE_NEWNET);
    let tried = std::thread::scope(|scope| scope.spawn(may_have_networks).join());
    Ok(tried.map_err(|_| io::Error::other("a thread panicked"))??)
}

/// What to do about it; `value` reads a setting.
fn remedy(value: impl Fn(&str) -> Option<String>) -> String {
    let forbids = |(name, at, _): &&(&str, &str, &str)| value(name).is_some_and(|value| value.trim() == *at);
    match SETTINGS.iter().find(forbids) {
        Some((name, _, better)) => format!("run it with sudo, or allow it to users: sysctl -w {name}={better}"),
        None => "run it with sudo".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_is_about_the_setting_that_forbids_it() {
        let sudo = "run it with sudo";
        assert_eq!(remedy(|_| None), sudo);
        assert_eq!(remedy(|name| Some(if name.contains("apparmor") { "0\n" } else { "1\n" }.to_owned())), sudo);
        let apparmor = remedy(|_| Some("1\n".to_owned()));
        assert_eq!(
            apparmor,
            format!("{sudo}, or allow it to users: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0")
        );
    }
}
