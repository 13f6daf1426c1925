//! What a run showed, in numbers.

mod compare;
mod data;
mod fairness;
mod measure;
mod metrics;
mod table;

pub use compare::{Comparison, compare, comparison_table};
pub use data::{EmulatorReport, FlowReport, LinkReport, RealReport, RunReport};
pub use fairness::{convergence, jain, jain_at};
pub use measure::quantile;
pub use metrics::METRICS;
pub use table::{aligned, median, table};
