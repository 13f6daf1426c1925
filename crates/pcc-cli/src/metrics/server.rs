//! An HTTP/1.1 server with one page.

use crate::failure::{Context, Result};
use httparse::{EMPTY_HEADER, Request, Status};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// The longest head of a request, in bytes, and the most fields.
const MAX_HEAD: usize = 8 << 10;
const MAX_FIELDS: usize = 64;
/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Requests that may be answered at once.
const MAX_REQUESTS: usize = 16;
/// How long to wait when no connection can be taken.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers requests until it is dropped.
pub struct Metrics(JoinHandle<()>);

impl Metrics {
    /// Listens at this address for those that want this page, and tells where it is.
    ///
    /// # Errors
    ///
    /// When it can't.
    pub async fn open(
        address: SocketAddr,
        page: impl Fn() -> String + Send + Sync + 'static,
    ) -> Result<(Metrics, SocketAddr)> {
        let listener = TcpListener::bind(address).await.doing(|| format!("listen on {address}"))?;
        let address = listener.local_addr().doing(|| "listen")?;
        Ok((Metrics(tokio::spawn(serve(listener, Arc::new(page)))), address))
    }

    /// What the user should know about this address, if anything.
    pub fn warning(address: SocketAddr) -> Option<String> {
        let is_open = !address.ip().is_loopback();
        is_open.then(|| format!("note: whoever can reach {address} can read the metrics"))
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.0.abort();
    }
}

type Text = dyn Fn() -> String + Send + Sync;

async fn serve(listener: TcpListener, page: Arc<Text>) {
    let places = Arc::new(Semaphore::new(MAX_REQUESTS));
    loop {
        let place = places.clone().acquire_owned().await;
        match listener.accept().await {
            Ok((stream, _)) => {
                let page = page.clone();
                tokio::spawn(async move {
                    let _place = place;
                    // Who goes away early has no use for an answer.
                    let _ = timeout(PATIENCE, answer(stream, &*page)).await;
                });
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}

async fn answer(mut stream: TcpStream, page: &Text) -> io::Result<()> {
    let mut head = Vec::new();
    let code = loop {
        if (&mut stream).take((MAX_HEAD - head.len()) as u64).read_buf(&mut head).await? == 0 {
            return Ok(());
        }
        if let Some(code) = code(&head) {
            break code;
        }
    };
    let body = match code {
        "200 OK" => page(),
        other => format!("{other}\n"),
    };
    let head = format!(
        "HTTP/1.1 {code}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await?;
    stream.shutdown().await
}

/// The status code (RFC 9110 15) for a head; none while it is not complete.
fn code(head: &[u8]) -> Option<&'static str> {
    let mut fields = [EMPTY_HEADER; MAX_FIELDS];
    let mut request = Request::new(&mut fields);
    match request.parse(head) {
        Ok(Status::Complete(_)) => Some(match (request.method, request.path) {
            (Some("GET"), Some("/metrics")) => "200 OK",
            (Some("GET"), _) => "404 Not Found",
            _ => "405 Method Not Allowed",
        }),
        Ok(Status::Partial) if head.len() < MAX_HEAD => None,
        Ok(Status::Partial) | Err(httparse::Error::TooManyHeaders) => Some("431 Request Header Fields Too Large"),
        Err(_) => Some("400 Bad Request"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_their_codes() {
        for (head, wanted) in [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", Some("200")),
            ("GET / HTTP/1.1\r\n\r\n", Some("404")),
            ("POST /metrics HTTP/1.1\r\n\r\n", Some("405")),
            ("GET /metrics HTTP/1.1\r\nHos", None),
            ("\x16\x03\x01", Some("400")),
            (&format!("GET / HTTP/1.1\r\nA: {}", "b".repeat(MAX_HEAD)), Some("431")),
        ] {
            assert_eq!(code(head.as_bytes()).map(|code| &code[..3]), wanted, "{head:.40}");
        }
    }
}
