//! What flows do on a path, and how often.
//!
//! docs/gauntlet.md has the source of each range; keep it as true as this.

use super::dice::{Dice, rounded};
use super::metric::Metric;
use super::path::{Base, MAX_PACKETS};

/// What flows do on a path.
#[derive(Clone, Debug)]
pub(super) struct Situation {
    /// One of a few words, to compare cases by.
    pub kind: &'static str,
    /// What a case's name says about it.
    pub tag: String,
    /// The keys of each `[[flow]]` under test, a line each.
    pub tested: Vec<String>,
    /// The keys of the flows beside them, if there are any.
    pub others: Option<String>,
    /// How long a run lasts.
    pub seconds: f64,
    /// When the measurement begins.
    pub measure_from: f64,
    /// What counts.
    pub metrics: &'static [Metric],
}

use Metric::{Completion, Delay, Jain, Loss, Share, Stalled, Throughput};

const ALONE: &[Metric] = &[Throughput, Delay, Loss];
const SHARED: &[Metric] = &[Throughput, Delay, Loss, Jain];
const BESIDE: &[Metric] = &[Throughput, Delay, Loss, Share];
const TRANSFERS: &[Metric] = &[Completion, Delay, Loss];
const PLAYED: &[Metric] = &[Stalled, Delay, Loss];

type Kind = fn(&mut Dice, &Base) -> Situation;

const KINDS: &[(u32, Kind)] = &[
    (25, alone),
    (15, own_kind),
    (6, round_trips),
    (8, newcomer),
    (14, beside_one),
    (8, beside_several),
    (8, short_flows),
    (6, cold_transfers),
    (4, constant_rate),
    (3, video),
    (3, bursts),
];

/// Who else may be there.
const OTHERS: &[(u32, &str)] = &[(40, "cubic"), (10, "newreno"), (20, "bbr1"), (20, "bbr3"), (10, "copa")];

/// Draws what flows do on a path.
pub(super) fn draw(dice: &mut Dice, base: &Base) -> Situation {
    dice.pick(KINDS)(dice, base)
}

/// One group of flows, measured from the beginning.
fn one(kind: &'static str, tag: String, keys: String, base: &Base, metrics: &'static [Metric]) -> Situation {
    Situation { kind, tag, tested: vec![keys], others: None, seconds: base.seconds, measure_from: 0.0, metrics }
}

fn alone(_: &mut Dice, base: &Base) -> Situation {
    one("alone", "alone".to_owned(), String::new(), base, ALONE)
}

/// A part of the run, in seconds.
fn part(base: &Base, share: f64) -> f64 {
    rounded(base.seconds * share, 4)
}

/// As many flows as drawn, but none with less than 0.1 Mbit/s.
fn count(dice: &mut Dice, low: f64, high: f64, base: &Base) -> f64 {
    dice.log(low, high).min(base.rate / 0.1).round()
}

/// They begin one after the other within the first tenth.
fn own_kind(dice: &mut Dice, base: &Base) -> Situation {
    let count = count(dice, 2.0, 100.0, base);
    let keys = format!("count = {count}\nstagger = \"{}s\"\n", rounded(part(base, 0.1) / count, 3));
    let measure_from = part(base, 1.0 / 3.0);
    Situation { measure_from, ..one("own kind", format!("{count}-of-own-kind"), keys, base, SHARED) }
}

fn round_trips(dice: &mut Dice, base: &Base) -> Situation {
    // The longer one must still fit into the run often enough.
    let longest = (base.seconds * 1e3 / 20.0).min(1000.0);
    let far = rounded(base.rtt * dice.log(2.0, 20.0), 3).min(longest).max(base.rtt);
    let tested = vec![String::new(), format!("rtt = \"{far}ms\"\n")];
    let measure_from = part(base, 1.0 / 3.0);
    let tag = format!("beside-own-kind-at-{far}ms");
    Situation { measure_from, tested, ..one("different round trips", tag, String::new(), base, SHARED) }
}

fn newcomer(dice: &mut Dice, base: &Base) -> Situation {
    let earlier = count(dice, 1.0, 5.0, base);
    let third = part(base, 1.0 / 3.0);
    let tested = vec![format!("count = {earlier}\n"), format!("start = \"{third}s\"\n")];
    let tag = format!("joins-{earlier}-of-own-kind");
    Situation { measure_from: third, tested, ..one("newcomer", tag, String::new(), base, SHARED) }
}

/// The others are there first.
fn beside(dice: &mut Dice, base: &Base, kind: &'static str, count: f64) -> Situation {
    let name = dice.pick(OTHERS);
    let others = Some(format!("controller = \"{name}\"\ncount = {count}\n"));
    let keys = format!("start = \"{}s\"\n", part(base, 0.1));
    let measure_from = part(base, 1.0 / 3.0);
    Situation { measure_from, others, ..one(kind, format!("beside-{count}-{name}"), keys, base, BESIDE) }
}

fn beside_one(dice: &mut Dice, base: &Base) -> Situation {
    beside(dice, base, "beside one", 1.0)
}

fn beside_several(dice: &mut Dice, base: &Base) -> Situation {
    let count = count(dice, 2.0, 8.0, base);
    beside(dice, base, "beside several", count)
}

/// The most short transfers of a run.
const MAX_TRANSFERS: f64 = 2000.0;

fn short_flows(dice: &mut Dice, base: &Base) -> Situation {
    let percent = dice.even(10.0, 60.0);
    let kilobytes = base.rate * base.seconds * 1e3 / 8.0 * percent / 100.0;
    let size = dice.log((kilobytes / MAX_TRANSFERS).max(10.0), (kilobytes / 20.0).clamp(10.0, 1000.0));
    let keys = format!("size = \"{size}kB\"\nload = \"{percent}%\"\n");
    one("short flows", format!("transfers-of-{size}kB-load-{percent}%"), keys, base, TRANSFERS)
}

/// Four transfers, so far apart that each has the path to itself if it isn't too slow.
fn cold_transfers(dice: &mut Dice, base: &Base) -> Situation {
    let most = (base.rate * 10.0 * 1e3 / 8.0).min(MAX_PACKETS / 8.0 * 1.5).min(1e5);
    let size = dice.log(10.0, most);
    let apart = rounded(3.0 * size * 8e-3 / base.rate + 20.0 * base.rtt / 1e3, 3);
    let keys = format!("size = \"{size}kB\"\ncount = 4\nstagger = \"{apart}s\"\n");
    let seconds = rounded(6.0 * apart, 4);
    Situation { seconds, ..one("cold transfers", format!("cold-{size}kB"), keys, base, TRANSFERS) }
}

fn constant_rate(dice: &mut Dice, base: &Base) -> Situation {
    let rate = rounded(base.rate * dice.even(0.1, 0.9), 3);
    one("constant rate", format!("constant-{rate}mbit"), format!("constant-rate = \"{rate}mbit\"\n"), base, ALONE)
}

/// Chunks and buffer are a share of the run, 2 s and 8 s if it lasts 40 s.
fn video(dice: &mut Dice, base: &Base) -> Situation {
    let bitrate = rounded(base.rate * dice.even(0.2, 0.8), 3);
    let (chunk, buffer) = (part(base, 0.05), part(base, 0.2));
    let keys = format!("video = {{ bitrate = \"{bitrate}mbit\", chunk = \"{chunk}s\", buffer = \"{buffer}s\" }}\n");
    one("video", format!("video-{bitrate}mbit"), keys, base, PLAYED)
}

fn bursts(dice: &mut Dice, base: &Base) -> Situation {
    let [on, off] = [0; 2].map(|_| dice.log(10.0, (base.seconds * 1e3 / 20.0).min(1000.0)));
    let keys = format!("on-off = {{ on = \"{on}ms\", off = \"{off}ms\" }}\n");
    one("bursts", format!("bursts-of-{on}ms"), keys, base, ALONE)
}
