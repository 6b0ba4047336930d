#!/usr/bin/python3
"""What a version writes, for later ones to open: make.py BIN FOLDER. README.md says what there is."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = 400
FOLLOWED = 40  # the block at which a follower begins
GENERATED = ["--operations", 3000, "--accounts", 60, "--transactions-per-block", 5, "--cash-out-percent", 1,
             "--paid-percent", 100, "--mix", "comment=30,comment_delete=10,vote=20,custom=30,transfer=10"]


def main(programs, to):
    driver, inspect = (Path(programs).resolve() / f"chainbase-{name}" for name in ("driver", "inspect"))

    def call(*words):
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, check=True, text=True)
        return done.stdout

    def keep(name):
        call("tar", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--sparse", "-cJf",
             to / f"{name}.tar.xz", name)

    os.environ["CHAINBASE_MEMORY_FOLDER"] = "none"
    to = Path(to).resolve()
    to.mkdir(parents=True)
    log = to / "log"
    first = min(to.parent.glob("*/log"), default=None)
    os.chdir(tempfile.mkdtemp())
    call(driver, "generate", "--to", "log", *GENERATED)
    if first:
        log = first
    else:
        shutil.copy("log", log)
    shutil.copy(log, "log")
    call(driver, "block-log", "trim", "log", "--to", "first", "--stop-at", BLOCK)
    sync = ["sync", "--once", "--json"]
    whole = json.loads(call(driver, *sync, "--block-log", "log", "--state", "whole"))
    said = json.loads(call(driver, *sync, "--block-log", "first", "--state", "closed", "--state-root", "all"))
    assert said["archived"]["comment"] > 0, said
    expected = {"block": said["head"], "digest": said["state_digest"], "end": whole["state_digest"],
                "inspected": json.loads(call(inspect, "digest", "closed", "--json"))}
    Path("dump").write_text(call(inspect, "dump", "closed"))
    call(driver, "backup", "--state", "closed", "--to", "backup")
    if "snapshot" in call(inspect, "--help"):
        told = json.loads(call(inspect, "snapshot", "write", "closed", "--to", "snapshot", "--json"))
        expected["snapshot"] = told["name"]
        keep("snapshot")
    with live(driver, "killed", "log") as node:
        wait_for(inspect, node, "killed", BLOCK)
    if "feed" in call(inspect, "--help"):
        with live(driver, "followed", "first") as node:
            wait_for(inspect, node, "followed", FOLLOWED)
            call(inspect, "feed", "followed", "--cursor", "kept")
            wait_for(inspect, node, "followed", FOLLOWED + 20)
        keep("followed")
        Path("feed").write_text(call(inspect, "feed", "followed", "--cursor", "kept", "--json"))
        keep("feed")
    for name in ("closed", "killed", "backup", "dump"):
        keep(name)
    (to / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


@contextlib.contextmanager
def live(driver, state, log):
    """A node that is killed in the end. Each block is a session, of which ten can be undone."""
    running = subprocess.Popen(
        [str(word) for word in (driver, "live", "--block-log", log, "--state", state, "--lag", 10,
                                "--interval-ms", 10, "--durability", "commit", "--checkpoint-interval", 0.3)],
        stdout=subprocess.DEVNULL)
    try:
        yield running
    finally:
        running.kill()
        running.wait()


def wait_for(inspect, node, state, block):
    """Until the node has come so far."""
    call = [inspect, "range", state, "applied_block", "id", "--reverse", "--limit", "1", "--json"]
    while node.poll() is None:
        found = subprocess.run(call, capture_output=True, text=True)
        if max((json.loads(line).get("number", 0) for line in found.stdout.splitlines()), default=0) >= block:
            return
    sys.exit(f"the node of {state} ended")


if __name__ == "__main__":
    main(*sys.argv[1:])
