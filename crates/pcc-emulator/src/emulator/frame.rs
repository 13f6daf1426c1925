//! Frames of a TUN device: a packet, or a super-packet that is cut into segments only as they are delivered.

use super::packet::{Headers, Part, SYN, Transport, rewrite};
use super::vnet::{self, VnetHeader};
use std::ops::Range;

/// A frame as it was read.
#[derive(Debug)]
pub(super) struct Frame {
    /// With the header of virtio-net, where there is one.
    bytes: Box<[u8]>,
    /// Where the packet begins.
    start: usize,
    vnet: VnetHeader,
    headers: Option<Headers>,
    segments: u32,
}

/// What a segment carries of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TcpData {
    /// Of the source and the destination.
    pub ports: (u16, u16),
    /// The TCP sequence number of the first byte.
    pub sequence: u32,
    pub bytes: u32,
    /// Whether it begins a connection.
    pub opens: bool,
}

impl Frame {
    /// Reads a frame, with a header of virtio-net before the packet if `offloads`; `None` if there is no packet.
    ///
    /// What isn't well-formed is one segment, and passes as it is.
    pub fn parse(bytes: &[u8], offloads: bool) -> Option<Frame> {
        let (vnet, start) = match bytes.first_chunk() {
            Some(header) if offloads => (VnetHeader::parse(*header), vnet::BYTES),
            None if offloads => return None,
            _ => (VnetHeader::default(), 0),
        };
        let packet = bytes.get(start..).filter(|packet| !packet.is_empty())?;
        let headers = Headers::parse(packet);
        let segments = headers.map_or(1, |headers| segments(&vnet, &headers, packet.len() - headers.bytes));
        Some(Frame { bytes: bytes.into(), start, vnet, headers, segments })
    }

    /// What its headers say, if it is IPv4.
    pub fn headers(&self) -> Option<&Headers> {
        self.headers.as_ref()
    }

    /// How many packets it makes.
    pub fn segments(&self) -> u32 {
        self.segments
    }

    /// The bytes of a segment on the wire: of the whole IP packet.
    pub fn wire_bytes(&self, segment: u32) -> u64 {
        let payload = self.payload(segment..segment + 1);
        (self.header_bytes() + payload.len()) as u64
    }

    /// What a segment carries of a TCP connection, if anything.
    pub fn tcp_data(&self, segment: u32) -> Option<TcpData> {
        let Transport::Tcp { ports, sequence, flags } = self.headers?.transport else { return None };
        let payload = self.payload(segment..segment + 1);
        let opens = flags & SYN != 0;
        // SYN takes a sequence number before the data.
        let sequence = sequence.wrapping_add(payload.start as u32).wrapping_add(opens.into());
        Some(TcpData { ports, sequence, bytes: payload.len() as u32, opens })
    }

    /// A frame of some of its segments, put together in `scratch` where it isn't all of them.
    pub fn cut<'a>(&'a self, segments: Range<u32>, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        let Some(headers) = self.headers.filter(|_| segments.len() < self.segments as usize) else {
            return &self.bytes;
        };
        let payload = self.payload(segments.clone());
        let part =
            Part { segment: segments.start as u16, offset: payload.start as u32, last: segments.end == self.segments };
        let [head, body] = [0..headers.bytes, headers.bytes + payload.start..headers.bytes + payload.end]
            .map(|range| self.packet().get(range).unwrap_or_default());
        let vnet = if segments.len() > 1 {
            let ecn = if part.segment == 0 { 0 } else { vnet::GSO_ECN };
            VnetHeader { gso_type: self.vnet.gso_type & !ecn, header_bytes: headers.bytes as u16, ..self.vnet }
        } else {
            VnetHeader { gso_type: vnet::GSO_NONE, segment_payload: 0, header_bytes: 0, ..self.vnet }
        };
        let checksum_start = headers.ip_bytes as u16;
        let checksum_offset = headers.transport.checksum_offset();
        scratch.clear();
        scratch.extend_from_slice(&VnetHeader { checksum_start, checksum_offset, ..vnet }.to_bytes());
        scratch.extend_from_slice(head);
        scratch.extend_from_slice(body);
        rewrite(scratch.get_mut(vnet::BYTES..).unwrap_or_default(), &headers, part);
        scratch
    }

    fn packet(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    fn header_bytes(&self) -> usize {
        self.headers.map_or(0, |headers| headers.bytes)
    }

    /// Where segments have their payload, from the end of the headers on.
    fn payload(&self, segments: Range<u32>) -> Range<usize> {
        let total = self.packet().len().saturating_sub(self.header_bytes());
        if self.segments == 1 {
            return 0..total;
        }
        let at = |segment: u32| (segment as usize * usize::from(self.vnet.segment_payload)).min(total);
        at(segments.start)..at(segments.end)
    }
}

/// How many segments a payload of `bytes` bytes makes.
fn segments(vnet: &VnetHeader, headers: &Headers, bytes: usize) -> u32 {
    let is_super = match headers.transport {
        Transport::Tcp { .. } => vnet.gso_type & !vnet::GSO_ECN == vnet::GSO_TCP4,
        Transport::Udp => vnet.gso_type == vnet::GSO_UDP,
        Transport::Other => false,
    };
    let partial = vnet.flags & vnet::NEEDS_CHECKSUM != 0;
    let of_each = usize::from(vnet.segment_payload);
    if is_super && partial && of_each > 0 { bytes.div_ceil(of_each).max(1) as u32 } else { 1 }
}
