#!/usr/bin/env bash
# Builds this project against chainbase and runs its examples, as the README shows them.
#
#     run.sh source|installed WORK_FOLDER [CMAKE ARGUMENTS...]
#
# "installed" installs the build in the folder $CHAINBASE_BUILD first.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
how=$1
work=$2
shift 2

rm -rf "$work/state"
mkdir -p "$work"
if [ "$how" = installed ]; then
    rm -rf "$work/prefix"
    cmake --install "$CHAINBASE_BUILD" --prefix "$work/prefix" >"$work/install.log"
    set -- "$@" -DUSE_INSTALLED=ON -DCMAKE_PREFIX_PATH="$work/prefix"
fi
# As quickly as it compiles: that the examples are right is what is tested.
cmake -S "$here" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O0 \
    -DCHAINBASE_UNITY=ON "$@"
cmake --build "$work/build" --target example reader
export CHAINBASE_MEMORY_FOLDER=none # a segment there would outlive the work folder

cd "$work"
expect() { # the example's output, without the log, when the balance is $1 and the revision $2
    diff <(printf 'alice has %s\nrevision %s\n' "$1" "$2") <(build/example state | grep -v ' its segment is in ')
}
expect 100 1
expect 200 2
diff <(echo 'read: alice has 200') <(build/reader state)
echo "consumer: good"
