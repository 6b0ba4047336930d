#!/usr/bin/env bash
# Installs what a bare Debian 12 lacks to build, test and run chainbase. Not interactive; does
# nothing when everything is installed.
#
#     tools/setup.sh [--browser | --arm64 | --notebook | --packages]
#
#     --browser  also what the test of the inspector's web page needs: Chromium with its
#                dependencies, about 120 MB to download and 370 MB on disk
#     --arm64    also what tests/arm64.sh needs: a compiler for arm64, an emulator, and what makes a
#                system of arm64, about 120 MB to download and 590 MB on disk
#     --notebook also what tools/python/steem-2016.ipynb draws with: Matplotlib, about 30 MB to
#                download and 120 MB on disk
#     --packages also what tools/packages/build.sh and tests/packages.sh need: tools that check
#                packages and make bare systems to install them in, about 30 MB to download
set -euo pipefail

packages=(
    build-essential cmake ninja-build ccache git ca-certificates librapidcheck-dev
    libboost1.81-dev librocksdb-dev catch2 libspdlog-dev libfmt-dev libcli11-dev nlohmann-json3-dev
    zlib1g-dev libzstd-dev libssl-dev libxxhash-dev liblmdb-dev libsqlite3-dev libpq-dev postgresql-15 libncurses-dev libarchive-dev
    gnuplot-nox
    clang-19 libclang-rt-19-dev clang-format-19
    python3 python3-dev python3-numpy python3-pytest python3-pyte pybind11-dev groff-base man-db zsh fish graphviz doxygen spin
)
case ${1:-} in
'') ;;
--browser) packages+=(chromium chromium-driver) ;;
--arm64)
    packages+=(g++-aarch64-linux-gnu qemu-user-static mmdebstrap arch-test debian-archive-keyring)
    ;;
--notebook) packages+=(python3-matplotlib) ;;
--packages) packages+=(lintian mmdebstrap arch-test debian-archive-keyring dpkg-dev systemd) ;;
*)
    echo "setup: no option \"$1\"; there are --browser, --arm64, --notebook and --packages" >&2
    exit 2
    ;;
esac

# A package of another machine does not count.
native=$(dpkg --print-architecture)
missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f='${db:Status-Status} ${Architecture}\n' "$package" 2>/dev/null |
        grep -qxE "installed ($native|all)" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

run=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "setup: missing ${missing[*]}; run tools/setup.sh as root or install sudo" >&2
        exit 1
    }
    run=(sudo)
fi
echo "setup: installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
"${run[@]}" apt-get update -qq >&2
"${run[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
