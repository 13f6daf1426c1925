//! One run.

use crate::controller::EventLog;
use crate::report::RunReport;
use crate::scenario::{Case, Layout, ScenarioError, fault_of, of_flow};
use crate::sim::{FlowConfig, Simulation};
use pcc::Time;

/// Runs a case with a seed; `record` keeps what plots over time need.
///
/// # Errors
///
/// When a trace can't be read, a load means too many transfers, or the simulator hasn't got a controller.
pub fn simulate(case: &Case, seed: u64, record: bool) -> Result<RunReport, ScenarioError> {
    let layout = case.lay_out(seed)?;
    let (simulation, logs) = simulation(case, &layout, record)?;
    let outcome = simulation.run();
    let events = logs.iter().map(EventLog::take).collect();
    Ok(RunReport::of(case, seed, &layout, outcome, events))
}

/// The simulation of a layout and, per flow, the events of its controller if the run is recorded.
///
/// # Errors
///
/// When the simulator hasn't got a controller.
fn simulation(case: &Case, layout: &Layout, record: bool) -> Result<(Simulation, Vec<EventLog>), ScenarioError> {
    let scenario = &case.scenario;
    let (mut flows, mut logs) = (Vec::new(), Vec::new());
    for (index, (flow, range)) in scenario.flow.iter().zip(&layout.groups).enumerate() {
        let config = flow.controller_config().map_err(|fault| of_flow(index, fault))?;
        let (sender, receiver, acks) = flow.hosts().map_err(|fault| of_flow(index, fault))?;
        for placed in &layout.flows[range.clone()] {
            let control = if record {
                config.build_logged(placed.seed).map(|(control, log)| {
                    logs.push(log);
                    control
                })
            } else {
                config.build(placed.seed)
            };
            flows.push(FlowConfig {
                control: control.map_err(|error| of_flow(index, fault_of(&error)))?,
                ecn: flow.ecn,
                app: flow.app(),
                start: Time::ZERO + placed.start,
                stop: flow.stop.map(|stop| Time::ZERO + stop),
                route: placed.route.clone(),
                reverse: placed.reverse,
                reverse_delay: placed.reverse_delay,
                acks,
                sender: sender.clone(),
                receiver: receiver.clone(),
            });
        }
    }
    let simulation = Simulation {
        links: layout.links.clone(),
        flows,
        duration: scenario.duration,
        measure_from: scenario.measure_from,
        packet_bytes: scenario.packet_size,
        seed: layout.seed,
        record,
    };
    Ok((simulation, logs))
}
