#!/usr/bin/env bash
# Builds engine and archive for arm64, too, and runs their tests by emulation, those that kill real
# processes among them. Snapshots of arm64 are loaded here, and those of this machine there.
#
#     tests/arm64.sh
#
# CHAINBASE_TEST_OPERATIONS is 1,000 if not given. Needs root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

CHAINBASE_SYSROOT=$(tools/packages/arm64_root.sh)
# Where programs that tests start have their libraries from.
export CHAINBASE_SYSROOT QEMU_LD_PREFIX=$CHAINBASE_SYSROOT
tools/build.sh arm64
tools/build.sh release test_snapshot_exchange

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
this() { TMPDIR=$folder build/release/bin/test_snapshot_exchange "$@"; }
other() { TMPDIR=$folder qemu-aarch64-static build/arm64/bin/test_snapshot_exchange "$@"; }
# Each call fails if its snapshot has not the name and root that all builds know.
this write "$folder/this"
other write "$folder/other"
this load "$folder/other" >/dev/null
other load "$folder/this" >/dev/null
echo "arm64: both wrote this snapshot, and loaded the other's"

# These are of advice about memory, which qemu does not pass on to the kernel, or of more addresses
# than programs get (emulated.sh).
excluded='files on a disk have small pages|memory has no room for together|that waits for the disk often'
excluded+='|has room for many snapshots|has outgrown its addresses|whose ids are far apart'
export CHAINBASE_TEST_OPERATIONS=${CHAINBASE_TEST_OPERATIONS:-1000}
tools/packages/emulated.sh ctest --test-dir build/arm64 --output-on-failure --parallel "${CHAINBASE_JOBS:-$(nproc)}" \
    --timeout 1500 --no-tests=error --exclude-regex "$excluded"
