#!/usr/bin/env bash
# Simulated seconds per second of CPU for one flow over 100 Mbit/s, 30 ms, 375 kB: our simulator and ns-3, and the
# ratio; medians of runs that take turns.
# Usage: benches/ns3_speed.sh [SECONDS] [ROUNDS]     (ns-3's simulated seconds, 20, and rounds, 3; needs libns3-dev)
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-20} rounds=${2:-3}
cargo build --release --quiet -p pcc-cli
if ! g++ -E -x c++ -include ns3/core-module.h /dev/null >/dev/null 2>&1; then
    echo "skipped: ns-3 is not installed (Debian: libns3-dev)"
    exit 0
fi
benches/peers/ns3/build.sh

median() { sort -g | sed -n "$(((rounds + 1) / 2))p"; }

ours() { # CONTROLLER: 200 simulated seconds over the CPU time that they took
    local TIMEFORMAT=%U cpu
    cpu=$({ time target/release/pcc lab run benches/speed.toml --set flow.controller="$1" --json >/dev/null; } 2>&1)
    awk -v cpu="$cpu" 'BEGIN { printf "%.1f\n", 200 / cpu }'
}

theirs() { # VARIANT
    target/ns3-dumbbell --tcp="$1" --rate=100 --rtt=30 --queue=375000 --seconds="$seconds" |
        sed -E 's/.*"simulated_s_per_cpu_s": ?([0-9.]+).*/\1/'
}

for pair in cubic:TcpCubic newreno:TcpNewReno; do
    us=() them=()
    for _ in $(seq "$rounds"); do
        us+=("$(ours "${pair%:*}")") them+=("$(theirs "${pair#*:}")")
    done
    us_median=$(printf '%s\n' "${us[@]}" | median) them_median=$(printf '%s\n' "${them[@]}" | median)
    awk -v name="${pair%:*}" -v us="$us_median" -v them="$them_median" 'BEGIN {
        printf "%-8s ours %8.1f, ns-3 %6.2f simulated s per CPU s: %.0f times\n", name, us, them, us / them }'
done
