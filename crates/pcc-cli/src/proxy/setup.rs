//! What connections of a proxy run with, at both sides.

use crate::seconds::time;
use crate::sending::Sending;
use noq::{Connection, IdleTimeout, TransportConfig, VarInt};
use pcc::{InitialWindows, Weight};
use pcc_quic::{Algorithm, Transport, windows};
use std::time::Duration;

/// Datagrams that wait to be sent, or to be looked at, in bytes: a burst. Beyond that they are dropped, as by a queue of the
/// network. At 10 Mbit/s this is 0.2 s.
const DATAGRAMS: usize = 256 << 10;

/// How this side sends, as options of the commands.
#[derive(Clone, Debug, clap::Args)]
pub struct Traffic {
    #[command(flatten)]
    /// The controller.
    pub sending: Sending,
    /// Cut all connections off when nothing was heard of the other side for this long, 10 s to an hour: seconds, or for example 2min.
    /// The shorter time of the two sides counts
    #[arg(long, value_name = "TIME", default_value = "90", allow_negative_numbers = true, value_parser = timeout)]
    pub timeout: Duration,
}

fn timeout(text: &str) -> Result<Duration, String> {
    let allowed = Duration::from_secs(10)..=Duration::from_secs(3600);
    let time = time(text)?;
    if allowed.contains(&time) { Ok(time) } else { Err("it must be between 10 s and 60 min".to_owned()) }
}

impl Traffic {
    /// What connections run with.
    ///
    /// # Errors
    ///
    /// As [`Sending::transport`].
    pub fn settings(self) -> anyhow::Result<Settings> {
        Ok(Settings { transport: self.sending.transport()?, timeout: self.timeout })
    }
}

/// What a connection has for itself and doesn't share with others.
#[derive(Clone, Debug)]
pub struct Own {
    /// A weight to be changed, if the controller knows weights.
    pub weight: Option<Weight>,
    /// Each tunnel that begins brings one.
    pub initial_windows: InitialWindows,
}

/// What connections run with.
#[derive(Clone, Debug)]
pub struct Settings {
    transport: Transport,
    timeout: Duration,
}

impl Settings {
    /// The congestion controller.
    pub fn controller(&self) -> Algorithm {
        self.transport.algorithm
    }

    /// What a connection has for itself. Its weight begins as the options say.
    pub fn own(&self) -> Own {
        let begin = self.transport.weight.clone().unwrap_or_default();
        let weight = self.controller().has_weight().then(|| Weight::new(begin.get()).unwrap_or_default());
        Own { weight, initial_windows: InitialWindows::default() }
    }

    /// The configuration of a connection that has this for itself.
    ///
    /// A stream's window is as large as a connection's: it is [credit](super::credit) that bounds a stream, and what comes is
    /// read at once.
    pub fn config(&self, own: &Own) -> TransportConfig {
        let Own { weight, initial_windows } = own.clone();
        let mut config = Transport { weight, initial_windows, ..self.transport.clone() }.config();
        config.stream_receive_window(window(windows::CAP));
        config.datagram_receive_buffer_size(Some(DATAGRAMS));
        config.datagram_send_buffer_size(DATAGRAMS);
        config.max_idle_timeout(IdleTimeout::try_from(self.timeout).ok());
        config
    }
}

/// Opens this side of a connection for data, once both sides know each other.
pub fn follow_path(connection: &Connection) {
    connection.set_receive_window(window(windows::START));
    tokio::spawn(windows::follow_path(connection, windows::CAP));
}

fn window(bytes: u64) -> VarInt {
    VarInt::from_u64(bytes).unwrap_or(VarInt::MAX)
}
