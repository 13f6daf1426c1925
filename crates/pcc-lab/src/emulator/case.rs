//! A case of a scenario on real traffic.

use super::traffic::{self, Group, QuicControl};
use super::verdict::{self, system_cpu};
use super::{Addressing, Config, Emulator, EmulatorError, MTU, Namespace, Route, Tun};
use crate::report::RunReport;
use crate::scenario::{Case, Layout, Placed, ScenarioError, Stack};
use std::net::Ipv4Addr;
use std::ops::Range;
use std::time::Duration;

/// Networks of the two sides: flow number i is from address i + 1 of the one to address i + 1 of the other.
const SIDES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 0, 0), Ipv4Addr::new(10, 78, 0, 0)];
/// The device of each side.
const DEVICE: &str = "pcc0";
/// How often progress is shown.
const STEP: Duration = Duration::from_millis(200);

impl Case {
    /// Runs the case on real traffic, which takes as long as the scenario says; `record` keeps what plots over time need. `progress` is called now
    /// and then with the time that has passed.
    ///
    /// # Errors
    ///
    /// When this machine can't do what the scenario asks for, or isn't allowed to.
    pub fn emulate(&self, seed: u64, record: bool, progress: &dyn Fn(Duration)) -> Result<RunReport, EmulatorError> {
        let scenario = &self.scenario;
        if scenario.packet_size != u32::from(MTU) {
            let reason = format!("on the emulator packets have {MTU} bytes");
            return Err(ScenarioError::at("packet-size".to_owned(), reason).into());
        }
        let layout = self.lay_out(seed)?;
        let sides = [Namespace::new()?, Namespace::new()?];
        let device = |side: usize| {
            let addresses: Vec<Ipv4Addr> = (0..layout.flows.len()).map(|flow| host(SIDES[side], flow)).collect();
            let device = sides[side].run(|| Tun::open(DEVICE, true))?;
            sides[side].attach(DEVICE, &addresses, (Ipv4Addr::UNSPECIFIED, 0)).map(|()| device)
        };
        let devices = [device(0)?, device(1)?];
        let [left, right] = &sides;
        let traffic = traffic::start(left, right, self.traffic(&layout), scenario.duration.0, record)?;
        let busy = system_cpu();
        let [left, right] = devices;
        let emulator = Emulator::start(left, right, self.emulation(&layout, record))?;
        let origin = emulator.origin();
        traffic.go(origin);
        while let Some(left) = scenario.duration.0.checked_sub(origin.elapsed()) {
            std::thread::sleep(left.min(STEP));
            progress(origin.elapsed().min(scenario.duration.0));
        }
        let busy = system_cpu().saturating_sub(busy);
        let ends = traffic.finish();
        Ok(verdict::report(self, seed, &layout, emulator.stop()?, ends, busy))
    }

    /// What the flows do.
    fn traffic(&self, layout: &Layout) -> Vec<Group> {
        let group = |(flow, range): (&crate::scenario::Flow, &Range<usize>)| {
            let flows = range.clone().zip(&layout.flows[range.clone()]).map(|(index, placed)| traffic::Flow {
                app: flow.app(),
                start: placed.start,
                stop: flow.stop.map(|stop| stop.0),
                sender: host(SIDES[0], index),
                receiver: host(SIDES[1], index),
                seed: placed.seed,
            });
            Group { stack: stack(flow), flows: flows.collect() }
        };
        self.scenario.flow.iter().zip(&layout.groups).map(group).collect()
    }

    /// What the emulator does.
    fn emulation(&self, layout: &Layout, record: bool) -> Config {
        let route = |placed: &Placed| Route {
            forward: placed.route.clone(),
            reverse: placed.reverse.into_iter().collect(),
            reverse_delay: placed.reverse_delay,
        };
        Config {
            links: layout.links.clone(),
            routes: layout.flows.iter().map(route).collect(),
            addressing: Addressing::ByHost { left: SIDES[0], right: SIDES[1] },
            duration: self.scenario.duration.0,
            measure_from: self.scenario.measure_from.0,
            seed: layout.seed,
            record,
        }
    }
}

/// The address of a flow's end.
fn host(side: Ipv4Addr, flow: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(side.to_bits() + 1 + flow as u32)
}

fn stack(flow: &crate::scenario::Flow) -> traffic::Stack {
    match &flow.command {
        Some(command) => traffic::Stack::Programs { client: command.clone(), server: flow.server.clone() },
        None => match flow.stack.unwrap_or_default() {
            Stack::Tcp => traffic::Stack::Tcp { controller: flow.controller.clone() },
            Stack::Quic => {
                let ours = || QuicControl::Lab(flow.controller_named(&flow.controller));
                traffic::Stack::Quic { control: flow.of_noq().map_or_else(ours, QuicControl::Noq) }
            }
        },
    }
}
