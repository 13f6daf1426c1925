//! Utility functions written as formulas.
//!
//! ```
//! use pcc_lab::expression::Expression;
//!
//! let vivace: Expression = "x^0.9 - 900*x*rtt_gradient - 11.35*x*loss".parse()?;
//! let profile = pcc::Profile { utility: pcc::utility::UtilityConfig::own(vivace), ..pcc::profiles::vivace_latency() };
//! # Ok::<(), pcc_lab::expression::ExpressionError>(())
//! ```
//!
//! Numbers, [variables](VARIABLES), `+ - * / ^`, comparisons with `<` and `>`, which are worth 1 or 0, parentheses and
//! [functions]. Powers bind to the right and before a sign, as on paper: `-2^2` is -4.

mod error;
mod parse;
mod terms;
#[cfg(test)]
mod tests;

pub use error::ExpressionError;
pub use terms::{VARIABLES, Variable, functions};

use pcc::{Measurement, Rate, Utility};
use std::fmt;
use std::str::FromStr;
use terms::Node;

/// The utility of what has none, such as 0/0, and the bound of all others, so that differences stay finite.
pub const WORST: f64 = -1e300;

/// A utility function from a formula.
///
/// Its value is kept within [`WORST`] and its opposite. Where the formula has no value, such as 0/0 or the root of a
/// negative number, it is [`WORST`].
#[derive(Clone)]
pub struct Expression {
    text: String,
    root: Node,
}

impl Utility for Expression {
    fn utility(&self, interval: &Measurement) -> f64 {
        let value = self.root.value(interval);
        if value.is_nan() { WORST } else { value.clamp(WORST, -WORST) }
    }
}

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Expression, ExpressionError> {
        let expression = Expression { text: text.to_owned(), root: parse::parse(text)? };
        if samples().any(|interval| expression.root.value(&interval).is_finite()) {
            return Ok(expression);
        }
        let problem = "this has no value, whatever is measured".to_owned();
        Err(ExpressionError { expression: text.replace(char::is_whitespace, " "), position: 0, problem })
    }
}

/// Intervals of all kinds, so that a formula has a value in one of them if it has any.
fn samples() -> impl Iterator<Item = Measurement> {
    let rates = [0.01, 1.0, 1e4];
    let losses = [0.0, 0.3, 1.0];
    let gradients = [-0.1, 0.0, 0.1];
    let combinations = rates.into_iter().flat_map(move |mbps| {
        losses.into_iter().flat_map(move |loss| gradients.into_iter().map(move |gradient| (mbps, loss, gradient)))
    });
    combinations.map(|(mbps, loss, gradient)| {
        let mut interval = Measurement::new(Rate::from_mbps(mbps), 100);
        (interval.loss, interval.rtt_gradient) = (loss, gradient);
        (interval.rtt, interval.previous_rtt, interval.min_rtt) = (0.2 + gradient, 0.2, 0.05);
        interval.rtt_deviation = 0.01;
        interval
    })
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text).finish()
    }
}
