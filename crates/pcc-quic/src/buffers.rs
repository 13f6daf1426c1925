//! Buffers of UDP sockets.

use socket2::SockRef;
use std::io;
use std::net::UdpSocket;

/// Enlarges the two buffers of a socket to this many bytes.
///
/// The receive buffer has to hold what arrives while the task that reads it waits for its turn: a packet that is dropped there looks
/// like congestion. The default of Linux, 208 KiB, holds 1 ms of 1 Gbit/s, because each packet is charged more than its size.
/// [`PreciseRuntime`](crate::PreciseRuntime) calls this for its sockets.
///
/// A buffer that is larger keeps its size. Without privileges the system may grant less than is asked for (`net.core.rmem_max` and
/// `net.core.wmem_max` on Linux). If it refuses altogether, that is logged at the level `debug`, and the socket works on.
pub fn enlarge_buffers(socket: &UdpSocket, bytes: usize) {
    let options = SockRef::from(socket);
    let is_large = |size: io::Result<usize>| size.is_ok_and(|size| size >= bytes);
    let received = is_large(options.recv_buffer_size()) || force_receive_buffer(socket, bytes);
    if !received && let Err(error) = options.set_recv_buffer_size(bytes) {
        tracing::debug!(%error, "the receive buffer keeps its size");
    }
    if !is_large(options.send_buffer_size())
        && let Err(error) = options.set_send_buffer_size(bytes)
    {
        tracing::debug!(%error, "the send buffer keeps its size");
    }
}

/// Sets the size beyond the system's limit, if this process is allowed to.
#[cfg(target_os = "linux")]
fn force_receive_buffer(socket: &UdpSocket, size: usize) -> bool {
    rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, size).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn force_receive_buffer(_: &UdpSocket, _: usize) -> bool {
    false
}
