//! Looks for better constants of a profile: each is varied in turn, and judged by the regret over cases of the gauntlet.
//!
//! A [`Candidate`] plays cases, [`Regrets`] compare it with other controllers, and [`search`] says which one comes next. docs/gauntlet.md
//! says how it judges.

mod candidate;
mod search;
mod table;

pub use candidate::{Candidate, Regrets};
pub use search::{Change, Constant, Trial, search};
pub use table::table;
