//! Sprout: Winstein, Sivaraman, Balakrishnan, "Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular
//! Networks", NSDI 2013, whose sections are cited.
//!
//! Sprout's receiver infers the rate of the link from what arrives and sends a forecast back. The contract has no clock at
//! the receiver: here the sender infers it, from when acknowledgements arrive. A forecast is then never older than a tick,
//! so that one horizon is enough where Sprout sends eight. The model ends at 1000 packets a second, about 12 Mbit/s.

mod model;

use crate::limits::{INITIAL_MTU, usable_mtu};
use model::{Belief, IGNORANCE, MODEL, TICK_SECONDS};
use pcc::{AckedPacket, CongestionControl, LostPacket, PacketTable, Rate, SentPacket, Time};
use std::time::Duration;

/// The interval of inference (section 3.1).
const TICK: Duration = Duration::from_millis((TICK_SECONDS * 1e3) as u64);
/// The probability with which the link may bring less than the forecast (section 3.3).
const RISK: f64 = 0.05;
/// Ticks in turn without a call after which nothing is known of the link any more: five seconds.
const MAX_SILENCE: u64 = 250;

/// Keeps in flight what the link will deliver within 100 ms, with a probability of 95 %.
#[derive(Debug)]
pub(crate) struct Sprout {
    mtu: u64,
    belief: Belief,
    /// When this tick ends, `None` before the first packet.
    tick_end: Option<Time>,
    /// Bytes that arrived in this tick.
    arrived: u64,
    min_rtt: Option<Duration>,
    in_flight: PacketTable<Time>,
    /// Packets that may be in flight.
    window: u64,
}

impl Sprout {
    pub fn new() -> Sprout {
        let window = MODEL.forecast(&IGNORANCE, RISK) as u64;
        Sprout {
            mtu: INITIAL_MTU,
            belief: IGNORANCE,
            tick_end: None,
            arrived: 0,
            min_rtt: None,
            in_flight: PacketTable::default(),
            window,
        }
    }

    /// Ends all ticks that are over.
    fn advance(&mut self, now: Time) {
        let Some(mut end) = self.tick_end else { return };
        if now < end {
            return;
        }
        let ticks = now.since(end).as_nanos() / TICK.as_nanos();
        if ticks >= u128::from(MAX_SILENCE) {
            self.belief = IGNORANCE;
            self.arrived = 0;
            end = now;
        }
        while end <= now {
            self.end_tick(end);
            end += TICK;
            if end == Time::from_nanos(u64::MAX) {
                break;
            }
        }
        self.tick_end = Some(end);
        self.window = MODEL.forecast(&self.belief, RISK) as u64;
    }

    fn end_tick(&mut self, end: Time) {
        self.belief = MODEL.evolve(&self.belief);
        let packets = core::mem::take(&mut self.arrived) as f64 / self.mtu as f64;
        // When the oldest packet in flight would have arrived, had it not waited.
        let due = self.min_rtt.zip(self.in_flight.first()).map(|(rtt, (_, sent))| *sent + rtt);
        if due.is_some_and(|due| due <= end) {
            MODEL.observe(&mut self.belief, packets);
        } else {
            MODEL.observe_at_least(&mut self.belief, packets);
        }
    }
}

impl CongestionControl for Sprout {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        self.advance(packet.time);
        self.in_flight.insert(packet.number, packet.time);
        self.tick_end.get_or_insert(packet.time + TICK);
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        self.advance(packet.time);
        if self.in_flight.take(packet.number).is_some() {
            self.arrived = self.arrived.saturating_add(packet.bytes);
            self.min_rtt = Some(self.min_rtt.map_or(packet.rtt, |min| min.min(packet.rtt)));
        }
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        self.in_flight.take(packet.number);
    }

    fn on_packet_discarded(&mut self, number: u64) {
        self.in_flight.take(number);
    }

    fn on_batch_end(&mut self, now: Time) {
        self.advance(now);
    }

    fn on_deadline(&mut self, now: Time) {
        self.advance(now);
    }

    fn on_mtu_change(&mut self, mtu: u64) {
        self.mtu = usable_mtu(mtu);
    }

    /// Sprout sends at once what the forecast allows.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// What the link delivers within 100 ms (section 3.4); at least a packet, which finds out whether an outage is over.
    fn in_flight_cap(&self) -> u64 {
        self.window.max(1) * self.mtu
    }

    /// The end of the tick, while something is in flight.
    fn deadline(&self) -> Option<Time> {
        self.in_flight.first().and(self.tick_end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Packets that are sent every `gap` ms and acknowledged 40 ms later.
    fn steady(sprout: &mut Sprout, from: u64, to: u64, gap: u64) {
        let bytes = INITIAL_MTU;
        for time in (from..to).step_by(gap as usize) {
            sprout.on_packet_sent(&SentPacket { time: ms(time), number: time, bytes });
            let rtt = Duration::from_millis(40);
            if let Some(sent) = time.checked_sub(40) {
                sprout.on_packet_acked(&AckedPacket { time: ms(time), number: sent, sent: ms(sent), bytes, rtt });
            }
            sprout.on_batch_end(ms(time));
        }
    }

    #[test]
    fn the_window_is_what_is_sure_to_be_drained_in_100_ms() {
        let mut sprout = Sprout::new();
        steady(&mut sprout, 0, 2000, 2);
        let packets = sprout.in_flight_cap() / INITIAL_MTU;
        assert!((20..50).contains(&packets), "of 500 a second: {packets}");
        assert_eq!(sprout.deadline(), Some(ms(2000)), "ticks are multiples of 20 ms");
    }

    #[test]
    fn silence_shrinks_the_window_if_something_was_expected() {
        let mut sprout = Sprout::new();
        steady(&mut sprout, 0, 2000, 2);
        let window = sprout.in_flight_cap();
        sprout.on_deadline(ms(2020));
        sprout.on_deadline(ms(2300));
        assert_eq!(sprout.in_flight_cap(), INITIAL_MTU, "an outage");
        let mut idle = Sprout::new();
        steady(&mut idle, 0, 2000, 2);
        (0..2000).for_each(|number| idle.on_packet_discarded(number));
        assert_eq!(idle.deadline(), None);
        idle.on_deadline(ms(2060));
        assert!(idle.in_flight_cap() > window / 2, "nothing was expected");
    }
}
