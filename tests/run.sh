#!/usr/bin/env bash
# Sets up, builds and runs the tests. The last lines are the summaries of CTest. A test that cannot
# run here is skipped; one that is skipped with a sanitizer only is a failure.
#
#     tests/run.sh                    the release build: everything that guards a promise
#     tests/run.sh --sanitize-engine  that, and engine and archive under the address and
#                                     undefined-behaviour sanitizers; random tests are shorter there
#     tests/run.sh --all              release; all under these sanitizers; those where threads meet
#                                     under the thread sanitizer; the fuzz targets, for about a
#                                     minute; hostile sequences, a minute for each surface; 1,000
#                                     kills of chainbase-sink, its servers and its node; clang; a
#                                     build without unity; every header alone; engine and
#                                     archive of arm64; the packages of both, in bare systems
#     tests/run.sh ... --soak         randomized tests run 50 million operations each, each fuzz
#                                     target, hostile surface and tools/soak.sh an hour: hours
#
# The environment reaches the tests: CHAINBASE_TEST_SEED (of randomized tests and of fuzzing),
# CHAINBASE_TEST_OPERATIONS (how long they are), CHAINBASE_FUZZ_SECONDS (how long each fuzz target
# searches, 12), CHAINBASE_HOSTILE_SECONDS (how long hostile sequences of each surface are played; 3
# sequences without), CHAINBASE_SOURCE_DATA (folder of the data that the block logs were imported
# from). CHAINBASE_JOBS bounds how many compilers and tests run at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }

tier=plain
soak=no
for option in "$@"; do
    case $option in
    --all) tier=all ;;
    --sanitize-engine) tier=sanitize-engine ;;
    --soak) soak=yes ;;
    -h | --help) usage && exit 0 ;;
    *)
        echo "run.sh: no option \"$option\"" >&2
        usage >&2
        exit 2
        ;;
    esac
done
if [ $soak = yes ]; then
    export CHAINBASE_TEST_OPERATIONS=${CHAINBASE_TEST_OPERATIONS:-50000000}
    export CHAINBASE_FUZZ_SECONDS=${CHAINBASE_FUZZ_SECONDS:-3600}
    export CHAINBASE_HOSTILE_SECONDS=${CHAINBASE_HOSTILE_SECONDS:-3600}
elif [ $tier = all ]; then
    export CHAINBASE_HOSTILE_SECONDS=${CHAINBASE_HOSTILE_SECONDS:-60}
fi

jobs=${CHAINBASE_JOBS:-$(nproc)}
timeout=$([ $soak = yes ] && echo 86400 || echo 1500)
failed=0
summaries=()
# Where tests make files: in memory, which syncs at no cost, if a GiB of it is free.
scratch=${TMPDIR:-/tmp}
if [ "$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)" -ge 1048576 ] 2>/dev/null; then
    scratch=/dev/shm
fi

# The programs of engine and archive, by the names of their tests.
engine=(pool_allocator undo chainbase snapshots state_root trace faults failure
    kill_during_replacement kill_during_move archive archive_faults store_allocations
    snapshot_exchange)
# Those in which threads meet, and the tests of them that take no other process.
threads=(archive chainbase failure state_root sync trace)
threads_tests='^((archive|state_root|sync|trace):|'
threads_tests+='failure:(blocks are durable |checkpoints |what was made durable )|'
threads_tests+='chainbase:(readers (see|get in) |a writer gets in |a reader waits |writers exclude ))'

# The tests that a preset skipped.
skipped_in() { sed -n 's/^[[:space:]0-9]* - \(.*\) (Skipped)$/\1/p' "build/$1/tests.log" | sort; }

# build PRESET [TARGET...]: what fails does not stop the next one.
build() {
    tools/build.sh "$@" && return
    failed=1
    summaries+=("$1: the build failed")
    return 1
}

# run PRESET [TESTS [TARGET...]]: builds it, or these targets of it, and runs its tests, or those
# whose names match the expression.
run() {
    local preset=$1 tests=${2:-.} log=build/$1/tests.log started=$SECONDS accidents=
    shift $(($# < 2 ? $# : 2))
    build "$preset" "$@" || return 0
    TMPDIR=$scratch ctest --test-dir "build/$preset" --output-on-failure --parallel "$jobs" \
        --timeout "$timeout" --no-tests=error --tests-regex "$tests" 2>&1 | tee "$log" || failed=1
    if [ "$preset" != release ] && [ -e build/release/tests.log ]; then
        accidents=$(comm -13 <(skipped_in release) <(skipped_in "$preset"))
    fi
    if [ -n "$accidents" ]; then
        failed=1
        summaries+=("$preset: FAILED, these are skipped here only:"$'\n'"$accidents")
    fi
    summaries+=("$preset ($((SECONDS - started)) s):"$'\n'"$(sed -n '/ tests passed, /,$p' "$log")")
}

# check STEP...: of tools/check.sh.
check() {
    local started=$SECONDS what=passed
    tools/check.sh "$@" || what=FAILED failed=1
    summaries+=("check $* ($((SECONDS - started)) s): $what")
}

sanitized() {
    export CHAINBASE_TEST_OPERATIONS=${CHAINBASE_TEST_OPERATIONS:-10000}
    # An exit code that no program has: a test that expects a refusal must not take it for one.
    export ASAN_OPTIONS=${ASAN_OPTIONS:-exitcode=99}
    export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:exitcode=99}
}
engine_tests="^($(IFS='|' && echo "${engine[*]}")):"

# Without a browser only the test of the web page is skipped.
tools/setup.sh --browser || echo "run.sh: the web page is not tested in a browser" >&2
if [ $tier = all ]; then
    tools/setup.sh --notebook || echo "run.sh: the notebook is not run" >&2
fi
run release
if [ $soak = yes ]; then
    said=passed
    CHAINBASE_BIN=$PWD/build/release/bin tools/soak.sh --minutes 60 --folder "$scratch" ||
        said=FAILED failed=1
    summaries+=("soak: $said")
fi
if [ $tier = all ]; then
    said=passed
    CHAINBASE_BIN=$PWD/build/release/bin TMPDIR=$scratch /usr/bin/python3 -B tests/programs/sink_kills.py \
        ${CHAINBASE_TEST_SEED:+--seed "$CHAINBASE_TEST_SEED"} || said=FAILED failed=1
    summaries+=("kills of the sink: $said")
fi
if [ $tier = sanitize-engine ]; then
    sanitized
    run asan-ubsan "$engine_tests" "${engine[@]/#/test_}"
fi
if [ $tier = all ]; then
    said=passed
    TMPDIR=$scratch build/release/bin/test_snapshot_file '[large]' || said=FAILED failed=1
    summaries+=("tests that take GiB: $said")
    said=passed
    scratch=$scratch tests/arm64.sh || said=FAILED failed=1
    summaries+=("engine and archive of arm64: $said")
    for machine in '' --arm64; do
        said=passed
        tests/packages.sh $machine || said=FAILED failed=1
        summaries+=("packages $machine: $said")
    done
    check headers-gcc headers-clang bench-clang
    for preset in clang no-unity; do
        if build $preset; then summaries+=("$preset: built"); fi
    done
    sanitized
    run asan-ubsan
    run fuzz
    # RocksDB and zstd are not built for it: what they synchronise it cannot see. Nor does it know
    # fences, of which g++ warns (they serve readers in other processes).
    export TSAN_OPTIONS=${TSAN_OPTIONS:-ignore_noninstrumented_modules=1}
    run tsan "$threads_tests" "${threads[@]/#/test_}"
fi

printf '\n'
printf '%s\n' "${summaries[@]}"
exit $failed
