"""What earlier versions wrote (tests/versions) is opened by this one: looked into, restored, migrated, and gone on with to
where an undisturbed replay ends."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from programs import TREE

KEPT = TREE / "tests/versions"
VERSIONS = sorted(one.name for one in KEPT.iterdir() if (one / "expected.json").exists())
PLACE = ("--memory-folder", "none")
NEEDED = {"0.1.0": ("--migrate", "--state-root all")}


class Kept:
    """What one version wrote, in a folder of a test."""

    def __init__(self, version, driver, inspect, folder):
        self.from_, self.driver, self.inspect, self.folder = KEPT / version, driver, inspect, folder
        self.expected = json.loads((self.from_ / "expected.json").read_text())
        self.log = Path(shutil.copy(KEPT / VERSIONS[0] / "log", folder / "log"))

    def unpacked(self, name):
        subprocess.run(["tar", "-xJf", self.from_ / f"{name}.tar.xz", "--no-same-owner", "-C", self.folder], check=True)
        return self.folder / name

    def digests(self, state):
        """Of the chain's types; what a state keeps of its history beside them differs."""
        said = self.inspect.json("digest", state)
        return {one["name"]: (one["digest"], one["rows"] + one["archived_rows"]) for one in said["types"]
                if one["name"] in ("account", "comment", "vote", "global")}

    def is_as_it_was(self, state):
        expected = self.expected["inspected"]["types"]
        was = {one["name"]: (one["digest"], one["rows"] + one["archived_rows"]) for one in expected}
        now = self.digests(state)
        assert len(now) == 4 and now.items() <= was.items()
        self.inspect("check", state)

    def goes_on(self, state, block=None):
        """To the end, with the options that this version needs, each of which a refusal names. `block`: at least that
        many need not come again."""
        call = ["sync", "--once", "--block-log", self.log, "--state", state, "--json", *PLACE]
        for option in NEEDED.get(self.from_.name, ()):
            result = self.driver(*call, code=(0, 1))
            if result.code == 0:
                break  # it has no root
            call += result.says(option).err and option.split()
        said = self.driver(*call).json
        assert said["state_digest"] == self.expected["end"]
        assert said["blocks"] - said["replayed_blocks"] >= (block or self.expected["block"])
        self.inspect("check", state)
        if said["state_root"]:
            self.inspect("root", state, "--verify")


@pytest.fixture(params=VERSIONS)
def kept(request, driver, inspect, scratch):
    return Kept(request.param, driver, inspect, scratch)


def test_a_closed_state(kept):
    state = kept.unpacked("closed")
    kept.is_as_it_was(state)
    kept.goes_on(state)


def test_a_killed_state_after_a_restart_of_the_machine(kept):
    state = kept.unpacked("killed")
    kept.goes_on(state, kept.expected["block"] - 20)  # what was on storage


def test_a_backup(kept):
    kept.driver("restore", "--from", kept.unpacked("backup"), "--state", kept.folder / "state", *PLACE)
    kept.is_as_it_was(kept.folder / "state")
    kept.goes_on(kept.folder / "state")


def test_a_dump_is_what_it_was(kept):
    state = kept.unpacked("closed")
    assert kept.inspect("dump", state).out == kept.unpacked("dump").read_text()


def test_a_dump_is_loaded(kept):
    state = kept.folder / "state"
    kept.inspect("load", state, kept.unpacked("dump"), *PLACE)
    (kept.unpacked("closed") / "archive").rename(state / "archive")  # as load says
    kept.is_as_it_was(state)
    kept.goes_on(state)


def test_what_a_follower_has_not_read(kept):
    if not (kept.from_ / "followed.tar.xz").exists():
        return  # of a version that had no feed
    state = kept.unpacked("followed")
    kept.goes_on(state, 50)  # its node was killed behind block 60
    said = kept.inspect("feed", state, "--cursor", "kept", "--json").out
    assert said.startswith(kept.unpacked("feed").read_text())


def test_a_snapshot(kept):
    if "snapshot" not in kept.expected:
        return  # of a version that had none
    snapshot, state = kept.unpacked("snapshot"), kept.folder / "state"
    name = kept.expected["snapshot"]
    assert kept.inspect.json("snapshot", "verify", snapshot)["name"] == name
    kept.inspect("snapshot", "load", snapshot, "--to", state, "--trusted-name", name, *PLACE)
    kept.is_as_it_was(state)
    kept.goes_on(state)


def test_what_is_not_of_this_chain_is_not_migrated(kept, driver, inspect):
    state = kept.unpacked("closed")
    before = inspect("schema", state, "--json").out
    other = kept.folder / "payments"
    driver("generate", "--chain", "payments", "--operations", 500, "--to", other)
    driver("sync", "--once", "--block-log", other, "--state", state, "--migrate", code=2).says("is of the chain social")
    driver("sync", "--once", "--block-log", kept.log, "--state", state, "--migrate", "--archive", "memory",
           code=(1, 2)).says("rocksdb")
    (state / "archive").rename(kept.folder / "gone")
    driver("sync", "--once", "--block-log", kept.log, "--state", state, "--migrate", code=1).says("archive: missing")
    assert inspect("schema", state, "--json").out == before
