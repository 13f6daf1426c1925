//! `[kernel]`: what the kernels at both ends of the emulator are set to.

use super::fault::Fault;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Settings of the kernels that carry the flows; the simulator has none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KernelSettings {
    /// The most segments that TCP hands to the network device at a time, instead of as many as fit into 64 KB: shorter bursts for more
    /// processor time.
    pub gso_max_segs: Option<u16>,
    /// Settings of the network by their names, such as `"net.ipv4.tcp_comp_sack_nr" = 0`.
    #[serde(default)]
    pub sysctl: BTreeMap<String, SysctlValue>,
}

/// The value of a setting of the network.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum SysctlValue {
    /// A whole number.
    Number(i64),
    /// Anything else, as the kernel reads it.
    Text(String),
}

impl std::fmt::Display for SysctlValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SysctlValue::Number(number) => number.fmt(f),
            SysctlValue::Text(text) => text.fmt(f),
        }
    }
}

impl KernelSettings {
    /// What is wrong with it, if anything.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.gso_max_segs == Some(0) {
            return Err(("gso-max-segs", "this must be at least 1".to_owned()));
        }
        let own = |name: &str| {
            let known = name.strip_prefix("net.ipv4.").or(name.strip_prefix("net.ipv6."));
            known.is_some_and(|rest| rest.split('.').all(|part| part.starts_with(|c: char| c.is_ascii_alphanumeric())))
        };
        match self.sysctl.keys().find(|name| !own(name) || name.contains('/')) {
            Some(name) => Err((
                "sysctl",
                format!("{name} isn't a setting of a network, which begins with net.ipv4. or net.ipv6."),
            )),
            None => Ok(()),
        }
    }
}
