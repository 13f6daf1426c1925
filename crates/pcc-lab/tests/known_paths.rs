//! Paths for which it is known who is best: an independent measurement, before there was a gauntlet, must agree with what the
//! gauntlet's metrics say now.

use pcc_lab::gauntlet::Metric;
use pcc_lab::run::simulate_all;
use pcc_lab::scenario::Plan;
use std::fmt::Write;

/// The CUBIC of the earlier measurement was paced, as the one beside others is here.
const CONTROLLERS: [&str; 4] = ["vivace-latency", "bbr1", "copa", "cubic-paced"];

/// The best controller of the earlier measurement may miss so much of the best one's goodness now: then both had two winners.
const TIE: f64 = 0.03;

/// A path, what is beside the flow under test, and what was measured earlier: throughput of 100 Mbit/s, Jain's index, the share beside
/// others (of both), or completion in ms.
struct Known {
    name: &'static str,
    link: &'static str,
    flow: &'static str,
    metric: Metric,
    earlier: [f64; 4],
}

const fn alone(name: &'static str, link: &'static str, earlier: [f64; 4]) -> Known {
    Known { name, link, flow: "", metric: Metric::Throughput, earlier }
}

const fn beside(name: &'static str, link: &'static str, flow: &'static str, earlier: [f64; 4]) -> Known {
    Known { name, link, flow, metric: Metric::Share, earlier }
}

const KNOWN: [Known; 12] = [
    alone("9 kB", "queue = '9kB'", [96.0, 97.0, 98.0, 66.0]),
    alone("1 % loss", "queue = '500kB'\nloss = '1%'", [91.0, 98.0, 96.0, 4.0]),
    alone("5 % loss", "queue = '500kB'\nloss = '5%'", [59.0, 94.0, 98.0, 1.0]),
    alone("20 % loss", "queue = '500kB'\nloss = '20%'", [9.0, 49.0, 97.0, 1.0]),
    alone("10 ms jitter", "queue = '500kB'\njitter = '10ms'", [92.0, 97.0, 63.0, 99.0]),
    alone("30 ms jitter, 2 % loss", "queue = '500kB'\njitter = '30ms'\nloss = '2%'", [73.0, 96.0, 3.0, 2.0]),
    alone(
        "pauses, 3 % loss",
        "queue = '500kB'\nloss = '3%'\npauses = { every = '100ms', length = ['1ms', '10ms'] }",
        [70.0, 92.0, 92.0, 3.0],
    ),
    Known {
        name: "10 flows",
        link: "queue = '500kB'",
        flow: "count = 10",
        metric: Metric::Jain,
        earlier: [0.75, 0.73, 0.99, 0.97],
    },
    beside(
        "beside cubic, 0.15 BDP",
        "queue = '75kB'",
        "[[flow]]\ncontroller = 'cubic-paced'",
        [0.24, 0.97, 0.47, 0.48],
    ),
    beside("beside cubic, 4 BDP", "queue = '2MB'", "[[flow]]\ncontroller = 'cubic-paced'", [0.18, 0.35, 0.10, 0.42]),
    beside("beside bbr1, 1 BDP", "queue = '500kB'", "[[flow]]\ncontroller = 'bbr1'", [0.14, 0.48, 0.08, 0.11]),
    Known {
        name: "cold, 1 MB",
        link: "queue = '500kB'",
        flow: "size = '1MB'",
        metric: Metric::Completion,
        // Those in the middle were "about" as good as cubic.
        earlier: [564.0, 270.0, 270.0, 267.0],
    },
];

impl Known {
    /// What each controller does now.
    fn now(&self) -> [f64; 4] {
        let Known { link, flow, .. } = self;
        let scenario = format!(
            "duration = '20s'\nmeasure-from = '5s'\n[[link]]\nrate = '100mbit'\ndelay = '20ms'\n{link}\n\
             [[flow]]\nname = 'tested'\n{flow}\n\
             [[sweep]]\nname = 'controller'\nkey = 'flow.tested.controller'\nvalues = {CONTROLLERS:?}"
        );
        // Transfers begin at once.
        let scenario = if self.metric == Metric::Completion { scenario.replace("'5s'", "'0s'") } else { scenario };
        let plan = Plan::parse("known.toml", &scenario, &[]).unwrap();
        let values = simulate_all(&plan, &[1], 2, &|_| {}).unwrap().into_iter().map(|run| {
            let value = match self.metric {
                Metric::Throughput => Some(run.flows[0].goodput),
                Metric::Share => Some(run.flows[0].goodput / run.goodput),
                Metric::Jain => run.flows[0].jain,
                _ => run.flows[0].fct_mean,
            };
            value.unwrap()
        });
        values.collect::<Vec<f64>>().try_into().unwrap()
    }

    fn goodness(&self, values: [f64; 4]) -> [f64; 4] {
        let of_flow = |value: f64| if self.metric == Metric::Share { value / (1.0 - value) } else { value };
        values.map(|value| self.metric.goodness(of_flow(value), 40.0))
    }
}

#[test]
fn the_best_of_earlier_is_the_best_now() {
    let mut table = String::new();
    for known in KNOWN {
        let now = known.now();
        writeln!(table, "{}", known.name).unwrap();
        for ((controller, earlier), now) in CONTROLLERS.iter().zip(known.earlier).zip(now) {
            writeln!(table, "  {controller:15} {earlier:8.2} {now:8.2}").unwrap();
        }
        let (before, now) = (known.goodness(known.earlier), known.goodness(now));
        let best = |values: [f64; 4]| values.into_iter().fold(0.0, f64::max);
        let winner = before.iter().position(|good| *good == best(before)).unwrap();
        assert!(now[winner] >= (1.0 - TIE) * best(now), "{}: {before:?} {now:?}", known.name);
    }
    insta::assert_snapshot!(table);
}
