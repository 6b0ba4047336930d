#!/usr/bin/env python3
"""Lists what the programs can do: every verb with its arguments and options, every member of its JSON, and what calls
exit with. `abilities.txt` beside this is that list; test_abilities.py compares, so that nothing is lost unnoticed.

    abilities.py FOLDER_OF_PROGRAMS [--chains FOLDER] > tests/programs/abilities.txt
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAMS = ("chainbase-driver", "chainbase-inspect", "chainbase-bench", "chainbase-sink")
# The step that was kept up: none on a busy machine. Its members are those of a step.
BY_CHANCE = "driver load: .sustained."


def run(*words, **how):
    return subprocess.run([str(word) for word in words], capture_output=True, timeout=300, **how)


def described(program, verb=()):
    """Lines of what may follow a verb, of the verbs below it too, as --help says."""
    text = run(program, *verb, "--help").stdout.decode()
    name = " ".join([os.path.basename(program), *verb])
    part, below, lines = "", [], []
    for line in text.splitlines():
        if line and not line.startswith(" "):
            part = line.strip()
        entry = re.match(r"\s{2,}(\S+)", line)
        if not entry or not part.endswith(":"):
            continue
        word = entry.group(1).split("=")[0]  # an argument may have its default there
        if part in ("Subcommands:", "SUBCOMMANDS:"):
            if re.match(r"  [a-z]", line):
                below.append(word)
        elif word.startswith("-") or (part.startswith("Positionals") and re.match(r"  \S", line)):
            is_required = " REQUIRED" in line
            lines.append(f"{name} {word}{' (required)' if is_required else ''}")
    yield from sorted(set(lines))
    for one in below:
        yield from described(program, (*verb, one))


def members(value, path=""):
    """Paths of all members of a JSON value; lists and members named by data are []."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield f"{path}.{name}"
            yield from members(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from members(inner, f"{path}[]")


class World:
    """A state of a real chain, a log, and what verbs need beside them."""

    def __init__(self, programs, chains, folder):
        self.programs, self.folder = programs, folder
        self.log = os.path.join(folder, "log.blocks")
        self.state = os.path.join(folder, "state")
        source = os.path.join(chains, "social/data/steem-2016.blocks")
        self.driver("block-log", "trim", source, "--to", self.log, "--stop-at", "20000")
        self.replay = ("replay", "--block-log", self.log, "--state", self.state, "--state-root", "all")

    def driver(self, *words):
        return run(os.path.join(self.programs, PROGRAMS[0]), *words)

    def inspect(self, *words):
        return run(os.path.join(self.programs, PROGRAMS[1]), *words)

    def bench(self, *words):
        return run(os.path.join(self.programs, PROGRAMS[2]), *words)

    def sink(self, *words):
        return run(os.path.join(self.programs, PROGRAMS[3]), *words)

    def path(self, name):
        return os.path.join(self.folder, name)


def calls(world):
    """(name, outcome) of calls with --json, in an order in which each finds what it needs."""
    to, log, state = world.path, world.log, world.state
    yield "driver replay", world.driver(*world.replay, "--verify", "--json")
    yield "driver generate", world.driver("generate", "--operations", 3000, "--to", to("made.blocks"),
                                          "--forks", 2, "--fork-depth", 3, "--json")
    yield "driver generate --compare", world.driver("generate", "--compare", log, "--json")
    yield "driver backup", world.driver("backup", "--state", state, "--to", to("backup"), "--json")
    yield "driver restore", world.driver("restore", "--from", to("backup"), "--state", to("restored"), "--json")
    yield "driver restore --check", world.driver("restore", "--from", to("backup"), "--check", "--json")
    yield "driver roots", world.driver("roots", state, "--newest", 3, "--json")
    shutil.copytree(state, to("copy"))
    yield "driver bisect", world.driver("bisect", state, to("copy"), "--json")
    yield "driver live", world.driver("live", "--block-log", log, "--state", to("live"), "--once", "--stop-at",
                                      15000, "--readers", 1, "--pending", 10, "--json")
    yield "driver sync", world.driver("sync", "--block-log", log, "--state", to("synced"), "--once", "--stop-at",
                                      15000, "--json")
    yield "driver convert-archive", world.driver("convert-archive", "--state", to("restored"), "--to", "memory",
                                                 "--pop", "--json")
    yield "driver load", world.driver("load", "--accounts", 1000, "--start-rate", 1000, "--step", 1000, "--last-rate",
                                      1000, "--seconds", 1, "--json")
    for verb in ("info", "verify", "digest", "repair-index"):
        yield f"driver block-log {verb}", world.driver("block-log", verb, log, "--json")
    yield "driver block-log info --count", world.driver("block-log", "info", log, "--count", "--json")
    yield "driver block-log print", world.driver("block-log", "print", log, "--limit", 2, "--operations", "--json")
    yield "driver block-log split", world.driver("block-log", "split", log, "--to-folder", to("pieces"), "--every",
                                                 10000, "--json")
    yield "driver block-log salvage", world.driver("block-log", "salvage", log, "--to", to("saved.blocks"), "--json")
    for verb in ("info", "stat", "map", "tree", "schema", "archive", "check", "undo", "locks", "digest", "root"):
        yield f"inspect {verb}", world.inspect(verb, state, "--json")
    yield "inspect root --verify", world.inspect("root", state, "--verify", "--json")
    yield "inspect check --checkpoint", world.inspect("check", state, "--checkpoint", "--json")
    yield "inspect get", world.inspect("get", state, "account", "id", 0, "--json")
    yield "inspect range", world.inspect("range", state, "account", "id", "--limit", 2, "--json")
    yield "inspect count", world.inspect("count", state, "account", "--json")
    yield "inspect sample", world.inspect("sample", state, "account", "--json")
    yield "inspect dump", world.inspect("dump", state)
    yield "inspect diff", world.inspect("diff", state, to("live"), "--json")
    world.inspect("dump", state, "--output", to("dump"))
    yield "inspect load", world.inspect("load", to("loaded"), to("dump"), "--json")
    yield "inspect compact --dry-run", world.inspect("compact", state, "--dry-run", "--json")
    yield "inspect compact", world.inspect("compact", to("synced"), "--commit", "--json")
    yield "inspect resize", world.inspect("resize", state, "--dry-run", "--json")
    yield "inspect backup", world.inspect("backup", state, "--to", to("copied"), "--without-archive", "--json")
    yield "inspect warm", world.inspect("warm", state, "--dry-run", "--json")
    yield "inspect repair", world.inspect("repair", state, "--json")
    yield "inspect top", world.inspect("top", state, "--interval", "0.1", "--count", 1, "--json")
    yield "inspect stat --watch", world.inspect("stat", state, "--watch", "--count", 1, "--json")
    yield "bench account", world.bench("account", "--objects", 10000, "--types", 1, "--engines", "chainbase",
                                       "--rounds", 1, "--json")
    sqlite = ("--state", state, "--to", f"sqlite:{to('rows.sqlite')}", "--json")
    yield "sink follow", world.sink("follow", *sqlite, "--once")
    yield "sink verify", world.sink("verify", *sqlite)
    yield "sink status", world.sink("status", *sqlite)
    yield "sink ddl", world.sink("ddl", "--state", state, "--json")
    # What calls exit with when they are wrong, or find what they look for not to be sound.
    missing = to("missing")
    yield "driver replay without a log", world.driver("replay", "--block-log", missing, "--state", to("none"))
    yield "driver replay without options", world.driver("replay")
    yield "driver with no verb", world.driver()
    yield "driver generate over a log", world.driver("generate", "--operations", 10, "--to", log)
    yield "driver replay with a number that is none", world.driver(*world.replay, "--stop-at", "-1")
    yield "inspect stat of nothing", world.inspect("stat", missing)
    yield "inspect get of no type", world.inspect("get", state, "nothing", "id", 0)
    yield "inspect get of no object", world.inspect("get", state, "account", "id", 4000000)
    yield "inspect with an unknown verb", world.inspect("nothing", state)
    yield "inspect diff of states that differ", world.inspect("diff", state, to("live"))
    with open(to("damaged.blocks"), "wb") as damaged, open(log, "rb") as good:
        content = bytearray(good.read())
        content[len(content) // 2] ^= 1
        damaged.write(content)
    yield "driver block-log verify of a damaged log", world.driver("block-log", "verify", to("damaged.blocks"))
    files = os.path.join(state, "segment")
    largest = max((os.path.join(files, one) for one in os.listdir(files)), key=os.path.getsize)
    with open(largest, "r+b") as window:
        window.truncate(4096)
    yield "inspect check of a damaged state", world.inspect("check", state)


def listed(programs, chains):
    """All lines, sorted."""
    lines = []
    for program in PROGRAMS:
        lines += described(os.path.join(programs, program))
    folder = tempfile.mkdtemp(prefix="chainbase-abilities-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        for name, outcome in calls(World(programs, chains, folder)):
            lines.append(f"{name}: exits with {outcome.returncode}")
            text = outcome.stdout.decode(errors="replace").strip()
            shapes = set()
            for part in [text] if text.startswith(("{", "[")) else []:
                try:
                    values = [json.loads(part)]
                except ValueError:
                    values = [json.loads(line) for line in part.splitlines() if line.startswith("{")]
                for value in values:
                    shapes |= set(members(value))
            lines += [f"{name}: {shape}" for shape in shapes]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return sorted({line for line in lines if not line.startswith(BY_CHANCE)})


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    chains_folder = os.path.join(here, "../../tools/chains")
    if "--chains" in sys.argv:
        at = sys.argv.index("--chains")
        chains_folder = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    print("\n".join(listed(sys.argv[1], chains_folder)))
