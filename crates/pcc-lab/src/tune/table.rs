//! Trials as text.

use super::{Constant, Trial};
use crate::report::aligned;

/// What each trial changed and what came of it, in percent, and the constants that were the best.
pub fn table(constants: &[Constant], trials: &[Trial]) -> String {
    let heading = ["constant", "value", "regret %", "change", "+-", ""].map(str::to_owned).to_vec();
    let rows = trials.iter().map(|trial| row(constants, trial));
    let mut text = aligned(&[heading].into_iter().chain(rows).collect::<Vec<_>>(), 1);
    if let Some(best) = trials.iter().rfind(|trial| trial.taken) {
        text += "\n";
        for (constant, value) in constants.iter().zip(&best.values) {
            text += &format!("set.{} = {value:?}\n", constant.key);
        }
    }
    text
}

fn row(constants: &[Constant], trial: &Trial) -> Vec<String> {
    let percent = |share: f64| format!("{:.2}", share * 100.0);
    let Some(key) = &trial.constant else {
        return ["as it is", "", &percent(trial.cost), "", "", ""].map(str::to_owned).to_vec();
    };
    let value = constants.iter().zip(&trial.values).find(|(constant, _)| constant.key == *key);
    let change = trial.change.map_or([String::new(), String::new()], |change| {
        [format!("{:+.2}", change.mean * 100.0), percent(change.error)]
    });
    let taken = if trial.taken { "taken" } else { "" };
    let [key, value] = [key.clone(), value.map_or(String::new(), |(_, value)| value.to_string())];
    [key, value, percent(trial.cost)].into_iter().chain(change).chain([taken.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Change;
    use super::*;

    #[test]
    fn trials_and_the_best_of_them() {
        let constants = ["a.b=1..4", "c=0.1..1"].map(|text| text.parse().unwrap());
        let first = Trial { constant: None, values: vec![2.0, 0.5], cost: 0.1, change: None, taken: true };
        let change = Some(Change { mean: -0.01, error: 0.002 });
        let second = Trial { constant: Some("c".to_owned()), values: vec![2.0, 0.25], cost: 0.09, change, taken: true };
        insta::assert_snapshot!(table(&constants, &[first, second]));
    }
}
