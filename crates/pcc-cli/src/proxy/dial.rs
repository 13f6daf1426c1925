//! Connects to targets, at the far side.

use super::protocol::Refusal;
use super::rules::Rules;
use super::target::Target;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::net::{TcpStream, UdpSocket, lookup_host};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long it may take, with the look-up of the name.
const PATIENCE: Duration = Duration::from_secs(10);
/// Addresses of a name that are tried.
const MAX_ADDRESSES: usize = 8;
/// An address gets this much of a head start over the next (RFC 8305 5).
const STAGGER: Duration = Duration::from_millis(250);

/// Connects to a target, if the rules allow the address that its name is resolved to.
///
/// # Errors
///
/// Why there is no connection, as the other side is told.
pub async fn connect(target: &Target, rules: &Rules) -> Result<TcpStream, Refusal> {
    let connected = async { first_of(&allowed(target, rules).await?).await };
    timeout(PATIENCE, connected).await.unwrap_or(Err(Refusal::TimedOut))
}

/// A socket that exchanges datagrams with a target and nobody else, by the same rules.
///
/// # Errors
///
/// Why there is none.
pub async fn udp(target: &Target, rules: &Rules) -> Result<UdpSocket, Refusal> {
    let connected = async {
        let mut refusal = Refusal::NotAllowed;
        for address in allowed(target, rules).await? {
            match udp_to(address).await {
                Ok(socket) => return Ok(socket),
                Err(error) => refusal = refusal_of(&error),
            }
        }
        Err(refusal)
    };
    timeout(PATIENCE, connected).await.unwrap_or(Err(Refusal::TimedOut))
}

async fn udp_to(address: SocketAddr) -> io::Result<UdpSocket> {
    let any = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).await?;
    socket.connect(address).await?;
    Ok(socket)
}

/// The addresses of a target that may be used.
async fn allowed(target: &Target, rules: &Rules) -> Result<Vec<SocketAddr>, Refusal> {
    let found = lookup_host((target.host(), target.port())).await.map_err(|_| Refusal::HostUnreachable)?;
    let mut allowed = Vec::new();
    for address in found {
        if allowed.len() < MAX_ADDRESSES && rules.allow(address).await {
            allowed.push(address);
        }
    }
    Ok(allowed)
}

/// A connection to the first of them that takes one.
async fn first_of(addresses: &[SocketAddr]) -> Result<TcpStream, Refusal> {
    let mut attempts = JoinSet::new();
    for (n, address) in (0u32..).zip(addresses.iter().copied()) {
        attempts.spawn(async move {
            sleep(STAGGER * n).await;
            TcpStream::connect(address).await
        });
    }
    let mut refusal = Refusal::NotAllowed;
    while let Some(joined) = attempts.join_next().await {
        match joined.unwrap_or_else(|e| Err(io::Error::other(e))) {
            Ok(stream) => return Ok(stream),
            Err(error) => refusal = refusal_of(&error),
        }
    }
    Err(refusal)
}

fn refusal_of(error: &io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::ConnectionRefused => Refusal::ConnectionRefused,
        ErrorKind::HostUnreachable => Refusal::HostUnreachable,
        ErrorKind::NetworkUnreachable => Refusal::NetworkUnreachable,
        ErrorKind::TimedOut => Refusal::TimedOut,
        _ => Refusal::Other,
    }
}
