#!/usr/bin/env bash
# How long `pcc send` and `pcc recv` take for many small files, beside `tar | tar` over a TCP connection, both over loopback.
# Usage: benches/small_files.sh [FILES] [ROUNDS]     (default: 20000 files of 1 kB, 9 rounds); PCC names the program,
# TMPDIR the file system. Needs python3 and GNU tar. The two take turns; what counts is the median of the ratios.
set -euo pipefail
cd "$(dirname "$0")/.."
files=${1:-20000} rounds=${2:-9}
pcc=${PCC:-${CARGO_TARGET_DIR:-target}/release/pcc}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export XDG_CONFIG_HOME=$place/config
python3 - "$place/tree" "$files" <<'END'
import os, sys
tree, files = sys.argv[1], int(sys.argv[2])
for n in range(files):
    folder = f"{tree}/{n // 1000}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{n}", "wb") as file:
        file.write(os.urandom(1000))
END
now() { date +%s%N; }

by_tar() { # DIR: seconds until all of it is there and on disk
    mkdir "$1"
    local began port
    began=$(now)
    coproc receiver { python3 -c '
import os, socket
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
connection, _ = listening.accept()
os.dup2(connection.fileno(), 0)
os.execvp("tar", ["tar", "-C", os.sys.argv[1], "-xf", "-"])' "$1"; }
    local pid=$receiver_PID
    read -r port <&"${receiver[0]}"
    tar -C "$place" -cf - tree >"/dev/tcp/127.0.0.1/$port"
    wait "$pid"
    sync -f "$1"
    echo $(($(now) - began))
}

by_pcc() { # DIR
    local began
    rm -f "$place/ticket"
    began=$(now)
    "$pcc" recv "$1" --listen 127.0.0.1:0 --from anyone >"$place/ticket" 2>"$place/log" &
    local pid=$!
    until [ -s "$place/ticket" ]; do
        kill -0 "$pid" 2>/dev/null || { cat "$place/log" >&2; exit 1; }
        sleep 0.01
    done
    "$pcc" send --ticket-file "$place/ticket" "$place/tree" >"$place/sent" 2>&1 || { cat "$place/sent" >&2; exit 1; }
    wait "$pid"
    echo $(($(now) - began))
}

for round in $(seq "$rounds"); do
    tar_ns=$(by_tar "$place/by-tar") pcc_ns=$(by_pcc "$place/by-pcc")
    diff -r "$place/tree" "$place/by-pcc/tree"
    rm -rf "$place/by-tar" "$place/by-pcc"
    echo "$tar_ns $pcc_ns"
done | python3 -c '
import statistics, sys
rounds = [[int(ns) / 1e9 for ns in line.split()] for line in sys.stdin]
tar, pcc = ([round(times[who], 2) for times in rounds] for who in (0, 1))
ratio = statistics.median(times[1] / times[0] for times in rounds)
print(f"tar {statistics.median(tar)} s, pcc {statistics.median(pcc)} s, ratio {ratio:.2f} (medians of {len(rounds)} rounds)")'
