//! Compiles the control core: for the host, and with the feature `loader` the programs for the kernel, which needs clang.

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
    #[cfg(feature = "loader")]
    for name in ["pcc", "exec"] {
        programs::build(name);
    }
}

#[cfg(feature = "loader")]
mod programs {
    use libbpf_cargo::SkeletonBuilder;
    use std::path::PathBuf;

    /// Compiles `bpf/NAME.bpf.c`, and writes what loads it to `NAME.rs` in the folder of the build's output.
    pub fn build(name: &str) {
        let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
        SkeletonBuilder::new()
            .source(format!("bpf/{name}.bpf.c"))
            .clang_args(["-mcpu=v3", "-Wall", "-Werror"])
            .build_and_generate(out.join(format!("{name}.rs")))
            .unwrap_or_else(|error| panic!("bpf/{name}.bpf.c: {error:#}"));
    }
}
