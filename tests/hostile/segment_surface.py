"""The segment's files: words altered, files cut, grown, zeroed, swapped and removed, of a state that
is closed, killed or running; then whatever an operator calls."""

import shutil
import signal
import time

import segment
import surface
from surface import inspect, require

PATIENCE = 30
LOOKS = ["info", "stat", "check", "check --checkpoint", "undo", "map", "tree", "schema", "digest",
         "dump", "dump --rescue", "root", "locks", "archive", "repair", "compact --dry-run"]  # fmt: skip
UNLOCKED = ["info", "stat", "map", "schema", "locks", "check --checkpoint"]
# Parts of files. A word of the first two is checked where it is used; so the writer is let go on.
# What is in slots, buffers and log is followed as it is, so there it only goes on if check finds
# nothing (tests/fuzz/README.md, "What opening does not look at").
FOLLOWED = ("hash", "ids")
PARTS = (*FOLLOWED, "objects", "buffers", "undo_log", "root", "header", "catalogue", "readers")
FILES = (*FOLLOWED, "objects", "buffers", "undo_log", "header", "catalogue", "readers")


class Segment:
    def __init__(self, folder):
        self.chain = surface.Chain(folder)
        self.base = folder / "base"
        self.chain.run("replay", self.base, "--stop-at", self.chain.blocks // 2).expect(0)
        self.types = inspect().json("schema", self.base)["types"]

    def sequence(self, random):
        def damage(parts=PARTS):
            how = random.choice(["flip", "flip", "flip", "zero", "ones", "next", "before", "other"])
            part = random.choice((*parts, "hash", "ids"))
            return ("word", part, random.random(), random.random(), how, random.randrange(32))

        def step():
            kind = random.choices(
                ["word", "file", "swap", "go", "kill", "beside", "repair", "look"],
                [9, 2, 1, 2, 3, 2, 2, 2],
            )[0]
            verb, part = random.choice(["replay", "sync"]), random.random()
            match kind:
                case "word":
                    return damage()
                case "file":
                    how = random.choice(["cut", "cut", "grow", "zero", "remove", "empty"])
                    return ("file", how, random.choice(FILES), random.random(), part)
                case "swap":
                    return ("swap", random.choice(FILES[:4]), random.random(), part)
                case "beside":
                    return ("beside", verb, part, *damage(FOLLOWED)[1:])
                case "repair":
                    return ("repair", random.choice(["", "", "objects", "checkpoint"]))
                case "look":
                    return ("look", random.choice(LOOKS))
                case _:
                    return (kind, verb, part)

        return [step() for _ in range(random.randint(2, 12))]

    def play(self, steps, folder):
        state = State(self, folder / "state")
        for kind, *rest in steps:
            getattr(state, kind)(*rest)
        state.finish()


class State:
    """A state that is played with. `rows`: what it held when it was damaged, while it is not known
    to be as it was; `is_wild`: a writer may only go on if check finds nothing."""

    def __init__(self, of, path):
        self.chain, self.types, self.path = of.chain, of.types, path
        shutil.copytree(of.base, path)
        self.rows, self.is_wild = None, False
        self.is_captured = False  # damage may be in the checkpoint, too

    def inspect(self, verb, *more):
        first, *words = verb.split()
        return surface.call(inspect(), first, self.path, *words, *more)

    def look(self, verb):
        self.inspect(verb)

    # --- damage ---

    def files(self, part):
        names = {"header": ["header"], "catalogue": ["catalogue.json"], "readers": ["../readers"],
                 "undo_log": ["undo_log"]}.get(part)  # fmt: skip
        found = [self.path / "segment" / one for one in names or []]
        if not names:
            found = sorted((self.path / "segment").glob("*"))
            ending = {"root": "", "buffers": ""}.get(part, "." + part)
            found = [one for one in found if one.name.endswith(ending)]
            if part == "buffers":
                found = [one for one in found if one.name.startswith(part)]
        return [one for one in found if one.is_file() and one.stat().st_size >= 64]

    def chosen(self, part, which):
        files = self.files(part)
        inner = [one for one in files if one.stat().st_size > segment.PAGE]
        files = inner if part in (*FOLLOWED, "objects", "buffers") else files
        return files[int(which * len(files))] if files else None

    def remember(self, part):
        """What the state holds, before the first damage."""
        if self.rows is None:
            self.rows = self.inspect("dump").expect(0).bytes
        self.is_wild |= part not in (*FOLLOWED, "header", "catalogue", "readers")

    def word(self, part, which, at, how, bit):
        file = self.chosen(part, which)
        if file is None:
            return
        self.remember(part)
        data = bytearray(file.read_bytes())
        page = segment.PAGE if part in ("hash", "ids", "objects", "buffers", "undo_log") else 0
        words = range(page, len(data) - 3, 4) if page else range(0, min(len(data) - 3, 256), 4)
        if not words:
            return
        first = int(at * len(words))
        there = next((one for one in (*words[first:], *words[:first]) if any(data[one : one + 4])), page)
        old = int.from_bytes(data[there : there + 4], "little")
        new = {"flip": old ^ 1 << bit, "zero": 0, "ones": 2**32 - 1, "next": old + 1,
               "before": old - 1, "other": old * 40503 + bit}[how]  # fmt: skip
        segment.write_at(file, there, (new % 2**32).to_bytes(4, "little"))

    def file(self, how, part, which, fraction):
        file = self.chosen(part, which)
        if file is None:
            return
        self.remember("objects" if how == "zero" and part not in FOLLOWED else "ids")
        length = file.stat().st_size
        if how == "remove":
            file.unlink()
        elif how == "zero":
            at = int(fraction * length)
            segment.write_at(file, at, bytes(min(length - at, 8192)))
        else:
            to = {"cut": int(fraction * length), "grow": length + int(fraction * 65536), "empty": 0}
            segment.cut(file, to[how])

    def swap(self, part, one, other):
        a, b = self.chosen(part, one), self.chosen(part, other)
        if a is None or a == b:
            return
        self.remember("objects")
        aside = a.with_suffix(".aside")
        a.rename(aside)
        b.rename(a)
        aside.rename(b)

    # --- what an operator does ---

    def judge(self):
        """Whether a writer may go on. What check calls sound is so by every key, and is what it
        was if it was compared with its checkpoint."""
        if self.rows is None:
            self.is_captured = False
            return True
        result = self.inspect("check", "--json")
        if result.code != 0:
            return not self.is_wild
        said = result.json
        if said["condition"] in ("closed", "writer_died"):
            rows = self.inspect("dump").expect(0).bytes
            self.compare_keys(rows)
            self.is_wild = False
            if rows != self.rows:
                return True
        self.rows, self.is_wild = None, False
        return True

    def compare_keys(self, rows):
        by_type = {}
        for line in rows.splitlines()[1:-1]:
            name = line[2 : line.index(b'"', 2)].decode()
            by_type.setdefault(name, []).append(line[len(name) + 4 : -1])
        for one in self.types:
            for index in one["indexes"]:
                if index["kind"].startswith("hashed"):
                    continue
                call = (one["name"], index["name"], "--limit", "0", "--json")
                found = self.inspect("range", *call).expect(0).bytes.splitlines()[1:-1]
                there = by_type.get(one["name"], [])
                require(sorted(found) == sorted(there), f"sound, but by {call[:2]} others")

    def go(self, verb, fraction):
        self.apply(verb, "--stop-at", 1 + int(fraction * self.chain.blocks))

    def apply(self, verb, *more):
        if not self.judge():
            return None
        refuses = self.inspect("info", "--json").json["next_opening"]["does"] == "refuse"
        before = segment.content(self.path) if refuses else None
        self.is_captured |= self.rows is not None
        result = self.chain.run(verb, self.path, *more)
        is_beyond = result.code == 2 and "to stop at" in result.err
        require(self.rows is not None or result.code == 0 or is_beyond, f"was sound\n{result}")
        if refuses:
            require(result.code != 0, f"info foresaw a refusal\n{result}")
            after = segment.content(self.path)
            changed = [one for one in before if before[one] != after.get(one) and one != "lock"]
            require(not changed, f"refused, and changed {changed}\n{result}")
        return result

    def kill(self, verb, fraction):
        if self.judge():
            self.is_captured |= self.rows is not None
            self.chain.kill(verb, self.path, fraction * 0.2)

    def beside(self, verb, fraction, *word):
        """Damage below a running writer, to what it checks where it uses it."""
        if self.rows is not None:
            return
        running = self.chain.start(verb, self.path)
        time.sleep(0.03 + fraction * 0.2)
        if not running.is_running:
            return
        running.signal(signal.SIGSTOP)
        for one in UNLOCKED:
            self.inspect(one)
        self.rows, self.is_captured = b"", True
        self.word(*word)
        running.signal(signal.SIGCONT)
        try:
            surface.orderly(running.wait(None, PATIENCE))
        except AssertionError as late:
            raise surface.Broken(str(late)) from None

    def repair(self, way=""):
        call = ("--yes", "--json", *(("--from", way) if way else ()))
        result = self.inspect("repair", *call)
        if result.code != 0:
            return
        said = result.json
        if said["repaired"] and not (said["way"] == "checkpoint" and self.is_captured):
            self.inspect("check").expect(0)
            self.is_wild = False
            if said["way"] == "checkpoint":
                self.rows = None
            else:  # what was kept of the objects is the newest checkpoint now
                self.is_captured = True

    def finish(self):
        """To the end, or what else is left: repaired, or made anew."""
        for way_out in (lambda: None, self.repair, lambda: shutil.rmtree(self.path)):
            way_out()
            if not self.path.exists():
                self.rows, self.is_wild = None, False
            is_whole = self.judge() and self.rows is None
            result = self.apply("replay") if self.path.exists() else self.chain.run("replay", self.path)
            if is_whole:
                self.chain.require_whole(result)
            if result is not None and result.code == 0:
                return
