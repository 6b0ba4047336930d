"""Blocks in a tree, as peers send them, and a model of which branch a node must be at.

Written from the READMEs of tools/block_log and tools/driver/sync alone, as block_logs.py is.
"""

import ctypes
import struct
from dataclasses import dataclass, field
from pathlib import Path

import block_logs
from block_logs import account as social_account
from block_logs import checksum, payments, sealed, social, text
from block_logs import folded as signed
from block_logs import varint as unsigned


class _Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def _hash_of(data):
    of = block_logs.library("xxhash").XXH3_128bits
    of.restype, of.argtypes = _Hash128, [ctypes.c_char_p, ctypes.c_size_t]
    return of(data, len(data))


def social_deposit(receiver, amount):
    return social("deposit", receiver, amount)


def encoded_block(number, timestamp, operations):
    """A transaction for each operation."""
    return block_logs.encode_block(block_logs.block_of(number, timestamp, *operations))


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


NO_BLOCK = Place()


def write_log(path, chain, blocks):
    """`blocks`: (number, encoding) each."""
    unpacked = b"".join(text(encoded) for _, encoded in blocks)
    record = block_logs.record_of(unpacked, len(blocks), blocks[0][0], blocks[-1][0])
    Path(path).write_bytes(block_logs.header(chain) + record)
    return path


def write_branches(path, chain, branches):
    """`branches`: (number of the block they follow, [encoding]) each, as `serve --forks` reads."""
    out = block_logs.header(chain, b"\x8eBLKBRN\n")
    for forks_after, blocks in branches:
        payload = b"".join(map(text, blocks))
        head = struct.pack("<4sIIIQ", b"\x8d\xe2CB", len(payload), len(blocks), 0, forks_after)
        out += sealed(head + payload)
    Path(path).write_bytes(out)
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
        self._append(0, 1, 1000, [payments("account_create", f"user{i}", 1_000_000)
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
        return payments("payment", f"user{sender}", f"user{receiver}", amount)

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
