#!/usr/bin/env bash
# Runs a command while this machine's kernel has programs of arm64 run by qemu, also in roots that
# have no qemu. No program that it runs gets more than 88 GiB of addresses. Needs root.
#
#     tools/packages/emulated.sh COMMAND [ARGUMENT...]
set -euo pipefail
if [ "${CHAINBASE_EMULATED:-}" != inside ]; then
    CHAINBASE_EMULATED=inside exec unshare --mount --propagation private "${BASH_SOURCE[0]}" "$@"
fi
unset CHAINBASE_EMULATED

kernel=/proc/sys/fs/binfmt_misc
[ -e $kernel/register ] || mount -t binfmt_misc binfmt_misc $kernel
if ! grep -qs '^interpreter .*aarch64' $kernel/*; then
    # By the first bytes of the file; F: the interpreter is opened now, for roots without it.
    name=chainbase-arm64-$$
    trap 'echo -1 >$kernel/$name' EXIT
    magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
    mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    echo ":$name:M::$magic:$mask:$(command -v qemu-aarch64-static):F" >$kernel/register
fi
# qemu keeps a record of each page of addresses that a program ever had: with terabytes it needs more
# memory than there is. Within one reserved range, the record of a page given back is used again.
ulimit -v $((96 << 20))
export QEMU_RESERVED_VA=88G
"$@"
