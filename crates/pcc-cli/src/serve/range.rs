//! The part of a file that a request asks for (RFC 9110 14).

use std::ops::Range;

/// What to send of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of it.
    All,
    /// These bytes; never none.
    Part(Range<u64>),
    /// Nothing: it doesn't have what is asked for.
    Unsatisfiable,
}

/// Reads the field `Range` of a request for a file of so many bytes. Several ranges at once are answered with all of it, and
/// so is what makes no sense (RFC 9110 14.2).
pub fn parse(field: &str, size: u64) -> Wanted {
    let Some((unit, range)) = field.split_once('=') else { return Wanted::All };
    let Some((first, last)) = range.trim().split_once('-') else { return Wanted::All };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Wanted::All;
    }
    let range = match (number(first), number(last)) {
        // RFC 9110 14.1.2: the last so many bytes.
        (None, Some(suffix)) if first.is_empty() => size.saturating_sub(suffix)..size,
        (Some(first), None) if last.is_empty() => first..size,
        (Some(first), Some(last)) if first <= last => first..size.min(last.saturating_add(1)),
        _ => return Wanted::All,
    };
    if range.is_empty() { Wanted::Unsatisfiable } else { Wanted::Part(range) }
}

/// Digits and nothing else. What is too large for a number is larger than any file.
fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_the_standard() {
        // RFC 9110 14.1.2.
        assert_eq!(parse("bytes=0-499", 10_000), Wanted::Part(0..500));
        assert_eq!(parse("bytes=500-999", 10_000), Wanted::Part(500..1000));
        assert_eq!(parse("bytes=-500", 10_000), Wanted::Part(9500..10_000));
        assert_eq!(parse("bytes=9500-", 10_000), Wanted::Part(9500..10_000));
        assert_eq!(parse("bytes=-20000", 10_000), Wanted::Part(0..10_000));
        assert_eq!(parse("Bytes= 9999-99999999999999999999", 10_000), Wanted::Part(9999..10_000));
    }

    #[test]
    fn what_is_not_there() {
        for field in ["bytes=10000-", "bytes=10000-10001", "bytes=-0", "bytes=99999999999999999999-"] {
            assert_eq!(parse(field, 10_000), Wanted::Unsatisfiable, "{field}");
        }
        assert_eq!(parse("bytes=0-", 0), Wanted::Unsatisfiable);
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let odd = [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=5",
            "bytes=2-1",
            "bytes=0-1,5-6",
            "lines=0-1",
            "bytes=+1-2",
            "bytes=1--2",
        ];
        for field in odd {
            assert_eq!(parse(field, 10_000), Wanted::All, "{field}");
        }
    }
}
