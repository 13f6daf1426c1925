//! A host on each side of a link.

use nix::sys::socket::{setsockopt, sockopt};
use pcc_emulator::EmulatorError;
use pcc_emulator::emulator::{Addressing, Emulator, EmulatorConfig, Route, Tun};
use pcc_emulator::host::{Namespace, To};
use pcc_lab::link::PathConfig;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

/// What sockets hold at most.
const BUFFER: usize = 64 << 20;

/// After this nothing counts; no measurement takes longer.
const LONGEST: Duration = Duration::from_secs(100);

const LEFT: Ipv4Addr = Ipv4Addr::new(10, 77, 1, 1);
const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 77, 2, 1);
const PORT: u16 = 5000;

/// The sockets of a sender and a receiver with an emulated link between them.
pub struct Hosts {
    pub sender: UdpSocket,
    pub receiver: UdpSocket,
    pub emulator: Emulator,
}

impl Hosts {
    pub fn new(link: PathConfig) -> Result<Hosts, EmulatorError> {
        let (left_tun, sender) = host("left", LEFT)?;
        let (right_tun, receiver) = host("right", RIGHT)?;
        sender.connect((RIGHT, PORT)).map_err(|error| EmulatorError::System { doing: "connecting a socket", error })?;
        let config = EmulatorConfig {
            links: vec![link],
            routes: vec![Route { forward: vec![0], ..Route::default() }],
            addressing: Addressing::OneFlow,
            duration: LONGEST,
            measure_from: Duration::ZERO,
            seed: 1,
            record: true,
        };
        Ok(Hosts { sender, receiver, emulator: Emulator::start(left_tun, right_tun, config)? })
    }
}

/// A host with one device, through which it reaches all others, and a socket.
fn host(device: &str, address: Ipv4Addr) -> Result<(Tun, UdpSocket), EmulatorError> {
    let namespace = Namespace::new()?;
    let tun = namespace.run(|| Tun::open(device, true))?;
    namespace.attach(device, &[address], &[To::ANYWHERE])?;
    let socket = namespace.run(|| {
        UdpSocket::bind((address, PORT)).map_err(|error| EmulatorError::System { doing: "making a socket", error })
    })?;
    let set = || {
        socket.set_read_timeout(Some(Duration::from_millis(200)))?;
        setsockopt(&socket, sockopt::RcvBufForce, &BUFFER)?;
        // So that the kernel neither cuts nor copies what it needn't, and says when a packet came.
        setsockopt(&socket, sockopt::UdpGroSegment, &true)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        Ok(())
    };
    set().map_err(|error| EmulatorError::System { doing: "setting up a socket", error })?;
    Ok((tun, socket))
}
