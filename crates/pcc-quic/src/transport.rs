//! A complete transport configuration for noq.

use crate::{Algorithm, Factory, Start, windows};
use noq::{AckFrequencyConfig, IdleTimeout, TransportConfig, VarInt};
use noq_proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};
use pcc::{InitialWindows, Observer, Profile, Rate, Weight};
use std::sync::Arc;
use std::time::Duration;

/// Long enough for an outage of 40 s with a round trip of seconds.
const IDLE_TIMEOUT: VarInt = VarInt::from_u32(90_000); // ms
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// noq closes a connection ("too many gaps in stream buffer") when an ordered reader has more than 1024 pieces of one
/// stream before it; this window holds fewer, whatever is lost.
const STREAM_WINDOW: VarInt = VarInt::from_u32(1 << 20);

/// Streams that a peer may have open at once: more than fit into the largest window.
const STREAMS: VarInt = VarInt::from_u32(1024);

/// Acknowledgements come sooner than this: it only bounds how soon the loss of the last packets is noticed.
const MAX_ACK_DELAY: Duration = Duration::from_millis(5);

/// Out of order by this many packets is no loss: 2 ms of jitter at 6 Gbit/s. By time, 9/8 of a round trip is.
const PACKET_THRESHOLD: u32 = 1000;

/// What a connection should run with; [`Transport::config`] turns it into noq's configuration.
#[derive(Clone, Debug, Default)]
pub struct Transport {
    /// The congestion controller.
    pub algorithm: Algorithm,
    /// A rate to stay below, `None` for no limit.
    pub max_rate: Option<Rate>,
    /// The weight among connections of its kind, `None` for 1. Only algorithms that [have one](Algorithm::has_weight) follow it.
    pub weight: Option<Weight>,
    /// Counts the connections of applications that it carries, each of which brings an initial window of its own, as in a proxy. Algorithms of ours
    /// with a window follow it, but for the scavenger.
    pub initial_windows: InitialWindows,
    /// The seed of the controller's random choices.
    pub seed: u64,
}

impl Transport {
    /// noq's configuration with the controller, acknowledgement frequency, loss detection and windows set to fit it.
    ///
    /// noq's own controllers get noq's defaults for all that bears on congestion control, and the same windows as ours.
    /// The windows then have to [follow the path](windows::follow_path).
    pub fn config(&self) -> TransportConfig {
        self.config_of(Factory::profile)
    }

    /// The same with an observer for each controller. Those of noq have nothing to observe.
    pub fn config_observed(
        &self,
        observe: impl Fn(&Start) -> Box<dyn Observer> + Send + Sync + 'static,
    ) -> TransportConfig {
        self.config_of(|profile| Factory::observed(profile, observe))
    }

    fn config_of(&self, make: impl FnOnce(Profile) -> Factory) -> TransportConfig {
        let mut config = base();
        match (self.algorithm, self.algorithm.profile()) {
            (_, Some(mut profile)) => {
                if let Some(weighted) = self.weight.clone().and_then(|weight| profile.clone().with_weight(weight)) {
                    profile = weighted;
                }
                if let Some(carrying) = profile.clone().with_initial_windows(self.initial_windows.clone()) {
                    profile = carrying;
                }
                let mut factory = make(profile).with_seed(self.seed);
                if let Some(max) = self.max_rate {
                    factory = factory.with_max_rate(max);
                }
                return Transport::config_with(factory);
            }
            (Algorithm::NewReno, _) => config.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
            (Algorithm::Bbr3, _) => config.congestion_controller_factory(Arc::new(Bbr3Config::default())),
            _ => config.congestion_controller_factory(Arc::new(CubicConfig::default())),
        };
        config.max_outgoing_bytes_per_second(self.max_rate.map(|rate| rate.bytes_per_sec() as u64));
        config
    }

    /// noq's configuration for the controllers of `factory`, set in the same way.
    pub fn config_with(factory: Factory) -> TransportConfig {
        // An acknowledgement at once for what the receiver reads at once: an undistorted RTT sample.
        let mut acks = AckFrequencyConfig::default();
        acks.ack_eliciting_threshold(VarInt::from_u32(0));
        acks.reordering_threshold(VarInt::from_u32(1));
        acks.max_ack_delay(Some(MAX_ACK_DELAY));

        let mut config = base();
        config.congestion_controller_factory(Arc::new(factory));
        config.ack_frequency_config(Some(acks));
        config.packet_threshold(PACKET_THRESHOLD);
        config
    }
}

/// What is the same for all controllers.
fn base() -> TransportConfig {
    let mut config = TransportConfig::default();
    config.send_window(windows::START);
    config.receive_window(VarInt::from_u64(windows::START).unwrap_or(VarInt::MAX));
    config.stream_receive_window(STREAM_WINDOW);
    config.max_concurrent_uni_streams(STREAMS);
    config.max_concurrent_bidi_streams(STREAMS);
    config.max_idle_timeout(Some(IdleTimeout::from(IDLE_TIMEOUT)));
    config.keep_alive_interval(Some(KEEP_ALIVE));
    config
}
