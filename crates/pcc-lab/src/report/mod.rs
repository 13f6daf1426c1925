//! What a run showed, in numbers: a [`RunReport`] for each run, a [`Table`] of many, and a comparison of the simulator with the
//! emulator.

mod compare;
mod completion;
mod course;
mod data;
mod fairness;
mod measure;
mod metrics;
mod table;

pub use compare::{Comparison, compare, comparison_table};
pub use course::{course, course_head};
pub use data::{EmulatorReport, FlowReport, LinkReport, PacketCounts, RealReport, RunReport};
pub(crate) use fairness::jain_at;
pub use metrics::{METRICS, Metric};
pub use table::{Table, aligned, median};
