//! Flows on the kernel's TCP.

use super::app::{self, Output};
use super::group::TrafficFlow;
use super::pacing::PacingErrors;
use super::place::Place;
use super::record::{Meter, Record};
use super::running::Running;
use super::worker::{Worker, send};
use crate::error::EmulatorError;
use rustix::net::sockopt::set_tcp_congestion;
use socket2::SockRef;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// The controllers that the kernel has, by name.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Bytes that are read or written at once.
const BUFFER: usize = 256 * 1024;

/// Bytes that the kernel takes before it can send them. With more, what an application no longer wants to send would go out for long.
const UNSENT: u32 = 128 * 1024;

static DATA: [u8; BUFFER] = [0x5a; BUFFER];

pub(super) fn start(place: &Place<'_>, controller: &str, flows: Vec<TrafficFlow>) -> Result<Running, EmulatorError> {
    let listening = |error| EmulatorError::System { doing: "can't listen for TCP connections", error };
    let listeners = place.right.run(|| flows.iter().map(listen).collect::<io::Result<Vec<_>>>().map_err(listening))?;
    let addresses = listeners.iter().map(TcpListener::local_addr).collect::<io::Result<Vec<_>>>().map_err(listening)?;
    let sockets =
        place.left.run(|| flows.iter().map(|flow| socket(place, controller, flow)).collect::<Result<Vec<_>, _>>())?;
    let records: Vec<Arc<Record>> = flows.iter().map(|_| Arc::default()).collect();
    let receiving: Vec<_> = flows.iter().cloned().zip(listeners).zip(records.clone()).collect();
    let receiver = Worker::start(place, "receiver", move |origin, tasks| {
        for ((flow, listener), record) in receiving {
            let meter = Meter::new(record.clone(), origin, &flow);
            tasks.spawn(async move {
                if let Err(error) = receive(listener, meter).await {
                    record.fail(error);
                }
            });
        }
    })?;
    let sending: Vec<_> = flows.into_iter().zip(sockets.into_iter().zip(addresses)).zip(records.clone()).collect();
    let sender = Worker::start(place, "sender", move |origin, tasks| {
        for ((flow, (socket, to)), record) in sending {
            let sending = transmit(socket, to, flow.clone(), origin);
            tasks.spawn(send(flow, origin, record, sending));
        }
    })?;
    Ok(Running { records, sender, receiver, pacing: PacingErrors::default() })
}

fn listen(flow: &TrafficFlow) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((flow.receiver, 0))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn socket(place: &Place<'_>, controller: &str, flow: &TrafficFlow) -> Result<TcpSocket, EmulatorError> {
    let system = |error| EmulatorError::System { doing: "can't open a TCP socket", error };
    let socket = TcpSocket::new_v4().map_err(system)?;
    socket.bind((flow.sender, 0).into()).map_err(system)?;
    set_tcp_congestion(&socket, controller).map_err(|error| {
        let available = std::fs::read_to_string(AVAILABLE).unwrap_or_default();
        let available = available.split_whitespace().collect::<Vec<_>>().join(", ");
        place.fault("controller", format!("the kernel has no TCP \"{controller}\" ({error}); it has {available}"))
    })?;
    Ok(socket)
}

/// Counts what comes until the sender has no more.
async fn receive(listener: TcpListener, meter: Meter) -> io::Result<()> {
    let (mut stream, _) = tokio::net::TcpListener::from_std(listener)?.accept().await?;
    let mut buffer = vec![0; BUFFER];
    // A sender that stops resets the connection; why it did shows there.
    while let Ok(bytes @ 1..) = stream.read(&mut buffer).await {
        meter.add(bytes as u64);
    }
    Ok(())
}

async fn transmit(socket: TcpSocket, to: SocketAddr, flow: TrafficFlow, origin: Instant) -> io::Result<()> {
    let stream = socket.connect(to).await?;
    stream.set_nodelay(true)?;
    SockRef::from(&stream).set_tcp_notsent_lowat(UNSENT)?;
    // A flow that stops sends no more, also not what the kernel has of it.
    stream.set_zero_linger()?;
    app::run(flow.app, origin + flow.start, Connection(stream)).await
}

struct Connection(TcpStream);

impl Output for Connection {
    async fn write(&mut self, bytes: usize) -> io::Result<()> {
        self.0.write_all(DATA.get(..bytes).unwrap_or(&DATA)).await
    }

    /// The kernel doesn't give back data that was written; it holds little that isn't sent ([`UNSENT`]).
    fn discard(&mut self) {}

    async fn finish(mut self) -> io::Result<()> {
        self.0.shutdown().await?;
        // The receiver closes when it has read everything.
        self.0.read(&mut [0]).await.map(drop)
    }
}
