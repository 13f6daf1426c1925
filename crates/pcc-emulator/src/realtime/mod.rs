//! Threads that do things when they are due: what the relay and the emulator share.

mod lateness;

pub use lateness::{Lateness, LatenessHistogram};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use thread_priority::{
    RealtimeThreadSchedulePolicy, ScheduleParams, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};

/// A thread that ends when it is told to.
#[derive(Debug)]
pub(crate) struct Driver<R> {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<R>>,
}

impl<R: Send + 'static> Driver<R> {
    /// Starts `work` on a punctual thread. It must end when the [`Stop`] that it gets says so.
    pub fn start(name: &str, work: impl FnOnce(&Stop) -> R + Send + 'static) -> io::Result<Driver<R>> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let told = Stop(stop.clone());
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            be_punctual(Priority::Path);
            work(&told)
        })?;
        Ok(Driver { stop, thread: Some(thread) })
    }
}

impl<R> Driver<R> {
    /// Whether the thread hasn't ended yet.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Ends the thread and returns its result.
    pub fn stop(&mut self) -> io::Result<R> {
        let thread = self.thread.take().ok_or_else(|| io::Error::other("the thread has ended already"))?;
        // A write to an eventfd fails only when its counter is full, and then it is readable anyway.
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        thread.join().map_err(|_| io::Error::other("the thread panicked"))
    }
}

impl<R> Drop for Driver<R> {
    fn drop(&mut self) {
        // Nobody asks for the result any more.
        let _ = self.stop();
    }
}

/// Tells a thread to end.
#[derive(Debug)]
pub(crate) struct Stop(Arc<OwnedFd>);

impl Stop {
    /// Waits until one of two descriptors can be read, or for `time` if given, or shorter; whether to go on.
    pub fn wait(&self, first: &impl AsFd, second: &impl AsFd, time: Option<Duration>) -> rustix::io::Result<bool> {
        let timeout = time.map(|time| timespec(step(time)));
        let mut fds = [
            PollFd::new(&*self.0, PollFlags::IN),
            PollFd::new(first, PollFlags::IN),
            PollFd::new(second, PollFlags::IN),
        ];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => Ok(fds[0].revents().is_empty()),
            Err(rustix::io::Errno::INTR) => Ok(true),
            Err(error) => Err(error),
        }
    }
}

/// Processor time that this thread has taken.
pub fn thread_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Who runs before whom (sched(7)).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Priority {
    /// Threads that send and receive.
    Ends = 40,
    /// What delivers packets when they are due.
    Path = 50,
}

/// Lets this thread run as soon as it is due, as far as it is allowed to. Where it isn't, the lateness shows it.
pub(crate) fn be_punctual(priority: Priority) {
    // The default slack of 50 us would be added to every wait.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    // Needs privileges. Without, a busy machine lets the thread wait for the time slice of another, up to 3 ms.
    let _ = set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::from_posix(ScheduleParams { sched_priority: priority as i32 }),
        ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::RoundRobin),
    );
}

/// How long to wait at once when `wait` is left.
///
/// The kernel may end a poll late by 0.1 % of its timeout (`fs/select.c`): a long wait stops short of its end by more than that,
/// and the rest is waited for by itself.
fn step(wait: Duration) -> Duration {
    if wait > Duration::from_millis(1) { wait - wait / 500 } else { wait }
}

fn timespec(wait: Duration) -> Timespec {
    Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) as _ }
}
