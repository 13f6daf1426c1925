#!/usr/bin/env bash
# Goodput of `pcc get` from `pcc serve` beside `pcc send`, and beside curl, whose HTTP/2 leaves under the kernel's TCP, from
# this machine to a client behind an emulated path. Needs root.
# Usage: benches/serve/run.sh MEGABYTES ROUNDS [OPTIONS of pcc lab shell...]
#   benches/serve/run.sh 100 3 --rate 42mbit --rtt 800ms --loss 0.74% --queue 1MB
#   benches/serve/run.sh 100 3 --rate 100mbit --rtt 30ms --loss 1% --queue 375kB
# Without options of a path it measures loopback. Start-up and handshakes are part of it; each line is one round. curl gets a
# minute, and what came until then counts. While it runs, TCP may buffer 64 MB to send: the usual 4 MB hold half of what bbr has under
# way over a satellite.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
megabytes=$1 rounds=$2
shift 2
pcc=${PCC:-$here/../../target/release/pcc}
export pcc port=${PORT:-5443}
dir=$(mktemp -d -p "$([ -d /dev/shm ] && echo /dev/shm || echo /tmp)")
export dir
mkdir "$dir/root"
head -c "${megabytes}000000" /dev/urandom >"$dir/root/data"
"$pcc" serve "$dir/root" --listen "0.0.0.0:$port" >/dev/null 2>"$dir/serve.log" &
serve=$!
buffers=$(cat /proc/sys/net/ipv4/tcp_wmem)
# Without waiting for clients whose path is gone.
trap 'echo "$buffers" >/proc/sys/net/ipv4/tcp_wmem; kill -9 $serve 2>/dev/null; wait $serve 2>/dev/null || true; rm -rf "$dir"' EXIT
echo 4096 16384 67108864 >/proc/sys/net/ipv4/tcp_wmem
until grep -q 'sha256//' "$dir/serve.log"; do sleep 0.1; done
pin=$(grep -o 'sha256//.*' "$dir/serve.log")
export pin

# The rate in a line of JSON.
rate() { grep -o '"event":"done".*' | grep -o '"bits_per_second":[0-9.]*' | tail -1 | awk -F: '{ print $2 * 1e-6 }'; }
export -f rate

# Runs behind the path.
inside() {
    url=https://${PCC_HOST:-127.0.0.1}:$port/data
    "$pcc" get --json --pin "$pin" --overwrite -o "$dir/out" "$url" | rate >"$dir/get.rate"
    cmp "$dir/out" "$dir/root/data"
    rm -rf "$dir/in"
    "$pcc" recv "$dir/in" --from anyone ${PCC_ADDRESS:+--listen "$PCC_ADDRESS:0"} >"$dir/recv.ticket" 2>/dev/null
    { curl -sk --max-time 60 -o /dev/null -w '%{speed_download}' "$url" || true; } |
        awk '{ print $1 * 8e-6 }' >"$dir/curl.rate"
}
export -f inside

# Sends as soon as somebody receives.
sending() {
    until [ -s "$dir/recv.ticket" ]; do sleep 0.1; done
    "$pcc" send --json --ticket-file "$dir/recv.ticket" "$dir/root/data" | rate >"$dir/send.rate"
}

printf '%-8s ' get send curl
echo '(Mbit/s)'
for _ in $(seq "$rounds"); do
    rm -f "$dir/recv.ticket"
    sending &
    sender=$!
    if [ $# -gt 0 ]; then "$pcc" lab shell "$@" -- bash -c inside; else inside; fi 2>"$dir/inside.log" || cat "$dir/inside.log" >&2
    wait $sender
    for what in get send curl; do
        printf '%-8.1f ' "$(cat "$dir/$what.rate")"
    done
    echo
done
