#!/usr/bin/env bash
# Builds the program that writes and loads a snapshot for arm64, too, and has it and the one of this
# machine load each other's. The one for arm64 runs in qemu's user mode.
#
#     tests/other_machine.sh
#
# The program of this machine is that of the release build, built if necessary; the other one is in
# build/arm64. Its libraries are unpacked there (70 MB to download, 360 MB on disk) instead of
# installed: the RocksDB of one machine replaces that of the other.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=test_snapshot_exchange
build=$PWD/build/arm64
sysroot=$build/sysroot
# What configuring asks for; the last three are of other tests.
libraries=(
    libstdc++-12-dev libboost1.81-dev librocksdb-dev libspdlog-dev libfmt-dev zlib1g-dev libzstd-dev
    libssl-dev libxxhash-dev catch2 librapidcheck-dev nlohmann-json3-dev
)

# Of arm64, resolved as on a machine that has nothing, in folders of its own.
unpack_libraries() {
    local apt=$build/apt
    rm -rf "$apt" "$sysroot"
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$sysroot"
    : >"$apt/status"
    local call=(
        apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64
        -o "Dir::State::lists=$apt/lists" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt"
        -o "Dir::Cache::archives=$apt/archives" -o Debug::NoLocking=1
        -o "APT::Sandbox::User=$(id -un)"
    )
    echo "other_machine: fetching libraries of arm64" >&2
    "${call[@]}" update
    "${call[@]}" install -y --no-install-recommends --download-only "${libraries[@]}"
    local package
    for package in "$apt"/archives/*.deb; do
        dpkg-deb --extract "$package" "$sysroot"
    done
    # Some packages tell CMake where their files are on a machine that has them installed.
    grep -rlZ '[";]/usr/' "$sysroot/usr/lib/aarch64-linux-gnu/cmake" |
        xargs -0 sed -i "s|\([\";]\)/usr/|\1$sysroot/usr/|g"
    rm -r "$apt"
    printf '%s\n' "${libraries[@]}" >"$build/libraries"
}

build_other() {
    export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
    cmake -S . -B "$build" -G Ninja --toolchain "$PWD/tests/other_machine.cmake" \
        -DCHAINBASE_SYSROOT="$sysroot" -DCMAKE_BUILD_TYPE=Release -DCHAINBASE_WERROR=ON \
        -DCHAINBASE_BUILD_TOOLS=OFF >&2
    cmake --build "$build" --parallel "${CHAINBASE_JOBS:-$(nproc)}" --target $program >&2
}

this() { build/release/bin/$program "$@"; }
other() { qemu-aarch64-static -L "$sysroot" "$build/bin/$program" "$@"; }

tools/setup.sh --arm64
mkdir -p "$build"
[ "$(cat "$build/libraries" 2>/dev/null)" = "$(printf '%s\n' "${libraries[@]}")" ] ||
    unpack_libraries
build_other
tools/build.sh release $program

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TMPDIR=$folder
started=$SECONDS
# Each call fails if its snapshot has not the name and root that all builds know.
this write "$folder/this"
other write "$folder/other"
this load "$folder/other" >/dev/null
other load "$folder/this" >/dev/null
echo "other_machine: both wrote this snapshot, and loaded the other's ($((SECONDS - started)) s)"
