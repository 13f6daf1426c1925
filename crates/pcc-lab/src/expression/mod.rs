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

use pcc::{Measurement, Utility};
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
        Ok(Expression { text: text.to_owned(), root: parse::parse(text)? })
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text).finish()
    }
}
