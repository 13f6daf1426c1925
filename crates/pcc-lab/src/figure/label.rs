//! Numbers at the beginning of labels.

use crate::quantity;
use pcc::Rate;

/// The number that a label begins with, in base units (bytes, seconds, bit/s, fractions) if it has a unit: `7.5kB`,
/// `800 ms`, `1%`, `30 flows`, `8 Mbit/s, 25 kB`. `None` if it begins with something else.
pub(super) fn number(label: &str) -> Option<f64> {
    let label = label.trim();
    let end = label.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(label.len());
    let (digits, rest) = label.split_at(end);
    let number: f64 = digits.parse().ok()?;
    let unit = rest.trim_start();
    let unit = &unit[..unit.find(|c: char| !(c.is_alphabetic() || c == '%' || c == '/')).unwrap_or(unit.len())];
    let quantity = format!("{digits}{unit}");
    let known = match unit {
        "%" => Some(number / 100.0),
        _ => quantity::bytes(&quantity)
            .map(|bytes| bytes as f64)
            .or_else(|_| quantity::duration(&quantity).map(|duration| duration.as_secs_f64()))
            .or_else(|_| quantity.parse::<Rate>().map(Rate::bits_per_sec))
            .ok(),
    };
    Some(known.unwrap_or(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_put_labels_in_order() {
        let numbers = |labels: &[&str]| labels.iter().filter_map(|label| number(label)).collect::<Vec<_>>();
        assert_eq!(numbers(&["7.5kB", "375 kB", "1MB"]), [7500.0, 375_000.0, 1e6]);
        assert_eq!(numbers(&["800us", "30ms", "1.5 s", "2min"]), [0.0008, 0.03, 1.5, 120.0]);
        assert_eq!(numbers(&["0", "0.5%", "1 %", "0.02"]), [0.0, 0.005, 0.01, 0.02]);
        assert_eq!(numbers(&["10mbit", "1 Gbit/s, 10 kB"]), [1e7, 1e9]);
        assert_eq!(numbers(&["1", "30 flows", "50 packets"]), [1.0, 30.0, 50.0]);
        assert_eq!(numbers(&["cubic", "", "-1", "v2"]), [0.0; 0]);
    }
}
