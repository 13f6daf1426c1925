//! What is simulated, in a line.

use crate::link::{Limit, Loss, QueueConfig};
use crate::quantity::{show_bytes, show_duration, show_percent};
use crate::scenario::{HostSpec, Link, QueueLimit, Scenario, Sweep};

/// The most values of a sweep that are listed.
const MAX_VALUES: usize = 16;

/// The links of a scenario, its flows, and what changes.
pub(super) fn line(scenario: &Scenario) -> String {
    let links: Vec<String> = scenario.link.iter().map(link).collect();
    let flows: Vec<String> = scenario
        .flow
        .iter()
        .map(|flow| match flow.count {
            1 => flow.label().to_owned(),
            count => format!("{count} x {}", flow.label()),
        })
        .collect();
    let mut hosts: Vec<_> =
        scenario.flow.iter().filter_map(|flow| flow.host.as_ref()).map(HostSpec::to_string).collect();
    hosts.dedup();
    let hosts = if hosts.is_empty() { String::new() } else { format!(" on {}", hosts.join(" and ")) };
    let seeds = if scenario.seeds == 1 { String::new() } else { format!(", {} seeds", scenario.seeds) };
    let sweeps: Vec<String> = scenario.sweep.iter().map(sweep).collect();
    let sweeps = if sweeps.is_empty() { String::new() } else { format!("; for each {}", sweeps.join(", for each ")) };
    let duration = show_duration(scenario.duration);
    format!("{}; {}{hosts}; {duration}{seeds}{sweeps}", links.join(", then "), flows.join(" and "))
}

fn link(link: &Link) -> String {
    let loss = link.loss.map(|loss| match loss {
        Loss::Bernoulli(probability) => format!("{} loss", show_percent(probability)),
        Loss::GilbertElliott { .. } => "loss in bursts".to_owned(),
    });
    let others = [
        link.policer.map(|policer| format!("policed to {}", policer.rate)),
        link.reordering.map(|_| "reordering".to_owned()),
        link.aggregation.map(|every| format!("batches every {}", show_duration(every))),
        (!link.jitter.is_zero()).then(|| format!("{} jitter", show_duration(link.jitter))),
        (!link.schedule.is_empty()).then(|| format!("{} changes on the way", link.schedule.len())),
        link.vary.map(|vary| format!("varied every {}", show_duration(vary.every))),
    ];
    let parts = [
        link.rate.map(|rate| rate.to_string()),
        link.lte.map(|rate| format!("LTE at {} on average", rate)),
        link.trace.as_ref().map(|file| format!("trace {}", file.display())),
        Some(format!("{} one way", show_duration(link.delay))),
        link.queue.map(queue),
        loss,
    ];
    parts.into_iter().chain(others).flatten().collect::<Vec<_>>().join(", ")
}

fn queue(QueueConfig { kind, limit, ecn, mark_above }: QueueConfig<QueueLimit>) -> String {
    let size = |limit| match limit {
        Limit::Bytes(bytes) => show_bytes(bytes),
        Limit::Packets(packets) => format!("{packets} packets"),
    };
    let marks = match mark_above {
        Some(threshold) => format!(" that marks above {}", size(threshold)),
        None => if ecn { " that marks" } else { "" }.to_owned(),
    };
    let limit = match limit {
        QueueLimit::Fixed(limit) => size(limit),
        QueueLimit::Bdp(multiple) => format!("{multiple} BDP"),
    };
    format!("{limit} {}{marks}", kind.words())
}

fn sweep(sweep: &Sweep) -> String {
    let labels: Vec<String> = sweep.points().into_iter().flatten().map(|point| point.label).collect();
    match &sweep.draw {
        None if labels.len() <= MAX_VALUES => format!("{} of {}", sweep.name, labels.join(", ")),
        None => format!("of {} values of {}", labels.len(), sweep.name),
        Some(_) => format!("of {} drawn values of {}", labels.len(), sweep.name),
    }
}
