//! A command behind a path, from its beginning to its end.

use super::internet::Internet;
use super::network::Network;
use anyhow::Context;
use pcc_emulator::emulator::{Addressing, EmulationReport, Emulator, EmulatorConfig, Route};
use pcc_emulator::host::guard::{Ended, Guarded};
use pcc_emulator::host::program::Handover;
use pcc_lab::link::{Counters, PathConfig};
use pcc_lab::quantity::{show_bytes, show_duration};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;
use std::ffi::OsString;
use std::io::{IsTerminal, stderr};
use std::time::Duration;

/// Longer than any command runs.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

/// An emulator whose 99th percentile is later than this was not given the processor when it needed it.
const LATE: Duration = Duration::from_millis(1);

/// What failed when signals can't be handed over.
const HANDOVER: &str = "can't pass on signals";

/// How often the emulator is looked after.
const CHECK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Runs the command with `path` in each direction, and returns its exit code.
pub fn run(command: &[OsString], path: PathConfig, seed: u64) -> anyhow::Result<u8> {
    let handover = Handover::begin().context(HANDOVER)?;
    let Network { namespace, inside, outside, device, address, host } = Network::new()?;
    let internet = Internet::reach(&device, address);
    if let Err(reason) = &internet {
        eprintln!("pcc: only this machine can be reached, as {host}: {reason}");
    }
    let emulator = Emulator::start(inside, outside, config(path, seed))?;
    let program = namespace.run(|| {
        Guarded::spawn(command, |command| {
            command.env("PCC_HOST", host.to_string()).env("PCC_ADDRESS", address.to_string());
        })
    })?;
    handover.to(&program).context(HANDOVER)?;
    let ended = wait(program, &emulator)?;
    drop(handover);
    let report = emulator.stop()?;
    let doubt = doubt(&report);
    if doubt.is_some() || stderr().is_terminal() {
        eprintln!("pcc: {}; seed {seed}{}", summary(&report), doubt.unwrap_or_default());
    }
    Ok(ended.code)
}

/// Waits for the end of the command, and brings it about if there is no path any more.
fn wait(program: Guarded, emulator: &Emulator) -> anyhow::Result<Ended> {
    while matches!(poll(&mut [PollFd::new(&program, PollFlags::IN)], Some(&CHECK)), Ok(0) | Err(Errno::INTR)) {
        if !emulator.is_running() {
            program.signal(Signal::KILL);
            eprintln!("pcc: the path has broken down, and the command is killed");
            break;
        }
    }
    Ok(program.wait()?)
}

/// One flow of all packets, through one link each way.
fn config(path: PathConfig, seed: u64) -> EmulatorConfig {
    EmulatorConfig {
        links: vec![path.clone(), path],
        routes: vec![Route { forward: vec![0], reverse: vec![1], ..Route::default() }],
        addressing: Addressing::OneFlow,
        duration: FOREVER,
        measure_from: Duration::ZERO,
        seed,
        record: false,
    }
}

fn summary(report: &EmulationReport) -> String {
    let direction = |(name, counters): (&str, Counters)| {
        let Counters { delivered_bytes, lost, dropped, .. } = counters;
        format!("{name} {}, {lost} packets lost and {dropped} dropped", show_bytes(delivered_bytes))
    };
    let links = report.outcome.links.iter().map(|link| link.counters);
    let directions: Vec<String> = ["sent", "received"].into_iter().zip(links).map(direction).collect();
    format!("{}; late by up to {} (p99)", directions.join("; "), show_duration(report.lateness.p99))
}

/// Why the path may not have been what was asked for.
fn doubt(report: &EmulationReport) -> Option<String> {
    let unasked = report.undelivered + report.interface_drops;
    if unasked > 0 {
        return Some(format!("\npcc: doubtful: the kernel dropped {unasked} packets that no link was to drop"));
    }
    let late = report.lateness.p99 > LATE;
    late.then(|| "\npcc: doubtful: this machine is too slow or too busy to deliver packets in time".to_owned())
}
