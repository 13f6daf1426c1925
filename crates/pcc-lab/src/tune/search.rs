//! Pattern search (Hooke and Jeeves, "Direct search" solution of numerical and statistical problems, J. ACM 8, 1961), on a logarithmic scale
//! and for costs with noise: a change is taken only if it is better by more than its standard error.

use serde::Serialize;
use std::str::FromStr;

/// A constant to vary.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Its key, such as `control.drain.every`.
    pub key: String,
    /// The smallest value, more than 0.
    pub least: f64,
    /// The largest value.
    pub most: f64,
}

/// `control.drain.every=1..4`
impl FromStr for Constant {
    type Err = String;

    fn from_str(text: &str) -> Result<Constant, String> {
        let parts = text.split_once('=').and_then(|(key, range)| Some((key.trim(), range.split_once("..")?)));
        let number = |text: &str| text.trim().parse().ok().filter(|number: &f64| number.is_finite());
        match parts.map(|(key, (least, most))| (key, number(least), number(most))) {
            Some((key, Some(least), Some(most))) if !key.is_empty() && 0.0 < least && least < most => {
                Ok(Constant { key: key.to_owned(), least, most })
            }
            _ => Err("write a constant and two numbers above 0, such as control.drain.every=1..4".to_owned()),
        }
    }
}

/// The values that were tried, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// The constant that was changed; none in the first trial.
    pub constant: Option<String>,
    /// The values of all of them, in their order.
    pub values: Vec<f64>,
    /// The mean cost.
    pub cost: f64,
    /// How much more that is than the best one before.
    pub change: Option<Change>,
    /// Whether it is the best one from now on.
    pub taken: bool,
}

/// A mean difference of costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Less than 0 is better.
    pub mean: f64,
    /// The standard error of the mean.
    pub error: f64,
}

/// The part of the range that a constant is changed by at first, and the least one.
const WIDEST: f64 = 0.25;
const NARROWEST: f64 = 0.0625;

/// Varies `constants` from `start`, at most `trials` times. `cost` says what values cost in each of the same cases; `show` gets each trial.
///
/// # Errors
///
/// The first error of `cost` or `show`.
pub fn search<E>(
    constants: &[Constant],
    start: &[f64],
    trials: usize,
    mut cost: impl FnMut(&[f64]) -> Result<Vec<f64>, E>,
    mut show: impl FnMut(&Trial) -> Result<(), E>,
) -> Result<Vec<Trial>, E> {
    let mut best = start.to_vec();
    let mut costs = cost(&best)?;
    let first = Trial { constant: None, values: best.clone(), cost: mean(&costs), change: None, taken: true };
    show(&first)?;
    let mut all = vec![first];
    let mut width = WIDEST;
    while width >= NARROWEST {
        let mut any = false;
        for (index, constant) in constants.iter().enumerate() {
            for factor in [1.0, -1.0].map(|sign| (constant.most / constant.least).powf(sign * width)) {
                let mut values = best.clone();
                values[index] = rounded((best[index] * factor).clamp(constant.least, constant.most));
                if all.iter().any(|trial| trial.values == values) {
                    continue;
                }
                if all.len() > trials {
                    return Ok(all);
                }
                let new = cost(&values)?;
                let change = difference(&new, &costs);
                let taken = change.mean < -change.error;
                let constant = Some(constant.key.clone());
                let trial = Trial { constant, values: values.clone(), cost: mean(&new), change: Some(change), taken };
                show(&trial)?;
                all.push(trial);
                if taken {
                    (best, costs, any) = (values, new, true);
                    break;
                }
            }
        }
        if !any {
            width /= 2.0;
        }
    }
    Ok(all)
}

/// To three digits: nobody needs more of a constant.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

fn mean(costs: &[f64]) -> f64 {
    costs.iter().sum::<f64>() / costs.len().max(1) as f64
}

/// How much more `new` costs than `old`, case by case.
fn difference(new: &[f64], old: &[f64]) -> Change {
    let differences: Vec<f64> = new.iter().zip(old).map(|(new, old)| new - old).collect();
    let of_all = mean(&differences);
    let squares: f64 = differences.iter().map(|difference| (difference - of_all).powi(2)).sum();
    let count = differences.len() as f64;
    Change { mean: of_all, error: (squares / (count - 1.0).max(1.0) / count.max(1.0)).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn constant(key: &str) -> Constant {
        format!("{key}=0.1..10").parse().unwrap()
    }

    /// The trials of a search from 1, 1, where a case costs by how far the first constant is from 3, and the second changes nothing.
    fn trials(most: usize) -> Vec<Trial> {
        let cost = |values: &[f64]| -> Result<Vec<f64>, Infallible> {
            Ok((0..10).map(|case| f64::from(case) + (values[0] / 3.0).ln().abs()).collect())
        };
        let Ok(trials) = search(&[constant("a"), constant("b")], &[1.0, 1.0], most, cost, |_| Ok(()));
        trials
    }

    #[test]
    fn the_best_is_found_and_what_changes_nothing_stays() {
        let all = trials(100);
        let best = all.iter().rfind(|trial| trial.taken).unwrap();
        assert!((best.values[0] / 3.0).ln().abs() < 0.3, "{best:?}");
        assert_eq!(best.values[1], 1.0);
    }

    #[test]
    fn there_are_as_many_trials_as_were_asked_for() {
        assert_eq!(trials(4).len(), 1 + 4);
    }

    #[test]
    fn chance_is_no_improvement() {
        // A tenth better on the average of ten cases, but by nine times as much in one and worse in the others.
        let mut costs = vec![vec![1.0; 10]];
        costs.push((0..10).map(|case| if case == 0 { -0.9 } else { 1.1 }).collect());
        let cost = |values: &[f64]| Ok::<_, Infallible>(costs[usize::from(values[0] != 1.0)].clone());
        let Ok(all) = search(&[constant("a")], &[1.0], 10, cost, |_| Ok(()));
        assert!(all.len() > 1 && all[1..].iter().all(|trial| !trial.taken && trial.change.unwrap().mean < 0.0));
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!("a.b=1..4".parse(), Ok(Constant { key: "a.b".to_owned(), least: 1.0, most: 4.0 }));
        for wrong in ["a", "a=1", "a=0..1", "a=2..1", "=1..2", "a=1..x", "a=1..inf"] {
            assert!(wrong.parse::<Constant>().is_err(), "{wrong}");
        }
    }
}
