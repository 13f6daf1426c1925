//! A scoreboard as a page that needs nothing but a browser.

use super::measure::Course;
use super::metric::Metric;
use super::objective::OBJECTIVES;
use super::score::{ControllerScore, Scoreboard, ScoredCase};
use crate::page::Page;
use serde::Serialize;
use std::collections::BTreeMap;

const PAGE: Page = Page {
    body: include_str!("page/body.html"),
    style: include_str!("page/page.css"),
    script: include_str!("page/page.js"),
};

/// What the script shows.
#[derive(Serialize)]
struct Data<'a> {
    title: String,
    objectives: Vec<&'static str>,
    controllers: &'a [String],
    dimensions: Vec<&'static str>,
    units: BTreeMap<Metric, &'static str>,
    scores: Vec<ControllerScore>,
    cases: Vec<CaseData<'a>>,
}

#[derive(Serialize)]
struct CaseData<'a> {
    number: u32,
    name: String,
    /// Mbit/s.
    rate: f64,
    /// In ms.
    rtt: f64,
    /// For each dimension.
    kinds: Vec<&'static str>,
    /// For each objective, of each controller.
    regrets: Vec<Vec<f64>>,
    /// Of each controller.
    metrics: &'a [BTreeMap<Metric, f64>],
    /// Of each controller.
    courses: &'a [Course],
    scenario: String,
}

impl Scoreboard {
    /// The scores, a map of the regrets and every case as one HTML page: no network, no other files.
    ///
    /// # Errors
    ///
    /// When a number has no form in JSON.
    pub fn page(&self) -> serde_json::Result<String> {
        let data = Data {
            title: self.title(),
            objectives: OBJECTIVES.iter().map(|objective| objective.name).collect(),
            controllers: self.controllers(),
            dimensions: self
                .cases()
                .iter()
                .take(1)
                .flat_map(|scored| scored.case.kinds().map(|(name, _)| name))
                .collect(),
            units: Metric::ALL.into_iter().map(|metric| (metric, metric.unit())).collect(),
            scores: self.scores(),
            cases: self.cases().iter().map(|scored| self.case_data(scored)).collect(),
        };
        PAGE.with(&data)
    }

    fn case_data<'a>(&self, scored: &'a ScoredCase) -> CaseData<'a> {
        let case = &scored.case;
        CaseData {
            number: case.number(),
            name: case.name(),
            rate: case.rate(),
            rtt: case.rtt(),
            kinds: case.kinds().map(|(_, kind)| kind).collect(),
            regrets: OBJECTIVES.iter().map(|objective| scored.regrets(objective)).collect(),
            metrics: &scored.metrics,
            courses: &scored.courses,
            scenario: case.scenario(self.controllers()),
        }
    }
}
