//! Long runs of every profile on paths whose every property changes at random, also beside a receiver that lies. Whatever
//! comes, rates and what is in flight stay bounded; and when all is calm and honest again, the rate returns.

#[path = "support/liar.rs"]
mod liar;
mod support;

use liar::{Liar, Lie};
use pcc::control::ControlConfig;
use pcc::{CongestionControl, Event, Pcc, Phase, Profile, Rate, profiles};
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::{Flow, Path, Recorder, SIZE};

/// How many packets and outcomes are tried in all, if that is to be more than by default.
const EVENTS: &str = "PCC_EVENTS";
/// Seeds that failed once, one in each line; they are tried first.
const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/long_runs.seeds");
/// No path here is faster, and a receiver that lies is believed up to here.
const MAX: Rate = Rate::from_mbps(40.0);
/// The calm path.
const CALM_MBPS: f64 = 4.0;
/// The share of the calm path that every profile uses again, and when at the latest.
const LIVE: f64 = 0.6;
const AWAY: Duration = Duration::from_secs(90);
/// The most that is in flight then, as a multiple of what fills path and queue.
const IN_FLIGHT: f64 = 3.0;
/// Rates are measured over this long.
const WINDOW: Duration = Duration::from_secs(5);

/// Something between bad and fair.
fn weather(rng: &mut fastrand::Rng) -> Path {
    let rarely = |rng: &mut fastrand::Rng| rng.u8(..5) == 0;
    let rtt = Duration::from_micros(10u64.pow(rng.u32(3..6)) * rng.u64(1..8));
    Path {
        capacity: Rate::from_mbps(40.0 * rng.f64().powi(4) + 0.05),
        rtt,
        buffer: rtt.mul_f64(2.0 * rng.f64()),
        loss: if rarely(rng) { 0.8 * rng.f64() } else { 0.05 * rng.f64().powi(3) },
        aggregation: if rarely(rng) { Duration::from_millis(rng.u64(1..60)) } else { Duration::ZERO },
        supply: rarely(rng).then(|| Rate::from_mbps(3.0 * rng.f64())),
        dead: rng.u8(..12) == 0,
    }
}

/// What holds at any time.
fn check(name: &str, profile: &Profile, controller: &Pcc) {
    let bounds = profile.bounds();
    let rate = controller.pacing_rate().expect("a rate");
    let (min, max) = (bounds.min.bits_per_sec() * 0.5, bounds.max.bits_per_sec());
    assert!((min..=max).contains(&rate.bits_per_sec()), "{name}: {rate}");
    let cap = controller.in_flight_cap();
    assert!(cap >= SIZE, "{name}: a cap of {cap} bytes");
    let monitor = controller.monitor();
    if let (Some(min_rtt), Some(srtt)) = (monitor.min_rtt(), monitor.srtt()) {
        // No more than a few round trips at the highest rate there is, besides what was in flight when the path fell silent.
        let most = MAX.bytes_in(min_rtt.max(srtt) * 4) + 100 * SIZE + monitor.given_up();
        assert!(cap <= most, "{name}: a cap of {cap} bytes, {most} at most; {min_rtt:?} {srtt:?} {rate}");
    }
}

/// What was seen of a profile.
#[derive(Clone, Default)]
struct Seen {
    /// Packets sent, and outcomes.
    events: u64,
    phases: BTreeSet<String>,
    /// How long after the bad weather the rate was back.
    away: Duration,
    /// What was in flight then, as a multiple of what fills path and queue.
    in_flight: f64,
}

impl Seen {
    fn add(&mut self, other: Seen) {
        self.events += other.events;
        self.phases.extend(other.phases);
        self.away = self.away.max(other.away);
        self.in_flight = self.in_flight.max(other.in_flight);
    }
}

/// Runs a profile through bad weather and into the calm.
fn run(profile: &Profile, seed: u64) -> Seen {
    let name = &*format!("{} with seed {seed}", profile.name);
    let (mut rng, recorder) = (fastrand::Rng::with_seed(seed), Recorder::default());
    let mut controller = profile.build(seed);
    controller.observe(Box::new(recorder.clone()));
    let mut flow = Flow::new(Liar::new(controller, rng.u64(..)), weather(&mut rng));
    let mut phases = BTreeSet::new();
    let mut note = |recorder: &Recorder| {
        for event in recorder.take() {
            match event {
                Event::Phase { phase, .. } => drop(phases.insert(format!("{phase:?}"))),
                Event::Interval { utility, result, .. } => assert!(utility.is_finite(), "{name}: {result:?}"),
                _ => {}
            }
        }
    };
    for _ in 0..rng.usize(5..20) {
        flow.path = weather(&mut rng);
        flow.controller.lie = if rng.u8(..3) == 0 { Lie::any(&mut rng) } else { Lie::None };
        for _ in 0..10 {
            flow.run(Duration::from_millis(rng.u64(1..300)));
            check(name, profile, &flow.controller.honest);
        }
        // What a dead path swallowed is known to be lost when it is back.
        flow.settle();
        note(&recorder);
    }
    flow.controller.lie = Lie::None;
    flow.path = Path::clean(CALM_MBPS, 30);
    let mut away = Duration::ZERO;
    while arriving(&mut flow) < LIVE * CALM_MBPS {
        flow.settle();
        away += WINDOW;
        let rate = flow.controller.honest.rate();
        assert!(away < AWAY, "{name}: {rate} after {away:?} of calm");
    }
    flow.settle();
    flow.run(WINDOW);
    flow.most_in_flight = flow.in_flight;
    flow.run(WINDOW);
    check(name, profile, &flow.controller.honest);
    note(&recorder);
    let in_flight = flow.most_in_flight as f64 / Rate::from_mbps(CALM_MBPS).bytes_in(2 * flow.path.rtt) as f64;
    assert!(in_flight < IN_FLIGHT, "{name}: {in_flight} times what fills the path and its queue is in flight");
    Seen { events: flow.sent + flow.arrived, phases, away, in_flight }
}

/// What arrives in the next window, in Mbit/s.
fn arriving<C: CongestionControl>(flow: &mut Flow<C>) -> f64 {
    let before = flow.arrived;
    flow.run(WINDOW);
    ((flow.arrived - before) * SIZE * 8) as f64 * 1e-6 / WINDOW.as_secs_f64()
}

/// The phases that a profile must go through.
fn phases_of(profile: &Profile) -> Vec<Phase> {
    // As Vivace was printed, every step is probed for.
    let moves = !matches!(&profile.control, ControlConfig::Vivace(config) if config.moves_above.is_none());
    [Phase::Starting, Phase::Probing].into_iter().chain(moves.then_some(Phase::Moving)).collect()
}

/// Those that failed once.
fn seeds() -> Vec<u64> {
    let kept = std::fs::read_to_string(SEEDS).unwrap_or_default();
    kept.lines().map(|line| line.parse().expect("a seed")).collect()
}

#[test]
fn every_profile_survives_and_recovers() {
    let wanted: u64 = std::env::var(EVENTS).map_or(10_000_000, |events| events.parse().expect("a number of events"));
    let first = RandomState::new().hash_one(0);
    println!("seeds from {first}");
    let all: Vec<Profile> = profiles::all().map(|profile| profile.with_max_rate(MAX)).collect();
    let (kept, next, events) = (seeds(), AtomicU64::new(0), AtomicU64::new(0));
    let seen = Mutex::new(vec![Seen::default(); all.len()]);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    // Each seed with every profile, and each profile with a seed at least.
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let (round, which) = ((n / all.len() as u64) as usize, (n % all.len() as u64) as usize);
                    if round > kept.len() && events.load(Ordering::Relaxed) >= wanted {
                        return;
                    }
                    let seed = kept.get(round).copied().unwrap_or(first.wrapping_add(round as u64));
                    let done = catch_unwind(AssertUnwindSafe(|| run(&all[which], seed)));
                    let new = done.unwrap_or_else(|why| {
                        if !kept.contains(&seed) {
                            let file = std::fs::File::options().create(true).append(true).open(SEEDS);
                            let _ = file.and_then(|mut file| writeln!(file, "{seed}"));
                        }
                        resume_unwind(why)
                    });
                    events.fetch_add(new.events, Ordering::Relaxed);
                    seen.lock().unwrap()[which].add(new);
                }
            });
        }
    });
    println!("{} events", events.load(Ordering::Relaxed));
    for (profile, Seen { phases, away, in_flight, .. }) in all.iter().zip(seen.into_inner().unwrap()) {
        println!("{}: back after {away:?} at the latest, {in_flight:.2} in flight, {phases:?}", profile.name);
        for phase in phases_of(profile) {
            assert!(phases.contains(&format!("{phase:?}")), "{}: {phases:?}", profile.name);
        }
    }
}
