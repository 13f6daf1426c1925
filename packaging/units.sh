#!/bin/sh
# Writes the systemd units for a package whose command has another name: packaging/units.sh pcc-transport FOLDER
set -eu
name=$1
folder=$2
mkdir -p "$folder"
for unit in "$(dirname "$0")"/*.service; do
    sed -E -e "s#man:pcc-#man:$name-#" -e "s#(^|[ /'])pcc([ :;,.]|\$)#\1$name\2#g" "$unit" > "$folder/$(basename "$unit")"
done
