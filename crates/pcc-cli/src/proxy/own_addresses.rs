//! Which addresses are this machine's own.

use super::public::translated;
use crate::netlink::request;
use anyhow::Context;
use rtnetlink::RouteMessageBuilder;
use rtnetlink::packet_core::NLM_F_ACK;
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::route::{RouteAttribute, RouteMessage, RouteType};
use rtnetlink::sys::protocols::NETLINK_ROUTE;
use std::io::{self, ErrorKind};
use std::net::IpAddr;

/// The index of the loopback interface, the same in every network namespace.
const LOOPBACK: u32 = 1;

/// Whether what is sent to an address, or to the one that it stands for, arrives at this machine. A machine with a public
/// address is not public by that.
pub fn is_of_this_machine(ip: IpAddr) -> bool {
    [ip, translated(ip)].into_iter().any(|ip| is_of_an_interface(ip) || arrives_here(ip))
}

/// Where routes lead to another routing domain (VRF), they don't tell that the address is of an interface there.
fn is_of_an_interface(ip: IpAddr) -> bool {
    // Where they can't be listed, none is known not to be.
    if_addrs::get_if_addrs().map_or(true, |interfaces| interfaces.iter().any(|interface| interface.ip() == ip))
}

/// The kernel's routes tell: a local route makes whole networks this machine's that no interface has an address of.
fn arrives_here(ip: IpAddr) -> bool {
    match route_to(ip) {
        // Broadcast and anycast arrive here too, and over loopback UDP does whatever the kind of the route.
        Ok(route) => {
            route.header.kind != RouteType::Unicast || route.attributes.contains(&RouteAttribute::Oif(LOOPBACK))
        }
        // It arrives nowhere, and who connects to it hears why.
        Err(error) if is_unreachable(&error) => false,
        // Where the kernel can't be asked, no address is known not to be this machine's.
        Err(_) => true,
    }
}

fn is_unreachable(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    matches!(kind, Some(ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable))
}

/// The route that the kernel takes to an address, in the network namespace of this thread.
fn route_to(ip: IpAddr) -> anyhow::Result<RouteMessage> {
    let bits = if ip.is_ipv4() { 32 } else { 128 };
    let destination = RouteMessageBuilder::<IpAddr>::new().destination_prefix(ip, bits)?;
    let answers = request(NETLINK_ROUTE, RouteNetlinkMessage::GetRoute(destination.build()), NLM_F_ACK)?;
    let mut routes = answers.into_iter().filter_map(|answer| match answer {
        RouteNetlinkMessage::NewRoute(route) => Some(route),
        _ => None,
    });
    routes.next().context("the kernel names no route")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::rules::Rules;
    use ipnet::IpNet;
    use nix::net::if_::if_nametoindex;
    use pcc_emulator::emulator::Tun;
    use pcc_emulator::host::Namespace;
    use rtnetlink::packet_route::route::RouteScope;

    #[test]
    fn it_is_known_behind_a_translator_too() {
        check(&[("127.0.0.1", true), ("64:ff9b::127.0.0.1", true), ("64:ff9b::1.1.1.1", false)]);
    }

    #[test]
    fn routes_tell_what_arrives_here() {
        let with_ipv6 = |namespace: &Namespace| namespace.set("net.ipv6.conf.all.disable_ipv6", "0");
        let namespace = match Namespace::new().and_then(|namespace| with_ipv6(&namespace).map(|()| namespace)) {
            Ok(namespace) => namespace,
            Err(error) => return println!("skipped: {error}"),
        };
        let elsewhere = [("1.1.1.1", false), ("64:ff9b::1.1.1.1", false), ("2606:4700::1111", false)];
        let work = || {
            // There is no way to them yet.
            check(&elsewhere);
            let _device = Tun::open("pcc0", false)?;
            for (network, device, kind) in [
                ("0.0.0.0/0", "pcc0", RouteType::Unicast),
                ("::/0", "pcc0", RouteType::Unicast),
                ("8.8.8.0/24", "lo", RouteType::Local),
                ("2001:4860::/64", "lo", RouteType::Local),
                ("64:ff9b::9.9.9.0/120", "lo", RouteType::Local),
                ("149.112.112.0/24", "lo", RouteType::Unicast),
                ("4.4.4.255/32", "pcc0", RouteType::Broadcast),
                ("2620:fe::/128", "pcc0", RouteType::Anycast),
            ] {
                add_route(network, device, kind);
            }
            check(&elsewhere);
            check(&[("8.8.8.7", true), ("64:ff9b::8.8.8.7", true), ("8.8.9.7", false)]);
            check(&[("2001:4860::7", true), ("2001:4860:0:1::7", false)]);
            check(&[("64:ff9b::9.9.9.7", true), ("9.9.9.7", false)]);
            check(&[("149.112.112.7", true), ("149.112.113.7", false)]);
            check(&[("4.4.4.255", true), ("4.4.4.254", false), ("2620:fe::", true), ("2620:fe::1", false)]);
            Ok(())
        };
        namespace.run(work).unwrap();
    }

    /// Checks which addresses are this machine's, and that tunnels may lead to the others only.
    fn check(addresses: &[(&str, bool)]) {
        for (ip, mine) in addresses {
            let ip = ip.parse().unwrap();
            assert_eq!(is_of_this_machine(ip), *mine, "{ip}");
            assert_eq!(wait(Rules::default().allow((ip, 443).into())), !mine, "{ip}");
        }
    }

    /// Adds a route in the network namespace of this thread.
    fn add_route(network: &str, device: &str, kind: RouteType) {
        let network: IpNet = network.parse().unwrap();
        let route = RouteMessageBuilder::<IpAddr>::new()
            .destination_prefix(network.addr(), network.prefix_len())
            .unwrap()
            .output_interface(if_nametoindex(device).unwrap())
            .scope(if kind == RouteType::Local { RouteScope::Host } else { RouteScope::Link })
            .kind(kind);
        wait(async {
            let (connection, handle, _) = rtnetlink::new_connection().unwrap();
            tokio::spawn(connection);
            handle.route().add(route.build()).execute().await.unwrap();
        });
    }

    fn wait<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap().block_on(work)
    }
}
