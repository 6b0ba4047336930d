"""The logs of real data that the project carries, and what is known about their ends."""
import shutil

from programs import TREE

STEEM, EOS = "steem-2016", "eos-swap-2022"
FOLDERS = {STEEM: "social", EOS: "swap"}

# The same from every compiler and every history. They change with the fields of a chain's objects,
# and only then.
DIGESTS = {
    STEEM: "a3dea985aee2a5dc5a62fe8c57a785fd292c02e51a9a1efe5262101b582939f2",
    EOS: "427b12463a16e65a7c50b589ce482966bfb8dc4e4620aa8b8400c722f83d5abf",
}
# Of all types. They change with the digests, and with what chainbase/state_root/tree_hash.hpp says.
ROOTS = {
    STEEM: "d9a58fb5d0805e1de2f4501a5970fccf8096cba5aad1c7096dfe6564f3ed7290",
    EOS: "fb68cc37391f63460afad49a14e76453792bf824299f7338d4442ceb8d5607d9",
}


def carried_log(chain, folder):
    """A copy, so that no index appears among the sources."""
    source = TREE / "tools/chains" / FOLDERS[chain] / "data" / f"{chain}.blocks"
    return shutil.copyfile(source, folder / f"{chain}.blocks")
