//! What the running kernel can do.

use super::Error;
use libbpf_rs::btf::types::{FuncProto, Ptr, Struct};
use libbpf_rs::btf::{Btf, ReferencesType};
use rustix::thread::{CapabilitySet, capabilities};
use std::path::Path;

/// The first release in which registering a congestion control gives a link, with which it goes.
const OLDEST: (u32, u32) = (6, 4);

/// What differs between the kernels on which PCC runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Kernels before 6.10 give `cong_control` two arguments instead of four.
    pub two_arguments: bool,
    /// Newer kernels, such as 7.3, have a callback of its own for the beginning of sending.
    pub tells_start: bool,
}

/// Something that PCC needs.
#[derive(Debug)]
#[non_exhaustive]
pub struct Requirement {
    /// What is needed, in a few words for people.
    pub what: &'static str,
    /// Whether it is there; the error says what would be right.
    pub met: Result<(), Error>,
}

/// All that PCC needs of this machine and user.
pub fn requirements() -> Vec<Requirement> {
    [
        ("Linux 6.4 or newer", new_enough()),
        ("the kernel's type information (BTF)", types().map(drop)),
        ("congestion controls of BPF programs (struct_ops)", struct_ops().map(drop)),
        ("root, or its capabilities for BPF and networks", privileged()),
    ]
    .map(|(what, met)| Requirement { what, met })
    .into()
}

/// The release of the running kernel.
pub fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Looks at the running kernel.
pub fn kernel() -> Result<Kernel, Error> {
    new_enough()?;
    struct_ops()
}

fn new_enough() -> Result<(), Error> {
    let release = release();
    match version(&release) {
        Some(version) if version < OLDEST => Err(Error::OldKernel { running: release }),
        _ => Ok(()),
    }
}

fn types() -> Result<Btf<'static>, Error> {
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(Error::NoTypes);
    }
    Btf::from_vmlinux().map_err(Error::bpf("reading the kernel's types"))
}

fn struct_ops() -> Result<Kernel, Error> {
    let types = types()?;
    // What the kernel keeps such programs in.
    let _: Struct<'_> = types.type_by_name("bpf_struct_ops_tcp_congestion_ops").ok_or(Error::NoStructOps)?;
    let arguments = arguments_of(&types, "cong_control").ok_or(Error::NoStructOps)?;
    Ok(Kernel { two_arguments: arguments == 2, tells_start: arguments_of(&types, "cwnd_event_tx_start").is_some() })
}

/// Whether this user may load the programs.
pub fn privileged() -> Result<(), Error> {
    let needed = CapabilitySet::BPF | CapabilitySet::NET_ADMIN | CapabilitySet::PERFMON;
    match capabilities(None) {
        Ok(sets) if !sets.effective.contains(needed) => Err(Error::NotPermitted { what: "loading the programs" }),
        _ => Ok(()),
    }
}

/// Major and minor version of a release such as `6.1.0-47-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// How many arguments a callback of congestion controls has, if there is one of this name.
fn arguments_of(types: &Btf<'_>, callback: &str) -> Option<usize> {
    let operations: Struct<'_> = types.type_by_name("tcp_congestion_ops")?;
    let member = operations.iter().find(|member| member.name.is_some_and(|name| name == callback))?;
    let pointer: Ptr<'_> = types.type_by_id(member.ty)?;
    let function: FuncProto<'_> = types.type_by_id(pointer.referenced_type().type_id())?;
    Some(function.iter().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_distributions_are_understood() {
        assert_eq!(version("6.18.44"), Some((6, 18)));
        assert_eq!(version("6.1.0-47-amd64"), Some((6, 1)));
        assert_eq!(version("5.10"), Some((5, 10)));
        assert_eq!(version("something else"), None);
    }
}
