//! A scenario as it is written: the tables and keys of the file.

use super::flow::Flow;
use super::kernel::KernelSettings;
use super::link::Link;
use super::sweep::Sweep;
use crate::quantity::read;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::time::Duration;
use toml::Table;

/// A scenario file, or one case of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// What it is about, in a line.
    #[serde(default)]
    pub title: String,
    /// How long a run lasts.
    #[serde(deserialize_with = "read")]
    pub duration: Duration,
    /// When the measurement begins: what happens before doesn't count.
    #[serde(default, deserialize_with = "read")]
    pub measure_from: Duration,
    /// How many seeds to run each case with, from 1 on.
    #[serde(default = "one")]
    pub seeds: u32,
    /// Bytes of a full packet on the wire.
    #[serde(default = "packet_size")]
    pub packet_size: u32,
    /// The kernels at both ends of the emulator.
    #[serde(default)]
    pub kernel: KernelSettings,
    /// The links, each in one direction.
    #[serde(default)]
    pub link: Vec<Link>,
    /// The flows, or groups of equal ones.
    #[serde(default)]
    pub flow: Vec<Flow>,
    /// The axes along which cases differ.
    #[serde(default)]
    pub sweep: Vec<Sweep>,
    /// Keys and values for a short version.
    #[serde(default)]
    pub quick: Table,
    /// What the runs are compared with, which [`figure`](crate::figure) reads.
    pub figure: Option<Table>,
}

impl Scenario {
    /// What tables call each `[[flow]]`, no two the same: its name, or else that of its command or its controller, with a number where a flow
    /// before it, or one that was given a name, is called so already: `cubic`, `cubic-2`, `cubic-3`.
    pub fn flow_names(&self) -> Vec<String> {
        let mut taken: BTreeSet<String> = self.flow.iter().filter_map(|flow| flow.name.clone()).collect();
        let name = |flow: &Flow| {
            if let Some(name) = &flow.name {
                return name.clone();
            }
            let mut name = flow.label().to_owned();
            let mut number = 1;
            while !taken.insert(name.clone()) {
                number += 1;
                name = format!("{}-{number}", flow.label());
            }
            name
        };
        self.flow.iter().map(name).collect()
    }
}

fn one() -> u32 {
    1
}

fn packet_size() -> u32 {
    crate::sim::PACKET_BYTES
}
