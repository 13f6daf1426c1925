//! Real sockets and the real clock: the runtime and the tasks around a connection do their work.

use noq::rustls::RootCertStore;
use noq::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use noq::{ClientConfig, Connection, Endpoint, EndpointConfig, ServerConfig};
use pcc_quic::{Algorithm, PreciseRuntime, Transport, windows};
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
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let certificate = CertificateDer::from(certificate.cert);
    let mut server = ServerConfig::with_single_cert(vec![certificate.clone()], key.into()).expect("valid");
    server.transport_config(Arc::new(transport.config()));
    let server = endpoint(Some(server));

    let mut roots = RootCertStore::empty();
    roots.add(certificate).expect("valid");
    let mut client_config = ClientConfig::with_root_certificates(Arc::new(roots)).expect("valid");
    client_config.transport_config(Arc::new(transport.config()));
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
        for _ in 0..STREAMS {
            let mut stream = receiver.accept_uni().await.expect("a stream");
            let data = stream.read_to_end(STREAM_BYTES).await.expect("reads");
            assert_eq!(data.len(), STREAM_BYTES);
            assert!(data.iter().all(|byte| *byte == data[0]));
        }
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
    for algorithm in Algorithm::ALL {
        let done = tokio::time::timeout(Duration::from_secs(120), transfer(algorithm)).await;
        assert!(done.is_ok(), "{algorithm}");
    }
}
