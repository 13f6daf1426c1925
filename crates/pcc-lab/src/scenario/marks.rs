//! Whether ECN that is turned on at hosts can have an effect.

use super::error::ScenarioError;
use super::file::Scenario;
use super::flow::Flow;
use pcc::Ecn;

/// That each flow whose hosts have ECN turned on passes a queue that marks, in one of the cases at least, and that one of these flows takes
/// marks. The others are beside it on such hosts, as flows are that get any controller from a sweep.
pub(super) fn check(scenario: &Scenario, cases: &[&Scenario]) -> Result<(), ScenarioError> {
    let fault = |index: usize, reason: &str| Err(ScenarioError::at(format!("flow.{index}.ecn"), reason.to_owned()));
    let mut unused = None;
    let mut is_used = false;
    for (index, flow) in scenario.flow.iter().enumerate() {
        let on: Vec<(&Scenario, &Flow)> =
            cases.iter().filter_map(|case| Some((*case, case.flow.get(index).filter(|flow| flow.ecn)?))).collect();
        if on.is_empty() {
            continue;
        }
        if !on.iter().any(|(scenario, flow)| has_marks(scenario, flow)) {
            let reason = "this has no effect where no queue of the route marks; give a queue ecn = true or mark-above, or leave this out";
            return fault(index, reason);
        }
        is_used |= flow.controller.is_empty() || on.iter().any(|(_, flow)| takes_marks(flow));
        unused.get_or_insert(index);
    }
    match unused {
        Some(index) if !is_used => fault(
            index,
            "this has no effect where no controller takes marks; cubic and newreno do, for example, and PCC doesn't",
        ),
        _ => Ok(()),
    }
}

/// Whether a queue on the way can mark.
fn has_marks(scenario: &Scenario, flow: &Flow) -> bool {
    let queues = scenario.route(flow).into_iter().flatten().filter_map(|link| scenario.link[link].queue);
    queues.into_iter().any(|queue| queue.ecn || queue.mark_above.is_some())
}

/// Whether the controller does; of one that the simulator hasn't got, nobody knows.
fn takes_marks(flow: &Flow) -> bool {
    let control = flow.controller_config().ok().and_then(|config| config.build(1).ok());
    control.is_none_or(|control| control.ecn() != Ecn::Unused)
}
