//! Sockets and QUIC endpoints of both sides.

use super::credentials::Credentials;
use super::greeting::Greeting;
use super::identity::{Identity, client_crypto};
use super::restart;
use super::ticket::{MAX_ADDRESSES, Ticket};
use crate::exit::usage;
use crate::failure::{Context, Failure, Kind, Result};
#[cfg(test)]
use crate::simulation;
use noq::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TransportConfig, VarInt};
use pcc_quic::PreciseRuntime;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

/// Both sides speak up at least this often.
const KEEP_ALIVE: Duration = Duration::from_secs(4);

/// Until the other side has proved the secret there is no reason to keep more for it.
const STRANGER_WINDOW: u32 = 16 << 10;

/// First packets that wait until somebody looks at them, which takes microseconds. Beyond that they are refused, which the
/// other side takes for a wrong ticket.
const MAX_INCOMING: usize = 4096;

/// How the side that made the ticket serves connections. Whoever connects may open one bidirectional stream for its proof;
/// what it may do after that is for the caller to say.
pub fn server_config(identity: &Identity, alpn: &[u8], transport: TransportConfig) -> Result<ServerConfig> {
    let mut config = ServerConfig::with_crypto(Arc::new(identity.server_crypto(alpn)?));
    config.max_incoming(MAX_INCOMING).incoming_buffer_size_total(1 << 20);
    Ok(with_transport(config, transport))
}

/// The same with another transport, for one connection.
pub fn with_transport(mut config: ServerConfig, mut transport: TransportConfig) -> ServerConfig {
    transport.keep_alive_interval(Some(KEEP_ALIVE));
    transport.max_concurrent_bidi_streams(VarInt::from_u32(1));
    transport.max_concurrent_uni_streams(VarInt::from_u32(0));
    transport.receive_window(VarInt::from_u32(STRANGER_WINDOW));
    config.transport_config(Arc::new(transport));
    config
}

/// The endpoint of the side that made the ticket.
pub fn server(identity: &Identity, config: ServerConfig, socket: UdpSocket) -> Result<Endpoint> {
    open(restart::endpoint_config(&identity.secret), Some(config), socket)
}

/// The endpoint of the other side, and how it connects to the one that made the ticket, which may open no stream.
pub fn client(
    me: &Credentials,
    alpn: &[u8],
    mut transport: TransportConfig,
    ticket: &Ticket,
) -> Result<(Endpoint, ClientConfig)> {
    transport.keep_alive_interval(Some(KEEP_ALIVE));
    transport.max_concurrent_bidi_streams(VarInt::from_u32(0));
    transport.max_concurrent_uni_streams(VarInt::from_u32(0));
    let mut config = ClientConfig::new(Arc::new(client_crypto(me, ticket.certificate, alpn)?));
    let greeting = Greeting::new(&ticket.secret);
    config.transport_config(Arc::new(transport)).initial_dst_cid_provider(Arc::new(move || greeting.make()));
    Ok((open(EndpointConfig::default(), None, bind(None)?)?, config))
}

/// An endpoint on this socket; that of a simulated process in virtual time.
fn open(config: EndpointConfig, server: Option<ServerConfig>, socket: UdpSocket) -> Result<Endpoint> {
    #[cfg(test)]
    if let Some(process) = simulation::process() {
        let mut config = config;
        config.rng_seed(Some(process.seed()));
        return Endpoint::new(config, server, socket, process.quic()).doing(|| "start QUIC in virtual time");
    }
    Endpoint::new(config, server, socket, Arc::new(PreciseRuntime)).doing(|| "start QUIC")
}

/// A socket on this address; without one, on all of this machine, of both IP versions where possible.
pub fn bind(address: Option<SocketAddr>) -> Result<UdpSocket> {
    #[cfg(test)]
    if let Some(process) = simulation::process() {
        return process.bind(address).doing(|| "open a UDP socket in virtual time");
    }
    let bound = match address {
        Some(address) => UdpSocket::bind(address),
        None => bind_any(0),
    };
    bound.doing(|| address.map_or("open a UDP socket".to_owned(), |a| format!("listen on {a}")))
}

/// A socket on this port of all addresses.
pub fn bind_any(port: u16) -> std::io::Result<UdpSocket> {
    // Linux and macOS take IPv4 on such a socket too.
    UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port)).or_else(|_| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)))
}

/// The addresses under which others may reach a socket, the likeliest first.
pub fn reachable(bound: SocketAddr, advertise: &[SocketAddr]) -> Result<Vec<SocketAddr>> {
    let mut addresses = advertise.to_vec();
    if !bound.ip().is_unspecified() {
        addresses.push(bound);
    } else {
        let mut local: Vec<IpAddr> = if_addrs::get_if_addrs()
            .doing(|| "list the addresses of this machine")?
            .into_iter()
            .map(|interface| interface.ip())
            .filter(|ip| match ip {
                IpAddr::V4(ip) => !ip.is_link_local(),
                // Those of one link need a zone, which means nothing on another machine.
                IpAddr::V6(ip) => bound.is_ipv6() && !ip.is_unicast_link_local(),
            })
            .collect();
        local.sort_by_key(|ip| (ip.is_loopback(), ip.is_ipv6()));
        if local.iter().any(|ip| !ip.is_loopback()) {
            local.retain(|ip| !ip.is_loopback());
        }
        addresses.extend(local.into_iter().map(|ip| SocketAddr::new(ip, bound.port())));
    }
    addresses.dedup();
    addresses.truncate(MAX_ADDRESSES);
    if addresses.is_empty() {
        return Err(Failure::new(Kind::Other, "this machine has no network address; give one with --listen"));
    }
    Ok(addresses)
}

/// Makes sure that a ticket has room for all addresses that somebody wants in it, and that they are some.
///
/// # Errors
///
/// What would be right, for the user.
pub fn check_advertised(addresses: &[SocketAddr]) -> anyhow::Result<()> {
    let given = addresses.len();
    if given > MAX_ADDRESSES {
        return Err(usage(format!(
            "--advertise is given {given} times, and a ticket has room for {MAX_ADDRESSES} addresses; leave some out"
        )));
    }
    match addresses.iter().find(|address| address.ip().is_unspecified() || address.port() == 0) {
        None => Ok(()),
        Some(address) => Err(usage(format!(
            "--advertise {address}: nobody can connect to this; name the address and port that others reach this machine at"
        ))),
    }
}

/// An address and port that somebody wrote.
///
/// # Errors
///
/// What would be right.
pub fn address(text: &str) -> std::result::Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("{text:?} is no ADDRESS:PORT, such as 127.0.0.1:4433 or [::1]:4433"))
}

/// An address and port for programs of this machine; a port alone is one of 127.0.0.1.
///
/// # Errors
///
/// What would be right.
pub fn local_address(text: &str) -> std::result::Result<SocketAddr, String> {
    let port = || text.parse().ok().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let wrong = || format!("{text:?} is neither an address nor a port, such as 127.0.0.1:9100 or 9100");
    text.parse().ok().or_else(port).ok_or_else(wrong)
}

/// An address as people write it: IPv4 inside IPv6 as IPv4.
pub fn shown(address: SocketAddr) -> String {
    SocketAddr::new(address.ip().to_canonical(), address.port()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_of_this_machine() {
        assert_eq!(local_address("9100"), Ok("127.0.0.1:9100".parse().unwrap()));
        assert_eq!(local_address("[::]:9100"), Ok("[::]:9100".parse().unwrap()));
        assert!(local_address("99999").unwrap_err().contains("9100"));
    }

    #[test]
    fn only_what_others_can_reach_is_advertised() {
        let check = |text: &str| check_advertised(&[text.parse().unwrap()]);
        assert!(check("203.0.113.7:4433").is_ok() && check("[2001:db8::1]:1").is_ok());
        for odd in ["203.0.113.7:0", "0.0.0.0:4433", "[::]:4433"] {
            assert!(check(odd).unwrap_err().to_string().contains("nobody can connect"), "{odd}");
        }
    }
}
