//! Experiments with congestion control in virtual time: a path model, a simulator, real QUIC endpoints without sockets,
//! scenarios, reports, plots, and the figures of the papers. Portable, and the same to the byte for the same seed.

pub mod controller;
pub mod expression;
pub mod figure;
pub mod link;
pub mod plot;
pub mod quantity;
pub mod report;
pub mod run;
pub mod scenario;
pub mod sim;
pub mod virtual_quic;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
