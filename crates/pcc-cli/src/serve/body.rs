//! The content of a response on its way: read piece by piece as the client takes it.

use super::answer::{Content, Part};
use super::digests::{Pending, REPR_DIGEST};
use super::limits::Activity;
use super::report::Record;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use hyper::body::{Frame, SizeHint};
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

/// What is read of a file at once, in bytes: what a response keeps.
const PIECE: u64 = 128 << 10;
/// How long a client waits for a digest once it has everything else.
const DIGEST_PATIENCE: Duration = Duration::from_secs(10);

/// What is left to send.
enum Rest {
    Nothing,
    Text(Bytes),
    File(Part),
    Reading(Part, JoinHandle<io::Result<Bytes>>),
    Digest(Pin<Box<dyn Future<Output = Option<HeaderValue>> + Send>>),
}

/// The content of a response. The record is written when it is dropped.
pub struct Body {
    rest: Rest,
    record: Record,
    activity: Activity,
    _place: Option<OwnedSemaphorePermit>,
}

impl Body {
    /// This content, in a place of all requests if it needs one.
    pub fn new(content: Content, record: Record, activity: Activity, place: Option<OwnedSemaphorePermit>) -> Body {
        let rest = match content {
            Content::None => Rest::Nothing,
            Content::Text(text) => Rest::Text(text),
            Content::File(part) => after(part),
        };
        let mut body = Body { rest, record, activity, _place: place };
        body.note(0);
        body
    }

    fn note(&mut self, sent: usize) {
        self.activity.touch();
        self.record.bytes += sent as u64;
        self.record.is_complete = matches!(self.rest, Rest::Nothing);
    }
}

/// What comes next of a file.
fn after(part: Part) -> Rest {
    match part.digest {
        _ if !part.range.is_empty() => Rest::File(part),
        Some(pending) => Rest::Digest(Box::pin(digest(pending))),
        None => Rest::Nothing,
    }
}

async fn digest(pending: Pending) -> Option<HeaderValue> {
    timeout(DIGEST_PATIENCE, pending).await.ok()?.ok()
}

/// Reads the next piece, on a thread for that.
fn read(part: &Part) -> JoinHandle<io::Result<Bytes>> {
    let (file, identity, at) = (part.file.clone(), part.version.identity, part.range.start);
    let len = (part.range.end - at).min(PIECE) as usize;
    spawn_blocking(move || {
        let mut piece = vec![0; len];
        file.read_exact_at(&mut piece, at)?;
        // A mixture of two versions is none; the client asks again when it sees the end of the stream.
        if identity.is(&file)? { Ok(piece.into()) } else { Err(io::Error::other("the file has changed")) }
    })
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        loop {
            match std::mem::replace(&mut self.rest, Rest::Nothing) {
                Rest::Nothing => return Poll::Ready(None),
                Rest::Text(text) => {
                    self.note(text.len());
                    return Poll::Ready(Some(Ok(Frame::data(text))));
                }
                Rest::File(part) => {
                    let reading = read(&part);
                    self.rest = Rest::Reading(part, reading);
                }
                Rest::Reading(mut part, mut reading) => {
                    let Poll::Ready(read) = Pin::new(&mut reading).poll(cx) else {
                        self.rest = Rest::Reading(part, reading);
                        return Poll::Pending;
                    };
                    let piece = read.map_err(io::Error::other)??;
                    part.range.start += piece.len() as u64;
                    self.rest = after(part);
                    self.note(piece.len());
                    return Poll::Ready(Some(Ok(Frame::data(piece))));
                }
                Rest::Digest(mut digest) => {
                    let Poll::Ready(known) = digest.as_mut().poll(cx) else {
                        self.rest = Rest::Digest(digest);
                        return Poll::Pending;
                    };
                    self.note(0);
                    let trailers = known.map(|digest| HeaderMap::from_iter([(REPR_DIGEST, digest)]));
                    return Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers))));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.rest, Rest::Nothing)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match &self.rest {
            Rest::Nothing | Rest::Digest(_) => 0,
            Rest::Text(text) => text.len() as u64,
            Rest::File(part) | Rest::Reading(part, _) => part.range.end - part.range.start,
        })
    }
}

/// The next frame of a body.
pub async fn next(body: &mut Body) -> Option<io::Result<Frame<Bytes>>> {
    std::future::poll_fn(|cx| hyper::body::Body::poll_frame(Pin::new(&mut *body), cx)).await
}
