//! Network namespaces without names: hosts of an emulated network that are gone with the last process that uses them, however it
//! ended.

use crate::error::EmulatorError;
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, setns, unshare};
use rtnetlink::packet_route::link::LinkAttribute;
use rtnetlink::{Handle, LinkUnspec, RouteMessageBuilder};
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// The file by which a thread opens its own network namespace.
const OF_THIS_THREAD: &str = "/proc/thread-self/ns/net";

/// What hosts need for paths that hold much, and for runs that don't know of each other.
const SETTINGS: [(&str, &str); 4] = [
    // Up to 256 MB in flight.
    ("ipv4/tcp_rmem", "4096 131072 268435456"),
    ("ipv4/tcp_wmem", "4096 131072 268435456"),
    // Else a connection begins with what an earlier one to the same host learned.
    ("ipv4/tcp_no_metrics_save", "1"),
    // Else router solicitations get into the traffic.
    ("ipv6/conf/all/disable_ipv6", "1"),
];

/// A route: which destinations are reached through a device.
#[derive(Clone, Copy, Debug)]
pub struct To {
    /// The network that it goes to, ...
    pub network: Ipv4Addr,
    /// ... and how many bits of it count.
    pub prefix: u8,
    /// The address that it comes from, unless a program chooses one.
    pub source: Option<Ipv4Addr>,
}

impl To {
    /// Everything that has no other route.
    pub const ANYWHERE: To = To { network: Ipv4Addr::UNSPECIFIED, prefix: 0, source: None };

    /// What goes to one host, from this address unless a program chooses another.
    pub fn host(host: Ipv4Addr, source: Ipv4Addr) -> To {
        To { network: host, prefix: 32, source: Some(source) }
    }
}

/// A network namespace. The kernel removes it when it is no longer used.
#[derive(Debug)]
pub struct Namespace {
    fd: OwnedFd,
}

impl Namespace {
    /// Makes a new namespace with its loopback interface up.
    ///
    /// # Errors
    ///
    /// When this process isn't allowed to.
    pub fn new() -> Result<Namespace, EmulatorError> {
        on_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|error| EmulatorError::Namespace(error.into()))?;
            for (name, value) in SETTINGS {
                // A kernel without IPv6 has nothing to turn off, and smaller buffers show in the results only on long fat paths.
                let _ = std::fs::write(format!("/proc/sys/net/{name}"), value);
            }
            with_netlink("lo", async |handle: Handle| {
                handle.link().set(LinkUnspec::new_with_name("lo").up().build()).execute().await
            })?;
            Namespace::current()
        })
    }

    /// The namespace of this thread.
    ///
    /// # Errors
    ///
    /// When there is no /proc.
    pub fn current() -> Result<Namespace, EmulatorError> {
        Namespace::open(Path::new(OF_THIS_THREAD))
    }

    /// The namespace behind a file of /proc/PID/ns or /run/netns.
    ///
    /// # Errors
    ///
    /// When there is no such file, or this process may not open it.
    pub fn open(path: &Path) -> Result<Namespace, EmulatorError> {
        let file = File::open(path).map_err(EmulatorError::Namespace)?;
        Ok(Namespace { fd: file.into() })
    }

    /// Another handle of the same namespace.
    ///
    /// # Errors
    ///
    /// When the process is out of file descriptors.
    pub fn try_clone(&self) -> Result<Namespace, EmulatorError> {
        Ok(Namespace { fd: self.fd.try_clone().map_err(EmulatorError::Namespace)? })
    }

    /// Moves this thread into the namespace, and with it the sockets, devices and processes that it makes from now on.
    ///
    /// # Errors
    ///
    /// When this process isn't allowed to.
    pub fn enter(&self) -> Result<(), EmulatorError> {
        setns(self.fd.as_fd(), CloneFlags::CLONE_NEWNET).map_err(|error| EmulatorError::Namespace(error.into()))
    }

    /// Does `work` on a thread of its own in the namespace.
    ///
    /// # Errors
    ///
    /// When the namespace can't be entered, or that of `work`.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> Result<R, EmulatorError> + Send) -> Result<R, EmulatorError> {
        on_a_thread(|| {
            self.enter()?;
            work()
        })
    }

    /// Datagrams that were dropped so far because programs didn't read them in time.
    ///
    /// # Errors
    ///
    /// When the namespace can't be entered.
    pub fn udp_overruns(&self) -> Result<u64, EmulatorError> {
        self.run(|| {
            let snmp = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap_or_default();
            Ok(counter(&snmp, "Udp", "RcvbufErrors"))
        })
    }

    /// Sets what TCP/IP of this namespace is set by, `net.ipv4.tcp_sack` for example.
    ///
    /// # Errors
    ///
    /// When there is no such setting, or it can't have this value.
    pub fn set(&self, name: &str, value: &str) -> Result<(), EmulatorError> {
        self.run(|| {
            std::fs::write(format!("/proc/sys/{}", name.replace('.', "/")), value)
                .map_err(|error| EmulatorError::Setting { name: name.to_owned(), value: value.to_owned(), error })
        })
    }

    /// Lets the kernel hand at most so many segments to a device of this namespace at a time.
    ///
    /// # Errors
    ///
    /// When there is no such device.
    pub fn limit_bursts(&self, device: &str, segments: u16) -> Result<(), EmulatorError> {
        self.run(|| {
            with_netlink(device, async |handle: Handle| {
                let limit = LinkAttribute::GsoMaxSegs(segments.into());
                let link = LinkUnspec::new_with_name(device).append_extra_attribute(limit);
                handle.link().set(link.build()).execute().await
            })
        })
    }

    /// Gives a device of this namespace addresses, and sends through it what its routes are for.
    ///
    /// # Errors
    ///
    /// When the kernel refuses one of them.
    pub fn attach(&self, device: &str, addresses: &[Ipv4Addr], routes: &[To]) -> Result<(), EmulatorError> {
        self.run(|| {
            let index = if_nametoindex(device)
                .map_err(|error| EmulatorError::Interface { name: device.to_owned(), reason: error.to_string() })?;
            with_netlink(device, async |handle: Handle| {
                for address in addresses {
                    handle.address().add(index, IpAddr::V4(*address), 32).execute().await?;
                }
                handle.link().set(LinkUnspec::new_with_index(index).up().build()).execute().await?;
                for To { network, prefix, source } in routes {
                    let route = RouteMessageBuilder::<Ipv4Addr>::new()
                        .destination_prefix(*network, *prefix)
                        .output_interface(index);
                    let route = source.iter().fold(route, |route, source| route.pref_source(*source));
                    handle.route().add(route.build()).execute().await?;
                }
                Ok(())
            })
        })
    }
}

/// The number in the column `name` of a table of proc_net_snmp: a line of names, and a line of numbers.
fn counter(snmp: &str, protocol: &str, name: &str) -> u64 {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix(protocol)?.strip_prefix(':'));
    let (Some(names), Some(numbers)) = (lines.next(), lines.next()) else { return 0 };
    let column = names.split_whitespace().zip(numbers.split_whitespace()).find(|(column, _)| *column == name);
    column.and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

/// A namespace belongs to a thread: this one isn't to change its own.
fn on_a_thread<R: Send>(work: impl FnOnce() -> Result<R, EmulatorError> + Send) -> Result<R, EmulatorError> {
    std::thread::scope(|scope| {
        let panicked = || EmulatorError::Namespace(io::Error::other("the thread in the namespace panicked"));
        scope.spawn(work).join().unwrap_or_else(|_| Err(panicked()))
    })
}

/// Talks to the kernel about the interface `name` in the namespace of this thread.
fn with_netlink(
    name: &str,
    work: impl AsyncFnOnce(Handle) -> Result<(), rtnetlink::Error>,
) -> Result<(), EmulatorError> {
    let fault = |reason: String| EmulatorError::Interface { name: name.to_owned(), reason };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(|error| fault(error.to_string()))?;
    runtime.block_on(async {
        let (connection, handle, _) = rtnetlink::new_connection().map_err(|error| fault(error.to_string()))?;
        let serving = tokio::spawn(connection);
        let done = work(handle).await;
        serving.abort();
        done.map_err(|error| fault(error.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::Tun;
    use std::net::UdpSocket;

    #[test]
    fn a_counter_is_found_by_its_name() {
        let snmp = "Udp: InDatagrams NoPorts RcvbufErrors\nUdp: 7 8 9\nUdpLite: InDatagrams\nUdpLite: 1\n";
        assert_eq!(counter(snmp, "Udp", "RcvbufErrors"), 9);
        assert_eq!(counter(snmp, "Udp", "OutDatagrams") + counter("", "Udp", "NoPorts"), 0);
    }

    #[test]
    fn a_setting_is_that_of_the_namespace() {
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(error) => return println!("skipped: {error}"),
        };
        let value = || std::fs::read_to_string("/proc/sys/net/ipv4/tcp_comp_sack_nr").unwrap();
        let outside = value();
        namespace.set("net.ipv4.tcp_comp_sack_nr", "7").unwrap();
        assert_eq!(namespace.run(|| Ok(value())).unwrap().trim(), "7");
        assert_eq!(value(), outside);
        let error = namespace.set("net.ipv4.tcp_no_such_thing", "7").unwrap_err().to_string();
        assert!(error.contains("net.ipv4.tcp_no_such_thing"), "{error}");
    }

    #[test]
    fn a_namespace_has_its_own_interfaces_and_addresses() {
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(error) => return println!("skipped: {error}"),
        };
        let address = Ipv4Addr::new(10, 77, 0, 1);
        let tun = namespace.run(|| Tun::open("pcc0", true)).unwrap();
        assert!(tun.offloads());
        namespace.attach("pcc0", &[address], &[To::ANYWHERE]).unwrap();
        let interfaces = |path: &str| std::fs::read_to_string(path).unwrap();
        let inside = namespace.run(|| Ok(interfaces("/proc/thread-self/net/dev"))).unwrap();
        assert!(inside.contains("pcc0:"), "{inside}");
        assert!(!interfaces("/proc/thread-self/net/dev").contains("pcc0:"));
        // What is sent there comes out of the device.
        namespace
            .run(|| {
                let socket = UdpSocket::bind((address, 0)).unwrap();
                socket.send_to(b"hello", (Ipv4Addr::new(10, 78, 0, 1), 9)).unwrap();
                Ok(())
            })
            .unwrap();
        let mut frame = [0; 200];
        let bytes = tun.read(&mut frame).unwrap();
        assert!(frame[..bytes].ends_with(b"hello"));
        assert!(namespace.attach("pcc1", &[], &[]).is_err());
    }
}
