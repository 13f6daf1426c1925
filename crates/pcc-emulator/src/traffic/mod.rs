//! What flows do on real stacks: senders in one network namespace, receivers in another.
//!
//! The flows of a [`Group`] share two threads, one for each side, so that the processor time of each side is known. It is that of
//! the threads or of the outside programs, in user space and in the kernel; what the kernel does in interrupts isn't in it.
//!
//! The threads of TCP and QUIC run before all other programs, where this process may ask for that: else a busy machine changes what a
//! sender does. Outside programs don't, for some of them never wait.

mod app;
mod pacing;
mod programs;
mod quic;
mod record;
mod tcp;
#[cfg(test)]
mod tests;
mod worker;

pub use quic::QuicControl;
pub use record::FlowReport;

use crate::error::EmulatorError;
use crate::host::{Namespace, open_files};
use pacing::PacingErrors;
use pcc_lab::sim::App;
use record::Record;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use worker::{Stage, Worker};

/// Flows of one kind: a `[[flow]]` of a scenario.
#[derive(Clone, Debug)]
pub struct Group {
    /// What they run on.
    pub stack: Stack,
    /// The flows.
    pub flows: Vec<Flow>,
}

/// What a flow runs on.
#[derive(Clone, Debug)]
pub enum Stack {
    /// The kernel's TCP.
    Tcp {
        /// The name of a congestion control of the kernel, as of `TCP_CONGESTION` in tcp(7).
        controller: String,
    },
    /// QUIC, with packets of 1500 bytes.
    Quic {
        /// The controller.
        control: QuicControl,
    },
    /// Outside programs; what they send is their own business, whatever [`Flow::app`] says.
    ///
    /// Each command line is split as a shell splits words and quotes, and no shell is run unless it is the program. In the words
    /// `{server}` and `{client}` are the addresses of the two ends, and `{seconds}` is how long the flow lasts.
    Programs {
        /// Runs on the left from the start of a flow to its stop.
        client: String,
        /// Runs on the right before that, one for each flow. The last line `received N bytes` that it prints tells what it got.
        server: Option<String>,
    },
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// What there is to send; anything but a video.
    pub app: App,
    /// When it begins, counted from the origin of the run.
    pub start: Duration,
    /// When it ends, whatever there is to send; counted likewise.
    pub stop: Option<Duration>,
    /// The sender's address.
    pub sender: Ipv4Addr,
    /// The receiver's address.
    pub receiver: Ipv4Addr,
    /// The seed of the controller's random choices.
    pub seed: u64,
}

/// What came of a group.
#[derive(Clone, Debug)]
pub struct GroupReport {
    /// Per flow.
    pub flows: Vec<FlowReport>,
    /// Processor time of the sending side.
    pub sender_cpu: Option<Duration>,
    /// Processor time of the receiving side.
    pub receiver_cpu: Option<Duration>,
    /// The median of |sent / commanded - 1| over windows of 30 ms in which the controller's rate alone limited a flow; `None` where
    /// there was no such window, or no such rate.
    pub pacing_error: Option<f64>,
}

/// Flows that are set up or run. They end when this is dropped.
pub struct Traffic {
    stage: watch::Sender<Stage>,
    groups: Vec<Running>,
}

/// A group that is set up or runs.
struct Running {
    records: Vec<Arc<Record>>,
    sender: Worker,
    receiver: Worker,
    pacing: PacingErrors,
}

/// Sets up all flows of a run that lasts for `duration`: the receivers listen when this returns, and outside servers had some time to
/// begin. With `record` the reports have the decisions of PCC.
///
/// # Errors
///
/// When a flow can't be had on its stack, or the operating system refuses a socket, a thread or a process.
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
            Stack::Programs { client, server } => programs::start(&place, &client, server.as_deref(), flows, duration),
            _ if flows.iter().any(|flow| matches!(flow.app, App::Video(_))) => {
                Err(place.fault("app", "a video runs on the simulator only"))
            }
            Stack::Tcp { controller } => tcp::start(&place, &controller, flows),
            Stack::Quic { control } => quic::start(&place, &control, flows, record),
        }
    });
    let groups = groups.collect::<Result<_, _>>()?;
    Ok(Traffic { stage, groups })
}

/// Where a group is set up.
struct Place<'a> {
    left: &'a Namespace,
    right: &'a Namespace,
    /// Which `[[flow]]` it is.
    index: usize,
    stage: &'a watch::Sender<Stage>,
}

impl Place<'_> {
    fn fault(&self, key: &'static str, reason: impl ToString) -> EmulatorError {
        EmulatorError::Flow { flow: self.index, key, reason: reason.to_string() }
    }
}

impl Traffic {
    /// Lets the flows go: each begins at `origin` and what its start is after that.
    pub fn go(&self, origin: Instant) {
        self.stage.send_replace(Stage::Going(origin));
    }

    /// Ends all flows, outside programs within a second; what came of them.
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
