//! Compares the depth of the bucket with what connections of noq-proto send at once.

use super::*;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use noq_proto::rustls::RootCertStore;
use noq_proto::rustls::pki_types::PrivatePkcs8KeyDer;
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, ServerConfig,
    TransportConfig,
};
use std::any::Any;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const MTU: u16 = 1200;

/// Lets everything be in flight, and paces at this rate, in bytes per second.
#[derive(Clone, Debug)]
struct Paced(Arc<AtomicU64>);

impl Controller for Paced {
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: bool, _: u64, _: u64) {}
    fn on_mtu_update(&mut self, _: u16) {}
    fn window(&self) -> u64 {
        1 << 40
    }
    fn initial_window(&self) -> u64 {
        self.window()
    }
    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.pacing_rate = Some(self.0.load(Ordering::Relaxed));
        metrics
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl ControllerFactory for Paced {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new((*self).clone())
    }
}

struct Host {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
}

impl Host {
    fn new(server: Option<ServerConfig>) -> Host {
        Host {
            endpoint: Endpoint::new(Arc::new(EndpointConfig::default()), server.map(Arc::new), false),
            connection: None,
        }
    }

    /// The next datagram that may leave at `now`.
    fn send(&mut self, now: Instant) -> Option<Vec<u8>> {
        let mut datagram = Vec::new();
        let (_, connection) = self.connection.as_mut()?;
        connection.poll_transmit(now, NonZeroUsize::MIN, &mut datagram).map(|_| datagram)
    }

    fn receive(&mut self, now: Instant, datagram: &[u8]) {
        let from = SocketAddr::from((Ipv4Addr::LOCALHOST, 4433));
        match self.endpoint.handle(now, from.into(), None, datagram.into(), &mut Vec::new()) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut Vec::new(), None);
                self.connection = Some(accepted.expect("a valid first packet"));
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                self.connection.as_mut().expect("the event is for it").1.handle_event(event);
            }
            _ => {}
        }
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
    }
}

/// A client that has connected to a server, and has more to send than any bucket holds.
fn connected(rate: &Arc<AtomicU64>, now: Instant) -> Connection {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(Paced(rate.clone())));
    transport.initial_mtu(MTU).min_mtu(MTU).mtu_discovery_config(None).send_window(1 << 30);
    let transport = Arc::new(transport);
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let certificate = certificate.cert.der().clone();
    let mut server = ServerConfig::with_single_cert(vec![certificate.clone()], key.into()).expect("valid");
    server.transport_config(transport.clone());
    let mut roots = RootCertStore::empty();
    roots.add(certificate).expect("valid");
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots)).expect("valid");
    config.transport_config(transport);

    let (mut client, mut server) = (Host::new(None), Host::new(Some(server)));
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, 4433));
    client.connection = Some(client.endpoint.connect(now, config, to, "localhost").expect("valid"));
    loop {
        let (there, back) = (client.send(now), server.send(now));
        if there.is_none() && back.is_none() {
            break;
        }
        there.iter().for_each(|datagram| server.receive(now, datagram));
        back.iter().for_each(|datagram| client.receive(now, datagram));
    }
    let (_, mut connection) = client.connection.expect("made above");
    assert!(!connection.is_handshaking());
    let stream = connection.streams().open(Dir::Uni).expect("the server allows some");
    let written = connection.send_stream(stream).write(&[0; 1 << 20]).expect("it is open");
    assert!(written > 2 * 256 * usize::from(MTU));
    connection
}

/// The packets that leave at once at this rate, in bytes per second, after a pause that filled the bucket.
fn packets_at_once(rate: u64) -> usize {
    let now = Instant::now();
    let setting = Arc::new(AtomicU64::new(u64::MAX / 2));
    let mut connection = connected(&setting, now);
    setting.store(rate, Ordering::Relaxed);
    let later = now + Duration::from_secs(10);
    let send = || connection.poll_transmit(later, NonZeroUsize::MIN, &mut Vec::new());
    std::iter::from_fn(send).count()
}

#[test]
fn noq_sends_at_once_what_its_bucket_holds() {
    let mtu = f64::from(MTU);
    for rate in [1e4, 1.19e5, 2.5e5, 7e5, 1.19e6, 1.3e6, 5e6, 6.1e6, 1.25e7, 1e8, 1.5e8, 1.6e8, 1e10] {
        let held = (depth(rate, mtu) / mtu) as usize;
        assert_eq!(packets_at_once(rate as u64), held, "at {rate} bytes per second");
    }
}

#[test]
fn noq_holds_so_much_at_the_rate_that_belongs_to_a_depth() {
    let mtu = f64::from(MTU);
    for packets in [1, 2, 3, 9, 10, 11, 100, 256] {
        let rate = rate_of_depth(f64::from(packets) * mtu, mtu);
        assert_eq!(packets_at_once(rate as u64), packets as usize);
        if packets > 1 && packets != 10 {
            assert_eq!(packets_at_once((0.998 * rate) as u64), packets as usize - 1, "and no less");
        }
    }
}
