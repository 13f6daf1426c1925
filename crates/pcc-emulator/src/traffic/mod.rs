//! What flows do on real stacks: senders in one network namespace, receivers in another.
//!
//! The flows of a [`Group`] share two threads, one for each side, so that the processor time of each side is known. It is that of
//! the threads or of the outside programs, in user space and in the kernel; what the kernel does in interrupts isn't in it.
//!
//! The threads of TCP and QUIC run before all other programs, where this process may ask for that: else a busy machine changes what a
//! sender does. Outside programs don't, for some of them never wait.

mod app;
mod group;
mod pacing;
mod place;
mod programs;
mod quic;
mod record;
mod running;
mod tcp;
#[cfg(test)]
mod tests;
mod worker;

pub use group::{Group, GroupReport, QuicControl, TrafficFlow, TrafficReport, TrafficStack};

use crate::error::EmulatorError;
use crate::host::{Namespace, open_files};
use pcc_lab::sim::App;
use place::{Place, Stage};
use running::Running;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Flows that are set up or run. They end when this is dropped.
pub struct Traffic {
    stage: watch::Sender<Stage>,
    groups: Vec<Running>,
}

/// Sets up all flows of a run that lasts for `duration`: the receivers listen when this returns, and outside servers had some time to
/// begin. With `record` the reports have the decisions of PCC.
///
/// # Errors
///
/// When a flow asks for something that its stack can't do, or the operating system refuses a socket, a thread or a process.
pub fn start(
    left: &Namespace,
    right: &Namespace,
    groups: Vec<Group>,
    duration: Duration,
    record: bool,
) -> Result<Traffic, EmulatorError> {
    open_files::raise();
    let stage = watch::Sender::new(Stage::Ready);
    let groups = groups.into_iter().enumerate().map(|(index, Group { stack, flows })| {
        let place = Place { left, right, index, stage: &stage };
        match stack {
            TrafficStack::Programs { client, server } => {
                programs::start(&place, &client, server.as_deref(), flows, duration)
            }
            _ if flows.iter().any(|flow| matches!(flow.app, App::Video(_))) => {
                Err(place.fault("video", "a video runs on the simulator only"))
            }
            TrafficStack::Tcp { controller } => tcp::start(&place, &controller, flows),
            TrafficStack::Quic { control } => quic::start(&place, &control, flows, record),
        }
    });
    let groups = groups.collect::<Result<_, _>>()?;
    Ok(Traffic { stage, groups })
}

impl Traffic {
    /// Lets the flows go: each begins at `origin` and what its start is after that.
    pub fn go(&self, origin: Instant) {
        self.stage.send_replace(Stage::Going(origin));
    }

    /// Ends all flows, outside programs within a second. Returns a report for each group.
    pub fn finish(self) -> Vec<GroupReport> {
        // That one end hangs up on the other is no error from now on.
        self.groups.iter().flat_map(|group| &group.records).for_each(|record| record.close());
        self.stage.send_replace(Stage::Over);
        let report = |group: Running| GroupReport {
            sender_cpu: group.sender.join(),
            receiver_cpu: group.receiver.join(),
            flows: group.records.iter().map(|record| record.take()).collect(),
            pacing_error: group.pacing.median(),
        };
        self.groups.into_iter().map(report).collect()
    }
}
