//! Controllers for tests.

use pcc::{AckedPacket, CongestionControl, Ecn, LostPacket, Rate, SentPacket, Time};
use pcc_quic::{Factory, Start};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Sends at one rate whatever happens.
#[derive(Debug)]
pub struct Fixed(pub Rate);

impl Fixed {
    pub fn factory(mbps: f64) -> Factory {
        Factory::new(move |_| Box::new(Fixed(Rate::from_mbps(mbps))))
    }
}

impl CongestionControl for Fixed {
    fn on_packet_sent(&mut self, _: &SentPacket) {}
    fn on_packet_acked(&mut self, _: &AckedPacket) {}
    fn on_packet_lost(&mut self, _: &LostPacket) {}
    fn on_batch_end(&mut self, _: Time) {}

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.0)
    }

    fn in_flight_cap(&self) -> u64 {
        1 << 40
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Acked,
    Marked,
    Lost,
    Discarded,
}

/// What the sender's controller was told.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub sent: BTreeMap<u64, (SentPacket, Option<Outcome>)>,
    /// Whatever breaks the contract, in words.
    pub errors: Vec<String>,
    open: Option<Time>,
}

impl Ledger {
    pub fn count(&self, outcome: Option<Outcome>) -> usize {
        self.sent.values().filter(|(_, given)| *given == outcome).count()
    }

    fn error(&mut self, error: String) {
        self.errors.push(error);
    }

    fn outcome(&mut self, at: Time, number: u64, outcome: Outcome, same: impl Fn(&SentPacket) -> bool) {
        if self.open.is_some_and(|open| open != at) {
            self.error(format!("the batch of {:?} was not closed before {at:?}", self.open));
        }
        self.open = Some(at);
        match self.sent.get_mut(&number) {
            Some((packet, given @ None)) if same(packet) => *given = Some(outcome),
            other => {
                let error = format!("{outcome:?} for {number}: {other:?}");
                self.error(error);
            }
        }
    }
}

/// Checks each call against the contract, and passes it on.
#[derive(Debug)]
struct Recorder {
    inner: Box<dyn CongestionControl>,
    ledger: Arc<Mutex<Ledger>>,
}

/// Controllers of `build` whose calls are recorded; of a connection that never changes its path.
pub fn recorded(
    build: impl Fn(&Start) -> Box<dyn CongestionControl> + Send + Sync + 'static,
) -> (Factory, Arc<Mutex<Ledger>>) {
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let book = ledger.clone();
    (Factory::new(move |start| Box::new(Recorder { inner: build(start), ledger: book.clone() })), ledger)
}

impl Recorder {
    fn ledger(&self) -> std::sync::MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("no test panics while it holds the lock")
    }

    fn acked(&self, packet: &AckedPacket, outcome: Outcome) {
        let same = |sent: &SentPacket| {
            (sent.time, sent.bytes) == (packet.sent, packet.bytes) && packet.rtt == packet.time.since(packet.sent)
        };
        self.ledger().outcome(packet.time, packet.number, outcome, same);
    }
}

impl CongestionControl for Recorder {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        let mut ledger = self.ledger();
        if let Some((last, _)) = ledger.sent.last_key_value().filter(|(last, _)| **last >= packet.number) {
            let error = format!("{last} and then {}", packet.number);
            ledger.error(error);
        }
        if ledger.open.is_some() {
            ledger.error(format!("{} sent inside a batch", packet.number));
        }
        ledger.sent.insert(packet.number, (*packet, None));
        drop(ledger);
        self.inner.on_packet_sent(packet);
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        self.acked(packet, Outcome::Acked);
        self.inner.on_packet_acked(packet);
    }

    fn on_packet_marked(&mut self, packet: &AckedPacket) {
        self.acked(packet, Outcome::Marked);
        self.inner.on_packet_marked(packet);
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        let same = |sent: &SentPacket| (sent.time, sent.bytes) == (packet.sent, packet.bytes);
        self.ledger().outcome(packet.time, packet.number, Outcome::Lost, same);
        self.inner.on_packet_lost(packet);
    }

    fn on_packet_discarded(&mut self, number: u64) {
        let mut ledger = self.ledger();
        match ledger.sent.get_mut(&number) {
            Some((_, given @ None)) => *given = Some(Outcome::Discarded),
            other => {
                let error = format!("{number} discarded: {other:?}");
                ledger.error(error);
            }
        }
        drop(ledger);
        self.inner.on_packet_discarded(number);
    }

    fn on_batch_end(&mut self, now: Time) {
        self.ledger().open = None;
        self.inner.on_batch_end(now);
    }

    fn on_app_limited(&mut self, now: Time) {
        self.inner.on_app_limited(now);
    }

    fn on_deadline(&mut self, now: Time) {
        self.inner.on_deadline(now);
    }

    fn on_mtu_change(&mut self, mtu: u64) {
        self.inner.on_mtu_change(mtu);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.inner.pacing_rate()
    }

    fn in_flight_cap(&self) -> u64 {
        self.inner.in_flight_cap()
    }

    fn ecn(&self) -> Ecn {
        self.inner.ecn()
    }

    fn deadline(&self) -> Option<Time> {
        self.inner.deadline()
    }
}
