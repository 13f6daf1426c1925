//! `pcc proxy serve`: the far side, which connects to targets.

use super::credit::Memory;
use super::dial;
use super::outcome::{Carried, End};
use super::protocol::{ALPN, Hello, MAX_TUNNELS, Refusal, Welcome};
use super::relay;
use super::report::{Event, Reporter};
use super::rules::Rules;
use super::session::{Session, Sessions};
use super::setup::{self, Own, Settings};
use super::target::Target;
use super::tunnel::Wanted;
use super::udp;
use super::udp::serve::Far;
use super::watching::Watching;
use crate::drain::Places;
use crate::failure::{Context, Failure, Kind, Result};
use crate::peer::connecting::remote;
use crate::peer::door::{Door, Guest};
use crate::peer::endpoint::{self, bind, reachable, shown};
use crate::peer::identity::Identity;
use crate::peer::keeper;
use crate::peer::ticket::Ticket;
use crate::peer::wire::{self, connection_failure};
use crate::signals::Signals;
use noq::{Connection, VarInt};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Other sides that may be connected at once.
const MAX_GUESTS: usize = 64;
/// Tunnels of all of them.
const MAX_ALL_TUNNELS: u32 = 4096;
/// How long the other side may take to say what a tunnel is for.
const REQUEST: Duration = Duration::from_secs(10);
/// How long the other side may take to hear the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// Where to listen, and what to allow.
pub struct Options {
    /// The address to listen on; all of this machine where it is absent.
    pub listen: Option<SocketAddr>,
    /// Further addresses for the ticket.
    pub advertise: Vec<SocketAddr>,
    /// Keeps the ticket good over restarts.
    pub identity: Option<PathBuf>,
    /// Where to write the ticket; standard output where it is absent.
    pub ticket_out: Option<PathBuf>,
    /// Where tunnels may lead.
    pub rules: Rules,
    /// How this side sends.
    pub settings: Settings,
    /// How it can be watched.
    pub watching: Watching,
}

/// What all connections share.
struct Shared {
    rules: Arc<Rules>,
    flows: Arc<Far>,
    settings: Settings,
    sessions: Arc<Sessions>,
    memory: Memory,
    places: Places,
    guests: Arc<Semaphore>,
    reporter: Arc<Reporter>,
}

/// Serves those that have the ticket, until a signal.
pub async fn run(options: Options, reporter: Arc<Reporter>) -> Result<()> {
    let identity = options.identity.as_deref().map_or_else(Identity::generate, keeper::identity)?;
    let socket = bind(options.listen)?;
    let addresses = reachable(socket.local_addr().doing(|| "listen")?, &options.advertise)?;
    let (settings, sessions) = (options.settings, Arc::<Sessions>::default());
    let config = endpoint::server_config(&identity, ALPN, settings.config(&settings.own()))?;
    let endpoint = endpoint::server(&identity, config.clone(), socket)?;
    let _watched = options.watching.begin(&sessions, &reporter).await?;
    let mut signals = Signals::of_service().doing(|| "listen for signals")?;
    let ticket = Ticket { certificate: identity.credentials.hash(), secret: identity.secret, addresses };
    let is_new = options.identity.is_none();
    let text = ticket.to_string();
    match &options.ticket_out {
        Some(file) => reporter
            .ticket_into(file, &text, &ticket.addresses)
            .doing(|| format!("write the ticket into {}", file.display()))?,
        None => reporter
            .ticket(&text, &ticket.addresses, is_new)
            .doing(|| "print the ticket, without which nobody can connect")?,
    }

    let rules = Arc::new(options.rules);
    let shared = Arc::new(Shared {
        rules: rules.clone(),
        flows: Arc::new(Far::new(rules, reporter.clone(), udp::IDLE)),
        settings: settings.clone(),
        sessions,
        memory: Memory::new(),
        places: Places::new(MAX_ALL_TUNNELS),
        guests: Arc::new(Semaphore::new(MAX_GUESTS)),
        reporter,
    });
    let unreported = shared.reporter.counters().unreported();
    let mut door = Door::<Hello, _>::accepting(endpoint.clone(), ticket.secret, unreported, move |incoming| {
        // Of its own for each.
        let own = settings.own();
        let config = endpoint::with_transport(config.clone(), settings.config(&own));
        Ok((incoming.accept_with(Arc::new(config))?, own))
    });
    loop {
        tokio::select! {
            arrival = door.next() => match arrival {
                Some((_, Ok(guest))) => drop(tokio::spawn(attend(guest, shared.clone()))),
                Some((address, Err(failure))) => shared.refused(address, &failure),
                None => return Err(Failure::new(Kind::Other, "the network endpoint closed")),
            },
            () = signals.next() => break,
        }
    }
    let drained = shared.places.drain(&mut signals, |open| shared.reporter.event(&Event::Draining { open })).await;
    let end = Failure::new(Kind::Interrupted, "the far side was stopped");
    endpoint.close(VarInt::from_u32(end.kind.code().into()), end.message.as_bytes());
    let _ = timeout(FAREWELL, endpoint.wait_idle()).await;
    if drained { Ok(()) } else { Err(Failure::new(Kind::Interrupted, "connections were cut off")) }
}

impl Shared {
    fn refused(&self, address: SocketAddr, failure: &Failure) {
        let (kind, reason) = (failure.kind.name(), failure.message.clone());
        self.reporter.event(&Event::Refused { peer: shown(address), kind, reason });
    }
}

/// Serves the tunnels of one other side until its connection ends.
async fn attend(mut guest: Guest<Hello, Own>, shared: Arc<Shared>) {
    let connection = guest.connection;
    let Ok(_place) = shared.guests.clone().try_acquire_owned() else {
        let failure = Failure::new(Kind::Other, format!("{MAX_GUESTS} others are connected already"));
        wire::close(&connection, &failure);
        return shared.refused(remote(&connection), &failure);
    };
    let peer = shown(remote(&connection));
    if wire::send(&mut guest.send, &Welcome).await.is_ok() {
        let _ = guest.send.finish();
        let session = Arc::new(Session::new(connection.clone(), &shared.settings, guest.kept));
        shared.reporter.event(&Event::Connected { peer: peer.clone(), id: shared.sessions.add(session.clone()) });
        setup::follow_path(&connection);
        connection.set_max_concurrent_bi_streams(VarInt::from_u32(2 * MAX_TUNNELS));
        tokio::spawn(shared.flows.clone().attend(session.clone()));
        while let Ok(wanted) = Wanted::next(&session).await {
            tokio::spawn(serve(wanted, connection.clone(), shared.clone()));
        }
    }
    let reason = connection_failure(&connection.closed().await).message;
    shared.reporter.event(&Event::Lost { peer, reason });
}

/// Serves one tunnel.
async fn serve(mut wanted: Wanted, connection: Connection, shared: Arc<Shared>) {
    // Who says nothing, or nothing that makes sense, hears nothing.
    let Ok(Ok(request)) = timeout(REQUEST, wanted.request()).await else { return };
    let (target, from) = (request.target, shown(remote(&connection)));
    if target.check().is_err() {
        return;
    }
    let Some(_place) = shared.places.take() else {
        return deny(wanted, from, &target, Refusal::Overloaded, &shared.reporter).await;
    };
    let stream = match dial::connect(&target, &shared.rules).await {
        Ok(stream) => stream,
        Err(refusal) => return deny(wanted, from, &target, refusal, &shared.reporter).await,
    };
    let (began, carried) = (Instant::now(), Carried::default());
    let end = match wanted.accept(&shared.memory).await {
        Ok(tunnel) => relay::tcp(stream, tunnel, &[], &carried.down, &carried.up).await.unwrap_or(End::Lost),
        Err(_) => End::Lost,
    };
    shared.reporter.closed(from, &target, began, &carried, None, end);
}

async fn deny(wanted: Wanted, from: String, target: &Target, refusal: Refusal, reporter: &Reporter) {
    let (target, reason) = (Some(target.to_string()), refusal.to_string());
    reporter.event(&Event::Denied { from, target, reason });
    wanted.refuse(refusal).await;
}
