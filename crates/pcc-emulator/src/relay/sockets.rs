//! The relay's sockets.

use pcc_quic::enlarge_buffers;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// What the buffers of a socket should hold in bytes: a quarter of a second of 100 Mbit/s, with the kernel's overhead per packet.
pub(crate) const BUFFER: usize = 8 << 20;

/// The socket that faces the sender, and one connected to the receiver.
pub(super) fn pair(receiver: SocketAddr) -> io::Result<(UdpSocket, UdpSocket)> {
    let front = bind(receiver)?;
    let back = bind(receiver)?;
    back.connect(receiver)?;
    Ok((front, back))
}

fn bind(like: SocketAddr) -> io::Result<UdpSocket> {
    let loopback: SocketAddr = match like {
        SocketAddr::V4(_) => (Ipv4Addr::LOCALHOST, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::LOCALHOST, 0).into(),
    };
    let socket = UdpSocket::bind(loopback)?;
    socket.set_nonblocking(true)?;
    enlarge_buffers(&socket, BUFFER);
    Ok(socket)
}

/// How many datagrams the kernel dropped because the buffer of this socket was full; zero where it does not tell.
pub(super) fn dropped_by_kernel(socket: &UdpSocket) -> u64 {
    let Ok(addr) = socket.local_addr() else { return 0 };
    let table = if addr.is_ipv4() { "/proc/net/udp" } else { "/proc/net/udp6" };
    std::fs::read_to_string(table).map_or(0, |table| drops_of(&table, addr.port()))
}

/// Finds a port's last column, "drops", in the format of Linux' `/proc/net/udp`: `sl local_address:port ... drops`.
fn drops_of(table: &str, port: u16) -> u64 {
    let local = format!(":{port:04X}");
    let line = table.lines().find(|line| line.split_whitespace().nth(1).is_some_and(|addr| addr.ends_with(&local)));
    line.and_then(|line| line.split_whitespace().next_back()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_read_from_the_last_column() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n \
            1234: 0100007F:0044 00000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 4242 2 0000000000000000 17\n \
            1235: 0100007F:9C40 00000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 4243 2 0000000000000000 3\n";
        assert_eq!((drops_of(table, 68), drops_of(table, 40_000), drops_of(table, 1)), (17, 3, 0));
    }
}
