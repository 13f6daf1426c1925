//! Whether what was claimed came out.

use super::file::{Claim, Figure};
use super::select::Run;
use serde::{Serialize, Serializer};
use std::fmt;

/// A claim of a paper, compared with what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The figure's id.
    pub figure: String,
    /// The claim in words.
    pub claim: String,
    /// The value that the paper reports.
    pub published: String,
    /// What was measured; infinite where it is the time of what never happened, `None` where there is nothing to measure.
    pub measured: Option<f64>,
    /// The number of runs that it was measured in.
    pub runs: usize,
    /// The range that agrees with the paper, in words.
    pub accepted: String,
    /// Whether the measurement agrees.
    pub verdict: Verdict,
}

/// Whether a measurement agrees with a paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The measured value is in the accepted range.
    Agrees,
    /// It is outside of the accepted range, and why; empty if that isn't known.
    Differs(String),
    /// None of the runs was about it.
    NotRun,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Agrees => f.write_str("agrees"),
            Verdict::Differs(reason) if reason.is_empty() => f.write_str("differs, unexplained"),
            Verdict::Differs(reason) => write!(f, "differs: {reason}"),
            Verdict::NotRun => f.write_str("not run"),
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Finding {
    /// The cells of its row in a table: claim, published, measured, accepted, verdict.
    pub fn row(&self) -> [String; 5] {
        let measured = self.measured.map_or("-".to_owned(), number);
        [self.claim.clone(), self.published.clone(), measured, self.accepted.clone(), self.verdict.to_string()]
    }
}

/// With three digits that count.
fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size.is_infinite() => "infinite".to_owned(),
        _ if size >= 100.0 => format!("{value:.0}"),
        _ if size >= 10.0 => format!("{value:.1}"),
        _ if size >= 1.0 || size == 0.0 => format!("{value:.2}"),
        _ if size >= 0.1 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

impl Claim {
    fn finding(&self, figure: &Figure, runs: &[Run]) -> Finding {
        let quantity = self.quantity();
        let selected = quantity.select(runs);
        let compared: Vec<_> = selected.iter().filter_map(|run| quantity.compared(run, runs)).collect();
        let measured = self.reduce.of(&compared);
        let holds = |value: f64| self.min.is_none_or(|min| value >= min) && self.max.is_none_or(|max| value <= max);
        Finding {
            figure: figure.id.clone(),
            claim: self.text.clone(),
            published: self.published.clone(),
            measured,
            runs: compared.len(),
            accepted: self.accepted(),
            verdict: match measured {
                _ if selected.is_empty() => Verdict::NotRun,
                Some(value) if holds(value) => Verdict::Agrees,
                _ => Verdict::Differs(self.reason.clone()),
            },
        }
    }

    fn accepted(&self) -> String {
        match (self.min, self.max) {
            (Some(min), Some(max)) => format!("{min} to {max}"),
            (Some(min), None) => format!("at least {min}"),
            (None, Some(max)) => format!("at most {max}"),
            (None, None) => String::new(),
        }
    }
}

pub(super) fn findings(figure: &Figure, runs: &[Run]) -> Vec<Finding> {
    figure.claim.iter().map(|claim| claim.finding(figure, runs)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_count() {
        let shown = [1234.5, 37.62, 1.234, 0.12345, 0.0, 0.00123, f64::INFINITY].map(number);
        assert_eq!(shown, ["1234", "37.6", "1.23", "0.123", "0.00", "0.0012", "infinite"]);
    }
}
