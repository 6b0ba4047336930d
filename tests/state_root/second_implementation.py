"""State roots and proofs from chainbase/state_root/FORMAT.md alone, slowly.

A line of standard input is a call, and each but the first three has a line for an answer:

    type NAME
    object NAME ID RECORD          in hexadecimal digits; a later one replaces it
    leaves FILE                    those of a file take the place of all objects
    root
    prove NAME ID
    verify ROOT NAME ID RECORD PROOF       RECORD "-": the caller has none
"""

import hashlib
import sys

NOTHING = bytes(32)


def pair(left, right):
    return NOTHING if left == right == NOTHING else hashlib.sha256(left + right).digest()


def seal(height, root, name):
    return hashlib.sha256(bytes([height]) + root + name.encode()).digest()


def height_of(leaves):
    height = 4 if leaves else 0
    while any(place >> height for place in leaves):
        height += 4
    return height


def levels_of(leaves):
    """The nodes of each level, from the leaves on; those that are nothing are left out."""
    levels = [dict(leaves)]
    for _ in range(height_of(leaves)):
        below = levels[-1]
        above = {place // 2 for place in below}
        levels.append(
            {n: pair(below.get(2 * n, NOTHING), below.get(2 * n + 1, NOTHING)) for n in above}
        )
    return levels


def root_of(leaves):
    return levels_of(leaves)[-1].get(0, NOTHING)


def path_of(leaves, place):
    beside = [level.get((place >> i) ^ 1, NOTHING) for i, level in enumerate(levels_of(leaves)[:-1])]
    bits = sum((one != NOTHING) << i for i, one in enumerate(beside))
    written = bytes([len(beside)]) + bits.to_bytes((len(beside) + 7) // 8, "little")
    return written + b"".join(one for one in beside if one != NOTHING)


def climb(place, leaf, beside):
    for i, other in enumerate(beside):
        leaf = pair(other, leaf) if place >> i & 1 else pair(leaf, other)
    return leaf


class Malformed(Exception):
    pass


class Reader:
    def __init__(self, proof):
        self.left = proof

    def take(self, count):
        if len(self.left) < count:
            raise Malformed
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def path(self):
        height = self.take(1)[0]
        if height > 32 or height % 4:
            raise Malformed
        bits = int.from_bytes(self.take((height + 7) // 8), "little")
        if bits >> height:
            raise Malformed
        beside = [self.take(32) if bits >> i & 1 else None for i in range(height)]
        if NOTHING in beside:
            raise Malformed
        return [NOTHING if one is None else one for one in beside]


class State:
    def __init__(self):
        self.types = {}

    def over_types(self):
        named = enumerate(sorted(self.types.items(), key=lambda one: one[0].encode()))
        return {i: seal(height_of(of), root_of(of), name) for i, (name, of) in named}

    def root(self):
        types = self.over_types()
        return seal(height_of(types), root_of(types), "")

    def prove(self, name, place):
        leaves = self.types[name]
        if place >> height_of(leaves) == 0 and leaves:
            shown = b"\0" + path_of(leaves, place)
        else:
            shown = bytes([1, height_of(leaves)]) + root_of(leaves)
        number = sorted(self.types, key=str.encode).index(name)
        return b"\2" + shown + number.to_bytes(4, "little") + path_of(self.over_types(), number)


def leaves_of(file):
    with open(file, "rb") as opened:
        at = Reader(opened.read())
    number = lambda size: int.from_bytes(at.take(size), "little")
    if at.take(16) != b"chainbase leaves" or number(4) != 1:
        raise Malformed
    types = []
    for _ in range(number(4)):
        leaves, size = number(8), number(4)
        types.append((leaves, at.take(size).decode()))
    return {name: {number(4): at.take(32) for _ in range(leaves)} for leaves, name in types}


def verify(root, name, place, record, proof):
    try:
        at = Reader(proof)
        version, kind = at.take(2)
        if version != 2 or kind > 1:
            return "invalid"
        beside = at.path() if kind == 0 else None
        height, tree = (len(beside), None) if kind == 0 else (at.take(1)[0], at.take(32))
        number, types = int.from_bytes(at.take(4), "little"), at.path()
    except Malformed:
        return "invalid"
    if height > 32 or height % 4:
        return "invalid"
    is_within = height != 0 and place >> height == 0
    if at.left or is_within != (kind == 0) or not types or number >> len(types):
        return "invalid"

    def holds(leaf):
        sealed = seal(height, climb(place, leaf, beside) if kind == 0 else tree, name)
        return seal(len(types), climb(number, sealed, types), "") == root

    if record is not None and kind == 0 and holds(hashlib.sha256(record).digest()):
        return "included"
    return "excluded" if holds(NOTHING) else "invalid"


def main():
    state = State()
    for line in sys.stdin:
        call, *words = line.split()
        if call == "type":
            state.types[words[0]] = {}
        elif call == "object":
            record = bytes.fromhex(words[2])
            state.types[words[0]][int(words[1])] = hashlib.sha256(record).digest()
        elif call == "leaves":
            state.types = leaves_of(words[0])
        elif call == "root":
            print(state.root().hex())
        elif call == "prove":
            print(state.prove(words[0], int(words[1])).hex())
        elif call == "verify":
            root, name, place, record, proof = words
            has = None if record == "-" else bytes.fromhex(record)
            print(verify(bytes.fromhex(root), name, int(place), has, bytes.fromhex(proof)))


if __name__ == "__main__":
    main()
