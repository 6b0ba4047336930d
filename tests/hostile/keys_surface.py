"""keys: users of a chain choose the names of accounts and the permlinks of posts, so that their hashes
would collide under every function that they can compute, or differ only where a hash might not look;
states are killed, made anew and restored in between."""

import ctypes
import math
import shutil
import string
import struct
from collections import Counter
from itertools import islice, product

from block_logs import account, block_of, checksum, header, post, record, social
from kills import until_killed
from surface import call, driver, inspect, require

MASK = 2**64 - 1
PLACES = 16  # parts of a table: who can compute the hash fills one of them
POOL = 12_000  # names, over all places
LETTERS = string.ascii_letters + string.digits + "-_"
AUTHOR = "mallory"
LONGEST = {"accounts": 16, "permlinks": 256}  # texts, by what they are for


# --- what users can compute: 64 bits of the words of a name, and of a permlink of 8 bytes ---


def words_of(name):
    return struct.unpack("<2Q", name.encode().ljust(16, b"\0"))


def keyed_under(seed):
    """pool_allocator/keyed_hash.hpp, of these keys, under a seed that somebody knows."""

    def left(value, by):
        return (value << by | value >> 64 - by) & MASK

    def round(a, b, c, d):
        a, c = a + b & MASK, c + d & MASK
        b, d = left(b, 13) ^ a, left(d, 16) ^ c
        a = left(a, 32)
        c, a = c + b & MASK, a + d & MASK
        b, d = left(b, 17) ^ c, left(d, 21) ^ a
        return a, b, left(c, 32), d

    names = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
    begin = tuple(one ^ seed[i % 2] for i, one in enumerate(names))

    def of(words, text):
        a, b, c, d = begin
        last = [len(text), int.from_bytes(text, "little")] if text else []  # of 8 bytes
        for block in [*words, *last]:
            a, b, c, d = round(a, b, c, d ^ block)
            a ^= block
        c ^= 0xFF
        for _ in range(3):
            a, b, c, d = round(a, b, c, d)
        return a ^ b ^ c ^ d

    return of


hash_bytes = ctypes.CDLL("libstdc++.so.6")["_ZSt11_Hash_bytesPKvmm"]
hash_bytes.restype = ctypes.c_uint64
hash_bytes.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t]


def format_2(words, text):
    """What hashes were before they were keyed: Murmur's finaliser, and XXH3 of texts."""
    h = 0
    for word in words:
        h = word ^ h * 0x9E3779B97F4A7C15 & MASK
        for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            h = (h ^ h >> 33) * factor & MASK
        h ^= h >> 33
    return checksum(text, h) if text else h


def xxh3(words, text):
    return checksum(text or struct.pack("<2Q", *words).rstrip(b"\0"))


def standard(words, text):
    """std::hash of libstdc++."""
    text = text or struct.pack("<2Q", *words).rstrip(b"\0")
    return hash_bytes(text, len(text), 0xC70F6907)


FUNCTIONS = {
    "format 2": format_2,
    "xxh3": xxh3,
    "xxh3, low half": lambda *key: xxh3(*key) << 32 & MASK,
    "std::hash": standard,
    "std::hash, low half": lambda *key: standard(*key) << 32 & MASK,
}
OF_ANOTHER_STATE = "another state's seed"


def number_of(seed):
    return int.from_bytes(struct.pack("<2Q", *seed), "little")


def names_by_place(kind, hash_of):
    places = [[] for _ in range(PLACES)]
    for number in range(POOL):
        name = f"n{number:07x}"
        key = (words_of(name), b"") if kind == "accounts" else (words_of(AUTHOR), name.encode())
        places[hash_of(*key) * PLACES >> 64].append(name)
    return places


def alike(kind, length, at, count):
    """Texts of one length that differ in two bytes at one place; length 0: in their length only."""
    if not length:
        return ["a" * n for n in range(1, LONGEST[kind] + 1)]
    length = 1 + length % LONGEST[kind]
    at %= length
    differences = map("".join, product(LETTERS, repeat=min(2, length - at)))
    return [("a" * at + one).ljust(length, "a") for one in islice(differences, count)]


# --- a chain and its state ---


class Chain:
    def __init__(self, folder):
        self.folder, self.log, self.state = folder, folder / "log", folder / "state"
        self.used, self.number = {kind: [] for kind in LONGEST}, 0
        folder.mkdir()
        self.log.write_bytes(header("social"))
        self.apply([account(AUTHOR)])
        self.replay()

    def apply(self, operations):
        """In blocks that follow."""
        for at in range(0, len(operations), 150):
            self.number += 1
            block = block_of(self.number, 1000 + self.number, *operations[at : at + 150])
            with open(self.log, "ab") as log:
                log.write(record([block]))

    def add(self, kind, names):
        used = set(self.used[kind])
        new = [one for one in names if one not in used]
        self.used[kind] += new
        self.apply([account(one) if kind == "accounts" else post(AUTHOR, one) for one in new])

    def delete(self, percent):
        used = self.used["permlinks"]
        gone = used[: len(used) * percent // 100]
        self.used["permlinks"] = used[len(gone) :]
        self.apply([social("comment_delete", AUTHOR, one) for one in gone])

    def replay(self, killed_after=0, state=None):
        """Killed and once more, or at once; the digest."""
        it = ["replay", "--block-log", self.log, "--state", state or self.state]
        it += ["--archive", "none", "--json"]
        if killed_after:
            until_killed(driver().start(*it), killed_after / 1000)
        said = call(driver(), *it)
        require(said.code == 0, f"keys that users choose end a replay\n{said}")
        return said.json["state_digest"]

    def make_anew(self, how):
        if how == "compact":
            require(call(inspect(), "compact", self.state).code == 0, "cannot be made anew")
        elif how == "restore":
            shutil.rmtree(self.state / "segment")
        else:
            old = self.state.rename(self.folder / "old")
            rows = call(inspect(), "dump", old).bytes
            require(call(inspect(), "load", self.state, stdin=rows).code == 0, "cannot be loaded")
            (old / "archive").rename(self.state / "archive")  # is no part of a dump
            shutil.rmtree(old)

    def look(self):
        """Its tables are as those of keys that nobody chose."""
        said = call(inspect(), "check", "--json", self.state)
        require(said.code == 0 and said.json["sound"], f"not sound\n{said}")
        for name, (_, places) in tables_of(self.state).items():
            hashes = [one for one in places if one is not None]
            twice = len(hashes) - len(set(hashes))
            require(twice < 4, f"{name}: {twice} of {len(hashes)} hashes are there twice")
            mean = len(hashes) / PLACES
            most = max(Counter(one * PLACES >> 32 for one in hashes).values(), default=0)
            require(
                most <= mean + 12 * math.sqrt(mean) + 12,
                f"{name}: {most} of {len(hashes)} entries are in a {PLACES}th of the table",
            )
            load = max(len(hashes) / len(places), 0.1)  # README of pool_allocator: (a e^(1-a))^L
            bound = (math.log(len(places)) + 30) / (load - 1 - math.log(load))
            taken = "".join(" " if one is None else "x" for one in places * 2)
            longest = max(map(len, taken.split()), default=0)
            require(longest <= bound, f"{name}: {longest} entries without a gap, load {load:.2f}")


def tables_of(state):
    """Of each table: its seed and its entries' hashes, from the files alone."""
    found = {}
    for name in ("account", "comment"):
        words = (state / f"segment/{name}.objects").read_bytes()[80:84]
        log2 = int.from_bytes(words, "little")
        file = (state / f"segment/{name}.0.hash").read_bytes()
        entries = struct.iter_unpack("<II", file[8 << log2 : 16 << log2])
        seed = struct.unpack("<2Q", file[64:80])
        found[name] = seed, [hash if slot else None for slot, hash in entries]
    return found


class Keys:
    def __init__(self, folder):
        """With a state of the attacker's own, whose seeds are known."""
        reference = Chain(folder / "reference")
        self.pools, self.known = {}, [0]
        for kind, (seed, _) in zip(LONGEST, tables_of(reference.state).values()):
            self.pools[kind, OF_ANOTHER_STATE] = names_by_place(kind, keyed_under(seed))
            self.known.append(number_of(seed))

    def sequence(self, random):
        def step():
            kind, count = random.choice(list(LONGEST)), random.randint(100, 700)
            killed_after = random.choice((0, 0, random.randint(1, 60)))
            what = random.random()
            if what < 0.5:
                function = random.choice([*FUNCTIONS, OF_ANOTHER_STATE])
                return ("chosen", kind, function, random.randrange(PLACES), count, killed_after)
            if what < 0.75:
                length = random.randrange(random.choice((1, 16, 40, 256)))
                return ("alike", kind, length, random.randrange(256), count, killed_after)
            if what < 0.85:
                return ("delete", random.randint(10, 90), killed_after)
            return ("anew", random.choice(("compact", "dump", "restore")), 0)

        return [step() for _ in range(random.randint(2, 8))]

    def play(self, steps, folder):
        chain = Chain(folder / "chain")
        for what, *how, killed_after in steps:
            if what == "chosen":
                chain.add(how[0], self.names(*how))
            elif what == "alike":
                chain.add(how[0], alike(*how))
            elif what == "delete":
                chain.delete(*how)
            else:
                chain.make_anew(*how)
            chain.replay(killed_after)
            chain.look()
        fresh = folder / "fresh"
        require(chain.replay(state=fresh) == chain.replay(), "another digest than replayed at once")
        self.look_at_seeds(chain.state)
        self.look_at_seeds(fresh)

    def names(self, kind, function, place, count):
        if (kind, function) not in self.pools:
            self.pools[kind, function] = names_by_place(kind, FUNCTIONS[function])
        return self.pools[kind, function][place][:count]

    def look_at_seeds(self, state):
        """Two that are random have 20 bits or fewer that differ once in 10^15 pairs."""
        seeds = [number_of(seed) for seed, _ in tables_of(state).values()]
        require(len(set(seeds)) == len(seeds), "two tables of a state have one seed")
        near = min((one ^ known).bit_count() for one in seeds for known in self.known)
        require(near > 20, f"a seed is that of another state, but for {near} of 128 bits")
        self.known += seeds
