//! `--forward udp:...`: all that comes goes to the same target.

use super::flows::{Flows, Near, New};
use crate::peer::endpoint::shown;
use crate::proxy::flow::MAX_PAYLOAD;
use crate::proxy::target::Target;
use rustix::net::{SendFlags, sendto};
use std::sync::Arc;
use tokio::net::UdpSocket;

/// Carries what comes to this socket to the target. Each address that sends has a flow of its own.
pub async fn run(socket: UdpSocket, target: Target, near: Arc<Near>) {
    let socket = Arc::new(socket);
    let mut flows = Flows::new(near);
    // A byte more than can be sent, so that what is too long is seen.
    let mut buffer = [0; MAX_PAYLOAD + 1];
    loop {
        // An error is that of an earlier datagram, which nobody took.
        let Ok((len, program)) = socket.recv_from(&mut buffer).await else { continue };
        flows.send(program, &buffer[..len], || {
            let socket = socket.clone();
            let reply = move |payload: &[u8]| sendto(&socket, payload, SendFlags::DONTWAIT, &program).is_ok();
            New { from: shown(program), target: target.clone(), reply }
        });
    }
}
