#!/usr/bin/env bash
# What else docs/proxy.md tells of `pcc proxy`, on real programs behind an emulated path. Needs root, python3, and for some
# cases iperf3, or rsync with ssh and sshd.
# Usage: benches/proxy/cases.sh CASE [OPTIONS of pcc lab shell...]
#   wire      bytes on the wire for each byte of a program
#   page      seconds for 100 connections of 10 kB at once, through a forward and over the kernel's TCP
#   iperf     iperf3 in both directions, the same way; Mbit/s in $SECONDS_EACH (20)
#   rsync     $MEGABYTES (50) over ssh, through pipe and over the kernel's TCP; Mbit/s up to the end or in 60 s, and how long
#             it takes for an empty folder, which is the time that ssh and rsync need before the first byte
#   rsyncd    the same from rsync's own daemon, without ssh, through a forward and over the kernel's default TCP
#   window    a program that has at most 2, 8 or 32 MB under way, in Mbit/s, in the second half of twice $SECONDS_EACH
#   weights   two near sides of one far side with weights of 7 and 3, exchanged after 20 s
#   stalled   memory of both sides with 500 connections, one of which nobody reads
# The path is one of 100 Mbit/s, 30 ms, 1 % loss and 375 kB queue, unless the options say otherwise; that of `weights` has
# 40 ms, no loss and 500 kB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
pcc=${PCC:-$here/../../target/release/pcc}
dir=$(mktemp -d -p "$([ -d /dev/shm ] && echo /dev/shm || echo /tmp)")
export pcc here dir port=${PORT:-5411}
case=$1
shift
path=("$@")
[ $# -gt 0 ] || path=(--rate 100mbit --rtt 30ms --loss 1% --queue 375kB)
export each=${SECONDS_EACH:-20} megabytes=${MEGABYTES:-50}

# A far side that allows some ports of this machine.
far() {
    for allowed in "$@"; do set -- "$@" --allow "127.0.0.1:$allowed"; shift; done
    "$pcc" proxy serve --listen 0.0.0.0:0 --control "$dir/far" "$@" >"$dir/ticket" 2>"$dir/serve.log" &
    started+=($!)
    until [ -s "$dir/ticket" ]; do sleep 0.1; done
}

# A near side with a forward from one port to the other.
near() {
    "$pcc" proxy connect --ticket-file "$dir/ticket" --control "$dir/near" --forward "127.0.0.1:$1=127.0.0.1:$2" 2>"$dir/$1.log" &
    started+=($!)
    until grep -q 'connected to' "$dir/$1.log"; do sleep 0.1; done
}

# A program that listens on $port.
serving() {
    "$@" &
    started+=($!)
    until_listening "$port"
}

pump() {
    serving python3 "$here/pump.py" serve "$port"
}

until_listening() {
    until ss -Hltn "sport = :$1" | grep -q LISTEN; do sleep 0.1; done
}

ended() {
    { kill -9 "${started[@]}"; wait "${started[@]}"; } 2>/dev/null || true
}

# A function of this file, behind the path.
behind() {
    "$pcc" lab shell "${path[@]}" -- bash -c "started=(); trap ended EXIT; $1" 2>/dev/null
}

# The sums of all connections of the far side.
sums() {
    "$pcc" proxy status --control "$dir/far" --json
}

wire() {
    pump
    far "$port"
    behind wire_inside
}
wire_inside() {
    near $((port + 1)) "$port"
    python3 "$here/pump.py" fetch 127.0.0.1 $((port + 1)) 100000000 cubic 600
    sums | python3 -c 'import json, sys
now = json.loads(sys.stdin.readline())
sent, packets = now["sent_bytes"], now["sent_packets"]
print(f"{sent / 1e8:.3f} bytes of UDP payload for each byte, {(sent + 28 * packets) / 1e8:.3f} with headers of UDP and IPv4;", now["lost_packets"], "of", packets, "lost")'
}

weights() {
    pump
    far "$port"
    [ $# -gt 0 ] || path=(--rate 100mbit --rtt 40ms --queue 500kB)
    behind weights_inside
}
weights_inside() {
    for one in 1 2; do
        near $((port + one)) "$port"
        python3 "$here/pump.py" fetch 127.0.0.1 $((port + one)) 10000000000 cubic 45 >/dev/null &
    done
    ids=$(sums | python3 -c 'import json, sys
for line in sys.stdin: print(json.loads(line)["id"])')
    share() {
        set -- $ids
        "$pcc" proxy weight "$1" "$w1" --control "$dir/far"
        "$pcc" proxy weight "$2" "$w2" --control "$dir/far"
        sleep 10
        sums >"$dir/before"
        sleep 10
        sums | python3 -c 'import json, sys
read = lambda lines: [json.loads(line)["sent_bytes"] for line in lines]
before, after = read(open(sys.argv[1])), read(sys.stdin)
sent = [b - a for a, b in zip(before, after)]
print(f"{100 * sent[0] / sum(sent):.1f} : {100 * sent[1] / sum(sent):.1f} of {sum(sent) * 8e-7:.1f} Mbit/s")' "$dir/before"
    }
    w1=7 w2=3 share
    w1=3 w2=7 share
}

page() {
    pump
    far "$port"
    behind page_inside
}
page_inside() {
    near $((port + 1)) "$port"
    load() {
        python3 "$here/pump.py" fetch "$2" "$3" 10000 "$4" 60 100 | awk -v what="$1" '{ printf "%s: %.2f s\n", what, 8 / $1 }'
    }
    load "through the proxy" 127.0.0.1 $((port + 1)) cubic
    load "through the proxy, again" 127.0.0.1 $((port + 1)) cubic
    load cubic "$PCC_HOST" "$port" cubic
    load bbr "$PCC_HOST" "$port" bbr
}

iperf() {
    serving iperf3 -s -p "$port" >/dev/null
    far "$port"
    behind iperf_inside
}
iperf_inside() {
    near $((port + 1)) "$port"
    measure() {
        local what=$1
        shift
        iperf3 --json -t "$each" "$@" | python3 -c 'import json, sys
print(sys.argv[1] + ":", round(json.load(sys.stdin)["end"]["sum_received"]["bits_per_second"] * 1e-6, 1), "Mbit/s")' "$what"
    }
    for direction in -R --get-server-output; do
        [ "$direction" = -R ] && echo "to here" || echo "from here"
        measure "through the proxy" -c 127.0.0.1 -p $((port + 1)) "$direction"
        for control in cubic bbr; do
            measure "$control" -c "$PCC_HOST" -p "$port" -C "$control" "$direction"
        done
    done
}

# sshd for each connection to a port, which sends with a congestion control of the kernel.
ssh_server() {
    python3 -c 'import socket, subprocess, sys
with socket.create_server(("0.0.0.0", int(sys.argv[1]))) as listener:
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[2].encode())
    while True:
        connection, _ = listener.accept()
        subprocess.Popen(sys.argv[3:], stdin=connection, stdout=connection, stderr=subprocess.DEVNULL)
        connection.close()' "$1" "$2" "$(command -v sshd || echo /usr/sbin/sshd)" -i -f /dev/null -h "$dir/host" \
        -o AuthorizedKeysFile="$dir/authorized" -o StrictModes=no -o UsePAM=no -o PermitRootLogin=yes &
    started+=($!)
    until_listening "$1"
}

files() {
    mkdir -p "$dir/files" "$dir/nothing"
    for n in $(seq $((megabytes / 2))); do head -c 2000000 /dev/urandom >"$dir/files/$n"; done
}

rsync() {
    files
    mkdir -p /run/sshd
    ssh-keygen -q -t ed25519 -N "" -f "$dir/key"
    ssh-keygen -q -t ed25519 -N "" -f "$dir/host"
    cp "$dir/key.pub" "$dir/authorized"
    ssh_server "$port" cubic
    ssh_server $((port + 1)) bbr
    far "$port"
    behind rsync_inside
}
rsync_inside() {
    over() {
        local what=$1 host=$2 shell="ssh -i $dir/key -p $3 -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null ${*:4}"
        fetch "$what" "$host:$dir" -e "$shell"
    }
    over "through the proxy" 127.0.0.1 "$port" "-o ProxyCommand='$pcc proxy pipe --ticket-file $dir/ticket %h %p'"
    over cubic "$PCC_HOST" "$port"
    over bbr "$PCC_HOST" $((port + 1))
}
fetch() {
    local what=$1 from=$2 began=$EPOCHREALTIME
    shift 2
    rm -rf "$dir/in"
    command rsync -a "$@" "$from/nothing/" "$dir/in/"
    local between=$EPOCHREALTIME
    timeout 60 rsync -a "$@" "$from/files/" "$dir/in/" && diff -r "$dir/files" "$dir/in"
    echo "$EPOCHREALTIME $between $began $(du -sb "$dir/in" | cut -f1)" | awk -v what="$what" '{
        printf "%s: %.1f Mbit/s, and %.1f s for nothing\n", what, $4 * 8e-6 / ($1 - $2), $2 - $3 }'
}

rsyncd() {
    files
    printf 'uid = root\ngid = root\n[all]\npath = %s\n' "$dir" >"$dir/rsyncd.conf"
    serving env rsync --daemon --no-detach --port "$port" --config "$dir/rsyncd.conf"
    far "$port"
    behind rsyncd_inside
}
rsyncd_inside() {
    near $((port + 1)) "$port"
    fetch "through the proxy" "rsync://127.0.0.1:$((port + 1))/all"
    fetch "$(sysctl -n net.ipv4.tcp_congestion_control)" "rsync://$PCC_HOST:$port/all"
}

window() {
    serving python3 "$here/window.py" serve "$port"
    far "$port"
    behind window_inside
}
window_inside() {
    near $((port + 1)) "$port"
    for megabytes in 2 8 32; do
        echo "$megabytes MB: $(python3 "$here/window.py" fetch 127.0.0.1 $((port + 1)) ${megabytes}000000 $((2 * each))) Mbit/s"
    done
}

stalled() {
    pump
    far "$port"
    near $((port + 1)) "$port"
    python3 "$here/stalled.py" $((port + 1)) "${started[@]:1}"
}

export -f near sums ended fetch
if declare -F "${case}_inside" >/dev/null; then export -f "${case}_inside"; fi
started=()
trap 'ended; rm -rf "$dir"' EXIT
"$case" "$@"
