"""What an operator does with the folders of states: copies of a state that runs, was killed or is
closed, put back, mixed, moved, linked, opened beside the original. TMPDIR says on which disk."""

import itertools
import shutil
import signal
import subprocess
import time

import surface
from surface import inspect, require

PATIENCE = 30
PARTS = ("segment", "checkpoint", "archive")


class Snapshot:
    def __init__(self, folder):
        self.chain = surface.Chain(folder, 100_000)

    def sequence(self, random):
        kinds = {"start": 6, "pause": 2, "kill": 3, "close": 2, "copy": 8, "put_back": 3, "mix": 2,
                 "open": 3, "claim": 2, "rename": 1, "link": 1, "look": 1}  # fmt: skip

        def step(kind=None):
            kind = kind or random.choices(list(kinds), list(kinds.values()))[0]
            which, how = random.random(), random.random()
            match kind:
                case "start":
                    verb = random.choice(["replay", "sync"])
                    return ("start", verb, random.choice(["process", "checkpoint", "commit"]), how)
                case "close":
                    return ("close", how)
                case "copy":
                    way = random.choice(["cp -r", "cp -a", "slowly", "segment first", "tar"])
                    return ("copy", which, way)
                case "put_back":
                    return ("put_back", which, random.choice(["over", "over", "instead", *PARTS]))
                case "mix":
                    return ("mix", which, how, random.getrandbits(30))
                case "open":
                    return ("open", which, random.choice(["end", "end", "part", "kill"]), how)
                case _:
                    return (kind, which)

        memory = random.random() < 0.3
        first = [("place", int(memory)), step("start"), step("copy")]
        return first + [step() for _ in range(random.randint(2, 9))]

    def play(self, steps, folder):
        states = States(self.chain, folder)
        try:
            for kind, *rest in steps:
                getattr(states, kind)(*rest)
            states.finish()
        finally:
            states.kill()


class Copy:
    """A folder that is a copy, or was overwritten by one. `is_quiet`: nobody wrote while it was made,
    so it may be claimed; `is_whole`: or it went on by itself since, so it may be rolled back."""

    def __init__(self, path, is_quiet, is_whole):
        self.path, self.is_quiet, self.is_whole = path, is_quiet, is_whole
        self.is_mixed = False  # pages of two times may be in a segment that opens


class States:
    def __init__(self, chain, folder):
        self.chain, self.folder = chain, folder
        self.path = folder / "state"  # the original
        self.copies, self.numbers = [], itertools.count()
        self.running, self.is_paused = None, False
        self.is_overwritten = self.is_mixed = False  # files of the original were put back
        self.options = ()

    def place(self, in_memory):
        if in_memory:
            (self.folder / "memory").mkdir()
            self.options = ("--memory-folder", self.folder / "memory")

    # --- the original ---

    def is_at_work(self):
        return self.running is not None and self.running.is_running

    def start(self, verb, level, seconds):
        if self.is_at_work() or self.is_overwritten:
            return
        if self.options and level == "process":
            level = "checkpoint"
        more = ("--durability", level, "--checkpoint-interval", "0.04", *self.options)
        self.running, self.is_paused = self.chain.start(verb, self.path, *more), False
        time.sleep(0.03 + 0.2 * seconds)

    def pause(self, _which):
        if self.is_at_work():
            self.running.signal(signal.SIGSTOP)
            self.is_paused = True

    def kill(self, _which=None):
        if self.is_at_work():
            self.running.kill()
        self.running, self.is_paused = None, False

    def close(self, seconds):
        """Its writer is asked to end."""
        if self.is_at_work():
            self.running.signal(signal.SIGCONT)
            time.sleep(seconds * 0.1)
            ended = surface.orderly_wait(self.running, signal.SIGINT, PATIENCE)
            require(ended.code in (0, 3, -2), f"interrupted\n{ended}")
        self.running, self.is_paused = None, False

    def rename(self, _which):
        """There and back, as a mistake that was noticed."""
        if not self.is_at_work() and self.path.is_dir():
            self.path.rename(self.folder / "moved")
            self.inspect("info", self.folder / "moved")
            (self.folder / "moved").rename(self.path)

    # --- copies ---

    def all(self):
        made = [self.path] if self.path.is_dir() and not self.is_overwritten else []
        return made + [one.path for one in self.copies]

    def copy(self, which, way):
        found = self.all()
        if not found:
            return
        source = found[int(which * len(found))]
        target = self.folder / f"copy{next(self.numbers)}"
        is_quiet = not (source == self.path and self.is_at_work() and not self.is_paused)
        is_quiet &= all(one.is_quiet for one in self.copies if one.path == source)
        try:
            self.copy_by(way, source, target)
        except (OSError, shutil.Error, subprocess.CalledProcessError) as failed:
            require(not is_quiet, f"cannot be copied: {failed}")  # else files went meanwhile
            shutil.rmtree(target, ignore_errors=True)
            return
        is_quiet &= not self.options  # the segment is elsewhere
        self.copies.append(Copy(target, is_quiet, is_quiet))
        self.copies[-1].is_mixed = any(one.is_mixed for one in self.copies if one.path == source)

    def copy_by(self, way, source, target):
        if way in ("cp -r", "cp -a"):
            subprocess.run([*way.split(), source, target], check=True, capture_output=True)
            target.chmod(0o700)
            subprocess.run(["chmod", "-R", "go=", target], check=True)
        elif way == "tar":
            target.mkdir(mode=0o700)
            tar = f"tar -C '{source}' -c . | tar -C '{target}' -x"
            subprocess.run(["bash", "-o", "pipefail", "-c", tar], check=True, capture_output=True)
        else:
            names = sorted(source.rglob("*"), key=lambda one: way == "slowly" or "segment" not in str(one))
            target.mkdir(mode=0o700)
            for one in names:
                to = target / one.relative_to(source)
                if one.is_dir():
                    to.mkdir(mode=0o700, parents=True, exist_ok=True)
                else:
                    to.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    shutil.copy(one, to)
                    time.sleep(0.002)

    def link(self, which):
        """By hard links, and looked at."""
        target = self.folder / "links"
        if self.is_at_work() or not self.path.is_dir() or self.is_overwritten:
            return
        subprocess.run(["cp", "-al", self.path, target], check=True)
        for verb in ("info", "digest", "check"):
            self.inspect(verb, target)
        shutil.rmtree(target)

    def chosen(self, which):
        return self.copies[int(which * len(self.copies))] if self.copies else None

    def look(self, which):
        for one in self.all():
            self.inspect("info", one)
            self.inspect("stat", one)

    def put_back(self, which, how):
        """A copy comes back over the state, in its place, or a part of it does."""
        one = self.chosen(which)
        if one is None or not self.path.is_dir():
            return
        self.kill()
        self.is_overwritten = True
        self.is_mixed |= one.is_mixed
        if how == "instead":
            shutil.rmtree(self.path)
            shutil.copytree(one.path, self.path)
        elif how == "over":
            shutil.copytree(one.path, self.path, dirs_exist_ok=True)
        elif (one.path / how).is_dir():
            shutil.copytree(one.path / how, self.path / how, dirs_exist_ok=True)

    def mix(self, which, other, bits):
        """As an rsync that was cut off: files of two times."""
        one, into = self.chosen(which), self.chosen(other)
        if one is None or one is into:
            return
        into.is_quiet, into.is_mixed = False, True
        files = sorted(two for two in one.path.rglob("*") if two.is_file())
        for number, file in enumerate(files):
            to = into.path / file.relative_to(one.path)
            if bits >> number % 30 & 1 and to.parent.is_dir():
                shutil.copy(file, to)

    # --- opening them ---

    def inspect(self, verb, path, *more):
        return surface.call(inspect(), verb, path, *more)

    def open(self, which, how, fraction):
        """A copy goes on, also while the original runs."""
        one = self.chosen(which)
        if one is None or not self.is_sound(one):
            return
        if how == "kill":
            self.require_not_torn(self.chain.kill("replay", one.path, 0.03 + 0.2 * fraction), one)
        elif how == "part":
            self.open_one(one, "--stop-at", 1 + int(fraction * self.chain.blocks))
        else:
            self.open_one(one)

    def is_sound(self, one):
        """Opening does not read the pages of a closed state: what check finds of a mixture is not
        opened, and the rest is compared with the checkpoint that closing made."""
        if not one.is_mixed:
            return True
        result = self.inspect("check", one.path, "--json")
        one.is_mixed = result.code != 0 or result.json["not_checked"] != 0
        return result.code == 0

    def require_not_torn(self, result, one):
        torn = "rolled back" in result.err and not one.is_whole
        require(not torn, f"a copy of a running state was rolled back\n{result}")
        one.is_whole |= result.code == 0 or "restored checkpoint" in result.err
        is_orderly = result.code != 2 and "The state stays at block" not in result.err
        is_fine = is_orderly or "to stop at" in result.err or one.is_mixed
        require(is_fine, f"opened, and then not what the log goes on from\n{result}")

    def open_one(self, one, *more):
        foreseen = self.inspect("info", one.path, "--json")
        does = foreseen.json["next_opening"]["does"] if foreseen.code == 0 else "refuse"
        result = self.chain.run("replay", one.path, *more)
        self.require_not_torn(result, one)
        if result.code == 0 and not more and not one.is_mixed:
            self.chain.require_whole(result)
        require(does != "refuse" or result.code, f"info foresaw a refusal\n{result}")
        is_restored = "restored checkpoint" in result.err
        require(result.code or (does == "restore") == is_restored, f"info foresaw {does}\n{result}")
        return result

    def claim(self, which):
        one = self.chosen(which)
        if one is not None and one.is_quiet:
            self.claim_one(one)

    def claim_one(self, one):
        """`repair --from copy`, of what nobody wrote while it was copied."""
        self.inspect("repair", one.path, "--from", "copy", "--yes")
        self.chain.require_whole(self.open_one(one))

    def finish(self):
        """The original is unharmed, and each copy goes on to the digest or is refused with what to
        do next, which leads there."""
        self.kill()
        if not self.is_overwritten:
            self.chain.require_whole(self.chain.run("replay", self.path, *self.options))
        elif self.path.is_dir():
            self.copies.append(Copy(self.path, False, True))
            self.copies[-1].is_mixed = self.is_mixed
        for one in self.copies:
            if self.is_sound(one) and self.open_one(one).code == 0:
                continue
            if one.is_quiet:
                self.claim_one(one)
                continue
            self.inspect("repair", one.path, "--yes")
            if not self.is_sound(one) or self.open_one(one).code != 0:
                shutil.rmtree(one.path)
                self.chain.require_whole(self.chain.run("replay", one.path))
