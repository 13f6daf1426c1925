//! `pcc lab shell` as people use it. It needs root and TUN; the shell `bash` stands for any program.

#[allow(dead_code, reason = "shared with the tests of transfers")]
mod common;

use common::{Pcc, pcc, start};
use nix::unistd::User;
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::thread;

/// Whether this machine can emulate paths.
fn possible() -> bool {
    let possible = rustix::process::geteuid().is_root() && Path::new("/dev/net/tun").exists();
    if !possible {
        println!("skipped: emulated paths need root and /dev/net/tun");
    }
    possible
}

/// Runs a script behind a path.
fn shell(path: &[&str], script: &str) -> Pcc {
    pcc(&[&["lab", "shell"], path, &["--", "bash", "-c", script]].concat())
}

/// The only line that is printed.
fn line(shell: &Pcc) -> String {
    shell.until("a line", || shell.lines().first().cloned())
}

/// Whether a process has these arguments.
fn runs(arguments: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("/proc");
    let lines = processes.filter_map(|process| std::fs::read(process.ok()?.path().join("cmdline")).ok());
    lines.into_iter().any(|line| String::from_utf8_lossy(&line).replace('\0', " ").trim() == arguments)
}

fn device_exists(name: &str) -> bool {
    std::fs::read_to_string("/proc/net/dev").expect("devices").contains(&format!("{name}:"))
}

/// What this machine's device is called, by the address that the program was told.
fn device(host: &str) -> String {
    format!("pcc{}", host.split('.').nth(2).expect("an address"))
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    if possible() {
        shell(&[], "exit 7").exits(7);
        shell(&[], "kill -KILL $$").exits(128 + 9);
        shell(&[], "kill -TERM $$").exits(128 + 15);
        // A real-time signal.
        shell(&[], "kill -40 $$").exits(128 + 40);
    }
}

#[test]
fn a_command_that_can_not_be_run_has_the_exit_code_of_shells() {
    if !possible() {
        return;
    }
    let mut missing = pcc(&["lab", "shell", "--", "no-such-program"]);
    missing.exits(127);
    assert!(missing.stderr().contains("can't run no-such-program: No such file"), "{}", missing.stderr());
    pcc(&["lab", "shell", "--", "/etc/passwd"]).exits(126);
}

#[test]
fn wrong_options_say_what_would_be_right() {
    for (options, hint) in [
        (&["--rate", "42"][..], "42mbit"),
        (&["--loss", "100%"], "such as 1%"),
        (&["--rate", "1mbit", "--queue", "1kB"], "1500 bytes must fit"),
        (&["--queue", "1MB"], "--rate"),
        (&["--trace", "/no/such/file"], "No such file"),
        (&["--rtt", "11s"], "at most 10s"),
    ] {
        let mut shell = shell(options, "true");
        shell.exits(2);
        assert!(shell.stderr().contains(hint), "{}", shell.stderr());
    }
}

#[test]
fn without_privileges_it_says_what_is_needed() {
    if !possible() {
        return;
    }
    let mut command = Command::new("setpriv");
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"];
    // Where this user can't read the binary or there is no setpriv, it isn't tested.
    if !command.args(user).args([env!("CARGO_BIN_EXE_pcc"), "--version"]).output().is_ok_and(|ran| ran.status.success())
    {
        return println!("skipped: setpriv can't run pcc as another user");
    }
    let mut command = Command::new("setpriv");
    command.args(user).args([env!("CARGO_BIN_EXE_pcc"), "lab", "shell", "--", "true"]);
    let mut shell = start(command);
    shell.exits(1);
    assert!(shell.stderr().contains("needs root (sudo)"), "{}", shell.stderr());
}

#[test]
fn the_command_runs_as_who_became_root() {
    if !possible() {
        return;
    }
    let nobody = User::from_name("nobody").expect("users").expect("nobody");
    let (uid, gid) = (nobody.uid.to_string(), nobody.gid.to_string());
    for said_by in [
        &[("SUDO_UID", &*uid), ("SUDO_GID", &*gid)][..],
        &[("PKEXEC_UID", &*uid)],
        &[("DOAS_USER", "nobody")],
        &[("DOAS_USER", "nobody"), ("PKEXEC_UID", &*uid)],
    ] {
        let mut shell = start(as_root_for(said_by, &["bash", "-c", "echo $(id -u):$(id -g) $USER"]));
        shell.exits(0);
        assert_eq!(line(&shell), format!("{uid}:{gid} nobody"), "{said_by:?}");
    }
}

#[test]
fn who_became_root_must_be_clear() {
    if !possible() {
        return;
    }
    for (said_by, reason) in [
        (&[("SUDO_UID", "65534")][..], "only one is set"),
        (&[("SUDO_UID", "4294967295"), ("SUDO_GID", "65534")], "SUDO_UID must be the number"),
        (&[("SUDO_UID", "65534"), ("SUDO_GID", "users")], "SUDO_GID must be the number"),
        (&[("PKEXEC_UID", "nobody")], "PKEXEC_UID must be the number"),
        (&[("PKEXEC_UID", "4294967294")], "there is no user 4294967294"),
        (&[("DOAS_USER", "no such user")], "there is no user \"no such user\""),
        (&[("DOAS_USER", "nobody"), ("PKEXEC_UID", "0")], "name different users"),
    ] {
        let mut shell = start(as_root_for(said_by, &["true"]));
        shell.exits(125);
        assert!(shell.stderr().contains(reason), "{}", shell.stderr());
    }
}

/// A command in the shell, called by root with these variables and no others that say who that was before.
fn as_root_for(said_by: &[(&str, &str)], command: &[&str]) -> Command {
    let mut pcc = Command::new(env!("CARGO_BIN_EXE_pcc"));
    pcc.args(["lab", "shell", "--"]).args(command).current_dir("/").env("USER", "root");
    for name in ["SUDO_UID", "SUDO_GID", "PKEXEC_UID", "DOAS_USER"] {
        pcc.env_remove(name);
    }
    pcc.envs(said_by.iter().copied());
    pcc
}

#[test]
fn your_shell_is_that_of_who_called_sudo() {
    if !possible() {
        return;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.args(["lab", "shell"]).env("SUDO_UID", "0").env("SUDO_GID", "0").env("SHELL", "/no/such/shell");
    // It reads the end of its input.
    start(command).exits(0);
}

#[test]
fn processes_may_have_other_numbers_in_proc() {
    if !possible() {
        return;
    }
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", env!("CARGO_BIN_EXE_pcc"), "lab", "shell", "--", "bash", "-c", "exit 7"]);
    if Command::new("unshare").arg("--version").output().is_err() {
        return println!("skipped: there is no unshare, which makes a namespace of processes");
    }
    start(command).exits(7);
}

#[test]
fn a_command_without_a_path_is_ended() {
    if !possible() {
        return;
    }
    if Command::new("ip").arg("-V").output().is_err() {
        return println!("skipped: there is no ip, which takes the path away");
    }
    let mut shell = shell(&[], "ip link delete pcc0; sleep 1000");
    shell.exits(1);
    assert!(shell.stderr().contains("the path has broken down"), "{}", shell.stderr());
}

#[test]
fn a_shell_in_a_terminal_controls_its_jobs() {
    if !possible() {
        return;
    }
    let pcc = env!("CARGO_BIN_EXE_pcc");
    let mut terminal = Command::new("script");
    // `m` is among the flags of a shell with job control.
    let interactive = format!("{pcc} lab shell -- bash --norc -ic 'echo flags $-; exit 4'");
    terminal.args(["--quiet", "--return", "--command", &interactive, "/dev/null"]);
    if Command::new("script").arg("--version").output().is_err() {
        return println!("skipped: there is no script, which makes a terminal");
    }
    let mut shell = start(terminal);
    shell.exits(4);
    let flags = shell.lines().into_iter().find(|line| line.starts_with("flags "));
    assert!(flags.is_some_and(|flags| flags.contains('m')), "{:?}", shell.lines());
}

#[test]
fn everything_takes_at_least_the_round_trip() {
    if !possible() {
        return;
    }
    let listener = TcpListener::bind("0.0.0.0:0").expect("bind");
    let port = listener.local_addr().expect("address").port();
    thread::spawn(move || {
        let (mut connection, _) = listener.accept().expect("accept");
        let mut byte = [0];
        connection.read_exact(&mut byte).expect("read");
        connection.write_all(&byte).expect("write");
    });
    let script = format!(
        "exec 3<>/dev/tcp/$PCC_HOST/{port}; from=$EPOCHREALTIME; echo x >&3; read -n 1 -u 3; to=$EPOCHREALTIME; \
         echo $REPLY $(( (${{to/./}} - ${{from/./}}) / 1000 ))"
    );
    let mut shell = shell(&["--rate", "10mbit", "--rtt", "300ms", "--queue", "30kB"], &script);
    shell.exits(0);
    let milliseconds = line(&shell).strip_prefix("x ").and_then(|time| time.parse::<u64>().ok());
    assert!(milliseconds >= Some(300), "{:?}", shell.lines());
}

#[test]
fn nothing_is_left_when_it_is_killed() {
    if !possible() {
        return;
    }
    let [child, daemon] = [1, 2].map(|number| format!("sleep 100{number}.{}", std::process::id()));
    let shell = shell(&[], &format!("setsid {daemon} & echo $PCC_HOST; {child}; true"));
    let device = device(&line(&shell));
    shell.until("the children", || (runs(&child) && runs(&daemon)).then_some(()));
    assert!(device_exists(&device));
    shell.kill();
    let gone = || !runs(&child) && !runs(&daemon) && !device_exists(&device);
    pcc(&["--version"]).until("end of the children", || gone().then_some(()));
}

#[test]
fn nothing_is_left_when_the_command_ends() {
    if !possible() {
        return;
    }
    let daemon = format!("sleep 1003.{}", std::process::id());
    let mut shell = shell(&[], &format!("setsid {daemon} & exit 3"));
    shell.exits(3);
    assert!(!runs(&daemon));
}

/// Whether this process, and so those that it starts, ignores a signal.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("signals that are ignored").trim();
    u64::from_str_radix(mask, 16).expect("a mask") >> (signal.as_raw() - 1) & 1 == 1
}

#[test]
fn requests_to_end_reach_the_command() {
    if !possible() {
        return;
    }
    for (signal, name) in [(Signal::TERM, "TERM"), (Signal::INT, "INT"), (Signal::HUP, "HUP")] {
        // A shell can't trap what was ignored when it began, as in the background or under nohup.
        if is_ignored(signal) {
            println!("skipped: the parent of this test ignores SIG{name}");
            continue;
        }
        let mut shell = shell(&[], &format!("trap 'exit 9' {name}; echo ready; while :; do sleep 0.1; done"));
        line(&shell);
        shell.signal(signal);
        shell.exits(9);
    }
}

#[test]
fn two_at_once_have_their_own_networks() {
    if possible() {
        let shells = [(); 2].map(|()| shell(&[], "echo $PCC_HOST; sleep 1000"));
        assert_ne!(line(&shells[0]), line(&shells[1]));
    }
}

/// A path behind a path, whose middle forwards packets.
fn behind_a_router(script: &str) -> Option<Pcc> {
    if !possible() {
        return None;
    }
    if Command::new("nft").arg("--version").output().is_err() {
        println!("skipped: there is no nft");
        return None;
    }
    let pcc = env!("CARGO_BIN_EXE_pcc");
    Some(shell(&[], &format!("echo 1 > /proc/sys/net/ipv4/ip_forward; export far=$PCC_HOST pcc={pcc}; {script}")))
}

#[test]
fn what_this_machine_reaches_the_command_reaches() {
    let listener = TcpListener::bind("0.0.0.0:0").expect("bind");
    let port = listener.local_addr().expect("address").port();
    thread::spawn(move || listener.accept().expect("accept").0.write_all(b"hello\n").expect("write"));
    let script = format!("$pcc lab shell -- bash -c 'read line < /dev/tcp/$far/{port}; echo $line'");
    if let Some(mut shell) = behind_a_router(&script) {
        shell.exits(0);
        assert_eq!(line(&shell), "hello", "{}", shell.stderr());
    }
}

#[test]
fn no_rule_is_left_when_it_is_killed() {
    let script = "$pcc lab shell -- sleep 1000 & \
        until nft list tables | grep pcc; do sleep 0.1; done; kill -KILL $!; \
        while nft list tables | grep -q pcc; do sleep 0.1; done; exit 5";
    if let Some(mut shell) = behind_a_router(script) {
        shell.exits(5);
        assert!(line(&shell).starts_with("table ip pcc"), "{}", shell.stderr());
    }
}

#[test]
fn an_nft_of_the_callers_own_is_not_run_as_root() {
    let script = "folder=$(mktemp -d); printf '#!/bin/sh\\ntouch $0.was-run\\n' > $folder/nft; chmod +x $folder/nft; \
        PATH=$folder:$PATH $pcc lab shell -- true; ls $folder; rm -r $folder";
    if let Some(mut shell) = behind_a_router(script) {
        shell.exits(0);
        assert_eq!(line(&shell), "nft", "{}", shell.stderr());
    }
}

#[test]
fn an_nft_that_does_not_answer_is_not_waited_for() {
    let script = "folder=$(mktemp -d); printf '#!/bin/sh\\nexec sleep 1000\\n' > $folder/nft; chmod +x $folder/nft; \
        export folder nft=$(command -v nft); \
        unshare --mount sh -c 'mount --bind $folder/nft $nft && exec $pcc lab shell -- true'; code=$?; rm -r $folder; exit $code";
    if let Some(mut shell) = behind_a_router(script) {
        shell.exits(0);
        assert!(shell.stderr().contains("nft can't translate addresses: it doesn't answer"), "{}", shell.stderr());
    }
}
