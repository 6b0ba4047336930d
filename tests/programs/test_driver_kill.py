"""chainbase-driver replay is killed, interrupted, loses its memory or finds a disk full, again and
again: it goes on from what it promised, and comes to the state that an undisturbed one comes to."""

import re
import shutil
import signal
import time

import pytest
from chains import CHAINS, STEEM, Replays
from disks import KIB, MIB, small_disk  # noqa: F401  a fixture
from kills import killed_at_random, until_killed

each_chain = pytest.mark.parametrize("chain", CHAINS)


@pytest.fixture
def replays(driver, scratch):
    return lambda chain: Replays(driver, scratch, chain)


def check_end(said, chain):
    assert said["state_digest"] == chain.digest
    if said["state_root"] is not None:
        assert said["state_root"]["root"] == chain.root
        assert said["state_root"]["recomputed"]


# --- killed and interrupted at random times ---


ROOT = ("--state-root", "all", "--verify-roots")


@pytest.mark.parametrize(
    "chain, options, kills",
    [
        *((chain, (), 20) for chain in CHAINS),
        *((STEEM, ("--archive", archive), 8) for archive in ("memory", "none")),
        *((chain, ROOT, 4) for chain in CHAINS),
    ],
    ids=lambda one: one if isinstance(one, int) else " ".join(one) if type(one) is tuple else str(one),
)
def test_killed_at_random_times_a_replay_goes_on_to_the_same_state(
    chain, options, kills, replays, rng
):
    replay = replays(chain)
    for ended in killed_at_random(replay, kills, rng, "--verify", *options):
        if ended.code == 0:
            check_end(ended.json, chain)


@each_chain
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_interrupted_a_replay_closes_cleanly_and_goes_on(chain, number, replays, rng):
    head = 0
    for ended in killed_at_random(replays(chain), 4, rng, "--verify", by=number):
        if ended.code == 0:
            check_end(ended.json, chain)
        elif ended.code != -number:  # else it was before it began to listen
            said = ended.expect(3).json
            assert said["interrupted"] and "rolled back" not in ended.err
            if said["blocks"] != said["replayed_blocks"]:
                assert said["head"] >= head
            head = said["head"]


@each_chain
@pytest.mark.parametrize("durability", ["checkpoint", "commit"])
def test_after_losses_of_power_a_replay_goes_on_from_what_was_promised(
    chain, durability, replays, rng
):
    replay = replays(chain)
    often = ("--verify", "--checkpoint-interval", "0.02", "--durability", durability, *ROOT)
    longest = replay(*often, state="undisturbed")["seconds"]
    restored = losses = 0
    while restored < 2:
        assert losses < 100
        losses += 1
        ended = until_killed(replay.start(*often), rng.uniform(0, longest)).expect((0, -9))
        restored += "restored checkpoint" in ended.err
        if ended.code == 0:  # too late: once more from the begin
            shutil.rmtree(replay.state())
        elif (replay.state() / "checkpoint/published.0").exists():
            shutil.rmtree(replay.state() / "segment", ignore_errors=True)  # as memory is
    check_end(replay(*often), chain)


def test_several_signals_at_once_are_one(replays):
    replay = replays(STEEM)
    half = replay(state="undisturbed")["seconds"] / 2
    running = replay.start()
    time.sleep(half)
    for i in range(5):
        running.signal(signal.SIGTERM if i % 2 else signal.SIGINT)
    ended = running.wait(None).expect((0, 3))
    assert (ended.json["state_digest"] is None) == (ended.code == 3)  # else it was done before


def test_permlinks_that_are_taken_again_come_to_the_same_state_with_any_archive(
    driver, scratch, rng
):
    """Comments that were paid are deleted, in memory or in the archive, and others take their
    permlinks."""
    log = scratch / "log"
    options = ["--paid-percent", 100, "--transactions-per-block", 1, "--cash-out-percent", 1]
    mix = "comment=30,comment_delete=10,vote=20,custom=30,transfer=10"
    seed = rng.randrange(2**32)
    driver(
        *("generate", "--operations", 30000, "--seed", seed, "--to", log, "--mix", mix, *options)
    )
    replay = Replays(driver, scratch, None, log)
    expected = replay("--archive", "none", "--verify", state="none")
    assert expected["archived"]["comment"] == 0
    for archive in ("rocksdb", "memory"):
        call = ("--archive", archive, "--verify")
        for ended in killed_at_random(replay, 10, rng, *call, state=archive):
            if ended.code == 0:
                assert ended.json["state_digest"] == expected["state_digest"]
                assert ended.json["archived"]["comment"] > 1000
                assert ended.json["verified"]["objects"] == expected["verified"]["objects"]


# --- the digest of a state from outside is that of the driver ---


@each_chain
@pytest.mark.parametrize("archive", ["rocksdb", "memory", "none"])
def test_a_states_digest_from_outside_is_that_of_the_driver(
    chain, archive, replays, inspect, scratch
):
    replay = replays(chain)

    def outside(state, threads=2):
        return inspect.json("digest", state, "--threads", threads)["digest"]

    half = replay("--archive", archive, "--stop-at", 1000)
    assert outside(replay.state()) == half["state_digest"]
    replay()
    for threads in (1, 3):
        assert outside(replay.state(), threads) == chain.digest
    assert outside(f"{replay.state()}@checkpoint") == chain.digest
    shutil.rmtree(replay.state() / "segment")
    assert replay()["replayed_blocks"] == 0  # restored
    assert outside(replay.state()) == chain.digest


@pytest.mark.parametrize("archive", ["rocksdb", "memory", "none"])
def test_a_killed_drivers_state_has_the_digest_that_it_has_when_it_goes_on(
    archive, replays, inspect, rng
):
    replay = replays(STEEM)
    compared = 0
    for number in range(10):
        name = f"state{number}"
        until_killed(replay.start("--archive", archive, state=name), rng.uniform(0.02, 0.42))
        found = inspect("digest", replay.state(name), "--json", code=None)
        if found.code != 0 or not (replay.state(name) / "archive/format").exists():
            continue  # killed before it was made
        head = inspect("dump", replay.state(name), "applied_block").json_lines[1:-1]
        if not head:
            continue  # has nothing that it would open
        stop_at = head[-1]["applied_block"]["number"]
        there = replay("--stop-at", stop_at, state=name)
        assert there["replayed_blocks"] == 0
        assert there["state_digest"] == found.json["digest"]
        compared += 1
    assert compared > 0


# --- one disk of the driver's is full: of the checkpoints, of the archive, of the segment, of all ---


class Full:
    """A call of a verb that reads a block log, on a disk that gets full."""

    def __init__(self, replay, verb, state, *options):
        self.replay, self.state = replay, replay.state(state)
        call = replay.call(*options, state=state)
        self.call = [verb, *call[1:], *(["--once"] if verb == "sync" else [])]

    def run(self, *more, code=None):
        return self.replay.driver(*self.call, *more, code=code)

    def refused(self, *named):
        return self.check_refused(self.run(), *named)

    @staticmethod
    def check_refused(result, *named):
        result.expect(1).says("No space left on device", *named)
        assert result.out == ""
        return result

    def ends(self, *more):
        said = self.run(*more, code=0).json
        assert said["state_digest"] == self.replay.chain.digest
        return said


LEVELS = ("checkpoint", "commit")


def fill_checkpoints(full, disk, room):
    """Ends with 1, having told of each failure once, with no file that nobody needs."""
    checkpoints = full.state / "checkpoint"
    full.run("--stop-at", 1000, code=0)
    disk.take(checkpoints)
    disk.leave_room(room)
    result = full.refused(str(checkpoints / "pages"), " bytes for ")
    said = result.err
    for since_a_success in said.split("earlier attempts failed"):
        # One failure and another may alternate; numbers and hexadecimal digits are no difference.
        told = re.findall(r"checkpoint: (.*); the previous checkpoint stays", since_a_success)
        told = [re.sub("[0-9a-f]", "", one) for one in told]
        assert all(one != after for one, after in zip(told, told[1:])), told
    # The redo log can work and fail again, but does not say so block after block.
    failures = re.findall("; blocks after revision ([0-9]+) reach storage only", said)
    assert all(one != after for one, after in zip(failures, failures[1:])), result
    assert said.count("closing ") <= 1, result
    assert all(one.stat().st_size for one in checkpoints.iterdir()), result
    disk.make_room()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("room", [0, MIB, 8 * MIB])
def test_a_full_disk_for_checkpoints_the_replay_comes_to_its_end_and_is_not_closed(
    level, room, replays, small_disk
):
    often = ("--checkpoint-interval", "0.05", "--durability", level)
    full = Full(replays(STEEM), "replay", "state", *often)
    fill_checkpoints(full, small_disk, room)
    assert full.ends("--verify")["replayed_blocks"] == 0, "blocks were lost"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("room", [0, 6 * MIB])
def test_a_full_disk_for_checkpoints_and_a_machine_that_restarts_the_one_before_is_there(
    level, room, replays, small_disk
):
    often = ("--checkpoint-interval", "0.05", "--durability", level)
    full = Full(replays(STEEM), "replay", "state", *often)
    fill_checkpoints(full, small_disk, room)
    shutil.rmtree(full.state / "segment")
    full.ends("--verify")


@pytest.mark.parametrize(
    "verb, room",
    # Opening fails; writing the log, early and late; table files at the end.
    [*(("replay", room * KIB) for room in (0, 4, 24, 600, 1250, 1344, 1400)), ("sync", 100 * KIB)],
)
def test_a_full_disk_for_the_archive_the_block_before_stays_and_the_same_call_goes_on(
    verb, room, replays, small_disk
):
    full = Full(replays(STEEM), verb, "state")
    archive = full.state / "archive"
    full.run("--stop-at", 1000, code=0)
    small_disk.take(archive)
    small_disk.leave_room(room)
    result = full.run()
    if result.code == 0:  # table files can wait, the rows are in the log
        result.says("no written row is lost")
    else:
        full.check_refused(result, f"{archive}/")
    if 24 * KIB <= room <= 600 * KIB:
        result.says("The state stays at block ")
    full.refused(f"{archive}/")
    small_disk.make_room()
    full.ends()


@pytest.mark.parametrize(
    "verb, room",
    [
        *(("replay", room * KIB) for room in (64, 1024, 2048, 5120, 12288, 18432)),
        ("sync", 8 * MIB),
    ],
)
def test_full_shared_memory_the_block_before_stays_and_the_same_call_goes_on(
    verb, room, replays, small_disk
):
    full = Full(replays(STEEM), verb, "state", "--memory-folder", small_disk.path)
    small_disk.leave_room(room)
    for _ in range(2):
        result = full.refused(str(small_disk.path), "no space to ", "free space and try again")
        if room > MIB:
            result.says("The state stays at block ")
    small_disk.make_room()
    full.ends()


@pytest.mark.parametrize("room", [64 * KIB, *(room * MIB for room in (2, 4, 9, 17, 25))])
def test_a_full_disk_that_has_all_of_a_state(room, driver, scratch, small_disk):
    replay = Replays(driver, scratch, STEEM)
    replay.state = lambda name="state": small_disk.path / name
    full = Full(replay, "replay", "state", "--checkpoint-interval", "0.05")
    small_disk.leave_room(room)
    for _ in range(2):
        full.refused(f"{full.state}/")
    small_disk.make_room()
    full.ends("--verify")


@pytest.mark.parametrize("room", [room * MIB for room in (4, 9, 17)])
def test_a_full_disk_is_one_error(room, driver, scratch, small_disk):
    """Not one of the block, one of the checkpoint at the end and one of closing."""
    replay = Replays(driver, scratch, STEEM)
    replay.state = lambda name="state": small_disk.path / name
    full = Full(replay, "replay", "state")
    small_disk.leave_room(room)
    result = full.refused(f"{full.state}/", "free space and try again")
    assert result.err.count("[error]") == 1, result
    small_disk.make_room()
    full.ends()
