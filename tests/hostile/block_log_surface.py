"""Block logs that are cut, flipped, spliced and forged, with indexes and marks that do not belong to
them, between replays; against a reader in Python, after tools/block_log/recovery.md alone."""

import contextlib
import hashlib
import os
import random
import struct
from collections import namedtuple

import block_logs
from block_logs import CHECKSUM, HEADER_BYTES, checksum, payments, sealed, text
from kills import until_killed
from surface import Broken, call, driver, inspect, require

BEGIN, END = b"\x8d\xe2CR", b"\x8d\xe2CE"

# A record whose checksum fits: its blocks, encoded, and whether they are those that it states.
Record = namedtuple("Record", "end first last count sum blocks is_sound")
# What readers find: `records` from the begin on, as far as they are good; `lost`: damage follows, or
# the header is; `cut`: the log is good and cut; `index`: what readers are led to who open it.
Found = namedtuple("Found", "chain records lost cut index misleads")


# --- a reader ---


def numbers_at(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def number_of(encoded):
    return numbers_at(encoded, 0)[0]


def unpacked(data, size):
    import ctypes

    room = ctypes.create_string_buffer(max(size, 1))
    of = block_logs.library("zstd").ZSTD_decompress
    of.restype, of.argtypes = ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_size_t] * 2
    return room.raw[:size] if of(room, size, data, len(data)) == size else None


def record_at(log, at, end):
    if at + 48 > end or log[at : at + 4] != BEGIN:
        return None
    _, packed, size, count, first, last = block_logs.RECORD_HEADER.unpack_from(log, at)
    if max(packed, size) > 1 << 26 or at + packed + 48 > end or count == 0 or first > last:
        return None
    raw = log[at : at + packed + 48]
    stated, mark, own = struct.unpack("<I4sQ", raw[-16:])
    if (stated, mark, own) != (len(raw), END, checksum(raw[:-8])):
        return None
    content, blocks, here = unpacked(raw[32:-16], size), [], 0
    while content and here < len(content):
        length, here = numbers_at(content, here)
        encoded, here = content[here : here + length], here + length
        if number_of(encoded) <= number_of(blocks[-1]) if blocks else number_of(encoded) != first:
            break
        blocks.append(encoded)
    is_sound = len(blocks) == count and number_of(blocks[-1]) == last and here == len(content)
    return Record(at + len(raw), first, last, count, own, blocks, is_sound)


def own_sum_fits(raw, magic, fields):
    return (len(raw) >= 16 and raw[:12] == magic + struct.pack("<I", 1)
            and CHECKSUM.unpack(raw[-8:])[0] == checksum(raw[:-8]) and len(raw) == fields)  # fmt: skip


def index_of(raw, log):
    """(bytes covered, entries, whether it fits the log's last record), if it can be believed."""
    fields = 64 + 24 * struct.unpack_from("<I", raw, 12)[0] if len(raw) > 16 else 0
    if not own_sum_fits(raw, b"\x8eBLKIDX\n", fields) or raw[16:24] != log[56:64]:
        return None
    covered, last_sum, last, blocks = struct.unpack_from("<4Q", raw, 24)
    entries = list(struct.iter_unpack("<3Q", raw[56:-8]))
    least = (HEADER_BYTES, 0, 0)
    for one in entries:
        if any(a < b for a, b in zip(one, least)) or (least[2] == 0 and one[0::2] != (64, 0)):
            return None
        least = (one[0] + 48, one[1] + 1, one[2] + 1)
    if covered < least[0] or blocks < least[2] or (not entries and (covered, blocks) != (64, 0)):
        return None
    if entries and last < entries[-1][1]:
        return None
    if not entries or covered > len(log):
        return covered, entries, covered <= len(log)
    of = record_at(log, entries[-1][0], covered)
    fits = of and (of.end, of.sum, of.last) == (covered, last_sum, last)
    return covered, entries, bool(fits and entries[-1][2] + of.count == blocks)


def mark_of(raw, log, inode):
    """(bytes, how it fits, whether it excuses what is behind it), if it can be believed."""
    if not own_sum_fits(raw, b"\x8eBLKSYN\n", 56) or raw[16:24] != log[56:64]:
        return None
    is_open, _, size, last, of = struct.unpack_from("<IQQQQ", raw, 12)
    if is_open > 1 or size < HEADER_BYTES:
        return None
    if size > len(log):
        return size, "beyond", False
    length = struct.unpack_from("<I", log, size - 16)[0] if size >= HEADER_BYTES + 48 else 0
    one = record_at(log, size - length, size) if 0 < length <= size - HEADER_BYTES else None
    found = one.sum if one and one.end == size else 0 if size == HEADER_BYTES else None
    fit = "broken" if found is None else "fits" if found == last else "foreign"
    return size, fit, is_open == 1 and fit == "fits" and of == inode


def found_in(path, has_writer=False):
    log, index, mark = [
        one.read_bytes() if one.is_file() else b""
        for one in (path, path.with_name(path.name + ".index"), path.with_name(path.name + ".synced"))
    ]
    raw = log[:HEADER_BYTES]
    if len(raw) < 64 or raw[:16] != struct.pack("<8sII", b"\x8eBLKLOG\n", 1, 64) or (
        CHECKSUM.unpack(raw[56:])[0] != checksum(raw[:56])
    ):
        return Found(None, [], True, False, [], False)
    chain = raw[16:48].rstrip(b"\0").decode()
    index = index_of(index, log)
    covered, entries, fits = index or (0, [], False)
    size, fit, excuses = mark_of(mark, log, path.stat().st_ino) or (0, "", False)
    scan, at, lost = [], HEADER_BYTES, False
    while not lost and (one := record_at(log, at, len(log))):
        lost = bool(scan and one.first <= scan[-1][1].last)
        if not lost:
            scan.append((at, one))
            at = one.end
    # What a record holds is looked at when it is read.
    unsound = next((i for i, (_, one) in enumerate(scan) if not one.is_sound), None)
    records = scan if unsound is None else scan[: unsound + 1]
    known = [(begin, one.first, sum(of.count for _, of in scan[:i]))
             for i, (begin, one) in enumerate(scan)]  # fmt: skip
    torn = at < len(log) and not lost
    if torn:
        was_complete = at < covered <= len(log) or (size > at and fit in ("fits", "broken"))
        follows = log.find(BEGIN, at + 1)
        while follows >= 0 and not record_at(log, follows, len(log)):
            follows = log.find(BEGIN, follows + 1)
        lost = was_complete or (follows >= 0 and not excuses)
    cut = not lost and (fit == "beyond" or (torn and not excuses and not has_writer))
    misleads = fits and not lost and entries != known[: len(entries)]
    if not fits and not lost:
        entries, covered, fits = known, at, True
    lost = lost or unsound is not None
    led_to = []  # (number of its first block, its blocks, whether they are all)
    for entry, end in zip(entries, [one[0] for one in entries[1:]] + [covered]) if fits else ():
        one = record_at(log, entry[0], end)
        is_good = one and one.is_sound and one.end == end
        led_to.append((entry[1], one.blocks if one and one.end == end else [], is_good))
    at = covered
    while led_to and (one := record_at(log, at, len(log))):
        led_to.append((one.first, one.blocks, one.is_sound))
        at = one.end
    return Found(chain, [one for _, one in records], lost, cut, led_to, misleads)


# --- what a chain of payments comes to ---


class Ledger:
    def __init__(self):
        self.accounts, self.total = {}, [0, 0, 0, 0]  # number, time, payments, issued

    def apply(self, block):
        """Whether the rules take it; if not, nothing is changed."""
        number, time, transactions = block
        accounts, total = {k: list(v) for k, v in self.accounts.items()}, list(self.total)
        for kind, *values in (one for part in transactions for one in part):
            if kind == "account_create":
                accounts[values[0]] = [values[1], 0, 0]
                total[3] += values[1]
                continue
            source, target, amount = values
            if source not in accounts or target not in accounts or accounts[source][0] < amount:
                return False
            accounts[source][0] -= amount
            accounts[target][0] += amount
            accounts[source][1] += 1
            accounts[target][2] += 1
            total[2] += 1
        self.accounts, self.total = accounts, [number, time, *total[2:]]
        return True


class BlockLog:
    """Steps: damage of one kind each, to the log, its index or its mark; replays."""

    ACCOUNTS = 6

    def __init__(self, folder):
        self.folder = folder
        self.known = {}  # encoded block -> block
        self.digests = {}  # what a ledger says -> digest
        rng = random.Random(5)
        self.good = self._records(self._chain(rng, 36, []), rng)
        own = [one for record in self.good[:4] for one in record]
        self.other = self.good[:4] + self._records(self._chain(rng, 20, own)[len(own) :], rng)

    def _chain(self, rng, count, blocks):
        blocks = list(blocks)
        number = blocks[-1][0] if blocks else 100
        while len(blocks) < count:
            number += rng.choice((1, 1, 1, 3))
            parts = [[self._payment(rng) for _ in range(rng.randint(1, 2))]
                     for _ in range(rng.randint(1, 3))]  # fmt: skip
            if not blocks:
                parts = [[("account_create", f"user{i}", 1000)] for i in range(self.ACCOUNTS)]
            blocks.append((number, 3 * number, parts))
        return blocks

    def _payment(self, rng, amount=None):
        source, target = rng.sample(range(self.ACCOUNTS), 2)
        return ("payment", f"user{source}", f"user{target}", amount or rng.randint(1, 9))

    def _records(self, blocks, rng):
        records = []
        while blocks:
            many = rng.randint(1, 4)
            records.append(blocks[:many])
            blocks = blocks[many:]
        return records

    def _encode(self, block):
        number, time, parts = block
        encoded = block_logs.encode_block(
            (number, time, [[payments(kind, *values) for kind, *values in one] for one in parts])
        )
        self.known[encoded] = block
        return encoded

    def _record(self, blocks, count=0, last=0, order=1):
        content = b"".join(text(self._encode(one)) for one in blocks[::order])
        return block_logs.record_of(content, len(blocks) + count, blocks[0][0], blocks[-1][0] + last)

    def _log(self, records, chain="payments"):
        return block_logs.header(chain) + b"".join(map(self._record, records))

    # --- steps ---

    LOG = ("cut", "cut", "cut at", "cut at", "flip", "flip", "zero", "insert", "repeat", "swap", "drop",
           "forge", "forge", "append", "append", "grow", "grow", "whole", "other", "chain", "made")  # fmt: skip
    BESIDE = ("index gone", "index of other", "index older", "index flipped", "index wrong", "index",
              "mark gone", "mark", "mark", "mark flipped", "mark copied", "mark of other", "mark beyond", "mark folder")  # fmt: skip
    FORGED = ("count", "last", "order", "poor", "paid otherwise", "stranger", "later")

    def sequence(self, random):
        steps = []
        for _ in range(random.randint(2, 12)):
            kind = random.choice(random.choice((self.LOG, self.BESIDE, ("replay", "replay", "stop", "kill",
                                                                       "good", "anew", "locked"))))  # fmt: skip
            if kind == "forge":
                kind = "forge " + random.choice(self.FORGED)
            steps.append((kind, round(random.random(), 4), round(random.random(), 4)))
        return steps

    def play(self, steps, folder):
        self.log, self.state = folder / "log", folder / "state"
        self.index, self.mark = folder / "log.index", folder / "log.synced"
        self.applied, self.states, self.whole = [], 0, folder / "whole"
        self.log.write_bytes(self._log(self.good[:8]))
        self.whole.write_bytes(self._log(self.good))
        for step in [*steps, ("replay", 0, 0), ("good", 0, 0)]:
            self.at = f"at step {step}"
            kind, a, b = step
            if kind.split()[0] in ("index", "mark"):
                self._beside(kind, a, b)
            elif kind in ("replay", "stop", "kill", "good", "locked"):
                self._replay(kind, a, b)
            elif kind == "anew":
                self.states += 1
                self.applied, self.state = [], folder / f"state{self.states}"
            else:
                self._damage(kind, a, b)
                self._look()

    def _places(self, log):
        """Where records begin, as far as their lengths lead, and where they end."""
        places = [HEADER_BYTES]
        while one := record_at(log, places[-1], len(log)):
            places.append(one.end)
        return places

    def _damage(self, kind, a, b):
        log = self.log.read_bytes()
        places = self._places(log)
        at, to = int(a * len(log)), int(b * len(log))
        i, j = int(a * (len(places) - 1)), int(b * len(places))
        here = places[i : i + 2] if len(places) > 1 else [len(log)] * 2
        one = log[here[0] : here[-1]]
        if kind == "cut":
            log = log[:at] if b < 0.8 else log[: max(at, len(log) - 60)]
        elif kind == "cut at":
            log = log[: max(0, places[j] + (-1, 0, 0, 1, 16, 32, 47, 48)[int(a * 8)])]
        elif kind == "flip" and log:
            log = log[:at] + bytes([log[at] ^ 1 << int(b * 8)]) + log[at + 1 :]
        elif kind == "zero":
            log = log[:at] + bytes(min(to, len(log) - at)) + log[at + to :]
        elif kind == "insert":
            log = log[:at] + log[to : to + 200] + log[at:]
        elif kind == "repeat":
            log = log[: places[j]] + one + log[places[j] :]
        elif kind == "swap" and i + 2 < len(places):
            log = log[: here[0]] + log[here[1] : places[i + 2]] + one + log[places[i + 2] :]
        elif kind == "drop":
            log = log[: here[0]] + log[here[-1] :]
        elif kind.startswith("forge") and (of := record_at(log, here[0], len(log))) and of.is_sound:
            log = log[: here[0]] + self._forged(kind[6:], of, b) + log[here[1] :]
        elif kind == "append":
            junk = (random.Random(a).randbytes(int(b * 300)), bytes(int(b * 300)), log[:200],
                    self._record(self.good[-1])[: int(b * 90)], BEGIN * int(b * 50),
                    self._record([(9000, 27000, [])])[1:])  # fmt: skip
            log += junk[int(a * len(junk))]
        elif kind == "grow":
            last = (record_at(log, places[-2], len(log)) if len(places) > 1 else None)
            more = [one for one in self.good if not last or one[0][0] > last.last]
            log += b"".join(map(self._record, more[: 1 + int(a * 5)]))
        elif kind in ("whole", "other"):
            log = self._log((self.good if kind == "whole" else self.other)[: 1 + int(a * 20)])
        elif kind == "chain":
            log = block_logs.header(("payments", "payment", "Payments")[int(a * 3)]) + log[64:]
        elif kind == "made":
            return self._made(a, b)
        self.log.write_bytes(log)  # the same inode

    def _forged(self, how, of, b):
        blocks = [self.known[one] for one in of.blocks]
        if how in ("count", "last"):
            return self._record(blocks, **{how: 1 if b < 0.5 or len(blocks) < 2 else -1})
        if how == "order" and len(blocks) > 1:
            return self._record(blocks, order=-1)
        at = int(b * len(blocks))
        number, time, parts = blocks[at]
        rng = random.Random(b)
        more = {"poor": self._payment(rng, 10**6), "paid otherwise": self._payment(rng, 1),
                "stranger": ("payment", "nobody", "user1", 1)}.get(how)  # fmt: skip
        blocks[at] = (number, time, parts + [[more]]) if more else (number, time + 1, parts)
        return self._record(blocks)

    def _made(self, a, b):
        """By a verb, of what is there; what it saves is what the reader in Python has."""
        found, to = found_in(self.log), self.log.with_name("made")
        all_of = [one for record in found.records for one in record.blocks]
        if not all_of or found.misleads:
            return
        numbers = sorted((number_of(all_of[int(a * len(all_of))]), number_of(all_of[int(b * len(all_of))])))
        verb = ("salvage", "trim", "trim") [int(b * 3)]
        cut = ["--from", number_of(all_of[0]), "--stop-at", numbers[1]] if verb == "trim" else []
        result = call(driver(), "block-log", verb, self.log, "--to", to, *cut)
        if found.lost and verb == "trim" and result.code != 0:
            return require(not to.exists(), f"{self.at}: made of a damaged log\n{result}")
        require(result.code == 0 or not found.records[-1].is_sound, f"{self.at}: is not made\n{result}")
        if result.code == 0:
            kept = [one for record in found.records if record.is_sound for one in record.blocks]
            kept = kept if verb == "salvage" else [one for one in all_of if number_of(one) <= numbers[1]]
            made = [one for record in found_in(to).records for one in record.blocks]
            require(made == kept, f"{self.at}: {len(made)} blocks of {len(kept)} are made\n{result}")
            for end in ("", ".index", ".synced"):
                with contextlib.suppress(OSError):
                    os.rmdir(f"{self.log}{end}")
                os.replace(f"{to}{end}", f"{self.log}{end}")

    def _beside(self, kind, a, b):
        log = self.log.read_bytes()
        places = self._places(log)
        file = self.index if kind.startswith("index") else self.mark
        raw = file.read_bytes() if file.is_file() else b""
        size = places[int(a * len(places))]
        if file.is_dir():
            file.rmdir()
        if kind.endswith("gone"):
            file.unlink(missing_ok=True)
        elif kind == "index":
            call(driver(), "block-log", "repair-index", self.log)
        elif kind in ("index older", "index of other"):
            aside = self.log.with_name("aside")
            chain = "payments" if b < 0.5 else "social"
            aside.write_bytes(log[:size] if kind == "index older" else self._log(self.other, chain))
            call(driver(), "block-log", "repair-index", aside)
            if (made := aside.with_name("aside.index")).exists():
                os.replace(made, self.index)
        elif kind.endswith("flipped") and raw:
            file.write_bytes(raw[: int(a * len(raw))] + bytes([raw[int(a * len(raw))] ^ 4]) + raw[int(a * len(raw)) + 1 :])
        elif kind == "index wrong" and len(raw) > 64:
            wrong = bytearray(raw[:-8])
            at = 16 + 8 * int(a * ((len(wrong) - 16) // 8))
            wrong[at] = (wrong[at] + (1 if b < 0.5 else 255)) % 256
            file.write_bytes(sealed(bytes(wrong)))
        elif kind == "mark folder":
            file.unlink(missing_ok=True)
            file.mkdir()
        elif kind.startswith("mark") and len(log) >= size >= HEADER_BYTES:
            made = bytearray(block_logs.mark(self.log, size, is_open=b < 0.6)[:-8])
            if kind == "mark copied":
                made[40] ^= 1
            if kind == "mark of other":
                made[16] ^= 1
            if kind == "mark beyond":
                struct.pack_into("<Q", made, 24, len(log) + 1 + int(b * 99))
            file.write_bytes(sealed(bytes(made)))

    # --- what must hold ---

    def _look(self):
        """verify and digest say what the reader in Python says."""
        found = found_in(self.log)
        bad = found.lost or found.cut or found.misleads
        result = call(driver(), "block-log", "verify", self.log, "--json")
        about = f"{self.at}, {found._replace(records=len(found.records), index=None)}"
        require(result.code == (1 if bad else 0), f"{about}: verify ends otherwise\n{result}")
        if found.chain is None:
            return require(str(self.log) in result.err, f"{about}: does not name the log\n{result}")
        said = result.json
        require((said["cut"] is not None) == found.cut or found.lost, f"{about}: cut\n{result}")
        require(said["good"] == (not bad), f"{about}: good\n{result}")
        require((said["lost_count"] > 0) == found.lost, f"{about}: lost\n{result}")
        blocks = [one for record in found.records for one in record.blocks]
        require(found.lost or said["blocks"] == len(blocks), f"{about}: blocks\n{result}")
        result = call(driver(), "block-log", "digest", self.log, "--json")
        if found.lost or found.misleads or not blocks:
            return require(result.code != 0 or not blocks, f"{about}: has a digest\n{result}")
        sums = hashlib.sha256(b"".join(map(text, blocks))).hexdigest()
        require(result.code == 0 and result.json["sha256"] == sums, f"{about}: digest\n{result}")

    def _replay(self, kind, a, b):
        log = self.whole if kind == "good" else self.log
        locked = block_logs.written_by_another(log) if kind == "locked" else contextlib.nullcontext()
        stop = None
        with locked:
            found = found_in(log, kind == "locked")
            blocks = [one for record in found.records for one in record.blocks]
            if kind == "stop" and blocks:
                stop = number_of(blocks[int(a * len(blocks))]) + (-1, 0, 0, 1, 999)[int(b * 5)]
            how = ["replay", "--block-log", log, "--state", self.state, "--archive", "none", "--json",
                   *(["--stop-at", stop] if stop is not None else []), "--threads", 1 + int(b * 3)]  # fmt: skip
            if kind == "kill":
                until_killed(driver().start(*how), 0.1 * a)
                return self._follow(None, self._led_to(found, self._head()) if found.index and (found.lost or found.misleads) else blocks, found)
            result = call(driver(), *how)
        self._judge(result, found, blocks, stop)

    def _judge(self, result, found, blocks, stop):
        """The end of a replay, and what the state is then."""
        head = self._head()
        about = f"{self.at}, {found._replace(records=len(found.records), index=None)}, head {head}"
        if found.lost or found.misleads:
            blocks = self._led_to(found, head) or blocks
        follows = not head or self.applied[-1] in blocks
        more = [one for one in blocks if number_of(one) > head and (stop is None or number_of(one) <= stop)]
        ledger = self._ledger(self.applied)
        taken = next((i for i, one in enumerate(more) if not ledger.apply(self.known[one])), len(more))
        last = number_of(more[-1]) if more else head
        fits = found.chain in ("payments",)
        end = (taken == len(more), not found.lost and not found.misleads)
        if not fits:
            codes = {1, 2}
        elif end[1] and (not follows or (stop is not None and head > stop)):
            codes = {2}
        elif end == (True, True):
            at_end = not blocks or number_of(blocks[-1]) <= last
            codes = {4 if found.cut and at_end and not (stop is not None and stop <= last) else 0}
        elif end[1]:
            codes = {1}
        else:  # what lies before the damage, or behind the place from which on it is read, is good
            codes = {1, 2} if self.is_blocked and stop is None or not found.index else {0, 1, 2, 4}
        require(result.code in codes, f"{about}: not {codes}\n{result}")
        if result.code in (0, 4):
            said = result.json
            require((said["log_cut"] is not None) == (result.code == 4), f"{about}: log_cut\n{result}")
            require(result.code == 0 or str(self.log) in said["log_cut"], f"{about}: which log\n{result}")
        self._follow(result, more[:taken] if follows and fits and result.code != 2 else [], found)

    def _head(self):
        return number_of(self.applied[-1]) if self.applied else 0

    def _ledger(self, blocks):
        ledger = Ledger()
        for one in blocks:
            if not ledger.apply(self.known[one]):
                raise Broken(f"{self.at}: block {number_of(one)} was applied, which the rules refuse")
        return ledger

    def _follow(self, result, more, found):
        """The state is that of the blocks it had, and of the first of those that were to come."""
        if not self.state.exists():
            return require(result is None or result.code in (1, 2), f"{self.at}: no state\n{result}")
        rows = {}
        if not (self.state / "segment").exists():
            return
        dumped = call(inspect(), "dump", self.state)
        require(dumped.code == 0, f"{self.at}: the state cannot be read\n{dumped}\n{result}")
        for line in dumped.json_lines[1:-1]:
            (type, row), = line.items()
            rows.setdefault(type, []).append(row)
        block = (rows.get("applied_block") or [{"number": 0, "blocks": 0, "checksum": 0}])[-1]
        come = [one for one in more if number_of(one) <= block["number"]]
        head = self._head()
        self.applied += [one for one in come if number_of(one) > head]
        ledger = self._ledger(self.applied)
        accounts = [{"id": i, "name": name, "balance": one[0], "sent": one[1], "received": one[2]}
                    for i, (name, one) in enumerate(ledger.accounts.items())]  # fmt: skip
        says = f"{self.at}: the state is not that of {len(self.applied)} blocks\n{dumped}\n{result}"
        require(block["blocks"] == len(self.applied), says)
        require(rows.get("account", []) == accounts, says)
        total = (rows.get("global") or [dict.fromkeys(("head_number", "head_time", "payments", "issued"), 0)])[0]
        require([total[one] for one in ("head_number", "head_time", "payments", "issued")] == ledger.total, says)
        if result is not None and result.code in (0, 4):
            require(len(come) == len(more) or found.lost or found.misleads, says)
            said = result.json
            expected = (block["number"], len(self.applied))
            require((said["head"], said["blocks"]) == expected, f"{self.at}: {expected}\n{result}")
            content = repr((accounts, ledger.total))
            digest = self.digests.setdefault(content, said["state_digest"])
            require(digest == said["state_digest"], f"{self.at}: {digest} before\n{result}")

    def _led_to(self, found, head):
        """The blocks that a reader comes to by the index, who stands at one of them."""
        blocks, self.is_blocked = [], False
        for first, of, is_good in found.index:
            blocks += of
            self.is_blocked = not is_good and first > head
            if self.is_blocked:
                break
        return blocks
