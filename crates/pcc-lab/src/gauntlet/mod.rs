//! The gauntlet: which controller for which path, measured over cases that are drawn from a stated distribution.
//!
//! A [`GauntletCase`] is drawn from a set, a seed and a number, and is a scenario. [`play`] runs controllers through cases; a
//! [`Scoreboard`] says how far each is from the best one of each case. docs/gauntlet.md defines all of it.

mod case;
mod dice;
mod measure;
mod metric;
mod objective;
mod page;
mod path;
mod play;
mod score;
mod situation;
mod table;

pub use case::{CaseSet, GauntletCase};
pub use measure::Course;
pub use metric::Metric;
pub use objective::{OBJECTIVES, Objective};
pub use play::{CaseResult, CaseRun, play};
pub(crate) use score::regret;
pub use score::{ControllerScore, ObjectiveScore, Scoreboard};
