//! A flow, or a group of equal ones, in a scenario.

use super::fault::{Fault, fault_of};
use super::host::HostSpec;
use super::stack::{self, Stack};
use crate::controller::{ControllerConfig, UtilitySpec, of_linux};
use crate::quantity::{read, read_option};
use crate::sim::{AckPolicy, App, ReceiverHost, SenderHost, Video};
use pcc::Rate;
use pcc_quic::Algorithm;
use serde::Deserialize;
use std::time::Duration;

/// `[[flow]]`: one flow, or `count` equal ones.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Flow {
    /// What tables call it; see [`Scenario::flow_names`](super::Scenario::flow_names) if it isn't given.
    pub name: Option<String>,
    /// The congestion controller; of a command, what stands for it in the simulator.
    #[serde(default)]
    pub controller: String,
    /// What carries it on the emulator; QUIC if it isn't given.
    pub stack: Option<Stack>,
    /// On the emulator, the program at the sending end; `{server}`, `{client}` and `{seconds}` are replaced.
    pub command: Option<String>,
    /// On the emulator, the program at the receiving end of a command.
    pub server: Option<String>,
    /// Constants of the controller that differ from its profile's.
    #[serde(default)]
    pub set: toml::Table,
    /// The utility function, instead of the profile's.
    pub utility: Option<UtilitySpec>,
    /// How many equal flows.
    #[serde(default = "one")]
    pub count: u32,
    /// Whether the hosts have ECN turned on, in the simulator: queues can then mark packets of a controller that has a use for it.
    #[serde(default)]
    pub ecn: bool,
    /// When the first begins.
    #[serde(default, deserialize_with = "read")]
    pub start: Duration,
    /// The time between the starts of one and the next.
    #[serde(default, deserialize_with = "read")]
    pub stagger: Duration,
    /// When they end; with the run if it isn't given.
    #[serde(default, deserialize_with = "read_option")]
    pub stop: Option<Duration>,
    /// Each is a transfer of this many bytes.
    #[serde(default, deserialize_with = "read_option")]
    pub size: Option<u64>,
    /// Transfers of `size` keep coming, with exponential gaps, for this share of the rate of the slowest link on average.
    #[serde(default, deserialize_with = "read_option")]
    pub load: Option<f64>,
    /// Data for a while, then none for a while.
    pub on_off: Option<OnOff>,
    /// Data at a constant bit rate.
    #[serde(default, deserialize_with = "read_option")]
    pub constant_rate: Option<Rate>,
    /// A chunked video.
    pub video: Option<Video>,
    /// The round-trip time with empty queues; twice the delay of the route if it isn't given.
    #[serde(default, deserialize_with = "read_option")]
    pub rtt: Option<Duration>,
    /// The links to pass, by name; all of them, in order, if it isn't given.
    pub route: Option<Vec<String>>,
    /// The link that acknowledgements pass; none if it isn't given.
    pub reverse: Option<String>,
    /// Packets per acknowledgement; as the receiving host does it if it isn't given.
    pub ack_every: Option<u32>,
    /// The longest that a packet waits for its acknowledgement; as the receiving host does it if it isn't given.
    #[serde(default, deserialize_with = "read_option")]
    pub ack_delay: Option<Duration>,
    /// The hosts at both ends, in the simulator.
    pub host: Option<HostSpec>,
    /// The sending host, instead of `host`.
    pub sender_host: Option<HostSpec>,
    /// The receiving host, instead of `host`.
    pub receiver_host: Option<HostSpec>,
}

/// What is replaced in command lines.
const PLACEHOLDERS: [&str; 3] = ["{server}", "{client}", "{seconds}"];

/// What looks like a placeholder of a command line and is none. The `${HOME}` of a shell is its own.
fn unknown_placeholder(command: &str) -> Option<&str> {
    let placeholder = |(at, _): (usize, &str)| {
        let end = at + 1 + command[at + 1..].find(|c: char| !(c.is_ascii_alphabetic() || c == '_'))?;
        let is_one = end > at + 1 && command[end..].starts_with('}') && !command[..at].ends_with('$');
        is_one.then(|| &command[at..=end])
    };
    command.match_indices('{').filter_map(placeholder).find(|word| !PLACEHOLDERS.contains(word))
}

fn one() -> u32 {
    1
}

/// `on-off = { on = "1s", off = "1s" }`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, such as { on = \"1s\", off = \"2s\" }")]
pub struct OnOff {
    /// How long there is data.
    #[serde(deserialize_with = "read")]
    pub on: Duration,
    /// How long there is none.
    #[serde(deserialize_with = "read")]
    pub off: Duration,
}

/// The most flows of a group.
pub(super) const MAX_FLOWS: u32 = 10_000;

impl Flow {
    /// Its name, or else that of its command or its controller, which other flows may have, too.
    pub fn label(&self) -> &str {
        let command = self.command.as_ref().and_then(|command| command.split_whitespace().next());
        self.name.as_deref().or(command).unwrap_or(&self.controller)
    }

    /// What is wrong with it, if anything: the key and the reason.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let apps = [self.size.is_some(), self.on_off.is_some(), self.constant_rate.is_some(), self.video.is_some()];
        if apps.into_iter().filter(|given| *given).count() > 1 {
            return Err(("size", "a flow has one of size, on-off, constant-rate and video".to_owned()));
        }
        if !(1..=MAX_FLOWS).contains(&self.count) {
            return Err(("count", format!("this must be between 1 and {MAX_FLOWS}")));
        }
        if self.ack_every == Some(0) {
            return Err(("ack-every", "this must be at least 1".to_owned()));
        }
        if self.size == Some(0) {
            return Err(("size", "this must be at least 1B".to_owned()));
        }
        if self.load.is_some() && (self.size.is_none() || self.count > 1) {
            return Err(("load", "this needs a size and no count: it says itself how many transfers come".to_owned()));
        }
        if self.load == Some(0.0) {
            return Err(("load", "this must be more than 0".to_owned()));
        }
        if self.stop.is_some_and(|stop| stop <= self.start) {
            return Err(("stop", "this must be later than start".to_owned()));
        }
        if self.on_off.is_some_and(|on_off| on_off.on.is_zero()) {
            return Err(("on-off.on", "this must be more than 0s".to_owned()));
        }
        if self.video.is_some_and(|video| video.chunk.is_zero() || video.buffer < video.chunk) {
            return Err(("video", "a chunk must be longer than 0s, and the buffer must hold one".to_owned()));
        }
        self.check_stack()?;
        self.hosts().map(drop)
    }

    /// Its hosts in the simulator, and when the receiver acknowledges.
    ///
    /// # Errors
    ///
    /// The key and the reason, when there is no such host or it can't be so.
    pub(crate) fn hosts(&self) -> Result<(SenderHost, ReceiverHost, AckPolicy), Fault> {
        let exact = HostSpec::default();
        let find = |key, own: &Option<HostSpec>| match (own, &self.host) {
            (Some(spec), _) => (key, spec.clone()),
            (None, Some(spec)) => ("host", spec.clone()),
            (None, None) => ("host", exact.clone()),
        };
        let name = self.controller_config().map(|config| config.name).unwrap_or_default();
        let (key, spec) = find("sender-host", &self.sender_host);
        let sender = spec.of(&name).sender().map_err(|reason| (key, reason))?;
        let (key, spec) = find("receiver-host", &self.receiver_host);
        let (receiver, acks) = spec.of(&name).receiver().map_err(|reason| (key, reason))?;
        // Who says how many packets an acknowledgement waits for means all of them.
        let acks = match self.ack_every {
            Some(every) => AckPolicy { every: every.into(), max_delay: acks.max_delay, ..AckPolicy::default() },
            None => acks,
        };
        Ok((sender, receiver, AckPolicy { max_delay: self.ack_delay.unwrap_or(acks.max_delay), ..acks }))
    }

    /// Whether it sends as long as it may.
    pub(super) fn is_endless(&self) -> bool {
        self.size.is_none() && self.constant_rate.is_none() && self.video.is_none()
    }

    /// The application that decides when there is data.
    pub fn app(&self) -> App {
        if let Some(bytes) = self.size {
            return App::Transfer { bytes };
        }
        if let Some(OnOff { on, off }) = self.on_off {
            return App::OnOff { on, off };
        }
        if let Some(rate) = self.constant_rate {
            return App::ConstantRate { rate };
        }
        match self.video {
            Some(video) => App::Video(video),
            None => App::Bulk,
        }
    }

    /// The controller in the simulator.
    ///
    /// # Errors
    ///
    /// When there is none for what runs in reality.
    pub(crate) fn controller_config(&self) -> Result<ControllerConfig, Fault> {
        let name = match self.stack.unwrap_or_default() {
            Stack::Tcp => of_linux(&self.controller),
            Stack::Quic if self.controller.is_empty() => None,
            Stack::Quic => Some(self.controller.strip_prefix(stack::OF_NOQ).unwrap_or(&self.controller)),
        };
        let Some(name) = name else {
            let what = if self.command.is_some() { "programs" } else { "this controller of the kernel" };
            let reason = format!("the simulator has no counterpart of {what}: run it with --on emulator");
            return Err(("controller", reason));
        };
        let host = self.sender_host.as_ref().or(self.host.as_ref());
        let paced = pcc_baselines::paced(name).filter(|_| host.is_some_and(HostSpec::paces_windows));
        Ok(self.controller_named(paced.map_or(name, |paced| paced.name)))
    }

    /// The controller of noq's own that carries it in reality, if it is one.
    pub fn of_noq(&self) -> Option<Algorithm> {
        stack::of_noq(&self.controller)
    }

    /// A controller of ours with the constants that the flow sets.
    pub fn controller_named(&self, name: &str) -> ControllerConfig {
        ControllerConfig { name: name.to_owned(), set: self.set.clone(), utility: self.utility.clone() }
    }

    /// What is wrong with what it runs on, if anything.
    fn check_stack(&self) -> Result<(), Fault> {
        for (key, command) in [("command", &self.command), ("server", &self.server)] {
            if let Some(unknown) = command.as_deref().and_then(unknown_placeholder) {
                let known = PLACEHOLDERS.join(", ");
                return Err((
                    key,
                    format!("there is no {unknown}, only {known}; braces for the program itself need a space inside"),
                ));
            }
        }
        let tuned = !self.set.is_empty() || self.utility.is_some();
        match (&self.command, self.stack) {
            (Some(_), Some(_)) => return Err(("stack", "a command brings its own stack".to_owned())),
            (Some(command), None) if command.trim().is_empty() => {
                return Err(("command", "this is empty; write a program and its arguments".to_owned()));
            }
            (Some(_), None) if self.app() != App::Bulk => {
                return Err(("command", "what it sends, and how much, is up to the command itself".to_owned()));
            }
            (None, _) if self.server.is_some() => {
                return Err(("server", "this needs a command, the program at the sending end".to_owned()));
            }
            (None, _) if self.controller.is_empty() => {
                return Err(("controller", "a flow needs a controller, such as \"vivace-latency\"".to_owned()));
            }
            _ => {}
        }
        match self.stack {
            _ if self.controller.starts_with(stack::OF_NOQ) && self.of_noq().is_none() => {
                Err(("controller", format!("noq has {}", stack::names_of_noq())))
            }
            _ if self.of_noq().is_some() && tuned => {
                Err(("set", "noq's own controllers have no constants to set".to_owned()))
            }
            Some(Stack::Tcp) if tuned => Err(("set", "the kernel's controllers have no constants to set".to_owned())),
            // Only a kernel knows which ones it has.
            Some(Stack::Tcp) if of_linux(&self.controller).is_none() => Ok(()),
            _ if self.controller.is_empty() => Ok(()),
            _ => self.controller_config()?.check().map_err(|error| fault_of(&error)),
        }
    }
}
