//! From what was counted to a report.

use super::completion::{mean, quantile};
use super::data::{FlowReport, LinkReport, PacketCounts, RunReport};
use super::fairness::{convergence, jain};
use crate::link::PathConfig;
use crate::scenario::{Case, Layout, Scenario};
use crate::sim::{BIN, Distribution, FlowOutcome, LinkOutcome, Outcome};
use pcc::{Event, Time};
use std::time::Duration;

impl RunReport {
    /// The report of a run whose outcome was `outcome`.
    pub fn of(
        case: &Case,
        seed: u64,
        Layout { links, groups, .. }: &Layout,
        outcome: Outcome,
        events: Vec<Vec<Event>>,
    ) -> RunReport {
        let scenario = &case.scenario;
        let route = |flow| scenario.route(flow).unwrap_or_default();
        let routes: Vec<Vec<usize>> =
            scenario.flow.iter().zip(groups).flat_map(|(flow, range)| vec![route(flow); range.len()]).collect();
        let flows: Vec<FlowReport> = scenario
            .flow
            .iter()
            .zip(groups)
            .zip(scenario.flow_names())
            .map(|((flow, range), name)| {
                Group {
                    outcomes: &outcome.flows[range.clone()],
                    all: &outcome.flows,
                    routes: &routes,
                    scenario,
                    links,
                    route: route(flow),
                }
                .report(name, &flow.controller)
            })
            .collect();
        RunReport {
            case: case.labels.clone(),
            settings: case.settings.iter().cloned().collect(),
            seed,
            jain: among(&outcome.flows, scenario.measure_from),
            goodput: {
                let bytes: u64 = outcome.flows.iter().map(|flow| flow.delivered_bytes).sum();
                bytes as f64 * 8e-6 / (scenario.duration - scenario.measure_from).as_secs_f64()
            },
            flows,
            emulator: None,
            links: scenario
                .link
                .iter()
                .zip(links)
                .zip(&outcome.links)
                .enumerate()
                .map(|(index, ((link, config), outcome))| {
                    let name = link.name.clone().unwrap_or_else(|| format!("{index}"));
                    link_report(name, config, outcome, scenario)
                })
                .collect(),
            events,
            outcome,
        }
    }
}

fn link_report(name: String, config: &PathConfig, outcome: &LinkOutcome, scenario: &Scenario) -> LinkReport {
    let counters = outcome.counters;
    let share = |part: u64| part as f64 / counters.enqueued.max(1) as f64;
    let [from, to] = [scenario.measure_from, scenario.duration].map(|time| Time::ZERO + time);
    LinkReport {
        name,
        utilisation: config.passable(from, to).map(|bytes| counters.delivered_bytes as f64 / bytes.max(1) as f64),
        lost: share(counters.lost),
        dropped: share(counters.dropped + counters.policed),
        config: config.clone(),
    }
}

/// Jain's index of the goodputs while all flows ran, measured in one window.
fn among(flows: &[FlowOutcome], from: Duration) -> Option<f64> {
    if flows.len() < 2 {
        return None;
    }
    let start = flows.iter().map(|flow| flow.start.since(Time::ZERO)).max()?.max(from);
    let end = flows.iter().map(|flow| flow.end.since(Time::ZERO)).min()?;
    let rates: Vec<f64> = flows.iter().map(|flow| flow.goodput_between(start, end).mbps()).collect();
    jain(&rates)
}

/// The flows of one `[[flow]]`.
struct Group<'a> {
    outcomes: &'a [FlowOutcome],
    all: &'a [FlowOutcome],
    /// The route of each of all flows.
    routes: &'a [Vec<usize>],
    scenario: &'a Scenario,
    links: &'a [PathConfig],
    route: Vec<usize>,
}

impl Group<'_> {
    fn report(&self, name: String, controller: &str) -> FlowReport {
        let sum = |part: fn(&FlowOutcome) -> u64| self.outcomes.iter().map(part).sum::<u64>();
        let (sent, time) = (sum(|flow| flow.sent), self.time());
        let of_sent = |part: u64| part as f64 / sent.max(1) as f64;
        let packets = self.packets();
        let declared = sum(|flow| flow.lost);
        let seconds = time.1.since(time.0).as_secs_f64();
        let delivered = sum(|flow| flow.delivered_bytes);
        let goodput = if seconds > 0.0 { delivered as f64 * 8e-6 / seconds } else { 0.0 };
        let capacity = self.route.iter().filter_map(|link| self.links[*link].passable(time.0, time.1)).min();
        let all = |part: fn(&FlowOutcome) -> &Distribution| {
            self.outcomes.iter().fold(Distribution::default(), |all, flow| all.with(part(flow)))
        };
        let (rtt, queueing) = (all(|flow| &flow.rtt), all(|flow| &flow.queueing));
        let measured = Time::ZERO + self.scenario.measure_from;
        let transfers = self.outcomes.iter().any(|flow| flow.complete.is_some());
        let began = self.outcomes.iter().filter(|flow| flow.start >= measured);
        let times: Vec<(f64, bool)> =
            began.filter_map(|flow| Some((millis(flow.end.since(flow.start)), flow.complete?))).collect();
        let mut completion: Vec<f64> = times.iter().filter(|(_, complete)| *complete).map(|(time, _)| *time).collect();
        completion.sort_by(f64::total_cmp);
        let converged = self.converged();
        let [start, end] = [time.0, time.1].map(|time| time.since(Time::ZERO));
        let middle = start + (end - start) / 2;
        FlowReport {
            name,
            controller: controller.to_owned(),
            count: self.outcomes.len(),
            goodput,
            second_half: (whole_bins(end) > whole_bins(middle))
                .then(|| self.outcomes.iter().map(|flow| flow.goodput_between(middle, end).mbps()).sum()),
            share: capacity.map(|bytes| delivered as f64 / bytes.max(1) as f64),
            lost: of_sent(packets.map_or(declared, |packets| packets.fates.lost)),
            loss: of_sent(declared),
            spurious: of_sent(sum(|flow| flow.spurious)),
            packets,
            marked: self
                .outcomes
                .iter()
                .filter_map(|flow| flow.marked)
                .reduce(|a, b| a + b)
                .filter(|_| sent > 0)
                .map(of_sent),
            rtt_mean: (!rtt.is_empty()).then(|| millis(rtt.mean())),
            rtt_p95: (!rtt.is_empty()).then(|| millis(rtt.quantile(0.95))),
            queueing_mean: millis(queueing.mean()),
            queueing_p95: millis(queueing.quantile(0.95)),
            inflation: self.full_queue().map(|full| millis(queueing.quantile(0.95)) / full),
            power: if rtt.mean().is_zero() { 0.0 } else { goodput / rtt.mean().as_secs_f64() },
            jain: among(self.outcomes, self.scenario.measure_from),
            transfers: transfers.then_some(times.len()),
            completed: transfers.then_some(completion.len()),
            fct_mean: mean(&completion),
            fct_median: quantile(&times, 0.5),
            fct_p95: quantile(&times, 0.95),
            stalled: mean(&self.outcomes.iter().filter_map(|flow| flow.stall_ratio).collect::<Vec<_>>()),
            convergence: converged.map(|(time, _)| time),
            deviation: converged.map(|(_, deviation)| deviation),
            real: None,
        }
    }

    /// What became of the packets of all of them; `None` where that isn't counted.
    fn packets(&self) -> Option<PacketCounts> {
        self.outcomes.iter().try_fold(PacketCounts::default(), |all, flow| {
            Some(PacketCounts {
                sent: all.sent + flow.sent,
                fates: all.fates + flow.fates?,
                declared_lost: all.declared_lost + flow.lost,
                spurious: all.spurious + flow.spurious,
            })
        })
    }

    /// From the first start to the last end, within the measurement.
    fn time(&self) -> (Time, Time) {
        let measured = Time::ZERO + self.scenario.measure_from;
        let start = self.outcomes.iter().map(|flow| flow.start).min().unwrap_or(measured).max(measured);
        (start, self.outcomes.iter().map(|flow| flow.end).max().unwrap_or(start).max(start))
    }

    /// The delay of a full queue of the slowest link at its mean rate, in ms.
    fn full_queue(&self) -> Option<f64> {
        let (from, to) = (Time::ZERO, Time::ZERO + self.scenario.duration);
        let delay = |link: &usize| {
            let link = &self.links[*link];
            let rate = link.capacity(from, to)? as f64 / to.as_secs_f64();
            Some((rate, link.queue.limit_bytes(self.scenario.packet_size.into())? as f64 / rate * 1e3))
        };
        self.route.iter().filter_map(delay).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, delay)| delay)
    }

    /// The worst convergence time and deviation of the flows, with an equal share of the slowest link as the fair one.
    fn converged(&self) -> Option<(f64, f64)> {
        if self.all.len() < 2 {
            return None;
        }
        let each = self.outcomes.iter().map(|flow| {
            let capacity = |link: &usize| Some((self.links[*link].passable(flow.start, flow.end)?, *link));
            let (capacity, slowest) = self.route.iter().filter_map(capacity).min()?;
            let rate = capacity as f64 * 8e-6 / flow.end.since(flow.start).as_secs_f64();
            let passes = |route: &Vec<usize>| route.contains(&slowest);
            let rivals: Vec<&FlowOutcome> =
                self.all.iter().zip(self.routes).filter(|(_, route)| passes(route)).map(|(other, _)| other).collect();
            convergence(flow, |at| {
                let sharing = rivals.iter().filter(|other| other.start <= at && other.end > at).count();
                rate / sharing.max(1) as f64
            })
        });
        each.reduce(|a, b| a.zip(b).map(|(a, b)| (a.0.max(b.0), a.1.max(b.1))))?
    }
}

fn whole_bins(time: Duration) -> u128 {
    time.as_nanos() / BIN.as_nanos()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use crate::run::simulate;
    use crate::scenario::Plan;

    #[test]
    fn without_an_acknowledgement_there_is_no_round_trip_time() {
        let text =
            "duration = '1s'\n[[link]]\nrate = '10mbit'\ndelay = '10ms'\n[[flow]]\ncontroller = 'cubic'\nstart = ";
        let rtts = |start: &str| {
            let plan = Plan::parse("x.toml", &format!("{text}'{start}'"), &[]).unwrap();
            let flow = simulate(&plan.cases[0], 1, false).unwrap().flows.remove(0);
            ["rtt-mean", "rtt-p95"].map(|metric| flow.metric(metric).is_some())
        };
        assert_eq!([rtts("0s"), rtts("990ms")], [[true; 2], [false; 2]]);
    }

    #[test]
    fn of_a_moment_there_is_no_second_half() {
        let flow = "[[flow]]\ncontroller = 'cubic'\nsize = '10kB'";
        let text = format!("duration = '1s'\n[[link]]\nrate = '10mbit'\ndelay = '10ms'\n{flow}");
        let run = simulate(&Plan::parse("x.toml", &text, &[]).unwrap().cases[0], 1, false).unwrap();
        assert_eq!((run.flows[0].completed, run.flows[0].second_half), (Some(1), None));
    }
}
