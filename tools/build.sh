#!/usr/bin/env bash
# Installs missing packages, then configures and builds one preset into build/PRESET, its programs
# into build/PRESET/bin.
#
#     tools/build.sh [PRESET [TARGET...]]     release, and everything
#
# Runs one compiler per processor, limited by memory: the largest units (containers with many
# indexes) take up to 2.5 GiB. CHAINBASE_JOBS overrides the number.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:-release}
shift || true

jobs_that_fit() {
    local processors available limit fit
    processors=$(nproc)
    available=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
    # A container may use only a part of the machine's memory.
    limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
    if [ "$limit" != max ] && [ $((limit / 1024)) -lt "$available" ]; then
        available=$((limit / 1024))
    fi
    fit=$((available / (2560 * 1024)))
    [ "$fit" -ge 1 ] || fit=1
    echo $((fit < processors ? fit : processors))
}

tools/setup.sh
# Lets ccache hit for the same tree under another path.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
jobs=${CHAINBASE_JOBS:-$(jobs_that_fit)}
started=$SECONDS
echo "build: $preset with $jobs job(s)" >&2
cmake --preset "$preset" >&2
cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"} >&2
echo "build: $preset is ready ($((SECONDS - started)) s)" >&2
