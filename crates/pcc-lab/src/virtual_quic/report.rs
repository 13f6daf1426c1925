//! What came of a run.

use crate::link::Counters;
use noq_proto::ConnectionError;
use pcc::{Event, Rate, Time};
use std::time::Duration;

/// A datagram of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Departure {
    /// When it left the sender.
    pub time: Time,
    /// Its UDP payload in bytes.
    pub bytes: u64,
}

/// Where a run is, at the end of a bin. Counts are from the beginning on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkProgress {
    /// The virtual time that has passed.
    pub at: Duration,
    /// Stream bytes that the receiving application has read.
    pub received: u64,
    /// The sender's smoothed round-trip time; zero before the handshake is done.
    pub rtt: Duration,
    /// Packets that the sender has sent.
    pub sent: u64,
    /// Packets that it has declared lost.
    pub lost: u64,
}

/// What came of a run of a [`Bulk`](super::Bulk).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BulkReport {
    /// The length of a bin of the series below.
    pub bin: Duration,
    /// Stream bytes that the receiving application read, for each bin.
    pub delivered: Vec<u64>,
    /// The sender's smoothed round-trip time at the end of each bin.
    pub rtt: Vec<Duration>,
    /// All datagrams of the sender.
    pub departures: Vec<Departure>,
    /// What the forward path did to them.
    pub forward: Counters,
    /// Packets that the sender sent, as it counts them.
    pub sent_packets: u64,
    /// Packets that it declared lost.
    pub lost_packets: u64,
    /// Times that it took congestion for a smaller path MTU.
    pub black_holes: u64,
    /// The packet size in the end, in bytes of UDP payload.
    pub mtu: u16,
    /// Monitor intervals, decisions and phases of the controller.
    pub events: Vec<Event>,
    /// Why the sender's or the receiver's connection ended before its time.
    pub closed: Option<ConnectionError>,
}

impl BulkReport {
    /// Stream bytes read by the receiving application.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered.iter().sum()
    }

    /// The average goodput between two instants, in whole bins.
    pub fn goodput(&self, from: Duration, to: Duration) -> Rate {
        let bins = self.bins(from)..self.bins(to).min(self.delivered.len());
        let time = self.bin * bins.len() as u32;
        Rate::from_bytes_over(self.delivered.get(bins).map_or(0, |bins| bins.iter().sum()), time)
    }

    /// The rate at which UDP payload left the sender between two instants.
    pub fn sent_rate(&self, from: Duration, to: Duration) -> Rate {
        let (begin, end) = (Time::ZERO + from, Time::ZERO + to);
        let sent = self.departures.iter().filter(|d| (begin..end).contains(&d.time));
        Rate::from_bytes_over(sent.map(|d| d.bytes).sum(), to - from)
    }

    /// The most datagrams that left within any span of this length.
    pub fn longest_burst(&self, span: Duration) -> usize {
        let mut first = 0;
        let bursts = self.departures.iter().enumerate().map(|(last, departure)| {
            while departure.time.since(self.departures[first].time) > span {
                first += 1;
            }
            last - first + 1
        });
        bursts.max().unwrap_or(0)
    }

    fn bins(&self, time: Duration) -> usize {
        (time.as_nanos() / self.bin.as_nanos().max(1)) as usize
    }
}
