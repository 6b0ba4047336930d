#!/usr/bin/env bash
# Runs one fuzz target.
#
#     run_target.sh PROGRAM CORPUS replay|search
#
#     replay  every input that is kept in the folder CORPUS
#     search  for more, CHAINBASE_FUZZ_SECONDS long (12); what reaches new code goes to the
#             folder CHAINBASE_FUZZ_FOUND/NAME, if that is set
#
# An input that fails is kept in the working folder, and how to run it again is printed, with the
# seed (CHAINBASE_TEST_SEED).
set -euo pipefail

program=$1 corpus=$2 what=$3
seconds=${CHAINBASE_FUZZ_SECONDS:-12}
seed=${CHAINBASE_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
seed=$(((seed & 0x7fffffff) + 1)) # libFuzzer takes 0 for none
found=$(mktemp -d "${TMPDIR:-/tmp}/chainbase-fuzz-XXXXXX")
trap 'rm -rf "$found"' EXIT
if [ -n "${CHAINBASE_FUZZ_FOUND:-}" ]; then
    rm -rf "$found"
    found=$CHAINBASE_FUZZ_FOUND/$(basename "$corpus")
    mkdir -p "$found"
    trap - EXIT
fi

# A single allocation is bounded by what a record may unpack to, and a run by its time.
limits=(-timeout=20 -malloc_limit_mb=200 -rss_limit_mb=1500 "-artifact_prefix=$PWD/fuzz-")
if [ "$what" = replay ]; then
    "$program" "${limits[@]}" "$corpus"/*
else
    echo "seed: CHAINBASE_TEST_SEED=$((seed - 1))"
    "$program" "${limits[@]}" -max_len=4096 "-max_total_time=$seconds" "-seed=$seed" \
        -print_final_stats=1 "$found" "$corpus"
fi
