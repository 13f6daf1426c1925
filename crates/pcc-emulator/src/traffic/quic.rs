//! Flows on QUIC.

use super::app::{self, Output};
use super::group::{QuicControl, TrafficFlow};
use super::pacing::PacingErrors;
use super::place::Place;
use super::record::{Meter, Record};
use super::running::Running;
use super::worker::{Worker, send};
use crate::emulator::MTU;
use crate::error::EmulatorError;
use crate::quic::{self, BlockWriter, Identity, SERVER_NAME};
use crate::relay::{BUFFER, IP_UDP_HEADERS};
use noq::{ClientConfig, Connection, ServerConfig, TransportConfig, VarInt};
use pcc_lab::controller::{ControllerError, Recipe};
use pcc_quic::{Algorithm, Factory, Transport, enlarge_buffers, windows};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Instant;

/// UDP payload of a packet that just fits through the devices.
const PAYLOAD: u16 = MTU - IP_UDP_HEADERS as u16;

pub(super) fn start(
    place: &Place<'_>,
    control: &QuicControl,
    flows: Vec<TrafficFlow>,
    record: bool,
) -> Result<Running, EmulatorError> {
    let control = Control::new(control).map_err(|error| place.fault("controller", error))?;
    let identity = Identity::generate().map_err(|error| place.fault("stack", error))?;
    let server = identity.server(fixed(Transport::default().config())).map_err(|error| place.fault("stack", error))?;
    let system = |error| EmulatorError::System { doing: "can't open a UDP socket", error };
    let sockets = |addresses: Vec<Ipv4Addr>| {
        move || addresses.into_iter().map(socket).collect::<io::Result<Vec<_>>>().map_err(system)
    };
    let back = place.right.run(sockets(flows.iter().map(|flow| flow.receiver).collect()))?;
    let front = place.left.run(sockets(flows.iter().map(|flow| flow.sender).collect()))?;
    let addresses = back.iter().map(UdpSocket::local_addr).collect::<io::Result<Vec<_>>>().map_err(system)?;
    let records: Vec<Arc<Record>> = flows.iter().map(|_| Arc::default()).collect();
    let pacing = PacingErrors::default();
    let receiving: Vec<_> = flows.iter().cloned().zip(back).zip(records.clone()).collect();
    let receiver = Worker::start(place, "receiver", move |origin, tasks| {
        for ((flow, socket), record) in receiving {
            let meter = Meter::new(record.clone(), origin, &flow);
            let server = server.clone();
            tasks.spawn(async move {
                if let Err(error) = receive(socket, server, meter).await {
                    record.fail(error);
                }
            });
        }
    })?;
    let sending: Vec<_> = flows.into_iter().zip(front.into_iter().zip(addresses)).zip(records.clone()).collect();
    let errors = pacing.clone();
    let sender = Worker::start(place, "sender", move |origin, tasks| {
        for ((flow, (socket, to)), of_flow) in sending {
            let log_to = record.then(|| of_flow.clone());
            let client = identity.client(fixed(control.transport(flow.seed, origin, log_to, &errors)));
            let app = flow.clone();
            let sending = async move { transmit(socket, client.map_err(io::Error::other)?, to, app, origin).await };
            tasks.spawn(send(flow, origin, of_flow, sending));
        }
    })?;
    Ok(Running { records, sender, receiver, pacing })
}

/// A controller whose constants are known to be valid.
enum Control {
    Lab(Recipe),
    Noq(Algorithm),
}

impl Control {
    fn new(control: &QuicControl) -> Result<Control, ControllerError> {
        Ok(match control {
            QuicControl::Lab(config) => Control::Lab(config.recipe()?),
            QuicControl::Noq(algorithm) => Control::Noq(*algorithm),
        })
    }

    /// The configuration of a sender. Its controller's pacing is judged, and its events go to `log_to`.
    fn transport(
        &self,
        seed: u64,
        origin: Instant,
        log_to: Option<Arc<Record>>,
        errors: &PacingErrors,
    ) -> TransportConfig {
        let recipe = match self {
            Control::Noq(algorithm) => {
                return Transport { algorithm: *algorithm, seed: Some(seed), ..Transport::default() }.config();
            }
            Control::Lab(recipe) => recipe.clone(),
        };
        let errors = errors.clone();
        let factory = Factory::new(move |start| {
            let control = match &log_to {
                Some(record) => {
                    let (control, log) = recipe.build_logged(start.seed);
                    record.add_log(origin.elapsed().saturating_sub(start.now.since(pcc::Time::ZERO)), log);
                    control
                }
                None => recipe.build(start.seed),
            };
            errors.watch(control)
        });
        Transport::config_with(factory.with_seed(seed))
    }
}

fn fixed(mut config: TransportConfig) -> TransportConfig {
    quic::fix_mtu(&mut config, PAYLOAD);
    config
}

fn socket(address: Ipv4Addr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((address, 0))?;
    enlarge_buffers(&socket, BUFFER);
    Ok(socket)
}

/// Counts what comes until the sender ends the connection: an error here shows there.
async fn receive(socket: UdpSocket, server: ServerConfig, meter: Meter) -> io::Result<()> {
    let endpoint = quic::endpoint(socket, Some(server))?;
    let Some(incoming) = endpoint.accept().await else { return Ok(()) };
    let Ok(connection) = incoming.await else { return Ok(()) };
    tokio::spawn(windows::follow_path(&connection, windows::CAP));
    quic::receive(&connection, move |bytes| meter.add(bytes)).await;
    Ok(())
}

async fn transmit(
    socket: UdpSocket,
    client: ClientConfig,
    to: SocketAddr,
    flow: TrafficFlow,
    origin: Instant,
) -> io::Result<()> {
    let endpoint = quic::endpoint(socket, None)?;
    let connection = endpoint.connect_with(client, to, SERVER_NAME).map_err(io::Error::other)?.await?;
    tokio::spawn(windows::follow_path(&connection, windows::CAP));
    let closing = Closing(connection.clone());
    let done = app::run(flow.app, origin + flow.start, Blocks(BlockWriter::new(connection))).await;
    drop(closing);
    done
}

/// A connection that is closed when this is dropped, whatever it still has to send.
struct Closing(Connection);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close(VarInt::from_u32(0), b"");
    }
}

struct Blocks(BlockWriter);

impl Output for Blocks {
    async fn write(&mut self, bytes: usize) -> io::Result<()> {
        Ok(self.0.write(bytes).await?)
    }

    fn discard(&mut self) {
        self.0.discard();
    }

    async fn finish(self) -> io::Result<()> {
        Ok(self.0.finish().await?)
    }
}
