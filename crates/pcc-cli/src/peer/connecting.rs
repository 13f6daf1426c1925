//! Connects to the side that made the ticket.

use super::credentials::NAME;
use super::endpoint::shown;
use super::wire::connection_failure;
use crate::failure::{Failure, Kind, Result};
use noq::{ClientConfig, Connection, ConnectionError, Endpoint, PathId};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::task::JoinSet;

/// How long one attempt to connect may take.
const HANDSHAKE: Duration = Duration::from_secs(8);
/// An address gets this much of a head start over the next.
const STAGGER: Duration = Duration::from_millis(100);

/// Tries all addresses of a ticket; the first that answers, and has the right certificate, wins.
pub async fn connect(endpoint: &Endpoint, config: &ClientConfig, addresses: &[SocketAddr]) -> Result<Connection> {
    race(endpoint, config, NAME, addresses, connection_failure).await
}

/// Tries all addresses of a server with this name; the first that answers wins. `failure` words why one did not.
pub async fn race(
    endpoint: &Endpoint,
    config: &ClientConfig,
    name: &str,
    addresses: &[SocketAddr],
    failure: impl Fn(&ConnectionError) -> Failure + Clone + Send + 'static,
) -> Result<Connection> {
    let mut attempts = JoinSet::new();
    for (n, address) in (0u32..).zip(addresses.iter().copied()) {
        let (endpoint, config, failure) = (endpoint.clone(), config.clone(), failure.clone());
        let name = name.to_owned();
        attempts.spawn(async move {
            tokio::time::sleep(STAGGER * n).await;
            connect_to(&endpoint, config, &name, address, failure).await
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
    failure: impl Fn(&ConnectionError) -> Failure,
) -> Result<Connection> {
    let shown = shown(address);
    let connecting = endpoint
        .connect_with(config, address, name)
        .map_err(|e| Failure::new(Kind::LostPeer, format!("cannot connect to {shown}: {e}")))?;
    let connected = tokio::time::timeout(HANDSHAKE, connecting).await.unwrap_or(Err(ConnectionError::TimedOut));
    connected.map_err(|error| {
        let failure = failure(&error);
        Failure::new(failure.kind, format!("{shown}: {failure}"))
    })
}

/// Where the other side is.
pub fn remote(connection: &Connection) -> SocketAddr {
    let path = connection.path(PathId::ZERO).and_then(|path| path.remote_address().ok());
    path.unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)))
}
