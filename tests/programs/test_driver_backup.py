"""chainbase-driver backup, restore and convert-archive, as operators run them: at rest, after a kill,
beside a writer, killed themselves, on a full disk."""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from chains import STEEM, Replays
from disks import KIB, MIB, small_disk  # noqa: F401  a fixture
from kills import until, until_killed

ARCHIVES = ("rocksdb", "memory", "none")


class Operator(Replays):
    """Replays of the steem-2016 log, and what is done with their states."""

    def __init__(self, driver, inspect, folder):
        super().__init__(driver, folder, STEEM)
        self.inspect = inspect

    def backup_call(self, state="state", to="backup"):
        return ["backup", "--state", self.state(state), "--to", self.state(to), "--json"]

    def restore_call(self, backup="backup", to="again"):
        return ["restore", "--from", self.state(backup), "--state", self.state(to), "--json"]

    def convert_call(self, to, *more, state="state"):
        return ["convert-archive", "--state", self.state(state), "--to", to, *more, "--json"]

    def backup(self, state="state", to="backup"):
        return self.driver(*self.backup_call(state, to)).json

    def restore(self, backup="backup", to="again"):
        return self.driver(*self.restore_call(backup, to)).json

    def convert(self, to, *more):
        return self.driver(*self.convert_call(to, *more)).json

    def sync(self, stop_at, state="state"):
        """With blocks that can be popped."""
        where = ["--block-log", self.log, "--state", self.state(state)]
        return self.driver.json("sync", *where, "--once", "--lag", 20, "--stop-at", stop_at)

    def check_sound(self, state):
        self.inspect("check", self.state(state))

    def check_goes_on(self, state):
        """To where an undisturbed one ends."""
        self.check_sound(state)
        assert self("--verify", state=state)["state_digest"] == STEEM.digest
        self.check_sound(state)


@pytest.fixture
def operator(driver, inspect, scratch):
    return Operator(driver, inspect, scratch)


@pytest.fixture
def at_80000(operator):
    """A state of 80,000 blocks."""
    operator("--stop-at", 80000)
    return operator


# --- backup and restore ---


@pytest.mark.parametrize("archive", ARCHIVES)
def test_a_replay_goes_on_from_a_restored_backup_to_the_same_digest(archive, operator):
    first = operator("--archive", archive, "--stop-at", 80000)
    made = operator.backup()
    assert (made["chain"], made["block"], made["archive"]) == ("steem-2016", 80000, archive)
    assert not made["beside_writer"]
    if archive == "rocksdb":
        assert made["rows"]["comment"] >= first["archived"]["comment"]
    operator.check_goes_on("state")  # which a backup does not keep from going on
    again = operator.restore()
    for same in ("identity", "revision", "block", "bytes", "files", "rows"):
        assert again[same] == made[same], same
    assert operator("--stop-at", 80000, state="again")["state_digest"] == first["state_digest"]
    operator.check_goes_on("again")


@pytest.mark.parametrize("archive", ARCHIVES)
def test_a_backup_after_a_kill_has_the_last_whole_block_and_needs_no_replay(archive, operator, rng):
    for number in range(2):
        state, backup, again = f"state{number}", f"backup{number}", f"again{number}"
        while True:
            running = operator.start("--archive", archive, state=state)
            until((operator.state(state) / "archive/format").exists, running)
            if until_killed(running, rng.uniform(0, 0.3)).code != 0:
                break
            shutil.rmtree(operator.state(state))
        made = operator.backup(state, backup)
        operator.restore(backup, again)
        there, here = (operator("--stop-at", made["block"], state=one) for one in (state, again))
        assert here["state_digest"] == there["state_digest"]
        assert here["replayed_blocks"] == there["replayed_blocks"] == 0
        operator.check_goes_on(again)


def test_every_verb_of_the_inspector_can_look_into_a_restored_state_at_once(at_80000, scratch):
    at_80000.backup()
    (scratch / "memory").mkdir()
    for again, more in (("again", ()), ("elsewhere", ("--memory-folder", scratch / "memory"))):
        at_80000.driver(*at_80000.restore_call(to=again), *more)
        look, state = at_80000.inspect, at_80000.state(again)
        assert look.json("info", state)["next_opening"]["does"] == "attach"
        assert look.json("digest", state)["digest"] == look.json("digest", at_80000.state())["digest"]
        for verb in ("stat", "check", "undo", "locks", "archive", "map", "tree"):
            look(verb, state)
        assert "\n0 " in look("range", state, "account", "id", "--limit", "1").out
    assert list((scratch / "memory").iterdir())
    at_80000.check_goes_on("elsewhere")


def test_a_state_whose_machine_was_lost_is_backed_up_as_its_checkpoint_restores_it(operator):
    operator("--stop-at", 50000, "--durability", "commit")
    shutil.rmtree(operator.state() / "segment")  # as memory is
    assert operator.backup()["block"] == 50000
    operator.restore()
    operator.check_goes_on("again")


@pytest.mark.parametrize("archive", ["rocksdb", "memory"])
def test_beside_a_writer_the_backup_is_of_its_newest_checkpoint(archive, operator):
    writer = operator.start("--archive", archive, "--checkpoint-interval", "0.02")
    assert until((operator.state() / "checkpoint/published.1").exists, writer)
    writer.signal(signal.SIGSTOP)  # in the middle, with the state open
    time.sleep(0.02)
    run = operator.driver(*operator.backup_call()).says("a writer has it open")
    assert run.json["beside_writer"]
    writer.signal(signal.SIGCONT)
    assert writer.wait().json["state_digest"] == STEEM.digest
    operator.restore()
    operator.check_goes_on("again")


def test_backups_while_a_replay_is_at_full_speed_are_whole(operator):
    writer = operator.start("--checkpoint-interval", "0.01")
    made = []
    until((operator.state() / "checkpoint/published.0").exists, writer)
    while writer.is_running:
        made.append(f"b{len(made)}")
        operator.backup(to=made[-1])
    assert writer.wait().json["state_digest"] == STEEM.digest
    assert len(made) > 1
    for name in made[:: max(1, len(made) // 2)]:
        operator.restore(name, f"of-{name}")
        operator.check_goes_on(f"of-{name}")


def test_a_state_with_blocks_that_can_be_popped_keeps_them_in_its_backup(operator):
    assert operator.sync(1000)["irreversible"] == 980
    made = operator.backup()
    assert made["block"] == 1000
    assert made["revision"] - made["irreversible_revision"] == 20
    operator.restore()
    assert operator.sync(1000, "again")["irreversible"] == 980
    here, there = operator.sync(2000, "again"), operator.sync(2000)
    assert here["state_digest"] == there["state_digest"]


def test_a_state_whose_segment_is_in_memory_is_backed_up_too(operator):
    shm = Path("/dev/shm")
    if not shm.is_dir():
        pytest.skip("there is no /dev/shm")
    memory = shm / f"chainbase-test-memory-{os.getpid()}"
    memory.mkdir()
    try:
        operator("--stop-at", 20000, "--memory-folder", memory)
        assert operator.backup()["block"] == 20000
        operator.restore()
        operator.check_goes_on("again")
    finally:
        shutil.rmtree(memory)


def test_wrong_calls_end_with_2_refusals_with_1_and_neither_makes_anything(operator):
    operator("--stop-at", 1000)
    operator.backup()
    backup = operator.state("backup")

    def ends(code, call, *words):
        assert operator.driver(*call, code=code).says(*words).out == ""
        assert not operator.state("none").exists()
        assert not operator.state("none.unfinished").exists()

    ends(2, operator.backup_call(), "exists already")
    ends(2, operator.backup_call("nowhere", "none"), "no state")
    ends(2, operator.restore_call(to="state"), "exists already")
    ends(2, ["restore", "--from", backup], "--state")
    ends(1, operator.restore_call("state", "none"), "not a backup")
    operator.driver("restore", "--from", backup, "--check")
    pages = backup / "checkpoint/pages"
    os.truncate(pages, pages.stat().st_size - 1)
    ends(1, operator.restore_call(to="none"), str(pages))
    ends(1, ["restore", "--from", backup, "--check"], "truncated")
    shutil.rmtree(operator.state() / "archive")
    ends(1, operator.backup_call(to="none"), "archive: missing")


def test_killed_at_random_times_backup_and_restore_leave_nothing_that_passes_for_whole(
    at_80000, rng
):
    operator = at_80000
    start = operator.driver.start
    for number in range(6):
        backup, again = f"backup{number}", f"again{number}"
        until_killed(start(*operator.backup_call(to=backup)), rng.uniform(0, 0.06))
        if not operator.state(backup).exists():
            operator.backup(to=backup)
        operator.driver("restore", "--from", operator.state(backup), "--check")
        until_killed(start(*operator.restore_call(backup, again)), rng.uniform(0, 0.06))
        if not operator.state(again).exists():
            operator.restore(backup, again)
        operator.check_sound(again)
    operator.check_goes_on("again5")


@pytest.mark.parametrize("mark", [b"", b"chainbase: m", bytes(37), b"chainbase: made" + bytes(10), b"mine"])
def test_what_a_loss_of_power_left_of_a_mark_is_removed_and_nothing_else(mark, at_80000):
    left = at_80000.state("backup.unfinished")
    left.mkdir(mode=0o700)
    (left / "lock").touch(mode=0o600)
    (left / "lock").write_bytes(mark)
    if mark == b"mine":
        at_80000.driver(*at_80000.backup_call(), code=2).says("not left by an earlier call")
        assert (left / "lock").read_bytes() == mark
    else:
        at_80000.backup()
        assert not left.exists()


def test_a_signal_ends_a_backup_with_3_and_nothing_left(operator):
    operator()
    for number in range(10):
        backing_up = operator.driver.start(*operator.backup_call())
        ended = until_killed(backing_up, (5 + 4 * number) / 1000, signal.SIGTERM)
        ended.expect((3, 0, -signal.SIGTERM))
        assert operator.state("backup").exists() == (ended.code == 0)
        assert not operator.state("backup.unfinished").exists()
        shutil.rmtree(operator.state("backup"), ignore_errors=True)
    operator.check_goes_on("state")


def test_a_full_disk_ends_a_backup_and_a_restore_with_1_and_nothing_left(
    at_80000, small_disk  # noqa: F811
):
    operator = at_80000
    made = operator.backup()
    new = small_disk.path / "new"
    rooms = [64 * KIB, 4 * MIB, *(made["bytes"] + at * 100 * KIB for at in (-20, -5, -2, 0, 1, 2, 5))]
    codes = set()
    for room in rooms:
        small_disk.leave_room(room)
        for call in (operator.backup_call(to=new), operator.restore_call(to=new)):
            result = operator.driver(*call, code=None)
            codes.add(result.code)
            assert result.code == (0 if new.exists() else 1), result
            if result.code:
                result.says("space")
            assert not Path(f"{new}.unfinished").exists()
            shutil.rmtree(new, ignore_errors=True)
        small_disk.make_room()
    assert 1 in codes
    operator.backup(to=new)  # with room


# --- convert-archive ---


def said_at(operator, block=80000):
    """Of a state as it is."""
    said = operator("--stop-at", block, "--verify")
    assert said["replayed_blocks"] == 0
    return said


@pytest.mark.parametrize("first", ARCHIVES)
def test_a_state_has_the_same_digest_with_every_archive_that_it_is_converted_to(first, operator):
    operator("--archive", first, "--stop-at", 80000)
    digest = said_at(operator)["state_digest"]
    for to in ("memory", "rocksdb", "rocksdb", "memory"):
        done = operator.convert(to)
        assert (done["to"], done["block"]) == (to, 80000)
        now = said_at(operator)
        assert now["archive"]["store"] == to
        assert now["state_digest"] == digest
        operator.check_sound("state")
    operator.check_goes_on("state")
    assert said_at(operator, 162689)["archived"]["comment"] == 3566


def test_a_conversion_that_is_killed_again_and_again_comes_to_its_end(at_80000, rng):
    operator = at_80000
    digest = said_at(operator)["state_digest"]
    for number in range(6):
        to = "rocksdb" if number % 2 else "memory"
        for _ in range(3):
            until_killed(
                operator.driver.start(*operator.convert_call(to)), rng.uniform(0, 0.06)
            ).expect((0, -signal.SIGKILL))
        operator.convert(to)
        now = said_at(operator)
        assert now["archive"]["store"] == to
        assert now["state_digest"] == digest
        operator.check_sound("state")
    operator.check_goes_on("state")


def rocksdb_of(operator):
    return operator.state() / "archive/rocksdb/CURRENT"


def test_what_a_killed_replay_left_is_converted(operator):
    running = operator.start()
    until(rocksdb_of(operator).exists, running)
    until_killed(running, 0.05)
    operator.convert("memory")
    operator.check_goes_on("state")


def test_blocks_that_can_be_popped_are_taken_back_if_that_is_asked_for_and_come_again(operator):
    before = operator.sync(1000)
    operator.driver(*operator.convert_call("memory"), code=2).says("20 blocks", "--pop")
    done = operator.convert("memory", "--pop")
    assert (done["popped"], done["block"]) == (20, 980)
    assert operator.sync(1000)["state_digest"] == before["state_digest"]


def test_a_conversion_that_cannot_be_is_refused_with_the_state_as_it_was(at_80000):
    operator = at_80000
    operator.driver(*operator.convert_call("none"), code=2).says("cannot be put back")
    operator.driver(*operator.convert_call("memory", state="nowhere"), code=2)
    operator.driver(*operator.convert_call("paper"), code=2)
    operator.check_goes_on("state")


def test_a_state_that_somebody_writes_is_not_converted(operator):
    writer = operator.start()
    assert until(rocksdb_of(operator).exists, writer)
    writer.signal(signal.SIGSTOP)
    refused = operator.driver(*operator.convert_call("memory"), code=1)
    writer.signal(signal.SIGCONT)
    refused.says("a writer has this state open")
    writer.wait()
    operator.check_goes_on("state")
