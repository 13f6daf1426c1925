//! Records what the senders of new connections under PCC are told while a command runs, for `crates/pcc-tcp/src/tests/replay.rs`. To be made
//! anew when the C core changes what it does, with the controllers loaded:
//!
//! ```sh
//! cargo build -p pcc-cli --features tcp && cargo build -p xtask --features tcp
//! rm crates/pcc-tcp/tests/recordings/*
//! sudo target/debug/xtask record crates/pcc-tcp/tests/recordings 2900 \
//!     target/debug/pcc lab run xtask/src/record/paths.toml --on emulator
//! ```
//!
//! This writes a file for each connection, with its first 2900 events.

#[allow(dead_code, reason = "the replay reads what this writes")]
#[path = "../../../crates/pcc-tcp/src/tests/recording.rs"]
mod recording;

use anyhow::Context;
use pcc_tcp::kernel::{Ack, Connection, EventKind, Record, Watch};
use recording::{Event, Kind, Recording};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

/// What to record, and where to.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder for the recordings.
    folder: PathBuf,
    /// How many events of each connection to keep.
    events: usize,
    /// The command to run meanwhile, and its arguments.
    #[arg(trailing_var_arg = true, required = true)]
    command: Vec<OsString>,
}

/// Runs the command, and writes a file for each connection.
pub fn run(args: Args) -> anyhow::Result<()> {
    let Args { folder, events: most, command } = args;
    let (program, arguments) = command.split_first().context("say which command to run")?;
    let mut command = Command::new(program);

    let mut watch = Watch::begin(true)?;
    let before = watch.dropped()?;
    let mut recordings = BTreeMap::new();
    let mut child = command.args(arguments).spawn()?;
    loop {
        let ended = child.try_wait()?.is_some();
        for record in watch.poll()? {
            take(&mut recordings, record, most);
        }
        if ended {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    if watch.dropped()? > before {
        anyhow::bail!("some events came too fast, so that the recordings would be useless");
    }
    write(&folder, recordings)
}

fn take(recordings: &mut BTreeMap<Connection, Recording>, record: Record, most: usize) {
    let Record::Event(event) = record else { return };
    if let EventKind::Init { seed } = event.kind {
        let controller = event.connection.controller.to_string();
        recordings.insert(event.connection, Recording { controller, seed, events: Vec::new() });
    }
    let kind = match event.kind {
        EventKind::Init { .. } => Kind::Init,
        EventKind::Ack => Kind::Ack,
        EventKind::Timeout => Kind::Timeout,
        EventKind::FirstSent => Kind::FirstSent,
    };
    // Those that began before are of no use.
    if let Some(recording) = recordings.get_mut(&event.connection).filter(|recording| recording.events.len() < most) {
        recording.events.push(Event { kind, ack: event.ack, rate: event.rate });
    }
}

fn write(folder: &Path, recordings: BTreeMap<Connection, Recording>) -> anyhow::Result<()> {
    // In the order in which they began.
    for (number, recording) in recordings.into_values().enumerate() {
        let bytes = recording.to_bytes()?;
        let path = folder.join(format!("{}-{}", number + 1, recording.controller));
        println!("{}: {} events, {} bytes", path.display(), recording.events.len(), bytes.len());
        fs::write(path, bytes)?;
    }
    Ok(())
}
