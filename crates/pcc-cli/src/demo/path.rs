//! The emulated path of the demo.

use pcc::Rate;
use pcc_emulator::relay::IP_UDP_HEADERS;
use pcc_lab::link::PathConfig;
use pcc_lab::quantity;
use std::fmt;
use std::time::Duration;

/// UDP payload of a full packet in bytes: fits an Ethernet frame of 1,500 bytes with IPv6, and is what MTU discovery ends at.
pub const MTU: u16 = 1452;

/// What QUIC puts around the data in a full packet, in bytes: RFC 9000 17.3 short header with flags (1), connection ID (8, noq's
/// length) and packet number (2), RFC 9001 5.3 authentication tag (16), RFC 9000 19.8 STREAM frame with type (1), stream (2),
/// and offset (4). The variable lengths are those of most packets.
const QUIC_HEADERS: u64 = 1 + 8 + 2 + 16 + 1 + 2 + 4;

/// The named paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// A geostationary satellite link: 42 Mbit/s, 800 ms, 0.74 % loss, 1 MB queue.
    Satellite,
    /// A line with noise: 100 Mbit/s, 30 ms, 1 % loss, 375 kB queue.
    Lossy,
    /// A switch with next to no buffer: 100 Mbit/s, 30 ms, no random loss, 9 kB queue.
    Shallow,
    /// A clean long line: 200 Mbit/s, 60 ms, 0.001 % loss, 1.5 MB queue.
    Fiber,
}

/// A path: what the demo emulates.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The name of the path in reports.
    pub name: &'static str,
    /// Rate of the bottleneck.
    pub rate: Rate,
    /// Round trip time when the queue is empty, without the time that the bottleneck takes.
    pub rtt: Duration,
    /// Probability with which each packet is lost on the way to the receiver.
    pub loss: f64,
    /// Limit of the queue before the bottleneck, in bytes.
    pub queue: u64,
}

impl From<Preset> for Path {
    fn from(preset: Preset) -> Path {
        let path = |name, mbps, rtt_ms, loss, queue| {
            let (rate, rtt) = (Rate::from_mbps(mbps), Duration::from_millis(rtt_ms));
            Path { name, rate, rtt, loss, queue }
        };
        match preset {
            // The WINDS satellite link of the Allegro paper (NSDI 2015).
            Preset::Satellite => path("satellite", 42.0, 800, 0.0074, 1_000_000),
            Preset::Lossy => path("lossy", 100.0, 30, 0.01, 375_000),
            Preset::Shallow => path("shallow", 100.0, 30, 0.0, 9_000),
            Preset::Fiber => path("fiber", 200.0, 60, 0.000_01, 1_500_000),
        }
    }
}

impl Path {
    /// The way to the receiver, where the bottleneck is.
    pub fn forward(&self) -> PathConfig {
        let delay = PathConfig::delay_only(self.rtt / 2);
        PathConfig { capacity: self.rate.into(), queue: self.queue.into(), loss: self.loss.into(), ..delay }
    }

    /// The way back, which only takes its time.
    pub fn reverse(&self) -> PathConfig {
        PathConfig::delay_only(self.rtt - self.rtt / 2)
    }

    /// The goodput of a sender at exactly the rate of the bottleneck: rate x (1 - loss) x [`payload_share`].
    ///
    /// Packets are lost before the queue, so that one that sends enough to make up for them gets rate x [`payload_share`] at most.
    pub fn goodput_limit(&self) -> Rate {
        self.rate * (1.0 - self.loss) * payload_share()
    }

    /// Bytes that fill the path and its queue.
    pub fn capacity(&self) -> u64 {
        self.rate.bytes_in(self.rtt).saturating_add(self.queue)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {} round trip, {} random loss, {} queue",
            self.rate,
            quantity::show_duration(self.rtt),
            quantity::show_percent(self.loss),
            quantity::show_bytes(self.queue),
        )
    }
}

/// How many bytes of data a full packet carries.
pub fn payload_bytes() -> u64 {
    u64::from(MTU) - QUIC_HEADERS
}

/// How many bytes of the bottleneck a full packet takes.
pub fn packet_bytes() -> u64 {
    u64::from(MTU) + IP_UDP_HEADERS
}

/// The share of the bottleneck that is left for data.
pub fn payload_share() -> f64 {
    payload_bytes() as f64 / packet_bytes() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_what_is_left_for_data() {
        let path = Path::from(Preset::Satellite);
        assert_eq!((payload_bytes(), packet_bytes()), (1418, 1480));
        assert!((path.goodput_limit().mbps() - 42.0 * 0.9926 * 1418.0 / 1480.0).abs() < 1e-9);
        assert_eq!(path.to_string(), "42.0 Mbit/s, 800 ms round trip, 0.74 % random loss, 1 MB queue");
    }

    #[test]
    fn one_way_delays_add_up_to_the_round_trip() {
        let path = Path { rtt: Duration::from_nanos(7), ..Path::from(Preset::Fiber) };
        assert_eq!(path.forward().delay + path.reverse().delay, path.rtt);
    }
}
