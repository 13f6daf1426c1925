//! A case: a path and what flows do on it, as a scenario.

use super::dice::Dice;
use super::path::{Base, DIMENSIONS, Feature, Part};
use super::situation::{self, Situation};
use crate::gauntlet::metric::Metric;
use crate::scenario::{Plan, ScenarioError};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write};

/// Whether cases are there to try things on, or to judge what came of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaseSet {
    /// Cases to develop with.
    Development,
    /// Cases that nobody looked at before the end.
    Final,
}

impl fmt::Display for CaseSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CaseSet::Development => "development",
            CaseSet::Final => "final",
        })
    }
}

/// One of the cases of a seed.
#[derive(Clone, Debug)]
pub struct GauntletCase {
    set: CaseSet,
    seed: u64,
    number: u32,
    base: Base,
    situation: Situation,
    /// In the order of [`DIMENSIONS`].
    features: Vec<Feature>,
}

impl GauntletCase {
    /// Draws a case. It depends on nothing but these three.
    pub fn draw(set: CaseSet, seed: u64, number: u32) -> GauntletCase {
        // The streams of development and final cases never meet.
        let stream = u64::from(number) << 1 | u64::from(set == CaseSet::Final);
        let dice = &mut Dice::new(seed, stream);
        let mut base = Base::draw(dice);
        let situation = situation::draw(dice, &base);
        base.seconds = situation.seconds;
        let features = DIMENSIONS.iter().map(|dimension| dimension.draw(dice, &base)).collect();
        GauntletCase { set, seed, number, base, situation, features }
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The rate of the bottleneck, of what changes the largest, in Mbit/s.
    pub fn rate(&self) -> f64 {
        self.base.rate
    }

    /// The round-trip time with empty queues, in ms.
    pub fn rtt(&self) -> f64 {
        self.base.rtt
    }

    /// What is measured of it.
    pub fn metrics(&self) -> &'static [Metric] {
        self.situation.metrics
    }

    /// How many `[[flow]]`s are under test; they come first.
    pub(super) fn tested(&self) -> usize {
        self.situation.tested.len()
    }

    /// What it is like, in a word for each dimension but rate and round trip.
    pub fn kinds(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let features = DIMENSIONS.iter().zip(&self.features).map(|(dimension, feature)| (dimension.name, feature.kind));
        std::iter::once(("situation", self.situation.kind)).chain(features)
    }

    /// Its name, which says what it is like: `7-24.3mbit-80.4ms-1.2bdp-loss-1.5%-beside-3-cubic`.
    pub fn name(&self) -> String {
        let tags = self.features.iter().map(|feature| &feature.tag).filter(|tag| !tag.is_empty());
        let path = tags.fold(String::new(), |path, tag| path + tag + "-");
        format!("{}-{}mbit-{}ms-{path}{}", self.number, self.base.rate, self.base.rtt, self.situation.tag)
    }

    /// The seed of its run, so that no two cases have the same random choices.
    pub fn run_seed(&self) -> u64 {
        self.number.into()
    }

    /// The case as a scenario that runs each of the controllers in it.
    pub fn scenario(&self, controllers: &[String]) -> String {
        let Situation { seconds, measure_from, .. } = self.situation;
        let mut text = format!(
            "# Case {} of the {} cases of seed {}: pcc lab run FILE --seed {}\ntitle = {:?}\nduration = \"{seconds}s\"\n",
            self.number,
            self.set,
            self.seed,
            self.run_seed(),
            self.name(),
        );
        if measure_from > 0.0 {
            text += &format!("measure-from = \"{measure_from}s\"\n");
        }
        let delay = format!("delay = \"{}ms\"\n", self.base.rtt / 2.0);
        let rate = if self.base.lte { "lte" } else { "rate" };
        text += &format!("\n[[link]]\n{rate} = \"{}mbit\"\n{delay}{}", self.base.rate, self.keys(Part::Link));
        let back = self.keys(Part::Return);
        let mut of_flows = self.keys(Part::Flow);
        self.features.iter().for_each(|feature| of_flows += feature.flow_keys);
        if !back.is_empty() {
            text += &format!("\n[[link]]\nname = \"return\"\n{delay}{back}");
            of_flows += "reverse = \"return\"\n";
        }
        for (index, keys) in self.situation.tested.iter().enumerate() {
            text += &format!("\n[[flow]]\nname = \"tested-{index}\"\n{keys}{of_flows}");
        }
        if let Some(keys) = &self.situation.others {
            text += &format!("\n[[flow]]\n{keys}{of_flows}");
        }
        text += "\n[[sweep]]\nname = \"controller\"\n";
        // Without a number or a name all flows are meant.
        let key = if self.situation.others.is_some() { "flow.tested-0.controller" } else { "flow.controller" };
        let _ = writeln!(text, "key = \"{key}\"\nvalues = {controllers:?}");
        text
    }

    /// The cases of its scenario, one for each of the controllers.
    ///
    /// # Errors
    ///
    /// When there is no such controller, or one is there twice.
    pub(super) fn plan(&self, controllers: &[String]) -> Result<Plan, ScenarioError> {
        Plan::parse(&self.name(), &self.scenario(controllers), &[])
    }

    /// The keys that belong to a part of the scenario.
    fn keys(&self, part: Part) -> String {
        let of_part = DIMENSIONS.iter().zip(&self.features).filter(|(dimension, _)| dimension.part == part);
        of_part.map(|(_, feature)| feature.keys.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::path::MAX_PACKETS;
    use super::*;
    use crate::sim::App;
    use pcc::Time;
    use std::collections::BTreeSet;

    fn cases(set: CaseSet, seed: u64) -> impl Iterator<Item = GauntletCase> {
        (0..1000).map(move |number| GauntletCase::draw(set, seed, number))
    }

    #[test]
    fn every_case_is_a_valid_scenario_within_its_bounds() {
        for case in cases(CaseSet::Development, 1).chain(cases(CaseSet::Final, 2)) {
            let plan = case.plan(&["cubic".to_owned(), "vivace-latency".to_owned()]);
            let plan = plan.unwrap_or_else(|error| panic!("{error}\n{}", case.scenario(&["cubic".to_owned()])));
            assert_eq!(plan.cases.len(), 2);
            let layout = plan.cases[1].lay_out(case.run_seed()).unwrap_or_else(|error| panic!("{error}"));
            let scenario = &plan.cases[1].scenario;
            let transfers: Option<u64> = scenario.flow[..case.tested()]
                .iter()
                .zip(&layout.groups)
                .map(|(flow, group)| match flow.app() {
                    App::Transfer { bytes } => Some(bytes * group.len() as u64),
                    _ => None,
                })
                .sum();
            let end = Time::ZERO + scenario.duration;
            let capacity = layout.links[0].capacity(Time::ZERO, end).expect("a rate");
            let packets = transfers.unwrap_or(capacity).min(capacity) as f64 / 1500.0;
            assert!(packets < MAX_PACKETS * 1.1, "{packets} packets: {}", case.name());
            assert!(scenario.duration.as_secs_f64() * 1e3 >= case.rtt() * 45.0, "{}", case.name());
            let groups = case.tested() + usize::from(case.metrics().contains(&Metric::Share));
            assert_eq!(groups, scenario.flow.len(), "{}", case.name());
        }
    }

    #[test]
    fn names_are_unique_and_the_sets_differ() {
        let names = |set, seed| cases(set, seed).map(|case| case.name()).collect::<BTreeSet<String>>();
        let [development, of_final, other] =
            [(CaseSet::Development, 1), (CaseSet::Final, 1), (CaseSet::Development, 2)]
                .map(|(set, seed)| names(set, seed));
        assert_eq!(development.len(), 1000);
        assert!(development.is_disjoint(&of_final) && development.is_disjoint(&other));
    }

    #[test]
    fn every_kind_is_drawn() {
        let kinds: BTreeSet<_> =
            cases(CaseSet::Development, 1).flat_map(|case| case.kinds().collect::<Vec<_>>()).collect();
        for (dimension, count) in
            [("situation", 11), ("queue", 9), ("loss", 4), ("change", 6), ("return", 4), ("host", 5)]
        {
            assert_eq!(kinds.iter().filter(|(name, _)| *name == dimension).count(), count, "{dimension}: {kinds:?}");
        }
    }

    /// The draw of a number must not change without anybody noticing: results would no longer be of the same cases.
    #[test]
    fn a_case_as_text() {
        insta::assert_snapshot!(GauntletCase::draw(CaseSet::Development, 1, 7).scenario(&["cubic".to_owned()]));
    }
}
