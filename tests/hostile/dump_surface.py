"""Dumps whose lines are removed, repeated, reordered, altered, cut and encoded otherwise, and what
`load` makes of them: nothing, or a state that holds exactly what the lines say."""

import json
import random
import re
import struct

import programs
from kills import until_killed
from surface import call, inspect, require

TYPES = "everything,measured,token,marker"
VALUES = [0, -1, 1, 255, 256, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1,
          10**30, 1.5, -0.0, 1e308, 1e39, 3.4028235e38, 5e-324, True, None, "", "a" * 17, "a" * 16, "nul\0", "\u20ac" * 6,
          "x" * 70000, "00ff", "0", "0G", "FF", "nan", "-inf", {"hex": "ff"}, {"hex": "6162"}, {"hex": "6"}, {"hex": "00"},
          [], [1], [0, 0, 0], [-1, 2**31], {}, {"amount": 1}, {"amount": 1, "unit": 2, "fixed": False}]  # fmt: skip
# Each id takes 4 bytes of memory: not as many as there may be.
IDS = [one for one in VALUES if type(one) is not int or one < 2**26 or one >= 2**32]
RAW = [b"9" * 400, b"1e999", b"-0", b"-0.0", b"NaN", b"Infinity", b"1E400", b"01", b"+1", b"0x10", b"1.", b'"\\ud800"',
       b'"\\u0000"', b'"\xff"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b"'a'", b"[" * 3000, b"[" * 3000 + b"]" * 3000,
       b'{"a":' * 3000 + b"1" + b"}" * 3000, b"//", b"1,2", b"tru", b""]  # fmt: skip


def number(text):
    raise ValueError(text)  # NaN and Infinity are no JSON


def parsed(line):
    found = json.loads(line.decode("utf-8"), parse_constant=number)
    json.dumps(found, ensure_ascii=False).encode("utf-8")  # no half characters
    return found


def written(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def as_shown(value):
    """A text has one form only."""
    if isinstance(value, dict) and set(value) == {"hex"}:
        raw = bytes.fromhex(value["hex"])
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return value
    if isinstance(value, dict):
        return {name: as_shown(one) for name, one in value.items()}
    return [as_shown(one) for one in value] if isinstance(value, list) else value


def single(value):
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return None


def same(said, kept):
    if isinstance(kept, dict) and isinstance(said, dict):
        return set(said) == set(kept) and all(same(said[name], kept[name]) for name in kept)
    if isinstance(kept, list) and isinstance(said, list):
        return len(said) == len(kept) and all(map(same, said, kept))
    if type(said) is int and type(kept) is float or type(said) is float and type(kept) is float:
        return said == kept or single(said) == single(kept)
    return type(said) is type(kept) and said == kept


class Dump:
    """Steps: a change of the lines each, loads of what they are then, killed ones, dumps that go on."""

    def __init__(self, folder):
        make = programs.program("sample_state")
        mixed, ids = folder / "mixed", 'create token 5'
        make("make", "damageable", folder / "damageable")
        make("make", "fields", folder / "fields")
        make("do", mixed, TYPES, "everything 7 20", "measured 0.1 -0.0 inf -inf 5e-324 1e-40 3.3", "measured 2.5e38", ids)
        self.states = [folder / "damageable", mixed, folder / "fields"]
        self.dumps = [inspect()("dump", one).bytes.splitlines() for one in self.states]
        self.digests = {}
        for state, lines in zip(self.states, self.dumps):
            content = repr(self._content(lines))
            self.digests[content] = inspect().json("digest", state)["digest"]

    KINDS = ("remove", "repeat", "swap", "value", "value", "value", "raw", "raw", "id", "field gone", "field more",
             "flip", "flip", "cut", "cut line", "encode", "neutral", "neutral",
             "good", "good", "good", "good", "blank", "tail", "head", "head", "key",
             "more", "twin", "other")  # fmt: skip

    def sequence(self, random):
        steps = [("sample", round(random.random(), 4), 0)]
        for _ in range(random.randint(1, 10)):
            kind = random.choice(self.KINDS)
            if random.random() < 0.4:
                kind = random.choice(("load", "load", "load", "kill", "resume", "adopt", "fit", "fit", "anew"))
            steps.append((kind, round(random.random(), 4), round(random.random(), 4)))
        return steps

    def play(self, steps, folder):
        self.folder, self.file, self.loads, self.made = folder, folder / "dump", 0, None
        self.sample, self.lines = 0, list(self.dumps[0])
        for kind, a, b in [*steps, ("fit", 0, 0), ("load", 0, 0), ("good", 0.3, 0.1), ("load", 0, 0)]:
            self.at = f"at step {(kind, a, b)}"
            if kind in ("sample", "anew"):
                self.sample = int(a * 3) if kind == "sample" else self.sample
                self.lines = list(self.dumps[self.sample])
            elif kind == "adopt" and self.made:
                self.lines = call(inspect(), "dump", self.made).bytes.splitlines()
            elif kind in ("load", "kill", "resume"):
                self.file.write_bytes(b"".join(one + b"\n" for one in self.lines))
                getattr(self, "_" + kind)(a, b)
            elif self.lines and kind != "adopt":
                self._change(kind, a, b)

    # --- changes ---

    def _change(self, kind, a, b):
        lines = self.lines
        i, j = int(a * len(lines)), int(b * len(lines))
        line, rng = lines[i], random.Random(a + b)
        if kind in ("remove", "repeat", "twin"):
            lines[i : i + 1] = [] if kind == "remove" else [line, line]
            if kind == "twin":
                self._set(i, lambda row: row.update(id=int(b * 100)))
        elif kind == "swap":
            lines[i], lines[j] = lines[j], lines[i]
        elif kind == "fit":
            self._tail("rows", sum(not one.startswith((b'{"schema', b'{"key"')) for one in lines))
        elif kind == "good":
            self._set(i, lambda row: self._alter(row, rng))
        elif kind == "value":
            self._set(i, lambda row: row.update({rng.choice(list(row)): rng.choice(VALUES)}))
        elif kind == "raw":
            places = list(re.finditer(rb':("[^"]*"|[-0-9.e]+|true|false)', line))
            if places:
                at = rng.choice(places)
                lines[i] = line[: at.start(1)] + rng.choice(RAW) + line[at.end(1) :]
        elif kind == "id":
            self._set(i, lambda row: row.update(id=rng.choice([int(b * 300), 2**26, 2**32 - 1, 2**32])))
        elif kind == "field gone":
            self._set(i, lambda row: row.pop(rng.choice(list(row))))
        elif kind == "field more":
            self._set(i, lambda row: row.update({rng.choice(["more", "id ", "", "Id"]): 1}))
        elif kind == "flip" and line:
            at = int(b * len(line))
            lines[i] = (line[:at] + bytes([line[at] ^ 1 << rng.randrange(8)]) + line[at + 1 :]).replace(b"\n", b" ")
        elif kind == "cut" and b < 0.3:  # between two lines
            self.lines = lines[: int((0.7 + a) * len(lines))][: len(lines) - 1]
        elif kind == "cut":
            self.lines = b"\n".join(lines)[: int((0.7 + 0.3 * a) * len(b"\n".join(lines)))].split(b"\n")
        elif kind == "cut line":
            lines[i] = line[: int(b * len(line))]
        elif kind == "encode":
            text = line.decode("utf-8", "replace")
            lines[i] = rng.choice([text.encode("utf-16"), b"\xef\xbb\xbf" + line, text.encode("latin-1", "replace"),
                                   line + b"\r", line + b" {}", line + b"\0", b"\xfe\xff" + line])  # fmt: skip
        elif kind == "neutral":
            self._neutral(i, rng)
        elif kind == "blank":
            lines.insert(i, rng.choice([b"", b" ", b"{}", b"null", b"[]", b"[" * 100000]))
        elif kind == "tail":
            name = rng.choice(["rows", "revision", "moved", "complete"])
            likely = {"rows": len(lines) - 2, "moved": True}.get(name, 1)
            self._tail(name, likely if rng.random() < 0.5 else rng.choice(VALUES))
        elif kind == "head":
            self._head(rng)
        elif kind == "key":
            self._key(rng)
        elif kind == "more":
            lines.append(rng.choice([b"", b"{}", lines[0], lines[-1], line]))
        elif kind == "other":
            other = self.dumps[(self.sample + 1) % 3]
            lines[i] = other[int(b * len(other))]

    def _set(self, i, change):
        try:
            found = parsed(self.lines[i])
            row = next(iter(found.values()))
            change(row)
            self.lines[i] = written(found)
        except (ValueError, RecursionError, AttributeError, IndexError, StopIteration, TypeError):
            pass  # no row, by now

    def _alter(self, row, rng):
        """A field to another value of its kind."""
        name = rng.choice([one for one in row if one != "id"])
        if type(row[name]) in (int, float, str, bool):
            row[name] = {int: rng.randrange(100), float: rng.random(), str: "0a1b", bool: rng.random() < 0.5}[type(row[name])]

    def _neutral(self, i, rng):
        """The same row in other words."""
        if not self.lines[i].startswith((b'{"key"', b'{"schema')):
            try:
                (type, row), = parsed(self.lines[i]).items()
                names = rng.sample(list(row), len(row))
                self.lines[i] = json.dumps({type: {one: row[one] for one in names}}, ).encode()
            except (ValueError, RecursionError, AttributeError, TypeError):
                pass

    def _tail(self, name, value):
        try:
            self.lines[-1] = written({**parsed(self.lines[-1]), name: value})
        except (ValueError, RecursionError, TypeError):
            pass

    def _head(self, rng):
        def change(head):
            type = rng.choice(head["types"])
            rng.choice([
                lambda: type.update(next_id=rng.choice([0, 1, type["next_id"] - 1, type["next_id"] + 7, *IDS])),
                lambda: head.update(revision=rng.choice(VALUES)),
                lambda: head.update(dump=rng.choice([0, 1, 3, "2", None])),
                lambda: rng.shuffle(head["types"]),
                lambda: head["types"].append(type),
                lambda: head["types"].remove(type),
                lambda: type.update({rng.choice(list(type)): rng.choice(VALUES)}),
                lambda: rng.choice(type["fields"]).update({rng.choice(["offset", "bytes", "type"]): rng.choice(VALUES)}),
                lambda: type["fields"].pop(),
            ])()  # fmt: skip

        try:
            head = parsed(self.lines[0])
            change(head)
            self.lines[0] = written(head)
        except (ValueError, RecursionError, KeyError, TypeError, IndexError, AttributeError):
            pass

    def _key(self, rng):
        for i, line in enumerate(self.lines):
            if line.startswith(b'{"key":'):
                try:
                    found = parsed(line)
                    ids = found["ids"]
                    rng.choice([lambda: ids.pop(), lambda: ids.append(ids[0]), lambda: ids.append(2**32 - 1),
                                lambda: ids.__setitem__(0, ids[-1]), lambda: ids.clear(), lambda: found.pop("ids"),
                                lambda: found.update(key="account.by_name"), lambda: ids.append(5)])()  # fmt: skip
                    self.lines[i] = written(found)
                except (ValueError, KeyError, IndexError, AttributeError, RecursionError):
                    pass

    # --- what must hold ---

    def _content(self, lines):
        """(types, revision, rows by type) of a dump that may be loaded; ValueError for one that may not."""
        head, last, rows = parsed(lines[0]), parsed(lines[-1]), {}
        for line in lines[1:-1]:
            found = parsed(line)
            if "key" in found and "ids" in found:
                continue
            (type, row), = found.items()
            of = rows.setdefault(type, {})
            if row["id"] in of:
                raise ValueError(f"{type} {row['id']} is there twice")
            of[row["id"]] = as_shown(row)
        count = sum(map(len, rows.values()))
        if (last["rows"], last["moved"], last["complete"]) != (count, False, True):
            raise ValueError(f"{count} rows, and a last line {last}")
        for type in head["types"]:  # ids go on behind the highest, whatever is said
            type["next_id"] = max([type["next_id"], *(1 + id for id in rows.get(type["name"], ()))])
        return head["types"], last["revision"], {type: dict(sorted(of.items())) for type, of in rows.items()}

    def _load(self, a, b):
        self.loads += 1
        made = self.folder / f"made{self.loads}"
        result = call(inspect(), "load", made, self.file)
        try:
            content = self._content([one.removeprefix(b"\xef\xbb\xbf") for one in self.file.read_bytes().splitlines()])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, IndexError) as why:
            content = None
            require(result.code != 0, f"{self.at}: loaded, though {why!r}\n{result}")
        unfinished = made.with_name(made.name + ".unfinished")
        require(not unfinished.exists(), f"{self.at}: {unfinished} is left\n{result}")
        if result.code != 0:
            self.lines, refused = list(self.dumps[self.sample]), self.lines
            require(not made.exists(), f"{self.at}: refused and made\n{result}")
            require(result.code == 1, f"{self.at}: not 1\n{result}")
            require(str(self.file) in result.err, f"{self.at}: does not name the file\n{result}")
            require(re.search(r"lines? \d+|types\[|: type ", result.err), f"{self.at}: does not name the line\n{result}")
            whole = content is not None and self._is_as_dumped(refused)
            return require(not whole, f"{self.at}: refused, and is as it was dumped\n{result}")
        self.made = made
        self._compare(content, result)

    def _is_as_dumped(self, lines):
        """Only the words of rows are others."""
        own = self.dumps[self.sample]

        def frame(lines):
            return [one if one.startswith((b'{"schema', b'{"key"')) else
                    json.dumps(parsed(one), sort_keys=True) for one in lines]  # fmt: skip

        try:
            return frame(lines) == frame(own)
        except (ValueError, RecursionError):
            return False

    def _compare(self, content, result):
        dumped = call(inspect(), "dump", self.made)
        require(dumped.code == 0, f"{self.at}: no dump of what was made\n{dumped}")
        types, revision, rows = self._content(dumped.bytes.splitlines())
        require(types == content[0], f"{self.at}: other types\n{types}\n{content[0]}")
        require(revision == content[1], f"{self.at}: revision {revision}, not {content[1]}")
        for type in {*rows, *content[2]}:
            said, kept = content[2].get(type, {}), rows.get(type, {})
            require(list(said) == list(kept), f"{self.at}: other ids of {type}\n{result}")
            for id, row in said.items():
                require(same(row, kept[id]), f"{self.at}: {type} {id}:\n{row}\nis kept as\n{kept[id]}")
        checked = call(inspect(), "check", self.made)
        require(checked.code == 0, f"{self.at}: what was made is not sound\n{checked}")
        digest = call(inspect(), "digest", self.made, "--json").json["digest"]
        before = self.digests.setdefault(repr((types, revision, rows)), digest)
        require(digest == before, f"{self.at}: digest {digest}, and {before} of the same rows")
        for row in list(rows.get("account", {}).values())[:: max(1, len(rows.get("account", {})) - 1)]:
            got = call(inspect(), "get", self.made, "account", "number", str(row["number"]))
            found = call(inspect(), "get", self.made, "account", "id", str(row["id"]), "--json")
            require(found.code == 0, f"{self.at}: account {row} is not found\n{found}\n{got}")

    def _kill(self, a, b):
        self.loads += 1
        made = self.folder / f"made{self.loads}"
        until_killed(inspect().start("load", made, self.file), a * 0.03)
        if made.exists():
            self.made = made
            self._compare(self._content(self.file.read_bytes().splitlines()), "killed")
            return
        self.loads -= 1  # the same name again
        self._load(a, b)

    def _resume(self, a, b):
        """Only what is the beginning of the dump is known to become the dump."""
        whole = b"".join(one + b"\n" for one in self.dumps[self.sample])
        part = self.file.read_bytes()[: int((0.2 + a) * len(whole))]
        self.file.write_bytes(part)
        result = call(inspect(), "dump", self.states[self.sample], "--resume", "--output", self.file)
        after = self.file.read_bytes()
        require(result.code == 0 or part == after, f"{self.at}: refused and changed\n{result}")
        if len(part) > whole.index(b"\n") and whole.startswith(part):
            require(after == whole, f"{self.at}: is not the dump\n{result}")
        self.lines = after.removesuffix(b"\n").split(b"\n")
