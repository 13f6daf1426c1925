//! What the controllers cost, as far as the kernel counts it.

use libbpf_rs::query::{MapInfoIter, ProgInfoIter, ProgInfoQueryOptions};
use std::fs;

/// What the controllers that the kernel has cost. Only root sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelStatistics {
    /// Bytes of state of a connection.
    pub bytes_per_connection: u32,
    /// Whether the kernel counts the values below now (`kernel.bpf_stats_enabled`). Counting costs time itself.
    pub counting: bool,
    /// Acknowledgements handled while it counted.
    pub acknowledgements: u64,
    /// Time spent with them, in ns.
    pub nanoseconds: u64,
}

/// What they cost, or `None` where none is loaded or this user can't see it.
pub fn statistics() -> Option<KernelStatistics> {
    let maps: Vec<_> = MapInfoIter::default().filter(|map| map.name == "pcc_flows").collect();
    let counting = fs::read_to_string("/proc/sys/kernel/bpf_stats_enabled").is_ok_and(|value| value.trim() == "1");
    let none = KernelStatistics {
        bytes_per_connection: maps.last()?.value_size,
        counting,
        acknowledgements: 0,
        nanoseconds: 0,
    };
    let options = ProgInfoQueryOptions::default().include_map_ids(true);
    let ours = ProgInfoIter::with_query_opts(options).filter(|program| {
        program.name == "on_ack" && program.map_ids.iter().any(|id| maps.iter().any(|m| m.id == *id))
    });
    Some(ours.fold(none, |sum, program| KernelStatistics {
        acknowledgements: sum.acknowledgements + program.run_cnt,
        nanoseconds: sum.nanoseconds + program.run_time_ns,
        ..sum
    }))
}
