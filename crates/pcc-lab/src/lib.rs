//! Experiments with congestion control in virtual time: a path model, a simulator, real QUIC endpoints without sockets,
//! scenarios, reports, plots, and the figures of the papers. Portable, and the same to the byte for the same seed.
//!
//! Each module uses only those above it:
//!
//! | module | what it has |
//! |---|---|
//! | [`quantity`], [`expression`] | numbers with units; formulas |
//! | [`stall`] | times in which a link or a host does nothing |
//! | [`link`] | what one direction of a path does to packets |
//! | [`sim`] | flows over links, in virtual time |
//! | [`controller`] | congestion controllers by name, with any constant overridden |
//! | [`virtual_quic`] | real QUIC over links, in virtual time; nothing below uses it |
//! | [`scenario`] | experiments as files |
//! | [`report`] | what a run showed, in numbers; tables |
//! | [`plot`] | the same as SVG |
//! | [`page`] | HTML pages that need nothing but a browser |
//! | [`run`] | runs the cases of a scenario |
//! | [`figure`] | the figures of the papers: what runs are compared with |
//! | [`gauntlet`] | cases of all kinds of paths, and which controller is best in each |
//! | [`tune`] | looks for better constants of a profile, by such cases |
//!
//! A new queue is a file in `link/queue/` and a line in its list; a new metric is a field of [`report::FlowReport`] and a line in
//! [`report::METRICS`].

pub mod controller;
pub mod expression;
pub mod figure;
pub mod gauntlet;
pub mod link;
pub mod page;
pub mod plot;
pub mod quantity;
pub mod report;
pub mod run;
pub mod scenario;
pub mod sim;
pub mod stall;
pub mod tune;
pub mod virtual_quic;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
