//! Flow control windows that follow the path.
//!
//! Flow control must never be what limits a transfer, yet a window is memory that a peer may fill, or that an
//! application may write ahead. So the windows start at [`START`] and grow to four times what the connection
//! carried in the latest round trip: twice what start-up, which doubles each round trip, sends in the next one, and
//! twice that because new credit takes a while to take effect.

use noq::{Connection, VarInt};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The window of a new connection, in bytes.
pub const START: u64 = 4 << 20;

/// A sensible bound of a window, in bytes: four times 1.3 Gbit/s x 200 ms.
pub const CAP: u64 = 128 << 20;

/// How much more than the last round trip's bytes a window holds.
const HEADROOM: u64 = 4;

/// Decides on the size of the windows; sans-IO.
#[derive(Clone, Debug)]
pub struct Windows {
    size: u64,
    cap: u64,
    /// Total bytes at each update, back to one round trip ago.
    totals: VecDeque<(Instant, u64)>,
}

impl Windows {
    /// Windows of [`START`] bytes that grow to `cap` bytes at most.
    pub fn new(cap: u64) -> Windows {
        Windows::starting_at(START, cap)
    }

    /// Windows of `start` bytes that grow to `cap` bytes at most.
    pub fn starting_at(start: u64, cap: u64) -> Windows {
        Windows { size: start, cap, totals: VecDeque::new() }
    }

    /// The size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Takes in how many bytes the connection has carried up to `now`; returns the new size if it has grown.
    ///
    /// Call it at least every [`interval`](Self::interval).
    pub fn update(&mut self, now: Instant, rtt: Duration, total_bytes: u64) -> Option<u64> {
        self.totals.push_back((now, total_bytes));
        while self.totals.get(1).is_some_and(|&(at, _)| now.saturating_duration_since(at) >= rtt) {
            self.totals.pop_front();
        }
        let (_, before) = *self.totals.front()?;
        let wanted = total_bytes.saturating_sub(before).saturating_mul(HEADROOM).min(self.cap);
        // In steps, or the peer would be told of each byte more.
        if wanted <= self.size {
            return None;
        }
        self.size = wanted.max(self.size.saturating_mul(3) / 2).min(self.cap);
        Some(self.size)
    }

    /// How often to look, in a path with this round-trip time.
    pub fn interval(rtt: Duration) -> Duration {
        (rtt / 4).clamp(Duration::from_millis(5), Duration::from_millis(100))
    }
}

/// Lets the windows of `connection` follow its path, up to `cap` bytes each, until it closes.
///
/// Both ends of a connection should do so, each for what it sends and receives. It is a task of its own: spawned with
/// [`tokio::spawn`], it does not keep the connection open. The window of a single stream can't be changed once the
/// connection is up (`TransportConfig::stream_receive_window`): split large data over several streams.
pub fn follow_path(connection: &Connection, cap: u64) -> impl Future<Output = ()> + Send + 'static {
    let weak = connection.weak_handle();
    async move {
        let mut windows = Windows::new(cap);
        while let Some(connection) = weak.upgrade() {
            if connection.close_reason().is_some() {
                break;
            }
            let rtt = connection.rtt(noq::PathId::ZERO).unwrap_or(Duration::from_millis(100));
            let stats = connection.stats();
            let total = stats.udp_tx.bytes.saturating_add(stats.udp_rx.bytes);
            if let Some(size) = windows.update(tokio::time::Instant::now().into_std(), rtt, total) {
                connection.set_send_window(size);
                connection.set_receive_window(VarInt::from_u64(size).unwrap_or(VarInt::MAX));
            }
            drop(connection);
            tokio::time::sleep(Windows::interval(rtt)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender that doubles each round trip from 10 packets, up to `bytes_per_sec`: the largest share of the window
    /// that is ever in flight, one round trip after the window was set.
    fn worst_share(bytes_per_sec: f64, rtt: Duration) -> f64 {
        let begin = Instant::now();
        let step = Windows::interval(rtt);
        let per_rtt = rtt.as_secs_f64() / step.as_secs_f64();
        let mut windows = Windows::new(CAP);
        let mut sizes = vec![START];
        let (mut total, mut worst) = (0.0, 0.0_f64);
        for i in 0..2000_u32 {
            let rate = (12e3 / rtt.as_secs_f64() * 2_f64.powf(f64::from(i) / per_rtt)).min(bytes_per_sec);
            total += rate * step.as_secs_f64();
            windows.update(begin + i * step, rtt, total as u64);
            sizes.push(windows.size);
            let granted = sizes[sizes.len().saturating_sub(per_rtt.ceil() as usize + 1)];
            worst = worst.max(rate * rtt.as_secs_f64() / granted as f64);
        }
        worst
    }

    #[test]
    fn never_limits_a_start_up_that_doubles() {
        for (mbps, millis) in [(42.0, 800), (1000.0, 100), (100.0, 30), (1000.0, 1)] {
            let worst = worst_share(mbps * 1e6 / 8.0, Duration::from_millis(millis));
            assert!(worst < 0.95, "{mbps} Mbit/s, {millis} ms: {worst}");
        }
    }

    #[test]
    fn grows_to_the_cap_and_not_without_need() {
        let now = Instant::now();
        let rtt = Duration::from_millis(100);
        let mut windows = Windows::new(CAP);
        windows.update(now, rtt, 0);
        assert_eq!(windows.update(now + rtt / 2, rtt, START / HEADROOM), None);
        assert_eq!(windows.update(now + rtt, rtt, u64::MAX), Some(CAP));
        assert_eq!(windows.update(now + rtt * 3 / 2, rtt, u64::MAX), None);
    }
}
