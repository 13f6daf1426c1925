//! Two hosts with an emulated path between them.

use crate::connection::Connection;
use pcc::Rate;
use pcc_emulator::emulator::{Addressing, EmulationReport, Emulator, EmulatorConfig, Route, Tun};
use pcc_emulator::host::{Namespace, To};
use pcc_lab::link::PathConfig;
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

const LEFT: Ipv4Addr = Ipv4Addr::new(10, 77, 1, 1);
const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 77, 2, 1);
/// No test takes that long.
const LONG: Duration = Duration::from_secs(1000);

/// The hosts, with the controller that connections of the left one have unless they choose another.
pub struct Hosts {
    pub left: Namespace,
    pub right: Namespace,
    /// The address of the right host.
    pub address: IpAddr,
    /// None on the host whose path is its own loopback.
    emulator: Option<Emulator>,
}

/// A link of this rate with a queue of its bandwidth-delay product, for hosts that are half of `rtt` away from each other.
pub fn link(mbps: f64, rtt: Duration) -> PathConfig {
    let rate = Rate::from_mbps(mbps);
    let queue = rate.bytes_in(rtt).max(10 * 1500);
    PathConfig { capacity: rate.into(), queue: queue.into(), ..PathConfig::delay_only(rtt / 2) }
}

impl Hosts {
    /// Two hosts with the link from left to right, and its delay on the way back.
    pub fn new(controller: &str, link: PathConfig) -> Hosts {
        let host = |address: Ipv4Addr| {
            let namespace = Namespace::new().expect("a namespace");
            let device = namespace.run(|| Tun::open("pcc0", true)).expect("a TUN device");
            namespace.attach("pcc0", &[address], &[To::ANYWHERE]).expect("an address");
            (namespace, device)
        };
        let ((left, left_device), (right, right_device)) = (host(LEFT), host(RIGHT));
        set_default(&left, controller);
        // Connections without a process and without a path end within seconds.
        left.set("net.ipv4.tcp_orphan_retries", "1").expect("a setting");
        let config = EmulatorConfig {
            routes: vec![Route { forward: vec![0], reverse_delay: link.delay, ..Route::default() }],
            links: vec![link],
            addressing: Addressing::OneFlow,
            duration: LONG,
            measure_from: Duration::ZERO,
            seed: 1,
            record: true,
        };
        let emulator = Emulator::start(left_device, right_device, config).expect("an emulator");
        Hosts { left, right, address: RIGHT.into(), emulator: Some(emulator) }
    }

    /// One host that talks with itself at this address, through loopback.
    pub fn loopback(controller: &str, address: impl Into<IpAddr>) -> Hosts {
        let left = Namespace::new().expect("a namespace");
        set_default(&left, controller);
        left.set("net.ipv6.conf.all.disable_ipv6", "0").expect("a setting");
        let right = left.try_clone().expect("the same namespace");
        Hosts { left, right, address: address.into(), emulator: None }
    }

    /// Listens on the right host.
    pub fn listen(&self) -> TcpListener {
        self.right.run(|| Ok(TcpListener::bind((self.address, 0)).expect("a listener"))).expect("the right host")
    }

    /// Does `work` on the left host.
    pub fn on_left<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.left.run(|| Ok(work())).expect("the left host")
    }

    /// Ends the path between two hosts; what happened on it.
    pub fn stop(self) -> EmulationReport {
        self.emulator.expect("a path").stop().expect("a report")
    }

    /// A connection whose sender is on the left.
    pub fn connect(&self) -> Connection {
        let listener = self.listen();
        let to = listener.local_addr().expect("an address");
        let sender = self.on_left(|| TcpStream::connect(to).expect("a connection"));
        let (receiver, _) = listener.accept().expect("a connection");
        Connection::new(sender, receiver)
    }
}

/// Sets the controller of connections that choose none.
pub fn set_default(namespace: &Namespace, controller: &str) {
    namespace.set("net.ipv4.tcp_congestion_control", controller).expect("a setting");
}
