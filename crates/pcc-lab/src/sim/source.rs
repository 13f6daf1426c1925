//! Where a flow's data comes from.

use super::wire::HEADER_BYTES;
use crate::quantity::read;
use pcc::{Rate, Time};
use serde::Deserialize;
use std::time::Duration;

/// What an application does.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum App {
    /// It always has data.
    #[default]
    Bulk,
    /// It has this many bytes, and is complete when the last one has arrived.
    Transfer {
        /// Bytes of data, at least 1.
        bytes: u64,
    },
    /// It always has data for a while, and then none for a while.
    OnOff {
        /// How long it has data, more than zero.
        on: Duration,
        /// How long it has none.
        off: Duration,
    },
    /// It produces data at a constant bit rate.
    ConstantRate {
        /// The rate of data, without headers; more than zero.
        rate: Rate,
    },
    /// A viewer asks for one chunk of a video after the other and plays them; see [`Video`].
    Video(Video),
}

/// A chunked video: the next chunk is asked for, half a round trip ahead of it, when the one before is complete and another one fits
/// into the buffer: `{ bitrate = "30mbit", chunk = "1s", buffer = "4s" }`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, such as { bitrate = \"30mbit\", chunk = \"1s\", buffer = \"4s\" }")]
pub struct Video {
    /// The bit rate of the video; more than zero.
    #[serde(deserialize_with = "read")]
    pub bitrate: Rate,
    /// The playing time of a chunk; more than zero.
    #[serde(deserialize_with = "read")]
    pub chunk: Duration,
    /// The playing time that the viewer holds at most, at least a chunk.
    #[serde(deserialize_with = "read")]
    pub buffer: Duration,
}

/// The sending side of an application, in segments, which are what full packets carry.
#[derive(Clone, Debug)]
pub(super) struct Source {
    app: App,
    start: Time,
    /// Bytes of data in a full packet.
    segment_bytes: u64,
    /// Segments of a transfer, or those of a video that have been asked for.
    limit: u64,
}

impl Source {
    pub fn new(app: App, start: Time, packet_bytes: u32) -> Source {
        let segment_bytes = u64::from(packet_bytes - HEADER_BYTES);
        let limit = match app {
            App::Transfer { bytes } => bytes.div_ceil(segment_bytes).max(1),
            App::Video(_) => 0,
            App::Bulk | App::OnOff { .. } | App::ConstantRate { .. } => u64::MAX,
        };
        Source { app, start, segment_bytes, limit }
    }

    /// The number of segments after which the transfer is complete, if ever.
    pub fn total(&self) -> Option<u64> {
        matches!(self.app, App::Transfer { .. }).then_some(self.limit)
    }

    /// A viewer asked for more of a video.
    pub fn extend(&mut self, segments: u64) {
        self.limit += segments;
    }

    /// Whether the data of a segment exists.
    pub fn is_ready(&self, now: Time, segment: u64) -> bool {
        self.next_ready(now, segment).is_some_and(|ready| ready <= now)
    }

    /// When the data of a segment exists, `None` if that depends on others or it never does.
    pub fn next_ready(&self, now: Time, segment: u64) -> Option<Time> {
        match self.app {
            _ if segment >= self.limit => None,
            App::Bulk | App::Transfer { .. } | App::Video(_) => Some(now),
            App::OnOff { on, off } => {
                let period = (on + off).as_nanos().max(1);
                let since = now.since(self.start).as_nanos();
                let into = since % period;
                let wait = if into < on.as_nanos() { 0 } else { period - into };
                Some(now + Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX)))
            }
            App::ConstantRate { rate } => {
                Some(self.start + rate.time_for((segment + 1).saturating_mul(self.segment_bytes)))
            }
        }
    }

    /// The size on the wire of a packet that carries a segment; the last one of a transfer may be smaller.
    pub fn packet_bytes(&self, segment: u64, full: u32) -> u32 {
        match self.app {
            App::Transfer { bytes } if segment + 1 == self.limit => {
                let rest = bytes.max(1) - segment * self.segment_bytes;
                HEADER_BYTES + rest as u32
            }
            _ => full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_transfer_ends_with_a_smaller_packet() {
        let source = Source::new(App::Transfer { bytes: 3000 }, at(0), 1500);
        assert_eq!(source.total(), Some(3));
        assert_eq!([0, 1, 2].map(|segment| source.packet_bytes(segment, 1500)), [1500, 1500, 120]);
        assert!(source.is_ready(at(0), 2) && !source.is_ready(at(1000), 3));
    }

    #[test]
    fn on_and_off_alternate_from_the_start_on() {
        let app = App::OnOff { on: Duration::from_millis(10), off: Duration::from_millis(5) };
        let source = Source::new(app, at(100), 1500);
        assert!(source.is_ready(at(109), 7) && !source.is_ready(at(110), 7) && source.is_ready(at(115), 7));
        assert_eq!(source.next_ready(at(112), 7), Some(at(115)));
    }

    #[test]
    fn a_constant_rate_fills_a_packet_before_it_goes() {
        // 1,460 bytes each ms.
        let source = Source::new(App::ConstantRate { rate: Rate::from_mbps(11.68) }, at(5), 1500);
        assert_eq!(source.next_ready(at(5), 0), Some(at(6)));
        assert_eq!(source.next_ready(at(5), 9), Some(at(15)));
    }
}
