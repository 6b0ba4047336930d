"""What is left of a state when the machine loses its memory: checkpoints and redo log, altered, cut,
removed, exchanged, of an older time, of another state; again and again."""

import re
import shutil

import segment
import surface
from surface import inspect, require

RESTORED = re.compile(r"restored checkpoint (\d+) of revision (\d+) and (\d+) blocks")


class Checkpoint:
    """Kills, losses, and damage to published.0, published.1 and pages."""

    FILES = ("published.0", "published.1", "pages", "redo")
    LEVELS = ("checkpoint", "commit")

    def __init__(self, folder):
        self.chain = surface.Chain(folder)
        self.other = folder / "other"
        self.chain.kill("sync", self.other, 0.2, *often("commit"))

    def sequence(self, random):
        def step():
            kind = random.choices(
                ["killed", "stopped", "lose", "alter", "cut", "remove", "exchange", "keep", "put_back",
                 "foreign", "splice", "repair"],
                [4, 2, 5, 4, 2, 1, 1, 2, 3, 1, 2, 1],
            )[0]  # fmt: skip
            file, at = random.choice(self.FILES), random.random()
            match kind:
                case "killed" | "stopped":
                    verb = random.choice(["replay", "sync", "sync"])
                    return (kind, verb, random.choice(self.LEVELS), at)
                case "lose":
                    return ("lose", random.choice(["segment", "boot"]))
                case "alter":
                    how = random.choice(["flip", "zero", "noise"])
                    return ("alter", file, random.random(), at, how)
                case "cut":
                    return ("cut", file, random.random(), at)
                case "remove" | "foreign":
                    return (kind, file, at)
                case "put_back":
                    return ("put_back", at, random.choice(["all", file, file, "redo"]))
                case "splice":
                    how = random.choice(["repeat", "shift", "join"])
                    return ("splice", random.random(), at, how)
                case _:
                    return (kind,)

        first = [("killed", "sync", random.choice(self.LEVELS), 0.3 + 0.7 * random.random())]
        return first + [step() for _ in range(random.randint(2, 11))]

    def play(self, steps, folder):
        state = State(self, folder)
        for kind, *rest in steps:
            getattr(state, kind)(*rest)
        state.finish()


class Redo(Checkpoint):
    """The same, and most of the damage is to the redo log."""

    FILES = ("redo", "redo", "redo", "redo", "published.0", "published.1", "pages")
    LEVELS = ("commit", "commit", "checkpoint")


def often(level):
    return ("--durability", level, "--checkpoint-interval", "0.03")


class State:
    """`promised`: the revision that a restore comes to, while no file of it was altered; `floors`:
    of each publication alone, as long as pages and itself are whole."""

    def __init__(self, of, folder):
        self.chain, self.other = of.chain, of.other / "checkpoint"
        self.path, self.kept = folder / "state", folder / "kept"
        self.folder = self.path / "checkpoint"
        self.altered = set()
        self.before = None

    def inspect(self, verb, *more):
        return surface.call(inspect(), verb, self.path, *more)

    def files(self, name):
        return sorted(self.folder.glob(name + "*")) if self.folder.is_dir() else []

    def chosen(self, name, which):
        files = self.files(name)
        return files[int(which * len(files))] if files else None

    # --- runs ---

    def killed(self, verb, level, fraction):
        self.go(lambda: self.chain.kill(verb, self.path, 0.05 + fraction * 0.25, *often(level)))

    def stopped(self, verb, level, fraction):
        stop = ("--stop-at", 1 + int(fraction * self.chain.blocks))
        self.go(lambda: self.chain.run(verb, self.path, *stop, *often(level)))

    def go(self, run):
        """Runs it, and looks at what it restored."""
        least, lost = self.least(), self.has_lost()
        result = run()
        found = RESTORED.search(result.err)
        require(not (found and lost) or "they had been synced" in result.err,
                f"does not say that blocks are lost, as check does\n{result}")  # fmt: skip
        if found and least is not None:
            revision = int(found[2]) + int(found[3])
            require(revision >= least or self.says_less(result),
                    f"restored {revision} of {least}, and does not say why\n{result}")  # fmt: skip
        is_refusal = result.code not in (0, -9) and "to stop at" not in result.err
        require(not (is_refusal and least is not None), f"could be restored to {least}\n{result}")
        if result.code in (0, -9) or found:
            self.altered, self.before = set(), None
        if result.code == 0:
            said = self.inspect("info", "--json").json
            newest = said["checkpoints"][0]["revision"]
            require(newest == said["log"]["revision"], f"closed without a checkpoint\n{result}")
        return result

    def has_lost(self):
        """Whether blocks are lost that had been synced, by what check says."""
        return self.altered == {"redo"} and self.inspect("check", "--checkpoint").code == 4

    def says_less(self, result):
        return bool(self.altered) and any(
            word in result.err for word in ("damaged", "not whole", "missing", "checksum", "another")
        )

    def look(self):
        """What can be restored, before anything is altered."""
        if self.before is None and self.folder.is_dir() and not self.altered:
            said = self.inspect("check", "--checkpoint", "--json")
            self.before = said.json if said.code == 0 and said.out else None

    def least(self):
        """The revision that opening comes to at least; None: not known to come to any."""
        self.look()
        if self.before is None:
            return None
        found = {one["generation"]: one["revision"] for one in self.before["publications"]}
        if not self.altered and found:
            return max(found.values()) + self.before["blocks"]
        names = {one.split(".")[0] for one in self.altered}
        if names <= {"redo"} and found:
            return max(found.values())
        if self.altered in ({"published.0"}, {"published.1"}) and len(found) == 2:
            return min(found.values())
        return None

    def lose(self, how):
        if not (self.path / "segment").is_dir():
            return
        self.look()
        if not self.files("published"):
            return
        if how == "segment":
            shutil.rmtree(self.path / "segment")
        else:
            segment.restart_the_machine(self.path)

    # --- damage ---

    def damage(self, file):
        """Whether there is such a file, which is altered now."""
        self.look()
        if file is not None:
            self.altered.add(file.name if file.name in ("published.0", "published.1") else
                             file.name.split(".")[0])  # fmt: skip
        return file is not None

    def alter(self, name, which, at, how):
        file = self.chosen(name, which)
        if not self.damage(file) or not file.stat().st_size:
            return
        data = file.read_bytes().rstrip(b"\0") or b"\0"
        place = int(at * len(data))
        if how == "flip":
            segment.flip_bit(file, 8 * place + int(at * 997) % 8)
        else:
            fill = bytes(64) if how == "zero" else bytes(range(1, 65))
            segment.write_at(file, place, fill[: len(data) - place])

    def cut(self, name, which, at):
        file = self.chosen(name, which)
        if self.damage(file):
            segment.cut(file, int(at * len(file.read_bytes().rstrip(b"\0"))))

    def remove(self, name, which):
        file = self.chosen(name, which)
        if self.damage(file):
            file.unlink()

    def exchange(self):
        """The names of the publications say nothing: the newer one has the larger generation."""
        files = self.files("published")
        if len(files) == 2:
            self.look()
            files[0].rename(self.folder / "aside")
            files[1].rename(files[0])
            (self.folder / "aside").rename(files[1])
            swap = {"published.0": "published.1", "published.1": "published.0"}
            self.altered = {swap.get(one, one) for one in self.altered}

    def keep(self):
        if self.folder.is_dir():
            number = len(list(self.kept.iterdir())) if self.kept.is_dir() else 0
            shutil.copytree(self.folder, self.kept / str(number))

    def put_back(self, which, name):
        kept = sorted(self.kept.iterdir()) if self.kept.is_dir() else []
        if not kept or not self.folder.is_dir():
            return
        self.take(kept[int(which * len(kept))], "" if name == "all" else name, replace=name == "all")

    def foreign(self, name, _which):
        if self.folder.is_dir():
            self.take(self.other, name, replace=False)

    def take(self, source, name, replace):
        self.look()
        self.altered |= {"pages", "published.0", "published.1", "redo"}
        if replace:
            shutil.rmtree(self.folder)
            shutil.copytree(source, self.folder)
            return
        for file in source.glob(name + "*"):
            shutil.copy(file, self.folder / file.name)

    def splice(self, which, at, how):
        """Parts of redo files behind each other, or twice."""
        file = self.chosen("redo", which)
        if not self.damage(file):
            return
        data = file.read_bytes().rstrip(b"\0")
        place = 64 + int(at * max(len(data) - 64, 0))
        other = self.chosen("redo", at).read_bytes().rstrip(b"\0")
        parts = {"repeat": data[:place] + data[64:], "shift": data[:64] + data[place:],
                 "join": data[:place] + other[64:]}  # fmt: skip
        file.write_bytes(parts[how])

    # --- ways out ---

    def repair(self):
        if self.path.is_dir():
            self.inspect("repair", "--yes")

    def finish(self):
        """To the end: as it is, repaired, or made anew."""
        for way_out in (lambda: None, self.repair, lambda: shutil.rmtree(self.path)):
            way_out()
            result = self.go(lambda: self.chain.run("replay", self.path))
            if result.code == 0:
                return self.chain.require_whole(result)
        raise surface.Broken(f"not even a new state\n{result}")
