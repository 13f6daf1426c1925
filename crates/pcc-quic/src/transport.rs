//! A complete transport configuration for noq.

use crate::{Algorithm, Factory, Start, windows};
use noq::{AckFrequencyConfig, IdleTimeout, TransportConfig, VarInt};
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use pcc::{InitialWindows, Observer, Profile, Rate, Weight};
use std::sync::Arc;
use std::time::Duration;

/// A connection survives an outage of 40 s on a path whose round trip takes seconds.
const IDLE_TIMEOUT: VarInt = VarInt::from_u32(90_000); // ms
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// noq closes a connection ("too many gaps in stream buffer") when more than 2048 pieces of one stream wait for their reader, and more
/// than 1024 of them are left when small ones have been joined (`COMPACT_THRESHOLD` and `MAX_CHUNKS` of noq-proto). This window holds
/// fewer, whatever is lost.
const STREAM_WINDOW: VarInt = VarInt::from_u32(1 << 20);

/// Streams that a peer may have open at once: more than fit into the largest window.
const STREAMS: VarInt = VarInt::from_u32(1024);

/// Acknowledgements come sooner than this. It only matters for how soon the loss of the last packets is noticed.
const MAX_ACK_DELAY: Duration = Duration::from_millis(5);

/// A packet isn't declared lost before this many later ones have been acknowledged, so that 2 ms of jitter at 6 Gbit/s do no harm. Mostly the other
/// criterion decides, that 9/8 of a round trip have passed.
const PACKET_THRESHOLD: u32 = 1000;

/// What a connection runs with; [`Transport::config`] makes noq's configuration of it.
#[derive(Clone, Debug, Default)]
pub struct Transport {
    /// The congestion controller.
    pub algorithm: Algorithm,
    /// The rate that no path of the connection is to exceed, `None` for no limit.
    pub max_rate: Option<Rate>,
    /// The weight among connections that share a bottleneck, `None` for 1. Algorithms that [have none](Algorithm::has_weight) ignore it.
    pub weight: Option<Weight>,
    /// Counts the connections of applications that this connection carries, as in a proxy: each of them brings an initial window of its own.
    /// Clones share one count, so give each connection a count of its own (`InitialWindows::default()`): otherwise one of them
    /// would take the windows that were announced for another. `queue-target` and `bulk` follow it, other algorithms ignore it.
    pub initial_windows: InitialWindows,
    /// The seed of the controller's random choices, so that a run can be repeated. With `None` each configuration draws one, because flows that
    /// start together must not probe in step. noq's own algorithms ignore it.
    pub seed: Option<u64>,
}

impl Transport {
    /// noq's configuration with this controller, and with acknowledgement frequency, loss detection and windows that suit it.
    ///
    /// With noq's own controllers, the frequency of acknowledgements and loss detection are noq's defaults, and the windows are
    /// the same as for ours. Windows must [follow the path](windows::follow_path) if it may hold more than [`windows::START`].
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
        let of_noq: Arc<dyn ControllerFactory + Send + Sync> = match self.algorithm {
            Algorithm::Pcc(entry) => return Transport::config_with(self.factory(entry.profile(), make)),
            Algorithm::Cubic => Arc::new(CubicConfig::default()),
            Algorithm::NewReno => Arc::new(NewRenoConfig::default()),
            Algorithm::Bbr3 => Arc::new(Bbr3Config::default()),
        };
        let mut config = base();
        config.congestion_controller_factory(of_noq);
        config.max_outgoing_bytes_per_second(self.max_rate.map(|rate| rate.bytes_per_sec() as u64));
        config
    }

    /// The factory of a profile's controllers, made by `make` of the profile with all that was chosen.
    fn factory(&self, plain: Profile, make: impl FnOnce(Profile) -> Factory) -> Factory {
        let weighted = match &self.weight {
            Some(weight) => plain.clone().with_weight(weight.clone()).unwrap_or(plain),
            None => plain,
        };
        let mut factory = make(weighted.clone().with_initial_windows(self.initial_windows.clone()).unwrap_or(weighted));
        if let Some(seed) = self.seed {
            factory = factory.with_seed(seed);
        }
        if let Some(max) = self.max_rate {
            factory = factory.with_max_rate(max);
        }
        factory
    }

    /// noq's configuration for the controllers of `factory`, with all else as [`config`](Self::config) sets it for ours.
    pub fn config_with(factory: Factory) -> TransportConfig {
        // The receiver acknowledges at once what it has read at once, so that no wait of its own gets into the round-trip time.
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

#[cfg(test)]
mod tests {
    use super::*;
    use pcc::Event;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Instant;

    #[derive(Debug)]
    struct Silent;

    impl Observer for Silent {
        fn on_event(&mut self, _: &Event) {}
    }

    /// The seed that the first controller of a configuration gets.
    fn first_seed(seed: Option<u64>) -> u64 {
        let first = Arc::new(AtomicU64::new(0));
        let noted = first.clone();
        let observe = move |start: &Start| {
            noted.store(start.seed, Ordering::Relaxed);
            Box::new(Silent) as Box<dyn Observer>
        };
        let transport = Transport { seed, ..Transport::default() };
        let factory = transport.factory(Profile::default(), |profile| Factory::observed(profile, observe));
        Arc::new(factory).build(Instant::now(), 1200);
        first.load(Ordering::Relaxed)
    }

    #[test]
    fn each_configuration_draws_a_seed_unless_it_is_given_one() {
        assert_eq!([first_seed(Some(7)), first_seed(Some(7))], [7, 7]);
        assert_ne!(first_seed(None), first_seed(None));
    }
}
