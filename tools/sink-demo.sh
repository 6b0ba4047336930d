#!/usr/bin/env bash
# Starts a generated chain with forks, a node, three PostgreSQL servers and chainbase-sink, kills all
# of them again and again, and compares the digest of the rows with that of the state.
#
#     tools/sink-demo.sh [SECONDS]     20: how long kills go on
#     tools/sink-demo.sh queries       asks what the call before has kept: the queries of
#                                      tools/sink/queries.sql, over the three servers
#
# The last line of both is "as expected", or they fail. All is kept in build/sink-demo; where only
# root can go there, in /var/tmp/chainbase-sink-demo. Needs no rights beyond those of tools/setup.sh:
# the servers are its own, in that folder.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }

case ${1:-20} in
queries) call=(queries) ;;
-h | --help) usage && exit 0 ;;
*[!0-9]*)
    echo "sink-demo.sh: \"$1\" is not a number of seconds, nor \"queries\"" >&2
    usage >&2
    exit 2
    ;;
*)
    call=(run "${1:-20}")
    "$root/tools/build.sh" release chainbase-driver chainbase-inspect chainbase-sink
    ;;
esac
exec /usr/bin/python3 -B "$root/tests/programs/sink_demo.py" "$root/build/sink-demo" "${call[@]}"
