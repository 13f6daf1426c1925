//! A receiver that lies, between a path and a controller.

use pcc::{AckedPacket, CongestionControl, LostPacket, SentPacket, Time};
use std::time::Duration;

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Nothing.
    None,
    /// It acknowledges packets as soon as they are sent (optimistic acknowledgements), and hides losses.
    AtOnce,
    /// It says that half of what arrived is lost.
    Half,
    /// It says that all that is lost has arrived.
    HidesLoss,
    /// It acknowledges in any order, late by up to a second, and says nothing of that delay.
    Late,
    /// It says that its own delay was almost all of the time, so that round trips seem short.
    Short,
    /// It says that all was marked (ECN).
    Marked,
}

impl Lie {
    /// One of them.
    pub fn any(rng: &mut fastrand::Rng) -> Lie {
        [Lie::AtOnce, Lie::Half, Lie::HidesLoss, Lie::Late, Lie::Short, Lie::Marked][rng.usize(..6)]
    }
}

/// A controller that hears lies.
#[derive(Debug)]
pub struct Liar<C> {
    pub honest: C,
    pub lie: Lie,
    rng: fastrand::Rng,
}

impl<C> Liar<C> {
    pub fn new(honest: C, seed: u64) -> Liar<C> {
        Liar { honest, lie: Lie::None, rng: fastrand::Rng::with_seed(seed) }
    }
}

impl<C: CongestionControl> CongestionControl for Liar<C> {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        self.honest.on_packet_sent(packet);
        if self.lie == Lie::AtOnce {
            let SentPacket { time, number, bytes } = *packet;
            let rtt = Duration::from_micros(1);
            self.honest.on_packet_acked(&AckedPacket { time, number, sent: time, bytes, rtt });
            self.honest.on_batch_end(time);
        }
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        let AckedPacket { time, number, sent, bytes, rtt } = *packet;
        match self.lie {
            Lie::AtOnce => {}
            Lie::Half if self.rng.bool() => self.honest.on_packet_lost(&LostPacket { time, number, sent, bytes }),
            Lie::Late => {
                let rtt = rtt + Duration::from_millis(self.rng.u64(..1000));
                self.honest.on_packet_acked(&AckedPacket { rtt, ..*packet });
            }
            Lie::Short => self.honest.on_packet_acked(&AckedPacket { rtt: rtt / 100, ..*packet }),
            Lie::Marked => self.honest.on_packet_marked(packet),
            Lie::None | Lie::Half | Lie::HidesLoss => self.honest.on_packet_acked(packet),
        }
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        let LostPacket { time, number, sent, bytes } = *packet;
        match self.lie {
            Lie::AtOnce => {}
            Lie::HidesLoss => {
                let rtt = time.since(sent);
                self.honest.on_packet_acked(&AckedPacket { time, number, sent, bytes, rtt });
            }
            _ => self.honest.on_packet_lost(packet),
        }
    }

    fn on_packet_discarded(&mut self, number: u64) {
        self.honest.on_packet_discarded(number);
    }

    fn on_batch_end(&mut self, now: Time) {
        self.honest.on_batch_end(now);
    }

    fn on_app_limited(&mut self, now: Time) {
        self.honest.on_app_limited(now);
    }

    fn on_deadline(&mut self, now: Time) {
        self.honest.on_deadline(now);
    }

    fn pacing_rate(&self) -> Option<pcc::Rate> {
        self.honest.pacing_rate()
    }

    fn in_flight_cap(&self) -> u64 {
        self.honest.in_flight_cap()
    }

    fn deadline(&self) -> Option<Time> {
        self.honest.deadline()
    }
}
