//! What is wrong with a controller's configuration.

use crate::expression::ExpressionError;
use thiserror::Error;

/// Why a controller can't be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ControllerError {
    /// No controller has this name, or no constant.
    #[error("there is no {what} \"{name}\"{}; there are {}", suggestion(name, known), known.join(", "))]
    Unknown {
        /// What the name is for, such as "controller".
        what: &'static str,
        /// The name that was given. For a constant, with the tables that it is in.
        name: String,
        /// The names that exist. For a constant, those of the same table.
        known: Vec<String>,
    },
    /// A constant that can't have this value.
    #[error("{key}: {problem}")]
    Value {
        /// The constant, with the tables that it is in.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Constants or a utility for what has none.
    #[error("\"{name}\" is not a profile: it has neither a utility nor constants to set")]
    NoConstants {
        /// The name of the baseline or the kernel's controller.
        name: String,
    },
    /// A utility that is neither built in nor a formula.
    #[error("the utility is neither one of {} nor a formula: {problem}", known.join(", "))]
    Formula {
        /// The utilities that are built in.
        known: Vec<String>,
        /// What is wrong with it as a formula.
        problem: ExpressionError,
    },
}

impl ControllerError {
    pub(super) fn unknown<'a>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> ControllerError {
        let known = known.into_iter().map(str::to_owned).collect();
        ControllerError::Unknown { what, name: name.to_owned(), known }
    }
}

/// The nearest known name if it is near, compared with the last part of `name`.
pub(crate) fn suggestion(name: &str, known: &[String]) -> String {
    let name = name.rsplit('.').next().unwrap_or(name);
    let distance = |other: &String| strsim::damerau_levenshtein(name, other);
    match known.iter().min_by_key(|other| distance(other)) {
        Some(nearest) if distance(nearest) <= name.len().div_ceil(3) => format!(" (did you mean \"{nearest}\"?)"),
        _ => String::new(),
    }
}
