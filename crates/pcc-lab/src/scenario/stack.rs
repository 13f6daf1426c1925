//! What flows run on in reality, and what stands for it in the simulator.

use super::Flow;
use super::build::Fault;
use crate::controller::ControllerConfig;
use pcc_quic::Algorithm;
use serde::Deserialize;

/// What carries a flow on the emulator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stack {
    /// QUIC over noq, with one of our controllers, or one of noq's: `noq-cubic`, `noq-newreno`, `noq-bbr3`.
    #[default]
    Quic,
    /// TCP of the kernel, with one of its controllers.
    Tcp,
}

/// What noq's own controllers are called after.
const OF_NOQ: &str = "noq-";

/// The kernel's controllers, and their counterparts among ours.
const OF_KERNEL: [(&str, &str); 11] = [
    ("bbr", "bbr1"),
    ("bic", "bic"),
    ("cubic", "cubic"),
    ("hybla", "hybla"),
    ("illinois", "illinois"),
    ("pcc_allegro", "kernel-allegro"),
    ("pcc_vivace", "kernel-vivace"),
    ("pcc_vivaceloss", "kernel-vivace-loss"),
    ("reno", "newreno"),
    ("vegas", "vegas"),
    ("westwood", "westwood"),
];

impl Flow {
    /// The controller in the simulator.
    ///
    /// # Errors
    ///
    /// When there is none for what runs in reality.
    pub(super) fn controller_config(&self) -> Result<ControllerConfig, Fault> {
        let name = match self.stack.unwrap_or_default() {
            Stack::Tcp => self.counterpart_of_kernel(),
            Stack::Quic if self.controller.is_empty() => None,
            Stack::Quic => Some(self.controller.strip_prefix(OF_NOQ).unwrap_or(&self.controller)),
        };
        let Some(name) = name else {
            let what = if self.command.is_some() { "programs" } else { "this controller of the kernel" };
            let reason = format!("the simulator has no counterpart of {what}: run it with --on emulator");
            return Err(("controller", reason));
        };
        Ok(self.controller_named(name))
    }

    fn counterpart_of_kernel(&self) -> Option<&'static str> {
        OF_KERNEL.iter().find(|(name, _)| *name == self.controller).map(|(_, ours)| *ours)
    }

    /// The controller of noq's own that carries it in reality, if it is one.
    pub(crate) fn of_noq(&self) -> Option<Algorithm> {
        let algorithm = self.controller.strip_prefix(OF_NOQ)?.parse::<Algorithm>().ok()?;
        algorithm.profile().is_none().then_some(algorithm)
    }

    /// A controller of ours with the constants that the flow sets.
    pub(crate) fn controller_named(&self, name: &str) -> ControllerConfig {
        ControllerConfig { name: name.to_owned(), set: self.set.clone(), utility: self.utility.clone() }
    }

    /// What is wrong with what it runs on, if anything.
    pub(super) fn check_stack(&self) -> Result<(), Fault> {
        let tuned = !self.set.is_empty() || self.utility.is_some();
        match (&self.command, self.stack) {
            (Some(_), Some(_)) => return Err(("stack", "a command brings its own stack".to_owned())),
            (Some(command), None) if command.trim().is_empty() => {
                return Err(("command", "this is empty; write a program and its arguments".to_owned()));
            }
            (Some(_), None) if self.app() != crate::sim::App::Bulk => {
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
            _ if self.controller.starts_with(OF_NOQ) && self.of_noq().is_none() => {
                Err(("controller", "noq has noq-cubic, noq-newreno and noq-bbr3".to_owned()))
            }
            _ if self.of_noq().is_some() && tuned => {
                Err(("set", "noq's own controllers have no constants to set".to_owned()))
            }
            Some(Stack::Tcp) if tuned => Err(("set", "the kernel's controllers have no constants to set".to_owned())),
            // Only a kernel knows which ones it has.
            Some(Stack::Tcp) if self.counterpart_of_kernel().is_none() => Ok(()),
            _ if self.controller.is_empty() => Ok(()),
            _ => self.controller_config()?.check().map_err(|error| super::build::fault_of(&error)),
        }
    }
}
