//! A timer that fires to within tens of microseconds.
//!
//! tokio's own timer rounds to whole milliseconds, in each of which 100 Mbit/s send nine full packets. On Linux this one is a
//! `timerfd`: the kernel's high-resolution timer, which the thread's timer slack doesn't delay. Elsewhere it is tokio's.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// A timer that can be set again and again. It needs a tokio runtime with I/O and time enabled.
#[derive(Debug)]
pub struct Timer {
    deadline: Instant,
    clock: Clock,
}

impl Timer {
    /// A timer that has expired already.
    ///
    /// # Errors
    /// When the process is out of file descriptors.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new() -> io::Result<Timer> {
        Ok(Timer { deadline: Instant::now(), clock: Clock::new()? })
    }

    /// Lets the timer expire at `deadline`, whatever it was set to before.
    pub fn reset(&mut self, deadline: Instant) {
        if deadline != self.deadline {
            self.deadline = deadline;
            self.clock.arm(deadline);
        }
    }

    /// Whether the deadline has come. If not, the task is woken then.
    pub fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if Instant::now() >= self.deadline {
                return Poll::Ready(());
            }
            // A wake-up may belong to an earlier deadline, so the time is looked at again.
            ready!(self.clock.poll_tick(cx));
        }
    }

    /// Waits until `deadline`; at once if it has passed. Dropping the future is harmless.
    pub async fn sleep_until(&mut self, deadline: Instant) {
        self.reset(deadline);
        poll_fn(|cx| self.poll_expired(cx)).await;
    }
}

#[cfg(target_os = "linux")]
use timerfd::Clock;

#[cfg(target_os = "linux")]
mod timerfd {
    use rustix::fd::OwnedFd;
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
    };
    use std::io;
    use std::task::{Context, Poll, ready};
    use std::time::{Duration, Instant};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    #[derive(Debug)]
    pub(super) struct Clock(AsyncFd<OwnedFd>);

    impl Clock {
        // The replacement is `unsafe`, for types that could hand out a descriptor they don't own. `OwnedFd` can't.
        #[allow(deprecated)]
        pub(super) fn new() -> io::Result<Clock> {
            let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
            Ok(Clock(AsyncFd::with_interest(fd, Interest::READABLE)?))
        }

        pub(super) fn arm(&mut self, deadline: Instant) {
            // Zero would disarm the timer instead of firing it at once.
            let wait = deadline.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
            let setting = Itimerspec {
                it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
                it_value: Timespec {
                    tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
                    tv_nsec: wait.subsec_nanos().into(),
                },
            };
            if let Err(error) = timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &setting) {
                tracing::error!(%error, "can't set a timer");
            }
        }

        /// Ready if the timer has fired since the last call; now and then also if it hasn't.
        ///
        /// The count of expiries is never read, which saves a system call for each of them: tokio polls edge-triggered, so that each
        /// expiry wakes anew, and arming the timer resets the count.
        pub(super) fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<()> {
            match ready!(self.0.poll_read_ready(cx)) {
                Ok(mut guard) => guard.clear_ready(),
                // The runtime is shutting down; the task won't be polled again.
                Err(_) => return Poll::Pending,
            }
            Poll::Ready(())
        }
    }
}

#[cfg(not(target_os = "linux"))]
use fallback::Clock;

// Compiled on Linux for the tests only.
#[cfg(any(test, not(target_os = "linux")))]
mod fallback {
    use std::future::Future;
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::time::Instant;
    use tokio::time::{Sleep, sleep_until};

    #[derive(Debug)]
    pub(super) struct Clock(Pin<Box<Sleep>>);

    impl Clock {
        pub(super) fn new() -> io::Result<Clock> {
            Ok(Clock(Box::pin(sleep_until(Instant::now().into()))))
        }

        pub(super) fn arm(&mut self, deadline: Instant) {
            self.0.as_mut().reset(deadline.into());
        }

        pub(super) fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<()> {
            self.0.as_mut().poll(cx)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn never_early_and_reusable() {
        let mut timer = Timer::new().expect("a timer");
        for micros in [0, 1, 50, 2_000] {
            let deadline = Instant::now() + Duration::from_micros(micros);
            timeout(LONG, timer.sleep_until(deadline)).await.expect("fires");
            assert!(Instant::now() >= deadline);
        }
    }

    #[tokio::test]
    async fn the_fallback_fires_too() {
        let mut clock = fallback::Clock::new().expect("a timer");
        for millis in [30, 3] {
            let deadline = Instant::now() + Duration::from_millis(millis);
            clock.arm(Instant::now() + LONG);
            clock.arm(deadline);
            timeout(LONG / 2, poll_fn(|cx| clock.poll_tick(cx))).await.expect("fires");
            assert!(Instant::now() >= deadline);
        }
    }

    #[tokio::test]
    async fn an_earlier_deadline_replaces_a_later_one() {
        let mut timer = Timer::new().expect("a timer");
        timer.reset(Instant::now() + LONG);
        let soon = Instant::now() + Duration::from_millis(5);
        timeout(LONG / 2, timer.sleep_until(soon)).await.expect("fires");
    }

    #[tokio::test]
    async fn an_expiry_nobody_waited_for_does_not_end_the_next_wait() {
        let mut timer = Timer::new().expect("a timer");
        timer.reset(Instant::now() + Duration::from_millis(1));
        tokio::time::sleep(Duration::from_millis(10)).await;
        let deadline = Instant::now() + Duration::from_millis(20);
        timeout(LONG, timer.sleep_until(deadline)).await.expect("fires");
        assert!(Instant::now() >= deadline);
    }
}
