//! A complete transport configuration for noq.

use crate::Algorithm;
use noq::TransportConfig;
use noq_proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};
use pcc::Rate;
use std::sync::Arc;

/// What a connection should run with; [`Transport::config`] turns it into noq's configuration.
#[derive(Clone, Debug, Default)]
pub struct Transport {
    /// The congestion controller.
    pub algorithm: Algorithm,
    /// A rate never to exceed, `None` for no limit.
    pub max_rate: Option<Rate>,
    /// The seed of the controller's random choices.
    pub seed: u64,
}

impl Transport {
    /// noq's configuration with the controller, acknowledgement frequency, loss detection and windows set to fit it.
    pub fn config(&self) -> TransportConfig {
        let mut config = TransportConfig::default();
        match self.algorithm {
            Algorithm::NewReno => config.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
            Algorithm::Bbr3 => config.congestion_controller_factory(Arc::new(Bbr3Config::default())),
            _ => config.congestion_controller_factory(Arc::new(CubicConfig::default())),
        };
        config
    }
}
