//! HTTP/1.1 and 2, over TLS.

use super::certificate::Current;
use super::limits::{Activity, Admission, Ending, MAX_HEAD, MAX_STREAMS, PATIENCE};
use super::service::Service;
use crate::borrowed::Borrowed;
use crate::failure::{Context, Result};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// What a response of HTTP/2 keeps, in bytes.
const SEND_BUFFER: usize = 64 << 10;
/// What a client may send ahead, in bytes: nothing is read but heads.
const RECEIVE_WINDOW: u32 = 64 << 10;
/// Fields of a request of HTTP/1.1.
const MAX_FIELDS: usize = 100;
/// How long a client may say nothing while it takes what is left of a response.
const FAREWELL: Duration = Duration::from_secs(10);
/// After a failure to accept, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections.
pub struct Acceptor {
    listener: TcpListener,
    tls: TlsAcceptor,
}

impl Acceptor {
    /// On this listener; inside a tokio runtime.
    pub fn new(listener: std::net::TcpListener, certificate: &Arc<Current>) -> Result<Acceptor> {
        let listener = TcpListener::from_std(listener).doing(|| "listen")?;
        Ok(Acceptor { listener, tls: Arc::new(certificate.tcp()?).into() })
    }

    /// Serves connections for ever. When `ending` becomes true, each ends after its last response.
    pub async fn serve(self, admission: Admission, service: Arc<Service>, ending: Ending) {
        loop {
            let Ok((stream, peer)) = self.listener.accept().await else {
                sleep(PAUSE).await;
                continue;
            };
            if let Some(admitted) = admission.admit(peer.ip()) {
                let (tls, service, ending) = (self.tls.clone(), service.clone(), ending.clone());
                tokio::spawn(async move {
                    attend(stream, peer, tls, service, ending).await;
                    drop(admitted);
                });
            }
        }
    }
}

/// Serves a connection to its end.
async fn attend(stream: TcpStream, peer: SocketAddr, tls: TlsAcceptor, service: Arc<Service>, ending: Ending) {
    // Only matters for speed.
    let _ = stream.set_nodelay(true);
    let activity = Activity::new();
    let work = async {
        // Who doesn't like the certificate, or doesn't speak TLS, is gone.
        if let Ok(encrypted) = tls.accept(Borrowed(&stream)).await {
            speak(encrypted, peer, service, activity.clone(), ending).await;
            // Whatever becomes of it, the client has had its time.
            let _ = part(&stream).await;
        }
    };
    tokio::select! {
        () = work => {}
        () = activity.quiet(PATIENCE) => {}
    }
}

/// Closes a connection once the client has closed it too, or says nothing more. A close with bytes that were not read, such as
/// HTTP/2's word on its windows, would reset the connection, and what is still on its way to the client could get lost.
async fn part(stream: &TcpStream) -> io::Result<()> {
    let mut stream = Borrowed(stream);
    stream.shutdown().await?;
    let mut unread = [0; 4096];
    while timeout(FAREWELL, stream.read(&mut unread)).await?? > 0 {}
    Ok(())
}

/// Speaks the version of HTTP that the client has chosen.
async fn speak(
    stream: TlsStream<Borrowed<'_>>,
    peer: SocketAddr,
    service: Arc<Service>,
    activity: Activity,
    mut ending: Ending,
) {
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let answer = service_fn(|request: Request<Incoming>| {
        let (service, activity) = (service.clone(), activity.clone());
        async move { Ok::<_, Infallible>(service.serve(peer.ip(), request.into_parts().0, &activity).await) }
    });
    // How a connection ended is in the log, by the last response.
    if is_http2 {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.max_concurrent_streams(MAX_STREAMS).max_header_list_size(MAX_HEAD).max_send_buf_size(SEND_BUFFER);
        builder.initial_stream_window_size(RECEIVE_WINDOW).initial_connection_window_size(RECEIVE_WINDOW);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), answer));
        tokio::select! {
            _ = connection.as_mut() => return,
            () = ending.begun() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    } else {
        let mut builder = http1::Builder::new();
        builder.max_buf_size(MAX_HEAD as usize).max_headers(MAX_FIELDS).header_read_timeout(None);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), answer));
        let done = tokio::select! {
            done = connection.as_mut() => done,
            () = ending.begun() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Some(status) = done.err().as_ref().and_then(refusal) {
            service.unreadable(peer.ip(), Version::HTTP_11, status);
        }
    }
}

/// What hyper itself has answered to a request of HTTP/1.1 that it can't read. Of HTTP/2 it doesn't say so.
fn refusal(error: &hyper::Error) -> Option<StatusCode> {
    match error {
        error if error.is_parse_version_h2() => None,
        error if error.is_parse_too_large() => Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE),
        error => error.is_parse().then_some(StatusCode::BAD_REQUEST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_client_says_at_the_end_resets_nothing() {
        const BYTES: usize = 200_000;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = async {
            let mut stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            stream.write_all(b"a word that nobody reads").await.unwrap();
            let mut got = Vec::new();
            while stream.read_buf(&mut got).await.unwrap() > 0 {
                stream.write_all(b"another one").await.unwrap();
            }
            assert_eq!(got.len(), BYTES);
        };
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.readable().await.unwrap();
            stream.write_all(&[7; BYTES]).await.unwrap();
            part(&stream).await.unwrap();
        };
        tokio::join!(client, server);
    }
}
