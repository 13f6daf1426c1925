//! The sockets of the server: UDP for HTTP/3 and TCP for HTTP/1.1 and 2, on the same port.

use crate::failure::{Context, Result};
use crate::peer::endpoint::{bind, bind_any};
use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use std::net::{SocketAddr, TcpListener, UdpSocket};

/// Where to listen without `--listen`, on all addresses.
const PORT: u16 = 4433;
/// PCC in the kernel, where `pcc tcp load` has put it.
const PCC: &str = "pcc_vivace";
/// How often a free port is looked for that is free for both.
const TRIES: usize = 16;

/// Opens both.
pub fn open(address: Option<SocketAddr>) -> Result<(TcpListener, UdpSocket)> {
    match address {
        None => {
            let udp = bind_any(PORT).doing(|| format!("listen on port {PORT}; choose another with --listen"))?;
            // An IPv6 socket takes IPv4 as well, as that of UDP does.
            Ok((tcp(udp.local_addr().doing(|| "listen")?)?, udp))
        }
        Some(address) if address.port() != 0 => Ok((tcp(address)?, bind(Some(address))?)),
        Some(address) => {
            let both = || {
                let tcp = tcp(address)?;
                let port = tcp.local_addr().doing(|| "listen")?.port();
                Ok((tcp, bind(Some(SocketAddr::new(address.ip(), port)))?))
            };
            std::iter::repeat_with(both).take(TRIES).find(Result::is_ok).unwrap_or_else(both)
        }
    }
}

fn tcp(address: SocketAddr) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).doing(|| format!("listen on {address}"))?;
    listener.set_nonblocking(true).doing(|| "listen")?;
    // Connections have it from their listener. Without it the system's own is used.
    let _ = set_tcp_congestion(&listener, PCC);
    Ok(listener)
}

/// The congestion controller of a listener's connections, if the kernel says so.
pub fn tcp_controller(listener: &TcpListener) -> Option<String> {
    tcp_congestion(listener).ok()
}
