//! Quantities with units on the command line.

use pcc::Rate;

/// Reads a rate such as `50mbit`, `1.5gbit`, `800kbit` or `9600bit`: decimal prefixes, bits per second.
pub fn parse_rate(text: &str) -> Result<Rate, String> {
    let explain = || format!("\"{text}\" is no rate; write a number and kbit, mbit or gbit, for example 50mbit");
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '/');
    let scale = match lower[digits.len()..].trim_end_matches("/s") {
        "bit" => 1.0,
        "kbit" => 1e3,
        "mbit" => 1e6,
        "gbit" => 1e9,
        _ => return Err(explain()),
    };
    let number: f64 = digits.trim_end().parse().map_err(|_| explain())?;
    let bits_per_second = number * scale;
    if !(8.0..=1e15).contains(&bits_per_second) {
        return Err(format!(
            "the rate \"{text}\" is out of range; it must lie between 8bit and 1000000gbit per second"
        ));
    }
    Ok(Rate::from_bits_per_sec(bits_per_second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_rates() {
        assert_eq!(parse_rate("50mbit"), Ok(Rate::from_bits_per_sec(50_000_000.0)));
        assert_eq!(parse_rate("1.5Gbit/s"), Ok(Rate::from_bits_per_sec(1_500_000_000.0)));
        assert_eq!(parse_rate("800 kbit"), Ok(Rate::from_bits_per_sec(800_000.0)));
    }

    #[test]
    fn refuses_what_is_no_rate() {
        for text in ["", "50", "mbit", "-1mbit", "NaNmbit", "infmbit", "50mb", "0mbit", "1e300gbit"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }
}
