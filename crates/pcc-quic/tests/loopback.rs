//! Real sockets and the real clock: the runtime and the tasks around a connection do their work.

use noq::rustls::RootCertStore;
use noq::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use noq::{ClientConfig, Connection, Endpoint, EndpointConfig, PathId, ServerConfig, TransportConfig};
use pcc::{Rate, profiles};
use pcc_quic::{Algorithm, Factory, PreciseRuntime, Statistics, Transport, windows};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

const STREAMS: usize = 8;
const STREAM_BYTES: usize = 1 << 20;

fn endpoint(server: Option<ServerConfig>) -> Endpoint {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
    Endpoint::new(EndpointConfig::default(), server, socket, Arc::new(PreciseRuntime)).expect("an endpoint")
}

/// Both ends of a connection, with their endpoints.
async fn connect(transport: &Transport) -> (Endpoint, Connection, Endpoint, Connection) {
    connect_with(transport.config(), transport.config()).await
}

/// The same with the configurations of client and server.
async fn connect_with(
    client: TransportConfig,
    server: TransportConfig,
) -> (Endpoint, Connection, Endpoint, Connection) {
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let certificate = CertificateDer::from(certificate.cert);
    let mut server_config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into()).expect("valid");
    server_config.transport_config(Arc::new(server));
    let server = endpoint(Some(server_config));

    let mut roots = RootCertStore::empty();
    roots.add(certificate).expect("valid");
    let mut client_config = ClientConfig::with_root_certificates(Arc::new(roots)).expect("valid");
    client_config.transport_config(Arc::new(client));
    let client = endpoint(None);
    let address = server.local_addr().expect("bound");
    let connecting = client.connect_with(client_config, address, "localhost").expect("valid");
    let accepting = async { server.accept().await.expect("the endpoint is open").await };
    let (outgoing, incoming) = tokio::join!(connecting, accepting);
    (client, outgoing.expect("connects"), server, incoming.expect("accepts"))
}

async fn transfer(algorithm: Algorithm) {
    let transport = Transport { algorithm, ..Transport::default() };
    let (_client, sender, _server, receiver) = connect(&transport).await;
    let followers = [&sender, &receiver].map(|end| tokio::spawn(windows::follow_path(end, windows::CAP)));

    let sending = sender.clone();
    let send = async move {
        for number in 0..STREAMS {
            let mut stream = sending.open_uni().await.expect("a stream");
            stream.write_all(&vec![number as u8; STREAM_BYTES]).await.expect("writes");
            stream.finish().expect("not finished before");
        }
    };
    let receive = async {
        let mut numbers = BTreeSet::new();
        for _ in 0..STREAMS {
            let mut stream = receiver.accept_uni().await.expect("a stream");
            let data = stream.read_to_end(STREAM_BYTES).await.expect("reads");
            assert_eq!(data, vec![data[0]; STREAM_BYTES]);
            numbers.insert(data[0]);
        }
        assert!(numbers.into_iter().eq((0..STREAMS).map(|number| number as u8)));
    };
    tokio::join!(send, receive);
    sender.close(0_u32.into(), b"");
    receiver.closed().await;
    for follower in followers {
        follower.await.expect("the task ends with its connection");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_algorithm_moves_data() {
    for algorithm in Algorithm::all() {
        let done = tokio::time::timeout(Duration::from_secs(120), transfer(algorithm)).await;
        assert!(done.is_ok(), "{algorithm}");
    }
}

/// Sends a megabyte, and reads the statistics of the sender while it does.
async fn observed(sender: &Connection, receiver: &Connection) -> Vec<Option<Statistics>> {
    let mut stream = sender.open_uni().await.expect("a stream");
    let receive = async {
        let mut stream = receiver.accept_uni().await.expect("a stream");
        assert_eq!(stream.read_to_end(STREAM_BYTES).await.expect("reads").len(), STREAM_BYTES);
    };
    let send = async {
        let mut read = Vec::new();
        for chunk in vec![0; STREAM_BYTES].chunks(STREAM_BYTES / 8) {
            stream.write_all(chunk).await.expect("writes");
            read.push(Statistics::of(sender, PathId::ZERO));
        }
        stream.finish().expect("not finished before");
        stream.stopped().await.expect("arrives");
        read.push(Statistics::of(sender, PathId::ZERO));
        read
    };
    tokio::join!(send, receive).0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_end_has_its_controller_whose_state_can_be_read() {
    let max = Rate::from_mbps(100.0);
    let client = Factory::profile(profiles::vivace_latency()).with_max_rate(max);
    let server = Transport { algorithm: Algorithm::Cubic, ..Transport::default() };
    let (_client, a, _server, b) = connect_with(Transport::config_with(client), server.config()).await;

    let read = observed(&a, &b).await;
    for statistics in &read {
        let now = statistics.expect("the controller comes from a factory");
        for rate in [now.rate, now.pacing_rate] {
            assert!(rate.is_some_and(|rate| !rate.is_zero() && rate <= max), "{now:?}");
        }
        assert!((0.0..=1.0).contains(&now.loss) && now.in_flight_cap > 0, "{now:?}");
    }
    let last = read[read.len() - 1].expect("as before");
    assert!(last.smoothed_rtt.is_some() && last.min_rtt.is_some(), "{last:?}");
    assert!(!last.delivery_rate.is_zero() && last.phase.is_some(), "{last:?}");
    assert!(observed(&b, &a).await.iter().all(Option::is_none), "noq's CUBIC isn't ours");
    assert_eq!(Statistics::of(&a, PathId::from(9_u8)), None, "there is no such path");
}
