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

mod parse;
#[cfg(test)]
mod tests;

use pcc::{Measurement, Utility};
use std::fmt;
use std::str::FromStr;

/// A variable of formulas: its name and its value in an interval.
pub type Variable = (&'static str, fn(&Measurement) -> f64);

/// What a formula may use. Rates are in Mbit/s, times in seconds, `loss` is a fraction, `rtt_gradient` is in seconds
/// per second, and `time` is when the interval began.
pub const VARIABLES: [Variable; 9] = [
    ("x", |interval| interval.rate.mbps()),
    ("throughput", |interval| interval.throughput().mbps()),
    ("loss", |interval| interval.loss),
    ("rtt", |interval| interval.rtt),
    ("previous_rtt", |interval| interval.previous_rtt),
    ("min_rtt", |interval| interval.min_rtt),
    ("rtt_deviation", |interval| interval.rtt_deviation),
    ("rtt_gradient", |interval| interval.rtt_gradient),
    ("time", |interval| interval.start.as_secs_f64()),
];

/// The functions of formulas; `sigmoid(a, y)` is [`pcc::utility::sigmoid`].
pub fn functions() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(signature, _)| *signature)
}

/// Powers and exponentials are `libm`'s: the same bits on every machine.
const FUNCTIONS: [(&str, Function); 7] = [
    ("max(a, b)", Function::Of2(f64::max)),
    ("min(a, b)", Function::Of2(f64::min)),
    ("sigmoid(a, y)", Function::Of2(pcc::utility::sigmoid)),
    ("abs(y)", Function::Of1(f64::abs)),
    ("exp(y)", Function::Of1(libm::exp)),
    ("ln(y)", Function::Of1(libm::log)),
    ("sqrt(y)", Function::Of1(f64::sqrt)),
];

#[derive(Clone, Copy, Debug)]
enum Function {
    Of1(fn(f64) -> f64),
    Of2(fn(f64, f64) -> f64),
}

/// A part of a formula.
#[derive(Clone)]
enum Node {
    Number(f64),
    Variable(fn(&Measurement) -> f64),
    Of1(fn(f64) -> f64, Box<Node>),
    Of2(fn(f64, f64) -> f64, Box<Node>, Box<Node>),
}

impl Node {
    fn value(&self, interval: &Measurement) -> f64 {
        match self {
            Node::Number(number) => *number,
            Node::Variable(variable) => variable(interval),
            Node::Of1(function, of) => function(of.value(interval)),
            Node::Of2(function, a, b) => function(a.value(interval), b.value(interval)),
        }
    }
}

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

/// Why a text is no formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// The text, in one line.
    pub expression: String,
    /// The number of characters before what is wrong.
    pub position: usize,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExpressionError { expression, position, problem } = self;
        let functions: Vec<_> = functions().collect();
        writeln!(f, "{problem}:\n  {expression}\n  {}^", " ".repeat(*position))?;
        writeln!(f, "variables: {}", VARIABLES.map(|(name, _)| name).join(", "))?;
        write!(f, "functions: {}", functions.join(", "))
    }
}

impl std::error::Error for ExpressionError {}
