//! `pcc tcp exec` as people use it.

use crate::common::{Pcc, pcc, start};
use crate::support::{Alone, alone, loaded};
use nix::unistd::{Group, User};
use pcc_tcp::kernel::available;
use rustix::net::sockopt::tcp_congestion;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// The controllers of connections over IPv4 and, where there is that, IPv6, at the end that connects and at the one that accepts.
fn controllers() -> BTreeSet<String> {
    let listeners = ["127.0.0.1:0", "[::1]:0"].into_iter().filter_map(|address| TcpListener::bind(address).ok());
    let connections = listeners.flat_map(|listener| {
        let mut client = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        let (mut server, _) = listener.accept().expect("a connection");
        client.write_all(b"hello").expect("write");
        server.read_exact(&mut [0; 5]).expect("read");
        [client, server]
    });
    let controllers: BTreeSet<_> = connections.map(|socket| tcp_congestion(socket).expect("a controller")).collect();
    assert!(!controllers.is_empty(), "there is no loopback");
    controllers
}

/// No test: what the others run, in this binary once more. It prints a line for each controller.
#[test]
fn program() {
    for controller in controllers() {
        println!("\ncontroller {controller}");
    }
}

/// Waits until no other test uses the kernel's controllers; `None`, with a line that says why, where this machine can't do it.
fn possible() -> Option<Alone> {
    let alone = alone()?;
    let mut trial = pcc(&["tcp", "exec", "--", "true"]);
    if !trial.wait().success() {
        let reasons = ["this kernel", "control group", "Read-only file system"];
        assert!(reasons.iter().any(|reason| trial.stderr().contains(reason)), "{}", trial.stderr());
        println!("skipped: {}", trial.stderr());
        return None;
    }
    Some(alone)
}

/// The programs that every user may run.
struct Programs {
    directory: TempDir,
}

impl Programs {
    fn new() -> Programs {
        let directory = TempDir::new().expect("a directory");
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).expect("permissions");
        let this = std::env::current_exe().expect("this program");
        fs::copy(this, directory.path().join("test")).expect("a copy");
        fs::copy(env!("CARGO_BIN_EXE_pcc"), directory.path().join("pcc")).expect("a copy");
        Programs { directory }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    /// Runs a script of a shell, in which `$sockets` is a program that prints its controllers, and `$go` a file that it may wait for.
    fn exec(&self, options: &[&str], script: &str) -> Pcc {
        self.exec_as(None, options, script)
    }

    /// The same when this user called `sudo`, or nobody.
    fn exec_as(&self, user: Option<&User>, options: &[&str], script: &str) -> Pcc {
        let mut command = Command::new(self.path("pcc"));
        command.args(["tcp", "exec"]).args(options).args(["--", "sh", "-c", script]).current_dir("/");
        let sockets = format!("{} --exact exec::program --nocapture", self.path("test"));
        command.env("sockets", sockets).env("go", self.path("go"));
        command.env_remove("SUDO_UID").env_remove("SUDO_GID");
        if let Some(user) = user {
            command.env("SUDO_UID", user.uid.to_string()).env("SUDO_GID", user.gid.to_string());
        }
        start(command)
    }

    fn go(&self) {
        File::create(self.path("go")).expect("a file");
    }
}

/// Waits for a line that begins with this word, and returns the rest.
fn said(program: &Pcc, word: &str) -> String {
    let find = || program.lines().iter().find_map(|line| Some(line.strip_prefix(word)?.trim().to_owned()));
    program.until(word, find)
}

/// The controllers that a program had, when it has ended.
fn had(program: &Pcc) -> Vec<String> {
    program.lines().iter().filter_map(|line| Some(line.strip_prefix("controller ")?.to_owned())).collect()
}

fn registered() -> bool {
    available().iter().any(|name| name.starts_with("pcc_"))
}

/// The control group of a process.
fn group(process: &str) -> Option<PathBuf> {
    let groups = fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
    Some(groups.lines().find_map(|line| line.strip_prefix("0::"))?.into())
}

fn kill(process: &str) {
    let process = process.parse().ok().and_then(Pid::from_raw).expect("the number of a process");
    kill_process(process, Signal::KILL).expect("kill");
}

#[test]
fn a_command_is_needed() {
    let mut none = pcc(&["tcp", "exec"]);
    none.exits(2);
    let mut unknown = pcc(&["tcp", "exec", "--profile", "cubic", "--", "true"]);
    unknown.exits(2);
    assert!(unknown.stderr().contains("there are vivace-latency,"), "{}", unknown.stderr());
}

#[test]
fn both_ends_have_the_controller_and_nobody_else() {
    let Some(_alone) = possible() else { return };
    let usual = controllers();
    let programs = Programs::new();
    for (options, controller) in [
        (&[][..], "pcc_vivace"),
        (&["--profile", "vivace-loss"], "pcc_vivaceloss"),
        (&["--profile", "allegro"], "pcc_allegro"),
    ] {
        let mut program = programs.exec(options, "$sockets; echo done; exec sleep 100");
        said(&program, "done");
        assert_eq!(had(&program), [controller]);
        // While it runs.
        assert_eq!(controllers(), usual);
        program.signal(Signal::TERM);
        program.exits(128 + 15);
        assert!(!registered());
    }
}

#[test]
fn the_command_runs_as_who_called_sudo() {
    let Some(_alone) = possible() else { return };
    let programs = Programs::new();
    // Of a user in several groups, if there is one.
    let groups = fs::read_to_string("/etc/group").expect("groups");
    let member = groups.lines().find_map(|line| line.rsplit_once(':')?.1.split(',').find(|member| !member.is_empty()));
    let name = member.filter(|name| *name != "root").unwrap_or("nobody");
    let user = User::from_name(name).expect("users").expect("the user");
    let mut program =
        programs.exec_as(Some(&user), &[], "$sockets; echo uid $(id -u); echo gid $(id -g); echo groups $(id -Gn)");
    program.exits(0);
    assert_eq!(had(&program), ["pcc_vivace"]);
    assert_eq!(said(&program, "uid"), user.uid.to_string());
    assert_eq!(said(&program, "gid"), user.gid.to_string());
    let is_member =
        |line: &&str| line.rsplit_once(':').is_some_and(|(_, members)| members.split(',').any(|m| m == name));
    let others = groups.lines().filter(is_member).filter_map(|line| line.split(':').next());
    let own = Group::from_gid(user.gid).expect("groups").expect("the user's group").name;
    let expected: BTreeSet<_> = others.map(str::to_owned).chain([own]).collect();
    assert_eq!(said(&program, "groups").split(' ').map(str::to_owned).collect::<BTreeSet<_>>(), expected);
}

#[test]
fn who_called_sudo_must_be_clear() {
    let Some(_alone) = possible() else { return };
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.args(["tcp", "exec", "--", "true"]).env("SUDO_UID", "1").env_remove("SUDO_GID");
    let mut program = start(command);
    program.exits(1);
    assert!(program.stderr().contains("only one is set"), "{}", program.stderr());
}

#[test]
fn without_privileges_it_says_what_is_needed() {
    let Some(_alone) = possible() else { return };
    if Command::new("setpriv").arg("--version").output().is_err() {
        return println!("skipped: there is no setpriv, which runs pcc as another user");
    }
    let programs = Programs::new();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
    command.args([&programs.path("pcc"), "tcp", "exec", "--", "true"]).env_remove("SUDO_UID").env_remove("SUDO_GID");
    let mut program = start(command);
    program.exits(1);
    assert!(program.stderr().contains("not permitted; it needs root"), "{}", program.stderr());
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    let Some(_alone) = possible() else { return };
    for (command, code) in [
        (&["sh", "-c", "exit 7"][..], 7),
        (&["sh", "-c", "kill -KILL $$"], 128 + 9),
        (&["no-such-program"], 127),
        (&["/etc/passwd"], 126),
    ] {
        pcc(&[&["tcp", "exec", "--"], command].concat()).exits(code);
    }
}

#[test]
fn the_second_goes_on_when_the_first_is_killed() {
    let Some(_alone) = possible() else { return };
    let programs = Programs::new();
    let first = programs.exec(&[], "echo process $$; exec sleep 100");
    let sleeping = said(&first, "process");
    let mut second = programs.exec(&[], "echo ready; until [ -e $go ]; do sleep 0.1; done; $sockets");
    said(&second, "ready");
    first.kill();
    kill(&sleeping);
    programs.go();
    second.exits(0);
    assert_eq!(had(&second), ["pcc_vivace"]);
    assert!(!registered());
}

#[test]
fn a_controller_that_is_there_is_used() {
    let Some(alone) = possible() else { return };
    drop(alone);
    let Some(mut loaded) = loaded() else { return };
    let programs = Programs::new();
    let mut program = programs.exec(&[], "echo ready; until [ -e $go ]; do sleep 0.1; done; $sockets");
    said(&program, "ready");
    // Nobody else keeps it from now on.
    loaded.unload();
    assert!(registered());
    programs.go();
    program.exits(0);
    assert_eq!(had(&program), ["pcc_vivace"]);
    assert!(!registered());
}

#[test]
fn a_program_goes_on_when_pcc_is_killed() {
    let Some(_alone) = possible() else { return };
    let programs = Programs::new();
    let usual = controllers();
    let script = "echo process $$; until [ -e $go ]; do sleep 0.1; done; $sockets; echo done; exec sleep 100";
    let mut killed = programs.exec(&[], script);
    let left = said(&killed, "process");
    let before = group(&left).expect("its group");
    killed.signal(Signal::KILL);
    killed.wait();
    assert!(!registered());
    programs.go();
    said(&killed, "done");
    assert_eq!(had(&killed), Vec::from_iter(usual));
    let next = || {
        let mut next = programs.exec(&[], "grep ^0:: /proc/self/cgroup");
        next.exits(0);
        PathBuf::from(said(&next, "0::"))
    };
    assert_ne!(next(), before);
    kill(&left);
    killed.until("end of the program", || group(&left).is_none().then_some(()));
    // The group that was left is gone, and its name free.
    assert_eq!(next(), before);
}

#[test]
fn daemons_go_on_outside() {
    let Some(_alone) = possible() else { return };
    let programs = Programs::new();
    let mut program = programs.exec(&[], "sleep 100 > /dev/null 2>&1 & echo daemon $!; exit 3");
    program.exits(3);
    let daemon = said(&program, "daemon");
    assert_eq!(group(&daemon), group("self"));
    assert!(program.stderr().contains("processes left behind: 1"), "{}", program.stderr());
    kill(&daemon);
    assert!(!registered());
}

#[test]
fn it_works_behind_an_emulated_path() {
    let Some(_alone) = possible() else { return };
    let programs = Programs::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.args(["lab", "shell", "--", &programs.path("pcc"), "tcp", "exec", "--", &programs.path("test")]);
    command.args(["--exact", "exec::program", "--nocapture"]).env_remove("SUDO_UID").env_remove("SUDO_GID");
    let mut program = start(command);
    program.exits(0);
    assert_eq!(had(&program), ["pcc_vivace"]);
}
