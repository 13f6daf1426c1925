//! Batches, as of acknowledgements on Wi-Fi or cable.

use pcc::Time;
use std::time::Duration;

/// Packets leave the path only at multiples of a period, all that wait at once.
///
/// The model of Arun, Alizadeh and Balakrishnan, *Starvation in end-to-end congestion control*, SIGCOMM 2022.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// The time between two releases; zero for no aggregation.
    pub period: Duration,
}

impl Aggregation {
    /// When a packet that is due at `due` leaves.
    pub(super) fn release(self, due: Time) -> Time {
        let period = u64::try_from(self.period.as_nanos()).unwrap_or(u64::MAX).max(1);
        Time::from_nanos(due.as_nanos().div_ceil(period).saturating_mul(period))
    }
}
