#!/usr/bin/env bash
# Reports the cost of a build from its log: compiler calls, seconds, the twenty slowest, and the
# cost of each heavy header over all units that include it. Markdown tables on stdout.
#
#     tools/build_cost.sh [PRESET]        of build/PRESET; release without an argument
#
# The seconds of a call depend on parallel jobs and on ccache hits: for comparable figures, build
# anew with CCACHE_RECACHE=1 on an idle machine. A header's seconds are measured here, by a unit
# that includes nothing else, with the flags of a unit of its layer or above; the units of a header
# are counted from the compiler's dependency output.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:-release}
build=build/$preset
[ -f "$build/.ninja_log" ] || {
    echo "build_cost: $build has no log of a build; call tools/build.sh $preset first" >&2
    exit 2
}

heavy=(
    CLI/CLI.hpp nlohmann/json.hpp boost/asio.hpp boost/beast.hpp httplib.h rocksdb/db.h spdlog/spdlog.h
    fmt/format.h catch2/catch.hpp boost/multi_index_container.hpp boost/json.hpp boost/json/src.hpp
    boost/describe.hpp
    filesystem regex chainbase/database.hpp archive/lifecycle.hpp
)

# OUTPUT<TAB>SECONDS of each object's last compilation.
objects() {
    awk -F'\t' '!/^#/ && $4 ~ /\.o$/ { took[$4] = ($2 - $1) / 1000 }
        END { for (output in took) printf "%s\t%.1f\n", output, took[output] }' "$build/.ninja_log" |
        while IFS=$'\t' read -r output seconds; do
            [ ! -e "$build/$output" ] || printf '%s\t%s\n' "$output" "$seconds"
        done | sort -t $'\t' -k 2,2 -rn
}

# "tools/driver/CMakeFiles/x.dir/Unity/unity_3.cxx.o" as "tools/driver x unity_3".
named() { sed -E 's|CMakeFiles/([^/]+)\.dir/(.*/)?([^/]+)\.(cpp\|cxx)\.o|\1: \3|; s|/([^/]*: )| \1|'; }

# Flags to compile `header` with, without what is read and written: those of the first unit of a folder
# archive/ for a header of chainbase/ or archive/, else of tools/ or archive/. Whether that unit includes
# the header does not matter: such a unit finds all of them.
flags_for() {
    python3 - "$build/compile_commands.json" "$1" <<'PYTHON'
import json, shlex, sys
commands = json.load(open(sys.argv[1]))
own = sys.argv[2].startswith(("chainbase/", "archive/"))
chosen = next((c for c in commands if ("/archive/" if own else "/tools/") in c["file"]
               or "/archive/" in c.get("output", "")), commands[0])
words = shlex.split(chosen["command"])
while not words[0].endswith(("g++", "clang++", "c++")) and "++" not in words[0].rsplit("/", 1)[-1]:
    words.pop(0)
print(words[0], *[w for w in words[1:] if w[:2] in ("-s", "-O", "-I", "-D", "-f", "-m")
                  and "CHAINBASE_" not in w])
PYTHON
}

# Compile seconds of a unit that includes only this.
seconds_of_header() {
    local flags begin end
    read -ra flags < <(flags_for "$1")
    begin=$(date +%s%N)
    printf '#include <%s>\n' "$1" | "${flags[@]}" -x c++ -c -o /dev/null - 2>/dev/null || return 1
    end=$(date +%s%N)
    awk -v ns=$((end - begin)) 'BEGIN { printf "%.1f", ns / 1e9 }'
}

all=$(objects)
printf '%s\n' "$all" | awk -F'\t' -v preset="$preset" '{ sum += $2; ++units } END {
    printf "Preset %s: %d compiler calls, %.0f s of compiling.\n\n", preset, units, sum }'

printf '| folder | calls | seconds |\n|---|---:|---:|\n'
printf '%s\n' "$all" | sed -E 's|/CMakeFiles.*\t|\t|' |
    awk -F'\t' '{ sum[$1] += $2; ++units[$1] } END {
        for (one in sum) printf "%s\t%d\t%.0f\n", one, units[one], sum[one] }' |
    sort -t $'\t' -k 3,3 -rn | awk -F'\t' '{ printf "| %s | %d | %d |\n", $1, $2, $3 }'

printf '\n| the dearest | seconds |\n|---|---:|\n'
printf '%s\n' "$all" | head -n 20 | named | awk -F'\t' '{ printf "| %s | %s |\n", $1, $2 }'

printf '\n| header | units that see it | seconds alone | both multiplied |\n|---|---:|---:|---:|\n'
deps=$(ninja -C "$build" -t deps 2>/dev/null)
for header in "${heavy[@]}"; do
    # Standard library headers are not grouped by folder.
    case $header in */* | *.*) path="/$header" ;; *) path="/c\+\+/[0-9]*/$header" ;; esac
    units=$(printf '%s\n' "$deps" | awk -v path="$path\$" '
        /: #deps/ { seen = 0 } !seen && $1 ~ path { seen = 1; ++units } END { print units + 0 }')
    [ "$units" -gt 0 ] || continue
    alone=$(seconds_of_header "$header") || continue
    printf '%s\t%s\t%s\n' "$header" "$units" "$alone"
done | awk -F'\t' '{ printf "| `%s` | %d | %s | %d |\n", $1, $2, $3, $2 * $3 }' | sort -t '|' -k 5,5 -rn
