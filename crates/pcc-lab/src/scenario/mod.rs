//! Experiments as files: links, flows, and what changes from case to case.
//!
//! ```
//! let text = r#"
//!     duration = "20s"
//!     [[link]]
//!     rate = "100mbit"
//!     delay = "15ms"
//!     queue = "75kB"
//!     loss = "1%"
//!     [[flow]]
//!     controller = "vivace-latency"
//! "#;
//! let plan = pcc_lab::scenario::Plan::parse("one.toml", text, &[])?;
//! let report = pcc_lab::run::simulate(&plan.cases[0], 1, false)?;
//! assert!(report.flows[0].goodput > 80.0);
//! # Ok::<(), pcc_lab::scenario::ScenarioError>(())
//! ```

mod check;
mod error;
mod fault;
mod file;
mod flow;
mod host;
mod kernel;
mod layout;
mod link;
mod marks;
mod plan;
mod queue;
mod routes;
mod stack;
mod sweep;
#[cfg(test)]
mod tests;
mod undone;

pub use error::ScenarioError;
pub(crate) use fault::fault_of;
pub use file::Scenario;
pub use flow::{Flow, OnOff};
pub use host::HostSpec;
pub use kernel::{KernelSettings, SysctlValue};
pub(crate) use layout::of_flow;
pub use layout::{Layout, Placed};
pub use link::{Link, Vary};
pub(crate) use plan::shown;
pub use plan::{Case, Plan};
pub use queue::QueueLimit;
pub use stack::Stack;
pub(crate) use sweep::label_of;
pub use sweep::{Draw, Point, Sweep};
