//! One end: a noq endpoint with its connection, without randomness that shows.

use bytes::BytesMut;
use noq_proto::rustls::RootCertStore;
use noq_proto::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use noq_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent,
    EcnCodepoint, Endpoint, EndpointConfig, Event, PathId, ServerConfig, StreamEvent, TransportConfig, VarInt,
};
use pcc_quic::windows::{self, Windows};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// As noq on Linux: the most datagrams it hands to the network at once.
const SEGMENTS: NonZeroUsize = NonZeroUsize::new(10).unwrap();

/// A UDP payload with its ECN bits.
#[derive(Clone, Debug)]
pub(super) struct Datagram {
    pub(super) payload: BytesMut,
    pub(super) ecn: Option<EcnCodepoint>,
}

#[derive(Debug)]
pub(super) struct Host {
    endpoint: Endpoint,
    handle: Option<ConnectionHandle>,
    pub(super) connection: Option<Connection>,
    pub(super) inbox: VecDeque<Datagram>,
    /// Stream events that the application has not seen yet.
    pub(super) stream_events: VecDeque<StreamEvent>,
    pub(super) closed: Option<ConnectionError>,
    windows: Windows,
    next_windows: Option<Instant>,
    buffer: Vec<u8>,
}

/// A client that sends with `transport` and a server that receives.
pub(super) fn pair(client: TransportConfig, server: TransportConfig, seed: u64, now: Instant) -> (Host, Host) {
    let (certificate, key) = certificate();
    let mut server_config =
        ServerConfig::with_single_cert(vec![certificate.clone()], key.into()).expect("a fresh certificate is valid");
    server_config.transport_config(Arc::new(server));
    let mut roots = RootCertStore::empty();
    roots.add(certificate).expect("a fresh certificate is valid");
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots)).expect("no revocation lists to fail");
    config.transport_config(Arc::new(client));
    config.initial_dst_cid_provider(Arc::new(|| ConnectionId::new(&[7; 8])));

    let mut client = Host::new(None, seed);
    let remote = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 4433));
    let (handle, connection) =
        client.endpoint.connect(now, config, remote, "localhost").expect("name and address are valid");
    (client.handle, client.connection) = (Some(handle), Some(connection));
    (client, Host::new(Some(server_config), seed ^ 1))
}

/// A self-signed certificate that has the same size each time.
fn certificate() -> (CertificateDer<'static>, PrivatePkcs8KeyDer<'static>) {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("ring makes Ed25519 keys");
    let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("a valid name");
    params.serial_number = Some(1_u64.into());
    let certificate = params.self_signed(&key).expect("the key signs");
    (certificate.into(), PrivatePkcs8KeyDer::from(key.serialize_der()))
}

/// Connection ids that count.
#[derive(Debug)]
struct CountedIds(u64);

impl ConnectionIdGenerator for CountedIds {
    fn generate_cid(&mut self) -> ConnectionId {
        self.0 += 1;
        ConnectionId::new(&self.0.to_be_bytes())
    }

    fn cid_len(&self) -> usize {
        8
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

impl Host {
    fn new(server: Option<ServerConfig>, seed: u64) -> Host {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let mut config = EndpointConfig::default();
        config.rng_seed(Some(bytes));
        config.cid_generator(Arc::new(|| Box::new(CountedIds(0))));
        Host {
            endpoint: Endpoint::new(Arc::new(config), server.map(Arc::new), true),
            handle: None,
            connection: None,
            inbox: VecDeque::new(),
            stream_events: VecDeque::new(),
            closed: None,
            windows: Windows::new(windows::CAP),
            next_windows: None,
            buffer: Vec::new(),
        }
    }

    /// Takes in what has arrived and lets due timers fire.
    pub(super) fn receive(&mut self, now: Instant) {
        let remote = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 4433));
        while let Some(Datagram { payload, ecn }) = self.inbox.pop_front() {
            self.buffer.clear();
            match self.endpoint.handle(now, remote.into(), ecn, payload, &mut self.buffer) {
                Some(DatagramEvent::ConnectionEvent(_, event)) => {
                    if let Some(connection) = &mut self.connection {
                        connection.handle_event(event);
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => {
                    if let Ok((handle, connection)) = self.endpoint.accept(incoming, now, &mut self.buffer, None) {
                        (self.handle, self.connection) = (Some(handle), Some(connection));
                    }
                }
                Some(DatagramEvent::Response(_)) | None => {}
            }
        }
        let Some(connection) = &mut self.connection else { return };
        if connection.poll_timeout().is_some_and(|due| due <= now) {
            connection.handle_timeout(now);
        }
        if self.next_windows.is_none_or(|due| due <= now) {
            let rtt = connection.rtt(PathId::ZERO).unwrap_or_default();
            let stats = connection.stats();
            if let Some(size) = self.windows.update(now, rtt, stats.udp_tx.bytes + stats.udp_rx.bytes) {
                connection.set_send_window(size);
                connection.set_receive_window(VarInt::from_u64(size).unwrap_or(VarInt::MAX));
            }
            self.next_windows = Some(now + self.windows.interval(rtt));
        }
        self.exchange_events();
    }

    /// Hands all datagrams that may leave at `now` to `send`.
    pub(super) fn transmit(&mut self, now: Instant, mut send: impl FnMut(Datagram)) {
        let Some(connection) = &mut self.connection else { return };
        loop {
            self.buffer.clear();
            let Some(transmit) = connection.poll_transmit(now, SEGMENTS, &mut self.buffer) else { break };
            let segment = transmit.segment_size.unwrap_or(transmit.size);
            for payload in self.buffer[..transmit.size].chunks(segment) {
                send(Datagram { payload: payload.into(), ecn: transmit.ecn });
            }
        }
        self.exchange_events();
    }

    /// When this end wants to run next.
    pub(super) fn next(&self) -> Option<Instant> {
        let timeout = self.connection.as_ref().and_then(Connection::poll_timeout);
        timeout.into_iter().chain(self.next_windows).min()
    }

    fn exchange_events(&mut self) {
        let (Some(handle), Some(connection)) = (self.handle, &mut self.connection) else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Stream(event) => self.stream_events.push_back(event),
                Event::ConnectionLost { reason } => self.closed = Some(reason),
                _ => {}
            }
        }
    }
}
