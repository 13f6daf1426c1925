//! How a side can be watched and changed while it runs.

use super::control::Control;
use super::metrics;
use super::report::{Event, Reporter};
use super::session::Sessions;
use crate::failure::Result;
use crate::metrics::Metrics;
use crate::peer::endpoint::local_address;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Where it listens for that, as options of the commands.
#[derive(Clone, Debug, clap::Args)]
pub struct Watching {
    /// Put the socket for pcc proxy status and weight into this folder instead of the one of this login session
    #[arg(long, value_name = "DIR")]
    control: Option<PathBuf>,
    /// Serve metrics for Prometheus at http://ADDR/metrics; a port alone is one of 127.0.0.1
    #[arg(long, value_name = "ADDR", value_parser = local_address)]
    metrics: Option<SocketAddr>,
}

/// Listens until it is dropped.
pub struct Watched {
    _control: Option<Control>,
    _metrics: Option<Metrics>,
}

impl Watching {
    /// Begins to listen.
    ///
    /// # Errors
    ///
    /// When it can't.
    pub async fn begin(self, sessions: &Arc<Sessions>, reporter: &Arc<Reporter>) -> Result<Watched> {
        let control = Control::open(self.control.as_deref(), sessions.clone())?;
        let metrics = match self.metrics {
            Some(address) => {
                let (sessions, counted) = (sessions.clone(), reporter.clone());
                let page = move || metrics::text(&sessions.statuses(), sessions.totals(), counted.counters());
                let (metrics, address) = Metrics::open(address, page).await?;
                reporter.event(&Event::Listening { kind: "metrics", address });
                if let Some(message) = Metrics::warning(address) {
                    reporter.event(&Event::Note { message: &message });
                }
                Some(metrics)
            }
            None => None,
        };
        Ok(Watched { _control: control, _metrics: metrics })
    }
}
