#!/usr/bin/env bash
# Starts a generated chain with forks, a node, three PostgreSQL servers and chainbase-sink, kills all
# of them again and again, and compares the digest of the rows with that of the state; then asks the
# queries of tools/sink/queries.sql over the three. The last line is "as expected", or it fails.
#
#     tools/sink-demo.sh [SECONDS]     20: how long kills go on
#
# Needs no rights beyond those of tools/setup.sh: the servers are its own, in a folder of /tmp.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case ${1:-20} in
*[!0-9]* | '')
    echo "sink-demo.sh: \"$1\" is not a number of seconds" >&2
    exit 2
    ;;
esac
"$root/tools/build.sh" release chainbase-driver chainbase-sink
exec python3 -B "$root/tools/sink/demo.py" "$root/build/release/bin" '' "${1:-20}"
