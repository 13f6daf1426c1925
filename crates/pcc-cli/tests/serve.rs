//! `pcc serve` and `pcc get` over loopback, and other clients of HTTP.

#[path = "serve/clients.rs"]
mod clients;
#[allow(dead_code, reason = "what only transfers need")]
mod common;
#[path = "serve/downloads.rs"]
mod downloads;
#[path = "serve/endings.rs"]
mod endings;
#[path = "serve/limits.rs"]
mod limits;
#[path = "serve/requests.rs"]
mod requests;
#[path = "serve/support.rs"]
mod support;
