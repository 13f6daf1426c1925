//! What may go wrong.

use super::Controller;
use std::io;
use std::path::PathBuf;

/// Why PCC can't be had in this kernel, or not now.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel is too old.
    #[error(
        "this kernel is Linux {running}: PCC needs 6.4 or newer, where a program can be a congestion control for as long as its loader wants"
    )]
    OldKernel {
        /// Its release.
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
    /// The caller may not do it.
    #[error("{what}: not permitted; it needs root, or the capabilities CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON")]
    NotPermitted {
        /// What was tried.
        what: &'static str,
    },
    /// The name is in use.
    #[error("{0} is registered already; `pcc tcp status` tells by whom, `pcc tcp unload` ends it if it is pinned")]
    Taken(Controller),
    /// There is nothing to see.
    #[error("no controller of PCC is loaded: sudo pcc tcp load --pin")]
    NotLoaded,
    /// What is loaded can't be understood.
    #[error("a controller was loaded by another version of pcc: sudo pcc tcp load --pin --replace")]
    OtherVersion,
    /// Records are for one watcher.
    #[error("process {pid} watches the controllers already, and only one can at a time: end it first")]
    Watched {
        /// Its number.
        pid: u32,
    },
    /// The filesystem in which BPF links are kept isn't there.
    #[error("/sys/fs/bpf is not a BPF filesystem, and mounting one there failed: {0}")]
    NoBpffs(io::Error),
    /// A file couldn't be read, made or removed.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The BPF library or the kernel's verifier said no.
    #[error("{what}: {source}")]
    Bpf {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: libbpf_rs::Error,
    },
}

impl Error {
    /// For `map_err`: what was tried.
    pub(crate) fn bpf(what: &'static str) -> impl Fn(libbpf_rs::Error) -> Error {
        move |source| match source.kind() {
            libbpf_rs::ErrorKind::PermissionDenied if !rustix::process::geteuid().is_root() => {
                Error::NotPermitted { what }
            }
            _ => Error::Bpf { what, source },
        }
    }

    /// For `map_err`: which file.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::File { path: path.into(), source }
    }
}
