#!/usr/bin/env bash
# Makes build/arm64-root, which programs of arm64 are built against and run in, unless it is there
# (900 MB). Prints its path. Needs root.
#
#     tools/packages/arm64_root.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
libraries=(
    libstdc++-12-dev libboost1.81-dev librocksdb-dev libspdlog-dev libfmt-dev zlib1g-dev libzstd-dev
    libssl-dev libcli11-dev nlohmann-json3-dev libxxhash-dev libsqlite3-dev libpq-dev
    libncurses-dev libarchive-dev
    python3-dev pybind11-dev
    catch2 librapidcheck-dev # of tests
)
root=$PWD/build/arm64-root
tools/setup.sh --arm64
if [ "$(cat "$root/libraries" 2>/dev/null)" != "${libraries[*]}" ]; then
    rm -rf --one-file-system "$root"
    tools/packages/emulated.sh tools/packages/root.sh arm64 bookworm "$root" \
        dpkg-dev "${libraries[@]}"
    # Links such as libz.so -> /lib/... would lead out of the root, and the static library be taken.
    find "$root/usr/lib/aarch64-linux-gnu" -type l -lname '/*' -exec \
        sh -c 'ln -sfr "$0$(readlink "$1")" "$1"' "$root" {} \;
    # Some packages tell CMake where their files are on a machine that has them installed.
    grep -rlZ '[";]/usr/' "$root/usr/lib/aarch64-linux-gnu/cmake" |
        xargs -0 sed -i "s|\([\";]\)/usr/|\1$root/usr/|g"
    echo "${libraries[*]}" >"$root/libraries"
fi
echo "$root"
