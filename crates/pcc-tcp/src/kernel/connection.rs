//! Which connection is meant.

use super::{Controller, layout};
use pcc::Time;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// A connection under PCC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection {
    /// When it got its controller, on the machine's monotonic clock. Connections of different network namespaces with the
    /// same addresses differ here.
    pub began: Time,
    /// The address and port of this machine's end.
    pub local: SocketAddr,
    /// The address and port of the other end.
    pub remote: SocketAddr,
    /// The controller that sets its rate.
    pub controller: Controller,
}

impl Connection {
    pub(super) fn new(connection: &layout::Connection) -> Connection {
        let end = |ip: [u8; 16], port| SocketAddr::new(IpAddr::V6(Ipv6Addr::from(ip)).to_canonical(), port);
        Connection {
            began: Time::from_nanos(connection.began),
            local: end(connection.local, connection.local_port),
            remote: end(connection.remote, connection.remote_port),
            // `enum profile` of `bpf/utility.h`.
            controller: match connection.profile {
                0 => Controller::Vivace,
                1 => Controller::VivaceLoss,
                _ => Controller::Allegro,
            },
        }
    }
}

/// `enum phase` of `bpf/control.h`.
pub(super) fn phase(number: u32) -> pcc::Phase {
    match number {
        0 => pcc::Phase::Starting,
        1 => pcc::Phase::Probing,
        _ => pcc::Phase::Moving,
    }
}
