//! From the start of the server to its end.

use super::certificate::{Certificate, Current, Files};
use super::limits::{Admission, Ending, MAX_CONNECTIONS};
use super::report::{Event, Reporter};
use super::service::Service;
use super::site::Site;
use super::tcp::Acceptor;
use super::{quic, sockets};
use crate::drain::Places;
use crate::failure::{Context, Failure, Kind, Result};
use crate::peer::endpoint::{reachable, shown};
use crate::signals::{Hangup, Signals};
use noq::VarInt;
use pcc_quic::Transport;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long clients may take to hear the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// What to serve, and how.
pub struct Options {
    /// The folder.
    pub folder: PathBuf,
    /// Also what has a name that begins with a dot.
    pub hidden: bool,
    /// The address to listen on; all of this machine where it is absent.
    pub listen: Option<SocketAddr>,
    /// The certificate, and where it was read; one for this run where it is absent.
    pub certificate: Option<(Certificate, Files)>,
    /// How HTTP/3 sends.
    pub transport: Transport,
}

/// Serves a folder until a signal.
pub async fn run(options: Options, reporter: Arc<Reporter>) -> Result<()> {
    let site = Site::open(&options.folder, options.hidden)?;
    let (tcp, udp) = sockets::open(options.listen)?;
    let address = udp.local_addr().doing(|| "listen")?;
    let addresses = reachable(address, &[])?;
    let (certificate, files) = match options.certificate {
        Some((certificate, files)) => (certificate, Some(files)),
        None => (Certificate::generate(&addresses)?, None),
    };
    let mut signals = Signals::of_service().doing(|| "listen for signals")?;
    let tcp_controller = sockets::tcp_controller(&tcp);
    let hangup = Hangup::new().doing(|| "listen for signals")?;
    let current = Current::new(&certificate);
    let endpoint = quic::endpoint(udp, &current, &certificate.secret(address), &options.transport)?;
    let acceptor = Acceptor::new(tcp, &current)?;
    let urls: Vec<_> = addresses.iter().map(|address| format!("https://{}/", shown(*address))).collect();
    reporter.event(&Event::Serving {
        folder: options.folder.display().to_string(),
        urls: &urls,
        pin: certificate.pin.to_string(),
        self_signed: files.is_none(),
        controller: options.transport.algorithm.to_string(),
        tcp_controller,
    });

    let reloading = tokio::spawn(reload(hangup, files, current, reporter.clone()));
    let service = Arc::new(Service::new(site, address.port(), reporter.clone()));
    let places = Places::new(MAX_CONNECTIONS);
    let admission = Admission::new(places.clone());
    let (end, ending) = Ending::new();
    let over_quic = tokio::spawn(quic::serve(endpoint.clone(), admission.clone(), service.clone(), ending.clone()));
    let over_tcp = tokio::spawn(acceptor.serve(admission, service, ending));
    signals.next().await;
    // Closes its socket, so that clients know at once.
    over_tcp.abort();
    reloading.abort();
    end.send_replace(true);
    let drained = places.drain(&mut signals, |open| reporter.event(&Event::Draining { open })).await;
    over_quic.abort();
    endpoint.close(VarInt::from_u32(0), b"the server was stopped");
    let _ = timeout(FAREWELL, endpoint.wait_idle()).await;
    if drained { Ok(()) } else { Err(Failure::new(Kind::Interrupted, "responses were cut off")) }
}

/// Reads the certificate again at each SIGHUP.
async fn reload(mut hangup: Hangup, files: Option<Files>, current: Arc<Current>, reporter: Arc<Reporter>) {
    loop {
        if hangup.next().await {
            // What the end of the terminal means is for others.
            continue;
        }
        let Some(files) = &files else {
            let message = "SIGHUP: nothing to read again, because this server made its certificate itself";
            reporter.event(&Event::Note { message });
            continue;
        };
        match files.read() {
            Ok(certificate) => {
                current.replace(&certificate);
                reporter.event(&Event::Reloaded { pin: certificate.pin.to_string() });
            }
            Err(error) => {
                let message = format!("SIGHUP: the certificate stays as it was: {error:#}");
                reporter.event(&Event::Note { message: &message });
            }
        }
    }
}
