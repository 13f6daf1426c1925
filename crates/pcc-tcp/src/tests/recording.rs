//! Files of what a sender was told, event by event, and which rates it chose.
//!
//! A row for each event, as its difference from the row before: most numbers are small then and take a byte.

use super::Ack;
use serde::{Deserialize, Serialize};

/// What a sender was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Init,
    Ack,
    Timeout,
    FirstSent,
}

/// One call of a sender, and the pacing rate from then on in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub kind: Kind,
    pub ack: Ack,
    pub rate: u64,
}

/// A sender's life; the first event is its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The kernel's name of its controller.
    pub controller: String,
    pub seed: u32,
    pub events: Vec<Event>,
}

type Row = [i64; 11];

#[derive(Serialize, Deserialize)]
struct File {
    controller: String,
    seed: u32,
    differences: Vec<Row>,
}

impl Recording {
    pub fn to_bytes(&self) -> postcard::Result<Vec<u8>> {
        let mut before = Row::default();
        let differences = self.events.iter().map(|event| {
            let row = row(event);
            let difference = std::array::from_fn(|i| row[i].wrapping_sub(before[i]));
            before = row;
            difference
        });
        let (controller, differences) = (self.controller.clone(), differences.collect());
        postcard::to_allocvec(&File { controller, seed: self.seed, differences })
    }

    pub fn from_bytes(bytes: &[u8]) -> postcard::Result<Recording> {
        let File { controller, seed, differences } = postcard::from_bytes(bytes)?;
        let mut row = Row::default();
        let events = differences.into_iter().map(|difference| {
            row = std::array::from_fn(|i| row[i].wrapping_add(difference[i]));
            event(&row)
        });
        Ok(Recording { controller, seed, events: events.collect() })
    }
}

/// Bytes of the segments sent, if all were full.
fn full(ack: &Ack) -> u64 {
    u64::from(ack.sent).wrapping_mul(ack.mss.into())
}

fn row(event: &Event) -> Row {
    let ack = event.ack;
    [
        event.kind as i64,
        ack.now as i64,
        ack.next_send.wrapping_sub(ack.now) as i64,
        ack.sent.into(),
        ack.bytes_sent.wrapping_sub(full(&ack)) as i64,
        ack.in_flight.into(),
        ack.lost.into(),
        ack.mss.into(),
        // The kernel measures in us.
        (ack.rtt / 1000) as i64,
        (ack.srtt / 1000) as i64,
        event.rate as i64,
    ]
}

fn event(&[kind, now, gap, sent, excess, in_flight, lost, mss, rtt, srtt, rate]: &Row) -> Event {
    let mut ack = Ack {
        now: now as u64,
        next_send: now.wrapping_add(gap) as u64,
        bytes_sent: 0,
        sent: sent as u32,
        in_flight: in_flight as u32,
        lost: lost as u32,
        mss: mss as u32,
        rtt: rtt as u64 * 1000,
        srtt: srtt as u64 * 1000,
    };
    ack.bytes_sent = full(&ack).wrapping_add(excess as u64);
    let kind = match kind {
        0 => Kind::Init,
        1 => Kind::Ack,
        2 => Kind::Timeout,
        _ => Kind::FirstSent,
    };
    Event { kind, ack, rate: rate as u64 }
}
