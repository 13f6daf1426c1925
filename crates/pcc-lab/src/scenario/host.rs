//! The hosts of a flow in the simulator: a name, or a table with what differs from it.

use crate::controller::{runs_in_linux, suggestion};
use crate::quantity::{Quantity, read_option};
use crate::sim::{AckPolicy, HostThread, Pacing, ReceiverHost, SenderHost};
use crate::stall::Stalls;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use std::fmt;
use std::time::Duration;

/// A host, `"linux"`, or `{ base = "linux", slack = "50us" }`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostSpec {
    base: Base,
    changes: Changes,
}

/// The hosts that there are; docs/scenarios.md says where each is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Base {
    #[default]
    Exact,
    Linux,
    LinuxFq,
    Linux2015,
    UserSpace2015,
    Testbed2015,
    BusyVm,
}

const BASES: [(&str, Base); 7] = [
    ("exact", Base::Exact),
    ("linux", Base::Linux),
    ("linux-fq", Base::LinuxFq),
    ("linux-2015", Base::Linux2015),
    ("user-space-2015", Base::UserSpace2015),
    ("testbed-2015", Base::Testbed2015),
    ("busy-vm", Base::BusyVm),
];

/// Linux acknowledges every other packet, and a single one at the end of a burst or after 40 ms (`TCP_DELACK_MIN`); at first each.
const LINUX_ACKS: AckPolicy =
    AckPolicy { every: 2, max_delay: Duration::from_millis(40), ends_of_bursts: true, quick: 16 };
/// What a network card's driver waits for more packets; also the emulator's quantum.
const GRO_TIME: Duration = Duration::from_micros(50);
/// How late threads of a busy virtual machine ran.
const BUSY_VM: &str = include_str!("busy-vm.toml");

/// The largest window to begin with, in packets: more could only fill memory.
const MAX_INITIAL_WINDOW: u32 = 10_000;

/// What differs from the base.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Changes {
    base: Option<String>,
    pacing: Option<PacingName>,
    #[serde(deserialize_with = "read_option")]
    tick: Option<Duration>,
    #[serde(deserialize_with = "read_option")]
    slack: Option<Duration>,
    stalls: Option<Stalls>,
    #[serde(deserialize_with = "read_option")]
    packet_time: Option<Duration>,
    #[serde(deserialize_with = "read_option")]
    bundle: Option<Duration>,
    sack_compression: Option<bool>,
    receive_window: Option<bool>,
    initial_window: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PacingName {
    Exact,
    CatchUp,
    FullCatchUp,
    Tick,
    Bursts,
    None,
}

impl Quantity for Base {
    const EXPECTED: &'static str =
        "a host such as \"linux\", or a table such as { base = \"linux\", slack = \"50us\" }";

    fn from_text(text: &str) -> Result<Base, String> {
        BASES.iter().find(|(name, _)| *name == text).map(|(_, base)| *base).ok_or_else(|| {
            let known = BASES.map(|(name, _)| name.to_owned());
            format!("there is no such host{}; there are {}", suggestion(text, &known), known.join(", "))
        })
    }
}

impl<'de> Deserialize<'de> for HostSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HostSpec, D::Error> {
        deserializer.deserialize_any(SpecVisitor)
    }
}

struct SpecVisitor;

impl<'de> Visitor<'de> for SpecVisitor {
    type Value = HostSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Base::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<HostSpec, E> {
        let base = Base::from_text(text).map_err(|reason| E::custom(format!("\"{text}\": {reason}")))?;
        Ok(HostSpec { base, changes: Changes::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HostSpec, A::Error> {
        let changes = Changes::deserialize(MapAccessDeserializer::new(map))?;
        let base = match &changes.base {
            Some(name) => Base::from_text(name).map_err(|reason| A::Error::custom(format!("\"{name}\": {reason}")))?,
            None => Base::Exact,
        };
        Ok(HostSpec { base, changes })
    }
}

/// The name of the host; of one that is changed, the name of its base.
impl fmt::Display for HostSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = BASES.iter().find(|(_, base)| *base == self.base).map_or("", |(name, _)| name);
        f.write_str(name)?;
        f.write_str(if self.changes == Changes::default() { "" } else { ", changed" })
    }
}

impl HostSpec {
    /// Whether it paces controllers that have a window only.
    pub(super) fn paces_windows(&self) -> bool {
        self.base == Base::LinuxFq
    }

    /// The host for the controller with this name: a testbed has two kinds.
    pub(super) fn of(mut self, controller: &str) -> HostSpec {
        if self.base == Base::Testbed2015 {
            self.base = if runs_in_linux(controller) { Base::Linux2015 } else { Base::UserSpace2015 };
        }
        self
    }

    /// The host that sends.
    pub(super) fn sender(&self) -> Result<SenderHost, String> {
        let pacing = match self.base {
            Base::Exact => Pacing::Exact,
            Base::Linux | Base::LinuxFq | Base::Linux2015 => Pacing::Bursts,
            Base::UserSpace2015 | Base::Testbed2015 => Pacing::FullCatchUp,
            Base::BusyVm => Pacing::CatchUp,
        };
        let pacing = match (self.changes.pacing, self.changes.tick) {
            (None, None) => pacing,
            (None | Some(PacingName::Tick), Some(Duration::ZERO)) => return Err("tick must be more than 0s".to_owned()),
            (None | Some(PacingName::Tick), Some(tick)) => Pacing::Tick(tick),
            (Some(PacingName::Tick), None) => return Err("this pacing needs a tick, such as tick = \"1ms\"".to_owned()),
            (Some(_), Some(_)) => return Err("a tick needs pacing = \"tick\"".to_owned()),
            (Some(PacingName::Exact), None) => Pacing::Exact,
            (Some(PacingName::CatchUp), None) => Pacing::CatchUp,
            (Some(PacingName::FullCatchUp), None) => Pacing::FullCatchUp,
            (Some(PacingName::Bursts), None) => Pacing::Bursts,
            (Some(PacingName::None), None) => Pacing::None,
        };
        if self.changes.initial_window.is_some_and(|packets| !(1..=MAX_INITIAL_WINDOW).contains(&packets)) {
            return Err(format!("initial-window must be at least 1 packet and at most {MAX_INITIAL_WINDOW}"));
        }
        Ok(SenderHost { pacing, thread: self.thread()?, initial_window: self.changes.initial_window })
    }

    /// The host that receives, and when it acknowledges.
    pub(super) fn receiver(&self) -> Result<(ReceiverHost, AckPolicy), String> {
        let linux = matches!(self.base, Base::Linux | Base::LinuxFq | Base::Linux2015);
        let receiver = ReceiverHost {
            thread: self.thread()?,
            bundle: self.changes.bundle.unwrap_or(if linux { GRO_TIME } else { Duration::ZERO }),
            sack_compression: self.changes.sack_compression.unwrap_or(linux),
            receive_window: self.changes.receive_window.unwrap_or(linux),
            hides_delay: linux,
        };
        let acks = match self.base {
            Base::Linux | Base::LinuxFq => LINUX_ACKS,
            Base::Linux2015 => AckPolicy { ends_of_bursts: false, ..LINUX_ACKS },
            _ => AckPolicy::default(),
        };
        Ok((receiver, acks))
    }

    fn thread(&self) -> Result<HostThread, String> {
        let recorded: Changes = match self.base {
            Base::BusyVm => toml::from_str(BUSY_VM).map_err(|error| error.to_string())?,
            _ => Changes::default(),
        };
        let stalls = self.changes.stalls.clone().or(recorded.stalls);
        if let Some(Err((key, reason))) = stalls.as_ref().map(Stalls::check) {
            return Err(format!("stalls.{key}: {reason}"));
        }
        let slack = self.changes.slack.or(recorded.slack).unwrap_or_default();
        Ok(HostThread { slack, stalls, packet_time: self.changes.packet_time.unwrap_or_default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_host_can_be_built_and_the_default_is_exact() {
        for (name, base) in BASES {
            let spec = HostSpec { base, changes: Changes::default() };
            let exact = (spec.sender().unwrap(), spec.receiver().unwrap().0) == Default::default();
            assert_eq!(exact, name == "exact", "{name}");
        }
        let (busy, _) = HostSpec { base: Base::BusyVm, changes: Changes::default() }.receiver().unwrap();
        assert!(busy.thread.stalls.is_some() && !busy.thread.slack.is_zero());
    }

    #[test]
    fn a_host_may_have_an_initial_window_of_its_own() {
        let with = |packets| {
            let changes = Changes { initial_window: Some(packets), ..Changes::default() };
            HostSpec { base: Base::Linux, changes }.sender()
        };
        assert_eq!(with(3).unwrap().initial_window, Some(3));
        for packets in [0, 1_000_000_000] {
            assert!(with(packets).unwrap_err().contains("at least 1 packet and at most 10000"), "{packets}");
        }
    }
}
