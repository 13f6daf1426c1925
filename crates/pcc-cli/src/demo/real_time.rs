//! A run in real time, over a relay of UDP datagrams.

use super::endpoint::{Receiver, SenderConfig, SenderReport, send};
use super::outcome::{Machine, Outcome};
use super::path::Path;
use crate::qlog::Qlog;
use anyhow::{Context, anyhow};
use pcc_emulator::quic::Identity;
use pcc_emulator::realtime::Lateness;
use pcc_emulator::relay::{Relay, RelayConfig, RelayReport};
use pcc_lab::virtual_quic::BulkProgress;
use pcc_quic::Algorithm;
use std::time::Duration;
use tokio::sync::mpsc;

/// Runs a controller over `path`; `seed` is that of the path's losses and of the controller's random choices. The sender logs into
/// `qlog`. `watch` sees each sample
/// as it comes. Ends early and cleanly when the future is dropped.
pub async fn run(
    algorithm: Algorithm,
    path: &Path,
    duration: Duration,
    seed: u64,
    qlog: Option<&Qlog>,
    mut watch: impl FnMut(&BulkProgress),
) -> anyhow::Result<Outcome> {
    let identity = Identity::generate()?;
    let receiver = Receiver::start(&identity, algorithm, seed, path)?;
    let relay =
        Relay::start(&RelayConfig { receiver: receiver.addr, forward: path.forward(), reverse: path.reverse(), seed })
            .context("can't start the relay")?;
    let (sampler, mut coming) = mpsc::unbounded_channel();
    let received = receiver.received.clone();
    let sender =
        send(&identity, SenderConfig { algorithm, seed, path, to: relay.addr(), duration, received, qlog }, sampler)?;
    let mut samples = vec![BulkProgress::default()];
    while let Some(sample) = coming.recv().await {
        watch(&sample);
        samples.push(sample);
    }
    // Nobody holds the other end of the channel: the thread is ending.
    let sender = sender.join().map_err(|_| anyhow!("the sender panicked"))??;
    let relay = relay.stop()?;
    let receiver_cpu = receiver.stop();
    let outcome = Outcome::new(algorithm, seed, path, relay.forward, samples);
    Ok(Outcome { machine: Some(Machine { sender, receiver_cpu, relay }), ..outcome })
}

/// noq's pacing makes up for a sender that wakes up this late, and no later (`connection/pacing.rs`: a burst of 2 ms).
const PACING_TOLERATES: Duration = Duration::from_millis(2);

/// Why a run says more about this machine than about the controller, if it does. `rtt` is the round trip time of the path.
pub fn doubt(sender: &SenderReport, relay: &RelayReport, rtt: Duration) -> Option<String> {
    if relay.lateness.p99 > Lateness::tolerable(rtt) {
        let late = relay.lateness.p99.as_secs_f64() * 1e3;
        return Some(format!("1 % of the packets left the emulated path more than {late:.1} ms late"));
    }
    if sender.lateness.p99 > PACING_TOLERATES {
        let late = sender.lateness.p99.as_secs_f64() * 1e3;
        return Some(format!(
            "the sender woke up more than {late:.1} ms late 1 % of the time, too late to keep its rate"
        ));
    }
    let unasked = relay.missed + relay.unsent;
    (unasked > 0).then(|| format!("this machine lost {unasked} packets on top of those that the path lost"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_lab::link::Counters;

    #[test]
    fn a_late_or_lossy_relay_casts_doubt() {
        let punctual = Lateness { p50: Duration::ZERO, p99: Duration::from_micros(80), max: Duration::from_secs(1) };
        let late = Lateness { p99: Duration::from_micros(2500), ..punctual };
        let mut sender = SenderReport { cpu: Duration::ZERO, lateness: punctual };
        let mut relay = RelayReport {
            forward: Counters::default(),
            reverse: Counters::default(),
            lateness: punctual,
            missed: 0,
            unsent: 0,
            cpu: Duration::ZERO,
        };
        let (short, long) = (Duration::from_millis(30), Duration::from_millis(800));
        assert_eq!(doubt(&sender, &relay, short), None);
        relay.missed = 3;
        assert!(doubt(&sender, &relay, long).is_some_and(|why| why.contains("lost 3 packets")));
        relay = RelayReport { missed: 0, lateness: late, ..relay };
        assert!(doubt(&sender, &relay, short).is_some_and(|why| why.contains("2.5 ms late")));
        assert_eq!(doubt(&sender, &relay, long), None);
        sender.lateness = late;
        assert!(
            doubt(&sender, &relay, long).is_some_and(|why| why.contains("the sender woke up more than 2.5 ms late"))
        );
    }
}
