//! A process and its clock.

use super::network::{Network, VirtualRuntime};
use super::real;
use std::cell::RefCell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

thread_local! {
    static RUNNING: RefCell<Option<Process>> = const { RefCell::new(None) };
}

/// The process that runs on this thread; `None` outside of a simulation.
pub fn process() -> Option<Process> {
    RUNNING.with_borrow(Clone::clone)
}

/// What becomes of a process.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// It comes to its own end.
    Ends,
    /// It is killed after so many acts.
    IsKilled(u64),
    /// It is asked to end, as by Ctrl-C, after so many acts.
    IsInterrupted(u64),
}

/// What a process is to those that work for it.
#[derive(Clone, Debug)]
pub struct Process {
    network: Network,
    seed: u64,
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    fate: Fate,
    /// How much it has done.
    acts: AtomicU64,
    killed: Notify,
    interrupted: Notify,
}

impl Process {
    /// Notes that it does something; whether it still lives.
    pub fn acts(&self) -> bool {
        let Inner { fate, acts, killed, interrupted } = &*self.inner;
        let before = acts.fetch_add(1, Ordering::Relaxed);
        match *fate {
            Fate::IsKilled(after) if before >= after => {
                killed.notify_one();
                return false;
            }
            Fate::IsInterrupted(after) if before == after => interrupted.notify_one(),
            _ => {}
        }
        before < DEAD
    }

    /// Waits until it is asked to end.
    pub async fn interrupted(&self) {
        self.inner.interrupted.notified().await;
    }

    /// Does what is done on another thread, while all else waits.
    pub fn work<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let process = self.clone();
        tokio::spawn(async move {
            if !process.acts() {
                return std::future::pending().await;
            }
            std::thread::spawn(work).join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Its network, for QUIC.
    pub fn quic(&self) -> Arc<VirtualRuntime> {
        Arc::new(VirtualRuntime { process: self.clone(), network: self.network.clone() })
    }

    /// For the random numbers of QUIC.
    pub fn seed(&self) -> [u8; 32] {
        let mut seed = [0; 32];
        fastrand::Rng::with_seed(self.seed).fill(&mut seed);
        seed
    }

    /// Binds a socket; if no address is named, not where somebody may want a port again that it had.
    pub fn bind(&self, address: Option<SocketAddr>) -> io::Result<UdpSocket> {
        real::bind(address.unwrap_or((Ipv4Addr::LOCALHOST, 0).into()))
    }
}

/// More acts than anybody has. The dead say nothing.
const DEAD: u64 = u64::MAX / 2;

/// What a step led to.
pub enum Step<T> {
    /// The process goes on.
    Runs,
    /// It came to its end.
    Ended(T),
    /// It was killed.
    Killed,
}

/// Runs a process.
pub struct Machine<T> {
    // First, because what a killed process leaves open is closed inside its runtime.
    main: Pin<Box<dyn Future<Output = T>>>,
    runtime: Runtime,
    process: Process,
    began: Instant,
    ran: Duration,
}

impl<T> Machine<T> {
    /// Starts a process.
    pub fn start(network: &Network, seed: u64, fate: Fate, main: impl Future<Output = T> + 'static) -> Self {
        // After each task the process may be found to be killed.
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).event_interval(1).build();
        let runtime = runtime.expect("a runtime");
        let began = runtime.block_on(async { Instant::now() });
        let inner = Inner { fate, acts: AtomicU64::new(0), killed: Notify::new(), interrupted: Notify::new() };
        let process = Process { network: network.clone(), seed, inner: Arc::new(inner) };
        Self { main: Box::pin(main), runtime, process, began, ran: Duration::ZERO }
    }

    /// Lets it run for a while.
    pub fn step(&mut self, time: Duration) -> Step<T> {
        let _runs = real::runs();
        self.ran += time;
        let until = self.began + self.ran;
        RUNNING.set(Some(self.process.clone()));
        let (main, killed) = (&mut self.main, &self.process.inner.killed);
        let step = self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = killed.notified() => Step::Killed,
                ended = main => Step::Ended(ended),
                () = sleep_until(until) => Step::Runs,
            }
        });
        RUNNING.set(None);
        step
    }

    /// How much the process has done so far.
    pub fn acts(&self) -> u64 {
        self.process.inner.acts.load(Ordering::Relaxed)
    }
}

impl<T> Drop for Machine<T> {
    fn drop(&mut self) {
        self.process.inner.acts.store(DEAD, Ordering::Relaxed);
    }
}
