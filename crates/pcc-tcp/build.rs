//! Compiles the control core for the host; the kernel's build of the same headers needs clang.

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-changed=host");
    cc::Build::new()
        .files(["host/sender.c", "host/testing.c"])
        .include("bpf")
        .std("gnu11")
        .opt_level(2)
        .flag_if_supported("-Wno-unused-const-variable")
        .compile("pcc_kernel");
}
