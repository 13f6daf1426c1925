//! The C core compiles for BPF: no signed division, no 128-bit integers, no calls that BPF hasn't, at most 512 bytes of stack.

use std::process::Command;

#[test]
fn clang_compiles_the_core_for_bpf() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/bpf/compile.bpf.c");
    let object = concat!(env!("CARGO_TARGET_TMPDIR"), "/compile.bpf.o");
    let mut clang = Command::new("clang");
    clang.args(["-target", "bpf", "-O2", "-mcpu=v3", "-Wall", "-Werror", "-c", source, "-o", object]);
    match clang.output() {
        Err(_) => println!("skipped: clang is not installed"),
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
    }
}
