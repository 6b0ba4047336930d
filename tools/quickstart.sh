#!/usr/bin/env bash
# Sets up, builds, and replays real chain data into new states below build/quickstart; then prints
# the content of each state and its archive, reopens it with the inspector, and compares the key
# figures with known values. The last line is "as expected", or it fails.
#
#     tools/quickstart.sh
#
# The project includes the block logs. With CHAINBASE_SOURCE_DATA=DIR (the folder above steem-2016/
# and eos-swap-2022/, the source tables of the logs) it imports them again and compares.
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

# Imports the tables again. The compressed bytes depend on the version of zstd, the blocks do not:
# if they differ it says so, and replays the imported log. Called in $(...), where bash ignores `set
# -e`.
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
    # At the head of its log a replay only reports on the state.
    "$bin/chainbase-driver" replay --block-log "$log" --state "$work/$name" --json \
        >"$work/$name.json" 2>/dev/null
}

# Known values of the data (tools/chains/README.md), and the digest of every state with these
# objects: NAME KEY VALUE.
expected() {
    cat <<'END'
steem-2016 state_digest "a3dea985aee2a5dc5a62fe8c57a785fd292c02e51a9a1efe5262101b582939f2"
steem-2016 root "65f119054a6389c91d9877587dcda0fc598e71529e7ce7674648ddebbc4c1e0e"
steem-2016 operations 274113
steem-2016 account 92462
steem-2016 paid_posts 3566
steem-2016 author_paid 53183942
steem-2016 votes_on_paid 21757
eos-swap-2022 state_digest "427b12463a16e65a7c50b589ce482966bfb8dc4e4620aa8b8400c722f83d5abf"
eos-swap-2022 root "3d2173d93241f0d95d65db3ffbce2364e82f7f98d2cc1367c4b1c0ad10c05467"
eos-swap-2022 operations 146145
eos-swap-2022 pair 322
eos-swap-2022 owner 4621
eos-swap-2022 out_exact 142939
eos-swap-2022 in_exact 130611
END
}

# Fails if a figure of a replay differs from the expected one; of a key that appears twice the first
# counts.
compare() {
    local name key value found verdict="as expected"
    say "what came out"
    while read -r name key value; do
        found=$(grep -oE "\"$key\":(\"[^\"]*\"|[0-9]+)" "$work/$name.json" | head -n 1)
        found=${found#*:}
        if [ "$found" = "$value" ]; then
            printf '%-14s %-14s %s\n' "$name" "$key" "${value//\"/}"
        else
            printf '%-14s %-14s %s, NOT %s\n' "$name" "$key" "${found//\"/}" "${value//\"/}"
            verdict="NOT as expected"
        fi
    done < <(expected)
    say "$verdict"
    [ "$verdict" = "as expected" ]
}

tools/build.sh release chainbase-driver chainbase-inspect
export CHAINBASE_MEMORY_FOLDER=none # a segment there would outlive the folder
rm -rf "$work"
mkdir -p "$work"
replay steem-2016
replay eos-swap-2022
echo "the states are in $PWD/$work; to look again:"
echo "$PWD/$bin/chainbase-inspect stat $PWD/$work/steem-2016"
compare
