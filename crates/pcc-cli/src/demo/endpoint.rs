//! The two ends of a transfer, each on a thread of its own, so that the processor time of each is known.

use super::path::{MTU, Path};
use crate::qlog::Qlog;
use anyhow::Context;
use noq::{Connection, Endpoint, PathId, TransportConfig, VarInt};
use pcc_emulator::quic::{self, BLOCK, BlockWriter, Identity, SERVER_NAME};
use pcc_emulator::realtime::{Lateness, LatenessHistogram, thread_cpu};
use pcc_lab::virtual_quic::BulkProgress;
use pcc_quic::precise::Timer;
use pcc_quic::{Algorithm, Transport, windows};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio::time::MissedTickBehavior;

/// How often the sender says how it is doing.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// How often the sender looks how late it wakes up.
const LATENESS_EVERY: Duration = Duration::from_millis(10);

/// noq's configuration of either end.
fn transport(algorithm: Algorithm, seed: u64, qlog: Option<&Qlog>) -> TransportConfig {
    let transport = Transport { algorithm, seed: Some(seed), ..Transport::default() };
    let mut config = qlog.map_or_else(|| transport.config(), |qlog| qlog.config(&transport));
    quic::fix_mtu(&mut config, MTU);
    config
}

fn socket() -> anyhow::Result<UdpSocket> {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("can't open a UDP socket on the loopback interface")
}

/// The most that flow control ever lets a path hold. No controller is to be limited by it: the demo compares controllers.
fn window_cap(path: &Path) -> u64 {
    windows::CAP.max(path.capacity().saturating_mul(4))
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// The receiving end; it ends when dropped.
pub struct Receiver {
    /// The address that it listens on.
    pub addr: SocketAddr,
    /// Bytes of data received so far.
    pub received: Arc<AtomicU64>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Duration>>,
}

impl Receiver {
    /// Waits for one sender, on a new thread.
    pub fn start(identity: &Identity, algorithm: Algorithm, seed: u64, path: &Path) -> anyhow::Result<Receiver> {
        let config = identity.server(transport(algorithm, seed, None))?;
        let runtime = runtime()?;
        let endpoint = {
            let _inside = runtime.enter();
            quic::endpoint(socket()?, Some(config))?
        };
        let addr = endpoint.local_addr()?;
        let received = Arc::new(AtomicU64::new(0));
        let count = received.clone();
        let cap = window_cap(path);
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("receiver".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = receive(&endpoint, &count, cap) => {}
                    _ = stopped => {}
                }
            });
            thread_cpu()
        })?;
        Ok(Receiver { addr, received, stop: Some(stop), thread: Some(thread) })
    }

    /// Ends it; the processor time that it took.
    pub fn stop(mut self) -> Duration {
        self.join()
    }

    fn join(&mut self) -> Duration {
        self.stop = None;
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.join();
    }
}

/// Reads all streams of one connection at once, until the sender closes it: an error here shows at the sender.
async fn receive(endpoint: &Endpoint, received: &Arc<AtomicU64>, window_cap: u64) {
    let Some(incoming) = endpoint.accept().await else { return };
    let Ok(connection) = incoming.await else { return };
    tokio::spawn(windows::follow_path(&connection, window_cap));
    let received = received.clone();
    quic::receive(&connection, move |bytes| {
        received.fetch_add(bytes, Ordering::Relaxed);
    })
    .await;
}

/// What a sender needs to know.
pub struct SenderConfig<'a> {
    /// The congestion controller.
    pub algorithm: Algorithm,
    /// The seed of the controller's random choices.
    pub seed: u64,
    /// The path, which says how large the windows can get.
    pub path: &'a Path,
    /// The address to send to: the relay.
    pub to: SocketAddr,
    /// How long to send.
    pub duration: Duration,
    /// Counts what has arrived.
    pub received: Arc<AtomicU64>,
    /// Where to log, if at all.
    pub qlog: Option<&'a Qlog>,
}

/// How the sender's thread fared.
#[derive(Clone, Copy, Debug)]
pub struct SenderReport {
    /// Processor time of the thread.
    pub cpu: Duration,
    /// How late the thread woke up.
    pub lateness: Lateness,
}

/// Sends for as long as asked, or until nobody listens to its samples any more; on a new thread.
pub fn send(
    identity: &Identity,
    what: SenderConfig<'_>,
    samples: mpsc::UnboundedSender<BulkProgress>,
) -> anyhow::Result<JoinHandle<anyhow::Result<SenderReport>>> {
    let config = identity.client(transport(what.algorithm, what.seed, what.qlog))?;
    let SenderConfig { to, duration, received, .. } = what;
    let cap = window_cap(what.path);
    let runtime = runtime()?;
    let run = move || {
        runtime.block_on(async {
            let endpoint = quic::endpoint(socket()?, None)?;
            let mut lateness = LatenessHistogram::new();
            let began = Instant::now();
            let connecting = endpoint.connect_with(config, to, SERVER_NAME)?;
            tokio::select! {
                sent = async {
                    let connection = connecting.await.context("no connection")?;
                    tokio::spawn(windows::follow_path(&connection, cap));
                    pump(connection, began, &received, &samples).await
                } => sent?,
                failed = watch_lateness(&mut lateness) => failed?,
                () = tokio::time::sleep(duration) => {}
                () = samples.closed() => {}
            }
            endpoint.close(VarInt::from_u32(0), b"");
            Ok(SenderReport { cpu: thread_cpu(), lateness: lateness.summary() })
        })
    };
    Ok(std::thread::Builder::new().name("sender".to_owned()).spawn(run)?)
}

/// Wakes up now and then, for ever, to see how late. What comes late here does so in the pacing of packets too.
async fn watch_lateness(lateness: &mut LatenessHistogram) -> std::io::Result<()> {
    let mut timer = Timer::new()?;
    loop {
        let due = Instant::now() + LATENESS_EVERY;
        timer.sleep_until(due).await;
        lateness.record(due.elapsed());
    }
}

/// Sends block after block, for ever.
async fn pump(
    connection: Connection,
    began: Instant,
    received: &AtomicU64,
    samples: &mpsc::UnboundedSender<BulkProgress>,
) -> anyhow::Result<()> {
    let mut ticks = tokio::time::interval(SAMPLE_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let observing = async {
        loop {
            ticks.tick().await;
            let stats = connection.stats();
            let rtt = connection.rtt(PathId::ZERO).unwrap_or_default();
            let received = received.load(Ordering::Relaxed);
            // Nobody listens any more: the sender is about to end.
            let _ = samples.send(BulkProgress {
                at: began.elapsed(),
                received,
                rtt,
                sent: stats.sent_packets,
                lost: stats.lost_packets,
            });
        }
    };
    let sending = async {
        let mut blocks = BlockWriter::new(connection.clone());
        loop {
            blocks.write(BLOCK).await?;
        }
    };
    tokio::select! {
        () = observing => Ok(()),
        failed = sending => failed,
    }
}
