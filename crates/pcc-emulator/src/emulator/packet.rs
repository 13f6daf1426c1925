//! IPv4, TCP and UDP headers, in bytes that anybody may have written.

use std::net::Ipv4Addr;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Bytes of headers without options.
const IPV4_BYTES: usize = 20;
const TCP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;

/// Flags of TCP.
pub(super) const FIN: u8 = 0x01;
pub(super) const SYN: u8 = 0x02;
pub(super) const PSH: u8 = 0x08;
pub(super) const CWR: u8 = 0x80;

/// What the headers of a packet say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Headers {
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub transport: Transport,
    /// Bytes of the IP header.
    pub ip_bytes: usize,
    /// Bytes of all headers.
    pub bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Tcp {
        /// Of the source and the destination.
        ports: (u16, u16),
        sequence: u32,
        flags: u8,
    },
    Udp,
    /// Something else, not well-formed, or a fragment.
    Other,
}

impl Transport {
    /// Where in its header the checksum is.
    pub fn checksum_offset(self) -> u16 {
        match self {
            Transport::Tcp { .. } => 16,
            Transport::Udp => 6,
            Transport::Other => 0,
        }
    }
}

impl Headers {
    /// Reads the headers of a packet; `None` if it isn't IPv4 or as long as it says.
    pub fn parse(packet: &[u8]) -> Option<Headers> {
        let ip = packet.first_chunk::<IPV4_BYTES>()?;
        let ip_bytes = usize::from(ip[0] & 0xf) * 4;
        let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
        if ip[0] >> 4 != 4 || ip_bytes < IPV4_BYTES || total != packet.len() {
            return None;
        }
        let payload = packet.get(ip_bytes..)?;
        // More fragments follow, or some came before.
        let fragment = u16::from_be_bytes([ip[6], ip[7]]) & 0x3fff != 0;
        let known = match ip[9] {
            _ if fragment => None,
            TCP => tcp(payload),
            UDP => udp(payload),
            _ => None,
        };
        let (transport, transport_bytes) = known.unwrap_or((Transport::Other, 0));
        Some(Headers {
            source: Ipv4Addr::new(ip[12], ip[13], ip[14], ip[15]),
            destination: Ipv4Addr::new(ip[16], ip[17], ip[18], ip[19]),
            transport,
            ip_bytes,
            bytes: ip_bytes + transport_bytes,
        })
    }
}

fn tcp(packet: &[u8]) -> Option<(Transport, usize)> {
    let header = packet.first_chunk::<TCP_BYTES>()?;
    let bytes = usize::from(header[12] >> 4) * 4;
    let transport = Transport::Tcp {
        ports: (u16::from_be_bytes([header[0], header[1]]), u16::from_be_bytes([header[2], header[3]])),
        sequence: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
        flags: header[13],
    };
    (bytes >= TCP_BYTES && bytes <= packet.len()).then_some((transport, bytes))
}

fn udp(packet: &[u8]) -> Option<(Transport, usize)> {
    let header = packet.first_chunk::<UDP_BYTES>()?;
    let bytes = usize::from(u16::from_be_bytes([header[4], header[5]]));
    (bytes == packet.len()).then_some((Transport::Udp, UDP_BYTES))
}

/// Which part of a super-packet a packet is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The number of its first segment.
    pub segment: u16,
    /// Where its payload begins in that of the super-packet.
    pub offset: u32,
    /// Whether it ends with the super-packet's last byte.
    pub last: bool,
}

/// Makes the headers of `packet`, which are those of the super-packet it is `part` of, its own. The checksum of the transport
/// then holds the pseudo-header.
pub(super) fn rewrite(packet: &mut [u8], headers: &Headers, part: Part) {
    let length = packet.len() as u16;
    let Some((ip, transport)) = packet.split_at_mut_checked(headers.ip_bytes) else { return };
    let pseudo = pseudo_header(headers, transport.len() as u16).to_be_bytes();
    if let Some(fixed) = ip.first_chunk_mut::<IPV4_BYTES>() {
        [fixed[2], fixed[3]] = length.to_be_bytes();
        let id = u16::from_be_bytes([fixed[4], fixed[5]]).wrapping_add(part.segment);
        [fixed[4], fixed[5]] = id.to_be_bytes();
        [fixed[10], fixed[11]] = [0, 0];
    }
    let checksum = (!fold(sum(ip))).to_be_bytes();
    if let Some(fixed) = ip.first_chunk_mut::<IPV4_BYTES>() {
        [fixed[10], fixed[11]] = checksum;
    }
    match headers.transport {
        Transport::Tcp { sequence, flags, .. } => {
            let Some(header) = transport.first_chunk_mut::<TCP_BYTES>() else { return };
            [header[4], header[5], header[6], header[7]] = sequence.wrapping_add(part.offset).to_be_bytes();
            let not_last = if part.last { 0 } else { FIN | PSH };
            let not_first = if part.segment == 0 { 0 } else { CWR };
            header[13] = flags & !not_last & !not_first;
            [header[16], header[17]] = pseudo;
        }
        Transport::Udp => {
            let bytes = (transport.len() as u16).to_be_bytes();
            let Some(header) = transport.first_chunk_mut::<UDP_BYTES>() else { return };
            [header[4], header[5]] = bytes;
            [header[6], header[7]] = pseudo;
        }
        Transport::Other => {}
    }
}

/// The sum of the pseudo-header (RFC 9293, section 3.1), for a transport header and payload of `bytes` bytes.
pub(super) fn pseudo_header(headers: &Headers, bytes: u16) -> u16 {
    let protocol = match headers.transport {
        Transport::Tcp { .. } => TCP,
        Transport::Udp => UDP,
        Transport::Other => 0,
    };
    let addresses = sum(&headers.source.octets()) + sum(&headers.destination.octets());
    fold(addresses + u32::from(protocol) + u32::from(bytes))
}

/// The sum of 16-bit words (RFC 1071). At most 64 KiB, so that it can't overflow.
pub(super) fn sum(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<2>();
    let words: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    words + rest.first().map_or(0, |byte| u32::from(*byte) << 8)
}

/// A sum in 16 bits, with the carries added.
pub(super) fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    (once + (once >> 16)) as u16
}
