//! What came of real traffic, in the terms of the simulator's reports, and whether it counts.

use super::Report;
use super::traffic::GroupReport;
use crate::realtime::Lateness;
use crate::report::{EmulatorReport, RealReport, RunReport};
use crate::scenario::{Case, Layout};
use crate::sim::{FlowOutcome, Outcome};
use pcc::Time;
use std::time::Duration;

/// With a larger share of a processor the emulator may have been late when it mattered.
const MOST_CPU: f64 = 0.85;

/// A report of the run; `busy` is the processor time that the whole machine took.
pub(super) fn report(
    case: &Case,
    seed: u64,
    layout: &Layout,
    emulated: Report,
    groups: Vec<GroupReport>,
    busy: Duration,
) -> RunReport {
    let Report { outcome: Outcome { mut flows, links }, lateness, cpu, interface_drops, undelivered, bursts, .. } =
        emulated;
    for ((group, range), flow) in groups.iter().zip(&layout.groups).zip(&case.scenario.flow) {
        for (index, ends) in range.clone().zip(&group.flows) {
            let start = Time::ZERO + layout.flows[index].start;
            let stop = flow.stop.map_or(flows[index].end, |stop| flows[index].end.min(Time::ZERO + stop.0));
            flows[index].start = start;
            flows[index].end = ends.completed.map_or(stop, |time| stop.min(start + time));
            flows[index].complete = flow.size.map(|_| ends.completed.is_some());
        }
    }
    let bytes = |flows: &[FlowOutcome]| flows.iter().flat_map(|flow| &flow.bins).sum::<u64>();
    let per_gb = |time: Duration, bytes: u64| (bytes > 0).then(|| time.as_secs_f64() * 1e9 / bytes as f64);
    let duration = case.scenario.duration.0;
    let real = groups.iter().zip(&layout.groups).map(|(group, range)| {
        let delivered = bytes(&flows[range.clone()]);
        let measure_from = case.scenario.measure_from.0;
        let from = (measure_from.as_nanos() / crate::sim::BIN.as_nanos()) as usize;
        let payload = group.flows.iter().map(|ends| match ends.payload_bins.as_slice() {
            // A program that says only at the end how much it got.
            [] => ends.payload_bytes.map(|bytes| bytes as f64 / duration.as_secs_f64()),
            bins => Some(bins.iter().skip(from).sum::<u64>() as f64 / (duration - measure_from).as_secs_f64()),
        });
        RealReport {
            payload: payload.sum::<Option<f64>>().map(|bytes| bytes * 8e-6),
            sender_cpu_per_gb: group.sender_cpu.and_then(|time| per_gb(time, delivered)),
            receiver_cpu_per_gb: group.receiver_cpu.and_then(|time| per_gb(time, delivered)),
            pacing_error: group.pacing_error,
            burst_p99: bursts[range.clone()].iter().max().copied().unwrap_or(0),
            errors: group.flows.iter().filter_map(|ends| ends.error.clone()).collect(),
        }
    });
    let real: Vec<RealReport> = real.collect();
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let drops = interface_drops + undelivered;
    let emulator = EmulatorReport {
        lateness_p50: micros(lateness.p50),
        lateness_p99: micros(lateness.p99),
        lateness_max: micros(lateness.max),
        cpu: cpu.as_secs_f64() / duration.as_secs_f64(),
        interface_drops: drops,
        system_cpu_per_gb: per_gb(busy, bytes(&flows)),
        doubt: None,
    };
    let doubt = doubt(&emulator, &lateness, shortest_rtt(case, layout));
    let events = groups.into_iter().flat_map(|group| group.flows).map(|ends| ends.events).collect();
    let mut report = RunReport::of(case, seed, layout, Outcome { flows, links }, events);
    for (flow, real) in report.flows.iter_mut().zip(real) {
        flow.real = Some(real);
    }
    report.emulator = Some(EmulatorReport { doubt, ..emulator });
    report
}

/// The shortest round trip of all flows, with empty queues.
fn shortest_rtt(case: &Case, layout: &Layout) -> Duration {
    let rtt = |flow: &crate::scenario::Placed| {
        let links = flow.route.iter().chain(&flow.reverse).map(|link| layout.links[*link].delay);
        links.sum::<Duration>() + flow.reverse_delay
    };
    layout.flows.iter().map(rtt).min().unwrap_or(case.scenario.duration.0)
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
    (emulator.cpu > MOST_CPU).then(|| format!("the emulator was busy {:.0} % of the time", emulator.cpu * 100.0))
}

/// Processor time that everything on this machine has taken so far: proc_stat(5), without what was idle or stolen.
pub(super) fn system_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let all = stat.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = all.split_whitespace().skip(1).filter_map(|ticks| ticks.parse().ok()).collect();
    let busy: u64 = [0, 1, 2, 5, 6].iter().filter_map(|field| ticks.get(*field)).sum();
    Duration::from_secs_f64(busy as f64 / rustix::param::clock_ticks_per_second() as f64)
}
