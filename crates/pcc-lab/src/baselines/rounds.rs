//! Round trips and recovery periods, counted by packets.

/// Packet-timed round trips (draft-ietf-ccwg-bbr-04, section 5.5.1): one ends when a packet is acknowledged that was sent
/// after it began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// How many have ended.
    pub count: u64,
    /// Whether the last batch ended one.
    pub ended: bool,
    next_delivered: u64,
}

impl Rounds {
    /// The newest packet acknowledged was sent when `prior_delivered` bytes had been delivered; `delivered` are now.
    pub fn update(&mut self, prior_delivered: u64, delivered: u64) {
        self.ended = prior_delivered >= self.next_delivered;
        if self.ended {
            self.start(delivered);
            self.count += 1;
        }
    }

    /// A round begins when `delivered` bytes have been delivered.
    pub fn start(&mut self, delivered: u64) {
        self.next_delivered = delivered;
    }
}

/// Recovery periods (RFC 9002, section 7.3.2): from a loss until a packet is acknowledged that was sent after it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recovery {
    last_sent: u64,
    /// The last packet sent before the latest period.
    start: Option<u64>,
    active: bool,
}

impl Recovery {
    pub fn is_active(&self) -> bool {
        self.active
    }

    pub fn on_sent(&mut self, number: u64) {
        self.last_sent = self.last_sent.max(number);
    }

    pub fn on_acked(&mut self, number: u64) {
        if Some(number) > self.start {
            self.active = false;
        }
    }

    /// Whether the loss begins a new period.
    pub fn on_lost(&mut self, number: u64) -> bool {
        let begins = Some(number) > self.start;
        if begins {
            (self.start, self.active) = (Some(self.last_sent), true);
        }
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_with_a_packet_of_its_own() {
        let mut rounds = Rounds::default();
        let ends = [(0, 10), (0, 20), (9, 30), (10, 40), (20, 50), (40, 60)].map(|(prior, delivered)| {
            rounds.update(prior, delivered);
            rounds.ended
        });
        assert_eq!(ends, [true, false, false, true, false, true]);
        assert_eq!(rounds.count, 3);
    }

    #[test]
    fn losses_of_one_flight_are_one_period() {
        let mut recovery = Recovery::default();
        (0..10).for_each(|number| recovery.on_sent(number));
        assert!(recovery.on_lost(3));
        assert!(!recovery.on_lost(4));
        recovery.on_acked(9);
        assert!(recovery.is_active());
        recovery.on_sent(10);
        recovery.on_acked(10);
        assert!(!recovery.is_active());
        assert!(!recovery.on_lost(9), "sent before the period");
        assert!(recovery.on_lost(10));
    }
}
