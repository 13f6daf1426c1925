//! Buffers of UDP sockets.

use socket2::SockRef;
use std::io;
use std::net::UdpSocket;

/// Enlarges the buffers of a socket to so many bytes, for what arrives while the task that reads it waits for its turn, or each
/// such wait would look like congestion.
///
/// [`PreciseRuntime`](crate::PreciseRuntime) does it for its sockets. The default of Linux, 208 KiB, is 1 ms at
/// 1 Gbit/s (each packet is charged more than its size). Without privileges the system may grant less than is asked for
/// (`net.core.rmem_max`); a larger buffer keeps its size.
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

/// Beyond the system's limit, where this process may.
#[cfg(target_os = "linux")]
fn force_receive_buffer(socket: &UdpSocket, size: usize) -> bool {
    rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, size).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn force_receive_buffer(_: &UdpSocket, _: usize) -> bool {
    false
}
