//! `pcc proxy` over loopback.

#[allow(dead_code, reason = "what only transfers need")]
mod common;
#[path = "proxy/control.rs"]
mod control;
#[path = "proxy/datagrams.rs"]
mod datagrams;
#[path = "proxy/endings.rs"]
mod endings;
#[path = "proxy/metrics.rs"]
mod metrics;
#[path = "proxy/paths.rs"]
mod paths;
#[path = "proxy/requests.rs"]
mod requests;
#[path = "proxy/support.rs"]
mod support;
#[path = "proxy/traffic.rs"]
mod traffic;
