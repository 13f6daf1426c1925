//! SOCKS5 (RFC 1928): `CONNECT` and `UDP ASSOCIATE` without authentication.

use super::link::Link;
use super::program::{Denied, HEAD, Opened, ProgramTunnel};
use super::protocol::Refusal;
use super::target::Target;
use super::udp::association::Association;
use fast_socks5::server::{Socks5ServerProtocol, SocksServerError};
use fast_socks5::{ReplyError, Socks5Command};
use std::net::{Ipv4Addr, SocketAddr};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The reply (RFC 1928 6) to a program that gets no tunnel.
fn reply(refusal: Refusal) -> ReplyError {
    match refusal {
        Refusal::NotAllowed => ReplyError::ConnectionNotAllowed,
        Refusal::HostUnreachable => ReplyError::HostUnreachable,
        Refusal::NetworkUnreachable => ReplyError::NetworkUnreachable,
        Refusal::ConnectionRefused => ReplyError::ConnectionRefused,
        Refusal::TimedOut => ReplyError::TtlExpired,
        Refusal::Overloaded | Refusal::NoFarSide | Refusal::Other | Refusal::Full => ReplyError::GeneralFailure,
    }
}

/// Hears what a program wants, opens a tunnel or a socket for it, and says so.
pub async fn open(program: TcpStream, link: &Link) -> Result<Opened, Denied> {
    let addresses = program.local_addr().and_then(|local| Ok((local.ip(), program.peer_addr()?.ip())))?;
    let head = async { Socks5ServerProtocol::accept_no_auth(program).await?.read_command().await };
    let head = timeout(HEAD, head).await.map_err(|_| Denied::head("no whole SOCKS5 request in time"))?;
    let (program, command, address) = head.map_err(Denied::head)?;
    let refuse = async |program: Socks5ServerProtocol<_, _>, reply, denied| {
        // The program may have gone away.
        let _ = program.reply_error(&reply).await;
        Err(denied)
    };
    let (host, port) = address.into_string_and_port();
    match command {
        Socks5Command::TCPConnect => {}
        Socks5Command::UDPAssociate => {
            // The port is the one that the program will send from, or 0.
            return match Association::bind(addresses, port).await {
                Ok((association, bound)) => {
                    let program = program.reply_success(bound).await.map_err(Denied::head)?;
                    Ok(Opened::Association(program, association))
                }
                Err(error) => refuse(program, ReplyError::GeneralFailure, Denied::from(error)).await,
            };
        }
        Socks5Command::TCPBind => {
            let denied = Denied::head("SOCKS5: only CONNECT and UDP ASSOCIATE can be done");
            return refuse(program, ReplyError::CommandNotSupported, denied).await;
        }
    }
    let target = match Target::new(&host, port) {
        Ok(target) => target,
        Err(why) => return refuse(program, ReplyError::GeneralFailure, Denied::head(why)).await,
    };
    match link.open(&target).await {
        Ok(tunnel) => {
            // Which address the far side has is of no use here.
            let bound = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
            let program = program.reply_success(bound).await.map_err(|e: SocksServerError| Denied::head(e))?;
            Ok(Opened::Tunnel(Box::new(ProgramTunnel { program, early: Vec::new(), target, tunnel })))
        }
        Err(refusal) => refuse(program, reply(refusal), Denied::target(target, refusal)).await,
    }
}
