//! From text to number, and back.

use pcc::Rate;
use pcc::quantity::Units;
use std::time::Duration;

const DURATIONS: Units = Units {
    scale: |unit| match unit {
        "us" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        "min" => Some(60.0),
        _ => None,
    },
    known: "us, ms, s or min",
    example: "30ms",
};

const BYTES: Units = Units {
    scale: |unit| match unit {
        "b" => Some(1.0),
        "kb" => Some(1e3),
        "mb" => Some(1e6),
        "gb" => Some(1e9),
        "kib" => Some(1024.0),
        "mib" => Some(1024.0 * 1024.0),
        "gib" => Some(1024.0 * 1024.0 * 1024.0),
        _ => None,
    },
    known: "B, kB, MB, GB or KiB, MiB, GiB",
    example: "375kB",
};

/// The rate of a path: `42mbit`, `1.5 Gbit/s`, `800kbps`.
pub fn rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = text.parse().map_err(|error: pcc::quantity::QuantityError| error.to_string())?;
    if !(1e4..=1e10).contains(&rate.bits_per_sec()) {
        return Err("a rate must be between 10kbit and 10gbit".to_owned());
    }
    Ok(rate)
}

/// `30ms`, `0.8s`, `2min`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let seconds = DURATIONS.parse(text).map_err(|error| error.to_string())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "that is too long".to_owned())
}

/// `375kB`, `1MB`, `64KiB`.
pub fn bytes(text: &str) -> Result<u64, String> {
    BYTES.parse(text).map(|bytes| bytes.round() as u64).map_err(|error| error.to_string())
}

/// What shares are written like.
const SHARE: &str = "write a percentage such as 1%, or a fraction such as 0.01";

/// `1%`, `0.01` or `100%`; not `1`, which could be either.
pub fn share(text: &str) -> Result<f64, String> {
    let (digits, scale) = text.trim().strip_suffix('%').map_or((text.trim(), 1.0), |digits| (digits.trim(), 0.01));
    let number: f64 = digits.parse().map_err(|_| format!("this is no number; {SHARE}"))?;
    let share = number * scale;
    if number == 1.0 && scale == 1.0 {
        return Err("1 may be 1% or 100%; write one of these".to_owned());
    }
    if !(0.0..=1.0).contains(&share) {
        return Err(format!("this must be between 0 and 100%; {SHARE}"));
    }
    Ok(share)
}

/// A share that is not all: `1%` or `0.01`.
pub fn probability(text: &str) -> Result<f64, String> {
    let share = share(text)?;
    if share < 1.0 { Ok(share) } else { Err(format!("a loss must be less than 100%; {SHARE}")) }
}

/// Bytes in the largest unit that leaves a number of at least one, such as `375 kB`.
pub fn show_bytes(bytes: u64) -> String {
    let (scale, unit) = match bytes {
        0..1_000 => (1.0, "B"),
        1_000..1_000_000 => (1e3, "kB"),
        1_000_000..1_000_000_000 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    format!("{} {unit}", rounded(bytes as f64 / scale))
}

/// A duration in the fitting unit, such as `800 ms`.
pub fn show_duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds >= 1.0 { format!("{} s", rounded(seconds)) } else { format!("{} ms", rounded(seconds * 1e3)) }
}

/// A probability in percent, such as `0.74 %`.
pub fn show_percent(probability: f64) -> String {
    format!("{} %", rounded(probability * 100.0))
}

/// At most four decimals, and none that are zero.
fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!(rate("10kbit"), Ok(Rate::from_mbps(0.01)));
        assert_eq!(duration("30ms"), Ok(Duration::from_millis(30)));
        assert_eq!(duration("0.8 s"), Ok(Duration::from_millis(800)));
        assert_eq!(duration("2min"), Ok(Duration::from_secs(120)));
        assert_eq!(bytes("75kB"), Ok(75_000));
        assert_eq!(bytes("1 MiB"), Ok(1 << 20));
        assert_eq!(probability("1%"), Ok(0.01));
        assert_eq!(probability("0.0074"), Ok(0.0074));
        assert_eq!(probability("0"), Ok(0.0));
        assert_eq!(share("100%"), Ok(1.0));
    }

    #[test]
    fn says_what_is_wrong_and_what_would_be_right() {
        assert_eq!(rate("42").unwrap_err(), "the unit is missing; write for example 42mbit");
        assert_eq!(rate("0mbit").unwrap_err(), "a rate must be between 10kbit and 10gbit");
        assert!(duration("-1s").is_err() && duration("1e9s").is_err() && duration("5h").is_err());
        assert!(bytes("75").is_err() && bytes("75 packets").is_err() && bytes("1.2.3kB").is_err());
        assert!(
            probability("1").is_err()
                && probability("100%").is_err()
                && probability("NaN").is_err()
                && share("1").unwrap_err().contains("1% or 100%")
        );
        assert!(probability("-1%").unwrap_err().contains("such as 1%"));
        assert!(share("150%").unwrap_err().starts_with("this must be between 0 and 100%"));
    }

    #[test]
    fn shows_short_numbers() {
        assert_eq!(show_bytes(375_000), "375 kB");
        assert_eq!(show_bytes(1_000_000), "1 MB");
        assert_eq!(show_duration(Duration::from_millis(800)), "800 ms");
        assert_eq!(show_percent(0.0074), "0.74 %");
    }
}
