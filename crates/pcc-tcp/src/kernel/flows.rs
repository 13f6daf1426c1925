//! The connections under PCC, at a moment.

use super::connection::phase;
use super::layout::Entry;
use super::loaded::{Loaded, loaded};
use super::programs::top::TopSkelBuilder;
use super::{Connection, Error};
use crate::measured::real;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Iter, Link};
use pcc::{Measurement, Phase, Rate, Time};
use std::collections::BTreeMap;
use std::io::Read;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::time::Duration;
use zerocopy::FromBytes;

/// A connection, and what became of it so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpFlow {
    /// Its two ends, its start and its controller.
    pub connection: Connection,
    /// When this was read, on the machine's monotonic clock.
    pub time: Time,
    /// What its controller is doing.
    pub phase: Phase,
    /// The rate at which it is paced: payload.
    pub rate: Rate,
    /// Bytes of data sent, those sent again included.
    pub bytes_sent: u64,
    /// Bytes of data that the other end has.
    pub bytes_acked: u64,
    /// Segments of data sent; wraps around.
    pub segments_sent: u32,
    /// Segments declared lost; wraps around.
    pub segments_lost: u32,
    /// The congestion window in segments.
    pub window: u32,
    /// The smoothed round-trip time, 0 before the first sample.
    pub rtt: Duration,
    /// The smallest round-trip time, 0 before the first sample.
    pub min_rtt: Duration,
    /// The result of the monitor interval that closed last, and its utility.
    pub last: Option<(Measurement, f64)>,
}

/// Lists all connections under PCC of this machine, in all network namespaces.
#[derive(Default)]
pub struct TcpFlows {
    /// One for the connections of all programs that were loaded together, under [`Loaded::id`].
    iterators: BTreeMap<u32, Link>,
}

impl TcpFlows {
    /// The connections at this moment. The first call takes longer.
    ///
    /// # Errors
    ///
    /// When no controller of PCC is loaded, or one of another version, and when the caller may not look.
    pub fn list(&mut self) -> Result<Vec<TcpFlow>, Error> {
        let loaded = loaded()?;
        if !self.iterators.keys().eq(loaded.iter().map(|loaded| &loaded.id)) {
            self.iterators = iterators(&loaded).map_err(Error::bpf("loading what lists the connections"))?;
        }
        let mut flows = Vec::new();
        for link in self.iterators.values() {
            let mut bytes = Vec::new();
            let mut list = Iter::new(link).map_err(Error::bpf("listing the connections"))?;
            list.read_to_end(&mut bytes).map_err(|error| Error::bpf("listing the connections")(error.into()))?;
            let entries = bytes.chunks_exact(size_of::<Entry>());
            flows.extend(entries.filter_map(|entry| Some(TcpFlow::new(&Entry::read_from_bytes(entry).ok()?))));
        }
        Ok(flows)
    }
}

fn iterators(loaded: &[Loaded]) -> libbpf_rs::Result<BTreeMap<u32, Link>> {
    let mut memory = MaybeUninit::uninit();
    let programs = TopSkelBuilder::default().open(&mut memory)?.load()?;
    let attach = |loaded: &Loaded| Ok((loaded.id, programs.progs.list.attach_iter(loaded.flows.as_fd())?));
    loaded.iter().map(attach).collect()
}

impl TcpFlow {
    fn new(entry: &Entry) -> TcpFlow {
        let measured = entry.result.packets_sent > 0;
        TcpFlow {
            connection: Connection::new(&entry.connection),
            time: Time::from_nanos(entry.now),
            phase: phase(entry.phase),
            rate: Rate::from_bits_per_sec(entry.pacing as f64),
            bytes_sent: entry.bytes_sent,
            bytes_acked: entry.bytes_acked,
            segments_sent: entry.segments_sent,
            segments_lost: entry.segments_lost,
            window: entry.window,
            rtt: Duration::from_nanos(entry.srtt),
            min_rtt: Duration::from_nanos(entry.min_rtt),
            last: measured.then(|| (entry.result.in_rust(), real(entry.utility))),
        }
    }
}
