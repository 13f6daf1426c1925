//! The connections between two sides, as they are shown and changed while they run.

use super::setup::{Own, Settings};
use crate::peer::connecting::remote;
use crate::peer::endpoint::shown;
use noq::{Connection, PathId};
use pcc::{Rate, Weight};
use pcc_quic::Statistics;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// One tunnel or flow, which counts as long as this is kept.
pub type Counted = Arc<()>;

/// One connection.
pub struct Session {
    connection: Connection,
    controller: &'static str,
    own: Own,
    began: Instant,
    tunnels: Counted,
    flows: Counted,
}

impl Session {
    /// That of a connection with these settings, which has this for itself.
    pub fn new(connection: Connection, settings: &Settings, own: Own) -> Session {
        let controller = settings.controller().name();
        let (tunnels, flows) = (Counted::default(), Counted::default());
        Session { connection, controller, own, began: Instant::now(), tunnels, flows }
    }

    /// The connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// One more tunnel is open.
    pub fn tunnel(&self) -> Counted {
        self.own.initial_windows.announce();
        self.tunnels.clone()
    }

    /// One more flow is open.
    pub fn flow(&self) -> Counted {
        self.flows.clone()
    }

    fn status(&self, id: u32) -> Status {
        let (statistics, sums) = (Statistics::of(&self.connection, PathId::ZERO), self.connection.stats());
        Status {
            id: name(id),
            peer: shown(remote(&self.connection)),
            controller: self.controller.to_owned(),
            weight: self.own.weight.as_ref().map(Weight::get),
            age_s: self.began.elapsed().as_secs_f64(),
            pacing_mbps: statistics.and_then(|now| now.pacing_rate).map(Rate::mbps),
            rate_mbps: statistics.map(|now| now.delivery_rate.mbps()),
            loss: statistics.map(|now| now.loss),
            rtt_ms: self.connection.rtt(PathId::ZERO).map(ms),
            min_rtt_ms: statistics.and_then(|now| now.min_rtt).map(ms),
            sent_packets: sums.sent_packets,
            lost_packets: sums.lost_packets,
            sent_bytes: sums.udp_tx.bytes,
            received_bytes: sums.udp_rx.bytes,
            tunnels: Arc::strong_count(&self.tunnels) - 1,
            flows: Arc::strong_count(&self.flows) - 1,
        }
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A connection's name on this machine.
fn name(id: u32) -> String {
    format!("{}.{id}", std::process::id())
}

/// What a connection does at the moment. What noq's own controllers don't tell is absent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The process and a number.
    pub id: String,
    /// The address of the other side.
    pub peer: String,
    /// What this side sends with.
    pub controller: String,
    /// Its weight, if it knows weights.
    pub weight: Option<f64>,
    /// For how long it has been there, in seconds.
    pub age_s: f64,
    /// The rate that it is sent at while there is something to send, in Mbit/s.
    pub pacing_mbps: Option<f64>,
    /// The rate at which packets were acknowledged in the last round trip, in Mbit/s.
    pub rate_mbps: Option<f64>,
    /// The share of packets that was lost in the last round trip, in 0..=1.
    pub loss: Option<f64>,
    /// The smoothed round-trip time, in milliseconds.
    pub rtt_ms: Option<f64>,
    /// The smallest round-trip time, in milliseconds.
    pub min_rtt_ms: Option<f64>,
    /// All packets that were sent.
    pub sent_packets: u64,
    /// Those of them that were lost.
    pub lost_packets: u64,
    /// Bytes on the wire from here, without the headers of UDP and IP.
    pub sent_bytes: u64,
    /// Those from the other side.
    pub received_bytes: u64,
    /// Open TCP connections of programs.
    pub tunnels: usize,
    /// Open flows of datagrams.
    pub flows: usize,
}

/// All connections of this process.
#[derive(Default)]
pub struct Sessions(Mutex<Numbered>);

/// What all connections of this process have carried since it began, also those that have ended. Without the headers of UDP and IP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many connections there were.
    pub connections: u64,
    /// All packets that were sent.
    pub sent_packets: u64,
    /// Those of them that were lost.
    pub lost_packets: u64,
    /// Bytes from here.
    pub sent_bytes: u64,
    /// Bytes from the other sides.
    pub received_bytes: u64,
}

impl Totals {
    fn with(self, session: &Session) -> Totals {
        let sums = session.connection.stats();
        Totals {
            connections: self.connections + 1,
            sent_packets: self.sent_packets + sums.sent_packets,
            lost_packets: self.lost_packets + sums.lost_packets,
            sent_bytes: self.sent_bytes + sums.udp_tx.bytes,
            received_bytes: self.received_bytes + sums.udp_rx.bytes,
        }
    }
}

#[derive(Default)]
struct Numbered {
    /// What those that have ended had carried.
    ended: Totals,
    last: u32,
    open: BTreeMap<u32, Arc<Session>>,
}

impl Sessions {
    /// Adds one. Returns its name.
    pub fn add(&self, session: Arc<Session>) -> String {
        let mut sessions = self.open();
        sessions.last += 1;
        let id = sessions.last;
        sessions.open.insert(id, session);
        name(id)
    }

    /// What all do at the moment.
    pub fn statuses(&self) -> Vec<Status> {
        self.open().open.iter().map(|(id, session)| session.status(*id)).collect()
    }

    /// What all have carried together.
    pub fn totals(&self) -> Totals {
        let sessions = self.open();
        sessions.open.values().fold(sessions.ended, |totals, session| totals.with(session))
    }

    /// Changes the weight of one.
    ///
    /// # Errors
    ///
    /// Why that can't be.
    pub fn set_weight(&self, id: &str, weight: f64) -> Result<(), String> {
        let sessions = self.open();
        let (_, session) = sessions
            .open
            .iter()
            .find(|(other, _)| name(**other) == id)
            .ok_or(format!("there is no connection {id}"))?;
        let mine = session.own.weight.as_ref().ok_or(format!("{} knows no weights", session.controller))?;
        mine.set(weight).map_err(|wrong| wrong.to_string())
    }

    /// Those that have not ended.
    fn open(&self) -> MutexGuard<'_, Numbered> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Numbered { ended, open, .. } = &mut *sessions;
        open.retain(|_, session| {
            let is_open = session.connection.close_reason().is_none();
            if !is_open {
                *ended = ended.with(session);
            }
            is_open
        });
        sessions
    }
}
