//! The congestion window and its slow start threshold.

/// A congestion window, in packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub size: f64,
    /// The slow start threshold; infinite in the first slow start.
    pub threshold: f64,
}

impl Window {
    pub fn in_slow_start(&self) -> bool {
        self.size < self.threshold
    }

    /// Grows by `packets`, at most up to the threshold.
    pub fn slow_start(&mut self, packets: f64) {
        self.size = (self.size + packets).min(self.threshold);
    }

    /// Additive increase by one packet each round trip, for `packets` acknowledged (RFC 5681, equation 3).
    pub fn additive_increase(&mut self, packets: f64) {
        self.size += packets / self.size;
    }
}
