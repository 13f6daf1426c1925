//! What a request is answered with, whichever version of HTTP it came by.

use super::digests::{self, Digests, Pending, REPR_DIGEST};
use super::listing;
use super::path;
use super::range::{self, Wanted};
use super::site::{Found, Refusal, Site};
use super::version::{Verdict, Version};
use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HOST, LAST_MODIFIED,
    LOCATION, RANGE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version as HttpVersion};
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A response whose content is still to be read.
pub struct Answer {
    /// The status code.
    pub status: StatusCode,
    /// The fields of the head.
    pub fields: HeaderMap,
    /// What is sent behind the head.
    pub content: Content,
}

/// The content of a response.
pub enum Content {
    /// None, but perhaps a length that it would have.
    None,
    /// Something short.
    Text(Bytes),
    /// Bytes of a file.
    File(Part),
}

/// Bytes of a file.
pub struct Part {
    /// The file.
    pub file: Arc<File>,
    /// Which version of it.
    pub version: Version,
    /// Which bytes.
    pub range: Range<u64>,
    /// The digest that the client wants behind them.
    pub digest: Option<Pending>,
}

/// Answers a request. It reads the disk, and needs a tokio runtime around it.
pub fn answer(site: &Site, digests: &Arc<Digests>, request: &Parts) -> Answer {
    // RFC 9112 3.2.
    let hosts = request.headers.get_all(HOST).iter().count();
    if hosts > 1 || (hosts == 0 && request.version == HttpVersion::HTTP_11) {
        return Answer::plain(StatusCode::BAD_REQUEST);
    }
    if !matches!(request.method, Method::GET | Method::HEAD) {
        return Answer::plain(StatusCode::METHOD_NOT_ALLOWED).with(ALLOW, "GET, HEAD");
    }
    let path = request.uri.path();
    let Some(place) = path::parse(path) else { return Answer::plain(StatusCode::BAD_REQUEST) };
    let answer = match site.find(&place) {
        Ok(Found::File(file, version, path)) => of_file(file, version, &path, digests, request),
        Ok(Found::Folder(listing)) => {
            let answer = Answer::text(StatusCode::OK, "text/html; charset=utf-8", listing::page(path, &listing));
            // There is no cheap way to say whether a folder has changed.
            answer.with(CACHE_CONTROL, "no-cache")
        }
        Ok(Found::WithoutSlash) => {
            let query = request.uri.query().map_or(String::new(), |query| format!("?{query}"));
            Answer::plain(StatusCode::PERMANENT_REDIRECT).with(LOCATION, &format!("{path}/{query}"))
        }
        Err(Refusal::Missing) => Answer::plain(StatusCode::NOT_FOUND),
        Err(Refusal::Forbidden) => Answer::plain(StatusCode::FORBIDDEN),
        Err(Refusal::Failed) => Answer::plain(StatusCode::INTERNAL_SERVER_ERROR),
    };
    if request.method == Method::HEAD { answer.without_content() } else { answer }
}

/// What everybody hears for whom there is no room.
pub fn overloaded() -> Answer {
    Answer::plain(StatusCode::SERVICE_UNAVAILABLE).with(RETRY_AFTER, "1")
}

fn of_file(file: File, version: Version, path: &Path, digests: &Arc<Digests>, request: &Parts) -> Answer {
    let about = |answer: Answer| {
        let answer = answer.with(ETAG, version.etag()).with(LAST_MODIFIED, &version.last_modified());
        answer.with(ACCEPT_RANGES, "bytes")
    };
    match version.judge(&request.method, &request.headers) {
        Verdict::NotModified => return about(Answer::empty(StatusCode::NOT_MODIFIED)),
        Verdict::Failed => return Answer::plain(StatusCode::PRECONDITION_FAILED),
        Verdict::Proceed => {}
    }
    let size = version.size;
    // RFC 9110 14.2: only GET has ranges.
    let field =
        request.headers.get(RANGE).filter(|_| request.method == Method::GET && version.has_range(&request.headers));
    let (status, range) = match field.map(|field| range::parse(field.to_str().unwrap_or_default(), size)) {
        None | Some(Wanted::All) => (StatusCode::OK, 0..size),
        Some(Wanted::Part(range)) => (StatusCode::PARTIAL_CONTENT, range),
        Some(Wanted::Unsatisfiable) => {
            let unsatisfiable = Answer::plain(StatusCode::RANGE_NOT_SATISFIABLE);
            return about(unsatisfiable.with(CONTENT_RANGE, &format!("bytes */{size}")));
        }
    };
    let mut answer = about(Answer::empty(status));
    answer = answer.with(CONTENT_TYPE, media_type(path)).with(X_CONTENT_TYPE_OPTIONS, "nosniff");
    answer = answer.with(CONTENT_LENGTH, &(range.end - range.start).to_string());
    if status == StatusCode::PARTIAL_CONTENT {
        let Range { start, end } = range;
        answer = answer.with(CONTENT_RANGE, &format!("bytes {start}-{}/{size}", end - 1));
    }
    let file = Arc::new(file);
    let mut digest = None;
    match digests.at_once(&file, version.identity, size) {
        Some(known) => drop(answer.fields.insert(REPR_DIGEST, known)),
        None if request.method == Method::GET && digests::is_wanted(&request.headers) => {
            digest = Some(digests.clone().begin(file.clone(), version.identity));
        }
        None => {}
    }
    answer.content = Content::File(Part { file, version, range, digest });
    answer
}

/// The media type by the file's extension.
fn media_type(path: &Path) -> &'static str {
    let guess = mime_guess::from_path(path).first_raw();
    match guess.unwrap_or("application/octet-stream") {
        // Who wrote a text today wrote UTF-8; without a word browsers take something else.
        "text/html" => "text/html; charset=utf-8",
        "text/plain" => "text/plain; charset=utf-8",
        "text/css" => "text/css; charset=utf-8",
        "text/javascript" => "text/javascript; charset=utf-8",
        "text/markdown" => "text/markdown; charset=utf-8",
        other => other,
    }
}

impl Answer {
    fn empty(status: StatusCode) -> Answer {
        Answer { status, fields: HeaderMap::new(), content: Content::None }
    }

    /// A status and nothing else, in words.
    fn plain(status: StatusCode) -> Answer {
        Answer::text(status, "text/plain; charset=utf-8", format!("{status}\n"))
    }

    fn text(status: StatusCode, media_type: &str, text: String) -> Answer {
        let mut answer = Answer::empty(status).with(CONTENT_TYPE, media_type).with(X_CONTENT_TYPE_OPTIONS, "nosniff");
        answer = answer.with(CONTENT_LENGTH, &text.len().to_string());
        answer.content = Content::Text(text.into());
        answer
    }

    fn with(mut self, name: HeaderName, value: &str) -> Answer {
        // All but the path of a redirection is our own, and that was in a request.
        if let Ok(value) = HeaderValue::from_str(value) {
            self.fields.insert(name, value);
        }
        self
    }

    /// As GET would have it, but for the content (RFC 9110 9.3.2).
    fn without_content(mut self) -> Answer {
        self.content = Content::None;
        self
    }
}
