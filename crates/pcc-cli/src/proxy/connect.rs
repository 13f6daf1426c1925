//! `pcc proxy connect`: takes connections of programs and gives them tunnels.

use super::front::Front;
use super::link::{Link, Way, keep};
use super::outcome::Carried;
use super::protocol::MAX_TUNNELS;
use super::relay;
use super::report::{Event, Reporter};
use super::setup::Traffic;
use crate::drain::Places;
use crate::failure::{Context, Failure, Kind, Result};
use crate::peer::connecting::remote;
use crate::peer::endpoint::shown;
use crate::signals::Signals;
use noq::VarInt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long to wait when no connection can be taken, as where too many files are open.
const PAUSE: Duration = Duration::from_millis(100);
/// How long the far side may take to hear the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// What to offer to programs, and how to get to the far side.
pub struct Options {
    /// Where to listen, and what is spoken there.
    pub fronts: Vec<(SocketAddr, Front)>,
    /// The ticket as the far side printed it.
    pub ticket: String,
    /// How this side sends.
    pub traffic: Traffic,
}

/// What all connections of programs share.
struct Shared {
    link: Link,
    places: Places,
    reporter: Arc<Reporter>,
}

/// Serves programs until a signal.
pub async fn run(options: Options, reporter: Arc<Reporter>) -> Result<()> {
    let way = Way::new(options.ticket.parse()?, &options.traffic)?;
    let mut signals = Signals::new().doing(|| "listen for signals")?;
    let mut listeners = Vec::new();
    for (address, front) in options.fronts {
        let listener = TcpListener::bind(address).await.doing(|| format!("listen on {address}"))?;
        listeners.push((listener, front));
    }
    let opener = tokio::select! {
        opener = way.connect() => opener?,
        () = signals.next() => return Err(Failure::new(Kind::Interrupted, "interrupted")),
    };
    reporter.event(&Event::Connected { peer: shown(remote(opener.connection())) });
    let (known, link) = Link::new(opener);
    let shared = Arc::new(Shared { link, places: Places::new(MAX_TUNNELS), reporter });

    let mut accepting = JoinSet::new();
    for (listener, front) in listeners {
        let address = listener.local_addr().doing(|| "listen")?;
        shared.reporter.event(&Event::Listening { kind: front.kind(), address });
        if !address.ip().is_loopback() {
            let message = format!("note: whoever can reach {address} can use this proxy");
            shared.reporter.event(&Event::Note { message: &message });
        }
        accepting.spawn(accept(listener, front, shared.clone()));
    }
    let result = tokio::select! {
        failure = keep(&way, known, &shared.reporter) => Err(failure),
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
    let Some(_place) = shared.places.take() else {
        let reason = format!("{MAX_TUNNELS} connections are open already");
        return shared.reporter.event(&Event::Denied { from, target: None, reason });
    };
    let opened = match front.open(program, &shared.link).await {
        Ok(opened) => opened,
        Err(denied) => {
            let target = denied.target.map(|target| target.to_string());
            return shared.reporter.event(&Event::Denied { from, target, reason: denied.reason });
        }
    };
    let (began, carried) = (Instant::now(), Carried::default());
    let end = relay::tcp(opened.program, opened.tunnel, &opened.early, &carried.up, &carried.down).await;
    shared.reporter.closed(from, &opened.target, began, &carried, end);
}
