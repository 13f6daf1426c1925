//! How long something may take, as options say it.

use pcc_lab::quantity;
use std::time::Duration;

/// Longer than this is for ever, and clocks end somewhere.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Seconds as `90`, or a time with its unit as `90s` or `2min`; at least one second.
///
/// # Errors
///
/// What would be right.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let time = time(text)?;
    if time < Duration::from_secs(1) { Err("it must be at least 1 s".to_owned()) } else { Ok(time) }
}

/// The same, of any length, where the caller has limits of its own.
///
/// # Errors
///
/// What would be right.
pub fn time(text: &str) -> Result<Duration, String> {
    let example = "write seconds, as 90, or a time with its unit, as 90s or 2min";
    let time = match text.trim().parse::<f64>() {
        Ok(number) if number.is_nan() || number < 0.0 => return Err(format!("this is no time; {example}")),
        Ok(number) => Duration::try_from_secs_f64(number).unwrap_or(LONGEST),
        Err(_) => quantity::duration(text).map_err(|_| format!("this is no time; {example}"))?,
    };
    Ok(time.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_written_with_and_without_a_unit() {
        for (text, time) in [("90", 90), ("90s", 90), ("2min", 120), ("2 min", 120), ("1", 1)] {
            assert_eq!(seconds(text), Ok(Duration::from_secs(time)), "{text}");
        }
        for text in ["-1", "-1s", "x", "", "NaN", "90 lightyears"] {
            assert!(seconds(text).unwrap_err().contains("as 90, or a time with its unit"), "{text}");
        }
        assert!(seconds("0").unwrap_err().contains("at least 1 s") && seconds("1ms").is_err());
    }

    #[test]
    fn no_time_is_too_long() {
        for text in [&u64::MAX.to_string(), &i64::MAX.to_string(), "1e300", "inf"] {
            let time = seconds(text).unwrap();
            assert!((tokio::time::Instant::now() + time * 10).elapsed().is_zero(), "{text}");
        }
    }
}
