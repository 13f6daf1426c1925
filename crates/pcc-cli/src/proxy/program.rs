//! What becomes of a program that asks for a tunnel.

use super::protocol::Refusal;
use super::target::Target;
use super::tunnel::Tunnel;
use super::udp::association::Association;
use std::fmt;
use std::io;
use std::time::Duration;
use tokio::net::TcpStream;

/// How long a program may take to say where it wants to.
pub const HEAD: Duration = Duration::from_secs(10);

/// A program that has what it asked for.
pub enum Opened {
    /// A tunnel.
    Tunnel(Box<ProgramTunnel>),
    /// A socket for datagrams, for as long as this connection to the program is open.
    Association(TcpStream, Association),
}

/// A program's tunnel.
pub struct ProgramTunnel {
    /// The connection to the program.
    pub program: TcpStream,
    /// What it has sent already of what is for the target.
    pub early: Vec<u8>,
    /// Where it wants to.
    pub target: Target,
    /// The way there. Its answer may be still to come.
    pub tunnel: Tunnel,
}

/// Why a program has none. It was told, as far as its protocol allows.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct Denied {
    /// Where it wanted to, if it got as far as that.
    pub target: Option<Target>,
    /// What is wrong.
    pub reason: String,
}

impl Denied {
    /// Nothing can be made of what the program said.
    pub fn head(reason: impl fmt::Display) -> Denied {
        Denied { target: None, reason: reason.to_string() }
    }

    /// There is no way to its target.
    pub fn target(target: Target, refusal: Refusal) -> Denied {
        Denied { target: Some(target), reason: refusal.to_string() }
    }
}

impl From<io::Error> for Denied {
    fn from(error: io::Error) -> Denied {
        Denied::head(format!("the program's connection failed: {error}"))
    }
}
