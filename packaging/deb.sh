#!/bin/sh
# Builds the Debian package, with `pcc tcp`, into target/debian; options go to cargo-deb.
#
# Needs clang, make, pkg-config, libelf-dev, zlib1g-dev, dpkg-dev, and: cargo install --locked cargo-deb@3.8.0
set -eu
cd "$(dirname "$0")/.."
if ! command -v cargo-deb > /dev/null; then
    echo "cargo-deb is missing: cargo install --locked cargo-deb@3.8.0" >&2
    exit 1
fi
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
packaging/units.sh pcc-transport "$files/units"
packaging/notices.sh > "$files/third-party-notices"
gzip --best --no-name "$files/third-party-notices"
exec cargo deb --no-build --strip --package pcc-cli "$@"
