//! Which flow a packet belongs to.

use super::frame::Frame;
use super::side::Side;
use std::net::Ipv4Addr;

/// How the flow of a packet is found from its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressing {
    /// There is one flow, to which all packets belong.
    OneFlow,
    /// By the addresses: flow i is between `left` + 1 + i and `right` + 1 + i.
    ByHost {
        /// The address before that of the first flow's host on the left.
        left: Ipv4Addr,
        /// The same on the right.
        right: Ipv4Addr,
    },
}

impl Addressing {
    /// The flow of a frame that comes from a side; `None` if it is of none.
    pub(super) fn flow(&self, from: Side, frame: &Frame) -> Option<usize> {
        let Addressing::ByHost { left, right } = *self else { return Some(0) };
        let headers = frame.headers()?;
        let (source, destination) = match from {
            Side::Left => (left, right),
            Side::Right => (right, left),
        };
        let index = |address: Ipv4Addr, base: Ipv4Addr| address.to_bits().checked_sub(base.to_bits())?.checked_sub(1);
        let flow = index(headers.source, source)?;
        (index(headers.destination, destination) == Some(flow)).then_some(flow as usize)
    }
}
