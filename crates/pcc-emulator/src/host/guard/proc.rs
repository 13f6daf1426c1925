//! Processes in /proc. Their numbers there are those of the namespace that it was mounted for. That may be an outer one: a container may
//! forbid to mount it anew.

use std::fs::{read_link, read_to_string};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// The number of this process.
pub(super) fn this_process() -> io::Result<u32> {
    number(&read_link("/proc/self")?.to_string_lossy())
}

/// The number of the process that started this one, 0 if it is none of those in /proc.
pub(super) fn parent() -> io::Result<u32> {
    field("/proc/self/status", "PPid:")
}

/// The number of the process that a pidfd stands for, until it has been waited for.
pub(super) fn number_of(process: &OwnedFd) -> io::Result<u32> {
    field(&format!("/proc/self/fdinfo/{}", process.as_raw_fd()), "Pid:")
}

/// The CPU time of a process and the children that it waited for: proc_pid_stat(5), fields 14 to 17.
pub(super) fn cpu_time(process: u32) -> io::Result<Duration> {
    let stat = read_to_string(format!("/proc/{process}/stat"))?;
    // The second field, a name in parentheses, may have spaces.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: u64 = fields.skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

fn field(file: &str, name: &str) -> io::Result<u32> {
    number(read_to_string(file)?.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default())
}

fn number(text: &str) -> io::Result<u32> {
    text.trim().parse().map_err(io::Error::other)
}
