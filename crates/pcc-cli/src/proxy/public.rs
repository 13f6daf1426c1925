//! Which addresses are those of the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is of the public internet: neither of a private network, of this machine or of this link, nor for a
/// special purpose (RFC 6890 and IANA's registries of special-purpose addresses). An IPv6 address that stands for an IPv4
/// address is what that one is.
pub fn is_public(ip: IpAddr) -> bool {
    match translated(ip) {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

/// The IPv4 address that an IPv6 address stands for, be it here (RFC 4291 2.5.5.2) or behind a translator (RFC 6052 2.1); else
/// the address itself.
pub fn translated(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(v6) => match v6.segments() {
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)).into(),
            _ => ip,
        },
        v4 => v4,
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let special = match ip.octets() {
        // This network (RFC 791), shared by a provider's customers (RFC 6598), protocols (RFC 6890).
        [0, ..] | [100, 64..=127, ..] | [192, 0, 0, _] => true,
        // Relays of 6to4 (RFC 7526), benchmarks (RFC 2544), multicast and reserved (RFC 1112).
        [192, 88, 99, _] | [198, 18..=19, ..] | [224..=255, ..] => true,
        _ => false,
    };
    !(special || ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_documentation())
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    match ip.segments() {
        // Protocols and Teredo (RFC 2928, RFC 4380), documentation (RFC 3849, RFC 9637), 6to4 (RFC 3056).
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] | [0x2002, ..] => false,
        // Global unicast (RFC 4291 2.4).
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_not_public() {
        for ip in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:a00:1::1",
            "3fff::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(ip.parse().unwrap()), "{ip}");
        }
    }

    #[test]
    fn others_are() {
        for ip in [
            "1.1.1.1",
            "100.128.0.1",
            "172.32.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2001:4860::8",
            "2a00:1450::1",
        ] {
            assert!(is_public(ip.parse().unwrap()), "{ip}");
        }
    }
}
