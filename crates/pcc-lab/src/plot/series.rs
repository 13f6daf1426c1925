//! Time series with no more points than can be seen.

use crate::sim::BIN;
use pcc::Rate;

/// Points of a curve at most; with two for each pixel column that is about the width of a plot.
const POINTS: usize = 900;
/// Steps of a curve of mean rates at most.
const STEPS: usize = 250;

/// Rates in Mbit/s from bytes per [`BIN`], over bins that are joined where there are too many: the middle of each in seconds, and the mean.
pub fn binned(bytes: &[u64]) -> Vec<(f64, f64)> {
    let joined = joined(bytes.len());
    let bin = BIN.as_secs_f64();
    let point = |(index, part): (usize, &[u64])| {
        let middle = (index * joined) as f64 + part.len() as f64 / 2.0;
        (middle * bin, Rate::from_bytes_over(part.iter().sum(), BIN * part.len() as u32).mbps())
    };
    bytes.chunks(joined).enumerate().map(point).collect()
}

/// How many bins of `bins` become one.
pub(super) fn joined(bins: usize) -> usize {
    bins.div_ceil(STEPS).max(1)
}

/// The same curve with fewer points: of those that are too close the lowest and the highest.
pub fn envelope(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= POINTS {
        return points.to_vec();
    }
    let extremes = |part: &[(f64, f64)]| {
        let by_height = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let ends = part.iter().min_by(by_height).zip(part.iter().max_by(by_height));
        let mut ends = ends.map_or(Vec::new(), |(low, high)| vec![*low, *high]);
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends
    };
    points.chunks((points.len() * 2).div_ceil(POINTS)).flat_map(extremes).collect()
}

/// Some of the items, evenly spread, if there are too many to see each.
pub(super) fn thinned<T>(items: Vec<T>) -> Vec<T> {
    let every = items.len().div_ceil(POINTS).max(1);
    items.into_iter().step_by(every).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_become_rates() {
        // 125 kB in 100 ms are 10 Mbit/s.
        assert_eq!(binned(&[125_000, 0]), [(0.05, 10.0), (0.15000000000000002, 0.0)]);
        let long = binned(&vec![125_000; 1001]);
        assert_eq!(long.len(), 201, "five bins in one, and one that is left");
        assert!(long.iter().all(|(_, rate)| (rate - 10.0).abs() < 1e-9));
    }

    #[test]
    fn an_envelope_keeps_peaks() {
        let points: Vec<(f64, f64)> = (0..10_000).map(|i| (f64::from(i), f64::from(u8::from(i == 5000)))).collect();
        let drawn = envelope(&points);
        assert!(drawn.len() <= POINTS && drawn.contains(&(5000.0, 1.0)));
        assert!(drawn.is_sorted_by(|a, b| a.0 <= b.0));
        assert_eq!(thinned((0..2000).collect()).len(), 667);
    }
}
