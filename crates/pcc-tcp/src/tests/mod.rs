//! Tests of the C core against the Rust core.
