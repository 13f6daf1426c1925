#!/bin/sh
# Prints the licences of all crates of others that are in the command, with their copyright notices: each text once, behind the
# crates that have it. Needs what a build has downloaded.
set -eu
cd "$(dirname "$0")/.."
sources=${CARGO_HOME:-$HOME/.cargo}/registry/src
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo tree --locked --package pcc-cli --features tcp --target "${1:-x86_64-unknown-linux-gnu}" --edges normal --prefix none \
    --format '{p}|{l}' | sed -E -e '/\(\//d' -e 's/ \(\*\)//; s/ \(proc-macro\)//; s/ v/-/' | sort -u > "$work/crates"
while IFS='|' read -r crate licence; do
    found=
    for file in "$sources"/*/"$crate"/LICEN[CS]E* "$sources"/*/"$crate"/COPY* "$sources"/*/"$crate"/NOTICE*; do
        if [ -f "$file" ]; then
            found=yes
            text=$work/$(sha256sum < "$file" | cut -d' ' -f1)
            cp "$file" "$text.text"
            echo "$crate ($licence)" >> "$text.crates"
        fi
    done
    if [ -z "$found" ]; then
        if ! ls -d "$sources"/*/"$crate" > /dev/null 2>&1; then
            echo "$crate isn't in $sources; run first: cargo fetch --locked" >&2
            exit 1
        fi
        echo "$crate ($licence)" >> "$work/without"
    fi
done < "$work/crates"
echo "The command contains the crates of others below, under the licences that stand behind their names."
if [ -e "$work/without" ]; then
    printf '\n%s\n\n' "Without a text of their own, under the licences that they name:"
    sort -u "$work/without"
fi
for crates in "$work"/*.crates; do
    printf '\n%s\n\n' "-----------------------------------------------------------------------------"
    sort -u "$crates"
    echo
    cat "${crates%.crates}.text"
done
