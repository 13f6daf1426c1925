#!/usr/bin/env bash
# Compares senders on a machine that is kept busy on purpose with the simulator's host busy-vm: benches/busy.toml.
# Usage: sudo benches/busy.sh [SEEDS]     (default: 1..3; 9 minutes each)
# The ends of the flows give up their priority here, and beside them four programs work for 10 ms out of 40, which end by themselves.
# `cargo xtask host-lateness` beside the same programs prints what to compare with crates/pcc-lab/src/scenario/busy-vm.toml.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet -p pcc-cli
seeds=${1:-1..3}
ends=40 # the priority of the threads that send and receive

started=()
trap 'kill "${started[@]}" 2>/dev/null || true' EXIT
for _ in 1 2 3 4; do
    timeout 3600 python3 -c '
import time
while True:
    end = time.monotonic() + 0.01
    while time.monotonic() < end: pass
    time.sleep(0.03)' &
    started+=($!)
done
target/release/pcc lab compare benches/busy.toml --seeds "$seeds" --metric goodput &
lab=$!
started+=("$lab")
while kill -0 "$lab" 2>/dev/null; do
    ps -L -o tid=,cls=,rtprio= -p "$lab" | while read -r thread class priority; do
        [ "$class $priority" != "RR $ends" ] || chrt --other --pid 0 "$thread"
    done
    sleep 0.1
done
wait "$lab"
