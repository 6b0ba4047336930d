#!/usr/bin/env bash
# Kills a replay ten times, every second time with the loss of all that was in memory, as when the
# machine loses power; finishes it, and compares the state with that of a replay nobody disturbed.
#
#     tools/crash-demo.sh [OPERATIONS] [DURABILITY]     2,000,000 checkpoint
#
# DURABILITY is checkpoint or commit, of the replay that is killed.
# The environment's CHAINBASE_DRIVER names a driver that is built already.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

operations=${1:-2000000}
durability=${2:-checkpoint}
driver=${CHAINBASE_DRIVER:-$root/build/release/bin/chainbase-driver}
if [ -z "${CHAINBASE_DRIVER:-}" ]; then "$root/tools/build.sh" release chainbase-driver; fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
log=$folder/log

replay() { # STATE [OPTION...]
    "$driver" replay --block-log "$log" --state "$folder/$1" "${@:2}" --json 2>>"$folder/said"
}
digest_in() { sed -n 's/.*"state_digest":"\([0-9a-f]*\)".*/\1/p'; }

"$driver" generate --operations "$operations" --to "$log" >/dev/null
began=$(date +%s%N)
undisturbed=$(replay undisturbed | digest_in)
milliseconds=$((($(date +%s%N) - began) / 1000000))
echo "a replay that nobody disturbs: $milliseconds ms, digest ${undisturbed:0:16}..."

kills=0
for round in $(seq 40); do
    if [ $kills = 10 ]; then break; fi
    "$driver" replay --block-log "$log" --state "$folder/killed" --checkpoint-interval 0.05 \
        --durability "$durability" \
        >/dev/null 2>>"$folder/said" &
    sleep "$(awk -v most="$milliseconds" -v seed="$round$RANDOM" \
        'BEGIN { srand(seed); printf "%.3f", (0.1 + 0.2 * rand()) * most / 1000 }')"
    # The shell would tell of the death of its child.
    { kill -9 $!; wait $!; } 2>/dev/null && ended=0 || ended=$?
    if [ $ended -ne 137 ]; then # it was done before: once more from the begin
        echo "$round: came to its end before it was killed"
        rm -rf "$folder/killed"
        continue
    fi
    kills=$((kills + 1))
    what="kill -9"
    if [ $((round % 2)) = 0 ] && ls "$folder"/killed/checkpoint/published.* >/dev/null 2>&1; then
        rm -rf "$folder/killed/segment"
        what="kill -9, and all memory is lost"
    fi
    echo "$round: $what"
done
began=$(date +%s%N)
survived=$(replay killed --durability "$durability" | digest_in) || { cat "$folder/said" >&2; exit 1; }
echo "the rest: $((($(date +%s%N) - began) / 1000000)) ms, digest ${survived:0:16}..."
grep -o 'rolled back .*\|restored checkpoint .*' "$folder/said" || true

if [ -z "$undisturbed" ] || [ "$survived" != "$undisturbed" ]; then
    echo "crash-demo: the digests differ: $undisturbed, $survived" >&2
    exit 1
fi
echo "equal, after $kills kills"
