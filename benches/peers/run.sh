#!/usr/bin/env bash
# Runs benches/peers/grid.toml on the emulator, writes docs/data/peers.jsonl, and puts the table into docs/peers.md.
# Usage: benches/peers/run.sh [SEEDS]     (default: 1..3; 20 minutes each; asks sudo for the emulator)
set -euo pipefail
cd "$(dirname "$0")/../.."
benches/peers/build.sh
cargo build --release --quiet -p pcc-cli
cargo build --release --quiet -p xtask

dir=$(mktemp -d)
runs=$dir/runs table=$dir/table document=$dir/document
trap 'rm -rf "$dir"' EXIT
as_root=()
[ "$EUID" -eq 0 ] || as_root=(sudo)
# A run that doesn't count makes it fail; the table says which.
"${as_root[@]}" target/release/pcc lab run benches/peers/grid.toml --on emulator --seeds "${1:-1..3}" --json >"$runs" || [ -s "$runs" ]
target/release/xtask peers-table benches/peers/grid.toml "$runs" >"$table"
cat "$runs" >docs/data/peers.jsonl
# The new table comes after the marker, in the place of the old one.
awk -v table="$table" '
    old && /^\|/ { next }
    { old = 0; print }
    /^<!-- table -->$/ { old = 1; while ((getline row <table) > 0) print row }
' docs/peers.md >"$document"
cat "$document" >docs/peers.md
