//! Congestion controllers by the book, sans-IO, one file each: to compare PCC with, or to use for their own sake.
//!
//! All of them implement [`pcc::CongestionControl`], so that each runs under QUIC (noq and iroh, through `pcc-quic`), in
//! the simulator of `pcc-lab`, or in any transport that drives that trait: packets sent, acknowledged and lost go in, a
//! pacing rate and a limit of bytes in flight come out. There are no sockets, clocks or threads in here, and nothing that
//! needs a certain operating system; random choices come from a seed.
//!
//! | name | what it is |
//! |---|---|
//! | `bbr1` | BBR version 1: CACM 2017, draft-cardwell-iccrg-bbr-congestion-control-00, Linux |
//! | `bbr3` | BBR version 3: draft-ietf-ccwg-bbr-04 |
//! | `bic` | BIC: Xu, Harfoush and Rhee, INFOCOM 2004, with the constants of Linux |
//! | `bic-paced` | BIC, paced as Linux paces where it has the fq queue |
//! | `compound` | Compound: Tan, Song, Zhang and Sridharan, INFOCOM 2006, draft-sridharan-tcpm-ctcp-02 |
//! | `copa` | Copa: Arun and Balakrishnan, NSDI 2018 |
//! | `cubic` | CUBIC: RFC 9438 |
//! | `cubic-hystart` | CUBIC, with HyStart++ (RFC 9406) in the first slow start, paced |
//! | `cubic-paced` | CUBIC, paced as Linux paces where it has the fq queue |
//! | `dctcp` | DCTCP: RFC 8257 |
//! | `dctcp-paced` | DCTCP, paced as Linux paces where it has the fq queue |
//! | `fast` | FAST: Wei, Jin, Low and Hegde, ToN 2006 |
//! | `htcp` | H-TCP: Leith and Shorten 2004, draft-leith-tcp-htcp-06 |
//! | `htcp-paced` | H-TCP, paced as Linux paces where it has the fq queue |
//! | `hybla` | Hybla: Caini and Firrincieli 2004, as in Linux |
//! | `hybla-paced` | Hybla, paced as Linux paces where it has the fq queue |
//! | `illinois` | Illinois: Liu, Basar and Srikant 2008 |
//! | `illinois-paced` | Illinois, paced as Linux paces where it has the fq queue |
//! | `ledbat` | LEDBAT: RFC 6817, by round-trip times |
//! | `newreno` | NewReno: RFC 5681 and 6582, with byte counting |
//! | `newreno-paced` | NewReno, evenly paced over a round trip: the papers' "paced TCP" |
//! | `pcp` | PCP: Anderson, Collins, Krishnamurthy and Zahorjan, NSDI 2006 |
//! | `scalable` | Scalable TCP: Kelly 2003, as in Linux |
//! | `scalable-paced` | Scalable TCP, paced as Linux paces where it has the fq queue |
//! | `sprout` | Sprout: Winstein, Sivaraman and Balakrishnan, NSDI 2013 |
//! | `udt` | UDT: Gu and Grossman, Computer Networks 2007, draft-gg-udt-03, UDT4 |
//! | `vegas` | Vegas: Brakmo and Peterson 1995, as in Linux |
//! | `vegas-paced` | Vegas, paced as Linux paces where it has the fq queue |
//! | `veno` | Veno: Fu and Liew 2003, as in Linux |
//! | `veno-paced` | Veno, paced as Linux paces where it has the fq queue |
//! | `westwood` | Westwood+: Mascolo et al. 2001, Grieco and Mascolo 2004, as in Linux |
//! | `westwood-paced` | Westwood+, paced as Linux paces where it has the fq queue |
//!
//! The window-based ones are clocked by acknowledgements, as in Linux without its `fq` queue; with that queue they are paced,
//! and so are `-paced` ones here (`newreno-paced` more evenly). [`BASELINES`] is this table for programs, with the names that
//! Linux has for the same algorithms. How well each does beside independent implementations is in `docs/baselines.md` of the
//! repository.
//!
//! # Driving one by hand
//!
//! A transport reports what happens to its packets and asks, before it sends, how much may be in flight and how fast:
//!
//! ```
//! use pcc::{AckedPacket, SentPacket, Time};
//! use std::time::Duration;
//!
//! const BYTES: u64 = 1200;
//! let rtt = Duration::from_millis(40);
//! let mut copa = pcc_baselines::build("copa", 1).expect("a known name");
//! copa.on_mtu_change(BYTES);
//!
//! // As many packets as may be in flight, all at once.
//! let (start, initial) = (Time::ZERO, copa.in_flight_cap());
//! for number in 0..initial / BYTES {
//!     copa.on_packet_sent(&SentPacket { time: start, number, bytes: BYTES });
//! }
//! // A round trip later they are acknowledged, in one batch.
//! let now = start + rtt;
//! for number in 0..initial / BYTES {
//!     copa.on_packet_acked(&AckedPacket { time: now, number, sent: start, bytes: BYTES, rtt });
//! }
//! copa.on_batch_end(now);
//!
//! assert_eq!(copa.in_flight_cap(), 2 * initial, "no queue: the window doubles");
//! let rate = copa.pacing_rate().expect("paced, once there is a round-trip time");
//! assert_eq!(rate.bytes_in(rtt), 2 * copa.in_flight_cap());
//! ```

mod controllers;
mod limits;
mod parts;

pub use controllers::{BASELINES, Baseline, Constructor, build, constructor, find, names, paced};

/// The examples of the readme are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
