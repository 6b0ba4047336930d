"""Real programs on a machine that loses power and a disk whose calls fail (lossy_disk.py): what was
promised is there, the same call goes on to the same digest, and no state opens wrong.

The same on simulated disks, in process and at each step: tests/failure/checkpoint_disk.cpp,
tests/archive/store_power_loss.cpp, tests/tools/block_log_disk.cpp."""

import contextlib
import errno
import os
import re
import shutil
import signal
import time
import urllib.request

import pytest
from chains import Replays
from kills import until
from lossy_disk import OnMachine, machine, sync_folder  # noqa: F401  a fixture

# Comments are paid soon, so that many go to the archive.
MIX = ("--mix", "comment=30,comment_delete=10,vote=20,custom=30,transfer=10", "--paid-percent", 100,
       "--cash-out-percent", 1, "--transactions-per-block", 5)  # fmt: skip
ROOT = ("--state-root", "all")
LEVELS = ("checkpoint", "commit")
IS_SOAK = int(os.environ.get("CHAINBASE_TEST_OPERATIONS") or 0) >= 1_000_000

each_level = pytest.mark.parametrize("level", LEVELS)
each_place = pytest.mark.parametrize("place", ["memory", "disk"])


class Site(Replays):
    """States on the machine's disk, of a log that is elsewhere, and the end of undisturbed ones."""

    def __init__(self, machine, driver, inspect, folder, operations, options=()):
        self.plain, self.machine = driver, machine
        log = folder / "log"
        self.generate(log, operations)
        super().__init__(OnMachine(driver.path), machine.disk, None, log)
        self.inspect = OnMachine(inspect.path)
        self.options = options
        call = ("replay", "--block-log", log, "--state", folder / "undisturbed", *ROOT)
        self.expected = driver.json(*call)
        shutil.rmtree(folder / "undisturbed")

    def generate(self, log, operations):
        seed = self.machine.rng.randrange(2**32)
        return self.plain("generate", "--operations", operations, "--to", log, "--seed", seed, *MIX)

    def call(self, *more, state="state", verb="replay"):
        call = super().call(*self.options, *more, state=state)
        return [verb, *call[1:], *(("--once", "--lag", 20) if verb == "sync" else ())]

    def run(self, *more, code=None, env=None, **how):
        return self.driver(*self.call(*more, **how), code=code, env=env)

    def start(self, *more, **how):
        return self.driver.start(*self.call(*more, **how))

    def ends(self, *more, **how):
        """The call goes on to the end of the log, and to the undisturbed state; its Result."""
        result = self.run(*more, code=0, **how)
        said = result.json
        assert said["state_digest"] == self.expected["state_digest"]
        assert said["archived"]["comment"] > 0
        assert said["state_root"]["root"] == self.expected["state_root"]["root"]
        return result

    def checkpoints(self, state="state"):
        """Revisions of the checkpoints, the newest first; none of what is no state yet."""
        found = self.inspect("info", self.state(state), "--json", code=None)
        return [one["revision"] for one in found.json["checkpoints"]] if found.code == 0 else []

    def has_nothing(self, refusal, state="state"):
        """Whether opening refuses a state that was lost before its first checkpoint, as documented;
        it is removed then, for good: half of it must not come back with the next loss."""
        if "and the state has no checkpoint" not in refusal.expect((0, 1, -signal.SIGKILL)).err:
            assert refusal.code != 1, refusal
            return False
        assert self.checkpoints(state) == []
        shutil.rmtree(self.state(state))
        sync_folder(self.machine.disk)
        return True


@pytest.fixture
def site(machine, driver, inspect, scratch):  # noqa: F811
    def of(operations, level, place="disk"):
        often = ("--checkpoint-interval", "0.02", "--durability", level, *ROOT)
        where = ("--memory-folder", machine.memory) if place == "memory" else ()
        return Site(machine, driver, inspect, scratch, operations, (*often, *where))

    return of


def restored(result):
    """The revision that opening restored; None if it restored nothing."""
    found = re.search(r"restored checkpoint \d+ of revision (\d+) and (\d+) blocks", result.err)
    return int(found[1]) + int(found[2]) if found else None


# --- power is lost ---


def run_until_power_is_lost(site, calls, seconds, **how):
    """At a random moment, or at a call to the disk. The Result, and a revision that stays."""
    machine, rng = site.machine, site.machine.rng  # noqa: F811
    kind = rng.choice([None, "any", *calls])
    machine.work()
    if kind:
        machine.stop(kind, rng.randint(1, calls.get(kind) or sum(calls.values())))
    running = site.start(**how)
    if kind:
        until(machine.has_stopped, running)
    else:
        time.sleep(rng.uniform(0, seconds))
    # A checkpoint that has a name may not be synced yet; but before that the older one was.
    is_usable = running.is_running and not machine.has_stopped()
    named = site.checkpoints(how["state"]) if is_usable else []
    return machine.lose_power(running), named[1] if len(named) > 1 else 0


@each_level
@pytest.mark.parametrize(
    "verb, place", [("replay", "memory"), ("replay", "disk"), ("sync", "memory")]
)
def test_power_is_lost_again_and_again_and_the_same_call_goes_on(
    verb, place, level, site, machine  # noqa: F811
):
    at = site(40_000, level, place)
    machine.work()
    began = time.monotonic()
    at.ends(verb=verb, state="undisturbed")
    seconds, calls = time.monotonic() - began, machine.calls()["calls"]
    state, promised, restores = "state", 0, 0
    while restores < 3:
        assert machine.losses < 200
        ended, now = run_until_power_is_lost(at, calls, seconds, state=state, verb=verb)
        found = restored(ended)
        if found is not None:
            assert found >= promised, ended
            restores += 1
        promised = max(promised, now)
        if at.has_nothing(ended, state):
            assert promised == 0, ended
        elif ended.code == 0:  # closed, so all is promised
            assert at.ends(state=state, verb=verb).json["replayed_blocks"] == 0
            state, promised = state + ".", 0
    at.ends(state=state, verb=verb)


def test_what_a_disk_lost_without_a_restart_is_not_taken_for_the_state(site, machine):  # noqa: F811
    at = site(200_000, "checkpoint")
    for state in "abc":
        running = at.start(state=state)
        assert until(lambda: len(at.checkpoints(state)) > 1, running)
        machine.lose_writes(running)
        assert restored(at.ends(state=state)) is not None


@each_place
@each_level
def test_what_was_closed_is_there_whatever_the_disk_keeps(level, place, site, machine, rng):  # noqa: F811
    at = site(20_000, level, place)
    blocks = at.expected["blocks"]
    for content, names in [("none", "none"), ("none", "all"), ("all", "none"), ("some", "some")]:
        stop = rng.randint(1, blocks - 1)
        said = at.run("--stop-at", stop, code=0, state=content + names).json
        machine.lose_power(None, content, names)
        again = at.run("--stop-at", stop, code=0, state=content + names).json
        assert (said["blocks"], again["blocks"], again["replayed_blocks"]) == (stop, stop, 0)
        assert again["state_digest"] == said["state_digest"]
        at.ends(state=content + names)


@each_place
def test_an_interrupted_replay_has_closed_its_state(place, site, machine, rng):  # noqa: F811
    at = site(200_000, "checkpoint", place)
    for number in (signal.SIGINT, signal.SIGTERM):
        running = at.start(state=number.name)
        assert until(lambda: len(at.checkpoints(number.name)) > 1, running)
        running.signal(number)
        said = running.wait(3).json
        machine.lose_power(None, "none", "none")
        result = at.ends(state=number.name)
        assert result.json["blocks"] - result.json["replayed_blocks"] == said["blocks"]


def durable_revision(page):
    """What the program says of itself, by its metrics."""
    found = re.search(r"^chainbase_redo_durable_revision (\S+)", page, re.MULTILINE)
    return int(float(found[1])) if found else 0


def test_blocks_that_were_told_to_be_durable_are_there(site, machine):  # noqa: F811
    at = site(100_000, "commit", "memory")
    # sync makes a session of each block, so it takes some seconds; the gauge is of each second.
    running = at.start("--metrics", "127.0.0.1:0", verb="sync")
    port = running.wait_for(r"http://127.0.0.1:(\d+)/metrics", "err")[1]
    told = 0
    while running.is_running and told < 20:
        with contextlib.suppress(OSError):  # it may end
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as page:
                told = durable_revision(page.read().decode())
    machine.lose_power(running, "none", "none").expect(-signal.SIGKILL)
    assert restored(at.ends(verb="sync")) >= told >= 20


# --- what is made of states and logs ---


@each_place
def test_a_backup_and_a_restored_state_are_whole_or_not_there(place, site, machine, rng):  # noqa: F811
    at = site(20_000, "checkpoint", place)
    at.ends()
    state, copy, again = at.state(), at.state("backup"), at.state("again")
    backup, restore = ["backup", "--state", state, "--to", copy], ["restore", "--from", copy]
    for call, made in ((backup, copy), ([*restore, "--state", again], again)):
        for lost in range(6):
            machine.work()
            if lost < 5:
                kind = rng.choice(["any", "fsync", "rename", "fsyncdir", "write"])
                machine.stop(kind, rng.randint(1, 20))
            running = at.driver.start(*call)
            until(machine.has_stopped, running)
            ended = machine.lose_power(running).expect((0, -signal.SIGKILL))
            assert made.exists() or ended.code != 0, ended
            if made.exists():
                at.driver(*restore, "--check")
                break
    assert at.ends(state="again").json["replayed_blocks"] == 0
    at.ends()


def test_a_block_log_has_its_name_when_it_is_on_the_disk(site, machine, rng):  # noqa: F811
    at = site(20_000, "checkpoint")
    made = machine.disk / "made.blocks"
    ways = (["trim", at.log, "--to", made], ["merge", at.log, "--to", made])
    digest = at.plain.json("block-log", "digest", at.log)["sha256"]
    for number in range(12):
        machine.work()
        if number % 3 != 0:
            kind = rng.choice(["any", "write", "fsync", "rename", "fsyncdir"])
            machine.stop(kind, rng.randint(1, 3))
        running = at.driver.start("block-log", *ways[number % 2])
        until(machine.has_stopped, running)
        ended = machine.lose_power(running).expect((0, -signal.SIGKILL))
        assert made.exists() or ended.code != 0, ended
        if made.exists():
            assert at.driver.json("block-log", "digest", made)["sha256"] == digest
            at.driver("block-log", "verify", made)
            for file in machine.disk.glob("made.blocks*"):
                file.unlink()


# --- calls fail ---


ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT)


@pytest.mark.parametrize("times", [1, 10**9], ids=["once", "from_then_on"])
@pytest.mark.parametrize(
    "verb, level, place",
    [("replay", "commit", "memory"), ("replay", "checkpoint", "disk"), ("sync", "commit", "memory")],
)
def test_any_call_to_the_disk_fails(verb, level, place, times, site, machine, rng):  # noqa: F811
    """The program ends with 0, or with 1 and a message; the same call then goes on, also when power is
    lost in between: a sync that failed has dropped what the next one seems to have written."""
    at = site(20_000, level, place)
    machine.work()
    at.ends(verb=verb, state="undisturbed")
    total = sum(machine.calls()["calls"].values())
    every = range(1, total + 1)
    for nth in every if IS_SOAK else sorted(rng.sample(every, 5)):
        state, error = f"state{nth}", rng.choice(ERRORS)
        machine.fail("any", nth, error, times)
        result = at.run(state=state, verb=verb)
        first = machine.calls()["first"]
        machine.work()
        what = f"call {nth} of {total} ({first}): {os.strerror(error)}\n{result}"
        assert result.code in (0, 1), what
        if result.code == 1:
            assert os.strerror(error) in result.err and str(machine.disk) in result.err, what
        if rng.random() < 0.5:
            machine.lose_power()
        again = at.run(state=state, verb=verb)
        if "cannot sync" in again.err:  # Linux tells the next one of a failed write
            again = at.run(state=state, verb=verb)
        if at.has_nothing(again, state):
            assert result.code == 1, what
        elif result.code == 0:
            assert again.json["replayed_blocks"] == 0, what
        at.ends(state=state, verb=verb)
        shutil.rmtree(at.state(state))
        sync_folder(machine.disk)
