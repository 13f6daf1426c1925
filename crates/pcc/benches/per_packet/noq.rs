//! The controllers of noq-proto, for comparison.

use super::{BYTES, Packet, RTT, Subject};
use bytes::BytesMut;
use noq_proto::congestion::{Bbr3Config, Controller, ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::{ClientConfig, DatagramEvent, Endpoint, EndpointConfig, FourTuple, RttEstimator, ServerConfig};
use noq_proto::{Connection, TransportConfig};
use std::any::Any;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Its controllers, ready to take events.
pub fn subjects() -> impl Iterator<Item = (&'static str, Box<dyn Subject>)> {
    let rtt = rtt_estimator();
    let factories: [(&'static str, Arc<dyn ControllerFactory>); 3] = [
        ("noq-proto New Reno", Arc::new(NewRenoConfig::default())),
        ("noq-proto CUBIC", Arc::new(CubicConfig::default())),
        ("noq-proto BBRv3", Arc::new(Bbr3Config::default())),
    ];
    factories.into_iter().map(move |(name, factory)| {
        let start = Instant::now();
        let subject = Noq { start, rtt, controller: factory.build(start, BYTES as u16) };
        (name, Box::new(subject) as Box<dyn Subject>)
    })
}

struct Noq {
    start: Instant,
    rtt: RttEstimator,
    controller: Box<dyn Controller>,
}

impl Noq {
    fn time(&self, nanos: u64) -> Instant {
        self.start + Duration::from_nanos(nanos)
    }
}

impl Subject for Noq {
    fn on_sent(&mut self, packet: &Packet) {
        let now = self.time(packet.sent);
        self.controller.on_packet_sent(now, BYTES as u16, packet.number);
        self.controller.on_sent(now, BYTES, packet.number);
    }

    fn on_outcome(&mut self, packet: &Packet, in_flight: u64) {
        let (now, sent, number) = (self.time(packet.known), self.time(packet.sent), packet.number);
        if packet.lost {
            self.controller.on_packet_lost(BYTES as u16, number, now);
            self.controller.on_congestion_event(now, sent, false, false, BYTES, number);
        } else {
            self.controller.on_ack(now, sent, BYTES, number, false, &self.rtt);
            self.controller.on_end_acks(now, in_flight, false, Some(number));
        }
    }

    fn limits(&self) -> (u64, Option<f64>) {
        (self.controller.window(), self.controller.metrics().pacing_rate.map(|rate| rate as f64))
    }
}

/// A round-trip time estimate of [`RTT`]. Only a connection can make one, so two endpoints begin a handshake, in memory
/// and in imagined time, with a controller that keeps the estimate it is shown.
fn rtt_estimator() -> RttEstimator {
    let key = rcgen::generate_simple_self_signed(["bench".to_owned()]).expect("a key");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(key.cert.der().clone()).expect("a certificate");
    let private = rustls::pki_types::PrivateKeyDer::Pkcs8(key.signing_key.serialize_der().into());
    let server_config = ServerConfig::with_single_cert(vec![key.cert.der().clone()], private).expect("a server");
    let seen = Seen::default();
    let mut transport = TransportConfig::default();
    // The first acknowledgement is reported with the estimate from before it.
    transport.initial_rtt(RTT).congestion_controller_factory(Arc::new(seen.clone()));
    let mut client_config = ClientConfig::with_root_certificates(Arc::new(roots)).expect("a client");
    client_config.transport_config(Arc::new(transport));

    let path = FourTuple::new("192.0.2.1:1".parse().expect("an address"), None);
    let endpoint = |server| Endpoint::new(Arc::new(EndpointConfig::default()), server, false);
    let (mut client, mut server) = (endpoint(None), endpoint(Some(Arc::new(server_config))));
    let (start, mut buffer) = (Instant::now(), Vec::new());
    let remote = "192.0.2.1:1".parse().expect("an address");
    let (_, mut connection) = client.connect(start, client_config, remote, "bench").expect("a connection");
    let mut accepted = None;
    for datagram in datagrams(&mut connection, start) {
        match server.handle(start, path, None, datagram, &mut buffer) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                accepted = server.accept(incoming, start, &mut buffer, None).ok();
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                accepted.as_mut().expect("the first datagram opens a connection").1.handle_event(event);
            }
            _ => {}
        }
    }
    let (_, mut accepted) = accepted.expect("the server accepts");
    for datagram in datagrams(&mut accepted, start) {
        let event = client.handle(start + RTT, path, None, datagram, &mut buffer);
        if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
            connection.handle_event(event);
        }
    }
    let rtt = seen.0.lock().expect("one thread").expect("the server's first flight acknowledges the client's");
    assert_eq!(rtt.get(), RTT);
    rtt
}

fn datagrams(connection: &mut Connection, now: Instant) -> Vec<BytesMut> {
    let mut datagrams = Vec::new();
    let mut buffer = Vec::new();
    while let Some(transmit) = connection.poll_transmit(now, NonZeroUsize::MIN, &mut buffer) {
        datagrams.push(BytesMut::from(&buffer[..transmit.size]));
        buffer.clear();
    }
    datagrams
}

/// A controller that does nothing but keep the last estimate.
#[derive(Clone, Debug, Default)]
struct Seen(Arc<Mutex<Option<RttEstimator>>>);

impl ControllerFactory for Seen {
    fn build(self: Arc<Self>, _now: Instant, _mtu: u16) -> Box<dyn Controller> {
        Box::new(Seen(self.0.clone()))
    }
}

impl Controller for Seen {
    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: u64, _: bool, rtt: &RttEstimator) {
        *self.0.lock().expect("one thread") = Some(*rtt);
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: bool, _: u64, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        1 << 20
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        1 << 20
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
