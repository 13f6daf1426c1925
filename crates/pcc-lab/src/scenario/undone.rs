//! What would have no effect, because a sweep sets the same key later.

use super::error::ScenarioError;
use super::sweep::{Point, places};
use toml::{Table, Value};

/// Tables of a file that are about its cases.
pub(super) const NOT_OF_A_CASE: [&str; 3] = ["sweep", "quick", "figure"];

/// A sweep's name and its points.
type Axis<'a> = (&'a str, &'a [Point]);

/// That no sweep undoes what another one sets, so that the labels of both are true, and that each changes what its cases do.
pub(super) fn check_sweeps(scenario: &Table, axes: &[Axis<'_>]) -> Result<(), ScenarioError> {
    for (index, (name, points)) in axes.iter().enumerate() {
        let fault = |reason: String| Err(ScenarioError::at(format!("sweep.{name}"), reason));
        let first = |key: &str| key.split('.').next().unwrap_or_default().to_owned();
        let of_no_case = |key: &&str| first(key) == "seeds" || NOT_OF_A_CASE.contains(&first(key).as_str());
        match keys(points).find(of_no_case) {
            Some("seeds") => {
                return fault(
                    "seeds: all cases run with the same seeds; set seeds = 3, for example, at the top".to_owned(),
                );
            }
            Some(key) => return fault(format!("{key}: this is nothing that a case has")),
            None => {}
        }
        for (earlier, others) in &axes[..index] {
            let undone = |key: &&str| points.iter().any(|point| is_undone(scenario, key, point));
            if let Some(key) = keys(others).find(undone) {
                return fault(format!(
                    "this sets what the sweep {earlier} sets, {key}, so that {earlier} would have no effect: give each sweep keys of its own"
                ));
            }
        }
    }
    Ok(())
}

/// That each setting changes some case.
pub(super) fn check_settings(
    scenario: &Table,
    axes: &[Axis<'_>],
    settings: &[(String, Value)],
) -> Result<(), ScenarioError> {
    for (key, value) in settings {
        let undoes = |(_, points): &&Axis<'_>| points.iter().all(|point| is_undone(scenario, key, point));
        if let Some((name, _)) = axes.iter().find(undoes) {
            let reason = format!(
                "this would have no effect: the sweep {name} sets it in every case; set the values of the sweep, sweep.{name}.values = [{value}]"
            );
            return Err(ScenarioError::at(String::new(), reason).set_by(None, key, value));
        }
    }
    Ok(())
}

fn keys(points: &[Point]) -> impl Iterator<Item = &str> {
    points.iter().flat_map(|point| point.set.iter().map(|(key, _)| key.as_str()))
}

/// Whether a point sets all that a key means, or the tables that it is in.
fn is_undone(scenario: &Table, key: &str, point: &Point) -> bool {
    let set: Vec<String> = point.set.iter().flat_map(|(key, _)| places(scenario, key)).collect();
    let places = places(scenario, key);
    !places.is_empty() && places.iter().all(|place| set.iter().any(|set| place.starts_with(set)))
}
