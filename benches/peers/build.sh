#!/usr/bin/env bash
# Builds the drivers whose library is installed into target/peers/.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p target/peers

build() { # NAME HEADER PACKAGE LIBRARY...
    if ! g++ -E -x c++ -include "$2" /dev/null >/dev/null 2>&1; then
        echo "skipped $1: $3 is not installed (apt install $3)" >&2
        rm -f "target/peers/$1-peer"
        return
    fi
    g++ -O2 -std=c++17 -Wall -Wextra -o "target/peers/$1-peer" "benches/peers/$1/$1-peer.cpp" "${@:4}"
}

build udt udt/udt.h libudt-dev -ludt -pthread
build srt srt/srt.h libsrt-openssl-dev -lsrt -pthread
