//! The dimensions of paths: what a path can be like, and how often it is.
//!
//! docs/gauntlet.md has the source of each range; keep it as true as this.

use super::dice::{Dice, rounded};

/// Rate and round trip of a path, which all else is drawn in proportion to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base {
    /// Mbit/s; of what changes, the largest.
    pub rate: f64,
    /// Round-trip time with empty queues, in ms.
    pub rtt: f64,
    /// How long a run lasts.
    pub seconds: f64,
    /// Whether the rate is that of a generated LTE trace.
    pub lte: bool,
}

/// The most packets of 1,500 bytes that the link of a case can carry in a run.
pub(super) const MAX_PACKETS: f64 = 1e6;
/// So many round trips a run has at least.
const MIN_ROUND_TRIPS: f64 = 50.0;
/// So many it has if time and packets allow.
const ROUND_TRIPS: f64 = 100.0;
/// How long a run is, in seconds, if packets allow.
const SECONDS: (f64, f64) = (20.0, 60.0);
/// Bits of a full packet.
pub(super) const PACKET_BITS: f64 = 12_000.0;

impl Base {
    /// Draws rate and round trip. A rate that would have too many packets in flight is lowered: a run must be long enough to see what a
    /// controller does, and no longer than [`MAX_PACKETS`].
    pub fn draw(dice: &mut Dice) -> Base {
        let lte = dice.pick(&[(92, false), (8, true)]);
        let (rate, rtt) = match lte {
            false => (dice.log(0.5, 1e4), dice.log(1.0, 1000.0)),
            true => (dice.log(1.0, 150.0), dice.log(20.0, 300.0)),
        };
        let rate = rate.min(rounded(MAX_PACKETS / MIN_ROUND_TRIPS * PACKET_BITS / (rtt * 1e3), 2));
        let wanted = (ROUND_TRIPS * rtt / 1e3).clamp(SECONDS.0, SECONDS.1);
        Base { rate, rtt, seconds: rounded(wanted.min(MAX_PACKETS * PACKET_BITS / (rate * 1e6)), 3), lte }
    }

    /// The bandwidth-delay product in packets.
    pub fn bdp(&self) -> f64 {
        self.rate * self.rtt * 1e3 / PACKET_BITS
    }
}

/// Where the keys of a feature belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The bottleneck.
    Link,
    /// The link that acknowledgements pass.
    Return,
    /// Every flow.
    Flow,
}

/// What a path is like in one dimension.
#[derive(Clone, Debug)]
pub(super) struct Feature {
    /// One of a few words, to compare cases by.
    pub kind: &'static str,
    /// What a case's name says about it; empty for what is usual.
    pub tag: String,
    /// Keys of the scenario, a line each.
    pub keys: String,
    /// Keys of every flow that go with it, whatever its part.
    pub flow_keys: &'static str,
}

fn feature(kind: &'static str, tag: impl Into<String>, keys: impl Into<String>) -> Feature {
    Feature { kind, tag: tag.into(), keys: keys.into(), flow_keys: "" }
}

type Kind = fn(&mut Dice, &Base) -> Feature;

/// A dimension of paths.
pub(super) struct Dimension {
    pub name: &'static str,
    pub part: Part,
    /// The kinds of path in this dimension, by their weights.
    kinds: &'static [(u32, Kind)],
}

impl Dimension {
    pub fn draw(&self, dice: &mut Dice, base: &Base) -> Feature {
        dice.pick(self.kinds)(dice, base)
    }
}

/// All dimensions but rate and round trip.
pub(super) const DIMENSIONS: [Dimension; 10] = [
    Dimension {
        name: "queue",
        part: Part::Link,
        kinds: &[
            (65, drop_tail),
            (6, codel),
            (6, codel_ecn),
            (6, fq_codel),
            (7, fq_codel_ecn),
            (5, fair_queue),
            (5, bloated),
        ],
    },
    Dimension { name: "loss", part: Part::Link, kinds: &[(65, nothing), (20, random_loss), (15, bursts_of_loss)] },
    Dimension { name: "jitter", part: Part::Link, kinds: &[(80, nothing), (20, jitter)] },
    Dimension { name: "reordering", part: Part::Link, kinds: &[(92, nothing), (8, reordering)] },
    Dimension { name: "aggregation", part: Part::Link, kinds: &[(90, nothing), (10, aggregation)] },
    Dimension { name: "stalls", part: Part::Link, kinds: &[(95, nothing), (5, stalls)] },
    Dimension { name: "policer", part: Part::Link, kinds: &[(94, nothing), (6, policer)] },
    Dimension {
        name: "change",
        part: Part::Link,
        kinds: &[(72, steady), (7, rate_steps), (6, delay_step), (8, redraws), (7, outages)],
    },
    Dimension {
        name: "return",
        part: Part::Return,
        kinds: &[(80, nothing), (7, thin_return), (6, lossy_return), (7, bundled_return)],
    },
    Dimension {
        name: "host",
        part: Part::Flow,
        kinds: &[(50, exact_host), (20, linux), (10, linux_fq), (10, busy_vm), (10, user_space)],
    },
];

fn nothing(_: &mut Dice, _: &Base) -> Feature {
    feature("none", "", "")
}

/// The most packets that a queue holds; without any limit a run would need memory for all that controllers dare to send.
const MAX_QUEUE: f64 = 50_000.0;

/// The capacity of a drop-tail queue in packets.
fn packets(dice: &mut Dice, base: &Base) -> f64 {
    dice.log((0.05 * base.bdp()).max(2.0), (20.0 * base.bdp()).clamp(50.0, MAX_QUEUE)).round()
}

fn in_bdp(packets: f64, base: &Base) -> String {
    format!("{}bdp", rounded(packets / base.bdp(), 2))
}

fn drop_tail(dice: &mut Dice, base: &Base) -> Feature {
    let packets = packets(dice, base);
    // What a controller can make of a queue depends on whether it holds a round trip's worth.
    let kind = match packets / base.bdp() {
        ..0.5 => "shallow",
        0.5..3.0 => "medium",
        _ => "deep",
    };
    feature(kind, in_bdp(packets, base), format!("queue = \"{packets} packets\"\n"))
}

fn codel(_: &mut Dice, _: &Base) -> Feature {
    feature("codel", "codel", "queue = { kind = \"codel\", limit = \"1000 packets\" }\n")
}

fn codel_ecn(_: &mut Dice, _: &Base) -> Feature {
    let keys = "queue = { kind = \"codel\", limit = \"1000 packets\", ecn = true }\n";
    Feature { flow_keys: ECN, ..feature("codel with ecn", "codel-ecn", keys) }
}

fn fq_codel(_: &mut Dice, _: &Base) -> Feature {
    feature("fq-codel", "fq-codel", "queue = { kind = \"fq-codel\", limit = \"10240 packets\" }\n")
}

fn fq_codel_ecn(_: &mut Dice, _: &Base) -> Feature {
    let keys = "queue = { kind = \"fq-codel\", limit = \"10240 packets\", ecn = true }\n";
    Feature { flow_keys: ECN, ..feature("fq-codel with ecn", "fq-codel-ecn", keys) }
}

/// All hosts have it on.
const ECN: &str = "ecn = true\n";

fn fair_queue(dice: &mut Dice, base: &Base) -> Feature {
    let packets = packets(dice, base);
    let keys = format!("queue = {{ kind = \"drr\", limit = \"{packets} packets\" }}\n");
    feature("fair-queue", format!("fair-queue-{}", in_bdp(packets, base)), keys)
}

fn bloated(_: &mut Dice, _: &Base) -> Feature {
    feature("bloated", "bloated", format!("queue = \"{MAX_QUEUE} packets\"\n"))
}

fn random_loss(dice: &mut Dice, _: &Base) -> Feature {
    let percent = dice.log(0.01, 20.0);
    let kind = if percent < 1.0 { "random below 1 %" } else { "random from 1 %" };
    feature(kind, format!("loss-{percent}%"), format!("loss = \"{percent}%\"\n"))
}

/// Half of the packets are lost in the bad state, which lasts as long as so many packets take.
fn bursts_of_loss(dice: &mut Dice, _: &Base) -> Feature {
    let (percent, length) = (dice.log(0.1, 10.0), dice.log(2.0, 50.0));
    let bad = percent / 100.0 / 0.5;
    let to_bad = rounded(bad / (1.0 - bad) / length, 3);
    let to_good = rounded(1.0 / length, 3);
    let keys = format!("loss = {{ to-bad = {to_bad}, to-good = {to_good}, loss-bad = 0.5, loss-good = 0 }}\n");
    feature("bursts", format!("bursts-{percent}%"), keys)
}

fn jitter(dice: &mut Dice, base: &Base) -> Feature {
    let jitter = dice.log(0.1, 30f64.min(base.rtt));
    feature("jitter", format!("jitter-{jitter}ms"), format!("jitter = \"{jitter}ms\"\n"))
}

fn reordering(dice: &mut Dice, base: &Base) -> Feature {
    let (percent, delay) = (dice.log(0.01, 5.0), rounded(base.rtt * dice.even(0.05, 0.5), 3));
    let keys = format!("reordering = {{ probability = \"{percent}%\", delay = \"{delay}ms\" }}\n");
    feature("reordering", format!("reordering-{percent}%"), keys)
}

fn aggregation(dice: &mut Dice, _: &Base) -> Feature {
    let time = dice.log(1.0, 20.0);
    feature("aggregation", format!("aggregation-{time}ms"), format!("aggregation = \"{time}ms\"\n"))
}

fn stalls(dice: &mut Dice, _: &Base) -> Feature {
    let (every, length) = (dice.log(50.0, 1000.0), dice.log(2.0, 50.0));
    let keys = format!("stalls = {{ every = \"{every}ms\", length = [\"1ms\", \"{length}ms\"] }}\n");
    feature("stalls", format!("stalls-{length}ms"), keys)
}

fn policer(dice: &mut Dice, base: &Base) -> Feature {
    let rate = rounded(base.rate * dice.even(0.3, 0.9), 3);
    let packets = (rate * dice.log(10.0, 500.0) * 1e3 / PACKET_BITS).max(2.0).round();
    let keys = format!("policer = {{ rate = \"{rate}mbit\", burst = \"{}B\" }}\n", packets * PACKET_BITS / 8.0);
    feature("policer", format!("policer-{rate}mbit"), keys)
}

fn steady(_: &mut Dice, base: &Base) -> Feature {
    if base.lte { feature("lte", "lte", "") } else { feature("none", "", "") }
}

fn rate_steps(dice: &mut Dice, base: &Base) -> Feature {
    if base.lte {
        return steady(dice, base);
    }
    let share = dice.log(0.1, 0.7);
    let low = rounded(base.rate * share, 3).max(0.05);
    let [down, up] = [1.0, 2.0].map(|third| rounded(base.seconds * third / 3.0, 4));
    let keys = format!(
        "schedule = [{{ at = \"{down}s\", rate = \"{low}mbit\" }}, {{ at = \"{up}s\", rate = \"{}mbit\" }}]\n",
        base.rate
    );
    feature("rate steps", format!("steps-to-{low}mbit"), keys)
}

fn delay_step(dice: &mut Dice, base: &Base) -> Feature {
    let factor = dice.log(0.3, 3.0);
    let delay = rounded(base.rtt / 2.0 * factor, 3);
    let at = rounded(base.seconds / 2.0, 4);
    let keys = format!("schedule = [{{ at = \"{at}s\", delay = \"{delay}ms\" }}]\n");
    let kind = if base.lte { "lte" } else { "delay step" };
    feature(kind, format!("{}delay-x{factor}", if base.lte { "lte-" } else { "" }), keys)
}

fn redraws(dice: &mut Dice, base: &Base) -> Feature {
    if base.lte {
        return steady(dice, base);
    }
    let every = dice.log(base.seconds / 20.0, base.seconds / 4.0);
    let [low_rate, low_delay, delay] = [base.rate / 10.0, base.rtt / 4.0, base.rtt / 2.0].map(|high| rounded(high, 3));
    let keys = format!(
        "vary = {{ every = \"{every}s\", rate = [\"{}mbit\", \"{}mbit\"], delay = [\"{low_delay}ms\", \"{delay}ms\"] }}\n",
        low_rate.max(0.05),
        base.rate,
    );
    feature("redrawn", format!("redrawn-{every}s"), keys)
}

fn outages(dice: &mut Dice, base: &Base) -> Feature {
    if base.lte {
        return steady(dice, base);
    }
    let longest = dice.log(base.seconds / 200.0, base.seconds / 10.0);
    let every = rounded(base.seconds / 4.0, 3);
    let shortest = rounded(longest / 4.0, 3);
    let keys = format!("pauses = {{ every = \"{every}s\", length = [\"{shortest}s\", \"{longest}s\"] }}\n");
    feature("outages", format!("outages-{longest}s"), keys)
}

/// Acknowledgements are a 23rd of the bytes of what they acknowledge.
fn thin_return(dice: &mut Dice, base: &Base) -> Feature {
    let rate = rounded(base.rate / dice.log(20.0, 200.0), 3).max(0.01);
    feature("thin", format!("return-{rate}mbit"), format!("rate = \"{rate}mbit\"\nqueue = \"100 packets\"\n"))
}

fn lossy_return(dice: &mut Dice, _: &Base) -> Feature {
    let percent = dice.log(0.1, 20.0);
    feature("lossy", format!("return-loss-{percent}%"), format!("loss = \"{percent}%\"\n"))
}

fn bundled_return(dice: &mut Dice, _: &Base) -> Feature {
    let time = dice.log(2.0, 60.0);
    feature("bundled", format!("return-bundles-{time}ms"), format!("aggregation = \"{time}ms\"\n"))
}

fn exact_host(_: &mut Dice, _: &Base) -> Feature {
    feature("exact", "", "")
}

fn linux(_: &mut Dice, _: &Base) -> Feature {
    host("linux")
}

fn linux_fq(_: &mut Dice, _: &Base) -> Feature {
    host("linux-fq")
}

fn busy_vm(_: &mut Dice, _: &Base) -> Feature {
    host("busy-vm")
}

fn user_space(_: &mut Dice, _: &Base) -> Feature {
    host("user-space-2015")
}

fn host(name: &'static str) -> Feature {
    feature(name, name, format!("host = \"{name}\"\n"))
}
