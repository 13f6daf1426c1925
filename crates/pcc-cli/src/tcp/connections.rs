//! How many connections use which controller.

use super::namespaces::Place;
use crate::netlink::request;
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use rtnetlink::packet_core::NLM_F_DUMP;
use rtnetlink::sys::protocols::NETLINK_SOCK_DIAG;
use std::collections::BTreeMap;

/// The TCP connections in these network namespaces, as far as the kernel tells, by the name of their controller.
pub fn by_controller(places: &[Place]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for place in places {
        for controller in place.run(controllers).unwrap_or_default() {
            *counts.entry(controller).or_default() += 1;
        }
    }
    counts
}

/// The controller of each connection in the network namespace of this thread.
fn controllers() -> anyhow::Result<Vec<String>> {
    let mut controllers = Vec::new();
    for (family, socket_id) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
        let sockets = InetRequest {
            family,
            protocol: IPPROTO_TCP,
            extensions: ExtensionFlags::CONG,
            states: StateFlags::all().difference(StateFlags::LISTEN | StateFlags::CLOSE | StateFlags::TIME_WAIT),
            socket_id,
        };
        for answer in request(NETLINK_SOCK_DIAG, SockDiagMessage::InetRequest(sockets), NLM_F_DUMP)? {
            if let SockDiagMessage::InetResponse(socket) = answer {
                controllers.extend(socket.nlas.into_iter().find_map(|attribute| match attribute {
                    Nla::Congestion(name) => Some(name),
                    _ => None,
                }));
            }
        }
    }
    Ok(controllers)
}
