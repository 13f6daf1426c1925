//! Records what the senders of new connections under PCC are told while a command runs, for `src/tests/replay.rs`. To be made
//! anew when the C core changes what it does, with the controllers loaded:
//!
//! ```sh
//! cargo build -p pcc-cli --features tcp && cargo build -p pcc-tcp --features loader --example record
//! rm crates/pcc-tcp/tests/recordings/*
//! sudo target/debug/examples/record crates/pcc-tcp/tests/recordings 2900 \
//!     target/debug/pcc lab run crates/pcc-tcp/examples/record/paths.toml --on emulator
//! ```
//!
//! This writes a file for each connection, with its first 2900 events.

#[allow(dead_code, reason = "the replay reads what this writes")]
mod recording;

use pcc_tcp::kernel::{Ack, Connection, EventKind, Record, Watch};
use recording::{Event, Kind, Recording};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs, thread};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let usage = "usage: record FOLDER EVENTS COMMAND...";
    let folder = PathBuf::from(arguments.next().ok_or(usage)?);
    let most: usize = arguments.next().and_then(|events| events.to_str()?.parse().ok()).ok_or(usage)?;
    let mut command = Command::new(arguments.next().ok_or(usage)?);

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
        return Err("some events came too fast, so that the recordings would be useless".into());
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

fn write(folder: &Path, recordings: BTreeMap<Connection, Recording>) -> Result<(), Box<dyn Error>> {
    // In the order in which they began.
    for (number, recording) in recordings.into_values().enumerate() {
        let bytes = recording.to_bytes()?;
        let path = folder.join(format!("{}-{}", number + 1, recording.controller));
        println!("{}: {} events, {} bytes", path.display(), recording.events.len(), bytes.len());
        fs::write(path, bytes)?;
    }
    Ok(())
}
