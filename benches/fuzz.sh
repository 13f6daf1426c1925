#!/usr/bin/env bash
# Fuzzes all that is parsed, with libFuzzer, which watches what code is reached.
# Usage: benches/fuzz.sh [SECONDS]     (each of the tests so long; default: 60)
# What it finds that reaches new code is put into __fuzz__ beside the tests, what fails too. `cargo test` runs all of that.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
# As cargo-bolero has them. That tool can't be used: it also builds tests that are no fuzz tests, and those don't link.
coverage="--cfg fuzzing -Cpasses=sancov-module --cfg fuzzing_libfuzzer"
for option in inline-8bit-counters level=4 pc-table trace-compares stack-depth; do
    coverage+=" -Cllvm-args=-sanitizer-coverage-$option"
done

fuzz() { # FOLDER PREFIX CARGO-TEST-OPTIONS...: all tests of a binary whose names begin with PREFIX
    local folder=$1/__fuzz__ prefix=$2 exe names name place arguments
    shift 2
    exe=$(BOLERO_FUZZER=libfuzzer RUSTFLAGS=$coverage cargo test --target-dir "${CARGO_TARGET_DIR:-target}/fuzz" --profile fuzz \
        --target "$(rustc --print host-tuple)" "$@" --no-run --message-format=json |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -1)
    names=$("$exe" --list 2>/dev/null | sed -n "s/^\($prefix.*\): test$/\1/p")
    [ -n "$names" ] || { echo "no test begins with '$prefix' in cargo test $*" >&2; exit 1; }
    for name in $names; do
        place=$folder/${name//::/__}
        mkdir -p "$place/corpus" "$place/crashes"
        echo "== $name"
        arguments="$place/corpus -artifact_prefix=$place/crashes/ -max_len=4096 -timeout=10 -print_final_stats=1"
        BOLERO_TEST_NAME=$name BOLERO_LIBTEST_HARNESS=1 BOLERO_LIBFUZZER_ARGS="$arguments -max_total_time=$seconds" \
            "$exe" "$name" --exact --nocapture --quiet --test-threads 1
    done
}

for command in transfer serve get; do
    fuzz crates/pcc-cli/src/$command $command::fuzz:: -p pcc-cli --lib
done
fuzz crates/pcc-lab/tests "" -p pcc-lab --test fuzz
