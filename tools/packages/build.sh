#!/usr/bin/env bash
# Builds the Debian packages and the source archive of the last commit into build/packages. The same
# commit gives the same bytes, in whatever folder. In an unpacked source archive it packages the
# tree as it is, and makes no source archive.
#
#     tools/packages/build.sh [--arm64]
#
#     --arm64  the packages of arm64, by a cross compiler against a root of that machine
#              (arm64_root.sh); needs root
#
# Errors and warnings of lintian fail it.
set -euo pipefail
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

case $#:${1:-} in
0:) preset=packages machine=amd64 made_for=(amd64 all) ;;
1:--arm64) preset=packages-arm64 machine=arm64 made_for=(arm64) ;;
*)
    echo "build: no option \"$*\"; there is --arm64" >&2
    exit 2
    ;;
esac
to=$PWD/build/packages
mkdir -p "$to"
tools/setup.sh --packages

if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$PWD" ]; then
    version=$(git show HEAD:CMakeLists.txt | sed -n 's/^project(chainbase VERSION \([0-9.]*\).*/\1/p')
    name=chainbase-$version
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
    source=$to/source/$name
    rm -rf "$to/source"
    mkdir -p "$to/source"
    # Times of a commit's archive are the commit's.
    git archive --prefix="$name/" HEAD | xz -6 -T1 >"$to/$name.tar.xz"
    tar -xf "$to/$name.tar.xz" -C "$to/source"
    # What the tree's own scripts ask Git is asked of the files.
    export GIT_CEILING_DIRECTORIES=$to/source
else
    SOURCE_DATE_EPOCH=$(stat -c %Y CMakeLists.txt)
    source=$PWD
fi
export SOURCE_DATE_EPOCH

run=()
if [ $machine = arm64 ]; then
    CHAINBASE_SYSROOT=$(tools/packages/arm64_root.sh)
    export CHAINBASE_SYSROOT
    run=(tools/packages/emulated.sh tools/packages/arm64_dependencies.sh)
fi

cd "$source"
rm -rf "build/$preset"
[ $machine = arm64 ] || [ -e build/reference/html/index.html ] || tools/check.sh reference
tools/build.sh $preset
made=$source/build/$preset/made
"${run[@]}" cpack --config "build/$preset/CPackConfig.cmake" -B "$made" >&2
packages=()
for each in "${made_for[@]}"; do
    rm -f "$to"/*_"$each".deb
    mv "$made"/*_"$each".deb "$to"
    packages+=("$to"/*_"$each".deb)
done
lintian --fail-on error,warning --tag-display-limit 0 "${packages[@]}"
(cd "$to" && sha256sum "${packages[@]##*/}")
