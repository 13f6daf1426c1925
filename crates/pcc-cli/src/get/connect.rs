//! A connection to the server.

use super::backlog::{Backlog, ROOM, follow};
use super::trust::Trust;
use super::url::Url;
use crate::failure::{Context, Failure, Kind, Result, printable};
use crate::http3;
use crate::peer::connecting::race;
use crate::peer::credentials::OtherKey;
use crate::peer::endpoint::bind;
use bytes::Bytes;
use noq::rustls::{self, CertificateError, OtherError};
use noq::{ClientConfig, Connection, ConnectionError, Endpoint, EndpointConfig, IdleTimeout, VarInt};
use pcc_quic::{PreciseRuntime, Transport};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::lookup_host;
use tokio::time::timeout;

/// A server that says nothing for so long is given up; what is missing is then asked for again.
const IDLE_TIMEOUT: VarInt = VarInt::from_u32(30_000); // ms
/// Where nothing comes for so long it asks for a sign of life: a server that was restarted says that it was.
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// The three of HTTP/3 (RFC 9114 6.2) and some of no meaning.
const MAX_UNI_STREAMS: u32 = 8;
/// How far what comes may be ahead of what is missing, in bytes: a packet can be lost twice in a row.
const MAX_AHEAD: u64 = 2 * ROOM;

/// Sends requests over a connection.
pub type Requests = h3::client::SendRequest<http3::Opener, Bytes>;

/// Where connections come from.
pub struct Connector {
    endpoint: Endpoint,
    config: ClientConfig,
    /// What came over connections and waits for the disk.
    pub backlog: Backlog,
    /// Whether a host was found, so that a name that can't be looked up is no typo.
    pub has_found: bool,
    /// Whether there is a server to hear of the end.
    is_connected: bool,
}

impl Connector {
    /// To servers that are trusted.
    pub fn new(trust: &Trust) -> Result<Connector> {
        let mut transport = Transport::default().config();
        transport.max_concurrent_bidi_streams(VarInt::from_u32(0));
        transport.max_concurrent_uni_streams(VarInt::from_u32(MAX_UNI_STREAMS));
        // What comes is read at once, and the window of the connection bounds it.
        transport.stream_receive_window(VarInt::from_u64(ROOM).unwrap_or(VarInt::MAX));
        transport.datagram_receive_buffer_size(None);
        transport.max_idle_timeout(Some(IdleTimeout::from(IDLE_TIMEOUT)));
        transport.keep_alive_interval(Some(KEEP_ALIVE));
        let mut config = ClientConfig::new(Arc::new(trust.config()?));
        config.transport_config(Arc::new(transport));
        let endpoint = Endpoint::new(EndpointConfig::default(), None, bind(None)?, Arc::new(PreciseRuntime));
        let endpoint = endpoint.doing(|| "start QUIC")?;
        Ok(Connector { endpoint, config, backlog: Backlog::default(), has_found: false, is_connected: false })
    }

    /// Connects to a URL's server, within this time.
    pub async fn connect(&mut self, url: &Url, within: Duration) -> Result<(Connection, Requests)> {
        let (host, port) = (url.host(), url.port());
        self.is_connected = false;
        let began = Instant::now();
        let found =
            timeout(within, lookup_host((host, port))).await.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()));
        let found = found.map_err(|error| Failure::new(Kind::LostPeer, format!("cannot find {host}: {error}")))?;
        let addresses: Vec<SocketAddr> = found.collect();
        self.has_found = true;
        let name = host.to_owned();
        let failure = move |error: &ConnectionError| failure(&name, error);
        let left = within.saturating_sub(began.elapsed());
        let connection = race(&self.endpoint, &self.config, host, &addresses, left, failure).await?;
        self.is_connected = true;
        tokio::spawn(follow(&connection, self.backlog.clone(), ROOM));
        let streams = http3::Connection::new(connection.clone(), MAX_AHEAD);
        let mut builder = h3::client::builder();
        builder.max_field_section_size(http3::MAX_FRAME);
        let built = builder.build::<_, _, Bytes>(streams).await;
        let (mut driver, requests) = built.map_err(|error| Failure::new(Kind::LostPeer, error))?;
        // How it ends shows in the request.
        tokio::spawn(async move { driver.wait_idle().await });
        Ok((connection, requests))
    }

    /// Closes all connections, and waits a moment until the servers know.
    pub async fn close(&self) {
        // H3_NO_ERROR (RFC 9114 8.1).
        self.endpoint.close(VarInt::from_u32(0x100), b"");
        if self.is_connected {
            let _ = timeout(Duration::from_secs(1), self.endpoint.wait_idle()).await;
        }
    }
}

/// What is wrong with the server's certificate, and what can be done.
fn distrust(of_tls: Option<&rustls::Error>, reason: &str) -> String {
    let how = "pcc serve prints what --pin takes, and --ca names an authority";
    match of_tls {
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            format!("nobody who is trusted has signed its certificate; {how}")
        }
        Some(rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(why)))) => {
            match why.downcast_ref() {
                Some(OtherKey(its)) => {
                    format!("its key is {its}, and not the one that --pin names; it may be another server than you think")
                }
                // Only its name tells it from others of that crate.
                None if format!("{why:?}") == "CaUsedAsEndEntity" => "its certificate is one of an authority (CA:TRUE), as openssl makes \
                     them if it isn't told otherwise, and those are for signing others; name the server's key with --pin, \
                     which pcc serve prints"
                    .to_owned(),
                None => format!("{}; {how}", printable(reason.as_bytes())),
            }
        }
        _ => format!("{}; {how}", printable(reason.as_bytes())),
    }
}

/// Why there is no connection, or no longer.
pub fn failure(host: &str, error: &ConnectionError) -> Failure {
    // TLS alerts in QUIC's range for them, RFC 9001 4.8.
    const ALERTS: std::ops::Range<u64> = 0x100..0x200;
    const NO_APPLICATION_PROTOCOL: u64 = ALERTS.start + 120;
    match error {
        ConnectionError::TransportError(error) if u64::from(error.code) == NO_APPLICATION_PROTOCOL => {
            Failure::new(Kind::Other, format!("{host} does not speak HTTP/3"))
        }
        ConnectionError::ConnectionClosed(close) if u64::from(close.error_code) == NO_APPLICATION_PROTOCOL => {
            Failure::new(Kind::Other, format!("{host} does not speak HTTP/3"))
        }
        ConnectionError::TransportError(error) if ALERTS.contains(&u64::from(error.code)) => {
            let of_tls = error.crypto.as_ref().and_then(|error| error.downcast_ref());
            Failure::new(Kind::Untrusted, format!("{host} is not trusted: {}", distrust(of_tls, &error.reason)))
        }
        ConnectionError::VersionMismatch => {
            Failure::new(Kind::Other, format!("{host} speaks no version of QUIC that this does"))
        }
        ConnectionError::Reset => Failure::new(Kind::LostPeer, format!("{host} was restarted")),
        ConnectionError::TimedOut => Failure::new(
            Kind::LostPeer,
            format!("{host} does not answer over UDP; it may not speak HTTP/3, or a firewall may stop UDP"),
        ),
        other => Failure::new(
            Kind::LostPeer,
            format!("the connection to {host} ended: {}", printable(other.to_string().as_bytes())),
        ),
    }
}
