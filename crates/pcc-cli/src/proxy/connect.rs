//! `pcc proxy connect`: takes connections of programs and gives them tunnels.

use super::front::{Forward, Front};
use super::link::{Link, Way, keep};
use super::outcome::Carried;
use super::program::{Denied, Opened};
use super::protocol::{MAX_TUNNELS, Refusal};
use super::relay;
use super::report::{Event, Reporter};
use super::session::Sessions;
use super::setup::Settings;
use super::udp;
use super::watching::Watching;
use crate::drain::Places;
use crate::failure::{Context, Failure, Kind, Result};
use crate::peer::endpoint::shown;
use crate::signals::Signals;
use noq::VarInt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How many programs that can have no tunnel are told so at once.
const MAX_REFUSALS: u32 = 64;
/// How long to wait when no connection can be taken, as where too many files are open.
const PAUSE: Duration = Duration::from_millis(100);
/// How long the far side may take to hear the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// What to offer to programs, and how to get to the far side.
pub struct Options {
    /// Where to listen, and what is spoken there.
    pub fronts: Vec<(SocketAddr, Front)>,
    /// Where datagrams come, and where they lead.
    pub forwards: Vec<Forward>,
    /// The ticket as the far side printed it.
    pub ticket: String,
    /// How this side sends.
    pub settings: Settings,
    /// How it can be watched.
    pub watching: Watching,
}

/// What all connections of programs share.
struct Shared {
    link: Link,
    places: Places,
    /// For connections that have no place but may still say what they want, so that they can be told.
    refusals: Places,
    udp: Arc<udp::Near>,
    reporter: Arc<Reporter>,
}

/// Serves programs until a signal.
pub async fn run(options: Options, reporter: Arc<Reporter>) -> Result<()> {
    let way = Way::new(options.ticket.parse()?, options.settings)?;
    let sessions = Arc::<Sessions>::default();
    let mut signals = Signals::of_service().doing(|| "listen for signals")?;
    let mut listeners = Vec::new();
    for (address, front) in options.fronts {
        let listener = TcpListener::bind(address).await.doing(|| format!("listen on {address}"))?;
        listeners.push((listener, front));
    }
    let mut sockets = Vec::new();
    for Forward { listen, target, .. } in options.forwards {
        let socket = UdpSocket::bind(listen).await.doing(|| format!("listen on {listen}"))?;
        sockets.push((socket, target));
    }
    let _watched = options.watching.begin(&sessions, &reporter).await?;
    let (known, link) = Link::new(None);
    let udp = Arc::new(udp::Near::new(link.clone(), reporter.clone(), udp::IDLE));
    let shared =
        Arc::new(Shared { link, places: Places::new(MAX_TUNNELS), refusals: Places::new(MAX_REFUSALS), udp, reporter });

    let mut accepting = JoinSet::new();
    for (listener, front) in listeners {
        shared.listening(front.kind(), listener.local_addr().doing(|| "listen")?);
        accepting.spawn(accept(listener, front, shared.clone()));
    }
    for (socket, target) in sockets {
        shared.listening("udp-forward", socket.local_addr().doing(|| "listen")?);
        accepting.spawn(udp::forward::run(socket, target, shared.udp.clone()));
    }
    let result = tokio::select! {
        failure = keep(&way, known, &sessions, &shared.reporter) => Err(failure),
        () = signals.next() => {
            accepting.shutdown().await;
            match shared.places.drain(&mut signals, |open| shared.reporter.event(&Event::Draining { open })).await {
                true => Ok(()),
                false => Err(Failure::new(Kind::Interrupted, "connections were cut off")),
            }
        }
    };
    way.endpoint().close(VarInt::from_u32(Kind::Interrupted.code().into()), b"the other side was stopped");
    let _ = timeout(FAREWELL, way.endpoint().wait_idle()).await;
    result
}

impl Shared {
    fn listening(&self, kind: &'static str, address: SocketAddr) {
        self.reporter.event(&Event::Listening { kind, address });
        if !address.ip().is_loopback() {
            let message = format!("note: whoever can reach {address} can use this proxy");
            self.reporter.event(&Event::Note { message: &message });
        }
    }

    fn denied(&self, from: String, Denied { target, reason }: Denied) {
        let target = target.map(|target| target.to_string());
        self.reporter.event(&Event::Denied { from, target, reason });
    }
}

async fn accept(listener: TcpListener, front: Front, shared: Arc<Shared>) {
    let front = Arc::new(front);
    loop {
        match listener.accept().await {
            Ok((program, from)) => drop(tokio::spawn(serve(program, from, front.clone(), shared.clone()))),
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Serves one program's connection.
async fn serve(program: TcpStream, from: SocketAddr, front: Arc<Front>, shared: Arc<Shared>) {
    let from = shown(from);
    let (place, link) = if let Some(place) = shared.places.take() {
        (place, shared.link.clone())
    } else if let Some(place) = shared.refusals.take() {
        (place, shared.link.full())
    } else {
        front.turn_away(&program);
        return shared.denied(from, Denied::head(Refusal::Full));
    };
    let way = match front.open(program, &link).await {
        Ok(Opened::Tunnel(way)) => way,
        Ok(Opened::Association(program, association)) => {
            // Datagrams have no end that could be waited for.
            drop(place);
            return association.carry(program, from, shared.udp.clone()).await;
        }
        Err(denied) => return shared.denied(from, denied),
    };
    let (began, carried) = (Instant::now(), Carried::default());
    let end = relay::tcp(way.program, way.tunnel, &way.early, &carried.up, &carried.down).await;
    match end {
        Ok(end) => shared.reporter.closed(from, &way.target, began, &carried, None, end),
        Err(refusal) => shared.denied(from, Denied::target(way.target, refusal)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::credit::Memory;
    use crate::proxy::tests::{PATIENCE, ends};
    use crate::proxy::tunnel::Opener;
    use std::io::ErrorKind;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// With no place for a connection, and so many for those that are told so.
    fn full(link: Link, refusals: u32) -> Arc<Shared> {
        let reporter = Arc::new(Reporter::new(true));
        let udp = Arc::new(udp::Near::new(link.clone(), reporter.clone(), udp::IDLE));
        Arc::new(Shared { link, places: Places::new(0), refusals: Places::new(refusals), udp, reporter })
    }

    #[tokio::test]
    async fn who_finds_no_place_is_told() {
        let ends = ends().await;
        let (_known, link) = Link::new(Some(Opener::new(ends.near.clone(), Memory::new())));
        let shared = full(link, 1);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let answer = async |front, request: &[u8]| {
            let mut program = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            program.write_all(request).await.unwrap();
            program.shutdown().await.unwrap();
            let (accepted, from) = listener.accept().await.unwrap();
            let mut answer = Vec::new();
            let (_, read) = tokio::join!(
                serve(accepted, from, Arc::new(front), shared.clone()),
                timeout(PATIENCE, program.read_to_end(&mut answer))
            );
            read.expect("it hangs").unwrap();
            answer
        };
        let http = answer(Front::Http, b"CONNECT camera:554 HTTP/1.1\r\n\r\n").await;
        let http = String::from_utf8(http).unwrap();
        assert!(http.starts_with("HTTP/1.1 503 ") && http.contains("this side of the proxy"), "{http}");
        let socks = answer(Front::Socks, b"\x05\x01\x00\x05\x01\x00\x03\x06camera\x02\x2a").await;
        assert_eq!(socks[..4], [5, 0, 5, 1], "a general failure");
    }

    #[tokio::test]
    async fn where_too_many_are_told_a_forward_is_reset() {
        let (_known, link) = Link::new(None);
        let shared = full(link, 0);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        for (front, is_reset) in [(Front::Forward("camera:554".parse().unwrap()), true), (Front::Socks, false)] {
            let mut program = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (accepted, from) = listener.accept().await.unwrap();
            serve(accepted, from, Arc::new(front), shared.clone()).await;
            let read = timeout(PATIENCE, program.read(&mut [0])).await.expect("it hangs");
            assert_eq!(read.map_err(|e| e.kind()), if is_reset { Err(ErrorKind::ConnectionReset) } else { Ok(0) });
        }
    }
}
