#!/usr/bin/env bash
# Simulated seconds per second of CPU in ns-3 for one flow over 100 Mbit/s, 30 ms, 375 kB; medians.
# Usage: benches/ns3_speed.sh [SECONDS] [ROUNDS]     (default: 20 simulated seconds, 3 rounds; needs libns3-dev)
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-20} rounds=${2:-3}
if ! g++ -E -x c++ -include ns3/core-module.h /dev/null >/dev/null 2>&1; then
    echo "skipped: ns-3 is not installed (Debian: libns3-dev)"
    exit 0
fi
benches/peers/ns3/build.sh

speed() { # COMMAND...: the median of what it prints as simulated_s_per_cpu_s
    for _ in $(seq "$rounds"); do
        "$@" | sed -E 's/.*"simulated_s_per_cpu_s": ?([0-9.]+).*/\1/'
    done | sort -g | sed -n "$(((rounds + 1) / 2))p"
}

for tcp in TcpCubic TcpNewReno; do
    printf 'ns-3 %-12s %8.2f simulated s per CPU s\n' "$tcp" \
        "$(speed target/ns3-dumbbell --tcp="$tcp" --rate=100 --rtt=30 --queue=375000 --seconds="$seconds")"
done
