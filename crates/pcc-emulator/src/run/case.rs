//! A case of a scenario on real traffic.

use super::verdict::{self, system_cpu};
use crate::emulator::{Addressing, Emulator, EmulatorConfig, MTU, Route, Tun};
use crate::error::EmulatorError;
use crate::host::{Namespace, To};
use crate::traffic::{self, Group, QuicControl};
use pcc_lab::report::RunReport;
use pcc_lab::scenario::{Case, Layout, Placed, ScenarioError, Stack};
use std::net::Ipv4Addr;
use std::ops::Range;
use std::time::Duration;

/// Networks of the two sides: flow number i is from address i + 1 of the one to address i + 1 of the other.
const SIDES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 0, 0), Ipv4Addr::new(10, 78, 0, 0)];
/// The name of the TUN device on each side.
const DEVICE: &str = "pcc0";
/// The most flows that a case can have: each takes an address in the network of either side.
const MAX_FLOWS: usize = 65_000;
/// How often progress is shown.
const STEP: Duration = Duration::from_millis(200);

/// Runs the case on real traffic, which takes as long as the scenario says; `record` keeps what plots over time need. `progress` is called now
/// and then with the time that has passed.
///
/// # Errors
///
/// When this machine can't do what the scenario asks for, or isn't allowed to.
pub fn emulate(case: &Case, seed: u64, record: bool, progress: &dyn Fn(Duration)) -> Result<RunReport, EmulatorError> {
    let scenario = &case.scenario;
    if scenario.packet_size != u32::from(MTU) {
        let reason = format!("on the emulator packets have {MTU} bytes");
        return Err(ScenarioError::at("packet-size".to_owned(), reason).into());
    }
    let layout = case.lay_out(seed)?;
    if layout.flows.len() > MAX_FLOWS {
        let reason = format!("these are {} flows; the emulator has addresses for {MAX_FLOWS}", layout.flows.len());
        return Err(ScenarioError::at("flow".to_owned(), reason).into());
    }
    let sides = [Namespace::new()?, Namespace::new()?];
    let device = |side: usize| {
        let [own, other] = [SIDES[side], SIDES[1 - side]];
        let addresses: Vec<Ipv4Addr> = (0..layout.flows.len()).map(|flow| host(own, flow)).collect();
        // So that programs that choose no address use that of their flow.
        let routes: Vec<To> =
            (0..layout.flows.len()).map(|flow| To::host(host(other, flow), host(own, flow))).collect();
        let device = sides[side].run(|| Tun::open(DEVICE, true))?;
        sides[side].attach(DEVICE, &addresses, &routes)?;
        set_up(case, &sides[side]).map(|()| device)
    };
    let devices = [device(0)?, device(1)?];
    let [left, right] = &sides;
    let traffic = traffic::start(left, right, groups(case, &layout), scenario.duration, record)?;
    let busy = system_cpu();
    let [left, right] = devices;
    let emulator = Emulator::start(left, right, emulation(case, &layout, record))?;
    let origin = emulator.origin();
    traffic.go(origin);
    while let Some(left) = scenario.duration.checked_sub(origin.elapsed()).filter(|_| emulator.is_running()) {
        std::thread::sleep(left.min(STEP));
        progress(origin.elapsed().min(scenario.duration));
    }
    let busy = system_cpu().saturating_sub(busy);
    let ends = traffic.finish();
    let mut emulated = emulator.stop()?;
    emulated.interface_drops += sides[0].udp_overruns()? + sides[1].udp_overruns()?;
    Ok(verdict::report(case, seed, &layout, emulated, ends, busy))
}

/// Sets a kernel as the scenario says.
fn set_up(case: &Case, side: &Namespace) -> Result<(), EmulatorError> {
    let kernel = &case.scenario.kernel;
    if let Some(segments) = kernel.gso_max_segs {
        side.limit_bursts(DEVICE, segments)?;
    }
    kernel.sysctl.iter().try_for_each(|(name, value)| side.set(name, &value.to_string()))
}

/// The groups of flows that a case asks for.
fn groups(case: &Case, layout: &Layout) -> Vec<Group> {
    let group = |(flow, range): (&pcc_lab::scenario::Flow, &Range<usize>)| {
        let flows = range.clone().zip(&layout.flows[range.clone()]).map(|(index, placed)| traffic::TrafficFlow {
            app: flow.app(),
            start: placed.start,
            stop: flow.stop,
            sender: host(SIDES[0], index),
            receiver: host(SIDES[1], index),
            seed: placed.seed,
        });
        Group { stack: stack(flow), flows: flows.collect() }
    };
    case.scenario.flow.iter().zip(&layout.groups).map(group).collect()
}

/// The configuration of the emulator that a case asks for.
fn emulation(case: &Case, layout: &Layout, record: bool) -> EmulatorConfig {
    let route = |(placed, stop): (&Placed, Option<Duration>)| Route {
        stop,
        forward: placed.route.clone(),
        reverse: placed.reverse.into_iter().collect(),
        reverse_delay: placed.reverse_delay,
    };
    let stops = case.scenario.flow.iter().zip(&layout.groups);
    let stops = stops.flat_map(|(flow, range)| vec![flow.stop; range.len()]);
    EmulatorConfig {
        links: layout.links.clone(),
        routes: layout.flows.iter().zip(stops).map(route).collect(),
        addressing: Addressing::ByHost { left: SIDES[0], right: SIDES[1] },
        duration: case.scenario.duration,
        measure_from: case.scenario.measure_from,
        seed: layout.seed,
        record,
    }
}

/// The address of a flow's end.
fn host(side: Ipv4Addr, flow: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(side.to_bits() + 1 + flow as u32)
}

fn stack(flow: &pcc_lab::scenario::Flow) -> traffic::TrafficStack {
    match &flow.command {
        Some(command) => traffic::TrafficStack::Programs { client: command.clone(), server: flow.server.clone() },
        None => match flow.stack.unwrap_or_default() {
            Stack::Tcp => traffic::TrafficStack::Tcp { controller: flow.controller.clone() },
            Stack::Quic => {
                let ours = || QuicControl::Lab(flow.controller_named(&flow.controller));
                traffic::TrafficStack::Quic { control: flow.of_noq().map_or_else(ours, QuicControl::Noq) }
            }
        },
    }
}
