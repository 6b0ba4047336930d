"""compact, resize and repair: what they promise before they do it, and that nothing is lost."""

import os
import shutil
import time
from pathlib import Path

import pytest
from chains import STEEM, Replays
from disks import MIB, small_disk  # noqa: F401  a fixture
from programs import operations
from segment import PAGE, Segment, Writer, change, content, flip_bit, opens

SAMPLE = "account,post,token,marker"


def dump(inspect, state):
    """All objects as text, which is the same wherever they lie."""
    return inspect("dump", state).bytes


def files(state):
    """Contents, without the files that only say who looks."""
    return {name: data for name, data in content(state).items() if name != "lock"}


@pytest.fixture(scope="module")
def checkpointed_origin(session_scratch):
    """300 accounts of which every other one was removed, in a state that makes checkpoints."""
    state = session_scratch / "half"
    change(state, "account", "session", "create account 300", "block", "remove account 0 299 2",
           "commit", durability="checkpoint")
    return state


@pytest.fixture
def half(checkpointed_origin, scratch):
    return Path(shutil.copytree(checkpointed_origin, scratch / "half"))


def damage_links(state, id, by=4, folder=None):
    of = Segment(state, folder)
    of.flip("account.objects", of.links("account", "by_name", id) + by)


# --- compact ---


def test_compact_tells_what_it_would_give_and_gives_that_and_keeps_every_object(inspect, sample):
    state = sample("sample")
    before, untouched = dump(inspect, state), content(state)
    inspect("compact", state, code=2).says("--commit", "revision 9")
    told = inspect.json("compact", state, "--dry-run")
    assert content(state) == untouched
    assert told["done"] is False
    done = inspect.json("compact", state, "--commit")
    assert done["done"] is True
    assert dump(inspect, state) == before
    inspect("check", state)
    assert not (state / "segment.rebuilt").exists()
    parts = done["parts"]
    assert [(p["name"], p["before"], p["after"]) for p in parts] == [
        (p["name"], p["before"], p["after"]) for p in told["parts"]
    ]
    assert all(one["after"] <= one["before"] for one in parts)
    assert parts[-1]["name"] == "total"
    assert parts[-1]["after"] < parts[-1]["before"]
    total = inspect.json("stat", state)["total"]
    assert total["files"] - total["punched"] == parts[-1]["after"]
    assert opens(state)["revision"] == 12
    assert dump(inspect, state) == before


def test_what_compact_made_is_in_a_checkpoint_and_a_lost_segment_comes_back_from_it(inspect, half):
    before = dump(inspect, half)
    inspect("compact", half)
    inspect("check", "--checkpoint", half)
    length = (half / "segment/account.objects").stat().st_size
    shutil.rmtree(half / "segment")
    assert opens(half, "account", durability="checkpoint")["opened"] == "restored"
    assert dump(inspect, half) == before
    assert (half / "segment/account.objects").stat().st_size == length
    inspect("check", half)


def test_a_damaged_state_is_not_compacted(inspect, sample):
    state = sample("sample")
    of = Segment(state)
    of.write("token.ids", PAGE + 4 * 2700, 0)  # nothing but its key leads to the object then
    inspect("check", state, code=4)
    untouched = files(state)
    inspect("compact", state, "--commit", code=1).says("not sound")
    now = files(state)
    assert {name: now[name] for name in untouched} == untouched


def test_the_group_of_readers_stays_when_a_segment_is_made_anew(inspect, scratch):
    state = scratch / "state"
    change(state, "account", "session", "create account 10", "block", group=os.getegid())

    def modes():
        return [
            (one.stat().st_mode, one.stat().st_gid)
            for one in (state / "segment", state / "segment/account.objects")
        ]

    before = modes()
    inspect("compact", state, "--commit")
    assert modes() == before
    assert before[0][0] & 0o040


@pytest.mark.parametrize("verb", ["compact --commit", "resize --windows 500", "repair --yes"])
def test_a_state_that_is_open_or_was_left_by_a_kill_is_left_alone(inspect, sample, verb):
    state = sample("sample")
    verb, *more = verb.split()
    with Writer(state):
        inspect(verb, state, *more, code=1).says("open for writing")
    if verb == "compact":
        inspect(verb, state, *more, code=1).says("died")


def test_a_compaction_that_is_killed_at_any_moment_leaves_the_state_whole(inspect, scratch, rng):
    state = scratch / "state"
    change(state, "account", "session", "create account 20000", "block",
           "remove account 0 19999 2", "commit", durability="checkpoint")
    before = dump(inspect, state)
    for _ in range(operations(12)):
        running = inspect.start("compact", state, "--json")
        time.sleep(rng.uniform(0.01, 0.1))
        running.kill()
        assert opens(state, "account", durability="checkpoint")["objects"]["account"] == 10_000
        assert dump(inspect, state) == before
        inspect("check", state)


OTHER_AT_WORK = (
    "open for writing",
    "opened it for writing meanwhile",
    "segment.rebuilt.lock",
    "open it again",
    "/lock: ",
)


@pytest.mark.parametrize("second", ["compact", "repair --yes"])
def test_two_calls_at_once_leave_the_state_whole_and_the_same(inspect, scratch, second, rng):
    state = scratch / "state"
    change(state, "account", "session", "create account 20000", "block",
           "remove account 0 19999 2", "commit", durability="checkpoint")
    before = dump(inspect, state)
    verb, *more = second.split()
    for _ in range(operations(10)):
        a = inspect.start("compact", state)
        time.sleep(rng.uniform(0, 0.12))
        b = inspect.start(verb, state, *more)
        results = [a.wait(None), b.wait(None)]
        assert 0 in [one.code for one in results], results
        for one in results:
            assert one.code == 0 or (
                one.code == 1 and any(words in one.both for words in OTHER_AT_WORK)
            ), one
        remains = [
            one.name
            for one in state.iterdir()
            if one.name.startswith("segment.") and one.name != "segment.rebuilt.lock"
        ]
        assert remains == []
        assert dump(inspect, state) == before
        inspect("check", state)
        inspect("check", state, "--checkpoint")
        opened = opens(state, "account", durability="checkpoint")
        assert (opened["opened"], opened["objects"]["account"]) == ("attached", 10_000)


def held(file):
    found = file.stat()
    return min(found.st_size, 512 * found.st_blocks)


def held_of(state, prefix=""):
    return sum(
        held(one)
        for one in (state / "segment").iterdir()
        if one.name.startswith(prefix) and one.name != "catalogue.json"
    )


def part(report, name):
    return next(one for one in report["parts"] if one["name"] == name)


def test_ids_that_no_object_has_are_holes_after_compact(inspect, on_disk):
    state = on_disk / "state"
    change(state, "account", "session", "create account 200000", "block",
           "remove account 100 99999", "remove account 100001 199998", "commit")
    ids = state / "segment/account.ids"
    before = dump(inspect, state)
    assert held(ids) > 200_000 * 4 / 2

    def require_told():
        untouched = content(state)
        told = inspect.json("compact", state, "--dry-run")
        assert part(told, "account")["before"] == held_of(state, "account.")
        assert part(told, "total")["before"] == held_of(state)
        assert part(told, "buffers")["before"] == held_of(state, "buffers.")
        assert part(told, "undo log")["before"] == held(state / "segment/undo_log")
        assert content(state) == untouched
        return told

    require_told()
    done = inspect.json("compact", state, "--commit")
    assert ids.stat().st_size >= PAGE + 200_000 * 4
    assert held(ids) <= 4 * PAGE  # the header, and where the three groups of ids are
    assert part(done, "account")["after"] == held_of(state, "account.")
    assert part(done, "total")["after"] == held_of(state)
    assert part(done, "account")["after"] < part(done, "account")["before"]
    assert dump(inspect, state) == before
    inspect("check", state)
    # Holes that are there already.
    told = require_told()
    assert part(told, "account")["after"] == part(told, "account")["before"]
    assert part(told, "total")["after"] == part(told, "total")["before"]
    opened, *_ = change(state, "account", "say", "set account 100000 visits 3",
                        "create account 2048", "commit")
    assert opened["objects"]["account"] == 102
    inspect("get", state, "account", "id", "50000", code=1)
    require_told()
    assert dump(inspect, state) != before
    inspect("check", state)


# --- resize ---


def test_resize_changes_how_far_a_state_can_grow_also_after_a_restore(inspect, half):
    before = dump(inspect, half)
    now = inspect.json("resize", half)
    assert now["done"] is False
    window = now["window_bytes"]
    done = inspect.json("resize", half, "--windows", "77", "--window-bytes", str(2 * window))
    assert (done["done"], done["window_bytes_before"]) == (True, window)

    def limits():
        header = inspect.json("stat", half)["header"]
        return header["windows"], header["window_bytes"]

    assert limits() == (77, 2 * window)
    assert dump(inspect, half) == before
    inspect("check", half)
    shutil.rmtree(half / "segment")
    change(half, "account", "session", "create account 10", "block", durability="checkpoint")
    assert limits() == (77, 2 * window)
    inspect("check", half)


def test_resize_moves_a_segment_that_has_outgrown_its_memory_to_the_disk(
    inspect, driver, scratch, small_disk
):
    replay = Replays(driver, scratch, STEEM)
    replay("--stop-at", 20000, "--memory-folder", small_disk.path)
    state = replay.state()
    inspect("compact", state, "--commit")  # nothing can be undone any more
    before = dump(inspect, state)
    assert inspect.json("resize", state, "--windows", "400")["moved"] is None
    assert not (state / "segment").exists()
    small_disk.leave_room(100 * MIB)
    told = inspect.json("resize", state, "--windows", "500", "--dry-run")
    assert told["moved"] is None and not (state / "segment").exists()
    done = inspect("resize", state, "--windows", "500")
    done.says("its segment moves from", f"to {state}: ", "MiB left")
    assert "stays where it is" not in done.both
    assert (state / "segment").exists() and os.listdir(small_disk.path) == ["ballast"]
    assert inspect.json("stat", state)["header"]["windows"] == 500
    assert dump(inspect, state) == before
    inspect("check", state)
    inspect("check", state, "--checkpoint")


def test_resize_refuses_what_does_not_hold_the_state(inspect, sample):
    state = sample("sample")
    untouched = content(state)
    inspect("resize", state, "--windows", "20", code=2).says("in use already")
    inspect("resize", state, "--window-bytes", "4096", code=2).says("2 MiB")
    inspect("resize", state, "--windows", "500", code=2).says("can still be undone")
    inspect("resize", state, "--windows", "500", "--dry-run")
    inspect("resize", state, "--windows", "500000000", code=2)
    assert content(state) == untouched


# --- repair ---


def test_repair_mends_broken_links_when_told_to_and_keeps_what_was_damaged(inspect, sample):
    state = sample("sample")
    before = dump(inspect, state)
    damage_links(state, 499)
    inspect("check", state, code=4)
    untouched = content(state)
    plan = inspect("repair", state, code=4)
    plan.says("nothing was changed", "--from objects", "account.objects")
    assert content(state) == untouched
    done = inspect.json("repair", state, "--yes")
    assert (done["repaired"], done["way"]) == (True, "objects")
    assert done["objects"]["lost"] == 0
    inspect("check", state)
    assert dump(inspect, state) == before
    assert done["kept_as"] == f"{state}/segment.damaged.1"
    assert Path(done["kept_as"], "account.objects").exists()
    inspect("repair", state)
    inspect("repair", state, "--yes", code=None).says("is damaged")
    opens(state)
    assert dump(inspect, state) == before


def test_repair_leaves_files_that_opening_refuses_to_who_may_change_them(inspect, sample):
    state = sample("sample")
    file = state / "segment/account.ids"
    file.chmod(file.stat().st_mode | 0o004)
    inspect("check", state, code=1)
    for how in ([], ["--yes"]):
        inspect("repair", state, *how, code=1).says("refused: ", str(file))
        report = inspect("repair", state, *how, "--json", code=1).json
        assert (len(report["refused"]), report["repaired"]) == (1, False)


def test_repair_takes_the_checkpoint_when_that_has_all_there_was(inspect, half):
    before = dump(inspect, half)
    damage_links(half, 101, 8)
    plan = inspect("repair", half, "--json", code=4).json
    assert plan["way"] == "checkpoint"
    assert plan["checkpoint"]["revision"] == plan["objects"]["revision"]
    done = inspect.json("repair", half, "--yes")
    assert done["repaired"] is True
    inspect("check", half)
    assert dump(inspect, half) == before
    assert (half / "segment.damaged.1").exists()


def test_repair_takes_the_other_way_when_it_is_named(inspect, half):
    before = dump(inspect, half)
    damage_links(half, 101, 8)
    done = inspect.json("repair", half, "--yes", "--from", "objects")
    assert done["way"] == "objects"
    inspect("check", half)
    assert dump(inspect, half) == before
    inspect("check", "--checkpoint", half)


@pytest.mark.parametrize("way", ["objects", "checkpoint"])
def test_repair_keeps_a_damaged_segment_in_memory_beside_its_home(inspect, scratch, way):
    state, memory = scratch / "state", scratch / "memory"
    memory.mkdir()
    change(state, "account", "session", "create account 100", "block", durability="checkpoint",
           memory=memory)
    before = dump(inspect, state)
    (home,) = memory.iterdir()
    damage_links(state, 49, 0, home / "segment")
    done = inspect.json("repair", state, "--yes", "--from", way)
    assert done["way"] == way
    assert done["kept_as"] == f"{home}.damaged.1"
    assert Path(done["kept_as"], "account.objects").exists()
    inspect("check", state)
    assert dump(inspect, state) == before
    inspect("compact", state, "--commit")
    assert dump(inspect, state) == before


def test_repair_makes_damaged_checkpoints_again_of_a_segment_that_is_sound(inspect, half):
    before = dump(inspect, half)
    pages = half / "checkpoint/pages"
    for at in range(PAGE + 9, pages.stat().st_size, PAGE):
        flip_bit(pages, 8 * at)
    inspect("check", "--checkpoint", half, code=4)
    untouched = content(half)
    inspect("repair", half, code=4)
    assert content(half) == untouched
    done = inspect.json("repair", half, "--yes")
    assert done["way"] == "checkpoints"
    assert done["kept_as"] == f"{half}/checkpoint.damaged.1"
    assert (half / "checkpoint.damaged.1/pages").exists()
    inspect("check", "--checkpoint", half)
    inspect("repair", half)
    inspect("check", half)
    shutil.rmtree(half / "segment")
    opens(half, "account", durability="checkpoint")
    assert dump(inspect, half) == before


def test_checkpoints_of_another_state_are_found_and_made_again(inspect, half, scratch):
    before = dump(inspect, half)
    change(scratch / "other", "account", "session", "create account 900", "block", "commit",
           durability="checkpoint")
    shutil.rmtree(half / "checkpoint")
    shutil.copytree(scratch / "other/checkpoint", half / "checkpoint")
    inspect("check", half, code=4).says("the checkpoints are of another state than the segment")
    done = inspect.json("repair", half, "--yes")
    assert done["way"] == "checkpoints"
    inspect("check", half)
    inspect("check", "--checkpoint", half)
    assert dump(inspect, half) == before


def test_repair_says_what_to_do_when_neither_way_is_open(inspect, sample):
    state = sample("sample")
    flip_bit(state / "segment/header", 8 * 30 + 5)
    inspect("repair", state, "--yes", code=4).says("replay into a new folder")
    inspect("repair", state, "--from", "checkpoint", code=2)


@pytest.mark.parametrize("has_checkpoint", [True, False])
def test_repair_and_a_rescue_say_when_nobody_knows_what_the_objects_are(
    inspect, sample, half, scratch, has_checkpoint
):
    state = half if has_checkpoint else sample("sample")
    before = dump(inspect, state)
    (state / "segment/catalogue.json").write_text("[]")
    inspect("check", state, code=4)
    untouched = content(state)
    file = scratch / "dump"
    inspect("dump", state, "--rescue", "--output", file, code=1).says("catalogue.json")
    assert not file.exists()
    plan = inspect("repair", state, "--json", code=4).json
    assert "catalogue.json" in plan["why_no_objects"]
    assert plan["objects"] is None
    assert plan["way"] == ("checkpoint" if has_checkpoint else "none")
    assert content(state) == untouched
    inspect("repair", state, "--yes", code=0 if has_checkpoint else 4)
    if has_checkpoint:
        inspect("check", state)
        assert dump(inspect, state) == before
    else:
        now = content(state)
        assert {name: now[name] for name in untouched} == untouched
