#!/usr/bin/env bash
# Runs a command that asks dpkg-shlibdeps for the dependencies of arm64 programs below the working
# folder: they are asked of the root CHAINBASE_SYSROOT. Within emulated.sh.
#
#     tools/packages/arm64_dependencies.sh COMMAND [ARGUMENT...]
set -euo pipefail
call=$(mktemp -d)
trap 'rm -r "$call"' EXIT
mkdir -p "$CHAINBASE_SYSROOT$PWD"
mount --bind "$PWD" "$CHAINBASE_SYSROOT$PWD"
cat >"$call/dpkg-shlibdeps" <<'END'
#!/bin/sh
exec chroot "$CHAINBASE_SYSROOT" sh -c 'cd "$0" && exec dpkg-shlibdeps "$@"' "$PWD" "$@"
END
chmod +x "$call/dpkg-shlibdeps"
PATH=$call:$PATH "$@"
