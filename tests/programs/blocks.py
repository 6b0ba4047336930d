"""Blocks as the programs encode them, logs of them, and a model of which branch a node must be at.

Everything here is written from the READMEs of tools/block_log and tools/driver/sync, so that a test
also notices when a program and its README part ways.
"""
import ctypes
import struct
from dataclasses import dataclass, field

_xxh = ctypes.CDLL("libxxhash.so.0")
_xxh.XXH3_64bits_withSeed.restype = ctypes.c_uint64
_xxh.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
_zstd = ctypes.CDLL("libzstd.so.1")
_zstd.ZSTD_compressBound.restype = _zstd.ZSTD_compress.restype = ctypes.c_size_t
_zstd.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
_zstd.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
                                ctypes.c_size_t, ctypes.c_int]


class _Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


_xxh.XXH3_128bits.restype = _Hash128
_xxh.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def checksum(data, seed=0):
    return _xxh.XXH3_64bits_withSeed(data, len(data), seed)


# --- encodings ---

def unsigned(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value):
    return unsigned(value << 1 if value >= 0 else (-value << 1) - 1)


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return unsigned(len(data)) + data


def payments_account(name, balance):
    return unsigned(0) + text(name) + signed(balance)


def payment(sender, receiver, amount):
    return unsigned(1) + text(sender) + text(receiver) + signed(amount)


def social_account(name):
    return unsigned(0) + text(name)


def social_deposit(receiver, amount):
    return unsigned(4) + text(receiver) + signed(amount)


def encoded_block(number, timestamp, operations):
    """A transaction for each operation."""
    return (unsigned(number) + signed(timestamp) + unsigned(len(operations)) +
            b"".join(unsigned(1) + text(one) for one in operations))


# --- blocks and logs ---

@dataclass(frozen=True)
class Place:
    number: int = 0
    high: int = 0
    low: int = 0

    def packed(self):
        return struct.pack("<QQQ", self.number, self.high, self.low)

    def next(self, number, encoded):
        sum128 = _hash_of(struct.pack("<QQQ", self.high, self.low, checksum(encoded)))
        return Place(number, sum128.high, sum128.low)

    def __str__(self):
        return f"block {self.number} ({self.high:016x}{self.low:016x})"


def _hash_of(data):
    return _xxh.XXH3_128bits(data, len(data))


NO_BLOCK = Place()


def write_log(path, chain, blocks):
    """`blocks`: (number, encoding) each."""
    header = struct.pack("<8sII32sQ", b"\x8eBLKLOG\n", 1, 64, chain.encode(), 0)
    unpacked = b"".join(text(encoded) for _, encoded in blocks)
    packed = ctypes.create_string_buffer(_zstd.ZSTD_compressBound(len(unpacked)))
    size = _zstd.ZSTD_compress(packed, len(packed), unpacked, len(unpacked), 1)
    record = struct.pack("<IIIIQQ", 0x5243e28d, size, len(unpacked), len(blocks), blocks[0][0],
                         blocks[-1][0]) + packed.raw[:size]
    record += struct.pack("<II", len(record) + 16, 0x4543e28d)
    with open(path, "wb") as out:
        out.write(header + struct.pack("<Q", checksum(header)))
        out.write(record + struct.pack("<Q", checksum(record)))
    return path


def write_branches(path, chain, branches):
    """`branches`: (number of the block they follow, [encoding]) each, as `serve --forks` reads."""
    header = struct.pack("<8sII32sQ", b"\x8eBLKBRN\n", 1, 64, chain.encode(), 0)
    with open(path, "wb") as out:
        out.write(header + struct.pack("<Q", checksum(header)))
        for forks_after, blocks in branches:
            payload = b"".join(text(one) for one in blocks)
            record = struct.pack("<IIIIQ", 0x4243e28d, len(payload), len(blocks), 0,
                                 forks_after) + payload
            out.write(record + struct.pack("<Q", checksum(record)))
    return path


# --- a tree of blocks ---

@dataclass
class Entry:
    place: Place = NO_BLOCK
    encoded: bytes = b""
    operations: list = field(default_factory=list)
    parent: int = 0
    height: int = 0
    is_valid: bool = True


class PaymentsTree:
    """Blocks of the payments chain, and which of them a node must be at: the longest branch whose
    blocks are all valid, of equally long ones the first. Entry 0 stands for no block; block 1 makes
    the accounts."""

    ACCOUNTS = 8

    def __init__(self, random, lag=5):
        self.random = random
        self.lag = lag
        self.entries = [Entry()]
        self.head = self.root = 0
        self._append(0, 1, 1000, [payments_account(f"user{i}", 1_000_000)
                                  for i in range(self.ACCOUNTS)])

    def __getitem__(self, index):
        return self.entries[index]

    def __len__(self):
        return len(self.entries)

    def add(self, parent, is_bad=False, number=None):
        """A new block behind another; a bad one breaks a rule in its last transaction."""
        number = number or self[parent].place.number + 1
        operations = [self._pay(len(self)) for _ in range(self.random.randint(1, 3))]
        if is_bad:
            operations.append(self._pay(1_000_000_000))
        return self._append(parent, number, 1000 + 3 * number, operations, not is_bad)

    def add_copy(self, parent, of):
        """A block with the same transactions, a second later."""
        number = self[parent].place.number + 1
        return self._append(parent, number, 1001 + 3 * number, self[of].operations)

    def grow(self, parent, blocks):
        """So many blocks behind another, one behind the other."""
        grown = []
        for _ in range(blocks):
            parent = self.add(parent)
            grown.append(parent)
        return grown

    def any_parent(self, recent):
        """One of the last that a node still takes a block behind."""
        possible = [i for i in range(1, len(self)) if self._descends_from_root(i)]
        return self.random.choice(possible[-recent:])

    def chain_to(self, index):
        result = []
        while index != 0:
            result.append((self[index].place.number, self[index].encoded))
            index = self[index].parent
        return result[::-1]

    def write_log(self, path, index=None):
        return write_log(path, "payments", self.chain_to(self.head if index is None else index))

    def _pay(self, amount):
        sender, receiver = self.random.sample(range(self.ACCOUNTS), 2)
        return payment(f"user{sender}", f"user{receiver}", amount)

    def _append(self, parent, number, timestamp, operations, is_good=True):
        encoded = encoded_block(number, timestamp, operations)
        before = self[parent]
        self.entries.append(Entry(before.place.next(number, encoded), encoded, operations, parent,
                                  before.height + 1, is_good and before.is_valid))
        index = len(self) - 1
        if self[index].is_valid and self[index].height > self[self.head].height:
            self.head = index
        while self[self.head].height - self[self.root].height > self.lag:
            at = self.head
            while self[at].parent != self.root:
                at = self[at].parent
            self.root = at
        return index

    def _descends_from_root(self, index):
        while self[index].height > self[self.root].height:
            index = self[index].parent
        return index == self.root
