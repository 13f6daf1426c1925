//! How a command sends, as options that commands share.

use crate::exit::usage;
use pcc::profiles::SCAVENGER;
use pcc::{Rate, Weight};
use pcc_lab::quantity;
use pcc_quic::{Algorithm, Transport};

/// The congestion controller of each connection.
#[derive(Clone, Debug, clap::Args)]
pub struct Sending {
    #[arg(
        long,
        value_name = "NAME",
        default_value_t,
        help = format!("The congestion controller: {}", Algorithm::names())
    )]
    controller: Algorithm,
    /// Take only what other traffic leaves, and all when there is none: the controller scavenger
    #[arg(long, conflicts_with = "controller")]
    background: bool,
    /// The share beside other transfers over the same bottleneck, in proportion to theirs, from 0.01 to 100 [default: 1]
    #[arg(long)]
    weight: Option<Weight>,
    /// Never send faster than this, for example 50mbit
    #[arg(long, value_name = "RATE", value_parser = quantity::rate)]
    max_rate: Option<Rate>,
}

impl Sending {
    /// What connections run with.
    ///
    /// # Errors
    ///
    /// When the controller doesn't know what is asked of it.
    pub fn transport(self) -> anyhow::Result<Transport> {
        let algorithm = if self.background { SCAVENGER.parse()? } else { self.controller };
        if self.weight.is_some() && !algorithm.has_weight() {
            let weighted: Vec<_> = Algorithm::all().filter(|other| other.has_weight()).map(Algorithm::name).collect();
            return Err(usage(format!(
                "{algorithm} knows no weights; the controllers that do: {}",
                weighted.join(", ")
            )));
        }
        Ok(Transport { algorithm, max_rate: self.max_rate, weight: self.weight, seed: fastrand::u64(..) })
    }
}
