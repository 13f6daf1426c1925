//! Round trips and recovery periods, counted by packets.

/// Packet-timed round trips (draft-ietf-ccwg-bbr-04, section 5.5.1): one ends when a packet is acknowledged that was sent
/// after it began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounds {
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

/// Loss recovery as TCP has it (RFC 6675, section 5): from a loss until all that was lost has been repaired.
///
/// What is lost is taken to be sent again at once, so that recovery ends when a packet is acknowledged that was sent after
/// the latest loss was declared. Under steady loss it doesn't end: in Linux too the next one begins before this one is
/// over, and its BBR doesn't notice.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recovery {
    last_sent: u64,
    /// The last packet sent before the latest loss was declared.
    until: Option<u64>,
}

impl Recovery {
    pub fn is_active(&self) -> bool {
        self.until.is_some()
    }

    pub fn on_sent(&mut self, number: u64) {
        self.last_sent = self.last_sent.max(number);
    }

    pub fn on_acked(&mut self, number: u64) {
        if self.until.is_some_and(|until| number > until) {
            self.until = None;
        }
    }

    pub fn on_lost(&mut self) {
        self.until = Some(self.last_sent);
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
    fn recovery_lasts_until_the_last_loss_is_repaired() {
        let mut recovery = Recovery::default();
        (0..10).for_each(|number| recovery.on_sent(number));
        recovery.on_lost();
        recovery.on_acked(9);
        assert!(recovery.is_active(), "sent before the loss was declared");
        recovery.on_sent(10);
        recovery.on_lost();
        recovery.on_acked(10);
        assert!(recovery.is_active());
        recovery.on_sent(11);
        recovery.on_acked(11);
        assert!(!recovery.is_active());
    }
}
