//! SOCKS5 (RFC 1928): `CONNECT` without authentication.

use super::link::Link;
use super::program::{Denied, HEAD, Opened};
use super::protocol::Refusal;
use super::target::Target;
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
        Refusal::Overloaded | Refusal::NoFarSide | Refusal::Other => ReplyError::GeneralFailure,
    }
}

/// Hears where a program wants to, opens a tunnel to there, and says so.
pub async fn open(program: TcpStream, link: &Link) -> Result<Opened, Denied> {
    let head = async { Socks5ServerProtocol::accept_no_auth(program).await?.read_command().await };
    let head = timeout(HEAD, head).await.map_err(|_| Denied::head("no whole SOCKS5 request in time"))?;
    let (program, command, address) = head.map_err(Denied::head)?;
    let refuse = async |program: Socks5ServerProtocol<_, _>, reply, denied| {
        // The program may have gone away.
        let _ = program.reply_error(&reply).await;
        Err(denied)
    };
    if command != Socks5Command::TCPConnect {
        return refuse(program, ReplyError::CommandNotSupported, Denied::head("SOCKS5: only CONNECT can be done"))
            .await;
    }
    let (host, port) = address.into_string_and_port();
    let target = match Target::new(&host, port) {
        Ok(target) => target,
        Err(why) => return refuse(program, ReplyError::GeneralFailure, Denied::head(why)).await,
    };
    match link.open(&target).await {
        Ok(tunnel) => {
            // Which address the far side has is of no use here.
            let bound = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
            let program = program.reply_success(bound).await.map_err(|e: SocksServerError| Denied::head(e))?;
            Ok(Opened { program, early: Vec::new(), target, tunnel })
        }
        Err(refusal) => refuse(program, reply(refusal), Denied::target(target, refusal)).await,
    }
}
