//! Axes: from values to positions, and where the numbers stand.

/// An axis of a plot: its label, range and scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    log: bool,
    /// The ends, as positions.
    pub(super) low: f64,
    pub(super) high: f64,
    /// Positions and what stands there.
    pub(super) ticks: Vec<(f64, String)>,
}

/// Ticks of an axis, roughly.
const TICKS: f64 = 6.0;
/// The share of an axis that two ticks of labels are apart, at least, for each character of a label.
const CHARACTER: f64 = 0.011;

impl Axis {
    /// A linear axis from `low` to `high`.
    pub fn linear(label: impl Into<String>, low: f64, high: f64) -> Axis {
        let high = if high > low { high } else { low + 1.0 };
        let step = nice_step((high - low) / TICKS);
        let decimals = (-libm::floor(libm::log10(step))).max(0.0) as usize;
        let first = libm::ceil(low / step - 1e-9) as i64;
        let ticks = (first..)
            .map(|index| index as f64 * step)
            .take_while(|value| *value <= high + step * 1e-9)
            .map(|value| (value, format!("{value:.decimals$}")))
            .collect();
        Axis { label: label.into(), log: false, low, high, ticks }
    }

    /// A logarithmic axis; `low` is more than 0.
    pub fn log(label: impl Into<String>, low: f64, high: f64) -> Axis {
        let low = if low > 0.0 { low } else { 1e-3 };
        let (low, high) = (libm::log10(low), libm::log10(high.max(low * 1.01)));
        // Over a few decades 2 and 5 have a place between the powers of ten.
        let digits: &[f64] = if high - low < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let powers = libm::floor(low) as i32..=libm::ceil(high) as i32;
        let values = powers.flat_map(|power| digits.iter().map(move |digit| digit * libm::pow(10.0, power.into())));
        let ticks = values
            .map(|value| (libm::log10(value), short(value)))
            .filter(|(position, _)| (low - 1e-9..=high + 1e-9).contains(position))
            .collect();
        Axis { label: label.into(), log: true, low, high, ticks }
    }

    /// An axis that is long enough for all `values`: a linear one that begins at 0, unless there are negative ones.
    pub fn fitting(label: impl Into<String>, log: bool, values: impl Iterator<Item = f64>) -> Axis {
        let values: Vec<f64> = values.filter(|value| value.is_finite() && (!log || *value > 0.0)).collect();
        let high = values.iter().copied().reduce(f64::max).unwrap_or(1.0);
        let low = values.iter().copied().reduce(f64::min).unwrap_or(1.0);
        if log { Axis::log(label, low / 1.1, high * 1.1) } else { Axis::linear(label, low.min(0.0), high * 1.08) }
    }

    /// The same axis with these values and labels as ticks, as many as fit without overlap.
    #[must_use]
    pub fn with_ticks(mut self, mut ticks: Vec<(f64, String)>) -> Axis {
        ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let width = self.high - self.low;
        self.ticks.clear();
        for (value, label) in ticks {
            let Some(position) = self.position(value) else { continue };
            let fits = self.ticks.last().is_none_or(|(before, text): &(f64, String)| {
                let characters = (text.chars().count() + label.chars().count()) as f64 / 2.0 + 1.0;
                position - before >= characters * CHARACTER * width
            });
            if fits {
                self.ticks.push((position, label));
            }
        }
        self
    }

    /// Where a value is; `None` for what has no place on a logarithmic axis.
    pub(super) fn position(&self, value: f64) -> Option<f64> {
        let position = if self.log { (value > 0.0).then(|| libm::log10(value))? } else { value };
        position.is_finite().then_some(position)
    }

    /// The label of the tick at a position.
    pub(super) fn tick(&self, position: f64) -> String {
        let at = self.ticks.iter().find(|(tick, _)| *tick == position);
        at.map_or(String::new(), |(_, label)| label.clone())
    }
}

/// 1, 2 or 5 times a power of ten, at least `least`.
fn nice_step(least: f64) -> f64 {
    let power = libm::pow(10.0, libm::floor(libm::log10(least)));
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= least * (1.0 - 1e-9)).unwrap_or(10.0);
    digit * power
}

fn short(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    format!("{rounded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(labels(&Axis::linear("", 0.0, 108.0)), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(labels(&Axis::linear("", 0.0, 0.9)), ["0.0", "0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(labels(&Axis::log("", 0.5, 30.0)), ["0.5", "1", "2", "5", "10", "20"]);
        assert_eq!(labels(&Axis::log("", 1.0, 1e4)), ["1", "10", "100", "1000", "10000"]);
    }

    #[test]
    fn an_axis_of_nothing_or_of_one_value_has_a_length() {
        for log in [false, true] {
            for values in [&[][..], &[5.0], &[0.0], &[f64::NAN]] {
                let axis = Axis::fitting("", log, values.iter().copied());
                assert!(axis.high > axis.low, "{axis:?}");
            }
        }
    }

    #[test]
    fn labels_that_would_overlap_are_left_out() {
        let ticks =
            [(0.0, "0%"), (1.0, "0.001%"), (50.0, "5%"), (100.0, "10%")].map(|(at, text)| (at, text.to_owned()));
        assert_eq!(labels(&Axis::linear("", 0.0, 100.0).with_ticks(ticks.to_vec())), ["0%", "5%", "10%"]);
    }
}
