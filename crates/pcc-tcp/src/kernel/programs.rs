//! The programs in `bpf/`, as Rust sees them.

pub mod exec {
    include!(concat!(env!("OUT_DIR"), "/exec.rs"));
}

pub mod pcc {
    include!(concat!(env!("OUT_DIR"), "/pcc.rs"));
}

pub mod top {
    include!(concat!(env!("OUT_DIR"), "/top.rs"));
}
