#!/usr/bin/env bash
# Makes a bare Debian in a new folder, with PACKAGEs, from where this machine's apt gets Debian, by
# this machine's options of apt. Needs root.
#
#     tools/packages/root.sh MACHINE SUITE FOLDER [PACKAGE...]     such as: arm64 bookworm /tmp/root
#
# One of another machine is made and used below tools/packages/emulated.sh.
set -euo pipefail
machine=$1 suite=$2 folder=$3
shift 3

sources() { # of this machine's Debian, as SUITE
    apt-get indextargets 'Created-By: Packages' 'Origin: Debian' "Architecture: $(dpkg --print-architecture)" \
        --format '$(REPO_URI) $(RELEASE) $(CODENAME) $(COMPONENT)' | sort -u |
        while read -r uri release codename component; do
            # The parts of a release are named after it: bookworm, bookworm-security.
            echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri" \
                "${release/#${codename%%-*}/$suite} $component"
        done
}

[ -n "$(sources)" ] || apt-get update -qq
options=()
while IFS= read -r option; do
    options+=("--aptopt=$option")
done < <(apt-config dump | grep -E '^Acquire::(Check|http|https|ftp|Retries)' | grep -v '"";$')
packages=$(IFS=, && echo "$*")
# What it mounts in the folder ends with it, however it ends.
sources | unshare --mount --propagation private mmdebstrap --quiet --mode=root --variant=minbase --architectures="$machine" \
    "${options[@]}" ${packages:+--include="$packages"} "$suite" "$folder" -
