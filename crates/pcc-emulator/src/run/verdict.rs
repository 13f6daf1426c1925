//! What came of real traffic, in the terms of the simulator's reports, and whether it counts.

use crate::emulator::EmulationReport;
use crate::realtime::Lateness;
use crate::traffic::GroupReport;
use pcc::Time;
use pcc_lab::report::{EmulatorReport, RealReport, RunReport};
use pcc_lab::scenario::{Case, Layout};
use pcc_lab::sim::{BIN, FlowOutcome};
use std::time::Duration;

/// With a larger share of a processor the emulator may have been late when it mattered.
const MAX_CPU: f64 = 0.85;

/// A report of the run; `busy` is the processor time that the whole machine took.
pub(super) fn report(
    case: &Case,
    seed: u64,
    layout: &Layout,
    emulated: EmulationReport,
    groups: Vec<GroupReport>,
    busy: Duration,
) -> RunReport {
    let mut outcome = emulated.outcome;
    let mut real = Vec::new();
    for ((group, range), flow) in groups.iter().zip(&layout.groups).zip(&case.scenario.flow) {
        let outcomes = &mut outcome.flows[range.clone()];
        for ((outcome, placed), ends) in outcomes.iter_mut().zip(&layout.flows[range.clone()]).zip(&group.flows) {
            outcome.start = Time::ZERO + placed.start;
            outcome.end = ends.completed.map_or(outcome.end, |time| outcome.end.min(outcome.start + time));
            outcome.complete = flow.size.map(|_| ends.completed.is_some());
        }
        let burst_p99 = emulated.bursts[range.clone()].iter().max().copied().unwrap_or(0);
        real.push(of_group(group, outcomes, case.scenario.measure_from, burst_p99));
    }
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let mut emulator = EmulatorReport {
        lateness_p50: micros(emulated.lateness.p50),
        lateness_p99: micros(emulated.lateness.p99),
        lateness_max: micros(emulated.lateness.max),
        cpu: emulated.cpu.as_secs_f64() / case.scenario.duration.as_secs_f64(),
        interface_drops: emulated.interface_drops + emulated.undelivered,
        system_cpu_per_gb: per_gb(busy, delivered(&outcome.flows)),
        doubt: None,
    };
    let failed = real.iter().flat_map(|real| &real.errors).next();
    let doubt = || doubt(&emulator, &emulated.lateness, shortest_rtt(case, layout));
    emulator.doubt = failed.map(|error| format!("a flow failed: {error}")).or_else(doubt);
    let events = groups.into_iter().flat_map(|group| group.flows).map(|ends| ends.events).collect();
    let mut report = RunReport::of(case, seed, layout, outcome, events);
    for (flow, real) in report.flows.iter_mut().zip(real) {
        flow.real = Some(real);
    }
    report.emulator = Some(emulator);
    report
}

fn of_group(group: &GroupReport, outcomes: &[FlowOutcome], measure_from: Duration, burst_p99: u64) -> RealReport {
    let measured = Time::ZERO + measure_from;
    let start = outcomes.iter().map(|outcome| outcome.start).min().unwrap_or(measured).max(measured);
    let time = outcomes.iter().map(|outcome| outcome.end).max().unwrap_or(start).since(start).as_secs_f64();
    let first = (measure_from.as_nanos() / BIN.as_nanos()) as usize;
    let payload = group.flows.iter().map(|ends| match ends.payload_bins.as_slice() {
        // A program that says only how much it got in all.
        [] => ends.payload_bytes.filter(|_| first == 0),
        bins => Some(bins.iter().skip(first).sum::<u64>()),
    });
    let bytes = delivered(outcomes);
    RealReport {
        payload: payload.sum::<Option<u64>>().filter(|_| time > 0.0).map(|bytes| bytes as f64 * 8e-6 / time),
        sender_cpu_per_gb: group.sender_cpu.and_then(|time| per_gb(time, bytes)),
        receiver_cpu_per_gb: group.receiver_cpu.and_then(|time| per_gb(time, bytes)),
        pacing_error: group.pacing_error,
        burst_p99,
        errors: group.flows.iter().filter_map(|ends| ends.error.clone()).collect(),
    }
}

/// Bytes of new data in the whole run.
fn delivered(flows: &[FlowOutcome]) -> u64 {
    flows.iter().flat_map(|flow| &flow.bins).sum()
}

/// Seconds of processor time for each 10^9 bytes.
fn per_gb(time: Duration, bytes: u64) -> Option<f64> {
    (bytes > 0).then(|| time.as_secs_f64() * 1e9 / bytes as f64)
}

/// The shortest round trip of all flows, with empty queues.
fn shortest_rtt(case: &Case, layout: &Layout) -> Duration {
    let rtt = |flow: &pcc_lab::scenario::Placed| {
        let links = flow.route.iter().chain(&flow.reverse).map(|link| layout.links[*link].delay);
        links.sum::<Duration>() + flow.reverse_delay
    };
    layout.flows.iter().map(rtt).min().unwrap_or(case.scenario.duration)
}

/// Why a run says more about this machine than about what ran, if it does.
fn doubt(emulator: &EmulatorReport, lateness: &Lateness, rtt: Duration) -> Option<String> {
    if lateness.p99 > Lateness::tolerable(rtt) {
        return Some(format!(
            "1 % of the packets left the emulator more than {:.1} ms late",
            emulator.lateness_p99 / 1e3
        ));
    }
    if emulator.interface_drops > 0 {
        return Some(format!("this machine lost {} packets that no link was to lose", emulator.interface_drops));
    }
    (emulator.cpu > MAX_CPU).then(|| format!("the emulator was busy {:.0} % of the time", emulator.cpu * 100.0))
}

/// Processor time that everything on this machine has taken so far: proc_stat(5), without what was idle or stolen.
pub(super) fn system_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let all = stat.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = all.split_whitespace().skip(1).filter_map(|ticks| ticks.parse().ok()).collect();
    let busy: u64 = [0, 1, 2, 5, 6].iter().filter_map(|field| ticks.get(*field)).sum();
    Duration::from_secs_f64(busy as f64 / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::TrafficReport;

    /// A flow that sent `bytes` bytes between two seconds.
    fn ran(start: u64, end: u64, bytes: u64) -> (TrafficReport, FlowOutcome) {
        let [start, end] = [start, end].map(|seconds| Time::ZERO + Duration::from_secs(seconds));
        let mut outcome = FlowOutcome::new(start, end, None);
        outcome.deliver(start, bytes);
        let ends =
            TrafficReport { payload_bytes: Some(bytes), payload_bins: outcome.bins.clone(), ..Default::default() };
        (ends, outcome)
    }

    fn report(flows: [(TrafficReport, FlowOutcome); 2], measure_from: u64) -> RealReport {
        let (flows, outcomes): (Vec<_>, Vec<_>) = flows.into_iter().unzip();
        let cpu = Some(Duration::from_secs(1));
        let group = GroupReport { flows, sender_cpu: cpu, receiver_cpu: None, pacing_error: None };
        of_group(&group, &outcomes, Duration::from_secs(measure_from), 1)
    }

    #[test]
    fn payload_is_over_the_time_of_the_group() {
        // 2 MB one after the other, in 2 s.
        let both = report([ran(0, 1, 1_000_000), ran(1, 2, 1_000_000)], 0);
        assert_eq!(both.payload, Some(8.0));
        assert_eq!(both.sender_cpu_per_gb, Some(500.0));
        assert_eq!(both.receiver_cpu_per_gb, None);
        let second = report([ran(0, 1, 1_000_000), ran(1, 2, 500_000)], 1);
        assert_eq!(second.payload, Some(4.0));
    }

    #[test]
    fn a_program_that_says_only_the_sum_has_no_payload_of_a_part() {
        let only_sum = |(ends, outcome): (TrafficReport, FlowOutcome)| {
            (TrafficReport { payload_bins: Vec::new(), ..ends }, outcome)
        };
        let flows = || [only_sum(ran(0, 2, 1_000_000)), only_sum(ran(0, 2, 1_000_000))];
        assert_eq!(report(flows(), 0).payload, Some(8.0));
        assert_eq!(report(flows(), 1).payload, None);
    }
}
