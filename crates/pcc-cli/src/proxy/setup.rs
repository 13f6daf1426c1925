//! What connections of a proxy run with, at both sides.

use noq::{Connection, IdleTimeout, TransportConfig, VarInt};
use pcc::Rate;
use pcc_lab::quantity;
use pcc_quic::{Algorithm, Transport, windows};
use std::time::Duration;

/// Datagrams that wait to be sent, or to be looked at, in bytes: a burst. Beyond that they are dropped, as by a queue of the
/// network. At 10 Mbit/s this is 0.2 s.
const DATAGRAMS: usize = 256 << 10;

/// How this side sends, as options of the commands.
#[derive(Clone, Debug, clap::Args)]
pub struct Traffic {
    #[arg(
        long,
        value_name = "NAME",
        default_value_t,
        help = format!("The congestion controller of what this side sends: {}", Algorithm::names())
    )]
    pub controller: Algorithm,
    /// Never send faster than this, for example 50mbit
    #[arg(long, value_name = "RATE", value_parser = quantity::rate)]
    pub max_rate: Option<Rate>,
    /// Cut all connections off when nothing was heard of the other side for this many seconds: the shorter time of the two
    /// sides counts
    #[arg(long, value_name = "SECONDS", default_value_t = 90, value_parser = clap::value_parser!(u32).range(10..=3600))]
    pub timeout: u32,
}

/// The configuration of connections.
///
/// A stream's window is as large as a connection's: it is [credit](super::credit) that bounds a stream, and what comes is read
/// at once.
pub fn transport(traffic: &Traffic) -> TransportConfig {
    let seed = fastrand::u64(..);
    let mut config =
        Transport { algorithm: traffic.controller, max_rate: traffic.max_rate, weight: None, seed }.config();
    config.stream_receive_window(window(windows::CAP));
    config.datagram_receive_buffer_size(Some(DATAGRAMS));
    config.datagram_send_buffer_size(DATAGRAMS);
    let timeout = Duration::from_secs(traffic.timeout.into());
    config.max_idle_timeout(IdleTimeout::try_from(timeout).ok());
    config
}

/// Opens this side of a connection for data, once both sides know each other.
pub fn follow_path(connection: &Connection) {
    connection.set_receive_window(window(windows::START));
    tokio::spawn(windows::follow_path(connection, windows::CAP));
}

fn window(bytes: u64) -> VarInt {
    VarInt::from_u64(bytes).unwrap_or(VarInt::MAX)
}
