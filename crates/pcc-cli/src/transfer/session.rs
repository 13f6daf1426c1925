//! One authenticated connection at the receiver, from the manifest to the confirmation.

use super::blocks;
use super::commit::Rules;
use super::endpoint;
use super::manifest::Manifest;
use super::offer;
use super::progress::{Event, INTERVAL, Reporter, Snapshot};
use super::protocol::{self, Answer, Hello, RECORD_LEN, Record};
use super::staging::{Bound, Holder, Staging};
use super::stall::{self, disk_is_stuck, nothing_came, stalled};
use super::store::{Admitted, Store};
use crate::failure::{Failure, Kind, Result};
use crate::peer::door::Guest;
use crate::peer::wire::{self, connection_failure};
use noq::{PathId, ReadExactError, RecvStream};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedMutexGuard, mpsc, oneshot};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

/// Blocks that wait for the disk.
const QUEUE: usize = 16;
/// How long the disk may take for what is under way when nothing has moved.
const DISK: Duration = Duration::from_secs(5);
/// How often the sender hears that the disk is still at work.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);
/// How long the sender may take to confirm the completion.
const CONFIRMATION: Duration = Duration::from_secs(10);

/// A sender that proved the secret; `send` is the control stream to it.
pub type Peer = Guest<Hello>;

impl Peer {
    /// What a transfer of this sender is bound to.
    pub fn holder(&self) -> Holder {
        Holder { sender: self.sender, transfer: self.hello.transfer }
    }
}

/// The state of the transfer between sessions.
pub enum State {
    /// No sender yet.
    Fresh(Staging),
    /// Bound to the manifest of a sender.
    Bound(Box<Store>),
    /// A session has it.
    Gone,
}

/// How a session ended.
pub enum End {
    /// All is there and the sender knows.
    Complete,
    /// All is there but the sender may not know.
    Unconfirmed,
    /// The connection was lost.
    Lost(Failure),
    /// The sender was turned away; another may come.
    Refused(SocketAddr, Failure),
    /// Nothing can be received any more.
    Fatal(Failure),
}

/// What sessions, one after the other, share.
pub struct Shared {
    state: Arc<tokio::sync::Mutex<State>>,
    rules: Rules,
    reporter: Arc<Reporter>,
    bound: Mutex<Option<Holder>>,
    checked: AtomicU64,
    to_check: AtomicU64,
    summary: Mutex<Option<Summary>>,
}

struct Summary {
    started: Instant,
    files: usize,
    bytes: u64,
    moved: u64,
    /// Files that are not there.
    missing: usize,
}

impl Shared {
    /// Takes up what is in the staging folder; hashing it goes on in the background, and sessions wait for it. The second
    /// value tells the outcome: whether the transfer is complete.
    pub async fn start(
        staging: Staging,
        bound: Option<Bound>,
        rules: Rules,
        reporter: Arc<Reporter>,
    ) -> (Arc<Self>, oneshot::Receiver<Result<bool>>) {
        let shared = Arc::new(Self {
            state: Arc::new(tokio::sync::Mutex::new(State::Gone)),
            rules,
            reporter,
            bound: Mutex::new(bound.as_ref().map(|bound| bound.holder)),
            checked: AtomicU64::new(0),
            to_check: AtomicU64::new(0),
            summary: Mutex::new(None),
        });
        let mut state = shared.state.clone().lock_owned().await;
        let (tell, outcome) = oneshot::channel();
        match bound {
            None => *state = State::Fresh(staging),
            Some(Bound { manifest, .. }) => {
                let shared = shared.clone();
                spawn_blocking(move || {
                    let resumed = shared.resume(staging, &manifest).map(|store| {
                        let complete = store.is_published();
                        *state = State::Bound(Box::new(store));
                        complete
                    });
                    // First, because whoever hears of it may want the state.
                    drop(state);
                    drop(tell.send(resumed));
                });
            }
        }
        (shared, outcome)
    }

    fn resume(&self, staging: Staging, encoded: &[u8]) -> Result<Store> {
        let mut shown = Instant::now();
        let mut store = Store::resume(staging, encoded, |bytes, total| {
            self.checked.store(bytes, Ordering::Relaxed);
            self.to_check.store(total, Ordering::Relaxed);
            if shown.elapsed() >= INTERVAL || bytes == total {
                shown = Instant::now();
                self.reporter.event(&Event::Checking { bytes, total });
            }
        })?;
        if self.rules.sync {
            store.take_what_is_there();
        }
        if store.is_committed() {
            // Nothing is missing but names: no sender is needed for them.
            self.note_start(&store);
            store.commit(self.rules)?;
            self.note_end(&store);
        }
        Ok(store)
    }

    /// Whose this transfer is.
    pub fn bound(&self) -> Option<Holder> {
        self.bound.lock().ok().and_then(|bound| *bound)
    }

    /// Takes the state away, when no session has it any more.
    pub async fn take(&self) -> State {
        std::mem::replace(&mut *self.state.lock().await, State::Gone)
    }

    /// Reports the completion; a failure if something is missing.
    pub fn report_done(&self) -> Result<()> {
        let Ok(Some(summary)) = self.summary.lock().map(|mut summary| summary.take()) else { return Ok(()) };
        let seconds = summary.started.elapsed().as_secs_f64();
        self.reporter.event(&Event::Done {
            files: summary.files,
            bytes: summary.bytes,
            moved: summary.moved,
            seconds,
            bits_per_second: summary.moved as f64 * 8.0 / seconds.max(1e-6),
        });
        if summary.missing > 0 { Err(Failure::incomplete(summary.missing)) } else { Ok(()) }
    }

    fn note_start(&self, store: &Store) {
        let (files, bytes, have) = (store.manifest.files, store.manifest.bytes, store.stored());
        self.reporter.event(&Event::Start { files, bytes, have });
        if let Ok(mut summary) = self.summary.lock() {
            let summary = summary.get_or_insert(Summary {
                started: Instant::now(),
                files,
                bytes,
                moved: bytes - have,
                missing: 0,
            });
            // The list may be a new one.
            (summary.files, summary.bytes) = (files, bytes);
        }
    }

    /// Names what is not there when all else is.
    fn note_end(&self, store: &Store) {
        let Ok(mut summary) = self.summary.lock() else { return };
        if let Some(summary) = summary.as_mut().filter(|summary| summary.missing == 0) {
            for entry in store.given_up() {
                let message = format!("\"{}\" is not here: the sender could not read it as it was", entry.shown());
                self.reporter.event(&Event::Note { message: &message });
                summary.missing += 1;
                summary.files -= 1;
                summary.bytes -= entry.size();
            }
        }
    }
}

/// Serves a sender until the transfer is complete or the connection is over.
pub async fn run(mut peer: Peer, address: SocketAddr, shared: Arc<Shared>) -> End {
    endpoint::open_for_data(&peer.connection);
    let mut state = match wait_for_state(&mut peer, &shared).await {
        Ok(state) => state,
        Err(failure) => return End::Lost(failure),
    };
    let taken = match std::mem::replace(&mut *state, State::Gone) {
        State::Gone => {
            let failure = Failure::new(Kind::Other, "the unfinished transfer cannot be taken up");
            wire::close(&peer.connection, &failure);
            return End::Fatal(failure);
        }
        State::Bound(store) if *store.manifest_hash.as_bytes() == peer.hello.manifest => (State::Bound(store), Ok(())),
        held => take_list(&mut peer, held, &shared).await,
    };
    let store = match taken {
        (State::Bound(store), Ok(())) => store,
        (held, result) => {
            *state = held;
            let failure = result.err().unwrap_or_else(|| Failure::new(Kind::Other, "there is no manifest"));
            let lost = peer.connection.close_reason().is_some();
            wire::close(&peer.connection, &failure);
            return if lost { End::Lost(failure) } else { End::Refused(address, failure) };
        }
    };
    if let Ok(mut bound) = shared.bound.lock() {
        *bound = Some(peer.holder());
    }
    let (store, result) = match receive(&mut peer, store, &shared).await {
        Ok(received) => received,
        Err(failure) => {
            wire::close(&peer.connection, &failure);
            return End::Fatal(failure);
        }
    };
    if result.is_ok() {
        shared.note_end(&store);
    }
    let without = store.given_up_runs();
    *state = State::Bound(store);
    drop(state);
    match result {
        Ok(()) => confirm(&mut peer, without).await,
        Err(Stop::Disk(failure)) => {
            wire::close(&peer.connection, &failure);
            End::Fatal(failure)
        }
        Err(Stop::Peer(failure)) => {
            // What the sender gave as its reason says nothing about this side.
            let over = peer.connection.close_reason().is_some();
            wire::close(&peer.connection, &failure);
            if !over && failure.kind == Kind::Stalled {
                return End::Fatal(failure);
            }
            if over || failure.kind == Kind::LostPeer { End::Lost(failure) } else { End::Refused(address, failure) }
        }
    }
}

/// Waits until an earlier session, or the check at the start, lets go of the state.
async fn wait_for_state(peer: &mut Peer, shared: &Shared) -> Result<OwnedMutexGuard<State>> {
    let mut interval = tokio::time::interval(Duration::from_secs(1));
    interval.tick().await;
    let lock = shared.state.clone().lock_owned();
    tokio::pin!(lock);
    loop {
        tokio::select! {
            state = &mut lock => return Ok(state),
            _ = interval.tick() => {
                let bytes = shared.checked.load(Ordering::Relaxed);
                let total = shared.to_check.load(Ordering::Relaxed);
                wire::send(&mut peer.send, &Answer::Checking { bytes, total }).await?;
            }
        }
    }
}

/// Gets the manifest, the first one or a newer one. If the transfer does not become bound to it, the failure says why.
async fn take_list(peer: &mut Peer, held: State, shared: &Shared) -> (State, Result<()>) {
    if matches!(&held, State::Bound(store) if store.is_committed()) {
        let message =
            "all that this ticket was for is in its place, and the files changed since; get a new ticket from pcc recv";
        return (held, Err(Failure::new(Kind::WrongTicket, message)));
    }
    let encoded = match offer::receive(&peer.connection, &mut peer.send, &peer.hello, shared.rules.patience).await {
        Ok(encoded) => encoded,
        Err(failure) => return (held, Err(failure)),
    };
    let (rules, holder) = (shared.rules, peer.holder());
    let bind = move || match held {
        State::Fresh(staging) => match Admitted::bind(&staging, holder, &encoded, rules) {
            Ok(admitted) => (State::Bound(Box::new(Store::new(staging, admitted))), Ok(())),
            Err(failure) => (State::Fresh(staging), Err(failure)),
        },
        State::Bound(mut store) => {
            let result = store.rebind(holder, &encoded, rules);
            (State::Bound(store), result)
        }
        State::Gone => (State::Gone, Ok(())),
    };
    let bound = spawn_blocking(move || {
        let (mut state, result) = bind();
        if let State::Bound(store) = &mut state
            && rules.sync
        {
            store.take_what_is_there();
        }
        (state, result)
    });
    bound.await.unwrap_or_else(|e| (State::Gone, Err(Failure::new(Kind::Other, e))))
}

/// What streams hand to the disk.
enum Work {
    Block { file: u32, block: u32, hash: [u8; 32], data: Vec<u8> },
    Hole { file: u32, block: u32, hash: [u8; 32] },
    Root { file: u32, hash: [u8; 32] },
    Skip { file: u32 },
}

/// What kept a transfer from being complete.
enum Stop {
    /// The connection, or what came over it.
    Peer(Failure),
    /// This machine. What its disk holds is uncertain from then on: after a failed sync the next one may well succeed
    /// without the data. Only a new start, which checks every block, may go on.
    Disk(Failure),
}

impl Stop {
    /// A failure of the writer.
    fn writing(failure: Failure) -> Self {
        match failure.kind {
            Kind::Corrupt | Kind::Source => Stop::Peer(failure),
            _ => Stop::Disk(failure),
        }
    }
}

type Received = (Box<Store>, Result<(), Stop>);

/// Takes blocks until all are there and have their final names. An error means that the store is lost.
async fn receive(peer: &mut Peer, mut store: Box<Store>, shared: &Arc<Shared>) -> Result<Received> {
    store.hope_again();
    shared.note_start(&store);
    let have = Answer::Have { bytes: store.stored(), blocks: store.block_runs(), files: store.finished_runs() };
    let patience = shared.rules.patience;
    let told = timeout(patience.max(SIGN_OF_LIFE), wire::send(&mut peer.send, &have)).await;
    if let Err(failure) = told.unwrap_or_else(|_| Err(nothing_came(patience))) {
        return Ok((store, Err(Stop::Peer(failure))));
    }
    let manifest = store.manifest.clone();
    let total = manifest.bytes;
    let stored = Arc::new(AtomicU64::new(store.stored()));
    let (work, queue) = mpsc::channel(QUEUE);
    let (counter, rules) = (stored.clone(), shared.rules);
    let mut writer = spawn_blocking(move || {
        let mut store = store;
        let result = write(&mut store, queue, &counter, rules);
        (store, result.map_err(Stop::writing))
    });
    let connection = peer.connection.clone();
    let mut readers = JoinSet::new();
    let mut interval = tokio::time::interval(INTERVAL);
    let (mut told, mut told_at) = (stored.load(Ordering::Relaxed), Instant::now());
    let stall = stalled(|| {
        let stored = stored.load(Ordering::Relaxed);
        let limit = if stored == total { patience * stall::FINISHING } else { patience };
        stall::Look { progress: (stored, connection.stats().frame_rx.stream), limit }
    });
    tokio::pin!(stall);
    let lost = loop {
        tokio::select! {
            joined = &mut writer => {
                return joined.map_err(|e| Failure::new(Kind::Other, e));
            }
            stream = connection.accept_uni() => match stream {
                Ok(stream) => {
                    readers.spawn(read_stream(stream, manifest.clone(), work.clone()));
                }
                Err(e) => break connection_failure(&e),
            },
            Some(joined) = readers.join_next() => match joined {
                Ok(Ok(())) => {}
                Ok(Err(failure)) => break failure,
                Err(e) => break Failure::new(Kind::Other, e),
            },
            () = &mut stall => {
                break if stored.load(Ordering::Relaxed) == total { disk_is_stuck() } else { nothing_came(patience) };
            }
            _ = interval.tick() => {
                let now = stored.load(Ordering::Relaxed);
                let rtt = connection.rtt(PathId::ZERO).unwrap_or_default();
                let bits_per_second = shared.reporter.rate(now);
                let rtt_ms = rtt.as_secs_f64() * 1e3;
                shared.reporter.event(&Event::Progress(Snapshot { stored: now, total, bits_per_second, rtt_ms, loss: 0.0 }));
                if now != told || (now == total && told_at.elapsed() >= SIGN_OF_LIFE) {
                    (told, told_at) = (now, Instant::now());
                    if let Err(failure) = wire::send(&mut peer.send, &Answer::Stored(now)).await {
                        break failure;
                    }
                }
            }
        }
    };
    // Blocks that are complete are not given up: streams that have ended are read, the queue is written.
    if peer.connection.close_reason().is_some() {
        while readers.join_next().await.is_some() {}
    }
    readers.shutdown().await;
    drop(work);
    let joined = if lost.kind == Kind::Stalled && peer.connection.close_reason().is_none() {
        // It may be the disk that is stuck. Then nothing is known about what is on it.
        timeout(DISK, writer).await.map_err(|_| disk_is_stuck())?
    } else {
        writer.await
    };
    let (store, result) = joined.map_err(|e| Failure::new(Kind::Other, e))?;
    let result = match result {
        Ok(()) if !store.is_complete() => Err(Stop::Peer(lost)),
        other => other,
    };
    Ok((store, result))
}

/// The thread that verifies and writes; when all is there it also gives the files their names.
fn write(store: &mut Store, mut queue: mpsc::Receiver<Work>, stored: &AtomicU64, rules: Rules) -> Result<()> {
    while !store.is_complete() {
        match queue.blocking_recv() {
            None => return Ok(()),
            Some(Work::Block { file, block, hash, data }) => store.put_block(file, block, hash, &data)?,
            Some(Work::Hole { file, block, hash }) => store.put_hole(file, block, hash)?,
            Some(Work::Root { file, hash }) => store.put_root(file, hash)?,
            Some(Work::Skip { file }) => store.give_up(file)?,
        }
        stored.store(store.stored(), Ordering::Relaxed);
    }
    store.commit(rules)
}

/// Reads the records of one stream.
async fn read_stream(mut stream: RecvStream, manifest: Arc<Manifest>, work: mpsc::Sender<Work>) -> Result<()> {
    let broken = |what: &str| Failure::new(Kind::Corrupt, format!("the sender sent {what}"));
    let mut head = [0; RECORD_LEN];
    loop {
        match stream.read_exact(&mut head).await {
            Ok(()) => {}
            Err(ReadExactError::FinishedEarly(0)) => return Ok(()),
            Err(e) => return read_failure(e),
        }
        let item = match Record::decode(&head) {
            Record::Hole { file, block, hash } => Work::Hole { file, block, hash },
            Record::Root { file, hash } => Work::Root { file, hash },
            Record::Skip { file } => Work::Skip { file },
            Record::Block { file, block, hash } => {
                if manifest.block_id(file, block.into()).is_none() {
                    return Err(broken("a block that is not in its list"));
                }
                let mut data = vec![0; blocks::length(manifest.entries[file as usize].size(), block.into())];
                if let Err(e) = stream.read_exact(&mut data).await {
                    return read_failure(e);
                }
                Work::Block { file, block, hash, data }
            }
        };
        if work.send(item).await.is_err() {
            // The writer stopped, and says why.
            return Ok(());
        }
    }
}

fn read_failure(error: ReadExactError) -> Result<()> {
    match error {
        // The task that accepts streams notices too, and reports why.
        ReadExactError::ReadError(noq::ReadError::ConnectionLost(_)) => Ok(()),
        _ => Err(Failure::new(Kind::Corrupt, "the sender sent a stream that ends in the middle of a block")),
    }
}

/// Tells the sender, and waits for it to say that it heard.
async fn confirm(peer: &mut Peer, without: Vec<(u64, u64)>) -> End {
    if wire::send(&mut peer.send, &Answer::Complete { without }).await.is_err() {
        return End::Unconfirmed;
    }
    match timeout(CONFIRMATION, peer.connection.closed()).await {
        Ok(reason) if protocol::is_done(&reason) => End::Complete,
        Ok(_) => End::Unconfirmed,
        Err(_) => {
            let failure = Failure::new(Kind::LostPeer, "the sender did not confirm the completion");
            wire::close(&peer.connection, &failure);
            End::Unconfirmed
        }
    }
}
