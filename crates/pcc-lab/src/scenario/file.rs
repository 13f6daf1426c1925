//! A scenario as it is written: the tables and keys of the file.

use super::flow::Flow;
use super::kernel::KernelSettings;
use super::link::Link;
use super::sweep::Sweep;
use crate::quantity::read;
use serde::Deserialize;
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

fn one() -> u32 {
    1
}

fn packet_size() -> u32 {
    crate::sim::PACKET_BYTES
}
