//! Compiles the control core: for the host, and with the feature `loader` the programs for the kernel, which needs clang.

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-changed=host");
    cc::Build::new()
        .files(["host/sender.c", "host/testing.c", "host/traced.c"])
        .include("bpf")
        .std("gnu11")
        .opt_level(2)
        .flag_if_supported("-Wno-unused-const-variable")
        .compile("pcc_kernel");
    #[cfg(feature = "loader")]
    {
        let layout = programs::layout();
        println!("cargo::rustc-env=PCC_LAYOUT={layout}");
        for name in ["exec", "pcc", "top"] {
            programs::build(name, layout);
        }
    }
}

#[cfg(feature = "loader")]
mod programs {
    use libbpf_cargo::SkeletonBuilder;
    use std::fs;
    use std::hash::{DefaultHasher, Hash, Hasher};
    use std::path::PathBuf;

    /// A number that tells this source of the programs from any other, so that what they share can be understood.
    pub fn layout() -> u32 {
        let files = fs::read_dir("bpf").expect("the programs' source").map(|file| file.expect("its list").path());
        let mut files: Vec<_> = files.map(|path| (fs::read(&path).expect("readable source"), path)).collect();
        files.sort();
        let mut hasher = DefaultHasher::new();
        files.hash(&mut hasher);
        hasher.finish() as u32
    }

    /// Compiles `bpf/NAME.bpf.c`, and writes what loads it to `NAME.rs` in the folder of the build's output.
    pub fn build(name: &str, layout: u32) {
        let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
        SkeletonBuilder::new()
            .source(format!("bpf/{name}.bpf.c"))
            .clang_args(["-mcpu=v3", "-Wall", "-Werror", &format!("-DLAYOUT={layout}u")])
            .build_and_generate(out.join(format!("{name}.rs")))
            .unwrap_or_else(|error| panic!("bpf/{name}.bpf.c: {error:#}"));
    }
}
