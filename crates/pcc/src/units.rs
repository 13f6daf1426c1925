//! Units: instants and rates. Durations are [`core::time::Duration`], amounts of data are bytes in `u64`.

use alloc::format;
use core::fmt::{self, Write};
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Sub};
use core::time::Duration;

/// An instant, in nanoseconds since an origin that the driver chooses.
///
/// The core never reads a clock: every event carries its time. Differences saturate at zero,
/// so that a clock that stands still or steps back can't panic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The origin of the driver's clock.
    pub const ZERO: Time = Time(0);

    /// The instant `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the origin.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// The time that passed since `earlier`, zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The same in seconds: the bits of [`Duration::as_secs_f64`], at half of its cost.
    pub(crate) fn seconds_since(self, earlier: Time) -> f64 {
        let nanos = self.0.saturating_sub(earlier.0);
        if nanos < 1_000_000_000 { f64::from(nanos as u32) / 1e9 } else { Duration::from_nanos(nanos).as_secs_f64() }
    }
}

/// The larger of two numbers, in one instruction: `f64::max`, which takes the number if the other is none, takes five. Here it is the second
/// that is returned if one of both is no number: a NaN in the first place is replaced, one in the second place stays.
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The smaller of two numbers, likewise: the second if one of both is no number.
pub(crate) fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// A number, and zero in the place of one so near to it that nothing depends on it: what decays towards zero would get there through
/// subnormal numbers, and stay there, and an addition of those takes a processor 30 times as long.
pub(crate) fn decayed(value: f64) -> f64 {
    if value.abs() < 1e-200 { 0.0 } else { value }
}

/// A duration in nanoseconds, the largest number if it is longer than that.
pub(crate) const fn nanos(duration: Duration) -> u64 {
    duration.as_secs().saturating_mul(1_000_000_000).saturating_add(duration.subsec_nanos() as u64)
}

/// `factor` times a duration. A factor that is negative or no number gives zero, one that is too large the longest duration,
/// so that no constant of a profile, however odd, panics.
pub(crate) fn times(duration: Duration, factor: f64) -> Duration {
    // As `Duration::mul_f64` computes it, so that the bits are the same.
    let seconds = factor * duration.as_secs_f64();
    let saturated = if seconds > 1.0 { Duration::MAX } else { Duration::ZERO };
    Duration::try_from_secs_f64(seconds).unwrap_or(saturated)
}

impl Add<Duration> for Time {
    type Output = Time;

    /// Saturates at the largest instant.
    fn add(self, after: Duration) -> Time {
        Time(self.0.saturating_add(nanos(after)))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, after: Duration) {
        *self = *self + after;
    }
}

impl Sub<Duration> for Time {
    type Output = Time;

    /// Saturates at the origin.
    fn sub(self, before: Duration) -> Time {
        Time(self.0.saturating_sub(nanos(before)))
    }
}

/// A data rate in bits per second. 1 Mbit/s is 10^6 bit/s. Never negative, never NaN, never infinite.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// A rate of zero.
    pub const ZERO: Rate = Rate(0.0);

    /// A rate of `bits` bit/s; NaN and negative values become zero, infinity the largest finite rate.
    pub const fn from_bits_per_sec(bits: f64) -> Rate {
        if bits > 0.0 { Rate(if bits < f64::MAX { bits } else { f64::MAX }) } else { Rate(0.0) }
    }

    /// A rate of `mbps` Mbit/s (10^6 bit/s).
    pub const fn from_mbps(mbps: f64) -> Rate {
        Rate::from_bits_per_sec(mbps * 1e6)
    }

    /// The average rate of `bytes` bytes over `time`; zero if no time passed.
    pub fn from_bytes_over(bytes: u64, time: Duration) -> Rate {
        let seconds = time.as_secs_f64();
        if seconds > 0.0 { Rate::from_bits_per_sec(bytes as f64 * 8.0 / seconds) } else { Rate::ZERO }
    }

    /// The rate in bit/s.
    pub const fn bits_per_sec(self) -> f64 {
        self.0
    }

    /// The rate in bytes/s.
    pub const fn bytes_per_sec(self) -> f64 {
        self.0 / 8.0
    }

    /// The rate in Mbit/s (10^6 bit/s).
    pub const fn mbps(self) -> f64 {
        self.0 * 1e-6
    }

    /// Whether the rate is zero.
    pub fn is_zero(self) -> bool {
        self.0 == 0.0
    }

    /// How long `bytes` bytes take at this rate; at most about 584 years, also for a rate of zero.
    pub fn time_for(self, bytes: u64) -> Duration {
        // `as` saturates: an infinite or NaN quotient can't overflow or panic.
        if bytes == 0 { Duration::ZERO } else { Duration::from_nanos((bytes as f64 * 8e9 / self.0) as u64) }
    }

    /// How many whole bytes pass in `time` at this rate.
    pub fn bytes_in(self, time: Duration) -> u64 {
        (self.bytes_per_sec() * time.as_secs_f64()) as u64
    }

    /// The smaller of two rates.
    pub fn min(self, other: Rate) -> Rate {
        Rate(smaller(self.0, other.0))
    }

    /// The larger of two rates.
    pub fn max(self, other: Rate) -> Rate {
        Rate(larger(self.0, other.0))
    }

    /// The rate moved into `low..=high`; `low` wins if the bounds are crossed.
    pub fn clamp(self, low: Rate, high: Rate) -> Rate {
        self.min(high).max(low)
    }
}

impl Add for Rate {
    type Output = Rate;

    fn add(self, other: Rate) -> Rate {
        Rate::from_bits_per_sec(self.0 + other.0)
    }
}

impl Sub for Rate {
    type Output = Rate;

    /// Saturates at zero.
    fn sub(self, other: Rate) -> Rate {
        Rate::from_bits_per_sec(self.0 - other.0)
    }
}

impl Mul<f64> for Rate {
    type Output = Rate;

    fn mul(self, factor: f64) -> Rate {
        Rate::from_bits_per_sec(self.0 * factor)
    }
}

impl Div for Rate {
    type Output = f64;

    fn div(self, other: Rate) -> f64 {
        self.0 / other.0
    }
}

impl Sum for Rate {
    fn sum<I: Iterator<Item = Rate>>(rates: I) -> Rate {
        rates.fold(Rate::ZERO, Add::add)
    }
}

impl fmt::Display for Rate {
    /// Three significant digits in the fitting unit, such as `42.0 Mbit/s`; from 1000 Gbit/s on whole Gbit/s, below 1 bit/s two digits after
    /// the point. A precision is the number of digits after the point instead, a width that of the whole text, which is on the left
    /// unless told otherwise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What would be rounded to 1000 of a unit is 1 of the next.
        let units = [(1.0, "bit/s"), (1e3, "kbit/s"), (1e6, "Mbit/s")];
        let (scale, unit) = units.into_iter().find(|(scale, _)| self.0 / scale < 999.5).unwrap_or((1e9, "Gbit/s"));
        let value = self.0 / scale;
        // Likewise, what would be rounded to 10.00 or 100.0 has a digit less.
        let digits = f.precision().unwrap_or(if value >= 99.95 {
            0
        } else if value >= 9.995 {
            1
        } else {
            2
        });
        let text = format!("{value:.digits$} {unit}");
        let missing = f.width().unwrap_or_default().saturating_sub(text.len());
        let before = match f.align() {
            None | Some(fmt::Alignment::Left) => 0,
            Some(fmt::Alignment::Center) => missing / 2,
            Some(fmt::Alignment::Right) => missing,
        };
        let fill = f.fill();
        (0..before).try_for_each(|_| f.write_char(fill))?;
        f.write_str(&text)?;
        (before..missing).try_for_each(|_| f.write_char(fill))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_megabit_is_a_million_bits() {
        // The authors' sender took 2^20 bits for a megabit (SPEC 2.1).
        assert_eq!(Rate::from_mbps(1.0).bits_per_sec(), 1_000_000.0);
        assert_eq!(Rate::from_bytes_over(125_000, Duration::from_secs(1)).mbps(), 1.0);
        assert_eq!(Rate::from_mbps(8.0).bytes_in(Duration::from_millis(1)), 1000);
    }

    #[test]
    fn no_arithmetic_leaves_the_range() {
        assert_eq!(Rate::from_bits_per_sec(f64::NAN), Rate::ZERO);
        assert_eq!(Rate::from_bits_per_sec(-1.0), Rate::ZERO);
        assert!((Rate::from_bits_per_sec(f64::MAX) * 10.0).bits_per_sec().is_finite());
        assert_eq!(Rate::from_mbps(1.0) - Rate::from_mbps(2.0), Rate::ZERO);
        assert_eq!(Rate::ZERO.time_for(1), Duration::from_nanos(u64::MAX));
        assert_eq!(Time::from_nanos(1).since(Time::from_nanos(2)), Duration::ZERO);
        assert_eq!(Time::from_nanos(1) + Duration::MAX, Time::from_nanos(u64::MAX));
    }

    #[test]
    fn prints_three_digits() {
        assert_eq!(Rate::from_mbps(42.0).to_string(), "42.0 Mbit/s");
        assert_eq!(Rate::from_mbps(1500.0).to_string(), "1.50 Gbit/s");
        assert_eq!(Rate::from_bits_per_sec(64_000.0).to_string(), "64.0 kbit/s");
        assert_eq!(Rate::from_mbps(937.0).to_string(), "937 Mbit/s");
        for (bits, text) in [
            (0.0, "0.00 bit/s"),
            (999.4, "999 bit/s"),
            (999.5, "1.00 kbit/s"),
            (999_600.0, "1.00 Mbit/s"),
            (999_950_000.0, "1.00 Gbit/s"),
            (99_960.0, "100 kbit/s"),
            (9_996.0, "10.0 kbit/s"),
            (2e12, "2000 Gbit/s"),
        ] {
            assert_eq!(Rate::from_bits_per_sec(bits).to_string(), text);
        }
        // A step of a hundredth of a percent at a time.
        let mut rate = Rate::from_bits_per_sec(1.0);
        while rate < Rate::from_mbps(0.99e6) {
            let text = rate.to_string();
            assert_eq!(text.chars().filter(char::is_ascii_digit).count(), 3, "{text}");
            rate = rate * 1.0001;
        }
    }

    #[test]
    fn prints_in_the_width_and_with_the_digits_that_are_asked_for() {
        let rate = Rate::from_mbps(42.0);
        assert_eq!(
            format!("{rate:14}|{rate:>14}|{rate:*^14}|{rate:3}|"),
            "42.0 Mbit/s   |   42.0 Mbit/s|*42.0 Mbit/s**|42.0 Mbit/s|"
        );
        assert_eq!(format!("{rate:.0} {rate:>11.3}"), "42 Mbit/s 42.000 Mbit/s");
    }

    #[test]
    fn the_second_of_two_stays_where_one_is_no_number() {
        let nan = f64::NAN;
        assert_eq!((larger(1.0, 2.0), larger(2.0, 1.0), smaller(1.0, 2.0), smaller(2.0, 1.0)), (2.0, 2.0, 1.0, 1.0));
        assert_eq!((larger(nan, 1.0), smaller(nan, 1.0)), (1.0, 1.0));
        assert!(larger(1.0, nan).is_nan() && smaller(1.0, nan).is_nan());
    }
}
