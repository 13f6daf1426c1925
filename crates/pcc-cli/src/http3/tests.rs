//! Two ends of HTTP/3 over loopback.

use super::{ALPN, Connection, MAX_FRAME};
use crate::peer::credentials::{Credentials, NAME};
use crate::peer::identity::{Identity, client_crypto};
use bytes::{Buf, Bytes};
use http::{HeaderMap, HeaderName, Request, Response};
use noq::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TokioRuntime};
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const MAX_AHEAD: u64 = 1 << 24;

/// A client's and a server's end of a connection, and their endpoints.
async fn ends() -> (noq::Connection, noq::Connection, [Endpoint; 2]) {
    let (server, me) = (Identity::generate().unwrap(), Credentials::generate().unwrap());
    let config = ServerConfig::with_crypto(Arc::new(server.server_crypto(ALPN).unwrap()));
    let endpoint = |config| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        Endpoint::new(EndpointConfig::default(), config, socket, Arc::new(TokioRuntime)).unwrap()
    };
    let (far, near) = (endpoint(Some(config)), endpoint(None));
    let config = ClientConfig::new(Arc::new(client_crypto(&me, server.credentials.hash(), ALPN).unwrap()));
    let connecting = near.connect_with(config, far.local_addr().unwrap(), NAME).unwrap();
    let accepting = async { far.accept().await.unwrap().accept().unwrap().await.unwrap() };
    let (client, server) = tokio::join!(connecting, accepting);
    (client.unwrap(), server, [far, near])
}

/// Answers each request with these bytes and their number behind them, until the client is gone.
async fn answer(server: noq::Connection, data: Bytes) {
    let mut http = h3::server::builder().build::<_, Bytes>(Connection::new(server, MAX_AHEAD)).await.unwrap();
    while let Ok(Some(request)) = http.accept().await {
        let data = data.clone();
        tokio::spawn(async move {
            let Ok((request, mut stream)) = request.resolve_request().await else { return };
            assert_eq!(request.uri().path(), "/x");
            stream.send_response(Response::new(())).await.unwrap();
            for piece in data.chunks(100_000) {
                stream.send_data(data.slice_ref(piece)).await.unwrap();
            }
            let count = (HeaderName::from_static("count"), data.len().into());
            stream.send_trailers(HeaderMap::from_iter([count])).await.unwrap();
            stream.finish().await.unwrap();
        });
    }
}

#[tokio::test]
async fn responses_come_in_order_and_whole() {
    let (client, server, _endpoints) = ends().await;
    let data: Vec<u8> = (0..3_000_000_u32).map(|n| (n * 7 + n / 251) as u8).collect();
    tokio::spawn(answer(server, data.clone().into()));
    let built = h3::client::new(Connection::new(client, MAX_AHEAD)).await;
    let (mut driver, mut requests) = built.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    for _ in 0..2 {
        let mut stream = requests.send_request(Request::get("https://localhost/x").body(()).unwrap()).await.unwrap();
        stream.finish().await.unwrap();
        assert_eq!(stream.recv_response().await.unwrap().status(), 200);
        let mut got = Vec::new();
        while let Some(mut piece) = stream.recv_data().await.unwrap() {
            got.extend_from_slice(&piece.copy_to_bytes(piece.remaining()));
        }
        assert!(got == data);
        assert_eq!(stream.recv_trailers().await.unwrap().unwrap()["count"], "3000000");
    }
}

#[tokio::test]
async fn a_frame_that_is_too_long_is_not_kept() {
    let (client, server, _endpoints) = ends().await;
    tokio::spawn(answer(server, Bytes::new()));
    let (mut send, _recv) = client.open_bi().await.unwrap();
    // The begin of a HEADERS frame that is longer than any (RFC 9114 7.2.2).
    let length = (MAX_FRAME + (1 << 20)) | 0b10 << 30;
    let head = [&[1][..], &(length as u32).to_be_bytes()].concat();
    send.write_all(&head).await.unwrap();
    let stopped = timeout(Duration::from_secs(60), send.stopped()).await;
    assert!(matches!(stopped, Ok(Ok(Some(_)))), "{stopped:?}");
}
