"""The RocksDB folder of a state with an archive: files removed, cut, flipped, exchanged with those of
other states or other times, links and folders in their place, while replays go on and are killed."""

import os
import random
import re
import shutil

import conftest
from kills import until_killed
from surface import call, driver, inspect, require

STOPS = 5  # reference states, the last one of the whole log
MIX = "comment=40,vote=30,transfer=20,claim=10,comment_delete=10"
NOT_THERE = re.compile(r"no comment has ")



class Archive:
    """Steps: damage of one kind each; replays to a next block, killed ones; looks; the good archive
    put back. `stop` is the reference that the state stands at, None after a kill."""

    def __init__(self, folder):
        self.folder, self.log = folder, folder / "log"
        self.states, self.digests, self.numbers = [], [], []
        made = driver().json("generate", "--operations", 12000, "--mix", MIX, "--cash-out-percent", 1, "--accounts", 200,
                             "--transactions-per-block", 8, "--paid-percent", 100, "--to", self.log)  # fmt: skip
        driver()("generate", "--operations", 12000, "--seed", 7, "--mix", MIX, "--cash-out-percent", 1, "--accounts", 200,
                 "--transactions-per-block", 8, "--paid-percent", 100, "--to", folder / "other.log")  # fmt: skip
        state = folder / "state"
        for number in range(1, STOPS + 1):
            stop = made["blocks"] * (number + STOPS) // (2 * STOPS)  # nothing is finished early
            driver()("block-log", "trim", self.log, "--to", folder / f"log{number}", "--stop-at", stop)
            # To the end of a log, where all that is finished is handed over.
            said = driver().json("replay", "--block-log", folder / f"log{number}", "--state", state)
            self.states.append(shutil.copytree(state, folder / f"state{number}"))
            self.digests.append(said["state_digest"])
            self.numbers.append(stop)
        driver()("replay", "--block-log", folder / "other.log", "--state", folder / "other")
        self.sources = [self.states[0], self.states[1], self.states[-1], folder / "other"]
        dumped = inspect()("dump", self.states[0], "comment", "--archive").json_lines
        self.rows = [one["comment"] for one in dumped if one.get("archived")]
        require(len(self.rows) > 20, f"only {len(self.rows)} objects were archived")
        removed = inspect()("dump", self.states[-1], "comment.removed").json_lines
        gone = {value for one in removed[1:-1] for value in one["comment.removed"].values()}
        self.rows = [one for one in self.rows if one["id"] not in gone]


    DAMAGE = ("remove", "remove", "cut", "cut", "flip", "flip", "flip", "zero", "exchange", "exchange", "exchange",
              "link", "dangling", "folder", "mode", "mark", "current", "extra", "whole", "whole", "gone", "all tables",
              "logs", "manifest")  # fmt: skip
    RUNS = ("go on", "go on", "kill", "kill", "sync", "look", "look", "mend", "older state")

    def sequence(self, random):
        kinds = [random.choice(random.choice((self.DAMAGE, self.RUNS))) for _ in range(random.randint(2, 9))]
        return [(kind, round(random.random(), 4), round(random.random(), 4)) for kind in kinds]

    def play(self, steps, folder):
        self.state, self.archive, self.kept = folder / "state", folder / "state/archive", folder / "kept"
        self.place, self.changed = folder, False
        self._put(1)
        for kind, a, b in [*steps, ("look", 0.3, 0.6), ("go on", 0.99, 0), ("mend", 0, 0), ("go on", 0.99, 0), ("look", 0, 0)]:
            self.at = f"at step {(kind, a, b)}, stop {self.stop}"
            if kind in ("go on", "kill", "sync"):
                self._go_on(kind, a, b)
            elif kind == "look":
                self._look(a, b)
            elif kind == "mend":
                self._mend()
            elif kind == "older state":  # with the archive as it is
                aside = shutil.move(self.archive, folder / "aside") if self.archive.exists() else None
                changed = self.changed
                self._put(int(a * 2))
                if aside:
                    shutil.rmtree(self.archive)
                    shutil.move(aside, self.archive)
                self.changed = changed or not aside
                if not changed:
                    self._keep()
            else:
                self.changed = True
                self._damage(kind, a, b)

    def _put(self, number):
        shutil.rmtree(self.state, ignore_errors=True)
        conftest.copy_of(self.states[number], self.state)
        self.stop = number
        self._keep()

    def _keep(self):
        shutil.rmtree(self.kept, ignore_errors=True)
        shutil.copytree(self.archive, self.kept, symlinks=True)
        self.kept_at, self.changed = self._stands(), False

    def _stands(self):
        """What the state says of its blocks, and of what it handed over."""
        return call(inspect(), "dump", self.state, "applied_block", "comment.retired", "comment.removed").bytes

    def _mend(self):
        """The good archive in its place, if the state is where it was then: it goes on."""
        if self._stands() != self.kept_at:
            return
        shutil.rmtree(self.archive, ignore_errors=True)
        shutil.copytree(self.kept, self.archive, symlinks=True)
        self.changed = False
        self._look(0.5, 0.5)

    # --- damage ---

    def _damage(self, kind, a, b):
        if kind == "whole":
            shutil.rmtree(self.archive, ignore_errors=True)
            # Of this chain: of another one it belongs to another state (archive/lifecycle.md).
            shutil.copytree(self.sources[int(a * 3)] / "archive", self.archive)
        elif kind == "gone":
            shutil.rmtree(self.archive, ignore_errors=True)
        if kind in ("whole", "gone") or not self.archive.is_dir():
            return
        rocksdb = self.archive / "rocksdb"
        files = sorted(one for one in (rocksdb if b < 0.8 else self.archive).glob("*") if one.is_file())
        some = {"all tables": "*.sst", "logs": "*.log", "manifest": "MANIFEST*"}.get(kind)
        for one in rocksdb.glob(some) if some else ():
            one.unlink()
        if some or not files:
            return
        file = files[int(a * len(files))]
        data = file.read_bytes()
        at = int(random.Random(b).random() * len(data))
        if kind == "remove":
            file.unlink()
        elif kind == "cut":
            file.write_bytes(data[:at])
        elif kind == "flip" and data:
            file.write_bytes(data[:at] + bytes([data[at] ^ 1 << int(a * 80) % 8]) + data[at + 1 :])
        elif kind == "zero":
            file.write_bytes(data[:at] + bytes(len(data) - at))
        elif kind == "exchange":
            source = self.sources[int(b * 40) % 4] / "archive" / file.relative_to(self.archive)
            kin = sorted(source.parent.glob(f"*{file.suffix}" if file.suffix else file.name.split("-")[0] + "*"))
            if kin:
                file.write_bytes((source if source.exists() else kin[int(a * len(kin))]).read_bytes())
        elif kind in ("link", "dangling", "folder"):
            moved = self.place / f"moved{len(list(self.place.glob('moved*')))}"
            os.replace(file, moved)
            file.mkdir() if kind == "folder" else file.symlink_to(moved if kind == "link" else moved / "no")
        elif kind == "mode":
            file.chmod((0, 0o400, 0o666, 0o777)[int(b * 4)])
        elif kind == "mark":
            number = int(random.Random(a).random() * 5000)
            text = ("", "closed\n", f"{number} closed\n", f"{number} open\n", "-1 open\n", "0 open\n", f"{2**64} closed\n", "0 closed")
            (self.archive / "synced").write_text(text[int(b * 8)]) if not (self.archive / "synced").is_dir() else None
        elif kind == "current":
            (rocksdb / "CURRENT").write_text(("MANIFEST-000099\n", "", "MANIFEST-000005", "../format\n")[int(b * 4)]) \
                if not (rocksdb / "CURRENT").is_dir() else None
        elif kind == "extra":
            (rocksdb / ("000999.sst", "000999.log", "MANIFEST-000999", "note.txt")[int(b * 4)]).write_bytes(data[:at])

    # --- what must hold ---

    def _refused(self, result):
        require(result.code in (1, 2, 4), f"{self.at}: refused by {result.code}\n{result}")
        names = str(self.state) in result.both and "archive" in result.both.replace(str(self.place), "")
        require(names, f"{self.at}: refused without naming the archive\n{result}")
        require(self.changed, f"{self.at}: refused, though the archive is as it was\n{result}")

    def _go_on(self, kind, a, b):
        first = 0 if self.stop is None else self.stop
        stop = min(STOPS - 1, first + int(a * (STOPS + 0.99 - first)))
        if kind == "kill":
            how = ["replay"] if b < 0.5 else ["sync", "--once", "--lag", "3"]
            log = ["--block-log", self.log, "--state", self.state]
            until_killed(driver().start(*how, *log), 0.01 + 0.25 * a * (1 if b < 0.5 else 2))
            self.stop = None
            if not self.changed:
                self._keep()
            return
        if kind == "sync":
            how = ["sync", "--once"]
        else:
            how = ["replay", "--verify"]
        log = ["--block-log", self.log, "--state", self.state, "--stop-at", self.numbers[stop], "--json"]
        result = call(driver(), *how, *log)
        if result.code == 2 and "beyond the block" in result.err:
            return
        if result.code != 0:
            self.stop = self.stop if self._stands() == self.kept_at else None
            return self._refused(result)
        said = result.json
        require(said["head"] == self.numbers[stop], f"{self.at}: stands at {said['head']}\n{result}")
        require(said["state_digest"] == self.digests[stop], f"{self.at}: another digest than {self.digests[stop]}\n{result}")
        self.stop = stop
        if not self.changed:
            self._keep()

    def _look(self, a, b):
        about = f"{self.at}, {'changed' if self.changed else 'as it was'}"
        digest = call(inspect(), "digest", self.state, "--json")
        if digest.code != 0:
            self._refused(digest)
        elif self.stop is not None:
            require(digest.json["digest"] == self.digests[self.stop], f"{about}: another digest\n{digest}")
        told = call(inspect(), "archive", self.state, "--records", "--json")
        if told.code == 0:
            for one in told.json["tables"]:
                require(one["rows"] is not None, f"{about}: good, and was not read\n{told}")
                rows = one["rows"] - one["in_both"] - one["ahead"]
                require(rows >= one["handed_over"], f"{about}: {rows} rows are good\n{told}")
            require(digest.code == 0, f"{about}: good, and has no digest\n{told}\n{digest}")
        else:
            require(told.code in (1, 4), f"{about}\n{told}")
            self._refused(told)
        checked = call(inspect(), "check", self.state)
        require(checked.code != 0 or digest.code == 0, f"{about}: sound, and has no digest\n{checked}\n{digest}")
        require(checked.code == 0 or self.changed, f"{about}: not sound\n{checked}")
        for fraction in (a, b):
            row = self.rows[int(fraction * len(self.rows))]
            for key in (["id", row["id"]], ["by_permlink", row["author"], row["permlink"]]):
                got = call(inspect(), "get", self.state, "comment", *key, "--json")
                if got.code == 0:
                    rows = got.json["rows"] + got.json["archived_rows"]
                    require(rows == [row], f"{about}: {row} is\n{got}")
                    continue
                require(not NOT_THERE.search(got.err), f"{about}: said not to be there: {row}\n{got}")
                self._refused(got)
