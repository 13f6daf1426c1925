//! SOCKS5's UDP ASSOCIATE (RFC 1928, 7): a socket for the datagrams of one program, each with its target before it.

use super::flows::{Flows, Near, New};
use crate::peer::endpoint::shown;
use crate::proxy::flow::MAX_PAYLOAD;
use crate::proxy::report::Event;
use crate::proxy::target::Target;
use fast_socks5::parse_udp_request;
use rustix::net::{SendFlags, sendto};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpStream, UdpSocket};

/// The longest header: a name of 255 bytes with its length, a port, and four bytes before them.
const MAX_HEADER: usize = 4 + 1 + 255 + 2;

/// The socket for a program's datagrams.
pub struct Association {
    socket: Arc<UdpSocket>,
    /// The machine that the program is on, and its port, as far as known. Others get nothing through.
    ip: IpAddr,
    port: Option<u16>,
}

impl Association {
    /// A socket for a program whose connection has come in at the first of these addresses, from the second; and where it
    /// listens. The program may have said which port it will send from, or 0.
    ///
    /// # Errors
    ///
    /// When there can be no socket.
    pub async fn bind((local, program): (IpAddr, IpAddr), port: u16) -> io::Result<(Association, SocketAddr)> {
        let socket = UdpSocket::bind((local, 0)).await?;
        let bound = SocketAddr::new(local.to_canonical(), socket.local_addr()?.port());
        let port = Some(port).filter(|port| *port != 0);
        Ok((Association { socket: Arc::new(socket), ip: program, port }, bound))
    }

    /// Carries datagrams until the program's connection ends.
    pub async fn carry(mut self, mut program: TcpStream, from: String, near: Arc<Near>) {
        let Some(_place) = near.association() else {
            let reason = "too many UDP associations are open already".to_owned();
            return near.report(&Event::Denied { from, target: None, reason });
        };
        let mut flows = Flows::new(near.clone());
        let mut dropped = 0;
        // A byte more than can be sent, so that what is too long is seen.
        let mut buffer = [0; MAX_HEADER + MAX_PAYLOAD + 1];
        let mut nothing = [0; 64];
        loop {
            tokio::select! {
                // An error is that of an earlier datagram, which the program did not take.
                received = self.socket.recv_from(&mut buffer) => if let Ok((len, sender)) = received {
                    let passed = self.is_of_program(sender) && self.pass(&buffer[..len], sender, &mut flows).await;
                    dropped += u64::from(!passed);
                },
                read = program.read(&mut nothing) => if !matches!(read, Ok(1..)) {
                    return near.report(&Event::Disassociated { from, dropped });
                },
            }
        }
    }

    /// The first datagram says which port is the program's.
    fn is_of_program(&mut self, sender: SocketAddr) -> bool {
        sender.ip() == self.ip && *self.port.get_or_insert(sender.port()) == sender.port()
    }

    async fn pass(&self, datagram: &[u8], sender: SocketAddr, flows: &mut Flows<Target>) -> bool {
        // Fragments are dropped, as RFC 1928 wants of those that don't support them.
        let Ok((0, address, payload)) = parse_udp_request(datagram).await else { return false };
        let (host, port) = address.into_string_and_port();
        let Ok(target) = Target::new(&host, port) else { return false };
        flows.send(target.clone(), payload, || {
            // What comes back has the same header.
            let header = datagram[..datagram.len() - payload.len()].to_vec();
            let socket = self.socket.clone();
            let reply = move |payload: &[u8]| {
                let datagram = [&header, payload].concat();
                sendto(&socket, &datagram, SendFlags::DONTWAIT, &sender).is_ok()
            };
            New { from: shown(sender), target, reply }
        })
    }
}
