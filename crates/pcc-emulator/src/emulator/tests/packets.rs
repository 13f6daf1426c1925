//! Packets to test with, written byte by byte.

use crate::emulator::packet::{fold, sum};
use crate::emulator::vnet::{self, VnetHeader};
use std::net::Ipv4Addr;

/// A packet of TCP, or of UDP if it has no sequence number.
#[derive(Clone, Debug)]
pub struct Sample {
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub id: u16,
    pub sequence: Option<u32>,
    pub flags: u8,
    /// Words of options of IP and of TCP.
    pub options: (usize, usize),
    pub payload: Vec<u8>,
    /// Payload of each segment.
    pub segment: u16,
}

impl Sample {
    /// The frame as a device with offload hands it over: its checksum holds the pseudo-header.
    pub fn frame(&self) -> Vec<u8> {
        let (protocol, checksum_offset, gso_type) =
            if self.sequence.is_some() { (6, 16, vnet::GSO_TCP4) } else { (17, 6, vnet::GSO_UDP) };
        let mut transport = vec![0x12, 0x34, 0x43, 0x21];
        if let Some(sequence) = self.sequence {
            transport.extend(sequence.to_be_bytes());
            transport.extend([1, 2, 3, 4, (5 + self.options.1 as u8) << 4, self.flags, 0, 99, 0, 0, 0, 0]);
            transport.extend(vec![1; self.options.1 * 4]);
        } else {
            transport.extend((8 + self.payload.len() as u16).to_be_bytes());
            transport.extend([0, 0]);
        }
        let ip_bytes = 20 + 4 * self.options.0;
        let header_bytes = ip_bytes + transport.len();
        transport.extend(&self.payload);
        let mut pseudo = [self.source.octets(), self.destination.octets()].concat();
        pseudo.extend([0, protocol]);
        pseudo.extend((transport.len() as u16).to_be_bytes());
        transport[checksum_offset..checksum_offset + 2].copy_from_slice(&fold(sum(&pseudo)).to_be_bytes());
        let mut ip = vec![0x45 + self.options.0 as u8, 0];
        ip.extend(((ip_bytes + transport.len()) as u16).to_be_bytes());
        ip.extend(self.id.to_be_bytes());
        ip.extend([0x40, 0, 64, protocol, 0, 0]);
        ip.extend(self.source.octets());
        ip.extend(self.destination.octets());
        ip.extend(vec![1; self.options.0 * 4]);
        let checksum = !fold(sum(&ip));
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        let is_super = self.payload.len() > self.segment.into();
        let vnet = VnetHeader {
            flags: vnet::NEEDS_CHECKSUM,
            gso_type: if is_super { gso_type } else { vnet::GSO_NONE },
            header_bytes: if is_super { header_bytes as u16 } else { 0 },
            segment_payload: if is_super { self.segment } else { 0 },
            checksum_start: ip_bytes as u16,
            checksum_offset: checksum_offset as u16,
        };
        [vnet.to_bytes().to_vec(), ip, transport].concat()
    }

    /// The segments as the kernel would make them: packets by themselves.
    pub fn segments(&self) -> Vec<Sample> {
        let pieces = self.payload.chunks(self.segment.into());
        let last = pieces.len().saturating_sub(1);
        let segment = |(index, piece): (usize, &[u8])| {
            let offset = (index * usize::from(self.segment)) as u32;
            // FIN and PSH on the last, CWR on the first.
            let cleared = if index < last { 0x09 } else { 0 } | if index > 0 { 0x80 } else { 0 };
            Sample {
                id: self.id.wrapping_add(index as u16),
                sequence: self.sequence.map(|sequence| sequence.wrapping_add(offset)),
                flags: self.flags & !cleared,
                payload: piece.to_vec(),
                ..self.clone()
            }
        };
        pieces.enumerate().map(segment).collect()
    }
}

/// A datagram of flow 0 of the tests, with a payload of `bytes` bytes.
pub fn datagram(bytes: usize) -> Sample {
    Sample {
        source: Ipv4Addr::new(10, 77, 1, 1),
        destination: Ipv4Addr::new(10, 77, 2, 1),
        id: 7,
        sequence: None,
        flags: 0,
        options: (0, 0),
        payload: vec![0; bytes],
        segment: 1000,
    }
}
