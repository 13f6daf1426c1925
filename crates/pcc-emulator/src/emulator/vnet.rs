//! The header that virtio-net puts before a packet (Virtio 1.2, section 5.1.6): what of checksums and segmentation is left to do.

/// Bytes of the header, as TUN devices have it unless told otherwise: without the number of buffers. In the machine's byte order.
pub(super) const BYTES: usize = 10;

/// The checksum of the transport holds only the pseudo-header so far.
pub(super) const NEEDS_CHECKSUM: u8 = 1;

/// `gso_type` of a frame that is a single packet.
pub(super) const GSO_NONE: u8 = 0;
/// A super-packet of TCP over IPv4.
pub(super) const GSO_TCP4: u8 = 1;
/// A super-packet of UDP datagrams.
pub(super) const GSO_UDP: u8 = 5;
/// Beside the type: TCP that says congestion window reduced.
pub(super) const GSO_ECN: u8 = 0x80;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct VnetHeader {
    pub flags: u8,
    pub gso_type: u8,
    /// Bytes of all headers of the packet.
    pub header_bytes: u16,
    /// Payload of each segment but the last.
    pub segment_payload: u16,
    /// Where what the checksum covers begins, and where in that the checksum is.
    pub checksum_start: u16,
    pub checksum_offset: u16,
}

impl VnetHeader {
    pub fn parse(bytes: [u8; BYTES]) -> VnetHeader {
        let [flags, gso_type, h0, h1, s0, s1, c0, c1, o0, o1] = bytes;
        VnetHeader {
            flags,
            gso_type,
            header_bytes: u16::from_ne_bytes([h0, h1]),
            segment_payload: u16::from_ne_bytes([s0, s1]),
            checksum_start: u16::from_ne_bytes([c0, c1]),
            checksum_offset: u16::from_ne_bytes([o0, o1]),
        }
    }

    pub fn to_bytes(self) -> [u8; BYTES] {
        let [h0, h1] = self.header_bytes.to_ne_bytes();
        let [s0, s1] = self.segment_payload.to_ne_bytes();
        let [c0, c1] = self.checksum_start.to_ne_bytes();
        let [o0, o1] = self.checksum_offset.to_ne_bytes();
        [self.flags, self.gso_type, h0, h1, s0, s1, c0, c1, o0, o1]
    }
}
