//! Runs `pcc tcp` on a machine without PCC in its kernel.

use crate::common::{Pcc, pcc, start};
use crate::support::{Alone, alone};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use pcc_emulator::host::Namespace;
use pcc_tcp::kernel::{available, pinned, unpin};
use rustix::fs::statfs;
use rustix::net::sockopt::tcp_congestion;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

/// While it lives no other test of this machine loads PCC. What a test leaves pinned goes with it.
pub struct Machine {
    _alone: Alone,
}

/// Waits until no other test uses the kernel's controllers; `None`, with a line that says why, where they can't be loaded.
pub fn machine() -> Option<Machine> {
    Some(Machine { _alone: alone()? })
}

/// As [`machine`], where controllers can be pinned, too.
pub fn machine_that_pins() -> Option<Machine> {
    let machine = machine()?;
    let is_there = statfs("/sys/fs/bpf").is_ok_and(|about| about.f_type as u64 == 0xcafe_4a11);
    let mounts = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    if !is_there && mounts("self") != mounts("1") {
        println!("skipped: /sys/fs/bpf is no BPF filesystem, and in a container of its own `pcc` mounts none");
        return None;
    }
    Some(machine)
}

impl Drop for Machine {
    fn drop(&mut self) {
        for controller in pinned() {
            let _ = unpin(controller);
        }
    }
}

/// Runs `pcc tcp` with these arguments to its end, and checks the exit code.
#[track_caller]
pub fn tcp(arguments: &[&str], code: i32) -> Pcc {
    let mut done = pcc(&[&["tcp"], arguments].concat());
    done.exits(code);
    done
}

/// `pcc tcp load` without --pin, ready.
pub fn loader(profiles: &[&str]) -> Pcc {
    let profiles = profiles.iter().flat_map(|profile| ["--profile", profile]);
    let loader = pcc(&["tcp", "load"].into_iter().chain(profiles).collect::<Vec<_>>());
    loader.until("controllers", || loader.stderr().contains("registered until").then_some(()));
    loader
}

/// Runs `pcc tcp` as a user without rights; `None`, with a line, where none can run pcc.
pub fn as_user(arguments: &[&str]) -> Option<Pcc> {
    let command = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--", env!("CARGO_BIN_EXE_pcc")]);
        command.args(arguments);
        command
    };
    if !command(&["--version"]).output().is_ok_and(|ran| ran.status.success()) {
        println!("skipped: setpriv can't run pcc as another user");
        return None;
    }
    Some(start(command(&[&["tcp"], arguments].concat())))
}

/// What `pcc tcp status` says of a controller.
pub fn status(controller: &str) -> serde_json::Value {
    let mut status = pcc(&["tcp", "status", "--json"]);
    status.wait();
    let status: serde_json::Value = serde_json::from_str(&status.lines().concat()).expect("JSON");
    let rows = status["controllers"].as_array().expect("controllers");
    rows.iter().find(|row| row["name"] == controller).expect(controller).clone()
}

pub fn is_available(controller: &str) -> bool {
    available().iter().any(|name| name == controller)
}

/// A network namespace with a name of `ip netns`.
pub struct Named {
    pub name: String,
    pub namespace: Namespace,
}

impl Named {
    pub fn new() -> Named {
        let namespace = Namespace::new().expect("a namespace");
        let name = format!("pcc-test-{}", std::process::id());
        let named = Named { name, namespace };
        fs::create_dir_all("/run/netns").expect("/run/netns");
        File::create(named.path()).expect("a name");
        let bind = |path| mount(Some("/proc/thread-self/ns/net"), &path, None::<&str>, MsFlags::MS_BIND, None::<&str>);
        named.namespace.run(|| Ok(bind(named.path()))).expect("the namespace").expect("a mount");
        named
    }

    fn path(&self) -> PathBuf {
        PathBuf::from("/run/netns").join(&self.name)
    }

    pub fn default(&self) -> String {
        let read = || fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").expect("a setting");
        self.namespace.run(|| Ok(read())).expect("the namespace").trim().to_owned()
    }

    /// A connection over its loopback.
    pub fn connect(&self) -> Connection {
        let connect = || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
            let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
            (client, listener.accept().expect("a connection").0)
        };
        let (client, server) = self.namespace.run(|| Ok(connect())).expect("the namespace");
        Connection { client, server }
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        // What `pcc tcp default` keeps of it.
        if let Ok(namespace) = fs::metadata(self.path()) {
            let kept = format!("default-{}", namespace.ino());
            let files = fs::read_dir("/run/pcc").into_iter().flatten().flatten();
            for file in files.filter(|file| file.file_name().to_string_lossy().starts_with(&kept)) {
                let _ = fs::remove_file(file.path());
            }
        }
        let _ = umount2(&self.path(), MntFlags::MNT_DETACH);
        let _ = fs::remove_file(self.path());
    }
}

/// Both ends of a connection.
pub struct Connection {
    pub client: TcpStream,
    server: TcpStream,
}

impl Connection {
    pub fn controller(&self) -> String {
        tcp_congestion(&self.client).expect("a controller")
    }

    /// Sends a megabyte, and waits until it has arrived.
    pub fn works(&mut self) {
        let data = vec![7; 1_000_000];
        let mut received = vec![0; data.len()];
        std::thread::scope(|scope| {
            scope.spawn(|| self.client.write_all(&data).expect("write"));
            self.server.read_exact(&mut received).expect("read");
        });
        assert!(received == data);
    }
}
