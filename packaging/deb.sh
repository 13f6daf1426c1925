#!/bin/sh
# Builds the Debian package, with `pcc tcp`, into target/debian; options go to cargo-deb.
#
# Needs clang, libelf-dev, zlib1g-dev, dpkg-dev, and: cargo install --locked cargo-deb@3.8.0
set -eu
cd "$(dirname "$0")/.."
cargo build --release --locked --package pcc-cli --features tcp
release=${CARGO_TARGET_DIR:-target}/release
files=$release/deb
rm -rf "$files"
mkdir -p "$files"
# It calls itself what it was called by, in manual pages and completions too.
ln -s ../pcc "$files/pcc-transport"
"$files/pcc-transport" man --out "$files/man"
gzip --best --no-name "$files/man/"*
for shell in bash zsh fish; do
    "$files/pcc-transport" completions "$shell" > "$files/pcc-transport.$shell"
done
exec cargo deb --no-build --strip --package pcc-cli "$@"
