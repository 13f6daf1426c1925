//! What is counted of a flow: at its sender's side, and where its packets leave the last link.

use super::config::Route;
use super::frame::TcpData;
use super::received::Received;
use super::side::Side;
use hdrhistogram::Histogram;
use pcc::Time;
use pcc_lab::sim::{FlowOutcome, Sample};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// Packets that follow each other within this are one burst. At 1 Gbit/s a full packet takes 12 us.
const BACK_TO_BACK: Duration = Duration::from_micros(10);

/// Larger bursts count as this many packets.
const MAX_BURST: u64 = 100_000;

#[derive(Debug)]
pub(super) struct Flow {
    /// From left to right, and back.
    routes: [Vec<usize>; 2],
    outcome: FlowOutcome,
    received: Received,
    lost: Rc<Cell<u64>>,
    /// How long the newest packet took back.
    way_back: Duration,
    newest_rtt: Duration,
    last_sent: Option<Time>,
    burst: u64,
    bursts: Option<Histogram<u32>>,
    /// Of each TCP segment with data, in the order in which they were sent: whether it arrived. Only if it is to be recorded.
    segments: Option<Vec<bool>>,
}

/// A packet of data on its way: if it is dropped there, it is lost.
#[derive(Debug)]
pub(super) struct SegmentOutcome {
    lost: Option<Rc<Cell<u64>>>,
    /// Its place among the flow's recorded segments.
    segment: Option<usize>,
}

impl Drop for SegmentOutcome {
    fn drop(&mut self) {
        if let Some(lost) = &self.lost {
            lost.set(lost.get() + 1);
        }
    }
}

impl Flow {
    /// A flow that is counted until `end`. Its way back, after the links of its route, ends with the path `back` and takes `way_back` or longer.
    pub fn new(route: Route, back: usize, way_back: Duration, end: Time, record: bool) -> Flow {
        let mut reverse = route.reverse;
        reverse.push(back);
        Flow {
            routes: [route.forward, reverse],
            outcome: FlowOutcome::new(Time::ZERO, end, None),
            received: Received::default(),
            lost: Rc::default(),
            way_back,
            newest_rtt: Duration::ZERO,
            last_sent: None,
            burst: 0,
            bursts: Histogram::new_with_max(MAX_BURST, 2).ok(),
            segments: record.then(Vec::new),
        }
    }

    /// The paths that a packet passes.
    pub fn route(&self, to: Side) -> &[usize] {
        let [forward, reverse] = &self.routes;
        match to {
            Side::Right => forward,
            Side::Left => reverse,
        }
    }

    /// Its sender has sent a packet.
    pub fn on_sent(&mut self, now: Time, data: Option<TcpData>) -> SegmentOutcome {
        let recorded = self.segments.as_mut().filter(|_| data.is_some_and(|data| data.bytes > 0));
        let segment = recorded.map(|segments| {
            segments.push(false);
            segments.len() - 1
        });
        if now >= self.outcome.end {
            return SegmentOutcome { lost: None, segment };
        }
        self.outcome.sent += 1;
        if self.last_sent.is_some_and(|last| now.since(last) > BACK_TO_BACK) {
            self.end_burst();
        }
        self.last_sent = Some(now);
        self.burst += 1;
        SegmentOutcome { lost: Some(self.lost.clone()), segment }
    }

    /// A packet of data has passed all links.
    pub fn on_arrival(&mut self, mut outcome: SegmentOutcome) {
        outcome.lost = None;
        let segment = outcome.segment.and_then(|segment| self.segments.as_mut()?.get_mut(segment));
        if let Some(arrived) = segment {
            *arrived = true;
        }
    }

    /// A packet of `bytes` bytes on the wire has passed the links in `time`, of which it was `queued`.
    pub fn on_data(&mut self, now: Time, time: Duration, queued: Duration, bytes: u64, data: Option<TcpData>) {
        if now >= self.outcome.end {
            return;
        }
        self.outcome.queueing.add(queued);
        self.newest_rtt = time + self.way_back;
        self.outcome.rtt.add(self.newest_rtt);
        // All of a datagram is new; of a segment what its connection didn't have yet, and the headers with that.
        let new = data.map_or(bytes, |data| match self.received.add(data) {
            0 => 0,
            new => bytes - u64::from(data.bytes) + new,
        });
        self.outcome.deliver(now, new);
    }

    /// A packet from its receiver to its sender took `time`.
    pub fn on_way_back(&mut self, time: Duration) {
        self.way_back = time;
    }

    /// Forgets what was counted so far.
    pub fn begin_measurement(&mut self) {
        self.outcome.begin_measurement();
        self.lost.set(0);
        self.burst = 0;
        self.bursts.iter_mut().for_each(Histogram::reset);
    }

    pub fn sample(&mut self) {
        // What the sender wants is not to be seen from here.
        self.outcome.samples.push(Sample { rate_mbps: 0.0, rtt_ms: self.newest_rtt.as_secs_f64() * 1e3 });
    }

    pub fn outcome(&self, end: Time) -> FlowOutcome {
        let mut outcome = self.outcome.clone();
        outcome.end = end.min(outcome.end);
        outcome.lost = self.lost.get();
        outcome
    }

    /// Of each TCP segment with data, in the order in which they were sent: whether it arrived. Empty if it wasn't recorded.
    pub fn segments(&mut self) -> Vec<bool> {
        self.segments.take().unwrap_or_default()
    }

    /// 99 % of its bursts are of at most this many packets.
    pub fn burst(&mut self) -> u64 {
        self.end_burst();
        self.bursts.as_ref().map_or(0, |bursts| bursts.value_at_quantile(0.99))
    }

    fn end_burst(&mut self) {
        if let Some(bursts) = self.bursts.as_mut().filter(|_| self.burst > 0) {
            bursts.saturating_record(self.burst);
        }
        self.burst = 0;
    }
}
