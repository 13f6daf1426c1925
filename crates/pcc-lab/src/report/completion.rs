//! Completion times of transfers, of which some may not be complete.

/// The mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The value that a share `quantile` doesn't exceed, of how long each lasted and whether it is complete; `None` if too few are complete to tell.
///
/// What isn't complete lasts longer than it has so far, and is taken to be like those that did (Kaplan and Meier, 1958). If all are complete,
/// this is the nearest rank.
pub fn quantile(times: &[(f64, bool)], quantile: f64) -> Option<f64> {
    let mut times = times.to_vec();
    // Of equal times, what is complete comes first.
    times.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    // How many of all are known, or taken, to have ended by now, and what each that is left stands for.
    let (all, mut ended, mut each) = (times.len() as f64, 0.0, 1.0);
    for (index, (time, is_complete)) in times.iter().enumerate() {
        if *is_complete {
            ended += each;
            // No more than rounding is missing.
            if ended >= quantile * all - 1e-6 {
                return Some(*time);
            }
        } else {
            let left = all - index as f64;
            each *= left / (left - 1.0);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_complete_transfers_it_is_the_nearest_rank() {
        let times: Vec<(f64, bool)> = (1..=20).map(|time| (f64::from(time), true)).collect();
        assert_eq!([0.5, 0.95, 1.0].map(|share| quantile(&times, share)), [Some(10.0), Some(19.0), Some(20.0)]);
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn what_is_not_complete_takes_longer() {
        // Two of five are done soon, three run until the end.
        let slow = [(1.0, true), (2.0, true), (30.0, false), (30.0, false), (30.0, false)];
        assert_eq!([0.4, 0.5].map(|share| quantile(&slow, share)), [Some(2.0), None]);
        // One that has only begun says nothing.
        let late = [(0.5, false), (1.0, true), (2.0, true), (3.0, true)];
        assert_eq!(quantile(&late, 0.5), Some(2.0));
        assert_eq!(quantile(&[(0.5, false)], 0.5), None);
    }
}
