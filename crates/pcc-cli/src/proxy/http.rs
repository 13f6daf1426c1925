//! HTTP/1.1's CONNECT (RFC 9110 9.3.6).

use super::link::Link;
use super::program::{Denied, HEAD, Opened, ProgramTunnel};
use super::protocol::Refusal;
use super::target::Target;
use httparse::{EMPTY_HEADER, Request, Status};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The longest head of a request, in bytes.
const MAX_HEAD: usize = 8 << 10;
/// The most header fields.
const MAX_FIELDS: usize = 64;
/// How long a program that is refused may take to read why.
const FAREWELL: Duration = Duration::from_secs(1);

/// A status code (RFC 9110 15) and its name.
type Code = (u16, &'static str);

const BAD_REQUEST: Code = (400, "Bad Request");
const METHOD_NOT_ALLOWED: Code = (405, "Method Not Allowed");
const REQUEST_TIMEOUT: Code = (408, "Request Timeout");
/// RFC 6585 5.
const HEAD_TOO_LARGE: Code = (431, "Request Header Fields Too Large");

/// The answer to a program that gets no tunnel.
fn code(refusal: Refusal) -> Code {
    match refusal {
        Refusal::NotAllowed => (403, "Forbidden"),
        Refusal::TimedOut => (504, "Gateway Timeout"),
        Refusal::Overloaded | Refusal::Full => (503, "Service Unavailable"),
        Refusal::HostUnreachable
        | Refusal::NetworkUnreachable
        | Refusal::ConnectionRefused
        | Refusal::NoFarSide
        | Refusal::Other => (502, "Bad Gateway"),
    }
}

/// What is wrong with a head.
struct Fault {
    code: Code,
    reason: String,
}

impl Fault {
    fn new(code: Code, reason: impl Into<String>) -> Fault {
        Fault { code, reason: reason.into() }
    }
}

/// Where a head asks to be connected, and how long the head is; none while it is not complete.
fn parse(bytes: &[u8]) -> Result<Option<(Target, usize)>, Fault> {
    let mut fields = [EMPTY_HEADER; MAX_FIELDS];
    let mut request = Request::new(&mut fields);
    let parsed = request.parse(bytes).map_err(|error| match error {
        httparse::Error::TooManyHeaders => Fault::new(HEAD_TOO_LARGE, format!("more than {MAX_FIELDS} header fields")),
        other => Fault::new(BAD_REQUEST, format!("this is no HTTP/1.1 request: {other}")),
    })?;
    let Status::Complete(len) = parsed else {
        let too_long = || Fault::new(HEAD_TOO_LARGE, format!("the head is longer than {MAX_HEAD} bytes"));
        return if bytes.len() < MAX_HEAD { Ok(None) } else { Err(too_long()) };
    };
    if request.method != Some("CONNECT") {
        let why = "only CONNECT can be done; with curl, that is --proxytunnel";
        return Err(Fault::new(METHOD_NOT_ALLOWED, why));
    }
    let target = request.path.unwrap_or_default().parse().map_err(|why: String| Fault::new(BAD_REQUEST, why))?;
    Ok(Some((target, len)))
}

/// Reads a head: where it asks to be connected, and what came behind it.
async fn read(program: &mut TcpStream) -> io::Result<Result<(Target, Vec<u8>), Fault>> {
    let mut bytes = Vec::with_capacity(1024);
    loop {
        if program.take((MAX_HEAD - bytes.len()) as u64).read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match parse(&bytes) {
            Ok(None) => {}
            Ok(Some((target, len))) => return Ok(Ok((target, bytes.split_off(len)))),
            Err(fault) => return Ok(Err(fault)),
        }
    }
}

/// Hears where a program wants to, opens a tunnel to there, and says so.
pub async fn open(mut program: TcpStream, link: &Link) -> Result<Opened, Denied> {
    let late = |_| Ok(Err(Fault::new(REQUEST_TIMEOUT, "no whole request in time")));
    let (target, early) = match timeout(HEAD, read(&mut program)).await.unwrap_or_else(late)? {
        Ok(head) => head,
        Err(Fault { code, reason }) => {
            refuse(program, code, &reason).await;
            return Err(Denied::head(format!("HTTP: {reason}")));
        }
    };
    match link.open(&target).await {
        Ok(tunnel) => {
            program.write_all(b"HTTP/1.1 200 Connection Established\r\n\r\n").await?;
            Ok(Opened::Tunnel(Box::new(ProgramTunnel { program, early, target, tunnel })))
        }
        Err(refusal) => {
            refuse(program, code(refusal), &refusal.to_string()).await;
            Err(Denied::target(target, refusal))
        }
    }
}

/// Says why there is no tunnel. The program may have gone away.
async fn refuse(mut program: TcpStream, (code, name): Code, reason: &str) {
    let allow = if code == METHOD_NOT_ALLOWED.0 { "Allow: CONNECT\r\n" } else { "" };
    let answer = format!(
        "HTTP/1.1 {code} {name}\r\n{allow}Content-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{reason}\n",
        reason.len() + 1
    );
    let farewell = async {
        program.write_all(answer.as_bytes()).await?;
        program.shutdown().await?;
        // A close with bytes that were not read would reset the connection, and the answer could get lost.
        let mut rest = [0; 1024];
        while program.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    let _ = timeout(FAREWELL, farewell).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fault(head: &str) -> u16 {
        parse(head.as_bytes()).map(drop).unwrap_err().code.0
    }

    #[test]
    fn heads_are_read() {
        let head = "CONNECT camera:554 HTTP/1.1\r\nHost: camera:554\r\n\r\n";
        let (target, len) = parse(format!("{head}early").as_bytes()).ok().flatten().unwrap();
        assert_eq!((target.to_string().as_str(), len), ("camera:554", head.len()));
        for len in 0..head.len() {
            assert!(matches!(parse(&head.as_bytes()[..len]), Ok(None)), "{len}");
        }
    }

    #[test]
    fn mistakes_have_their_codes() {
        assert_eq!(fault("GET http://camera/ HTTP/1.1\r\n\r\n"), 405);
        assert_eq!(fault("CONNECT camera HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(fault("CONNECT /x:1 HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(fault("\x16\x03\x01"), 400);
        assert_eq!(fault(&format!("CONNECT a:1 HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(MAX_FIELDS + 1))), 431);
        assert_eq!(fault(&format!("CONNECT a:1 HTTP/1.1\r\nA: {}", "b".repeat(MAX_HEAD))), 431);
    }

    proptest! {
        #[test]
        fn anything_has_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..2 * MAX_HEAD)) {
            if let Ok(None) = parse(&bytes) {
                prop_assert!(bytes.len() < MAX_HEAD);
            }
        }

        #[test]
        fn whatever_is_asked_for_is_a_target(
            method in "CONNECT|GET", host in "[a-z:\\[\\]/@. ]{0,20}", port in 0_u32..70000, more in "[ -~\r\n]{0,99}",
        ) {
            let head = format!("{method} {host}:{port} HTTP/1.1\r\n{more}\r\n\r\n");
            if let Ok(Some((target, len))) = parse(head.as_bytes()) {
                prop_assert!(target.check().is_ok() && len <= head.len());
            }
        }
    }
}
