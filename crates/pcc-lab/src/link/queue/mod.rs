//! The queue before the bottleneck: which packets wait, in which order, and which are dropped.
//!
//! To add a queue, write its [`Discipline`] in a file of its own, and name it here: as a module and in [`queues!`].

mod codel;
mod discipline;
mod drop_tail;
mod drr;
mod fifo;
mod fq_codel;
mod limit;
mod marking;

use super::packet::Packet;
use crate::quantity::{Quantity, read, read_option};
use codel::CoDel;
use discipline::Discipline;
use drop_tail::DropTail;
use drr::Drr;
use fq_codel::FqCoDel;
pub use limit::Limit;
use marking::Marking;
use pcc::Time;
use serde::Deserialize;

/// Makes of each discipline a [`QueueKind`] of the same name, with words that say what it is, and a [`Buffer`] that is one.
macro_rules! queues {
    ($($(#[$meta:meta])* $name:ident: $words:literal,)*) => {
        /// The kinds of queues; a scenario writes them in kebab-case, such as `"drop-tail"`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum QueueKind {
            $($(#[$meta])* $name,)*
        }

        impl QueueKind {
            /// All kinds.
            pub const ALL: &[QueueKind] = &[$(QueueKind::$name),*];

            /// What it is in a few words, to follow a limit: `75 kB` of what.
            pub fn words(self) -> &'static str {
                match self {
                    $(QueueKind::$name => $words,)*
                }
            }
        }

        /// A queue with its packets.
        #[derive(Clone, Debug)]
        pub(super) enum Buffer<P> {
            $($name($name<P>),)*
        }

        impl<P> Buffer<P> {
            pub(super) fn new(QueueConfig { kind, limit, ecn, mark_above }: QueueConfig) -> Buffer<P> {
                let marking = Marking { instead_of_drops: ecn, above: mark_above };
                match kind {
                    $(QueueKind::$name => Buffer::$name($name::new(limit, marking)),)*
                }
            }

            /// See [`Discipline::offer`].
            pub(super) fn offer(&mut self, packet: Packet<P>, serving: Option<&Packet<P>>) {
                match self {
                    $(Buffer::$name(queue) => queue.offer(packet, serving),)*
                }
            }

            /// See [`Discipline::take`].
            pub(super) fn take(&mut self, now: Time) -> Option<Packet<P>> {
                match self {
                    $(Buffer::$name(queue) => queue.take(now),)*
                }
            }

            /// Bytes of the packets that wait.
            pub(super) fn bytes(&self) -> u64 {
                match self {
                    $(Buffer::$name(queue) => queue.bytes(),)*
                }
            }

            /// The number of packets that wait.
            pub(super) fn len(&self) -> usize {
                match self {
                    $(Buffer::$name(queue) => queue.len(),)*
                }
            }

            /// Packets dropped so far.
            pub(super) fn dropped(&self) -> u64 {
                match self {
                    $(Buffer::$name(queue) => queue.dropped(),)*
                }
            }
        }
    };
}

queues! {
    /// First in, first out. A packet that does not fit is dropped.
    DropTail: "queue",

    /// CoDel with a target of 5 ms and an interval of 100 ms (RFC 8289).
    #[serde(rename = "codel")]
    CoDel: "CoDel queue",

    /// Fair queueing by deficit round robin, with a quantum of one [`MTU`](super::MTU) (Shreedhar and Varghese, *Efficient
    /// fair queuing using deficit round robin*, 1996). The limit is that of each flow's drop-tail queue. Scenarios may also
    /// call it `"fair-queue"`.
    ///
    /// For packets of at most 64 KiB: a turn costs time in proportion to the size of the packet.
    #[serde(alias = "fair-queue")]
    Drr: "fair queue",

    /// FQ-CoDel: deficit round robin over 1024 queues with CoDel, sparse flows first (RFC 8290). The limit is that of all
    /// queues together; beyond, the longest queue loses packets from its head.
    #[serde(rename = "fq-codel")]
    FqCoDel: "FQ-CoDel queue",
}

/// The queue before the bottleneck: `{ kind = "codel", limit = "75kB", ecn = true }`, or in short `"75kB"` for a drop-tail queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", bound = "L: Quantity")]
pub struct QueueConfig<L = Limit> {
    /// What kind of queue it is.
    pub kind: QueueKind,
    /// How much it holds, the packet in service included.
    #[serde(deserialize_with = "read")]
    pub limit: L,
    /// Whether CoDel and FQ-CoDel mark packets that can be marked, where they would drop them to keep the queue short (RFC 8289
    /// and 8290). What doesn't fit is dropped all the same.
    #[serde(default)]
    pub ecn: bool,
    /// A drop-tail queue that holds more than this, the packet in service included, marks what comes, and drops what can't be
    /// marked (RFC 8257, section 3.1).
    #[serde(default, deserialize_with = "read_option")]
    pub mark_above: Option<Limit>,
}

impl<L> QueueConfig<L> {
    /// A queue that marks nothing.
    pub fn new(kind: QueueKind, limit: L) -> QueueConfig<L> {
        QueueConfig { kind, limit, ecn: false, mark_above: None }
    }
}

impl QueueConfig {
    /// The limit in bytes for packets of `packet` bytes, with [`QueueKind::Drr`] that of each flow; `None` if it has none.
    pub fn limit_bytes(&self, packet: u64) -> Option<u64> {
        let bytes = match self.limit {
            Limit::Bytes(bytes) => bytes,
            Limit::Packets(packets) => packets.saturating_mul(packet),
        };
        (bytes < u64::MAX).then_some(bytes)
    }
}

impl From<Limit> for QueueConfig {
    /// A drop-tail queue.
    fn from(limit: Limit) -> QueueConfig {
        QueueConfig::new(QueueKind::DropTail, limit)
    }
}

impl From<u64> for QueueConfig {
    /// A drop-tail queue with a limit in bytes.
    fn from(bytes: u64) -> QueueConfig {
        Limit::Bytes(bytes).into()
    }
}

/// The limit of a drop-tail queue.
impl<L: Quantity> Quantity for QueueConfig<L> {
    const EXPECTED: &'static str = L::EXPECTED;

    fn from_text(text: &str) -> Result<QueueConfig<L>, String> {
        L::from_text(text).map(|limit| QueueConfig::new(QueueKind::DropTail, limit))
    }
}
