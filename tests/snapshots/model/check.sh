#!/bin/sh
# Goes through all states of protocol.pml with Spin: the protocol must hold, and with any one of its
# parts left out it must fail. Two minutes, 1.5 GB of memory.
#
#     check.sh [name]...   only with these parts left out, such as FLOOR_BELOW
set -eu
model=$(cd "$(dirname "$0")" && pwd)/protocol.pml
for tool in spin gcc; do
    command -v $tool >/dev/null && continue
    echo "The model of snapshots was not checked: there is no $tool."
    exit 77
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
cd "$folder"

# All of it at once would be too many states.
blocks=
merged="-DCHANGES=5 -DROLLBACKS=3 -DWORDS=1 -DMAY_LOSE=false"
full="-DCHANGES=4 -DHAD_ROLLBACK=true -DWORDS=1 -DMAY_LOSE=false -DMAY_CATCH_UP=true"
newer="-DCHANGES=2 -DCALLS=3 -DRENEWALS=1 -DMAY_CATCH_UP=true"

# run <optimisation> <size of the table, in bits> <definition>...: its output is in `found`. With -E
# it is no error that the writer or the reader can do nothing more.
run() {
    optimisation=$1
    size=$2
    shift 2
    spin "$@" -a "$model" >said || { cat said; exit 1; }
    gcc "$optimisation" -w -DSAFETY -DNOREDUCE -DMEMLIM=3900 -o pan pan.c
    ./pan -E -m10000 -w"$size" >found
}

holds() {
    what=$1
    shift
    run -O1 24 "$@"
    if ! grep -q 'errors: 0' found || grep -q 'too small\|not completed' found; then
        cat found
        echo "the protocol, $what: fails"
        exit 1
    fi
    states=$(sed -n 's/ states, stored.*//p' found | tr -d ' ')
    echo "the protocol, $what: $states states, no error"
}

fails_without() {
    case $1 in
    LOWER_OF_TWO) bounds=$merged ;;
    ACQUIRE_AFTER_LIST | NOW_AGAIN) bounds=$full ;;
    COPY_AGAIN | EVEN_TURN_NOW | ACQUIRE_BEFORE_LIST | ROLLED_BACK_LATER) bounds=$newer ;;
    *) bounds=$blocks ;;
    esac
    run -O0 20 -DWITHOUT="$1" $bounds
    if ! grep -q 'assertion violated' found; then
        cat found
        echo "without $2: not found ($1)"
        exit 1
    fi
    echo "without $2: found"
}

sed -n '/^\/\* What is left out/,/^#ifndef/s|^#define \([A-Z_]*\) [0-9]* /\* \(.*\) \*/$|\1 \2|p' \
    "$model" >parts
[ -s parts ] || { echo "$model: it has no list of parts"; exit 1; }
for name in "$@"; do
    grep -q "^$name " parts || { echo "$model: it has no part $name"; exit 1; }
done
if [ $# = 0 ]; then
    holds 'blocks' $blocks
    holds 'rollbacks that are merged' $merged
    holds 'catching up beside them' $full
    holds 'moving to a newer block' $newer
fi
while read -r name text; do
    case " ${*:-$name} " in *" $name "*) fails_without "$name" "$text" ;; esac
done <parts
