#!/usr/bin/env bash
# Builds the driver into target/ns3-dumbbell. Needs Debian's libns3-dev (ns-3 3.37).
set -euo pipefail
cd "$(dirname "$0")/../../.."
mkdir -p target
libraries=(core network internet applications point-to-point traffic-control)
g++ -O2 -std=c++17 -Wall -o target/ns3-dumbbell benches/peers/ns3/dumbbell.cc "${libraries[@]/#/-lns3-}"
