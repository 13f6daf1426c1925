//! A noq server and client over loopback; the client sends with PCC's default profile.
//!
//! `cargo run --release -p pcc-quic --example noq`

use noq::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use noq::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TransportConfig};
use pcc::Profile;
use pcc_quic::{Factory, PreciseRuntime};
use std::error::Error;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::time::Instant;

const BYTES: usize = 100_000_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let certificate = CertificateDer::from(certificate.cert);
    let server = endpoint(Some(ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?))?;
    let address = server.local_addr()?;
    let receiver = tokio::spawn(receive(server));

    let mut roots = noq::rustls::RootCertStore::empty();
    roots.add(certificate)?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    let mut transport = TransportConfig::default();
    // Nothing else has to change.
    transport.congestion_controller_factory(Arc::new(Factory::profile(Profile::default())));
    config.transport_config(Arc::new(transport));

    let client = endpoint(None)?;
    let connection = client.connect_with(config, address, "localhost")?.await?;
    let mut stream = connection.open_uni().await?;
    let began = Instant::now();
    stream.write_all(&vec![0; BYTES]).await?;
    stream.finish()?;
    stream.stopped().await?;
    let seconds = began.elapsed().as_secs_f64();
    println!("{BYTES} bytes in {seconds:.2} s, {:.0} Mbit/s", BYTES as f64 * 8e-6 / seconds);
    connection.close(0_u32.into(), b"done");
    receiver.await??;
    Ok(())
}

/// An endpoint whose timers are exact to tens of microseconds; with `Endpoint::client` packets leave in bursts.
fn endpoint(server: Option<ServerConfig>) -> std::io::Result<Endpoint> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    Endpoint::new(EndpointConfig::default(), server, socket, Arc::new(PreciseRuntime))
}

async fn receive(server: Endpoint) -> Result<(), noq::ConnectionError> {
    let Some(incoming) = server.accept().await else { return Ok(()) };
    let connection = incoming.await?;
    let mut stream = connection.accept_uni().await?;
    while let Ok(Some(_)) = stream.read_chunk(usize::MAX).await {}
    connection.closed().await;
    Ok(())
}
