//! HTTP/3.

use super::body;
use super::certificate::Current;
use super::limits::{Activity, Admission, Admitted, Ending, MAX_HEAD, MAX_STREAMS, PATIENCE};
use super::service::Service;
use crate::failure::{Context, Result};
use crate::http3;
use crate::memory::Memory;
use crate::peer::connecting::remote;
use crate::peer::restart;
use bytes::Bytes;
use h3::error::{Code, StreamError};
use h3::server::RequestResolver;
use http::{StatusCode, Version};
use noq::{Connecting, Connection, Endpoint, Incoming, ServerConfig, VarInt};
use pcc_quic::windows::{self, Windows};
use pcc_quic::{PreciseRuntime, Transport};
use std::future::poll_fn;
use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

/// What a client may send ahead on a stream, in bytes: the head of a request, and nothing else is read.
const STREAM_WINDOW: u32 = 2 * http3::MAX_FRAME as u32;
/// Unidirectional streams of a client: the three of HTTP/3 (RFC 9114 6.2) and some of no meaning.
const MAX_UNI_STREAMS: u32 = 8;
/// What is kept for a new connection until it was acknowledged, in bytes. It grows with what the path carries.
const SEND_START: u64 = 512 << 10;
/// First packets that wait until somebody looks at them, which takes microseconds.
const MAX_INCOMING: usize = 4096;
/// How often is looked whether data still leaves.
const LOOK: Duration = Duration::from_secs(5);
/// How long a client may take for the head of a request once it has begun it.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

/// Accepts connections on a socket. The secret is what only this server knows, at this address, before and after a restart.
pub fn endpoint(
    socket: UdpSocket,
    certificate: &Arc<Current>,
    secret: &[u8; 32],
    transport: &Transport,
) -> Result<Endpoint> {
    let mut transport = transport.config();
    transport.max_concurrent_bidi_streams(VarInt::from_u32(MAX_STREAMS));
    transport.max_concurrent_uni_streams(VarInt::from_u32(MAX_UNI_STREAMS));
    transport.stream_receive_window(VarInt::from_u32(STREAM_WINDOW));
    transport.receive_window(VarInt::from_u32(4 * STREAM_WINDOW));
    transport.send_window(SEND_START);
    transport.datagram_receive_buffer_size(None);
    // A client that is gone is not asked for signs of life.
    transport.keep_alive_interval(None);
    let mut config = ServerConfig::with_crypto(Arc::new(certificate.quic()?));
    config.transport_config(Arc::new(transport)).max_incoming(MAX_INCOMING).incoming_buffer_size_total(1 << 20);
    let own = restart::endpoint_config(secret);
    Endpoint::new(own, Some(config), socket, Arc::new(PreciseRuntime)).doing(|| "start QUIC")
}

/// Serves connections until the endpoint closes. When `ending` becomes true, each ends after its last response.
pub async fn serve(endpoint: Endpoint, admission: Admission, service: Arc<Service>, ending: Ending) {
    let memory = Memory::new();
    while let Some(incoming) = endpoint.accept().await {
        if let Some((connecting, admitted)) = admit(incoming, &admission) {
            let (service, memory, ending) = (service.clone(), memory.clone(), ending.clone());
            tokio::spawn(async move {
                // Why it failed is for the client to say: it may be gone, or not like the certificate.
                if let Ok(Ok(connection)) = timeout(PATIENCE, connecting).await {
                    attend(connection, &service, memory, ending).await;
                }
                drop(admitted);
            });
        }
    }
}

fn admit(incoming: Incoming, admission: &Admission) -> Option<(Connecting, Admitted)> {
    if !incoming.remote_address_validated() && admission.is_crowded() {
        // Fails only for an address that is validated.
        let _ = incoming.retry();
        return None;
    }
    match admission.admit(incoming.remote_address().ip()) {
        Some(admitted) => Some((incoming.accept().ok()?, admitted)),
        None => {
            incoming.refuse();
            None
        }
    }
}

/// Serves a connection to its end.
async fn attend(connection: Connection, service: &Arc<Service>, memory: Memory, mut ending: Ending) {
    let activity = Activity::new();
    tokio::spawn(follow_path(&connection, memory));
    let mut builder = h3::server::builder();
    builder.max_field_section_size(MAX_HEAD.into());
    let streams = http3::Connection::new(connection.clone(), u64::from(STREAM_WINDOW));
    let Ok(mut http) = builder.build::<_, Bytes>(streams).await else { return };
    let peer = remote(&connection).ip();
    let mut requests = JoinSet::new();
    let mut look = interval(LOOK);
    let mut sent = 0;
    let mut is_ending = false;
    loop {
        tokio::select! {
            request = http.accept(), if !is_ending => match request {
                Ok(Some(request)) => {
                    let (service, activity) = (service.clone(), activity.clone());
                    requests.spawn(async move { drop(respond(request, peer, &service, &activity).await) });
                }
                // The client wants no more, or is gone.
                _ => is_ending = true,
            },
            Some(_) = requests.join_next() => activity.touch(),
            () = ending.begun(), if !is_ending => {
                is_ending = true;
                // Tells the client that no further request is taken; it may be gone.
                let _ = http.shutdown(0).await;
            }
            _ = look.tick() => {
                // What a response has left behind in the buffers is on its way.
                let now = connection.stats().frame_tx.stream;
                if now != sent {
                    sent = now;
                    activity.touch();
                }
            }
            () = activity.quiet(PATIENCE) => break,
            _ = connection.closed() => break,
        }
        if is_ending && requests.is_empty() {
            break;
        }
    }
    // Dropped, it closes the connection.
    drop(http);
}

/// Reads a request and sends the response. It returns when the client has all of it.
async fn respond(
    request: RequestResolver<http3::Connection, Bytes>,
    peer: IpAddr,
    service: &Arc<Service>,
    activity: &Activity,
) -> Result<(), StreamError> {
    let Ok(resolved) = timeout(HEAD_PATIENCE, request.resolve_request()).await else { return Ok(()) };
    if let Err(StreamError::HeaderTooBig { .. }) = &resolved {
        service.unreadable(peer, Version::HTTP_3, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    }
    let (request, mut stream) = resolved?;
    let (head, mut body) = service.serve(peer, request.into_parts().0, activity).await.into_parts();
    stream.send_response(http::Response::from_parts(head, ())).await?;
    while let Some(frame) = body::next(&mut body).await {
        let Ok(frame) = frame else {
            // RFC 9114 4.1.1: what was sent is no whole response.
            stream.stop_stream(Code::H3_INTERNAL_ERROR);
            return Ok(());
        };
        match frame.into_data() {
            Ok(data) => stream.send_data(data).await?,
            Err(frame) => {
                if let Ok(trailers) = frame.into_trailers() {
                    stream.send_trailers(trailers).await?;
                }
            }
        }
    }
    // RFC 9114 4.1: a request has content that is of no use, or has not ended yet.
    let has_ended = poll_fn(|cx| Poll::Ready(matches!(stream.poll_recv_data(cx), Poll::Ready(Ok(None))))).await;
    if !has_ended {
        stream.stop_sending(Code::H3_NO_ERROR);
    }
    stream.finish().await
}

/// Lets the window of what is sent follow the path, as far as there is memory for it.
fn follow_path(connection: &Connection, memory: Memory) -> impl Future<Output = ()> + Send + 'static {
    let (mut size, mut shares) = (SEND_START, Vec::new());
    let windows = Windows::starting_at(SEND_START, windows::CAP);
    windows::follow_path_with(connection, windows, move |connection, wanted| {
        if wanted > size
            && let Some(share) = memory.share(wanted - size)
        {
            shares.push(share);
            size = wanted;
            connection.set_send_window(size);
        }
    })
}
