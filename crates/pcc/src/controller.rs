//! The controller: monitor, utility and rate control put together behind the contract.

use crate::contract::{AckedPacket, CongestionControl, LostPacket, SentPacket};
use crate::control::{Cut, LIMITED_LOSS, Limits, PathState, Phase, RateControl};
use crate::monitor::{Measurement, Monitor, Role};
use crate::observer::{Event, Observer};
use crate::units::{Rate, Time, nanos, times};
use crate::utility::Utility;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;

/// The round-trip time that intervals are planned with before the first sample.
const INITIAL_RTT: Duration = Duration::from_millis(100);
/// The size of a full packet before the driver tells it: what every path of QUIC carries (RFC 9000, section 14).
const INITIAL_MTU: u64 = 1200;
/// The sizes of a full packet that are believed: the largest is that of an IP packet, the smallest leaves room for headers and little more.
const MIN_MTU: u64 = 64;
const MAX_MTU: u64 = 65_535;
/// The silence after which the rate is halved before the first sample: a round trip may well take longer than assumed.
const INITIAL_SILENCE: Duration = Duration::from_secs(3);

/// What protects the path and the receiver whatever the rate control does. Begin with [`Guards::default`], and change what differs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
#[non_exhaustive]
pub struct Guards {
    /// An interval that loses more than this fraction, in 0..=1, halves the rate (released sender: 0.5).
    pub brake_loss: f64,
    /// Round-trip times without any acknowledgement after which the rate is halved (Vivace 2018, section 4.3: 4).
    pub silence_rtts: f64,
    /// Round-trip times without any acknowledgement after which the start-up phase begins anew; half a second at least where there is a window.
    pub restart_rtts: f64,
    /// Bytes in flight are capped at this many times rate * round-trip time (SPEC 0.4: 2 to 2.5).
    pub in_flight: f64,
    /// The rate is held below this multiple of the largest rate delivered in the last ten intervals, while the
    /// application, flow control or the machine limits the sender (in the spirit of RFC 7661).
    pub limited_rate: f64,
}

impl Default for Guards {
    fn default() -> Self {
        Guards { brake_loss: 0.5, silence_rtts: 4.0, restart_rtts: 10.0, in_flight: 2.5, limited_rate: 2.0 }
    }
}

/// The shortest silence that counts, so that a busy receiver on a local network isn't taken for an outage.
const MIN_SILENCE: Duration = Duration::from_millis(50);
/// The shortest silence after which a control with a window takes the path to have changed: on a short round trip a window of two packets, both of
/// which are lost, is silent as long as an outage of ten round trips.
const MIN_RESTART: Duration = Duration::from_millis(500);
/// The shortest idle time after which the rate is no longer trusted (SPEC 0.6).
const MIN_IDLE: Duration = Duration::from_secs(1);
/// Fewer packets only keep a connection alive, and don't end a pause; but after this time the rate is too old in any case (RFC 7661,
/// section 4.4).
const KEEP_ALIVE_PACKETS: u32 = 10;
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// Intervals with fewer packets, cut off by a re-alignment, say nothing about loss or rate.
const MIN_PACKETS: u64 = 10;
/// In a standing queue the cap allows for one part of so many of the smoothed round-trip time at least, if the smallest is shorter.
const STANDING_PART: u64 = 2;
/// Packets that may be in flight whatever the rate.
const MIN_IN_FLIGHT_PACKETS: u64 = 10;

/// A PCC controller: a monitor that measures, a utility function that judges, a rate control that decides.
///
/// Whether the application limits the sender is read from what was really sent ([`Measurement::is_limited`]), which
/// also shows flow control and a busy machine; [`on_app_limited`](CongestionControl::on_app_limited) isn't needed.
#[derive(Debug)]
pub struct Pcc {
    monitor: Monitor,
    utility: Arc<dyn Utility>,
    control: Box<dyn RateControl>,
    guards: Guards,
    observer: Option<Box<dyn Observer>>,
    /// The rate of the interval being sent, or of the next one.
    pacing: Rate,
    mtu: u64,
    last_sent: Option<Time>,
    /// When the rate was cut for a pause last, and how many packets were sent since anything was idle.
    pause: Option<(Time, u32)>,
    /// When an acknowledgement came last, or sending began after nothing was in flight.
    heard: Time,
    /// Since when nothing is heard, if the rate was cut for that: `heard` moves on with each cut.
    silent_since: Option<Time>,
    /// What could be in flight when the last silence began. Of what was [given up](Monitor::given_up) then, no more than this is made room for.
    before_silence: u64,
    /// Intervals that began before the brake was pulled last don't pull it again.
    braked: Time,
    delivered: DeliveredRates,
    /// The rate of the first interval: a sender that had little to send so far may still send that fast.
    first_rate: Rate,
    /// The silence after which the rate is halved, in nanoseconds. As what follows, it follows the monitor's round-trip
    /// times, which change at the end of a batch only.
    silence: u64,
    /// The round-trip time that the in-flight cap allows for, in nanoseconds (none yet: the largest number), and with its margin in
    /// seconds.
    in_flight_rtt: u64,
    in_flight_seconds: f64,
    /// What the rate control allows, if it says so itself.
    limits: Option<Limits>,
    /// The rate and the phase that the observer knows.
    reported: Rate,
    phase: Phase,
}

impl Pcc {
    /// A controller that judges intervals by `utility` and moves its rate by `control`.
    pub fn new(utility: Arc<dyn Utility>, mut control: Box<dyn RateControl>, guards: Guards) -> Pcc {
        let path = PathState::new(INITIAL_MTU, INITIAL_RTT);
        let mut monitor = Monitor::default();
        let plan = control.plan(&path);
        monitor.begin(plan);
        let (limits, reported, phase) = (control.limits(), control.rate(), control.phase());
        Pcc {
            monitor,
            utility,
            control,
            guards,
            observer: None,
            pacing: plan.rate,
            mtu: INITIAL_MTU,
            last_sent: None,
            pause: None,
            heard: Time::ZERO,
            silent_since: None,
            before_silence: 0,
            braked: Time::ZERO,
            delivered: DeliveredRates::default(),
            first_rate: plan.rate,
            silence: nanos(INITIAL_SILENCE),
            in_flight_rtt: u64::MAX,
            in_flight_seconds: INITIAL_SILENCE.as_secs_f64(),
            limits,
            reported,
            phase,
        }
    }

    /// Reports everything that happens to `observer` from now on.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observer = Some(observer);
    }

    /// The base rate, around which probes are sent.
    pub fn rate(&self) -> Rate {
        self.control.rate()
    }

    /// The monitor, with round-trip times and bytes in flight.
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    fn path(&self, now: Time) -> PathState {
        let srtt = self.srtt();
        PathState {
            now,
            mtu: self.mtu,
            rtt: self.monitor.last_mean_rtt().unwrap_or(srtt),
            min_rtt: self.monitor.min_rtt().unwrap_or(srtt),
            in_flight: self.monitor.in_flight(),
        }
    }

    /// The smoothed round-trip time, or what is assumed before the first sample.
    fn srtt(&self) -> Duration {
        self.monitor.srtt().unwrap_or(INITIAL_RTT)
    }

    /// Begins the next interval, at its rate from now on.
    fn begin_interval(&mut self, now: Time) {
        let plan = self.control.plan(&self.path(now));
        self.monitor.begin(plan);
        self.pacing = plan.rate;
        self.limits = self.control.limits();
    }

    /// Drops what is in flight and begins an interval at the rate control's new rate.
    fn realign(&mut self, now: Time) {
        self.monitor.end(true);
        self.begin_interval(now);
    }

    fn on_result(&mut self, now: Time, role: Role, result: &Measurement) {
        let counts = result.packets_sent >= MIN_PACKETS;
        if counts {
            self.delivered.add(result.throughput());
        }
        if let Some(observer) = &mut self.observer {
            observer.on_event(&Event::Interval {
                time: now,
                role,
                result: *result,
                utility: self.utility.utility(result),
            });
        }
        if counts && result.loss > self.guards.brake_loss && result.start >= self.braked {
            self.braked = now;
            self.cut(now, Cut::Loss);
            return;
        }
        let path = self.path(now);
        let mut realign = self.control.on_result(role, result, &*self.utility, &path);
        // While something else limits the sender its intervals prove nothing, so that a loss must lower the ceiling.
        let headroom = if result.loss > LIMITED_LOSS { 1.0 } else { self.guards.limited_rate };
        let ceiling = (self.delivered.largest() * headroom).max(self.first_rate);
        if self.limits.is_none() && result.is_limited() && self.control.rate() > ceiling {
            self.control.limit(ceiling);
            realign = true;
        }
        if realign {
            self.realign(now);
        }
        self.report(now, self.reported, None);
    }

    fn cut(&mut self, now: Time, cut: Cut) {
        // What led to this cut must not lead to the next.
        self.heard = now;
        let rate = self.control.rate();
        self.control.cut(cut);
        self.realign(now);
        self.report(now, rate, Some(cut));
    }

    /// Tells the observer of a change of rate or phase.
    fn report(&mut self, time: Time, from: Rate, cut: Option<Cut>) {
        let to = self.control.rate();
        self.reported = to;
        if to != from
            && let Some(observer) = &mut self.observer
        {
            observer.on_event(&Event::Decision { time, from, to, cut });
        }
        self.follow_phase(time);
    }

    fn follow_phase(&mut self, time: Time) {
        let phase = self.control.phase();
        if phase == self.phase {
            return;
        }
        if self.phase == Phase::Starting {
            // What start-up sent too fast is no reason to brake now.
            self.braked = time;
        }
        self.phase = phase;
        if let Some(observer) = &mut self.observer {
            observer.on_event(&Event::Phase { time, phase });
        }
    }

    fn follow_rtt(&mut self) {
        if let Some((min, srtt)) = self.monitor.rtt_nanos() {
            // `as` saturates, also for a factor that is no number.
            self.silence = ((srtt as f64 * self.guards.silence_rtts) as u64).max(nanos(MIN_SILENCE));
            // In a standing queue the rate times the current round-trip time is in flight; the margin is for silence.
            let rtt = min.max(srtt / STANDING_PART);
            if self.limits.is_none() && rtt != self.in_flight_rtt {
                self.in_flight_rtt = rtt;
                self.in_flight_seconds = times(Duration::from_nanos(rtt), self.guards.in_flight).as_secs_f64();
            }
        }
    }

    /// What may be in flight of packets whose fate is open.
    fn allowed(&self) -> u64 {
        match self.limits {
            Some(limits) => limits.in_flight.get(),
            None => {
                let bytes = (self.pacing.bytes_per_sec() * self.in_flight_seconds) as u64;
                bytes.saturating_add(MIN_IN_FLIGHT_PACKETS * self.mtu)
            }
        }
    }

    /// After a pause the rate is a guess, and nothing in flight is evidence of it (SPEC 0.6).
    fn check_idle(&mut self, now: Time) {
        let Some(last) = self.last_sent else { return };
        if self.monitor.in_flight() > 0 {
            return;
        }
        (self.heard, self.silent_since) = (now, None);
        if now.since(last) <= Duration::from_nanos(self.silence).max(MIN_IDLE) {
            return;
        }
        // Without a window start-up ends while there is little to send, and the rate grows slowly from there: it has to begin anew.
        let has_window = self.limits.is_some();
        match &mut self.pause {
            Some((since, sent)) if has_window && *sent < KEEP_ALIVE_PACKETS && now.since(*since) < LONGEST_PAUSE => {
                *sent = 0;
                self.realign(now);
            }
            _ => {
                self.pause = Some((now, 0));
                self.cut(now, Cut::Idle);
            }
        }
    }
}

impl CongestionControl for Pcc {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        let now = packet.time;
        self.check_idle(now);
        if self.last_sent.is_none() {
            self.heard = now;
        }
        self.last_sent = Some(now);
        if let Some((_, sent)) = &mut self.pause {
            *sent = sent.saturating_add(1);
        }
        self.monitor.on_sent(packet);
        if self.monitor.needs_plan() {
            self.begin_interval(now);
        }
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        if self.monitor.on_acked(packet) {
            self.control.on_acked(packet);
            self.heard = packet.time;
            self.silent_since = None;
        }
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        if self.monitor.on_lost(packet) {
            self.control.on_lost();
        }
    }

    fn on_packet_discarded(&mut self, number: u64) {
        self.monitor.on_discarded(number);
    }

    fn on_batch_end(&mut self, now: Time) {
        self.monitor.end_batch();
        if self.limits.is_some()
            && let Some(limits) = self.control.on_batch(&*self.utility, now, self.monitor.in_flight())
        {
            (self.limits, self.pacing) = (Some(limits), limits.rate);
            self.follow_phase(now);
        }
        while let Some((role, result)) = self.monitor.close_known() {
            self.on_result(now, role, &result);
        }
        self.follow_rtt();
        if self.monitor.take_void() {
            // A result that is waited for will never come: try again at the same rate.
            self.control.limit(self.control.rate());
            self.realign(now);
        }
        self.on_deadline(now);
    }

    fn on_deadline(&mut self, now: Time) {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        if self.silent_since.is_none() {
            self.before_silence = self.allowed();
        }
        let since = *self.silent_since.get_or_insert(self.heard);
        self.monitor.drop_all();
        let least = if self.limits.is_some() { MIN_RESTART } else { Duration::ZERO };
        let restart = now.since(since) > times(self.srtt(), self.guards.restart_rtts).max(least);
        self.cut(now, if restart { Cut::Restart } else { Cut::Silence });
    }

    fn on_mtu_change(&mut self, mtu: u64) {
        self.mtu = mtu.clamp(MIN_MTU, MAX_MTU);
        self.control.on_mtu_change(self.mtu);
        if let Some(limits) = self.control.limits() {
            (self.limits, self.pacing) = (Some(limits), limits.rate);
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pacing)
    }

    fn in_flight_cap(&self) -> u64 {
        // While the path is silent, the transport's probes are all that is sent (RFC 9002, section 6.2).
        let given_up = if self.silent_since.is_some() { 0 } else { self.monitor.given_up().min(self.before_silence) };
        self.allowed().saturating_add(given_up)
    }

    fn allows_bursts(&self) -> bool {
        self.control.allows_bursts()
    }

    fn deadline(&self) -> Option<Time> {
        (self.monitor.in_flight() > 0).then(|| Time::from_nanos(self.heard.as_nanos().saturating_add(self.silence)))
    }
}

/// The intervals whose delivered rates count: the ten of [`Guards::limited_rate`].
const DELIVERED_INTERVALS: usize = 10;

/// The delivered rates of the last intervals.
#[derive(Clone, Copy, Debug, Default)]
struct DeliveredRates {
    rates: [Rate; DELIVERED_INTERVALS],
    next: usize,
}

impl DeliveredRates {
    fn add(&mut self, rate: Rate) {
        self.rates[self.next] = rate;
        self.next = (self.next + 1) % self.rates.len();
    }

    fn largest(&self) -> Rate {
        self.rates.iter().copied().fold(Rate::ZERO, Rate::max)
    }
}
