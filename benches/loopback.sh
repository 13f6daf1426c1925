#!/usr/bin/env bash
# Goodput and CPU of `pcc send` over loopback, for each controller, interleaved so that noise hits all alike.
# Usage: benches/loopback.sh [MEGABYTES] [ROUNDS] [CONTROLLER...]     (default: 1074 5 cubic queue-target vivace-latency)
# The files lie in memory if /dev/shm is there. Read the ratios, not the absolute numbers.
set -euo pipefail
cd "$(dirname "$0")/.."
megabytes=${1:-1074} rounds=${2:-5}
shift $(($# < 2 ? $# : 2))
controllers=("${@:-cubic}")
[ $# -gt 0 ] || controllers=(cubic queue-target vivace-latency)
cargo build --release --quiet -p pcc-cli
pcc=$PWD/target/release/pcc
dir=$(mktemp -d -p "$([ -d /dev/shm ] && echo /dev/shm || echo /tmp)")
trap 'rm -rf "$dir"' EXIT
head -c $((megabytes * 1000000)) /dev/urandom >"$dir/data"

one() { # CONTROLLER: prints Mbit/s, CPU seconds per GB of sender and of receiver
    local ticket= TIMEFORMAT='%R %U %S'
    rm -rf "$dir/in" "$dir/ticket"
    mkdir "$dir/in"
    { time "$pcc" recv "$dir/in" --from anyone --listen 127.0.0.1:0 >"$dir/ticket" 2>/dev/null; } 2>"$dir/recv.time" &
    local receiver=$!
    until ticket=$(grep -o 'pcc1[a-z0-9]*' "$dir/ticket" 2>/dev/null); do sleep 0.05; done
    { time PCC_TICKET=$ticket "$pcc" send "$dir/data" --controller "$1" >/dev/null 2>&1; } 2>"$dir/send.time"
    wait "$receiver"
    cmp -s "$dir/data" "$dir/in/data" || { echo "$1: the copy differs" >&2; exit 1; }
    awk -v mb="$megabytes" 'NR == FNR { real = $1; sender = $2 + $3; next }
        { printf "%.0f %.2f %.2f\n", mb * 8 / real, sender * 1000 / mb, ($2 + $3) * 1000 / mb }' "$dir/send.time" "$dir/recv.time"
}

for round in $(seq "$rounds"); do
    for controller in "${controllers[@]}"; do
        one "$controller" >>"$dir/$controller.result"
        echo "round $round of $rounds: $controller done" >&2
    done
done
printf '%-16s %10s %22s %22s\n' controller Mbit/s 'sender CPU s per GB' 'receiver CPU s per GB'
for controller in "${controllers[@]}"; do
    printf '%-16s' "$controller"
    for column in 1 2 3; do
        printf ' %*s' $((column == 1 ? 10 : 22)) "$(cut -d' ' -f$column "$dir/$controller.result" | sort -n | sed -n "$(((rounds + 1) / 2))p")"
    done
    echo
done
echo "medians of $rounds rounds of $megabytes MB"
