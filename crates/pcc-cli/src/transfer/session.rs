//! One authenticated connection at the receiver, from the manifest to the confirmation.

use super::endpoint;
use super::event::{Event, Snapshot};
use super::offer;
use super::progress::{INTERVAL, Reporter};
use super::protocol::{self, Answer, Hello};
use super::records::{Work, read_stream};
use super::rules::Rules;
use super::staging::{Bound, Holder, Staging};
use super::stall::{self, disk_is_stuck, nothing_came, stalled};
use super::store::{Admitted, Store};
use crate::failure::{Failure, Kind, Result};
use crate::peer::door::Guest;
use crate::peer::wire::{self, connection_failure};
use crate::runtime::blocking;
use noq::PathId;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{OwnedMutexGuard, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// Batches that wait for the disk.
const QUEUE: usize = 13;
/// Batches that are written at once.
const AT_ONCE: usize = 4;
/// How long the disk may take for what is under way when nothing has moved.
const DISK: Duration = Duration::from_secs(5);
/// Hashes of what was there before that are sent at once.
const OFFERS: usize = 4096;
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
    /// It can't be taken up.
    Failed(Failure),
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

/// What was transferred.
pub struct Summary {
    started: Instant,
    /// Files that are there in the end.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Files that were there already.
    pub there: usize,
    /// Those of the bytes that came over the network.
    pub moved: u64,
    /// Files that are not there.
    pub missing: usize,
    /// Whether nothing more comes.
    is_over: bool,
}

impl Summary {
    /// How long it took.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// How fast it was.
    pub fn bits_per_second(&self) -> f64 {
        self.moved as f64 * 8.0 / self.seconds().max(1e-6)
    }

    /// Whether nothing is missing.
    pub fn complete(&self) -> Result<()> {
        if self.missing > 0 { Err(Failure::incomplete(self.files, self.missing, 0)) } else { Ok(()) }
    }
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
                blocking(move || {
                    let resumed = shared.resume(staging, &manifest);
                    let complete = resumed.as_ref().map(|store| store.is_published()).map_err(Failure::clone);
                    *state = resumed.map_or_else(State::Failed, |store| State::Bound(Box::new(store)));
                    // First, because whoever hears of it may want the state.
                    drop(state);
                    drop(tell.send(complete));
                });
            }
        }
        (shared, outcome)
    }

    fn resume(&self, staging: Staging, encoded: &[u8]) -> Result<Store> {
        let mut store = Store::resume(staging, encoded, self.checking())?;
        self.compare(&mut store);
        if store.is_committed() {
            // Nothing is missing but names: no sender is needed for them.
            self.note_start(&store);
            store.commit(self.rules)?;
            self.note_end(&store);
        }
        Ok(store)
    }

    /// Takes what is there already for received, or hashes it.
    fn compare(&self, store: &mut Store) {
        if self.rules.sync {
            store.take_what_is_there(self.rules.checksum, self.checking());
        }
    }

    /// Tells everybody how much of what is there is hashed.
    fn checking(&self) -> impl FnMut(u64, u64) {
        // What was checked before counts, so that the numbers only grow.
        let before = self.checked.load(Ordering::Relaxed);
        let mut shown = Instant::now();
        move |bytes, total| {
            self.checked.store(before + bytes, Ordering::Relaxed);
            self.to_check.store(before + total, Ordering::Relaxed);
            if shown.elapsed() >= INTERVAL || bytes == total {
                shown = Instant::now();
                self.reporter.event(&Event::Checking { bytes, total });
            }
        }
    }

    /// Whose this transfer is.
    pub fn bound(&self) -> Option<Holder> {
        self.bound.lock().ok().and_then(|bound| *bound)
    }

    /// Takes the state away, when no session has it any more.
    pub async fn take(&self) -> State {
        std::mem::replace(&mut *self.state.lock().await, State::Gone)
    }

    /// What was transferred, if a list was taken.
    pub fn summary(&self) -> Option<Summary> {
        self.summary.lock().ok()?.take()
    }

    fn note_start(&self, store: &Store) {
        let (files, bytes, have) = (store.manifest.files, store.manifest.bytes, store.stored());
        self.reporter.event(&Event::Start { files, bytes, have });
        if let Ok(mut summary) = self.summary.lock() {
            let summary = summary.get_or_insert(Summary {
                started: Instant::now(),
                files,
                bytes,
                there: store.finished_files(),
                moved: 0,
                missing: 0,
                is_over: false,
            });
            // The list may be a new one.
            (summary.files, summary.bytes) = (files, bytes);
        }
    }

    /// Names what is not there when all else is.
    fn note_end(&self, store: &Store) {
        let Ok(mut summary) = self.summary.lock() else { return };
        if let Some(summary) = summary.as_mut().filter(|summary| !summary.is_over) {
            summary.is_over = true;
            summary.moved = store.moved();
            summary.there += store.same_files();
            for (entry, why) in store.missing() {
                let message = format!("\"{}\" is not here: {why}", entry.shown());
                self.reporter.event(&Event::Note { message: &message });
                summary.missing += 1;
                summary.files -= usize::from(entry.is_file());
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
        State::Failed(failure) => {
            *state = State::Failed(failure.clone());
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
    let without = store.missing_runs();
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
    let lock = shared.state.clone().lock_owned();
    tokio::pin!(lock);
    tell_of_checks(peer, shared, &mut lock).await
}

/// Tells the sender that files are hashed while it waits for this; an error means that it is gone.
async fn tell_of_checks<T>(
    peer: &mut Peer,
    shared: &Shared,
    mut awaited: impl Future<Output = T> + Unpin,
) -> Result<T> {
    let mut interval = tokio::time::interval(SIGN_OF_LIFE);
    interval.tick().await;
    loop {
        tokio::select! {
            biased;
            done = &mut awaited => return Ok(done),
            _ = interval.tick() => {
                let bytes = shared.checked.load(Ordering::Relaxed);
                let total = shared.to_check.load(Ordering::Relaxed);
                wire::send(&mut peer.send, &Answer::Checking { bytes, total }).await?;
            }
        }
    }
}

/// Gets the manifest, the first one or a newer one. If the transfer does not become bound to it, the failure says why.
async fn take_list(peer: &mut Peer, held: State, shared: &Arc<Shared>) -> (State, Result<()>) {
    if matches!(&held, State::Bound(store) if store.is_committed()) {
        let message = "all of this transfer is in its place, and the files changed since; get a new ticket from pcc recv, or wait a minute \
             if it has --keep";
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
        other => (other, Ok(())),
    };
    let comparing = shared.clone();
    let mut bound = blocking(move || {
        let (mut state, result) = bind();
        if let State::Bound(store) = &mut state {
            comparing.compare(store);
        }
        (state, result)
    });
    let bound = match tell_of_checks(peer, shared, &mut bound).await {
        Ok(bound) => bound,
        // The sender is gone, the state is not.
        Err(_) => bound.await,
    };
    bound.unwrap_or_else(|e| (State::Gone, Err(Failure::new(Kind::Other, e))))
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
    let there = store.offers();
    let there = there.chunks(OFFERS).map(|some| Answer::There(some.to_vec()));
    for answer in there.chain([have]) {
        let told = timeout(patience.max(SIGN_OF_LIFE), wire::send(&mut peer.send, &answer)).await;
        if let Err(failure) = told.unwrap_or_else(|_| Err(nothing_came(patience))) {
            return Ok((store, Err(Stop::Peer(failure))));
        }
    }
    let manifest = store.manifest.clone();
    let total = manifest.bytes;
    let stored = Arc::new(AtomicU64::new(store.stored()));
    let (work, queue) = mpsc::channel(QUEUE);
    let (counter, rules) = (stored.clone(), shared.rules);
    let mut writer = tokio::spawn(write(store, queue, counter, rules));
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
            biased;
            joined = &mut writer => {
                return joined.map_err(|e| Failure::new(Kind::Other, e))?;
            }
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
            // Last, because whoever sends decides how often it comes.
            stream = connection.accept_uni() => match stream {
                Ok(stream) => {
                    readers.spawn(read_stream(stream, manifest.clone(), work.clone()));
                }
                Err(e) => break connection_failure(&e),
            },
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
    let (store, result) = joined.map_err(|e| Failure::new(Kind::Other, e))??;
    let result = match result {
        Ok(()) if !store.is_complete() => Err(Stop::Peer(lost)),
        other => other,
    };
    Ok((store, result))
}

/// Verifies and writes; when all is there it also gives the files their names. An error means that the store is lost.
async fn write(
    mut store: Box<Store>,
    mut queue: mpsc::Receiver<Vec<Work>>,
    stored: Arc<AtomicU64>,
    rules: Rules,
) -> Result<Received> {
    let mut batches = Vec::new();
    while store.is_complete() || queue.recv_many(&mut batches, AT_ONCE).await > 0 {
        let (some, stored) = (std::mem::take(&mut batches), stored.clone());
        let written = blocking(move || {
            let result = put_all(&mut store, some, &stored, rules);
            let result = result.and_then(|()| if store.is_complete() { store.commit(rules) } else { Ok(()) });
            (store, result)
        });
        let result;
        (store, result) = written.await.map_err(|e| Failure::new(Kind::Other, e))?;
        if result.is_err() || store.is_complete() {
            return Ok((store, result.map_err(Stop::writing)));
        }
    }
    Ok((store, Ok(())))
}

fn put_all(store: &mut Store, batches: Vec<Vec<Work>>, stored: &AtomicU64, rules: Rules) -> Result<()> {
    for work in batches.into_iter().flatten() {
        match work {
            Work::Block { file, block, hash, data } => store.put_block(file, block, hash, &data)?,
            Work::Hole { file, block, hash } => store.put_hole(file, block, hash)?,
            Work::Root { file, hash } => store.put_root(file, hash)?,
            Work::Skip { file } => store.give_up(file)?,
            Work::Copy { file, block, hash } => store.put_copy(file, block, hash)?,
            Work::Same { file, hash } => store.put_same(file, hash)?,
        }
        store.complete_last(rules);
        stored.store(store.stored(), Ordering::Relaxed);
    }
    Ok(())
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
