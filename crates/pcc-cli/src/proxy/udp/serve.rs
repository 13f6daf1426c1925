//! Flows at the far side: a socket for each.

use super::MAX_FLOWS;
use crate::peer::connecting::remote;
use crate::peer::endpoint::shown;
use crate::peer::wire;
use crate::proxy::dial;
use crate::proxy::flow::{Datagrams, MAX_PAYLOAD, Tally};
use crate::proxy::outcome::End;
use crate::proxy::protocol::{ENDED, MAX_MESSAGE, Refusal, Request};
use crate::proxy::report::{Event, Reporter};
use crate::proxy::rules::Rules;
use crate::proxy::session::Session;
use noq::{ReadError, RecvStream, VarInt};
use rustix::net::{SendFlags, send};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Flows of all connections that may be open at once.
const MAX_ALL_FLOWS: usize = 4096;
/// How long the other side may take to say where a flow leads.
const REQUEST: Duration = Duration::from_secs(10);

/// What all flows of a far side share.
pub struct Far {
    rules: Arc<Rules>,
    places: Arc<Semaphore>,
    reporter: Arc<Reporter>,
    patience: Duration,
}

impl Far {
    /// Flows may lead where the rules allow it, and end when nothing has moved for so long.
    pub fn new(rules: Arc<Rules>, reporter: Arc<Reporter>, patience: Duration) -> Far {
        Far { rules, places: Arc::new(Semaphore::new(MAX_ALL_FLOWS)), reporter, patience }
    }

    /// Serves the flows of one other side until its connection ends.
    pub async fn attend(self: Arc<Far>, session: Arc<Session>) {
        let connection = session.connection();
        let datagrams = Datagrams::new(connection.clone());
        connection.set_max_concurrent_uni_streams(VarInt::from_u32(MAX_FLOWS));
        while let Ok(stream) = connection.accept_uni().await {
            let (far, session, datagrams) = (self.clone(), session.clone(), datagrams.clone());
            tokio::spawn(async move { far.serve(stream, &session, &datagrams).await });
        }
    }

    async fn serve(&self, mut stream: RecvStream, session: &Session, datagrams: &Datagrams) {
        let from = shown(remote(session.connection()));
        // Who says nothing, or nothing that makes sense, hears nothing.
        let request = timeout(REQUEST, wire::receive::<Request>(&mut stream, MAX_MESSAGE)).await;
        let Some(Request { target }) =
            request.ok().and_then(Result::ok).filter(|request| request.target.check().is_ok())
        else {
            return;
        };
        let opened = match self.places.clone().try_acquire_owned() {
            Ok(place) => dial::udp(&target, &self.rules).await.map(|socket| (place, socket)),
            Err(_) => Err(Refusal::Overloaded),
        };
        let (_place, socket) = match opened {
            Ok(opened) => opened,
            Err(refusal) => {
                let (target, reason) = (Some(target.to_string()), refusal.to_string());
                self.reporter.event(&Event::Denied { from, target, reason });
                // Fails only where the other side has ended the flow itself.
                let _ = stream.stop(refusal.code());
                return;
            }
        };
        let _open = session.flow();
        let (began, tally) = (Instant::now(), Arc::<Tally>::default());
        let end = carry(socket, &mut stream, datagrams, &tally, self.patience).await;
        let _ = stream.stop(ENDED);
        self.reporter.closed(from, &target, began, &tally.carried, Some(tally.dropped()), end);
    }
}

/// Carries payloads until the other side ends the flow, or nothing moves.
async fn carry(
    socket: UdpSocket,
    stream: &mut RecvStream,
    datagrams: &Datagrams,
    tally: &Arc<Tally>,
    patience: Duration,
) -> End {
    let id = stream.id().index();
    let (socket, count) = (Arc::new(socket), tally.clone());
    let to_target = socket.clone();
    let _registered = datagrams.register(id, move |payload| {
        count.up(payload, send(&to_target, payload, SendFlags::DONTWAIT).is_ok());
    });
    let back = async {
        // A byte more than can be sent, so that what is too long is seen.
        let mut buffer = [0; MAX_PAYLOAD + 1];
        loop {
            // An error is that of an earlier datagram, which the target did not take.
            if let Ok(len) = socket.recv(&mut buffer).await {
                tally.down(&buffer[..len], datagrams.send(id, &buffer[..len]));
            }
        }
    };
    tokio::select! {
        // Nothing more is to be said on it.
        end = stream.read_chunk(1) => if let Err(ReadError::ConnectionLost(_)) = end { End::Lost } else { End::Closed },
        () = back => End::Lost,
        () = tally.idle(patience) => End::Idle,
    }
}
