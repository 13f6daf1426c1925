//! The utility function of a controller as text.

use super::ControllerError;
use crate::expression::Expression;
use pcc::utility::UtilityConfig;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// A utility function: the kind of a built-in one, a table with its `kind` and the constants that differ, or a
/// [formula](crate::expression).
///
/// The kinds and their default constants are those of [`UtilityConfig::BUILT_IN`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a kind of utility, a formula, or a table with `kind` and constants")]
pub enum UtilitySpec {
    /// The name of a built-in utility, or a formula.
    Text(String),
    /// The name of a built-in utility, and constants.
    Table(Table),
}

impl UtilitySpec {
    /// The function, and constants to set as in [`ControllerConfig::set`](super::ControllerConfig::set).
    pub(super) fn resolve(&self) -> Result<(UtilityConfig, Table), ControllerError> {
        match self {
            UtilitySpec::Text(text) => match find(text) {
                Some(utility) => Ok((utility, Table::new())),
                None => Ok((UtilityConfig::own(formula(text)?), Table::new())),
            },
            UtilitySpec::Table(table) => {
                let mut constants = table.clone();
                let kind = constants.remove("kind").unwrap_or(Value::String(String::new()));
                let kind = kind.as_str().unwrap_or_default();
                let utility = find(kind).ok_or_else(|| ControllerError::unknown("kind of utility", kind, kinds()))?;
                let set = if constants.is_empty() { None } else { Some(("utility".to_owned(), constants.into())) };
                Ok((utility, set.into_iter().collect()))
            }
        }
    }
}

fn kinds() -> impl Iterator<Item = &'static str> {
    UtilityConfig::BUILT_IN.iter().map(|(kind, _)| *kind)
}

fn find(kind: &str) -> Option<UtilityConfig> {
    UtilityConfig::BUILT_IN.iter().find(|(name, _)| *name == kind).map(|(_, utility)| utility.clone())
}

fn formula(text: &str) -> Result<Expression, ControllerError> {
    let known = || kinds().map(str::to_owned).collect();
    text.parse().map_err(|problem| ControllerError::Formula { known: known(), problem })
}
