//! `pcc send`.

use super::bitmap::Bitmap;
use super::endpoint;
use super::event::{Event, Snapshot};
use super::manifest::{Entry, What};
use super::progress::{INTERVAL, Reporter};
use super::protocol::{self, Answer, BATCH, Hello, MAX_MESSAGE};
use super::selection::Selection;
use super::source::{Batch, Had, Source};
use super::stall::{self, Look, stalled};
use crate::failure::{Failure, Kind, Result};
use crate::peer::connecting;
use crate::peer::credentials::{Credentials, SenderId};
use crate::peer::endpoint::shown;
use crate::peer::identity::{code, proof};
use crate::peer::ticket::Ticket;
use crate::peer::wire::{self, connection_failure};
use crate::runtime::blocking;
use crate::signals::interrupted;
use noq::{ClientConfig, Connection, Endpoint, PathId, RecvStream, TransportConfig, WriteError};
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// How long the receiver's user may take to type the code.
const CONFIRMATION: Duration = Duration::from_secs(24 * 3600);
/// How long the disk may take to read on when nothing has moved.
const DISK: Duration = Duration::from_secs(5);
/// How often the receiver hears that reading goes on while there is nothing to send.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);
/// How often files that change while they are sent are listed and tried again.
const LISTED_AGAIN: u32 = 2;
/// How often to look whether all that was sent is stored.
const LOOKING: Duration = Duration::from_millis(100);
/// Batches that are read ahead.
const READ_AHEAD: usize = 8;

/// How an attempt to transfer ended.
enum End {
    /// All is complete but for these entries.
    Complete(Vec<(u64, u64)>),
    /// All is there but for what is to be listed again.
    ListAgain,
    /// The connection was lost: another attempt may succeed.
    Lost(Failure),
    Failed(Failure),
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        match failure.kind {
            Kind::LostPeer => End::Lost(failure),
            // The other side was, and may be started again.
            Kind::Interrupted => End::Lost(Failure::new(Kind::LostPeer, "the receiver was interrupted")),
            _ => End::Failed(failure),
        }
    }
}

/// Why a connection is given up.
enum Stop {
    Failed(Failure),
    ListAgain,
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Stop::Failed(failure)
    }
}

/// What to send to whom, and how.
pub struct Options {
    /// The files and folders to send.
    pub paths: Vec<PathBuf>,
    /// What of them.
    pub selection: Selection,
    /// Whether all of it must arrive.
    pub strict: bool,
    /// The ticket as the receiver printed it.
    pub ticket: String,
    /// By what the receiver knows this sender.
    pub credentials: Credentials,
    /// With the congestion controller and its limits.
    pub transport: TransportConfig,
    /// Gives up after so long without the receiver.
    pub patience: Duration,
}

struct Sender {
    paths: Vec<PathBuf>,
    selection: Selection,
    strict: bool,
    listed_again: u32,
    ticket: Ticket,
    id: SenderId,
    endpoint: Endpoint,
    config: ClientConfig,
    reporter: Arc<Reporter>,
    started: Option<Instant>,
    /// Of lists before the last one.
    moved: u64,
    there: usize,
    last_contact: Instant,
    patience: Duration,
    /// Whether there is somebody to hear of the end.
    is_connected: Arc<AtomicBool>,
}

/// Sends, and keeps trying until it is done or hopeless.
pub async fn run(options: Options, reporter: Arc<Reporter>) -> Result<()> {
    let Options { paths, selection, strict, ticket, credentials, transport, patience } = options;
    let ticket: Ticket = ticket.parse()?;
    let source = find(&paths, &selection).await?;
    for left_out in &source.left_out {
        reporter.event(&Event::left_out(left_out));
    }
    if strict && !source.left_out.is_empty() {
        return Err(not_all());
    }
    let (endpoint, config) = endpoint::client(transport, &credentials, &ticket)?;
    let now = Instant::now();
    let id = SenderId(credentials.hash());
    let mut sender = Sender {
        paths,
        selection,
        strict,
        listed_again: 0,
        ticket,
        id,
        endpoint,
        config,
        reporter,
        started: None,
        moved: 0,
        there: 0,
        last_contact: now,
        patience,
        is_connected: Arc::default(),
    };
    let (endpoint, is_connected) = (sender.endpoint.clone(), sender.is_connected.clone());
    // It outlives the close: a connection that is dropped before would give no reason.
    let work = sender.keep_trying(source);
    tokio::pin!(work);
    let result = tokio::select! {
        biased;
        result = &mut work => result,
        () = interrupted() => Err(Failure::interrupted()),
    };
    if let Err(failure) = &result {
        // Whichever connection there still is.
        endpoint.close(noq::VarInt::from_u32(failure.kind.code().into()), failure.message.as_bytes());
    }
    if is_connected.load(Ordering::Relaxed) {
        // The last packet, which tells the other side, must get out.
        let _ = tokio::time::timeout(Duration::from_secs(2), endpoint.wait_idle()).await;
    }
    result
}

/// That something was left out and `--strict` is given.
pub fn not_all() -> Failure {
    Failure::new(Kind::Source, "not everything can be sent, as --strict wants: see above")
}

async fn find(paths: &[PathBuf], selection: &Selection) -> Result<Source> {
    let (paths, selection) = (paths.to_vec(), selection.clone());
    blocking(move || Source::find(&paths, &selection)).await.map_err(|e| Failure::new(Kind::Other, e))?
}

impl Sender {
    async fn keep_trying(&mut self, mut source: Source) -> Result<()> {
        let patience = self.patience;
        let mut pause = FIRST_PAUSE;
        loop {
            let before = self.last_contact;
            let (kept, end) = self.attempt(source).await?;
            source = kept;
            if self.last_contact != before {
                pause = FIRST_PAUSE;
            }
            match end {
                End::Complete(without) => return self.done(&source, &without),
                End::ListAgain => {
                    self.listed_again += 1;
                    for (&file, why) in &source.trouble {
                        let name = source.manifest.entries[file as usize].shown();
                        let message = format!("\"{name}\" is not sent as it was: {why}");
                        self.reporter.event(&Event::Note { message: &message });
                    }
                    if self.strict {
                        let message = "files changed while they were sent, and --strict is given; send them when they are at rest";
                        return Err(Failure::new(Kind::Source, message));
                    }
                    self.moved += source.moved();
                    self.there += source.same_files();
                    let (paths, selection) = (self.paths.clone(), self.selection.clone());
                    let (named, last) = (source.named.clone(), source.manifest.clone());
                    let found = blocking(move || Source::find_again(&paths, &selection, &named, &last)).await;
                    let again = found.map_err(|e| Failure::new(Kind::Other, e))??;
                    for left_out in again.left_out.iter().filter(|left_out| !source.left_out.contains(left_out)) {
                        self.reporter.event(&Event::left_out(left_out));
                    }
                    for message in again.gone.iter().filter(|message| !source.gone.contains(message)) {
                        self.reporter.event(&Event::Note { message });
                    }
                    source = again;
                }
                End::Failed(failure) => return Err(failure),
                End::Lost(failure) if self.last_contact.elapsed() + pause > patience => {
                    return Err(Failure::new(
                        Kind::LostPeer,
                        format!(
                            "gave up after {} s without the receiver: {failure}; is pcc recv still running, and is its address reachable? \
                             Run the same command again to go on",
                            patience.as_secs()
                        ),
                    ));
                }
                End::Lost(failure) => {
                    let reason = failure.message;
                    self.reporter.event(&Event::Lost { reason, retry_ms: Some(pause.as_millis() as u64) });
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(MAX_PAUSE);
                }
            }
        }
    }

    /// Reports the completion; a failure if something is missing.
    fn done(&self, source: &Source, without: &[(u64, u64)]) -> Result<()> {
        let entries = &source.manifest.entries;
        let never_sent = || Failure::new(Kind::Other, "the receiver lacks what was never sent");
        let lacks = Bitmap::from_runs(entries.len() as u64, without).ok_or_else(never_sent)?;
        let is_empty = |file: &u32| entries[*file as usize].size() == 0 && !lacks.get((*file).into());
        let missing: Vec<u32> = (0..entries.len() as u32).filter(|&file| lacks.get(file.into())).collect();
        let changed: Vec<u32> = source.trouble.keys().copied().filter(is_empty).collect();
        let (mut files, mut bytes) = (source.manifest.files, source.manifest.bytes);
        for &file in &missing {
            let is_sent = |entry: &&Entry| !matches!(entry.what, What::Dir { .. });
            let entry = Some(&entries[file as usize]).filter(is_sent).ok_or_else(never_sent)?;
            let unknown = "it could not be read as it was, or was removed at the receiver";
            let why = source.trouble.get(&file).map_or(unknown, String::as_str);
            let message = format!("\"{}\" did not arrive: {why}", entry.shown());
            self.reporter.event(&Event::Note { message: &message });
            (files, bytes) = (files - usize::from(entry.is_file()), bytes - entry.size());
        }
        for &file in &changed {
            let (name, why) = (entries[file as usize].shown(), &source.trouble[&file]);
            let message = format!("\"{name}\" arrived empty, as it was at first: {why}");
            self.reporter.event(&Event::Note { message: &message });
        }
        let seconds = self.started.map_or(0.0, |started| started.elapsed().as_secs_f64());
        let moved = self.moved + source.moved();
        let bits_per_second = moved as f64 * 8.0 / seconds.max(1e-6);
        let (there, missing) =
            (self.there + source.same_files(), missing.len() + changed.len() + source.left_out.len());
        self.reporter.event(&Event::Done { files, bytes, there, missing, moved, seconds, bits_per_second });
        if missing > 0 { Err(Failure::incomplete(files, missing, source.left_out_for_good())) } else { Ok(()) }
    }

    /// The source comes back, with what was learnt about it. An error means that it did not.
    async fn attempt(&mut self, source: Source) -> Result<(Source, End)> {
        let left = self.patience.saturating_sub(self.last_contact.elapsed());
        self.is_connected.store(false, Ordering::Relaxed);
        let connection = match connecting::connect(&self.endpoint, &self.config, &self.ticket.addresses, left).await {
            Ok(connection) => connection,
            // The ticket was good before: who refuses it now is a receiver that ends, or has not started again.
            Err(failure) if failure.kind == Kind::WrongTicket && self.started.is_some() => {
                return Ok((source, End::Lost(failure)));
            }
            Err(failure) => return Ok((source, failure.into())),
        };
        self.is_connected.store(true, Ordering::Relaxed);
        let before = self.last_contact;
        let (source, result) = self.transfer(&connection, source).await?;
        // A receiver that is busy with others turns everybody away without an answer.
        if self.last_contact != before {
            self.last_contact = Instant::now();
        }
        Ok((
            source,
            match result {
                Ok(without) => {
                    protocol::close_done(&connection);
                    End::Complete(without)
                }
                Err(Stop::ListAgain) => {
                    let reason = match self.strict {
                        true => "files changed while they were sent, and the sender gave up, as --strict wants",
                        false => "files changed while they were sent; the sender lists them again",
                    };
                    wire::close(&connection, &Failure::new(Kind::Source, reason));
                    End::ListAgain
                }
                Err(Stop::Failed(failure)) => {
                    // When the other side closed the connection, its reason explains whatever failed here.
                    let failure = match connection.close_reason() {
                        Some(reason) if failure.kind == Kind::Other => connection_failure(&reason),
                        _ => failure,
                    };
                    wire::close(&connection, &failure);
                    failure.into()
                }
            },
        ))
    }

    /// What arrived is all but what is named; else why it did not.
    async fn transfer(
        &mut self,
        connection: &Connection,
        source: Source,
    ) -> Result<(Source, Result<Vec<(u64, u64)>, Stop>)> {
        let (had, control, bytes) = match self.agree(connection, &source).await {
            Ok(agreed) => agreed,
            Err(failure) => return Ok((source, Err(failure.into()))),
        };
        endpoint::follow_path(connection);
        let total = source.manifest.bytes;
        let (batches, queue) = mpsc::channel(READ_AHEAD);
        let (read, heard) = (source.blocks_read.clone(), Cell::new(0));
        let answered = Cell::new((0, 0));
        let progress = || {
            let stats = connection.stats();
            // What is sent again and again to somebody who doesn't answer is no progress.
            if stats.frame_rx.acks != answered.get().0 {
                answered.set((stats.frame_rx.acks, stats.frame_tx.stream));
            }
            (heard.get(), read.load(Ordering::Relaxed), answered.get().1)
        };
        let give_up = self.listed_again == LISTED_AGAIN;
        let reader = blocking(move || {
            let mut source = source;
            source.read(&had, give_up, &batches);
            source
        });
        let mut reader = Reader { handle: Some(reader), finished: None };
        let stored = Cell::new(bytes);
        let result = tokio::select! {
            biased;
            result = listen(control, &stored, &heard, total) => result.map_err(Stop::Failed),
            () = stalled(|| Look { progress: progress(), limit: self.patience }) => Err(self.nothing_moves().into()),
            failure = show_life(connection, &read) => Err(failure.into()),
            failure = pump(connection, queue) => Err(failure.into()),
            () = is_to_list_again(&mut reader, &stored, bytes), if !give_up => Err(Stop::ListAgain),
            () = self.report(connection, &stored, total) => Ok(Vec::new()),
        };
        if stored.get() > 0 {
            self.report_once(connection, if result.is_ok() { total } else { stored.get() }, total);
        }
        // The queue is gone, so the reader stops at the next block, unless the disk is what nothing comes from.
        let source = match &result {
            Err(Stop::Failed(failure)) if failure.kind == Kind::Stalled => {
                tokio::time::timeout(DISK, reader.wait()).await.map_err(|_| failure.clone())??
            }
            _ => reader.wait().await?,
        };
        Ok((source, result))
    }

    /// Shows the proof and the manifest, and learns what is there already, and how many bytes.
    async fn agree(&mut self, connection: &Connection, source: &Source) -> Result<(Had, RecvStream, u64)> {
        let (mut send, mut control) = connection.open_bi().await.map_err(|e| connection_failure(&e))?;
        let proof = *proof(connection, &self.ticket.secret)?.as_bytes();
        let manifest = *blake3::hash(&source.encoded).as_bytes();
        let (manifest_len, transfer) = (source.encoded.len() as u32, source.manifest.transfer());
        wire::send(&mut send, &Hello { proof, manifest, manifest_len, transfer }).await?;
        // What is said once more than it need be would put the end off for ever.
        let (mut asked, mut listed, mut checked) = (false, false, 0);
        let mut there: Vec<(u64, [u8; 32])> = Vec::new();
        let mut deadline = self.deadline(1);
        loop {
            let answer = tokio::time::timeout_at(deadline, wire::receive(&mut control, MAX_MESSAGE)).await;
            let answer = answer.unwrap_or_else(|_| Err(self.nothing_moves()))?;
            self.last_contact = Instant::now();
            match answer {
                Answer::Confirm if !asked => {
                    asked = true;
                    let (code, sender) = (code(connection)?, self.id.to_string());
                    self.reporter.event(&Event::Confirm { code: &code, sender: &sender });
                    deadline = Instant::now() + CONFIRMATION;
                }
                Answer::SendManifest if !listed => {
                    listed = true;
                    for at in (0..source.encoded.len()).step_by(BATCH) {
                        let piece = source.encoded.slice(at..source.encoded.len().min(at + BATCH));
                        let mut pieces = [piece];
                        let sent = send_stream(connection, &mut pieces, 0);
                        tokio::time::timeout_at(self.deadline(1), sent)
                            .await
                            .unwrap_or_else(|_| Err(self.nothing_moves()))?;
                    }
                    deadline = self.deadline(1);
                }
                // All is checked, and an earlier connection may still be giving names.
                Answer::Checking { bytes, .. } if bytes <= checked => {}
                Answer::Checking { bytes, total } => {
                    checked = bytes;
                    deadline = self.deadline(if bytes == total { stall::FINISHING } else { 1 });
                    self.reporter.event(&Event::Checking { bytes, total });
                }
                Answer::There(more) if !more.is_empty() => {
                    for (id, hash) in more {
                        if id >= source.manifest.blocks || there.last().is_some_and(|(last, _)| *last >= id) {
                            return Err(Failure::new(Kind::Other, "the receiver compares what was never sent"));
                        }
                        there.push((id, hash));
                    }
                    deadline = self.deadline(1);
                }
                Answer::Have { bytes, blocks, files } => {
                    let manifest = &source.manifest;
                    let have = Bitmap::from_runs(manifest.blocks, &blocks);
                    let finished = Bitmap::from_runs(manifest.entries.len() as u64, &files);
                    let (Some(have), Some(finished), true) = (have, finished, bytes <= manifest.bytes) else {
                        return Err(Failure::new(Kind::Other, "the receiver claims to have what was never sent"));
                    };
                    let peer = shown(connecting::remote(connection));
                    self.reporter.event(&Event::Connected { peer });
                    self.reporter.event(&Event::Start { files: manifest.files, bytes: manifest.bytes, have: bytes });
                    if self.started.is_none() {
                        self.started = Some(Instant::now());
                        let entries = (0u64..).zip(&manifest.entries);
                        self.there = entries.filter(|(n, entry)| entry.is_file() && finished.get(*n)).count();
                    }
                    return Ok((Had { blocks: have, files: finished, there }, control, bytes));
                }
                Answer::Confirm
                | Answer::SendManifest
                | Answer::There(_)
                | Answer::Stored(_)
                | Answer::Complete { .. } => {
                    return Err(Failure::new(Kind::Other, "the receiver answered out of turn"));
                }
            }
        }
    }

    fn deadline(&self, factor: u32) -> Instant {
        Instant::now() + self.patience.max(SIGN_OF_LIFE) * factor
    }

    fn nothing_moves(&self) -> Failure {
        let seconds = self.patience.as_secs();
        let message = format!(
            "the receiver is connected, but nothing moved for {seconds} s; run the same command again to go on"
        );
        Failure::new(Kind::Stalled, message)
    }

    async fn report(&self, connection: &Connection, stored: &Cell<u64>, total: u64) {
        let mut interval = tokio::time::interval(INTERVAL);
        loop {
            interval.tick().await;
            self.report_once(connection, stored.get(), total);
        }
    }

    fn report_once(&self, connection: &Connection, stored: u64, total: u64) {
        let stats = connection.stats();
        let rtt = connection.rtt(PathId::ZERO).unwrap_or_default();
        self.reporter.event(&Event::Progress(Snapshot {
            stored,
            total,
            bits_per_second: self.reporter.rate(stored),
            rtt_ms: rtt.as_secs_f64() * 1e3,
            loss: stats.lost_packets as f64 / stats.sent_packets.max(1) as f64,
        }));
    }
}

/// Takes what the receiver says until it says that all is complete, but for these entries.
async fn listen(mut control: RecvStream, stored: &Cell<u64>, heard: &Cell<u64>, total: u64) -> Result<Vec<(u64, u64)>> {
    loop {
        match wire::receive(&mut control, MAX_MESSAGE).await? {
            Answer::Stored(bytes) => {
                // Whatever comes after the last byte says that the disk is at work.
                if stored.replace(bytes) != bytes || bytes == total {
                    heard.set(heard.get() + 1);
                }
            }
            Answer::Complete { without } => return Ok(without),
            _ => return Err(Failure::new(Kind::Other, "the receiver answered out of turn")),
        }
    }
}

/// Puts batches on streams until the last one, and then waits; ends only by failing.
async fn pump(connection: &Connection, mut queue: mpsc::Receiver<Batch>) -> Failure {
    // Older streams go first, and so do their repairs after a loss: what is not finished when the path is cut is little.
    let mut priority = -1;
    while let Some(mut batch) = queue.recv().await {
        if let Err(failure) = send_stream(connection, &mut batch, priority).await {
            return failure;
        }
        priority = priority.saturating_sub(1);
    }
    std::future::pending().await
}

/// Ends when something was not as it was listed, and all else that was read is stored.
async fn is_to_list_again(reader: &mut Reader, stored: &Cell<u64>, before: u64) {
    // Without an empty one all can be complete by now.
    let is_awaited = |source: &Source, file: &u32| source.manifest.entries[*file as usize].size() > 0;
    let lacks = |source: &&Source| source.trouble.keys().any(|file| is_awaited(source, file));
    if let Some(source) = reader.finished().await.filter(lacks) {
        while stored.get() < before + source.handed_on {
            tokio::time::sleep(LOOKING).await;
        }
    } else {
        std::future::pending().await
    }
}

/// Sends an empty stream now and then while files are only read for their hashes; ends only by failing.
async fn show_life(connection: &Connection, read: &AtomicU64) -> Failure {
    let mut last = (0, 0);
    loop {
        tokio::time::sleep(SIGN_OF_LIFE).await;
        let (blocks, frames) = (read.load(Ordering::Relaxed), connection.stats().frame_tx.stream);
        if blocks != last.0
            && frames == last.1
            && let Err(failure) = send_stream(connection, &mut [], 0).await
        {
            return failure;
        }
        last = (blocks, frames);
    }
}

async fn send_stream(connection: &Connection, chunks: &mut [bytes::Bytes], priority: i32) -> Result<()> {
    let mut stream = connection.open_uni().await.map_err(|e| connection_failure(&e))?;
    let failed = |e| match e {
        WriteError::ConnectionLost(e) => connection_failure(&e),
        other => Failure::new(Kind::Other, format!("the receiver does not take the data: {other}")),
    };
    stream.set_priority(priority).map_err(|e| failed(e.into()))?;
    stream.write_all_chunks(chunks).await.map_err(failed)?;
    stream.finish().map_err(|e| failed(e.into()))
}

/// The task that reads and hashes files, and the source once it has ended.
struct Reader {
    handle: Option<tokio::task::JoinHandle<Source>>,
    finished: Option<Source>,
}

impl Reader {
    async fn join(&mut self) -> Result<()> {
        if let Some(handle) = &mut self.handle {
            let result = handle.await;
            self.handle = None;
            self.finished = Some(result.map_err(|e| Failure::new(Kind::Other, e))?);
        }
        Ok(())
    }

    async fn finished(&mut self) -> Option<&Source> {
        self.join().await.ok().and(self.finished.as_ref())
    }

    async fn wait(mut self) -> Result<Source> {
        self.join().await?;
        self.finished.ok_or_else(|| Failure::new(Kind::Other, "the reading thread is gone"))
    }
}
