//! What the programs share with user space, byte by byte.

use super::programs::{pcc::types as records, top::types as list};
use crate::ffi::Ack;
use crate::measured::{Measurement, Plan};
use std::mem::offset_of;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A number for the source that the programs were made of.
pub const LAYOUT: u32 = match u32::from_str_radix(env!("PCC_LAYOUT"), 10) {
    Ok(layout) => layout,
    Err(_) => panic!("the build script writes a number"),
};

/// `struct watcher` of `bpf/watch.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
pub struct Watcher {
    pub layout: u32,
    pub pid: u32,
    pub until: u64,
    pub events: u32,
    pub unused: u32,
}

/// `struct connection` of `bpf/flow.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes)]
pub struct Connection {
    pub began: u64,
    pub local: [u8; 16],
    pub remote: [u8; 16],
    pub local_port: u16,
    pub remote_port: u16,
    pub profile: u32,
}

/// `struct interval_record` of `bpf/watch.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes)]
pub struct IntervalRecord {
    pub kind: u32,
    pub phase: u32,
    pub connection: Connection,
    pub now: u64,
    pub pacing: u64,
    pub utility: i64,
    pub plan: Plan,
    pub result: Measurement,
}

/// `struct event_record` of `bpf/watch.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes)]
pub struct EventRecord {
    pub kind: u32,
    pub seed: u32,
    pub connection: Connection,
    pub pacing: u64,
    pub ack: Ack,
}

/// `struct entry` of `bpf/top.bpf.c`.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes)]
pub struct Entry {
    pub connection: Connection,
    pub now: u64,
    pub pacing: u64,
    pub bytes_sent: u64,
    pub bytes_acked: u64,
    pub srtt: u64,
    pub min_rtt: u64,
    pub segments_sent: u32,
    pub segments_lost: u32,
    pub window: u32,
    pub phase: u32,
    pub utility: i64,
    pub result: Measurement,
}

/// Asserts that a struct has its fields where the compiler of the programs has them.
macro_rules! same {
    ($rust:ty, $c:ty: $($field:ident)*) => {
        const _: () = {
            assert!(size_of::<$rust>() == size_of::<$c>());
            $(assert!(offset_of!($rust, $field) == offset_of!($c, $field));)*
        };
    };
}

same!(Watcher, records::watcher: layout pid until events unused);
same!(Connection, records::connection: began local remote local_port remote_port profile);
same!(IntervalRecord, records::interval_record: kind phase connection now pacing utility plan result);
same!(EventRecord, records::event_record: kind seed connection pacing ack);
same!(Plan, records::plan: rate length min_packets max_packets role index faster);
same!(Measurement, records::measurement: start rate target packets_sent packets_lost loss rtt min_rtt rtt_gradient rtt_fit);
same!(Ack, records::ack: now next_send bytes_sent sent in_flight lost mss rtt srtt);
same!(Entry, list::entry: connection now pacing bytes_sent bytes_acked srtt min_rtt segments_sent segments_lost window phase utility result);
