//! How much a receiver of Linux's TCP lets its sender send (6.18: `net/ipv4/tcp_input.c`, `tcp_output.c`).
//!
//! The window grows with what a program reads in a round trip, which it can do in order only. Where each round trip loses packets, that comes a round
//! trip late, and start-up waits for it.
//!
//! In packets. Programs read at once, and memory has no limit (`tcp_rmem`).

use pcc::Time;
use std::time::Duration;

/// The first window, of 64 kB (half of `tcp_rmem`'s default), and what counts as read in a round trip before the first one (`TCP_INIT_CWND`).
const FIRST_WINDOW: u64 = 44;
const FIRST_READ: u64 = 10;
/// The window opens by so many for each packet that comes (`tcp_grow_window`).
const OPENS: u64 = 2;

#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    /// The most that a round trip has read (`rcvq_space.space`).
    read: u64,
    /// What was read until when, at the beginning of this round trip.
    begun: (u64, Time),
    /// Room for packets (`sk_rcvbuf`), and how much of it the window may take so far (`rcv_ssthresh`).
    room: u64,
    open: u64,
    /// All segments below this one have been read.
    in_order: u64,
    /// All segments below this one may be sent.
    pub edge: u64,
}

impl ReceiveWindow {
    pub fn new() -> ReceiveWindow {
        ReceiveWindow {
            read: FIRST_READ,
            begun: (0, Time::ZERO),
            room: FIRST_WINDOW,
            open: FIRST_WINDOW,
            in_order: 0,
            edge: FIRST_WINDOW,
        }
    }

    /// A new segment has come to a flow with the round-trip time `rtt`, zero as long as that isn't known. All below `in_order` are read; of the
    /// `beyond` segments after that, `held` have come.
    pub fn on_segment(&mut self, now: Time, rtt: Duration, in_order: u64, beyond: u64, held: u64) {
        if in_order == self.in_order {
            self.grow(self.read, beyond);
        } else if !rtt.is_zero() && now.since(self.begun.1) >= rtt {
            // A packet is read, and the others that had waited for it are not yet (`tcp_rcv_space_adjust`).
            let (first, waiting) = (self.in_order + 1, in_order - self.in_order - 1);
            let read = (first - self.begun.0).saturating_sub(waiting);
            if read > self.read {
                self.grow(read, beyond);
            }
            self.begun = (first, now);
        }
        self.in_order = in_order;
        let free = self.room.saturating_sub(held);
        self.open = (self.open + OPENS).min(free).max(self.open);
        // What was let go stays so.
        self.edge = self.edge.max(in_order + self.open.min(free));
    }

    /// A round trip has read `read` segments: what is ahead of it may be twice as many, in slow start many more, and what waits for a gap to be filled
    /// (`tcp_rcvbuf_grow`).
    fn grow(&mut self, read: u64, beyond: u64) {
        let before = std::mem::replace(&mut self.read, read);
        let twice = 2 * read;
        let grown = 2 * (twice * (read - before) / before);
        self.room = self.room.max(twice + grown + beyond);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(800);

    /// Segments come in order, those of each round trip with so many of them, spread over it; returns the window after each round trip.
    fn after_rounds(window: &mut ReceiveWindow, rounds: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut in_order = 0;
        let windows = rounds.into_iter().enumerate().map(|(round, segments)| {
            for n in 0..segments {
                let now = Time::ZERO + RTT * round as u32 + RTT * n as u32 / segments as u32;
                in_order += 1;
                window.on_segment(now, RTT, in_order, 0, 0);
            }
            window.edge - in_order
        });
        windows.collect()
    }

    #[test]
    fn a_sender_that_doubles_never_waits() {
        let rounds: Vec<u64> = (0..12).map(|n| 10 << n).collect();
        let windows = after_rounds(&mut ReceiveWindow::new(), rounds.iter().copied());
        assert!(windows.iter().zip(&rounds).all(|(window, sent)| *window > 2 * sent), "{windows:?}");
    }

    /// After four round trips that doubled, the first `read` of the fifth's segments come in order, and `held` more behind a gap.
    fn with_a_gap(read: u64, held: u64) -> (ReceiveWindow, u64) {
        let mut window = ReceiveWindow::new();
        after_rounds(&mut window, [10, 20, 40, 80]);
        let in_order = 150 + read;
        let now = Time::ZERO + 4 * RTT;
        (151..=in_order).for_each(|n| window.on_segment(now, RTT, n, 0, 0));
        (1..=held).for_each(|n| window.on_segment(now, RTT, in_order, n + 1, n));
        (window, in_order)
    }

    #[test]
    fn what_waits_for_a_gap_takes_room() {
        let edges = [600, 700].map(|held| with_a_gap(100, held).0.edge);
        assert_eq!(edges[0], edges[1], "what waits takes the room that it makes");
        assert!(with_a_gap(800, 0).0.edge > edges[0] + 600, "what is read makes room");
    }

    #[test]
    fn what_may_be_sent_is_never_taken_back() {
        let (mut window, in_order) = with_a_gap(100, 0);
        let mut held = 0;
        while in_order + window.room.saturating_sub(held) >= window.edge && held < 1000 {
            held += 1;
            let before = window.edge;
            window.on_segment(Time::ZERO + 4 * RTT, RTT, in_order, held + 1, held);
            assert!(window.edge >= before, "{held} held");
        }
        assert!(held < 1000, "what waits never took so much room that the edge could have gone back");
    }

    #[test]
    fn what_a_filled_gap_lets_read_at_once_is_no_rate() {
        let (mut window, in_order) = with_a_gap(100, 300);
        let (read, now) = (window.read, Time::ZERO + 5 * RTT);
        assert!(read < 100);
        window.on_segment(now, RTT, in_order + 301, 0, 0);
        assert_eq!(window.read, read);
        // From then on it counts, for a round trip.
        (2..=400).for_each(|n| window.on_segment(now, RTT, in_order + 300 + n, 0, 0));
        window.on_segment(now + RTT, RTT, in_order + 701, 0, 0);
        assert_eq!(window.read, 700);
    }
}
