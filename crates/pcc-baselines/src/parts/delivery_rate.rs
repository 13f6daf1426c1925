//! Delivery rate samples (draft-cheng-iccrg-delivery-rate-estimation-02), and what else is known about a packet
//! when it is acknowledged or lost.

use crate::limits::usable_rtt;
use pcc::{AckedPacket, LostPacket, PacketTable, Rate, SentPacket, Time};
use std::time::Duration;

/// No packet is larger, in bytes; the sums of more can't overflow.
const MAX_PACKET: u64 = 65_535;

/// The state of the connection when a packet was sent (draft, section 3.1.1).
#[derive(Clone, Copy, Debug)]
struct SentState {
    bytes: u64,
    sent: Time,
    delivered: u64,
    delivered_time: Time,
    first_sent_time: Time,
    app_limited: bool,
    lost: u64,
    /// With this packet.
    in_flight: u64,
}

/// What the acknowledgements and losses of one batch told. Amounts are bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateSample {
    /// The rate of delivery over the flight of the newest packet acknowledged; zero if there is no valid sample.
    pub rate: Rate,
    /// What was delivered during that flight.
    pub delivered: u64,
    /// What had been delivered when that packet was sent.
    pub prior_delivered: u64,
    /// What was in flight when that packet was sent, with it.
    pub sent_in_flight: u64,
    /// What was declared lost since that packet was sent.
    pub lost_in_flight: u64,
    /// Whether that packet was sent when the application, not the network, limited the rate.
    pub app_limited: bool,
    /// The round-trip time of that packet, the minimum if several were acknowledged.
    pub rtt: Option<Duration>,
    /// What the batch acknowledged.
    pub newly_acked: u64,
    /// What the batch declared lost.
    pub newly_lost: u64,
    /// What was in flight before the batch.
    pub prior_in_flight: u64,
}

impl RateSample {
    /// Whether the rate counts for an estimate of the bandwidth that is `max` so far: if the application limited it, only
    /// one that is no lower (draft-ietf-ccwg-bbr-04, section 5.5.5).
    pub fn counts(&self, max: Rate) -> bool {
        !self.rate.is_zero() && (!self.app_limited || self.rate >= max)
    }
}

/// A lost packet: what is known about the time when it was sent. Amounts are bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LossSample {
    pub bytes: u64,
    /// What was in flight when it was sent, with it.
    pub sent_in_flight: u64,
    /// What was declared lost since it was sent, with it.
    pub lost_in_flight: u64,
    pub app_limited: bool,
}

/// Counts deliveries and losses, and samples the rate of delivery.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeliveryRate {
    packets: PacketTable<SentState>,
    in_flight: u64,
    delivered: u64,
    lost: u64,
    delivered_time: Time,
    first_sent_time: Time,
    /// The application limits the rate until this much was delivered.
    app_limited_until: Option<u64>,
    min_rtt: Option<Duration>,
    batch: Batch,
}

/// What came since the last sample.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    newest: Option<SentState>,
    rtt: Option<Duration>,
    acked: u64,
    lost: u64,
    /// Packets that were neither acknowledged nor lost, and are gone.
    discarded: u64,
}

impl DeliveryRate {
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Bytes acknowledged so far.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Bytes declared lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether the application limits the rate.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// Section 3.2 of the draft. A number that isn't above all before it is not counted.
    pub fn on_sent(&mut self, packet: &SentPacket) {
        if self.in_flight == 0 {
            self.first_sent_time = packet.time;
            self.delivered_time = packet.time;
        }
        let bytes = packet.bytes.min(MAX_PACKET);
        let state = SentState {
            bytes,
            sent: packet.time,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent_time: self.first_sent_time,
            app_limited: self.is_app_limited(),
            lost: self.lost,
            in_flight: self.in_flight + bytes,
        };
        if self.packets.insert(packet.number, state) {
            self.in_flight += bytes;
        }
    }

    /// Section 3.3 of the draft. The acknowledgement of a packet that was given up before is not counted.
    pub fn on_acked(&mut self, packet: &AckedPacket) {
        let Some(state) = self.packets.take(packet.number) else { return };
        self.in_flight -= state.bytes;
        self.delivered += state.bytes;
        self.delivered_time = self.delivered_time.max(packet.time);
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
        let batch = &mut self.batch;
        batch.acked += state.bytes;
        let rtt = usable_rtt(packet.rtt);
        batch.rtt = Some(batch.rtt.map_or(rtt, |min| min.min(rtt)));
        if batch.newest.is_none_or(|newest| (state.delivered, state.sent) > (newest.delivered, newest.sent)) {
            batch.newest = Some(state);
            self.first_sent_time = state.sent;
        }
    }

    /// A packet was given up; `None` if its outcome was known before.
    pub fn on_lost(&mut self, packet: &LostPacket) -> Option<LossSample> {
        let state = self.packets.take(packet.number)?;
        self.in_flight -= state.bytes;
        self.lost += state.bytes;
        self.batch.lost += state.bytes;
        Some(LossSample {
            bytes: state.bytes,
            sent_in_flight: state.in_flight,
            lost_in_flight: self.lost - state.lost,
            app_limited: state.app_limited,
        })
    }

    /// A packet will be neither acknowledged nor lost.
    pub fn on_discarded(&mut self, number: u64) {
        if let Some(state) = self.packets.take(number) {
            self.in_flight -= state.bytes;
            self.batch.discarded += state.bytes;
        }
    }

    /// Section 3.4 of the draft: what is in flight, and what is sent until it is delivered, says little about the path.
    pub fn on_app_limited(&mut self) {
        self.app_limited_until = Some(self.delivered + self.in_flight);
    }

    /// Ends the batch; `None` if it brought nothing.
    pub fn sample(&mut self) -> Option<RateSample> {
        let batch = core::mem::take(&mut self.batch);
        if batch.acked == 0 && batch.lost == 0 {
            return None;
        }
        if let Some(rtt) = batch.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        let mut sample = RateSample {
            rate: Rate::ZERO,
            delivered: 0,
            prior_delivered: 0,
            sent_in_flight: 0,
            lost_in_flight: 0,
            app_limited: self.is_app_limited(),
            rtt: batch.rtt,
            newly_acked: batch.acked,
            newly_lost: batch.lost,
            prior_in_flight: self.in_flight + batch.acked + batch.lost + batch.discarded,
        };
        if let Some(newest) = batch.newest {
            sample.delivered = self.delivered - newest.delivered;
            sample.prior_delivered = newest.delivered;
            sample.sent_in_flight = newest.in_flight;
            sample.lost_in_flight = self.lost - newest.lost;
            sample.app_limited = newest.app_limited;
            // The slower of sending and acknowledging: neither bursts nor compressed acknowledgements raise the rate.
            let sending = newest.sent.since(newest.first_sent_time);
            let acking = self.delivered_time.since(newest.delivered_time);
            let interval = sending.max(acking);
            if Some(interval) >= self.min_rtt {
                sample.rate = Rate::from_bytes_over(sample.delivered, interval);
            }
        }
        Some(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(time: u64) -> Time {
        Time::ZERO + Duration::from_millis(time)
    }

    fn send(rate: &mut DeliveryRate, number: u64, time: u64) {
        rate.on_sent(&SentPacket { time: ms(time), number, bytes: 1000 });
    }

    fn ack(rate: &mut DeliveryRate, number: u64, sent: u64, time: u64) -> Option<RateSample> {
        let (rtt, time, sent) = (ms(time).since(ms(sent)), ms(time), ms(sent));
        rate.on_acked(&AckedPacket { time, number, sent, bytes: 1000, rtt });
        rate.sample()
    }

    #[test]
    fn the_rate_is_what_arrived_over_the_slower_of_both_directions() {
        let mut rate = DeliveryRate::default();
        for number in 0..4 {
            send(&mut rate, number, number);
        }
        // One packet in 10 ms, then one each 5 ms.
        assert_eq!(ack(&mut rate, 0, 0, 10).unwrap().rate.bits_per_sec(), 800_000.0);
        assert_eq!(ack(&mut rate, 1, 1, 15).unwrap().rate.bits_per_sec(), 2000.0 * 8.0 / 0.015);
        send(&mut rate, 4, 15);
        let last = ack(&mut rate, 4, 15, 30).unwrap();
        assert_eq!((last.delivered, last.prior_delivered), (1000, 2000));
        assert_eq!(last.rate.bits_per_sec(), 1000.0 * 8.0 / 0.015);
        assert_eq!((last.sent_in_flight, last.prior_in_flight, last.newly_acked), (3000, 3000, 1000));
    }

    #[test]
    fn losses_are_counted_since_the_packet_was_sent() {
        let mut rate = DeliveryRate::default();
        for number in 0..3 {
            send(&mut rate, number, number);
        }
        let lost = LostPacket { time: ms(20), number: 0, sent: ms(0), bytes: 1000 };
        let sample = rate.on_lost(&lost).unwrap();
        assert_eq!((sample.sent_in_flight, sample.lost_in_flight), (1000, 1000));
        assert!(rate.on_lost(&lost).is_none(), "one outcome");
        let sample = ack(&mut rate, 2, 2, 20).unwrap();
        assert_eq!((sample.lost_in_flight, sample.newly_lost, rate.in_flight()), (1000, 1000, 1000));
    }

    #[test]
    fn what_the_application_limits_is_marked_until_it_is_delivered() {
        let mut rate = DeliveryRate::default();
        send(&mut rate, 0, 0);
        rate.on_app_limited();
        send(&mut rate, 1, 5);
        assert!(!ack(&mut rate, 0, 0, 10).unwrap().app_limited, "sent before");
        assert!(ack(&mut rate, 1, 5, 15).unwrap().app_limited);
        send(&mut rate, 2, 20);
        assert!(!ack(&mut rate, 2, 20, 30).unwrap().app_limited);
        assert!(rate.sample().is_none(), "an empty batch");
    }
}
