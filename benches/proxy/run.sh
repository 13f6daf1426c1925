#!/usr/bin/env bash
# Goodput through `pcc proxy` beside `pcc send` and the kernel's TCP, from this machine to a program behind an emulated path.
# Needs root and python3.
# Usage: benches/proxy/run.sh MEGABYTES ROUNDS [OPTIONS of pcc lab shell...]
#   benches/proxy/run.sh 100 3 --rate 42mbit --rtt 800ms --loss 0.74% --queue 1MB
#   benches/proxy/run.sh 100 3 --rate 100mbit --rtt 30ms --loss 1% --queue 375kB
# Without options of a path it measures loopback. Start-up is part of it; each line is one round. The kernel's TCP gets a
# minute, and what came until then counts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
megabytes=$1 rounds=$2
shift 2
pcc=${PCC:-$here/../../target/release/pcc}
export pcc here bytes=$((megabytes * 1000000)) port=${PORT:-5401}
dir=$(mktemp -d -p "$([ -d /dev/shm ] && echo /dev/shm || echo /tmp)")
export dir
head -c "$bytes" /dev/zero >"$dir/data"
python3 "$here/pump.py" serve "$port" &
pump=$!
"$pcc" proxy serve --listen 0.0.0.0:0 --allow "127.0.0.1:$port" >"$dir/ticket" 2>"$dir/serve.log" &
serve=$!
trap 'kill $pump $serve 2>/dev/null; rm -rf "$dir"' EXIT
until [ -s "$dir/ticket" ]; do sleep 0.1; done

# Runs behind the path.
inside() {
    host=${PCC_HOST:-127.0.0.1}
    "$pcc" proxy connect --ticket-file "$dir/ticket" --forward "127.0.0.1:$((port + 1))=127.0.0.1:$port" 2>"$dir/connect.log" &
    near=$!
    until grep -q 'connected to' "$dir/connect.log"; do sleep 0.1; done
    python3 "$here/pump.py" fetch 127.0.0.1 $((port + 1)) "$bytes" cubic 600 >"$dir/proxy.rate"
    kill -9 $near
    rm -rf "$dir/in"
    "$pcc" recv "$dir/in" --from anyone ${PCC_ADDRESS:+--listen "$PCC_ADDRESS:0"} >"$dir/recv.ticket" 2>/dev/null &
    near=$!
    wait $near
    for control in $controls; do
        python3 "$here/pump.py" fetch "$host" "$port" "$bytes" "$control" 60 >"$dir/$control.rate"
    done
}
export -f inside
controls=${CONTROLS-$(tr ' ' '\n' </proc/sys/net/ipv4/tcp_available_congestion_control | grep -xE 'cubic|bbr' | sort -r | tr '\n' ' ')}
export controls

# Sends as soon as somebody receives; the rate that it says it had.
sending() {
    until [ -s "$dir/recv.ticket" ]; do sleep 0.1; done
    "$pcc" send --json --ticket-file "$dir/recv.ticket" "$dir/data" >"$dir/send.json"
    grep -o '"bits_per_second":[0-9.]*' "$dir/send.json" | tail -1 | awk -F: '{ print $2 * 1e-6 }' >"$dir/send.rate"
}

printf '%-8s ' proxy send $controls
echo '(Mbit/s)'
for _ in $(seq "$rounds"); do
    rm -f "$dir/recv.ticket"
    sending &
    sender=$!
    if [ $# -gt 0 ]; then "$pcc" lab shell "$@" -- bash -c inside; else inside 2>/dev/null; fi
    wait $sender
    for what in proxy send $controls; do
        printf '%-8.1f ' "$(cat "$dir/$what.rate")"
    done
    echo
done
