//! NewReno (RFC 5681 and 6582).
//!
//! As in Linux and RFC 9002 the window, not the data in flight, is halved.

use super::rtt::Rtt;
use super::window::{Ack, Rule, Window};

/// Additive increase by one packet each round trip, halved on loss.
#[derive(Debug)]
pub(super) struct NewReno;

/// RFC 5681, equation 3, in packets.
pub(super) fn additive_increase(window: &mut Window, ack: &Ack) {
    window.size += ack.packets / window.size;
}

impl Rule for NewReno {
    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        additive_increase(window, ack);
    }

    fn after_loss(&mut self, size: f64, _rtt: Option<&Rtt>) -> f64 {
        size / 2.0
    }
}
