//! What is wrong with a formula.

use super::terms::{VARIABLES, functions};
use std::fmt;

/// Why a text is no formula.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpressionError {
    /// The text, in one line.
    pub expression: String,
    /// The number of characters before what is wrong.
    pub position: usize,
    /// What is wrong with the text.
    pub problem: String,
}

/// How many characters of a formula an error shows.
const SHOWN: usize = 200;

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExpressionError { expression, position, problem } = self;
        let functions: Vec<_> = functions().collect();
        // Of a long one, what is around the place.
        let first = if expression.chars().count() > SHOWN { position.saturating_sub(SHOWN / 2) } else { 0 };
        let part: String = expression.chars().skip(first).take(SHOWN).collect();
        writeln!(f, "{problem}:\n  {part}\n  {}^", " ".repeat(position - first))?;
        writeln!(f, "variables: {}", VARIABLES.map(|(name, _)| name).join(", "))?;
        write!(f, "functions: {}", functions.join(", "))
    }
}

impl std::error::Error for ExpressionError {}
