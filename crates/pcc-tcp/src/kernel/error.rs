//! What may go wrong.

use super::holder::Holder;
use crate::controller::Controller;
use std::io;
use std::path::PathBuf;

/// Why PCC can't be had in this kernel, or not now.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel is too old.
    #[error(
        "this kernel is Linux {running}: PCC needs 6.4 or newer, where a program can be a congestion control for as long as its loader wants"
    )]
    OldKernel {
        /// The release of the running kernel, such as `6.1.0`.
        running: String,
    },
    /// The kernel doesn't say what its types are like.
    #[error(
        "this kernel has no type information (/sys/kernel/btf/vmlinux): PCC needs one that was built with CONFIG_DEBUG_INFO_BTF"
    )]
    NoTypes,
    /// The kernel has no congestion controls made of BPF programs.
    #[error(
        "this kernel takes no congestion control from a BPF program: PCC needs one that was built with CONFIG_BPF_JIT and CONFIG_BPF_SYSCALL"
    )]
    NoStructOps,
    /// The caller lacks the privileges for it.
    #[error("{what}: not permitted; it needs root (sudo)")]
    NotPermitted {
        /// The operation that failed, in words.
        what: &'static str,
    },
    /// The kernel refuses it to root as well.
    #[error("{what}: not permitted, even to root: this kernel, or the container's rules, allow no such BPF program")]
    Refused {
        /// The operation that failed, in words.
        what: &'static str,
    },
    /// The name of the controller is in use already.
    #[error("{controller} is registered already: {}", ending(.holder))]
    Taken {
        /// The controller that is registered.
        controller: Controller,
        /// The process or file that keeps it registered.
        holder: Holder,
    },
    /// It isn't pinned any more, but stays registered.
    #[error("{controller} stays registered: {}", ending(.holder))]
    Kept {
        /// The controller that is registered.
        controller: Controller,
        /// The process or file that keeps it registered.
        holder: Holder,
    },
    /// No controller of PCC is loaded.
    #[error("no controller of PCC is loaded: sudo pcc tcp load --pin")]
    NotLoaded,
    /// What is loaded can't be understood.
    #[error(
        "the controllers were loaded by another version of pcc: end that `pcc tcp load` and start this one's, or where they are \
         pinned: sudo pcc tcp load --pin --replace"
    )]
    OtherVersion,
    /// Another process watches already: only one can at a time.
    #[error("process {pid} watches the controllers already, and only one can at a time: end it first")]
    Watched {
        /// The id of that process.
        pid: u32,
    },
    /// The filesystem in which BPF links are kept isn't there.
    #[error("/sys/fs/bpf is not a BPF filesystem, and pcc mounted none there: {0}")]
    NoBpffs(io::Error),
    /// There is no place for a control group.
    #[error(
        "this process is in no control group of version 2 that it could see: `pcc tcp exec` needs a cgroup2 filesystem, \
         such as: mount -t cgroup2 cgroup2 /sys/fs/cgroup"
    )]
    NoCgroups,
    /// A file couldn't be read, made or removed.
    #[error("{path}: {source}")]
    File {
        /// The file that can't be read or written.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The BPF library failed, or the kernel's verifier refused a program.
    #[error("{what}: {source}")]
    Bpf {
        /// The operation that failed, in words.
        what: &'static str,
        /// Why it failed.
        source: libbpf_rs::Error,
    },
}

/// What keeps a controller registered, and how that ends.
fn ending(holder: &Holder) -> String {
    match holder {
        Holder::Pin => "it is pinned; `pcc tcp unload` removes it".to_owned(),
        Holder::Process { id, name } => format!("process {id} ({name}) has it until it ends"),
        Holder::Unknown if !rustix::process::geteuid().is_root() => "only root can see what keeps it (sudo)".to_owned(),
        Holder::Unknown => {
            "no process that can be seen from here has it, and it isn't pinned in /sys/fs/bpf/pcc".to_owned()
        }
    }
}

impl Error {
    /// For `map_err`: what was tried.
    pub(crate) fn bpf(what: &'static str) -> impl Fn(libbpf_rs::Error) -> Error {
        move |source| match source.kind() {
            libbpf_rs::ErrorKind::PermissionDenied if rustix::process::geteuid().is_root() => Error::Refused { what },
            libbpf_rs::ErrorKind::PermissionDenied => Error::NotPermitted { what },
            _ => Error::Bpf { what, source },
        }
    }

    /// For `map_err`: which file.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::File { path: path.into(), source }
    }
}
