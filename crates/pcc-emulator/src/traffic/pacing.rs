//! How well a transport keeps to the rate that its controller wants.

use hdrhistogram::Histogram;
use pcc::{AckedPacket, CongestionControl, Ecn, LostPacket, PacketTable, Rate, SentPacket, Time};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What is compared is what was sent in this long; a window begins and ends with a packet.
const WINDOW: Duration = Duration::from_millis(30);

/// Errors are counted in steps of this.
const STEP: f64 = 1e-6;

/// The errors of many windows, shared by the flows that they are of.
#[derive(Clone, Debug, Default)]
pub(super) struct PacingErrors(Arc<Mutex<Option<Histogram<u32>>>>);

impl PacingErrors {
    fn lock(&self) -> MutexGuard<'_, Option<Histogram<u32>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, error: f64) {
        let mut errors = self.lock();
        if errors.is_none() {
            // More than a hundredfold of the rate counts as that.
            *errors = Histogram::new_with_max((100.0 / STEP) as u64, 3).ok();
        }
        if let Some(errors) = &mut *errors {
            errors.saturating_record((error / STEP) as u64);
        }
    }

    /// The median, if there is an error.
    pub fn median(&self) -> Option<f64> {
        self.lock().as_ref().map(|errors| errors.value_at_quantile(0.5) as f64 * STEP)
    }

    /// The same controller, with its errors added here.
    pub fn watch(&self, control: Box<dyn CongestionControl>) -> Box<dyn CongestionControl> {
        Box::new(Watched {
            control,
            errors: self.clone(),
            in_flight: PacketTable::default(),
            in_flight_bytes: 0,
            window: None,
        })
    }
}

/// A controller whose transport is watched.
#[derive(Debug)]
struct Watched {
    control: Box<dyn CongestionControl>,
    errors: PacingErrors,
    in_flight: PacketTable<u64>,
    in_flight_bytes: u64,
    /// What happened since a packet, while only the rate was what limited the sender.
    window: Option<Window>,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    begin: Time,
    sent: u64,
    /// Up to when `commanded` counts.
    until: Time,
    /// Bytes that the controller's rate allowed in this window.
    commanded: f64,
    rate: Rate,
}

impl Window {
    fn new(begin: Time, rate: Rate) -> Window {
        Window { begin, sent: 0, until: begin, commanded: 0.0, rate }
    }

    fn extend(&mut self, now: Time) {
        self.commanded += self.rate.bytes_per_sec() * now.since(self.until).as_secs_f64();
        self.until = self.until.max(now);
    }
}

impl Watched {
    /// After each packet sent, and each event that may change rate or cap: what the rate is from now on, and whether something else
    /// limits the sender.
    fn look(&mut self, now: Time, packet: u64) {
        let limited = self.in_flight_bytes.saturating_add(packet) > self.control.in_flight_cap();
        match (self.control.pacing_rate(), &mut self.window) {
            (Some(rate), Some(window)) if !limited => {
                window.extend(now);
                window.rate = rate;
            }
            _ => self.window = None,
        }
    }

    fn gone(&mut self, number: u64) {
        let bytes = self.in_flight.take(number).unwrap_or_default();
        self.in_flight_bytes = self.in_flight_bytes.saturating_sub(bytes);
    }
}

impl CongestionControl for Watched {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        if self.in_flight.insert(packet.number, packet.bytes) {
            self.in_flight_bytes += packet.bytes;
        }
        if let Some(window) = &mut self.window {
            window.extend(packet.time);
            window.sent += packet.bytes;
            if packet.time.since(window.begin) >= WINDOW {
                if window.commanded > 0.0 {
                    self.errors.add((window.sent as f64 / window.commanded - 1.0).abs());
                }
                self.window = None;
            }
        }
        self.control.on_packet_sent(packet);
        if self.window.is_none() {
            self.window = self.control.pacing_rate().map(|rate| Window::new(packet.time, rate));
        }
        self.look(packet.time, packet.bytes);
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        self.gone(packet.number);
        self.control.on_packet_acked(packet);
    }

    fn on_packet_marked(&mut self, packet: &AckedPacket) {
        self.gone(packet.number);
        self.control.on_packet_marked(packet);
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        self.gone(packet.number);
        self.control.on_packet_lost(packet);
    }

    fn on_packet_discarded(&mut self, number: u64) {
        self.gone(number);
        self.control.on_packet_discarded(number);
    }

    fn on_batch_end(&mut self, now: Time) {
        self.control.on_batch_end(now);
        self.look(now, 0);
    }

    fn on_app_limited(&mut self, now: Time) {
        self.window = None;
        self.control.on_app_limited(now);
    }

    fn on_deadline(&mut self, now: Time) {
        self.control.on_deadline(now);
        self.look(now, 0);
    }

    fn on_mtu_change(&mut self, mtu: u64) {
        self.control.on_mtu_change(mtu);
    }

    fn on_initial_window(&mut self, packets: u32) {
        self.control.on_initial_window(packets);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.control.pacing_rate()
    }

    fn in_flight_cap(&self) -> u64 {
        self.control.in_flight_cap()
    }

    fn allows_bursts(&self) -> bool {
        self.control.allows_bursts()
    }

    fn ecn(&self) -> Ecn {
        self.control.ecn()
    }

    fn deadline(&self) -> Option<Time> {
        self.control.deadline()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u64 = 1000;

    /// 8 Mbit/s: a packet each ms.
    #[derive(Debug)]
    struct Fixed;

    impl CongestionControl for Fixed {
        fn on_packet_sent(&mut self, _: &SentPacket) {}
        fn on_packet_acked(&mut self, _: &AckedPacket) {}
        fn on_packet_lost(&mut self, _: &LostPacket) {}
        fn on_batch_end(&mut self, _: Time) {}
        fn pacing_rate(&self) -> Option<Rate> {
            Some(Rate::from_mbps(8.0))
        }
        fn in_flight_cap(&self) -> u64 {
            100 * PACKET
        }
    }

    /// The error of 200 packets that leave every `gap` us, each acknowledged after `rtt` packets; `limited` are those after which
    /// the application had no data.
    fn error(gap: u64, rtt: u64, limited: impl Fn(u64) -> bool) -> Option<f64> {
        let errors = PacingErrors::default();
        let mut control = errors.watch(Box::new(Fixed));
        for number in 0..200 {
            let time = Time::from_nanos(number * gap * 1000);
            control.on_packet_sent(&SentPacket { time, number, bytes: PACKET });
            if let Some(number) = number.checked_sub(rtt) {
                let sent = Time::from_nanos(number * gap * 1000);
                control.on_packet_acked(&AckedPacket { time, number, sent, bytes: PACKET, rtt: time.since(sent) });
                control.on_batch_end(time);
            }
            if limited(number) {
                control.on_app_limited(time);
            }
        }
        errors.median()
    }

    #[test]
    fn what_is_sent_is_compared_with_the_rate() {
        for (gap, expected) in [(1000, 0.0), (1250, 0.2), (800, 0.25)] {
            let error = error(gap, 20, |_| false).expect("windows");
            assert!((error - expected).abs() < 0.001, "{gap} us: {error}");
        }
    }

    #[test]
    fn only_where_the_rate_is_the_limit() {
        assert_eq!(error(2000, 20, |number| number % 10 == 0), None);
        assert_eq!(error(2000, 100, |_| false).map(|error| error > 0.4), Some(true), "the first 99 fit");
        assert_eq!(error(2000, 10, |number| number == 100).map(|error| error > 0.4), Some(true));
    }
}
