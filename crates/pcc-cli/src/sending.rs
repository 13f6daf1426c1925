//! How this side sends, as options of the commands that do.

use crate::exit::usage;
use pcc::profiles::SCAVENGER;
use pcc::{Rate, Weight};
use pcc_lab::quantity;
use pcc_quic::{Algorithm, Transport};

/// The controller, and what it is told.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Sending {
    #[arg(
        long,
        value_name = "NAME",
        default_value_t,
        help = format!("The congestion controller of what this side sends: {}", Algorithm::names())
    )]
    controller: Algorithm,
    /// Take only what other traffic leaves, and all when there is none: the controller scavenger
    #[arg(long, conflicts_with = "controller")]
    background: bool,
    /// The share beside others like this one over the same bottleneck, in proportion to theirs, from 0.01 to 100 [default: 1]
    #[arg(long, allow_negative_numbers = true)]
    weight: Option<Weight>,
    /// Never send faster than this, for example 50mbit
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, value_parser = quantity::rate)]
    max_rate: Option<Rate>,
}

impl Sending {
    /// What connections run with, with random choices of their own.
    ///
    /// # Errors
    ///
    /// A mistake in the command line: a weight for a controller that knows none.
    pub fn transport(self) -> anyhow::Result<Transport> {
        let algorithm = if self.background { SCAVENGER.parse()? } else { self.controller };
        if self.weight.is_some() && !algorithm.has_weight() {
            let weighted: Vec<_> = Algorithm::all().filter(|other| other.has_weight()).map(Algorithm::name).collect();
            return Err(usage(format!(
                "{algorithm} knows no weights; the controllers that do: {}",
                weighted.join(", ")
            )));
        }
        Ok(Transport { algorithm, max_rate: self.max_rate, weight: self.weight, ..Transport::default() })
    }
}
