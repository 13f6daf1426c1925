#!/usr/bin/env bash
# How late frames are under three controllers, behind an emulated path. Needs root and `pcc`.
# Usage: ./measure.sh ROUNDS [OPTIONS of pcc lab shell...]
set -euo pipefail
cd "$(dirname "$0")"
cargo build --release --quiet
example=${CARGO_TARGET_DIR:-target}/release/pcc-webtransport-example
pcc=${PCC:-../../target/release/pcc}
rounds=$1 hash=$(mktemp)
shift
[ $# -gt 0 ] || set -- --rate 30mbit --rtt 60ms --loss 1% --queue 150kB
trap 'rm -f "$hash"' EXIT
for _ in $(seq "$rounds"); do
    for controller in queue-target bbr3 cubic; do
        "$example" publish 0.0.0.0:4443 "$controller" >"$hash" &
        publisher=$!
        until [ -s "$hash" ]; do sleep 0.1; done
        watch="$example watch https://\$PCC_HOST:4443 $(cat "$hash") 20"
        echo "$controller: $("$pcc" lab shell "$@" -- sh -c "$watch" 2>/dev/null || echo nothing came)"
        kill "$publisher"
        wait "$publisher" 2>/dev/null || true
        : >"$hash"
    done
done
