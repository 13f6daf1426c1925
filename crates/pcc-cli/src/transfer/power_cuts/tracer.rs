//! Records what a process does to a folder, through ptrace(2): the process itself is what it always is.

use super::disk::{Bytes, Disk, New, Node, Op, Place};
use crate::simulation;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What was in the folder, and what was done to it.
pub struct Trace {
    pub before: Disk,
    pub ops: Vec<Op>,
}

/// Runs a command to its end. The error says why that is not possible here.
pub fn record(command: &mut Command, root: &Path) -> Result<Trace, String> {
    let (root, before) = (root.canonicalize().expect("root"), Disk::load(root));
    // It waits until it is watched.
    let mut waiting = Command::new("sh");
    waiting.args(["-c", "read go && exec \"$@\"", "sh"]).arg(command.get_program()).args(command.get_args());
    command.get_envs().for_each(|(name, value)| {
        waiting.env(name, value.unwrap_or_default());
    });
    let mut child = simulation::start(waiting.stdin(Stdio::piped()).stdout(Stdio::null())).expect("sh");
    let main = Pid::from_raw(child.id() as i32);
    let options = Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_EXITKILL;
    if let Err(e) = ptrace::seize(main, options) {
        let _ = child.kill().and_then(|()| child.wait());
        return Err(format!("a process cannot be watched here: {e}"));
    }
    ptrace::interrupt(main).expect("interrupt");
    child.stdin.take().expect("stdin").write_all(b"\n").expect("start");
    let mut tracer = Tracer { root, now: before.clone(), ops: Vec::new(), doubts: 0 };
    let status = tracer.run(main);
    // Its end has been seen already.
    let _ = child.wait();
    assert_eq!(status, 0, "the command that is watched");
    assert_eq!(tracer.now.difference(&tracer.root), None, "the record lacks something");
    Ok(Trace { before, ops: tracer.ops })
}

struct Tracer {
    root: PathBuf,
    now: Disk,
    ops: Vec<Op>,
    /// For how many syncs in a row the record has differed from the folder.
    doubts: u32,
}

/// A call of another thread may be done and not noted yet, but not for so many syncs.
const DOUBTS: u32 = 10;

impl Tracer {
    /// The exit code.
    fn run(&mut self, main: Pid) -> i32 {
        loop {
            let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
            let (pid, signal) = match waitpid(None, Some(flags)).expect("wait") {
                WaitStatus::Exited(pid, code) if pid == main => return code,
                WaitStatus::Signaled(pid, signal, _) if pid == main => panic!("ended by {signal}"),
                WaitStatus::PtraceSyscall(pid) => {
                    self.note(pid);
                    (pid, None)
                }
                WaitStatus::Stopped(pid, signal) => (pid, Some(signal)),
                WaitStatus::PtraceEvent(pid, ..) => (pid, None),
                _ => continue,
            };
            // It may have been killed meanwhile, and then that is what comes next.
            let _ = ptrace::syscall(pid, signal);
        }
    }

    fn note(&mut self, pid: Pid) {
        let Some(op) = Call::done(pid).and_then(|call| self.op(&call)) else { return };
        if matches!(op, Op::Sync { .. } | Op::SyncAll) {
            // Nothing may have escaped the record.
            let difference = self.now.difference(&self.root);
            self.doubts = if difference.is_some() { self.doubts + 1 } else { 0 };
            assert!(self.doubts < DOUBTS, "the record lacks something before {op:?}: {difference:?}");
        }
        self.now.apply(&op);
        self.ops.push(op);
    }

    /// What a call did below the root.
    fn op(&mut self, call: &Call) -> Option<Op> {
        let [a, b, c, d] = call.args;
        Some(match call.number {
            libc::SYS_openat | libc::SYS_openat2 => {
                let path = self.below(&call.path(call.result)?)?;
                let (flags, mode) = match call.number {
                    libc::SYS_openat => (c, d),
                    _ => (call.word(c), call.word(c + 8)),
                };
                if let Some(node) = self.now.find(&path) {
                    (flags as i32 & libc::O_TRUNC != 0).then_some(Op::Resize { node, len: 0 })?
                } else {
                    self.make(&path, New::File { mode: call.masked(mode) })?
                }
            }
            libc::SYS_mkdir => self.make(&self.at(call, AT_FDCWD, a)?, New::Folder { mode: call.masked(b) })?,
            libc::SYS_mkdirat => self.make(&self.at(call, a, b)?, New::Folder { mode: call.masked(c) })?,
            libc::SYS_symlinkat => self.make(&self.at(call, b, c)?, New::Link { target: call.text(a) })?,
            libc::SYS_linkat => {
                let node = self.now.find(&self.at(call, a, b)?)?;
                Op::Link { at: self.place(&self.at(call, c, d)?)?, node }
            }
            libc::SYS_unlink => Op::Unlink { at: self.place(&self.at(call, AT_FDCWD, a)?)? },
            libc::SYS_unlinkat => Op::Unlink { at: self.place(&self.at(call, a, b)?)? },
            libc::SYS_renameat | libc::SYS_renameat2 => {
                let (from, to) = (self.at(call, a, b)?, self.at(call, c, d)?);
                Op::Rename { from: self.place(&from)?, to: self.place(&to)? }
            }
            libc::SYS_write => {
                let node = self.node(call, a)?;
                let from = call.position(a, || self.now.len(node));
                Op::Write { node, from, data: Bytes(call.bytes(b, call.result)) }
            }
            libc::SYS_pwrite64 => {
                Op::Write { node: self.node(call, a)?, from: d, data: Bytes(call.bytes(b, call.result)) }
            }
            libc::SYS_ftruncate => Op::Resize { node: self.node(call, a)?, len: b },
            libc::SYS_fallocate => {
                assert_eq!(b as i32, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE);
                Op::Punch { node: self.node(call, a)?, from: c, len: d }
            }
            libc::SYS_fchmod => Op::Mode { node: self.node(call, a)?, mode: b as u32 },
            libc::SYS_fchmodat | libc::SYS_fchmodat2 => {
                Op::Mode { node: self.now.find(&self.at(call, a, b)?)?, mode: c as u32 }
            }
            libc::SYS_utimensat => {
                let node = if b == 0 { self.node(call, a)? } else { self.now.find(&self.at(call, a, b)?)? };
                // Of two times the second is that of the modification.
                Op::Time { node, time: (call.word(c + 16) as i64, call.word(c + 24) as i64) }
            }
            libc::SYS_fsync | libc::SYS_fdatasync => Op::Sync { node: self.node(call, a)? },
            libc::SYS_syncfs => self.below(&call.path(a)?).map(|_| Op::SyncAll)?,
            _ => return None,
        })
    }

    fn make(&mut self, path: &Path, new: New) -> Option<Op> {
        Some(Op::Make { at: self.place(path)?, node: self.now.new_node(), new })
    }

    /// The path below the root.
    fn below(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(&self.root).ok().map(Path::to_owned)
    }

    /// The path below the root that two arguments of a call name.
    fn at(&self, call: &Call, folder: u64, path: u64) -> Option<PathBuf> {
        self.below(&call.path(folder)?.join(call.text(path)))
    }

    fn node(&self, call: &Call, file: u64) -> Option<Node> {
        self.now.find(&self.below(&call.path(file)?)?)
    }

    fn place(&self, path: &Path) -> Option<Place> {
        Some(Place { folder: self.now.find(path.parent()?)?, name: path.file_name()?.to_owned() })
    }
}

const AT_FDCWD: u64 = libc::AT_FDCWD as u64;
/// Of memory.
const PAGE: u64 = 4096;

/// A system call that succeeded and is about to return.
struct Call {
    pid: Pid,
    number: i64,
    args: [u64; 4],
    result: u64,
}

impl Call {
    /// `None` at the beginning of a call, when what will be the result says "no such call", and if it failed.
    fn done(pid: Pid) -> Option<Self> {
        let registers = ptrace::getregs(pid).ok()?;
        let args = [registers.rdi, registers.rsi, registers.rdx, registers.r10];
        let (number, result) = (registers.orig_rax as i64, registers.rax);
        (result as i64 >= 0).then_some(Self { pid, number, args, result })
    }

    fn proc(&self, name: impl AsRef<Path>) -> PathBuf {
        Path::new("/proc").join(self.pid.to_string()).join(name)
    }

    fn bytes(&self, from: u64, len: u64) -> Vec<u8> {
        let mut bytes = vec![0; len as usize];
        let memory = fs::File::open(self.proc("mem")).expect("memory");
        memory.read_exact_at(&mut bytes, from).expect("memory");
        bytes
    }

    fn word(&self, from: u64) -> u64 {
        u64::from_le_bytes(self.bytes(from, 8).try_into().expect("eight bytes"))
    }

    fn text(&self, mut from: u64) -> OsString {
        let mut text = Vec::new();
        loop {
            // What is after this page may not be there.
            let piece = self.bytes(from, PAGE - from % PAGE);
            let end = piece.iter().position(|&byte| byte == 0);
            text.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
            if end.is_some() {
                return OsString::from_vec(text);
            }
            from += piece.len() as u64;
        }
    }

    /// Where a file or folder that it has open is.
    fn path(&self, descriptor: u64) -> Option<PathBuf> {
        match descriptor as i32 {
            libc::AT_FDCWD => fs::read_link(self.proc("cwd")).ok(),
            number => fs::read_link(self.proc(format!("fd/{number}"))).ok(),
        }
    }

    /// Where a write that is over began; `end` is where the file ended before.
    fn position(&self, descriptor: u64, end: impl Fn() -> u64) -> u64 {
        let info = fs::read_to_string(self.proc(format!("fdinfo/{}", descriptor as i32))).expect("fdinfo");
        let field = |name| info.lines().find_map(|line| line.strip_prefix(name)).expect("a field").trim();
        let flags = i32::from_str_radix(field("flags:"), 8).expect("octal");
        if flags & libc::O_APPEND != 0 { end() } else { field("pos:").parse::<u64>().expect("a number") - self.result }
    }

    /// Permissions without those that the process gives nobody.
    fn masked(&self, mode: u64) -> u32 {
        let status = fs::read_to_string(self.proc("status")).expect("status");
        let umask = status.lines().find_map(|line| line.strip_prefix("Umask:")).expect("umask").trim();
        mode as u32 & 0o7777 & !u32::from_str_radix(umask, 8).expect("octal")
    }
}
