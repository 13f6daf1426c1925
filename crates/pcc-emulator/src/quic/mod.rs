//! QUIC over sockets, as the demo and the emulator use it: endpoints that trust each other, and data in blocks.

mod blocks;
mod identity;

pub use blocks::{BLOCK, BlockWriter, receive};
pub use identity::{Identity, IdentityError, SERVER_NAME};

use noq::{Endpoint, EndpointConfig, ServerConfig, TransportConfig};
use pcc_quic::PreciseRuntime;
use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

/// Packets with `mtu` bytes of UDP payload, full from the first on.
///
/// Probing for a larger MTU would show as losses that the path did not make, and overload of a small queue looks like an MTU
/// black hole to noq, which then goes down to 1200 bytes for a minute.
pub fn fix_mtu(config: &mut TransportConfig, mtu: u16) {
    config.initial_mtu(mtu).min_mtu(mtu).mtu_discovery_config(None);
}

/// An endpoint on `socket` that waits for connections if it has a configuration for them. It needs a tokio runtime.
///
/// # Errors
///
/// When the socket can't be used.
pub fn endpoint(socket: UdpSocket, server: Option<ServerConfig>) -> io::Result<Endpoint> {
    Endpoint::new(EndpointConfig::default(), server, socket, Arc::new(PreciseRuntime))
}
