#!/usr/bin/env bash
# Makes a root of arm64 to build the packages against, in a new folder. Needs root.
#
#     tools/packages/arm64_root.sh FOLDER
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
libraries=(
    libstdc++-12-dev libboost1.81-dev librocksdb-dev libspdlog-dev libfmt-dev zlib1g-dev libzstd-dev
    libssl-dev libcli11-dev nlohmann-json3-dev libxxhash-dev libsqlite3-dev libpq-dev
    libncurses-dev libarchive-dev
)
rm -rf --one-file-system "$1"
"$here/emulated.sh" "$here/root.sh" arm64 bookworm "$1" dpkg-dev "${libraries[@]}"
# Links such as libz.so -> /lib/... would lead out of the root, and the static library be taken.
find "$1/usr/lib/aarch64-linux-gnu" -type l -lname '/*' -exec \
    sh -c 'ln -sfr "$0$(readlink "$1")" "$1"' "$1" {} \;
# Some packages tell CMake where their files are on a machine that has them installed.
grep -rlZ '[";]/usr/' "$1/usr/lib/aarch64-linux-gnu/cmake" | xargs -0 sed -i "s|\([\";]\)/usr/|\1$1/usr/|g"
