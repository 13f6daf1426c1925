//! QUIC configurations of both sides.

use super::protocol::{ALPN, MAX_STREAMS, STREAM_WINDOW};
use crate::failure::Result;
use crate::peer::credentials::Credentials;
use crate::peer::endpoint;
use crate::peer::identity::Identity;
use crate::peer::ticket::Ticket;
use noq::{ClientConfig, Endpoint, TransportConfig, VarInt};
use pcc_quic::{Transport, windows};
use std::net::UdpSocket;

fn common(mut config: TransportConfig) -> TransportConfig {
    config.stream_receive_window(VarInt::from_u32(STREAM_WINDOW));
    config.datagram_receive_buffer_size(None);
    config
}

/// The receiver's endpoint.
pub fn server(identity: &Identity, socket: UdpSocket) -> Result<Endpoint> {
    let config = endpoint::server_config(identity, ALPN, common(Transport::default().config()))?;
    endpoint::server(identity, config, socket)
}

/// Opens the receiver's side of a connection for data, once the sender has proved the secret.
pub fn open_for_data(connection: &noq::Connection) {
    connection.set_receive_window(VarInt::from_u64(windows::START).unwrap_or(VarInt::MAX));
    connection.set_max_concurrent_uni_streams(VarInt::from_u32(MAX_STREAMS));
    follow_path(connection);
}

/// Lets the windows of a connection grow with its path.
pub fn follow_path(connection: &noq::Connection) {
    tokio::spawn(windows::follow_path(connection, windows::CAP));
}

/// The endpoint of this sender, and how it connects to the receiver of a ticket.
pub fn client(transport: TransportConfig, sender: &Credentials, ticket: &Ticket) -> Result<(Endpoint, ClientConfig)> {
    endpoint::client(sender, ALPN, common(transport), ticket)
}
