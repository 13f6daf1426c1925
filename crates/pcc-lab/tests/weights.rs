//! How flows divide a bottleneck by weight, and what a scavenger takes.

use pcc::{Event, Observer, Profile, Rate, Time, Weight};
use pcc_lab::link::PathConfig;
use pcc_lab::report::RunReport;
use pcc_lab::run::simulate_all;
use pcc_lab::scenario::Plan;
use pcc_lab::sim::{FlowConfig, Simulation};
use std::time::Duration;

/// All cases of a scenario with two seeds.
fn runs(scenario: &str) -> Vec<RunReport> {
    let runs = simulate_all(&Plan::parse("weights.toml", scenario, &[]).unwrap(), &[1, 2], 2, &|_| {}).unwrap();
    assert!(!runs.is_empty());
    runs
}

/// From the tenth second on two flows have the shares that their weights ask for, within ten points in the mean of two seeds: with 70:30, whose few
/// packets hardly show in the queue, they are 9 points away, and come nearer later.
#[test]
fn flows_divide_a_link_by_weight() {
    let runs = runs(
        "duration = '20s'\nmeasure-from = '10s'\n[[link]]\nrate = '100mbit'\ndelay = '20ms'\nqueue = '500kB'\n\
         [[flow]]\nname = 'a'\ncontroller = 'queue-target'\n[[flow]]\nname = 'b'\ncontroller = 'queue-target'\n\
         [[sweep]]\nname = 'percent'\nvalues = [\n\
         { label = '50', 'flow.a.set.control.weight' = 0.5, 'flow.b.set.control.weight' = 0.5 },\n\
         { label = '70', 'flow.a.set.control.weight' = 0.7, 'flow.b.set.control.weight' = 0.3 },\n\
         { label = '90', 'flow.a.set.control.weight' = 9, 'flow.b.set.control.weight' = 1 }]",
    );
    for of_case in runs.chunk_by(|one, other| one.case == other.case) {
        let wanted: f64 = of_case[0].case[0].1.parse().unwrap();
        let percent = of_case.iter().map(|run| 100.0 * run.flows[0].goodput / run.goodput).sum::<f64>();
        let percent = percent / of_case.len() as f64;
        assert!((percent - wanted).abs() < 10.0, "{wanted} %: {percent}");
        assert!(of_case.iter().all(|run| run.goodput > 97.0), "{wanted} %");
    }
}

/// Sets a weight when its time has come.
#[derive(Debug)]
struct Change {
    at: Time,
    weight: Weight,
    to: f64,
}

impl Observer for Change {
    fn on_event(&mut self, event: &Event) {
        if event.time() >= self.at {
            self.weight.set(self.to).unwrap();
        }
    }
}

/// Two flows whose weights change from 7:3 to 3:7 after 20 s: what each delivered in the ten seconds before and after 30 s, in Mbit/s.
fn with_a_change_of_weights(seed: u64) -> [[f64; 2]; 2] {
    let second = Duration::from_secs(1);
    let flows = [(0.7, 0.3), (0.3, 0.7)].into_iter().zip(2 * seed..).map(|((from, to), seed)| {
        let weight = Weight::new(from).unwrap();
        let mut control = Profile::default().with_weight(weight.clone()).unwrap().build(seed);
        control.observe(Box::new(Change { at: Time::ZERO + 20 * second, weight, to }));
        FlowConfig::bulk(Box::new(control), 20 * second / 1000)
    });
    let link = PathConfig {
        capacity: Rate::from_mbps(100.0).into(),
        queue: 500_000.into(),
        ..PathConfig::delay_only(20 * second / 1000)
    };
    let flows = Simulation::dumbbell(link, flows.collect(), 40 * second, seed).run().flows;
    [10, 30]
        .map(|from| [0, 1].map(|flow: usize| flows[flow].goodput_between(from * second, (from + 10) * second).mbps()))
}

/// A weight that changes while a flow runs is followed within ten seconds.
#[test]
fn a_change_of_weights_is_followed() {
    let runs = [1, 2, 3, 4].map(with_a_change_of_weights);
    for (period, wanted) in [(0, 70.0), (1, 30.0)] {
        let [a, b] = [0, 1].map(|flow: usize| runs.iter().map(|run| run[period][flow]).sum::<f64>() / 4.0);
        assert!((100.0 * a / (a + b) - wanted).abs() < 10.0, "{wanted} %: {a} and {b} Mbit/s");
        assert!(a + b > 97.0, "{wanted} %: {a} and {b} Mbit/s");
    }
}

/// Beside one other, in steady state, a scavenger takes under a twentieth of the link.
#[test]
fn a_scavenger_leaves_the_link_to_others() {
    for run in runs(
        "duration = '45s'\nmeasure-from = '20s'\n[[link]]\nrate = '50mbit'\ndelay = '20ms'\n\
         [[flow]]\ncontroller = 'scavenger'\n[[flow]]\nname = 'other'\ncontroller = 'cubic'\n\
         [[sweep]]\nname = 'queue'\nkey = 'link.queue'\nvalues = ['37.5kB', '250kB', '1MB']\n\
         [[sweep]]\nname = 'other'\nkey = 'flow.other.controller'\nvalues = ['cubic', 'bbr1', 'queue-target']",
    ) {
        let share = run.flows[0].goodput / 50.0;
        assert!(share < 0.05, "{:?}: {share}", run.case);
    }
}

/// Some seconds after others have stopped it has all of the link, also where their losses had made its window small.
#[test]
fn a_scavenger_takes_what_others_leave() {
    for run in runs(
        "duration = '30s'\nmeasure-from = '22s'\n[[link]]\nrate = '50mbit'\ndelay = '20ms'\n\
         [[flow]]\ncontroller = 'scavenger'\n[[flow]]\nname = 'other'\ncontroller = 'bbr1'\nstop = '15s'\n\
         [[sweep]]\nname = 'queue'\nkey = 'link.queue'\nvalues = ['30kB', '1MB']\n\
         [[sweep]]\nname = 'other'\nkey = 'flow.other.controller'\nvalues = ['cubic', 'bbr1', 'queue-target']",
    ) {
        let share = run.flows[0].goodput / 50.0;
        assert!(share > 0.9, "{:?}: {share}", run.case);
    }
}

/// Alone it fills the link, also one that loses or delays packets, and again after the path became longer; several share.
#[test]
fn scavengers_fill_a_link_that_nobody_else_wants() {
    for run in runs(
        "duration = '50s'\nmeasure-from = '20s'\n[[link]]\nrate = '50mbit'\ndelay = '20ms'\nqueue = '250kB'\n\
         [[flow]]\nname = 'scavenger'\ncontroller = 'scavenger'\n\
         [[sweep]]\nname = 'case'\nvalues = [{ label = 'clean' }, { label = 'loss', 'link.loss' = '1%' },\n\
         { label = 'jitter', 'link.jitter' = '3ms' }, { label = 'Wi-Fi', 'link.aggregation' = '5ms' },\n\
         { label = 'longer', 'link.schedule' = [{ at = '5s', delay = '30ms' }] },\n\
         { label = 'four', 'flow.scavenger.count' = 4 }]",
    ) {
        let least = if ["jitter", "Wi-Fi"].contains(&run.case[0].1.as_str()) { 0.9 } else { 0.95 };
        assert!(run.goodput > least * 50.0, "{:?}: {}", run.case, run.goodput);
        if let Some(jain) = run.jain {
            assert!(jain > 0.8, "{:?}: {jain}", run.case);
        }
    }
}
