//! Recordings of kernels, made by `cargo xtask record`: the C core must choose the very rates that it chose there, and the Rust
//! core must decide alike from the same results.

use super::core::{Answer, Call, Core, TOLERANCE, agree, is_tie};
use super::profiles;
use super::recording::{Kind, Recording};
use crate::ffi::Profile;
use crate::ffi::traced::{self, TracedSender};
use pcc::{Cut, PathState, Rate};
use std::fs;
use std::path::Path;
use std::time::Duration;

fn recordings() -> Vec<(String, Recording)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut recordings: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|file| {
            let file = file.unwrap();
            let bytes = fs::read(file.path()).unwrap();
            let recording = Recording::from_bytes(&bytes).unwrap();
            assert_eq!(recording.to_bytes().unwrap(), bytes, "as it was written");
            (file.file_name().into_string().unwrap(), recording)
        })
        .collect();
    recordings.sort_by(|a, b| a.0.cmp(&b.0));
    recordings
}

fn profile(recording: &Recording) -> (Profile, pcc::Profile) {
    let [vivace, vivace_loss, allegro] = profiles();
    match recording.controller.as_str() {
        "pcc_vivace" => vivace,
        "pcc_vivaceloss" => vivace_loss,
        "pcc_allegro" => allegro,
        name => panic!("a recording of {name}"),
    }
}

/// Plays a recording to the C core, which must choose the recorded rates. Returns the calls of its rate control.
fn replay(name: &str, recording: &Recording) -> Vec<traced::Call> {
    let (first, events) = recording.events.split_first().unwrap();
    let (mut sender, calls) = TracedSender::new(profile(recording).0, recording.seed.into(), &first.ack);
    assert_eq!((first.kind, sender.rate()), (Kind::Init, first.rate), "{name}: the first rate");
    let mut all = calls.get().to_vec();
    for (i, event) in events.iter().enumerate() {
        let calls = match event.kind {
            Kind::Init => panic!("{name}: a second beginning"),
            Kind::Ack => sender.on_ack(&event.ack),
            Kind::Timeout => sender.on_timeout(&event.ack),
            Kind::FirstSent => sender.on_first_sent(&event.ack),
        };
        assert_eq!(sender.rate(), event.rate, "{name}: the rate after event {i}, {event:?}");
        all.extend(calls.get());
    }
    all
}

/// The same call for the Rust core, and what C answered.
fn in_rust(call: &traced::Call) -> (Call, Answer) {
    let same = match call.kind {
        traced::PLAN => {
            let rtt = Duration::from_nanos(call.path.rtt);
            Call::Plan(PathState::new(call.path.mtu, rtt))
        }
        traced::RESULT => Call::Result(call.plan.role(), call.result.in_rust()),
        traced::CUT => Call::Cut([Cut::Loss, Cut::Silence, Cut::Restart][call.cut as usize]),
        _ => Call::Limit(Rate::from_bits_per_sec(call.ceiling as f64)),
    };
    (same, (Rate::from_bits_per_sec(call.rate as f64), call.phase, call.realigned != 0))
}

/// How many results both cores took alike, until there was a tie.
fn decisions(name: &str, recording: &Recording, calls: &[traced::Call]) -> usize {
    let (_, profile) = profile(recording);
    let seed = recording.seed.into();
    let mut core = Core::new(&profile, seed);
    let mut before = Vec::new();
    for call in calls {
        let (same, answer) = in_rust(call);
        before.push(same);
        if let Call::Plan(path) = same {
            let plan = core.plan(&path);
            assert_eq!(plan.role, call.plan.role(), "{name}: the role of an interval");
            let apart = plan.rate.bits_per_sec() / call.plan.rate as f64 - 1.0;
            assert!(apart.abs() <= TOLERANCE, "{name}: {plan:?}, but C {:?}", call.plan);
        } else if !agree(core.call(same), answer) {
            assert!(is_tie(&profile, seed, &before, answer), "{name}: C answered {answer:?} to {same:?}");
            println!("{name}: a tie");
            break;
        }
    }
    before.iter().filter(|call| matches!(call, Call::Result(..))).count()
}

#[test]
fn the_host_decides_as_the_kernel_did_and_as_rust_does() {
    let recordings = recordings();
    for controller in ["pcc_vivace", "pcc_vivaceloss", "pcc_allegro"] {
        assert!(recordings.iter().any(|(_, recording)| recording.controller == controller), "none of {controller}");
    }
    for (name, recording) in &recordings {
        let calls = replay(name, recording);
        let results = calls.iter().filter(|call| call.kind == traced::RESULT).count();
        let kinds = [Kind::Ack, Kind::Timeout, Kind::FirstSent]
            .map(|kind| recording.events.iter().filter(|event| event.kind == kind).count());
        let alike = decisions(name, recording, &calls);
        println!(
            "{name} {kinds:?}: {} rates identical, {alike} of {results} results taken alike",
            recording.events.len()
        );
        assert!(alike > 0, "{name}: nothing was compared");
    }
}
