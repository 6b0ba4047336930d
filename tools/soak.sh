#!/usr/bin/env bash
# Grows a chain for M minutes while four nodes follow it under disturbances: kills, lost memory,
# full disks, hostile peers, readers. Repeatedly compares them with an undisturbed replay. The seed
# determines everything. Exits with 1 at the first difference.
#
#     tools/soak.sh [--seed S] [--minutes M] [--first-round N] [--folder FOLDER] [--keep FOLDER]
#                   [--break object|block|leak]
#
# --folder: parent of a new folder for the states; TMPDIR or /tmp. --keep: leave all files in
# FOLDER. --break: makes a fault on purpose, which must be found. CHAINBASE_BIN in the environment
# names a folder of existing programs.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }

for argument in "$@"; do
    case $argument in -h | --help) usage && exit 0 ;; esac
done
if [ -z "${CHAINBASE_BIN:-}" ]; then
    "$root/tools/build.sh" release chainbase-driver chainbase-inspect
fi
exec /usr/bin/python3 "$root/tests/soak/soak.py" "$@"
