//! Two connections to one server over loopback, each with a controller of its own. What the controllers know and do is
//! printed every 100 ms.
//!
//! `cargo run --release -p pcc-quic --example per_connection -- [SECONDS]` (default 2)

use noq::rustls::RootCertStore;
use noq::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use noq::{ClientConfig, Connection, Endpoint, EndpointConfig, PathId, ServerConfig};
use pcc::{Rate, profiles};
use pcc_quic::{Factory, PreciseRuntime, Statistics, Transport};
use std::error::Error;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let seconds: f64 = std::env::args().nth(1).map_or(Ok(2.0), |text| text.parse())?;
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let certificate = CertificateDer::from(certificate.cert);
    let server = endpoint(Some(ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?))?;
    let address = server.local_addr()?;
    tokio::spawn(async move {
        // A server chooses in the same way: `incoming.accept_with(config)`.
        while let Some(incoming) = server.accept().await {
            tokio::spawn(async move { receive(incoming.await?).await });
        }
    });

    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    let client = endpoint(None)?;
    let mut connections = Vec::new();
    for (name, profile, max) in [
        ("latency", profiles::vivace_latency(), Rate::from_mbps(50.0)),
        ("allegro", profiles::allegro_2015(), Rate::from_mbps(20.0)),
    ] {
        // The controller belongs to the configuration, and that to the connection.
        let mut config = config.clone();
        config.transport_config(Arc::new(Transport::config_with(Factory::profile(profile).with_max_rate(max))));
        let connection = client.connect_with(config, address, "localhost")?.await?;
        tokio::spawn(send(connection.clone()));
        connections.push((name, connection));
    }

    let mut ticks = tokio::time::interval(Duration::from_millis(100));
    for tick in 0..=(seconds * 10.0) as u32 {
        ticks.tick().await;
        for (name, connection) in &connections {
            let Some(now) = Statistics::of(connection, PathId::ZERO) else { continue };
            let (rate, rtt) = (now.rate.unwrap_or(Rate::ZERO), now.smoothed_rtt.unwrap_or_default());
            println!(
                "{:.1} s  {name}  rate {rate}, {} arrives, {:.1} % lost, RTT {:.2} ms, {:?}",
                f64::from(tick) / 10.0,
                now.delivery_rate,
                now.loss * 100.0,
                rtt.as_secs_f64() * 1e3,
                now.phase,
            );
        }
    }
    for (_, connection) in connections {
        connection.close(0_u32.into(), b"done");
    }
    client.wait_idle().await;
    Ok(())
}

fn endpoint(server: Option<ServerConfig>) -> std::io::Result<Endpoint> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    Endpoint::new(EndpointConfig::default(), server, socket, Arc::new(PreciseRuntime))
}

/// Sends until the connection closes.
async fn send(connection: Connection) {
    let Ok(mut stream) = connection.open_uni().await else { return };
    let data = vec![0; 1 << 16];
    while stream.write_all(&data).await.is_ok() {}
}

async fn receive(connection: Connection) -> Result<(), noq::ConnectionError> {
    let mut stream = connection.accept_uni().await?;
    while let Ok(Some(_)) = stream.read_chunk(usize::MAX).await {}
    Ok(())
}
