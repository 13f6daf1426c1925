#!/usr/bin/env bash
# Goodput and processor time of `pcc send` and `pcc recv`, for each controller in turns, so that noise hits all alike.
# Usage: benches/send.sh [MEGABYTES] [ROUNDS] [CONTROLLER...]     (default: 1074 5 cubic queue-target vivace-latency)
# Over loopback, or as root over an emulated path, with the options of `pcc lab shell`:
#   PATH_OPTIONS="--rate 100mbit --rtt 30ms --queue 375kB" benches/send.sh 250 7 cubic queue-target      (5 minutes)
# The files lie in memory if /dev/shm is there. Read the ratios, not the absolute numbers.
set -euo pipefail
cd "$(dirname "$0")/.."
megabytes=${1:-1074} rounds=${2:-5}
shift $(($# < 2 ? $# : 2))
controllers=("${@:-cubic}")
[ $# -gt 0 ] || controllers=(cubic queue-target vivace-latency)
cargo build --release --quiet -p pcc-cli
pcc=$PWD/target/release/pcc
behind=()
if [ -n "${PATH_OPTIONS:-}" ]; then
    read -ra options <<<"$PATH_OPTIONS"
    behind=("$pcc" lab shell "${options[@]}" --)
fi
dir=$(mktemp -d -p "$([ -d /dev/shm ] && echo /dev/shm || echo /tmp)")
trap 'rm -rf "$dir"' EXIT
head -c $((megabytes * 1000000)) /dev/urandom >"$dir/data"
export pcc dir TIMEFORMAT='%R %U %S'

one() { # CONTROLLER: prints Mbit/s, CPU seconds per GB of sender and of receiver
    rm -rf "$dir"/{in,host,ticket}
    mkdir "$dir/in"
    controller=$1 "${behind[@]}" bash -c '
        echo "${PCC_HOST:-127.0.0.1}" >"$dir/host"
        until grep -qs "^pcc1" "$dir/ticket"; do sleep 0.05; done
        { time "$pcc" send "$dir/data" --ticket-file "$dir/ticket" --controller "$controller" >/dev/null 2>&1; } 2>"$dir/send.time"' 2>/dev/null &
    local sender=$!
    until [ -s "$dir/host" ]; do sleep 0.05; done
    # A shell of its own: bash counts each child that ends meanwhile, the sender's too.
    (time "$pcc" recv "$dir/in" --from anyone --listen "$(cat "$dir/host"):0" >"$dir/ticket" 2>/dev/null) 2>"$dir/recv.time"
    wait "$sender"
    cmp -s "$dir/data" "$dir/in/data" || { echo "$1: the copy differs" >&2; exit 1; }
    awk -v mb="$megabytes" 'NR == FNR { real = $1; sender = $2 + $3; next }
        { printf "%.1f %.2f %.2f\n", mb * 8 / real, sender * 1000 / mb, ($2 + $3) * 1000 / mb }' "$dir/send.time" "$dir/recv.time"
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
