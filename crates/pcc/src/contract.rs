//! The one contract: what a driver (a transport or a simulator) tells a congestion controller, and what it asks.

use crate::units::{Rate, Time};
use core::fmt::Debug;
use core::time::Duration;

/// A packet that left the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentPacket {
    /// When it was handed to the network. A batch may share one time.
    pub time: Time,
    /// Its number. Numbers rise with every transmission, also of repeated data; gaps are allowed.
    pub number: u64,
    /// Its size in bytes, as counted against the in-flight cap. PCC counts a packet of 4 GiB or more as one of 4 GiB less a byte.
    pub bytes: u64,
}

/// A packet whose arrival was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckedPacket {
    /// When the acknowledgement arrived.
    pub time: Time,
    /// The number it was sent with.
    pub number: u64,
    /// When it was sent.
    pub sent: Time,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its round-trip time, without the receiver's acknowledgement delay where the transport knows it. Where it knows that for the
    /// newest packet of an acknowledgement only, as QUIC does, older packets of the same acknowledgement get the newest one's
    /// round-trip time. PCC takes more than 600 s for 600 s.
    pub rtt: Duration,
}

/// A packet that the transport gave up on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostPacket {
    /// When the loss was declared.
    pub time: Time,
    /// The number it was sent with.
    pub number: u64,
    /// When it was sent.
    pub sent: Time,
    /// Its size in bytes.
    pub bytes: u64,
}

/// What a controller does with Explicit Congestion Notification (RFC 3168): queues mark packets of senders that can take
/// marks (ECT), where they would drop those of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ecn {
    /// It knows nothing of marks: its packets should go out as not capable of ECN. Where a transport can't turn that off, a
    /// packet that comes back marked is to be reported as lost (RFC 9002, section 7.1).
    #[default]
    Unused,
    /// Its packets may be marked, where both hosts have ECN turned on.
    Usable,
    /// It is made for marks: its packets always ask for them.
    Needed,
}

/// A congestion controller, driven by events and free of input and output.
///
/// The driver reports each transmission with [`on_packet_sent`](Self::on_packet_sent) and, later, what became of
/// it, once: acknowledged (marked or not), lost, or discarded. All that one incoming datagram tells forms a batch, which
/// [`on_batch_end`](Self::on_batch_end) closes; controllers decide there, so that the order inside a batch
/// doesn't matter. After any event the driver reads [`pacing_rate`](Self::pacing_rate),
/// [`in_flight_cap`](Self::in_flight_cap) and [`deadline`](Self::deadline) anew. All times are of one clock that never goes back.
///
/// No sequence of events, however odd, makes a controller panic.
///
/// The rest of this page is the rules for drivers. The file `examples/udp.rs` of this crate is a driver that keeps them: the
/// example `udp` below. SPEC is [explained](crate#spec) with the crate.
///
#[doc = include_str!("rules.md")]
pub trait CongestionControl: Debug + Send + Sync {
    /// A packet was sent that will be acknowledged. Packets that carry acknowledgements only are not reported, nor are probes for a
    /// larger MTU: what becomes of those says nothing about congestion.
    fn on_packet_sent(&mut self, packet: &SentPacket);

    /// A packet was acknowledged. That may also be told of a packet that was reported lost: PCC takes no notice then.
    fn on_packet_acked(&mut self, packet: &AckedPacket);

    /// A packet was acknowledged that had been marked on its way: the codepoint CE of RFC 3168. This is called instead of
    /// [`on_packet_acked`](Self::on_packet_acked), which is what it does unless a controller has a use for marks.
    fn on_packet_marked(&mut self, packet: &AckedPacket) {
        self.on_packet_acked(packet);
    }

    /// A packet was declared lost.
    fn on_packet_lost(&mut self, packet: &LostPacket);

    /// Nobody will ever know what became of a packet, for example because the keys it was sent under were thrown away.
    fn on_packet_discarded(&mut self, number: u64) {
        let _ = number;
    }

    /// All acknowledgements and losses that came together have been reported.
    fn on_batch_end(&mut self, now: Time);

    /// The sender could have sent more, but the application had no data.
    fn on_app_limited(&mut self, now: Time) {
        let _ = now;
    }

    /// The instant that [`deadline`](Self::deadline) named has come. Calling it early or late does no harm.
    fn on_deadline(&mut self, now: Time) {
        let _ = now;
    }

    /// A full packet has `mtu` bytes from now on, counted as in [`SentPacket::bytes`]. To be called before the first packet and
    /// whenever that changes. PCC assumes 1200 before the first call, and takes values outside of 64 to 65,535 for the nearest of these.
    fn on_mtu_change(&mut self, mtu: u64) {
        let _ = mtu;
    }

    /// The host begins connections with a window of this many packets (`initcwnd` of ip-route(8)), where a window-based
    /// controller has the 10 of RFC 6928 by default. Comes before the first packet is sent, if it comes.
    fn on_initial_window(&mut self, packets: u32) {
        let _ = packets;
    }

    /// The rate at which packets are to leave, evenly spaced; `None` for a controller that sends whenever its window
    /// allows.
    fn pacing_rate(&self) -> Option<Rate>;

    /// The most bytes that may be in flight: sent, and neither acknowledged, lost nor discarded. A packet has to wait if it would bring
    /// the bytes in flight above this, but for one case: with nothing in flight one packet may always go. The cap may be smaller than a
    /// packet, and who has nothing in flight waits in vain for an acknowledgement.
    fn in_flight_cap(&self) -> u64;

    /// Whether the transport may hold packets back for a moment, to send or to read several at once; it never changes. A controller
    /// that gives way to the delay of a single packet can't bear that.
    fn allows_bursts(&self) -> bool {
        true
    }

    /// Whether its packets may be marked; it never changes. No PCC profile has a use for marks.
    fn ecn(&self) -> Ecn {
        Ecn::Unused
    }

    /// When [`on_deadline`](Self::on_deadline) is to be called; `None` if there is nothing to wait for.
    fn deadline(&self) -> Option<Time> {
        None
    }
}
