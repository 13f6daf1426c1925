//! The end that sends.

use crate::FRAMES_PER_SECOND;
use anyhow::Result;
use pcc_quic::{Algorithm, PreciseRuntime, Transport};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{MissedTickBehavior, interval, timeout};
use web_transport_noq::{ALPN, Request, SendStream, Server, Session, crypto};

/// 20 Mbit/s in all.
const FRAME_BYTES: usize = 83_333;
/// A frame that is not there by then is given up.
const DEADLINE: Duration = Duration::from_secs(1);

/// Sends live video to all who ask for it.
pub struct Publisher {
    endpoint: noq::Endpoint,
    /// SHA-256 of its certificate in hexadecimal digits: what browsers take as `serverCertificateHashes`.
    pub hash: String,
}

impl Publisher {
    /// Listens on this address; `algorithm` decides how fast it sends.
    pub fn listen(address: SocketAddr, algorithm: Algorithm) -> Result<Publisher> {
        let identity = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        let certificate = identity.cert.der().clone();
        let provider = crypto::default_provider();
        let hash = crypto::sha256(&provider, &certificate);
        let mut tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], identity.signing_key.into())?;
        tls.alpn_protocols = vec![ALPN.as_bytes().to_vec()];
        let tls: noq::crypto::rustls::QuicServerConfig = tls.try_into()?;
        let mut config = noq::ServerConfig::with_crypto(Arc::new(tls));
        // This line brings PCC.
        config.transport_config(Arc::new(Transport { algorithm, ..Transport::default() }.config()));
        let (socket, runtime) = (UdpSocket::bind(address)?, Arc::new(PreciseRuntime));
        let endpoint = noq::Endpoint::new(noq::EndpointConfig::default(), Some(config), socket, runtime)?;
        let hash = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Publisher { endpoint, hash })
    }

    /// Where it can be reached on this machine.
    pub fn url(&self) -> Result<String> {
        Ok(format!("https://{}", self.endpoint.local_addr()?))
    }

    /// Runs until the program ends.
    pub async fn run(self) {
        let mut server = Server::new(self.endpoint);
        while let Some(request) = server.accept().await {
            tokio::spawn(publish(request));
        }
    }
}

async fn publish(request: Request) {
    let Ok(session) = request.ok().await else { return };
    let mut clock = interval(Duration::from_secs(1) / FRAMES_PER_SECOND);
    clock.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for number in 0_u32.. {
        tokio::select! {
            _ = clock.tick() => {}
            _ = session.closed() => return,
        }
        tokio::spawn(send(session.clone(), number));
    }
}

/// Sends one frame: when it was made, and the picture.
async fn send(session: Session, number: u32) {
    let made = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let mut frame = vec![0; FRAME_BYTES];
    frame[..8].copy_from_slice(&made.to_le_bytes());
    let Ok(mut stream) = session.open_uni().await else { return };
    if timeout(DEADLINE, write(&mut stream, number, &frame)).await.is_err() {
        // It fails where there is nothing to give up any more.
        let _ = stream.reset(0);
    }
}

async fn write(stream: &mut SendStream, number: u32, frame: &[u8]) -> Result<()> {
    // Older frames first.
    stream.set_priority(-(number as i32))?;
    stream.write_all(frame).await?;
    stream.finish()?;
    stream.stopped().await?;
    Ok(())
}
