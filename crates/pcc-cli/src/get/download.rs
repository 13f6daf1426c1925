//! Downloads a file: asks for it, takes what comes, and asks for the rest when the connection is lost.

use super::connect::{Connector, failure};
use super::part::Part;
use super::report::{Event, INTERVAL, Reporter};
use super::response::{self, Meaning};
use super::tries::Tries;
use super::trust::Trust;
use super::url::Url;
use super::writer::{self, Hash, Writer, empty};
use crate::failure::{Context, Failure, Kind, Result, printable};
use crate::peer::connecting::remote;
use crate::peer::endpoint::shown;
use crate::signals::interrupted;
use bytes::{Buf, Bytes};
use h3::client::RequestStream;
use http::header::{IF_RANGE, RANGE, USER_AGENT};
use http::{HeaderMap, Request, Response};
use noq::{Connection, PathId};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

/// What to download, and how.
pub struct Options {
    /// From where.
    pub url: Url,
    /// Into which file.
    pub output: PathBuf,
    /// Whether it may replace one.
    pub overwrite: bool,
    /// Which server is the right one.
    pub trust: Trust,
    /// How long nothing may come before it is given up.
    pub patience: Duration,
}

struct Download {
    url: Url,
    output: PathBuf,
    part: Part,
    connector: Connector,
    patience: Duration,
    reporter: Arc<Reporter>,
    began: Instant,
    /// How much of the file the latest attempt had in the end.
    there: u64,
    /// What of the file was hashed, and its hash: it need not be read again after a loss.
    hashed: (u64, Hash),
    /// Bytes that came over the network.
    moved: u64,
}

/// How an attempt ended.
enum End {
    /// The file is there: its size, and whether it matches the server's digest, if the server sent one.
    Complete { size: u64, verified: Option<bool> },
    /// Ask again, at this URL.
    Ask(Url),
    /// It may go on later.
    Lost(Failure),
}

type Stream = RequestStream<crate::http3::BidiStream, Bytes>;

/// Downloads, and keeps trying until it is done or hopeless.
pub async fn run(options: Options, reporter: Arc<Reporter>) -> Result<()> {
    let Options { url, output, overwrite, trust, patience } = options;
    let part = Part::open(&output, &url, overwrite)?;
    let connector = Connector::new(&trust)?;
    let began = Instant::now();
    let mut download =
        Download { url, output, part, connector, patience, reporter, began, there: 0, hashed: (0, empty()), moved: 0 };
    let done = tokio::select! {
        done = download.keep_trying() => done,
        () = interrupted() => Err(Failure::interrupted()),
    };
    download.connector.close().await;
    match done {
        Ok((size, Some(true))) => download.done(size, true),
        Ok((size, None)) => download.done(size, false),
        Err(failure) => {
            download.part.leave();
            Err(failure)
        }
        Ok((_, Some(false))) => {
            download.part.discard()?;
            let message = "what came does not match the digest that the server sent with it, and was removed";
            Err(Failure::new(Kind::Corrupt, message))
        }
    }
}

impl Download {
    /// Until the file is there: its size, and whether it matches the server's digest.
    async fn keep_trying(&mut self) -> Result<(u64, Option<bool>)> {
        let mut tries = Tries::new(self.began, self.patience);
        loop {
            self.there = 0;
            let end = match self.attempt(tries.left(Instant::now())).await {
                Err(failure) if failure.kind == Kind::LostPeer && self.connector.has_found => End::Lost(failure),
                done => done?,
            };
            tries.ended(Instant::now(), self.there);
            match end {
                End::Complete { size, verified } => return Ok((size, verified)),
                End::Ask(url) if tries.may_follow() => self.url = url,
                End::Ask(_) => return Err(Failure::new(Kind::Source, format!("{} leads round in a circle", self.url))),
                End::Lost(failure) => {
                    let Some(pause) = tries.pause(Instant::now()) else { return Err(self.given_up(&failure)) };
                    let retry_ms = pause.as_millis() as u64;
                    self.reporter.event(&Event::Lost { reason: &failure.message, retry_ms });
                    sleep(pause).await;
                }
            }
        }
    }

    fn given_up(&self, last: &Failure) -> Failure {
        let patience = self.patience.as_secs();
        let message =
            format!("gave up after {patience} s without progress: {last}; run the same command again to go on");
        Failure::new(last.kind, message)
    }

    /// Connects within this time, asks, and takes what comes.
    async fn attempt(&mut self, within: Duration) -> Result<End> {
        let have = self.part.have(&self.url)?.map(|(len, etag)| (len, etag.to_owned()));
        if let Some((len, _)) = have {
            self.hash(len).await?;
        }
        let (connection, mut requests) = self.connector.connect(&self.url, within).await?;
        self.reporter.event(&Event::Connected { peer: shown(remote(&connection)) });
        let lost = |error: h3::error::StreamError| self.lost(&connection, &error);
        let asking = async {
            let mut stream = requests.send_request(request(&self.url, have.as_ref())?).await.map_err(lost)?;
            // It waits until the server has the request, whose answer is on its way by then.
            stream.finish().await.map_err(lost)?;
            let response = stream.recv_response().await.map_err(lost)?;
            Ok((stream, response))
        };
        let silent = || Failure::new(Kind::Stalled, "the server is connected but does not answer");
        let (stream, response) = timeout(self.patience, asking).await.unwrap_or_else(|_| Err(silent()))?;
        let have = have.as_ref().map(|(len, etag)| (*len, etag.as_str()));
        let refused = |status: http::StatusCode| format!("{} answers: {status}", self.url);
        match response::read(&response, &self.url, have) {
            Meaning::Whole { size, etag } => {
                self.part.restart(&self.url, etag.as_deref())?;
                self.hashed = (0, empty());
                self.take(&connection, stream, &response, 0, size).await
            }
            Meaning::Rest { size } => {
                let from = have.map_or(0, |(len, _)| len);
                self.take(&connection, stream, &response, from, Some(size)).await
            }
            Meaning::Elsewhere(url) => Ok(End::Ask(url)),
            Meaning::Anew => {
                self.part.restart(&self.url, None)?;
                Ok(End::Ask(self.url.clone()))
            }
            Meaning::Later(status) => Ok(End::Lost(Failure::new(Kind::LostPeer, refused(status)))),
            Meaning::Refused(status) => Err(Failure::new(
                match status.as_u16() {
                    401 | 403 => Kind::Permission,
                    404 | 410 => Kind::Source,
                    _ => Kind::Other,
                },
                refused(status),
            )),
            Meaning::Nonsense(what) => Err(Failure::new(Kind::Other, format!("{} sends {what}", self.url.host()))),
        }
    }

    /// Hashes what is there. The server isn't asked before: what it sends would have to wait.
    async fn hash(&mut self, len: u64) -> Result<()> {
        if self.hashed.0 != len {
            let hash = writer::hash(self.part.file(0)?, len).await;
            self.hashed = (len, hash.doing(|| format!("read what is there of {}", self.output.display()))?);
        }
        Ok(())
    }

    /// Takes what comes behind the first `have` bytes, which were hashed.
    async fn take(
        &mut self,
        connection: &Connection,
        mut stream: Stream,
        response: &Response<()>,
        have: u64,
        size: Option<u64>,
    ) -> Result<End> {
        self.reporter.event(&Event::Start { bytes: size, have });
        let backlog = self.connector.backlog.clone();
        let mut writer = Writer::start(self.part.file(have)?, self.hashed.1.clone(), backlog);
        self.there = have;
        let received = self.receive(connection, &mut stream, &mut writer, size).await;
        // What came is kept, however it ended.
        let hash = writer.finish().await.doing(|| format!("write {}", self.output.display()))?;
        self.hashed = (self.there, hash.clone());
        let trailers = match received {
            Ok(trailers) => trailers,
            Err(failure) if failure.kind == Kind::LostPeer => return Ok(End::Lost(failure)),
            Err(failure) => return Err(failure),
        };
        let digest = response::digest(response.headers()).or_else(|| response::digest(&trailers?));
        Ok(End::Complete { size: self.there, verified: digest.map(|digest| digest == *hash.finish().as_ref()) })
    }

    /// Hands on what comes until the end of the file, and returns the fields behind it.
    async fn receive(
        &mut self,
        connection: &Connection,
        stream: &mut Stream,
        writer: &mut Writer,
        size: Option<u64>,
    ) -> Result<Option<HeaderMap>> {
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last_contact = Instant::now();
        loop {
            let piece = tokio::select! {
                biased;
                _ = ticks.tick() => {
                    let rtt = connection.rtt(PathId::ZERO).unwrap_or_default();
                    self.reporter.progress(self.there, size, rtt);
                    if self.connector.backlog.bytes() > 0 {
                        // The server may have to wait for the disk.
                        last_contact = Instant::now();
                    }
                    if last_contact.elapsed() > self.patience {
                        let message = format!("nothing came for {} s", self.patience.as_secs());
                        return Err(Failure::new(Kind::Stalled, message));
                    }
                    continue;
                }
                piece = stream.recv_data() => piece,
            };
            last_contact = Instant::now();
            let piece = piece.map_err(|error| self.lost(connection, &error))?;
            let Some(mut piece) = piece else { break };
            self.there += piece.remaining() as u64;
            self.moved += piece.remaining() as u64;
            if size.is_some_and(|size| self.there > size) {
                return Err(Failure::new(Kind::Other, format!("{} sends more than it said", self.url.host())));
            }
            while piece.has_remaining() {
                let len = piece.chunk().len();
                writer.write(piece.chunk());
                piece.advance(len);
            }
            if writer.is_broken() {
                // Its end says why.
                return Ok(None);
            }
        }
        if size.is_some_and(|size| self.there < size) {
            return Err(Failure::new(Kind::LostPeer, format!("{} sent less than it said", self.url.host())));
        }
        let trailers = timeout(self.patience, stream.recv_trailers()).await;
        trailers.unwrap_or(Ok(None)).map_err(|error| self.lost(connection, &error))
    }

    fn done(self, size: u64, verified: bool) -> Result<()> {
        let Download { part, output, began, moved, reporter, .. } = self;
        part.finish()?;
        let seconds = began.elapsed().as_secs_f64();
        let bits_per_second = moved as f64 * 8.0 / seconds;
        let file = output.display().to_string();
        reporter.event(&Event::Done { file, bytes: size, moved, seconds, bits_per_second, verified });
        Ok(())
    }

    /// Why a response has ended early.
    fn lost(&self, connection: &Connection, error: &h3::error::StreamError) -> Failure {
        let host = self.url.host();
        if let Some(reason) = connection.close_reason() {
            return failure(host, &reason);
        }
        let message = match error {
            h3::error::StreamError::RemoteTerminate { .. } => format!("{host} broke off (perhaps the file changed)"),
            other => format!("{host} cut it off: {}", printable(other.to_string().as_bytes())),
        };
        Failure::new(Kind::LostPeer, message)
    }
}

/// Asks for what is missing behind so many bytes of this version.
fn request(url: &Url, have: Option<&(u64, String)>) -> Result<Request<()>> {
    let mut request = Request::get(url.uri().clone()).header(USER_AGENT, concat!("pcc/", env!("CARGO_PKG_VERSION")));
    request = request.header("want-repr-digest", "sha-256=5");
    if let Some((len, etag)) = have {
        request = request.header(RANGE, format!("bytes={len}-")).header(IF_RANGE, etag);
    }
    request.body(()).map_err(|error| Failure::new(Kind::Other, error))
}
