//! Networks for a user who isn't root. A program of its own, without a test harness: privileges must be acquired before there are threads.

use pcc_emulator::emulator::Tun;
use pcc_emulator::host::{Namespace, privileges};
use std::process::Command;

fn main() {
    if !rustix::process::geteuid().is_root() {
        return as_user();
    }
    let this = std::env::current_exe().expect("this program");
    let mut as_nobody = Command::new("setpriv");
    as_nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&this);
    match as_nobody.status() {
        // 127: the user can't reach this program.
        Ok(status) if status.code() != Some(127) => assert!(status.success(), "{status}"),
        _ => println!("skipped: setpriv can't run this as another user"),
    }
}

fn as_user() {
    if let Err(error) = privileges::acquire() {
        return println!("skipped: {error}");
    }
    assert!(rustix::process::geteuid().is_root());
    let namespace = Namespace::new().expect("a network");
    match namespace.run(|| Tun::open("pcc0", true)) {
        Ok(_) => println!("ok: a network with a TUN device, without root"),
        Err(error) => println!("ok: a network without root; but {error}"),
    }
}
