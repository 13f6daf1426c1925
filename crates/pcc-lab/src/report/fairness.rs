//! How fair and how steady flows share.

use crate::sim::FlowOutcome;
use pcc::Time;
use std::time::Duration;

/// Jain's fairness index of some rates: 1 if all are equal, 1/n if one has all (Jain, Chiu and Hawe, 1984). `None` for none or only zeros.
pub fn jain(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// The mean of Jain's index over windows of `scale` in which all `flows` ran; `None` if there is no such window.
pub fn jain_at(flows: &[FlowOutcome], scale: Duration, from: Duration) -> Option<f64> {
    let start = flows.iter().map(|flow| flow.start.since(Time::ZERO)).max()?.max(from);
    let end = flows.iter().map(|flow| flow.end.since(Time::ZERO)).min()?;
    let windows = end.saturating_sub(start).as_nanos() / scale.as_nanos().max(1);
    let index = |window| {
        let begin = start + scale * window;
        let rates: Vec<f64> = flows.iter().map(|flow| flow.goodput_between(begin, begin + scale).mbps()).collect();
        jain(&rates)
    };
    let indices: Vec<f64> = (0..u32::try_from(windows).ok()?).filter_map(index).collect();
    (!indices.is_empty()).then(|| indices.iter().sum::<f64>() / indices.len() as f64)
}

/// How long a flow must stay near its fair share to have converged, and how near.
const STEADY_SECONDS: usize = 5;
const NEAR: f64 = 0.25;
/// How long it is watched afterwards.
const WATCHED_SECONDS: usize = 60;

/// Seconds from the start of a flow until each of the next five seconds was within 25 % of what is fair (Mbit/s) when the second begins, and
/// the standard deviation of the 60 seconds from then on (Allegro 2015, section 4.2.2).
pub fn convergence(flow: &FlowOutcome, fair: impl Fn(Time) -> f64) -> Option<(f64, f64)> {
    let [start, end] = [flow.start, flow.end].map(|time| time.since(Time::ZERO));
    let seconds = end.saturating_sub(start).as_secs() as usize;
    let second = Duration::from_secs(1);
    let rate = |index: usize| {
        let from = start + second * index as u32;
        flow.goodput_between(from, from + second).mbps()
    };
    let rates: Vec<f64> = (0..seconds).map(rate).collect();
    let is_near = |(index, rate): (usize, &f64)| {
        let fair = fair(flow.start + second * index as u32);
        (rate - fair).abs() <= NEAR * fair
    };
    let near: Vec<bool> = rates.iter().enumerate().map(is_near).collect();
    let time = near.windows(STEADY_SECONDS).position(|window| window.iter().all(|near| *near))?;
    let watched = &rates[time..rates.len().min(time + WATCHED_SECONDS)];
    let mean = watched.iter().sum::<f64>() / watched.len() as f64;
    let variance = watched.iter().map(|rate| (rate - mean) * (rate - mean)).sum::<f64>() / watched.len() as f64;
    Some((time as f64, variance.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fair_changes_when_others_come() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut flow = FlowOutcome::new(Time::ZERO, at(12_000), None);
        for bin in 0..120 {
            // 10 Mbit/s at first, then half of it.
            flow.deliver(at(bin * 100), if bin < 20 { 125_000 } else { 62_500 });
        }
        assert_eq!(convergence(&flow, |_| 10.0), None);
        let fair = |time: Time| if time < at(2_000) { 10.0 } else { 5.0 };
        assert_eq!(convergence(&flow, fair).map(|(time, _)| time), Some(0.0));
    }

    #[test]
    fn jain_of_known_shares() {
        assert_eq!(jain(&[5.0, 5.0, 5.0]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        // Half of the flows share all.
        assert_eq!(jain(&[2.0, 2.0, 0.0, 0.0]), Some(0.5));
        assert_eq!(jain(&[0.0]), None);
    }
}
