#!/usr/bin/env bash
# Checks that no test can make: that every header compiles alone, that sources have no warnings,
# that folders include only lower ones, that the code is formatted, that the README shows the
# compiled examples and the benches' page its raw results, that the reference
# (build/reference/html) has no warnings, and that the root holds no unexpected files.
#
#     tools/check.sh [STEP...]     all steps without an argument
#
# Steps: top-level, layers, format, readme, reference, headers-gcc, headers-clang, bench-clang
# (sources that the sanitizers' clang build leaves out). Each prints its findings and fails if there
# are any.
# CHAINBASE_JOBS: parallel compilers (2).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=${CHAINBASE_JOBS:-$(nproc)}
cache=$(command -v ccache || true)
# Lets ccache hit for the same tree under another path.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
clang=${CHAINBASE_CLANG:-clang++-19}
layers=(pool_allocator undo chainbase archive tools tests)
warnings=(-std=c++20 -O0 -Wall -Wextra -Werror -I.)
# libstdc++ 12 uses its own deprecated function in std::stable_sort; the warning is disabled for
# g++.
clang_only=(-Wno-deprecated-declarations)

# The files of the tree, including uncommitted ones. Works without a repository, too.
files() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard -- "$@" |
            while IFS= read -r file; do [ ! -e "$file" ] || printf '%s\n' "$file"; done | sort -u
    else
        find "${@%%/\*}" -type f | sed 's|^\./||' | sort
    fi
}
code() { files "${layers[@]}" | grep -E "\.($1)\$" || true; }

fail() { # what the findings on stdin mean; nothing to say when there are none
    local findings
    findings=$(cat)
    [ -z "$findings" ] && return 0
    printf 'check: %s\n%s\n' "$1" "$findings" >&2
    return 1
}

top_level() {
    local allowed=(
        "${layers[@]}" build .ci .cache .git .github .gitignore .clang-format
        CHANGELOG.md CMakeLists.txt CMakePresets.json LICENSE README.md
    )
    files . | cut -d/ -f1 | sort -u |
        { grep -vxFf <(printf '%s\n' "${allowed[@]}") || true; } |
        fail "not allowed at the root of the tree:"
}

# From the lowest to the highest. Sources are listed without their suffix, before their folder.
order='pool_allocator/base pool_allocator/trace pool_allocator undo
    chainbase/id,fixed_bytes,fixed_string,key_value,keys,fwd
    chainbase/trace chainbase/object chainbase/checkpoint chainbase/open_options chainbase/locks
    chainbase/segment chainbase chainbase/snapshot
    chainbase/state_root archive/record
    archive/archived_by,batch_plan,fault_steps,found,fwd,memory_store,statistics,store,write_batch
    archive/rocksdb archive chainbase/feed chainbase/examples chainbase/offline tools tests'

# A folder may include itself and the folders before it.
layers() {
    files "${layers[@]}" | { grep -E '\.(hpp|ipp|cpp)$' || true; } |
        xargs -r grep -HnE '^ *# *include *[<"]' -- | awk -v order="$order" '
        BEGIN {
            steps = split(order, step, /[ \n]+/)
            for (i = 1; i <= steps; ++i) {
                names = step[i]
                if (names !~ /,/) { rank[names] = i; continue }
                folder = names; sub(/\/[^\/]*$/, "", folder)
                count = split(substr(names, length(folder) + 2), name, ",")
                for (n = 1; n <= count; ++n) rank[folder "/" name[n]] = i
            }
        }
        # The rank of the file, or of its nearest listed folder; 0: none of this tree.
        function rank_of(path) {
            sub(/\.[a-z]+$/, "", path)
            while (!(path in rank) && sub(/\/[^\/]*$/, "", path));
            return path in rank ? rank[path] : 0
        }
        {
            file = $0; sub(/:.*/, "", file)
            included = $0; sub(/^[^<"]*[<"]/, "", included); sub(/[>"].*/, "", included)
            if (rank_of(included) > rank_of(file)) print
        }' | fail "includes that point up (the order is in tools/check.sh):"
}

format() {
    code 'hpp|ipp|cpp' | xargs -r -n 20 -P "$jobs" clang-format-19 --dry-run --Werror
}

# Placeholders for definitions from CMake, such as the path of a program: nothing is run.
definitions() {
    files tests tools | { grep -E '(^|/)CMakeLists\.txt$' || true; } |
        xargs -r grep -hoE '\b[A-Z_]+="[^"]*"|\bCHAINBASE_[A-Z_]+=[0-9]+' | sort -u |
        sed -E 's/="?([0-9]+)$/=\1/; s/=".*/="text"/; s/^/-D/'
}

# compile WHAT COMPILER [OPTION...]: compiles each file on stdin in its own process, which prints
# failures. Tests see the engine with its failure points, since some exist only then. Objects are
# discarded: that takes little longer than a syntax check, and ccache can reuse them.
compile() {
    local what=$1 place defined
    shift
    place=build/check/$what-${1##*/}
    mkdir -p "$place"
    mapfile -t defined < <(definitions)
    xargs -r -P "$jobs" -I{} bash -c '
        what=$1 name=$2 place=$3 made=$3/${2//\//.}
        shift 3
        source=$name
        case $name in tests/*) set -- "$@" -DCHAINBASE_FAULT_INJECTION=1 ;; esac
        if [ "$what" = header ]; then
            source=$made.cpp
            printf "#include <%s>\n" "$name" >"$source"
        fi
        output=$("$@" -c "$source" -o "$made.o" 2>&1) && rm "$made.o" && exit 0
        printf "check: %s does not compile (%s)\n%s\n" "$name" "${place##*/}" "$output" >&2
        exit 1' _ "$what" {} "$place" ${cache:+"$cache"} "$@" "${warnings[@]}" \
        ${defined[@]+"${defined[@]}"}
}

readme() {
    local example number=0 failed=0
    for example in account.hpp example.cpp reader.cpp; do
        number=$((number + 1))
        awk -v wanted=$number '/^```cpp$/ { inside = ++found == wanted; next } /^```$/ { inside = 0 }
            inside' README.md | diff - "tests/consumer/$example" |
            fail "example $number in README.md is not tests/consumer/$example:" || failed=1
    done
    grep -ohE '`[a-z_/]+\.(cpp|hpp|py|sh)`' tests/promises.md | tr -d '`' | sort -u |
        while IFS= read -r file; do [ -e "tests/$file" ] || printf '%s\n' "$file"; done |
        fail "tests/promises.md names tests that do not exist:" || failed=1
    { tools/bench/report.py --check 2>&1 || true; } |
        fail "figures on pages and the benches' results differ; tools/bench/report.py writes them:" ||
        failed=1
    return $failed
}

# Of the engine and the archive, with their pages.
reference() {
    rm -rf build/reference
    mkdir -p build/reference
    doxygen - >/dev/null 2>build/reference/warnings <<END || true
        PROJECT_NAME = chainbase
        OUTPUT_DIRECTORY = build/reference
        INPUT = README.md CHANGELOG.md .github/SECURITY.md pool_allocator undo chainbase archive
        INPUT += $(files tools tests | grep '\.md$' | tr '\n' ' ')
        RECURSIVE = YES
        FILE_PATTERNS = *.hpp *.md
        USE_MDFILE_AS_MAINPAGE = $PWD/README.md
        STRIP_FROM_PATH = .
        STRIP_FROM_INC_PATH = .
        JAVADOC_AUTOBRIEF = YES
        EXTRACT_ALL = YES
        EXCLUDE_SYMBOLS = *::detail::* *::detail std::*
        MACRO_EXPANSION = YES
        GENERATE_LATEX = NO
        HAVE_DOT = NO
        QUIET = YES
END
    # Doxygen 1.9 does not know the anchors of headings.
    { grep -v "unable to resolve reference to '[a-z-]*' for" build/reference/warnings || true; } |
        fail "doxygen warns of the reference:"
}

step() {
    case $1 in
    top-level) top_level ;;
    layers) layers ;;
    format) format ;;
    readme) readme ;;
    reference) reference ;;
    headers-gcc) code hpp | compile header "${CHAINBASE_GCC:-g++}" ;;
    headers-clang) code hpp | compile header "$clang" "${clang_only[@]}" ;;
    bench-clang) code cpp | grep /bench/ | compile source "$clang" "${clang_only[@]}" ;;
    *)
        echo "check: no step \"$1\"; see the head of $0" >&2
        exit 2
        ;;
    esac
}

[ $# -gt 0 ] || set -- top-level layers format readme reference headers-gcc headers-clang bench-clang
failed=0
for each in "$@"; do
    started=$SECONDS
    if step "$each"; then
        echo "check: $each: good ($((SECONDS - started)) s)"
    else
        echo "check: $each: FAILED ($((SECONDS - started)) s)"
        failed=1
    fi
done
exit $failed
