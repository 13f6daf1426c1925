//! Connects to the side that made the ticket.

use super::credentials::NAME;
use super::endpoint::shown;
use super::wire::connection_failure;
use crate::failure::{Failure, Kind, Result};
use noq::{ClientConfig, Connection, ConnectionError, Endpoint, PathId};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long one attempt to connect may take at most.
pub const HANDSHAKE: Duration = Duration::from_secs(8);
/// An address gets this much of a head start over the next.
const STAGGER: Duration = Duration::from_millis(100);

/// Tries all addresses of a ticket, for so long at most; the first that answers, and has the right certificate, wins.
pub async fn connect(
    endpoint: &Endpoint,
    config: &ClientConfig,
    addresses: &[SocketAddr],
    within: Duration,
) -> Result<Connection> {
    race(endpoint, config, NAME, addresses, within, connection_failure).await
}

/// Tries all addresses of a server with this name, for so long at most; the first that answers wins. `failure` words why
/// one did not.
pub async fn race(
    endpoint: &Endpoint,
    config: &ClientConfig,
    name: &str,
    addresses: &[SocketAddr],
    within: Duration,
    failure: impl Fn(&ConnectionError) -> Failure + Clone + Send + Sync + 'static,
) -> Result<Connection> {
    let mut attempts = JoinSet::new();
    for (n, address) in (0u32..).zip(addresses.iter().copied()) {
        let (endpoint, config, failure) = (endpoint.clone(), config.clone(), failure.clone());
        let name = name.to_owned();
        attempts.spawn(async move {
            let attempt = async {
                tokio::time::sleep(STAGGER * n).await;
                connect_to(&endpoint, config, &name, address, &failure).await
            };
            let silent = |_| Err(named(address, &failure(&ConnectionError::TimedOut)));
            timeout(HANDSHAKE.min(within), attempt).await.unwrap_or_else(silent)
        });
    }
    let mut worst: Option<Failure> = None;
    while let Some(joined) = attempts.join_next().await {
        match joined.map_err(|e| Failure::new(Kind::Other, e))? {
            Ok(connection) => return Ok(connection),
            // As long as one address merely does not answer, it may be the right one.
            Err(failure) if worst.as_ref().is_none_or(|w| w.kind != Kind::LostPeer) => worst = Some(failure),
            Err(_) => {}
        }
    }
    Err(worst.unwrap_or_else(|| Failure::new(Kind::LostPeer, "there is no address to connect to")))
}

async fn connect_to(
    endpoint: &Endpoint,
    config: ClientConfig,
    name: &str,
    address: SocketAddr,
    failure: &impl Fn(&ConnectionError) -> Failure,
) -> Result<Connection> {
    let connecting = endpoint
        .connect_with(config, address, name)
        .map_err(|e| Failure::new(Kind::LostPeer, format!("cannot connect to {}: {e}", shown(address))))?;
    connecting.await.map_err(|error| named(address, &failure(&error)))
}

/// The failure with the address that it is about.
fn named(address: SocketAddr, failure: &Failure) -> Failure {
    Failure::new(failure.kind, format!("{}: {failure}", shown(address)))
}

/// Where the other side is.
pub fn remote(connection: &Connection) -> SocketAddr {
    let path = connection.path(PathId::ZERO).and_then(|path| path.remote_address().ok());
    path.unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)))
}
