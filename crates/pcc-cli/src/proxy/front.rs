//! Where programs connect, at the side that has the ticket.

use super::http;
use super::link::Link;
use super::program::{Denied, Opened, ProgramTunnel};
use super::socks;
use super::target::Target;
use std::net::SocketAddr;
use std::str::FromStr;
use tokio::net::TcpStream;

/// What is spoken to programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Front {
    /// SOCKS5, RFC 1928.
    Socks,
    /// HTTP's CONNECT, RFC 9110 9.3.6.
    Http,
    /// Nothing: all connections lead to the same target.
    Forward(Target),
}

impl Front {
    /// The name in reports.
    pub fn kind(&self) -> &'static str {
        match self {
            Front::Socks => "socks",
            Front::Http => "http",
            Front::Forward(_) => "forward",
        }
    }

    /// Hears what a program wants, and opens it.
    pub async fn open(&self, program: TcpStream, link: &Link) -> Result<Opened, Denied> {
        match self {
            Front::Socks => socks::open(program, link).await,
            Front::Http => http::open(program, link).await,
            Front::Forward(target) => match link.ask(target).await {
                Ok(tunnel) => Ok(Opened::Tunnel(Box::new(ProgramTunnel {
                    program,
                    early: Vec::new(),
                    target: target.clone(),
                    tunnel,
                }))),
                Err(refusal) => {
                    self.turn_away(&program);
                    Err(Denied::target(target.clone(), refusal))
                }
            },
        }
    }

    /// Before a program's connection is closed that was told nothing: without a protocol, all that can be said is a reset.
    pub fn turn_away(&self, program: &TcpStream) {
        if let Front::Forward(_) = self {
            let _ = program.set_zero_linger();
        }
    }
}

/// A local address, and the target that what comes there leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Whether it is datagrams that come, instead of connections.
    pub is_udp: bool,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where it leads.
    pub target: Target,
}

impl FromStr for Forward {
    type Err = String;

    fn from_str(text: &str) -> Result<Forward, String> {
        let wanted = || {
            format!(
                "{text:?} is no LISTEN=HOST:PORT, such as 127.0.0.1:8554=camera:554, or udp:127.0.0.1:5353=resolver:53 for UDP"
            )
        };
        let (is_udp, rest) = text.strip_prefix("udp:").map_or((false, text), |rest| (true, rest));
        let (listen, target) = rest.split_once('=').ok_or_else(wanted)?;
        Ok(Forward { is_udp, listen: listen.parse().map_err(|_| wanted())?, target: target.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwards_are_an_address_and_a_target() {
        let forward: Forward = "127.0.0.1:8554=camera:554".parse().unwrap();
        assert_eq!((forward.listen.port(), forward.target.to_string()), (8554, "camera:554".to_owned()));
        assert!(!forward.is_udp);
        let forward: Forward = "udp:[::1]:5353=resolver:53".parse().unwrap();
        assert_eq!((forward.is_udp, forward.listen.port(), forward.target.port()), (true, 5353, 53));
        for text in ["8554=camera:554", "127.0.0.1:8554", "127.0.0.1:8554=camera", "tcp:127.0.0.1:1=camera:554"] {
            assert!(text.parse::<Forward>().unwrap_err().contains("camera:554"), "{text}");
        }
    }
}
