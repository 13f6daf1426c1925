#!/usr/bin/env bash
# The share of the time in which a video stalls, in percent, while the round trip is drawn anew between 10 and 100 ms every 5 s,
# through `pcc proxy` with two of its controllers and over the kernel's TCP (Vivace 2018, section 5.5.1). Needs root and python3.
# Usage: benches/proxy/video.sh SEEDS [SECONDS]          a run of SECONDS (60) for each of sixteen cases and each seed
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
seeds=$1 seconds=${2:-60}
pcc=${PCC:-$here/../../target/release/pcc}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export PCC=$pcc

for seed in $(seq "$seeds"); do
    for mbps in 15 30 50 95; do
        for way in queue-target vivace-latency bbr cubic; do
            mkdir "$dir/$seed-$mbps-$way"
            "$pcc" lab run "$here/video.toml" --on emulator --seeds "$seed..$seed" \
                --set "duration=$((seconds + 2))s" --set "link.rate=$((mbps * 1100))kbit" \
                --set "flow.command=python3 $here/video.py serve {client} $way $dir/$seed-$mbps-$way" \
                --set "flow.server=python3 $here/video.py watch {client} $way $dir/$seed-$mbps-$way $mbps $seconds $dir/results" >/dev/null
            tail -1 "$dir/results"
        done
    done
done
python3 - "$dir/results" <<'END'
import collections, statistics, sys
runs = collections.defaultdict(list)
for way, mbps, share in map(str.split, open(sys.argv[1])):
    runs[int(mbps), way].append(100 * float(share))
for (mbps, way), shares in sorted(runs.items()):
    print(f"{mbps} Mbit/s, {way}: {statistics.median(shares):.1f} % ({', '.join(f'{share:.1f}' for share in shares)})")
END
