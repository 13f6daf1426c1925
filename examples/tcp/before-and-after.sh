#!/bin/sh
# An unmodified web server over a lossy path, before and after `pcc tcp exec`: 100 Mbit/s, 30 ms, 1 % loss.
#
#   sudo examples/tcp/before-and-after.sh [PCC]
#
# PCC is the command `pcc` with the feature `tcp`; else the one on the PATH. Needs python3 and curl. Everything happens in a
# network namespace of its own, whose default is CUBIC, or Reno where the machine lets namespaces have no other.
set -eu

pcc=$(command -v "${1:-pcc}") || { echo "no pcc: cargo install --path crates/pcc-cli --features tcp" >&2; exit 1; }
if [ -z "${IN_NAMESPACE:-}" ]; then
    IN_NAMESPACE=1 exec unshare --net -- "$0" "$pcc"
fi
ip link set lo up
default=/proc/sys/net/ipv4/tcp_congestion_control
echo cubic 2>/dev/null >$default || echo reno >$default

folder=$(mktemp -d)
server=
clean_up() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
    rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 1' INT TERM
head -c 20000000 /dev/urandom >"$folder/data"
# The server may be that of the user who called sudo.
chmod 755 "$folder"

# Serves the folder with what the arguments put before the server, and fetches the file through the path.
fetch() {
    "$@" python3 -m http.server --directory "$folder" 8000 2>/dev/null >&2 &
    server=$!
    "$pcc" lab shell --rate 100mbit --rtt 30ms --loss 1% --queue 375kB -- sh -c '
        for attempt in $(seq 50); do
            curl --silent --fail --max-time 120 --output /dev/null --write-out "%{size_download} %{time_total}\n" \
                "http://$PCC_HOST:8000/data" && exit
            sleep 0.2
        done
        echo "the server does not answer" >&2
        exit 1' >"$folder/result"
    # The attempts before the server was there have lines, too.
    awk 'END { printf "%.0f MB in %5.1f s: %5.1f Mbit/s\n", $1 / 1e6, $2, $1 * 8 / $2 / 1e6 }' "$folder/result"
    kill "$server"
    wait "$server" 2>/dev/null || true
    server=
}

printf 'before: python3 -m http.server, %-17s ' "$(cat $default)"
fetch
printf 'after:  pcc tcp exec -- python3 -m http.server    '
fetch "$pcc" tcp exec --
