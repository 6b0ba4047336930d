"""Block logs, made by the format that tools/block_log/README.md draws and by nothing of the tools'
own code; operations of the chains, as tools/chains/README.md encodes them.

A block is (number, time, [transaction, ...]), a transaction a list of encoded operations.
"""

import contextlib
import ctypes
import ctypes.util
import fcntl
import functools
import os
import struct
from pathlib import Path

CHECKSUM = struct.Struct("<Q")
RECORD_HEADER = struct.Struct("<4sIIIQQ")
HEADER_BYTES = 64


@functools.cache
def library(name):
    """A library of the system."""
    return ctypes.CDLL(ctypes.util.find_library(name) or f"lib{name}.so")


def checksum(data, seed=0):
    """XXH3-64, by the system's libxxhash."""
    of = library("xxhash").XXH3_64bits_withSeed
    of.restype, of.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return of(data, len(data), seed)


def sealed(data):
    """The bytes, and their checksum behind them."""
    return data + CHECKSUM.pack(checksum(data))


# --- numbers, texts, operations ---


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def folded(value):
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def text(value):
    raw = value.encode() if isinstance(value, str) else bytes(value)
    return varint(len(raw)) + raw


def asset(value):
    amount, decimals, symbol = value
    return folded(amount) + varint(decimals) + text(symbol)


# The members of each kind of operation, in the order of the kinds: how each is encoded.
_T, _U, _I, _A = text, varint, folded, asset
SOCIAL = {
    "account_create": [_T],
    "comment": [_T, _T, _T, _T, _U, _U, _I, _I, _I, _I, _U],
    "vote": [_T, _T, _T, _I, _I],
    "custom": [_T, _T, _T],
    "deposit": [_T, _I],
    "transfer": [_T, _T, _I, _T],
    "claim": [_T],
    "comment_delete": [_T, _T],
}
SWAP = {"swap": [_T, _U, _A, _A, _A, _A, _A]}
PAYMENTS = {"account_create": [_T, _I], "payment": [_T, _T, _I]}


def _operation(kinds, kind, values):
    members = kinds[kind]
    assert len(members) == len(values), f"{kind} has {len(members)} members"
    return varint(list(kinds).index(kind)) + b"".join(
        encode(value) for encode, value in zip(members, values)
    )


def social(kind, *values):
    return _operation(SOCIAL, kind, values)


def swap(*values):
    return _operation(SWAP, "swap", values)


def payments(kind, *values):
    return _operation(PAYMENTS, kind, values)


def account(name):
    return social("account_create", name)


def post(author, permlink, cashout=0, author_payout=0, curator_payout=0):
    return social(
        "comment", author, permlink, "", "category", 0, 0, cashout, author_payout, curator_payout, 0, 0
    )


def vote(voter, author, permlink, rshares):
    return social("vote", voter, author, permlink, 0, rshares)


# --- blocks, records, logs ---


def block_of(number, time, *operations):
    """A block whose operations are a transaction each."""
    return (number, time, [[one] for one in operations])


def encode_block(block):
    number, time, transactions = block
    out = varint(number) + folded(time) + varint(len(transactions))
    for operations in transactions:
        out += varint(len(operations)) + b"".join(map(text, operations))
    return out


def stored_frame(data):
    """A zstd frame that holds the bytes as they are."""
    out = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data))  # one segment, size in four bytes
    pieces = [data[at : at + (1 << 17)] for at in range(0, len(data), 1 << 17)] or [b""]
    for i, piece in enumerate(pieces):
        out += struct.pack("<I", (i + 1 == len(pieces)) | len(piece) << 3)[:3] + piece
    return out


def record_of(unpacked, count, first, last):
    """A record of encoded blocks, each with its length in front; what it states may be forged."""
    packed = stored_frame(unpacked)
    out = RECORD_HEADER.pack(b"\x8d\xe2CR", len(packed), len(unpacked), count, first, last)
    return sealed(out + packed + struct.pack("<I4s", 48 + len(packed), b"\x8d\xe2CE"))


def record(blocks, *, last=None):
    unpacked = b"".join(text(encode_block(one)) for one in blocks)
    return record_of(unpacked, len(blocks), blocks[0][0], blocks[-1][0] if last is None else last)


def header(chain, magic=b"\x8eBLKLOG\n"):
    return sealed(struct.pack("<8sII32sQ", magic, 1, HEADER_BYTES, chain.encode(), 0))


def mark(log, synced, *, is_open):
    """The mark beside a log of which so many bytes are on the device."""
    whole = Path(log).read_bytes()
    last = CHECKSUM.unpack(whole[synced - 8 : synced])[0] if synced > HEADER_BYTES else 0
    return sealed(
        struct.pack(
            "<8sIIQQQQ",
            b"\x8eBLKSYN\n",
            1,
            is_open,
            CHECKSUM.unpack(whole[56:64])[0],
            synced,
            last,
            Path(log).stat().st_ino,
        )
    )


@contextlib.contextmanager
def written_by_another(log):
    """Its lock, as a writer has it."""
    with open(log, "r+b") as writer:
        # F_OFD_SETLK of all bytes, exclusively
        fcntl.fcntl(writer, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        yield


class Log:
    """A block log of a test: its path, its blocks, its bytes, and where each record begins."""

    def __init__(self, path, blocks, chain="sample-chain", blocks_in_record=1):
        self.path, self.blocks, self.chain = Path(path), list(blocks), chain
        self.index = Path(f"{path}.index")
        self.mark = Path(f"{path}.synced")
        self.records = [
            record(self.blocks[at : at + blocks_in_record])
            for at in range(0, len(self.blocks), blocks_in_record)
        ]
        self.whole = header(chain) + b"".join(self.records)
        self.offsets = [HEADER_BYTES]
        for one in self.records:
            self.offsets.append(self.offsets[-1] + len(one))
        self.write()

    def write(self, content=None):
        self.path.write_bytes(self.whole if content is None else content)

    def flip(self, *records):
        """A bit of the payload of these records."""
        content = bytearray(self.path.read_bytes())
        for one in records:
            content[self.offsets[one] + 42] ^= 1
        self.path.write_bytes(content)

    def mark_synced(self, records, is_open=True):
        """As a writer leaves it that synced so many records and was killed, or closed the log."""
        self.mark.write_bytes(mark(self.path, self.offsets[records], is_open=is_open))

    def number(self, i):
        return self.blocks[i][0]

    def __fspath__(self):
        return str(self.path)

    __str__ = __fspath__


def sample_blocks(count, rng):
    """Blocks with rising numbers that have gaps and do not begin at 1, of operations of no chain."""
    number, blocks = 1000, []
    for _ in range(count):
        number += rng.randint(1, 3)
        transactions = [
            [bytes(rng.choices(range(7), k=rng.randrange(31))) for _ in range(rng.randrange(4))]
            for _ in range(rng.randrange(4))
        ]
        blocks.append((number, 1458835200 + 3 * number, transactions))
    return blocks


# --- tables that are imported ---


def _zstd():
    zstd = library("zstd")
    zstd.ZSTD_compressBound.restype = zstd.ZSTD_compressStream2.restype = ctypes.c_size_t
    zstd.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    zstd.ZSTD_createCCtx.restype = ctypes.c_void_p
    zstd.ZSTD_compressStream2.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int]
    return zstd


class _Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]


def packed(*parts):
    """One zstd frame of these texts, by the system's libzstd; what is written is flushed after each."""
    zstd = _zstd()
    raw = [one.encode() if isinstance(one, str) else one for one in parts]
    room = zstd.ZSTD_compressBound(sum(map(len, raw))) + 1000
    space = ctypes.create_string_buffer(room)
    out = _Buffer(ctypes.cast(space, ctypes.c_char_p), room, 0)
    context = zstd.ZSTD_createCCtx()
    for i, one in enumerate(raw):
        piece = _Buffer(one, len(one), 0)
        how = 2 if i + 1 == len(raw) else 1  # end, flush
        while zstd.ZSTD_compressStream2(context, ctypes.byref(out), ctypes.byref(piece), how):
            pass
    zstd.ZSTD_freeCCtx(ctypes.c_void_p(context))
    return space.raw[: out.pos]


def zstd_version():
    return _zstd().ZSTD_versionNumber()
