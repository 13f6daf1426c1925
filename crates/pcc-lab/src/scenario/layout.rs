//! What a seed makes of a case: links and flows, with what is drawn at random.

use super::error::ScenarioError;
use super::fault::Fault;
use super::plan::Case;
use crate::link::PathConfig;
use std::time::Duration;

/// Where the flows of a case run, and when: what a seed makes of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Layout {
    /// The links, with what is drawn at random.
    pub links: Vec<PathConfig>,
    /// All flows, group after group.
    pub flows: Vec<Placed>,
    /// Per `[[flow]]`, the range of its flows.
    pub groups: Vec<std::ops::Range<usize>>,
    /// The seed of the links' random choices.
    pub seed: u64,
}

/// One of the flows of a `[[flow]]`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Placed {
    /// When it begins, from the start of the run.
    pub start: Duration,
    /// The links that its packets pass.
    pub route: Vec<usize>,
    /// The link that its acknowledgements pass, if any.
    pub reverse: Option<usize>,
    /// The delay of the acknowledgements, besides that of `reverse`.
    pub reverse_delay: Duration,
    /// The seed of its controller.
    pub seed: u64,
}

impl Case {
    /// Links and flows, with what is drawn from a seed.
    ///
    /// # Errors
    ///
    /// When a trace can't be read, or a load of a link that changes at random comes to more transfers than can be simulated.
    pub fn lay_out(&self, seed: u64) -> Result<Layout, ScenarioError> {
        let scenario = &self.scenario;
        let mut seeds = fastrand::Rng::with_seed(seed);
        let [mut of_links, mut of_flows] = [seeds.fork(), seeds.fork()];
        let links = scenario.links(&self.folder, &mut of_links)?;
        let (mut flows, mut groups) = (Vec::new(), Vec::new());
        for (index, flow) in scenario.flow.iter().enumerate() {
            let at = |fault| of_flow(index, fault);
            let first = flows.len();
            let route = scenario.route(flow).map_err(at)?;
            let transfers = scenario.transfers(flow, &links).map_err(at)?;
            for start in scenario.starts(flow, transfers, &mut of_flows) {
                flows.push(Placed {
                    start,
                    route: route.clone(),
                    reverse: scenario.reverse(flow).map_err(at)?,
                    reverse_delay: scenario.reverse_delay(flow).map_err(at)?,
                    seed: of_flows.u64(..),
                });
            }
            groups.push(first..flows.len());
        }
        Ok(Layout { links, flows, groups, seed: seeds.u64(..) })
    }
}

/// A fault of a `[[flow]]`, by its index.
pub(crate) fn of_flow(index: usize, (key, reason): Fault) -> ScenarioError {
    ScenarioError::at(format!("flow.{index}.{key}"), reason)
}
