//! The C sender behind the contract, told only what Linux tells a congestion control.

use crate::ffi::{Ack, Profile, Sender};
use crate::rto::RetransmissionTimer;
use core::time::Duration;
use pcc::{AckedPacket, CongestionControl, Ecn, LostPacket, PacketTable, Rate, SentPacket, Time};

/// Round-trip times are capped here, as in the core.
const MAX_RTT: Duration = Duration::from_secs(600);

/// PCC as the kernel will run it: the C core for BPF, compiled for the host.
///
/// It sees no packets, only counters of segments that were sent and are in flight, how many were declared lost since the
/// acknowledgement before, and one round-trip time per acknowledgement, in whole microseconds. Its intervals begin
/// and end with acknowledgements, and its silence is the retransmission timer's.
#[derive(Clone, Debug)]
pub(crate) struct KernelPcc {
    sender: Sender,
    /// What the kernel's socket knows.
    socket: Ack,
    /// Packets without an outcome.
    packets: PacketTable<()>,
    timer: RetransmissionTimer,
    /// Of the batch being reported: the newest packet acknowledged and its round-trip time.
    newest_ack: Option<(u64, Duration)>,
}

impl KernelPcc {
    pub fn new(profile: Profile, seed: u64) -> KernelPcc {
        let socket = Ack { mss: 1200, ..Ack::default() };
        KernelPcc {
            sender: Sender::new(profile, seed, &socket),
            socket,
            packets: PacketTable::default(),
            timer: RetransmissionTimer::default(),
            newest_ack: None,
        }
    }

    /// Moves the socket's time on to `now`, but never back.
    fn advance(&mut self, now: Time) {
        self.socket.now = self.socket.now.max(now.as_nanos());
    }

    /// Takes a packet out; `false` if it isn't outstanding.
    fn resolve(&mut self, number: u64) -> bool {
        let known = self.packets.take(number).is_some();
        self.socket.in_flight -= u32::from(known);
        known
    }
}

impl CongestionControl for KernelPcc {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        self.advance(packet.time);
        if !self.packets.insert(packet.number, ()) {
            return;
        }
        let socket = &mut self.socket;
        if socket.in_flight == 0 {
            self.timer.restart(packet.time);
            self.sender.on_first_sent(socket);
        }
        let gap = Rate::from_bits_per_sec(self.sender.rate() as f64).time_for(packet.bytes);
        socket.next_send = (Time::from_nanos(socket.now) + gap).as_nanos();
        socket.sent = socket.sent.wrapping_add(1);
        socket.in_flight = socket.in_flight.wrapping_add(1);
        socket.bytes_sent = socket.bytes_sent.wrapping_add(packet.bytes);
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        if self.resolve(packet.number) {
            self.newest_ack = self.newest_ack.max(Some((packet.number, packet.rtt.min(MAX_RTT))));
        }
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        self.socket.lost += u32::from(self.resolve(packet.number));
    }

    fn on_packet_discarded(&mut self, number: u64) {
        self.resolve(number);
    }

    fn on_batch_end(&mut self, now: Time) {
        self.advance(now);
        let newest = self.newest_ack.take();
        self.socket.rtt = newest.map_or(0, |(_, rtt)| rtt.as_nanos() as u64 / 1000 * 1000);
        if let Some((_, rtt)) = newest {
            self.timer.sample(rtt);
            self.timer.restart(Time::from_nanos(self.socket.now));
            self.socket.srtt = self.timer.srtt().unwrap_or_default().as_nanos() as u64;
        }
        self.sender.on_ack(&self.socket);
        self.socket.lost = 0;
    }

    fn on_deadline(&mut self, now: Time) {
        self.advance(now);
        let now = Time::from_nanos(self.socket.now);
        if self.deadline().is_some_and(|deadline| now >= deadline) {
            self.timer.back_off(now);
            self.sender.on_timeout(&self.socket);
        }
    }

    fn on_mtu_change(&mut self, mtu: u64) {
        self.socket.mss = mtu.clamp(64, 65_535) as u32;
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_sec(self.sender.rate() as f64))
    }

    fn in_flight_cap(&self) -> u64 {
        self.sender.window(&self.socket).saturating_mul(self.socket.mss.into())
    }

    /// Linux turns ECN on for a connection whatever its controller, and this one doesn't look at marks.
    fn ecn(&self) -> Ecn {
        Ecn::Usable
    }

    fn deadline(&self) -> Option<Time> {
        (self.socket.in_flight > 0).then(|| self.timer.deadline())
    }
}
