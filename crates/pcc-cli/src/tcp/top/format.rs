//! Words and numbers for people.

use pcc::{Phase, Role};
use std::time::Duration;

pub fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Starting => "starting",
        Phase::Probing => "probing",
        Phase::Moving => "moving",
        _ => "other",
    }
}

pub fn role(role: Role) -> &'static str {
    match role {
        Role::Start => "start",
        Role::Probe { faster: true, .. } => "probe-faster",
        Role::Probe { faster: false, .. } => "probe-slower",
        Role::Move => "move",
        Role::Hold => "hold",
        _ => "other",
    }
}

/// Three significant digits; all of those before the point.
pub fn number(x: f64) -> String {
    match x.abs() {
        size if size >= 100.0 => format!("{x:.0}"),
        size if size >= 10.0 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}

/// The two largest units: `2h05m`.
pub fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ages_are_short() {
        assert_eq!([1234.5, 99.94, 1.0, -0.004].map(number), ["1234", "99.9", "1.00", "-0.00"]);
        assert_eq!([59, 61, 7500, 90_000].map(|s| age(Duration::from_secs(s))), ["59s", "1m01s", "2h05m", "1d01h"]);
    }
}
