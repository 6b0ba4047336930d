"""chainbase-inspect backup: the copy is the state at its newest block, whoever writes it meanwhile,
and there is a whole one or none."""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from chains import STEEM, Replays
from disks import KIB, MIB, small_disk  # noqa: F401  a fixture
from kills import until_killed
from segment import Header, Stay, Writer, change, content, opens, restart_the_machine

SAMPLE = "account,post,token,marker"
OFTEN = {"CHAINBASE_PROGRESS_SECONDS": "0.0001"}


@pytest.fixture
def copied(inspect, scratch):
    def of(state, *more, to="copy"):
        return inspect.json("backup", state, "--to", scratch / to, *more)

    return of


@pytest.fixture(scope="module")
def large_origin(session_scratch):
    """Some 40 MB."""
    state = session_scratch / "large"
    change(state, "account,post", "session", "create account 100000", "create post 30000", "block")
    return state


@pytest.fixture
def large(large_origin, scratch):
    return Path(shutil.copytree(large_origin, scratch / "large"))


def digest(inspect, state):
    return inspect.json("digest", state)["digest"]


def left(folder):
    return sorted(path.name for path in folder.iterdir())


# --- closed states ---


@pytest.mark.parametrize("what", ["sample", "holes", "many", "fields", "rooted", "checkpointed"])
def test_a_copy_of_a_closed_state_has_its_objects_and_is_sound(what, inspect, samples, copied, scratch):
    state = samples(what)
    before = content(state)
    made = copied(state)
    assert content(state) == before
    inspect("diff", state, scratch / "copy")
    inspect("check", scratch / "copy")
    assert digest(inspect, state) == digest(inspect, scratch / "copy")
    report = inspect.json("digest", state)
    assert made["revision"] == report["revision"]
    assert made["objects"] == sum(one["rows"] for one in report["types"])
    assert made["types"] == len(report["types"])
    assert made["beside_writer"] is False
    assert (made["backup"], made["state"]) == (str(scratch / "copy"), str(state))
    assert 0 < made["bytes"] < 2 * sum(f.stat().st_size for f in (state / "segment").iterdir())
    assert left(scratch) == ["copy"]


def test_a_copy_can_be_written_on_and_nothing_before_it_undone(inspect, samples, copied, scratch):
    copied(samples("sample"))
    copy = scratch / "copy"
    assert inspect.json("undo", copy)["sessions"] == []
    assert opens(copy)["revision"] == 12
    before = digest(inspect, copy)
    change(copy, SAMPLE, "session", "create account 3000", "remove account 0 299", "create post 50",
           "undo")
    assert digest(inspect, copy) == before
    change(copy, SAMPLE, "session", "create account 3000", "set account 5 visits 77", "block",
           "commit", "compact")
    inspect("check", copy)


def test_a_copy_is_believed_after_a_restart_of_the_machine(inspect, samples, copied, scratch):
    state = samples("sample")
    copied(state)
    before = digest(inspect, scratch / "copy")
    restart_the_machine(scratch / "copy")
    assert opens(scratch / "copy")["opened"] == "attached"
    assert digest(inspect, scratch / "copy") == before


def test_the_readers_group_of_the_state_is_that_of_the_copy(inspect, copied, scratch):
    state = scratch / "state"
    change(state, "account", "session", "create account 10", "block", group=os.getegid())
    copied(state)

    def modes(of):
        return [(one.stat().st_mode, one.stat().st_gid)
                for one in (of, of / "segment", of / "segment/account.objects")]

    assert modes(scratch / "copy") == modes(state)


# --- beside a writer ---


def test_beside_a_writer_it_is_of_the_block_at_which_it_began(inspect, large, scratch):
    with Stay(large, "account,post") as writer:
        writer.step("session")
        writer.step("set account 3 balance 33")
        writer.step("push")
        writer.step("session")  # not a block yet
        writer.step("set account 4 balance 44")
        before = inspect.json("digest", large)
        copying = inspect.start("backup", large, "--to", scratch / "copy", "--json", env=OFTEN)
        copying.wait_for("copying", "err")
        copying.signal(signal.SIGSTOP)  # so it is not done when the writer goes on
        writer.step("push")
        for block in range(5):
            writer.step("session")
            writer.step("create account 2000")
            writer.step(f"set post {block} body {'so much longer ' * 300}")
            writer.step(f"remove account {block * 1000} {block * 1000 + 900}")
            writer.step("push")
        writer.step("pop")
        writer.step("pop")
        now = inspect.json("digest", large)
        copying.signal(signal.SIGCONT)
        made = copying.wait().json
    assert made["beside_writer"] is True
    assert made["revision"] == before["revision"] == 2
    assert digest(inspect, scratch / "copy") == before["digest"] != now["digest"]
    inspect("check", scratch / "copy")


def test_when_its_block_is_undone_it_begins_again_at_the_newest(inspect, large, scratch):
    with Stay(large, "account,post") as writer:
        for attempt in range(10):  # on a busy machine it may be done before it is stopped
            for balance in (33, 44):
                writer.step("session")
                writer.step(f"set account 3 balance {balance + attempt}")
                writer.step("push")
            copying = inspect.start("backup", large, "--to", scratch / "copy", "--json", env=OFTEN)
            copying.wait_for("copying", "err")
            copying.signal(signal.SIGSTOP)
            writer.step("pop")
            now = inspect.json("digest", large)
            copying.signal(signal.SIGCONT)
            made = copying.wait().json
            if made["revision"] == now["revision"]:
                break
            shutil.rmtree(scratch / "copy")
    assert made["revision"] == now["revision"]
    assert digest(inspect, scratch / "copy") == now["digest"]


def test_copies_beside_a_random_writer_are_sound_and_go_on(inspect, sample, copied, scratch):
    state = sample("sample")
    with Writer(state):
        for number in range(8):
            made = copied(state, to=f"copy{number}")
            assert made["beside_writer"] is True
            inspect("check", scratch / f"copy{number}")
            assert inspect.json("undo", scratch / f"copy{number}")["sessions"] == []
    assert opens(scratch / "copy7")["revision"] == made["revision"]


# --- archives ---


def test_rows_in_files_of_an_archive_are_refused_or_left_out(inspect, samples, copied, scratch):
    state = samples("notes.rocksdb")
    refused = inspect("backup", state, "--to", scratch / "copy", code=2)
    refused.says("chainbase-driver backup", "--without-archive")
    assert left(scratch) == []
    copied(state, "--without-archive")
    assert not (scratch / "copy/archive").exists()
    inspect("archive", scratch / "copy", code=(0, 1, 4))
    assert inspect.json("count", scratch / "copy", "note") == {
        **inspect.json("count", state, "note"), "state": str(scratch / "copy")
    }


@pytest.mark.parametrize("archive", ["memory", "none"])
def test_a_replay_goes_on_from_a_copy_whose_archive_has_no_files(archive, inspect, driver, scratch):
    replay = Replays(driver, scratch, STEEM)
    replay("--archive", archive, "--stop-at", 80000)
    inspect("backup", scratch / "state", "--to", scratch / "copy")
    inspect("check", scratch / "copy")
    ends = [replay("--verify", state=name)["state_digest"] for name in ("state", "copy")]
    assert ends == [STEEM.digest] * 2
    inspect("check", scratch / "copy")


# --- what goes wrong ---


def test_wrong_calls_make_nothing(inspect, samples, scratch):
    state = samples("sample")
    taken, inside = scratch / "taken", state / "copy"
    taken.mkdir()
    inspect("backup", state, "--to", taken, code=2).says("exists already")
    assert left(taken) == []
    inspect("backup", state, "--to", inside, code=2).says("lies within the state")
    inspect("backup", state, code=2).says("--to")
    inspect("backup", scratch / "none", "--to", scratch / "copy", code=1).says("check the path")
    inspect("backup", f"{state}@checkpoint", "--to", scratch / "copy", code=2)
    inspect("backup", state, "--to", scratch / "no/copy", code=1)
    (scratch / "copy.unfinished").mkdir()
    (scratch / "copy.unfinished/mine").write_text("mine")
    inspect("backup", state, "--to", scratch / "copy", code=2).says("not left by an earlier call")
    assert left(scratch) == ["copy.unfinished", "taken"]
    assert "copy" not in left(state) and "copy.unfinished" not in left(state)


def test_what_a_dead_writer_left_is_refused(inspect, sample, scratch):
    state = sample("damageable")
    inspect("backup", state, "--to", scratch / "copy", code=1).says("the last writer died")
    assert left(scratch) == ["state"]


def test_a_file_that_was_cut_is_named(inspect, sample, scratch):
    state = sample("sample")
    Header(state).set(clean=1)
    file = state / "segment/account.objects"
    os.truncate(file, file.stat().st_size // 8192 * 4096)
    said = inspect("backup", state, "--to", scratch / "copy", code=1)
    said.says("account.objects", "run chainbase-inspect check")
    assert left(scratch) == ["state"]


def test_a_full_disk_ends_it_with_1_and_nothing_left(inspect, large, small_disk):  # noqa: F811
    to = small_disk.path / "copy"
    inspect("backup", large, "--to", to)
    whole = sum(f.stat().st_blocks * 512 for f in to.rglob("*"))
    shutil.rmtree(to)
    codes = set()
    for room in (64 * KIB, 4 * MIB, *(whole + at * 100 * KIB for at in (-40, -10, -2, 0, 10, 30))):
        small_disk.leave_room(room)
        result = inspect("backup", large, "--to", to, code=None)
        codes.add(result.code)
        assert result.code == (0 if to.exists() else 1), result
        if result.code:
            result.says("space")
        else:
            inspect("check", to)
            shutil.rmtree(to)
        assert not Path(f"{to}.unfinished").exists()
        small_disk.make_room()
    assert codes == {0, 1}


def test_killed_at_any_moment_it_leaves_no_copy_or_a_whole_one(inspect, large, scratch, rng):
    begin = time.monotonic()
    inspect("backup", large, "--to", scratch / "first")
    takes = time.monotonic() - begin
    ended = 0
    for _ in range(10):
        until_killed(inspect.start("backup", large, "--to", scratch / "copy"), rng.uniform(0, takes))
        if (scratch / "copy").exists():
            inspect("check", scratch / "copy")
            shutil.rmtree(scratch / "copy")
        else:
            ended += 1
    assert ended > 0
    inspect("backup", large, "--to", scratch / "copy")
    inspect("diff", large, scratch / "copy")
    assert left(scratch) == ["copy", "first", "large"]


def test_a_signal_ends_it_with_3_and_nothing_left(inspect, large, scratch):
    copying = inspect.start("backup", large, "--to", scratch / "copy", env=OFTEN)
    copying.wait_for("copying", "err")
    copying.signal(signal.SIGTERM)
    copying.wait(3)
    assert left(scratch) == ["large"]
