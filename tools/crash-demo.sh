#!/usr/bin/env bash
# Kills a replay ten times, every second time with the loss of everything in memory, as in a power
# failure; finishes it, and compares the state with that of an undisturbed replay. Fails when they
# differ, and when memory was never lost.
#
#     tools/crash-demo.sh [OPERATIONS] [DURABILITY]     2,000,000 checkpoint
#
# DURABILITY is that of the killed replay: checkpoint or commit.
# CHAINBASE_DRIVER in the environment names an existing driver.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }
wrong_call() {
    echo "crash-demo.sh: $1" >&2
    usage >&2
    exit 2
}

for argument in "$@"; do
    case $argument in
    -h | --help) usage && exit 0 ;;
    -*) wrong_call "no option \"$argument\"" ;;
    esac
done
[ $# -le 2 ] || wrong_call "more than two arguments"
operations=${1:-2000000}
durability=${2:-checkpoint}
case $operations in *[!0-9]* | 0*) wrong_call "\"$operations\" is not a number of operations" ;; esac
case $durability in
checkpoint | commit) ;;
*) wrong_call "\"$durability\" is no DURABILITY that survives a loss of power" ;;
esac
driver=${CHAINBASE_DRIVER:-$root/build/release/bin/chainbase-driver}
if [ -z "${CHAINBASE_DRIVER:-}" ]; then "$root/tools/build.sh" release chainbase-driver; fi

export CHAINBASE_MEMORY_FOLDER=none # a segment there would outlive the folder
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
log=$folder/log

replay() { # STATE [OPTION...]
    "$driver" replay --block-log "$log" --state "$folder/$1" "${@:2}" --json 2>>"$folder/said"
}
digest_in() { sed -n 's/.*"state_digest":"\([0-9a-f]*\)".*/\1/p'; }
has_checkpoint() { ls "$folder"/killed/checkpoint/published.* >/dev/null 2>&1; }

"$driver" generate --operations "$operations" --to "$log" >/dev/null
began=$(date +%s%N)
undisturbed=$(replay undisturbed | digest_in)
milliseconds=$((($(date +%s%N) - began) / 1000000))
echo "a replay that nobody disturbs: $milliseconds ms, digest ${undisturbed:0:16}..."

kills=0
losses=0
for round in $(seq 40); do
    if [ $kills -ge 10 ] && [ $losses -gt 0 ]; then break; fi
    "$driver" replay --block-log "$log" --state "$folder/killed" --checkpoint-interval 0.05 \
        --durability "$durability" \
        >/dev/null 2>>"$folder/said" &
    loses=no
    if [ $((losses * 2)) -lt $kills ]; then
        loses=yes # nothing would be left before the first checkpoint
        until has_checkpoint || ! kill -0 $! 2>/dev/null; do sleep 0.005; done
    fi
    sleep "$(awk -v most="$milliseconds" -v seed="$round$RANDOM" \
        'BEGIN { srand(seed); printf "%.3f", (0.1 + 0.2 * rand()) * most / 1000 }')"
    # Keeps the shell from reporting its child's death.
    { kill -9 $!; wait $!; } 2>/dev/null && ended=0 || ended=$?
    if [ $ended -ne 137 ]; then # it was done before: once more from the begin
        echo "$round: came to its end before it was killed"
        rm -rf "$folder/killed"
        continue
    fi
    kills=$((kills + 1))
    what="kill -9"
    if [ $loses = yes ]; then
        rm -rf "$folder/killed/segment"
        losses=$((losses + 1))
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
restores=$(grep -c 'restored checkpoint ' "$folder/said" || true)
if [ "$losses" = 0 ] || [ "$restores" = 0 ]; then
    echo "crash-demo: $kills kills, $losses losses of memory, $restores restores: the replay is too" \
        "short to be killed after a checkpoint; use more OPERATIONS" >&2
    exit 1
fi
echo "equal, after $kills kills, $losses of them with the loss of all memory ($restores restores)"
