#!/usr/bin/env bash
# Sets up, builds, and replays real chain data into fresh states below build/quickstart; then shows
# what each state and its archive hold, and opens it again with the inspector.
#
#     tools/quickstart.sh
#
# The project carries the block logs. With CHAINBASE_SOURCE_DATA=DIR (the folder above steem-2016/
# and eos-swap-2022/, the tables that the logs were imported from) it imports them again and
# compares.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

data=${CHAINBASE_SOURCE_DATA:-}
work=build/quickstart
bin=build/release/bin

say() { printf '\n== %s ==\n' "$*"; }

carried() { # the block log that the project carries
    case $1 in
    steem-2016) echo tools/chains/social/data/steem-2016.blocks ;;
    eos-swap-2022) echo tools/chains/swap/data/eos-swap-2022.blocks ;;
    esac
}

# Imports the tables once more. The packed bytes depend on the version of zstd, the blocks do not:
# another version is told, and the imported log is replayed. Called in $(...), where bash ignores
# `set -e`.
import() {
    local name=$1 log=$work/$1.blocks
    "$bin/chainbase-driver" import "$name" --from "$data/$name" --to "$log" >&2 || return 1
    if cmp -s "$log" "$(carried "$name")"; then
        echo "the imported log is the carried one, byte for byte" >&2
    else
        echo "the imported log differs from the carried one in its bytes (another zstd?)" >&2
    fi
    echo "$log"
}

replay() {
    local name=$1 log
    say "$name"
    if [ -n "$data" ]; then log=$(import "$name"); else log=$(carried "$name"); fi
    ls -l "$log" | awk '{ print $NF ": " $5 " bytes" }'
    "$bin/chainbase-driver" replay --block-log "$log" --state "$work/$name" --state-root all
    say "$name, opened again"
    "$bin/chainbase-inspect" stat "$work/$name"
}

tools/build.sh release chainbase-driver chainbase-inspect
rm -rf "$work"
mkdir -p "$work"
replay steem-2016
replay eos-swap-2022
say "done"
echo "the states are in $PWD/$work; to look again:"
echo "$PWD/$bin/chainbase-inspect stat $PWD/$work/steem-2016"
