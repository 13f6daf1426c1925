//! Cases of the gauntlet in the simulator and on real traffic: does the same sender win?
//!
//! ```text
//! cargo build --release -p xtask && sudo target/release/xtask gauntlet-agreement >table.md
//! ```
//!
//! The first development cases of seed 1 that the emulator can play, with controllers over QUIC and with those of the
//! kernel's TCP. Real time: a case takes as long as it says, once for each sender. Run it on a quiet machine.

use anyhow::Context;
use pcc_emulator::{emulate, host::privileges};
use pcc_lab::gauntlet::{CaseResult, CaseRun, CaseSet, ControllerScore, GauntletCase, Metric, OBJECTIVES, Scoreboard};
use pcc_lab::report::RunReport;
use pcc_lab::run::simulate;
use pcc_lab::scenario::Plan;

/// The seed of the cases, which is the gauntlet's default.
const SEED: u64 = 1;
/// The fastest path, in Mbit/s, for which sender, emulator and receiver have room on two processors.
const MAX_RATE: f64 = 200.0;
/// The objective that senders are ordered by.
const OBJECTIVE: &str = "mixed";
/// Regrets that are nearer to each other in the simulator give no order.
const NEAR: f64 = 0.05;

/// Whether the kernel's TCP sends, and the controller.
type Sender = (bool, &'static str);

const SENDERS: [Sender; 7] = [
    (false, "queue-target"),
    (false, "vivace-latency"),
    (false, "bbr1"),
    (false, "copa"),
    (false, "cubic"),
    (true, "bbr"),
    (true, "cubic"),
];

/// What a sender came to in one of both.
struct Outcome {
    /// The share of the best score of the case that is missing.
    regret: f64,
    metrics: Vec<f64>,
}

/// Runs so many cases, or those with these numbers, and prints what came of them in Markdown.
pub fn run(count: usize, numbers: &[u32]) -> anyhow::Result<()> {
    privileges::acquire()?;
    let chosen: Vec<GauntletCase> = match numbers {
        [] => (0..).map(draw).filter(can_be_emulated).take(count).collect(),
        numbers => numbers.iter().copied().map(draw).collect(),
    };
    let (mut same, mut all) = (0, 0);
    for case in &chosen {
        println!("### {}\n", case.name());
        let simulated = play(case, |_, plan| Ok(simulate(&plan.cases[0], case.run_seed(), false)?))?;
        let emulated = play(case, |sender, plan| {
            let run = emulate(&plan.cases[0], case.run_seed(), false, &|_| {})?;
            let doubt = run.emulator.as_ref().and_then(|emulator| emulator.doubt.clone());
            if let Some(doubt) = doubt {
                println!("{sender} doesn't count: {doubt}\n");
            }
            Ok(run)
        })?;
        print(case, &simulated, &emulated);
        let (agreed, pairs) = agreement(&simulated, &emulated);
        println!("\n{agreed} of {pairs} pairs in the same order\n");
        (same, all) = (same + agreed, all + pairs);
    }
    println!("All cases: {same} of {all} pairs in the same order");
    Ok(())
}

fn draw(number: u32) -> GauntletCase {
    GauntletCase::draw(CaseSet::Development, SEED, number)
}

/// Videos are played in the simulator only.
fn can_be_emulated(case: &GauntletCase) -> bool {
    case.rate() <= MAX_RATE && !case.metrics().contains(&Metric::Stalled)
}

/// What each of the senders came to in a case, by what `run` says that happened.
fn play(case: &GauntletCase, run: impl Fn(&str, &Plan) -> anyhow::Result<RunReport>) -> anyhow::Result<Vec<Outcome>> {
    let mut results = Vec::new();
    for sender in SENDERS {
        let plan = plan(case, sender)?;
        let name = name(sender);
        let report = run(&name, &plan).with_context(|| format!("{name} in {}", case.name()))?;
        let of = CaseRun { set: CaseSet::Development, seed: SEED, case: case.number(), controller: name };
        results.push(of.result(plan.scenario.duration, &report));
    }
    let names = SENDERS.map(name).to_vec();
    let scores = Scoreboard::new(CaseSet::Development, SEED, names, &results).scores();
    let objective = OBJECTIVES.iter().position(|objective| objective.name == OBJECTIVE).context("an objective")?;
    let outcome = |(score, result): (&ControllerScore, &CaseResult)| Outcome {
        regret: score.objectives[objective].mean,
        metrics: case.metrics().iter().map(|metric| result.metrics[metric]).collect(),
    };
    Ok(scores.iter().zip(&results).map(outcome).collect())
}

/// The case as a scenario in which one sender is under test.
fn plan(case: &GauntletCase, (kernel, controller): Sender) -> anyhow::Result<Plan> {
    let scenario = case.scenario(&[controller.to_owned()]);
    let tested = "[[flow]]\nname = \"tested-";
    let scenario =
        if kernel { scenario.replace(tested, &tested.replace("name", "stack = \"tcp\"\nname")) } else { scenario };
    Ok(Plan::parse(&case.name(), &scenario, &[])?)
}

fn name((kernel, controller): Sender) -> String {
    if kernel { format!("kernel {controller}") } else { controller.to_owned() }
}

/// A line for each sender, the best in the simulator first.
fn print(case: &GauntletCase, simulated: &[Outcome], emulated: &[Outcome]) {
    let headings = case.metrics().iter().map(|metric| format!("{} {}", metric.name(), metric.unit()).trim().to_owned());
    println!("Simulator / emulator:\n");
    println!("| sender | place | regret % | {} |", headings.collect::<Vec<_>>().join(" | "));
    println!("|---|---:|---:|{}", "---:|".repeat(case.metrics().len()));
    let mut order: Vec<usize> = (0..SENDERS.len()).collect();
    order.sort_by(|a, b| simulated[*a].regret.total_cmp(&simulated[*b].regret));
    for sender in order {
        let [ours, real] = [&simulated[sender], &emulated[sender]];
        let metrics = ours.metrics.iter().zip(&real.metrics).map(|(ours, real)| format!(" {ours:.3} / {real:.3} |"));
        println!(
            "| {} | {} / {} | {:.1} / {:.1} |{}",
            name(SENDERS[sender]),
            place(simulated, sender),
            place(emulated, sender),
            ours.regret * 100.0,
            real.regret * 100.0,
            metrics.collect::<String>()
        );
    }
}

/// One more than are better.
fn place(outcomes: &[Outcome], sender: usize) -> usize {
    1 + outcomes.iter().filter(|other| other.regret < outcomes[sender].regret).count()
}

/// How many of the pairs of senders that are not near to each other in the simulator have the same order in both, and how many there are.
fn agreement(simulated: &[Outcome], emulated: &[Outcome]) -> (usize, usize) {
    let pairs = (0..SENDERS.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let difference = |of: &[Outcome], (a, b): (usize, usize)| of[a].regret - of[b].regret;
    let apart: Vec<_> = pairs.filter(|pair| difference(simulated, *pair).abs() > NEAR).collect();
    let same = apart.iter().filter(|pair| difference(simulated, **pair) * difference(emulated, **pair) > 0.0);
    (same.count(), apart.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sender_has_a_scenario_in_the_cases_that_can_be_emulated() {
        for case in (0..).map(draw).filter(can_be_emulated).take(10) {
            for sender in SENDERS {
                let plan = plan(&case, sender).expect("a scenario");
                let flow = &plan.cases[0].scenario.flow[0];
                assert_eq!((flow.stack.is_some(), flow.controller.as_str()), sender, "{}", case.name());
            }
        }
    }

    #[test]
    fn near_regrets_give_no_order() {
        let outcomes = |regrets: [f64; 7]| regrets.map(|regret| Outcome { regret, metrics: Vec::new() });
        let simulated = outcomes([0.0, 0.3, 0.32, 0.3, 0.3, 0.3, 0.3]);
        assert_eq!(agreement(&simulated, &outcomes([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6])), (6, 6));
        assert_eq!(agreement(&simulated, &outcomes([0.3, 0.0, 0.4, 0.4, 0.4, 0.4, 0.4])), (5, 6));
        assert_eq!(place(&simulated, 0), 1);
        assert_eq!(place(&simulated, 1), 2);
        assert_eq!(place(&simulated, 2), 7);
    }
}
