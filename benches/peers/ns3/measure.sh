#!/usr/bin/env bash
# Runs ns-3's controllers over the links of docs/data/links.csv; prints rows of docs/data/ns3.csv.
# Usage: benches/peers/ns3/measure.sh [CONTROLLER...]     (default: all; an hour of CPU time)
set -euo pipefail
cd "$(dirname "$0")/../../.."
benches/peers/ns3/build.sh
[ $# -gt 0 ] || set -- TcpNewReno TcpLinuxReno TcpCubic TcpBic TcpHtcp TcpHybla TcpIllinois TcpScalable \
    TcpVegas TcpVeno TcpWestwood TcpLedbat TcpBbr

row() { # LINK SEED OPTION...: one row for each flow
    local link=$1 seed=$2 result means halves
    if ! result=$(ulimit -t 150 && nice -n 19 target/ns3-dumbbell --tcp="$tcp" --seed="$seed" "${@:3}"); then
        echo "ns3,$tcp,$link,$seed,1,,,not done within 150 s of CPU"
        return
    fi
    IFS=, read -ra means <<<"$(sed -E 's/.*"goodput_mbps":\[([^]]*)\].*/\1/' <<<"$result")"
    IFS=, read -ra halves <<<"$(sed -E 's/.*"second_half_mbps":\[([^]]*)\].*/\1/' <<<"$result")"
    for flow in "${!means[@]}"; do
        echo "ns3,$tcp,$link,$seed,$((flow + 1)),${means[flow]},${halves[flow]},"
    done
}

echo source,controller,link,seed,flow,goodput_mbps,second_half_mbps,note
for tcp; do
    while IFS=, read -r link rate rtt queue loss seconds; do
        # Without random loss the seed changes nothing.
        for seed in $(seq "$([ "$loss" = 0 ] && echo 1 || echo 3)"); do
            row "$link" "$seed" --rate="$rate" --rtt="$rtt" --queue="$queue" --loss="$loss" --seconds="$seconds"
        done
    done < <(tail -n +2 docs/data/links.csv)
    # Two flows, the second one 10 s later: the second half is from 30 s to 60 s.
    row A-deep-two 1 --queue=375000 --seconds=60 --starts=0,10
done
