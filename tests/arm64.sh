#!/usr/bin/env bash
# Builds engine and archive for arm64, too, and runs their tests by emulation, those that kill real
# processes among them. Snapshots of arm64 are loaded here, and those of this machine there.
#
#     tests/arm64.sh
#
# CHAINBASE_TEST_OPERATIONS is 3,000 if not given. Tests make their files in $scratch, or /dev/shm.
# Needs root, and an hour or two.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

CHAINBASE_SYSROOT=$(tools/packages/arm64_root.sh)
# Where programs that tests start have their libraries from.
export CHAINBASE_SYSROOT QEMU_LD_PREFIX=$CHAINBASE_SYSROOT
tools/build.sh arm64
tools/build.sh release test_snapshot_exchange

scratch=${scratch:-/dev/shm}
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

excluded='^style: |^consumer: [si]' # the same on every machine, and by packages.sh --arm64
exclude() { excluded+="|$1"; }
# qemu does not pass on to the kernel what these set: advice about memory and files, limits of memory
# and of addresses; and it looks for /dev/shm and /mnt below its root.
exclude 'files on a disk have small pages|memory has no room for together'
exclude 'page cache: (a file that is|asking brings|files are memory)|a fork has no snapshots'
exclude 'that waits for the disk often|has room for many snapshots|whatever huge pages the file'
exclude 'heap that may not grow|addresses that may not grow'
exclude 'process may have the addresses|any number of addresses'
# These need more addresses than there are (emulated.sh), or an hour.
exclude 'has outgrown its addresses|whose ids are far apart|more memory than the machine has'
exclude 'memory that runs out gives'
export CHAINBASE_TEST_OPERATIONS=${CHAINBASE_TEST_OPERATIONS:-3000}
TMPDIR=$scratch tools/packages/emulated.sh ctest --test-dir build/arm64 --output-on-failure \
    --parallel "${CHAINBASE_JOBS:-$(nproc)}" --timeout 1500 --no-tests=error \
    --exclude-regex "$excluded"
