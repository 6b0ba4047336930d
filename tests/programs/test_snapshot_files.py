"""chainbase-inspect snapshot: a state as files that are proven, compared, and loaded elsewhere; and what
kills, full disks and damage leave of them."""

import gzip
import io
import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import time

import disks
import pytest
import segment
from block_logs import checksum
from chains import STEEM, Replays
from disks import KIB, MIB, small_disk  # noqa: F401  a fixture
from forked_nodes import forked_node
from kills import until, until_killed
from lossy_disk import OnMachine, machine, sync_folder  # noqa: F401  a fixture
from peers import serve, sync_call
from programs import operations
from segment import Stay, change

READ_ONLY, REMOUNT = 1, 32  # of mount


class Snapshots:
    """What the verbs print with --json."""

    def __init__(self, inspect):
        self.inspect = inspect

    def call(self, verb, *more, code=0, **how):
        return self.inspect("snapshot", verb, *more, code=code, **how)

    def write(self, state, to, *more):
        return self.call("write", state, "--to", to, *more, "--json").json

    def load(self, snapshot, to, *more):
        return self.call("load", snapshot, "--to", to, *more, "--json").json

    def verify(self, snapshot, *more, code=0):
        return self.call("verify", snapshot, *more, "--json", code=code).json

    def diff(self, a, b, *more, code=5):
        return self.call("diff", a, b, *more, "--json", code=code).json["types"]


@pytest.fixture
def snapshot(inspect):
    return Snapshots(inspect)


@pytest.fixture
def same(inspect):
    """Requires that a loaded state is sound and has the objects of another one."""

    def check(state, loaded):
        inspect("check", loaded)
        a, b = (inspect.json("digest", one) for one in (state, loaded))
        assert (a["digest"], a["revision"]) == (b["digest"], b["revision"])

    return check


def manifest(folder):
    return (folder / "manifest").read_bytes()


def files(folder):
    return {one.name: one.read_bytes() for one in (folder / "chunks").iterdir()}


def left(folder):
    return sorted(one.name for one in folder.iterdir())


def tokens(folder, count=60000, *steps):
    """A state of no computed key; 60,000 make some chunks' worth of changes, and one chunk."""
    change(folder, "token,label", f"create token {count}", "create label 2000", *steps)
    return folder


@pytest.fixture
def large(scratch):
    """Some chunks of most bytes, so that a kill comes in between."""
    state = scratch / "large"
    change(state, "label,token", "create label 700000", "create token 300000")
    return state


# --- a state and back ---


@pytest.mark.parametrize("kind", ["rocksdb", "memory", "none"])
def test_a_replayed_state_is_loaded_and_replayed_on(kind, inspect, driver, snapshot, scratch, same):
    replay = Replays(driver, scratch, STEEM)
    made = replay("--archive", kind, "--state-root", "all", "--stop-at", 60000)
    whole = replay("--archive", "none", "--stop-at", 70000, state="whole")["state_digest"]
    written = snapshot.write(replay.state(), scratch / "s")
    assert written["block"]["number"] == 60000
    assert written["state_root"] == made["state_root"]["root"]
    assert (written["chain"], written["archive"]) == (STEEM, kind)
    assert sum(one["archived"] for one in inspect.json("snapshot", "info", scratch / "s")["types"]) == (
        made["archived"]["comment"]
    )
    snapshot.verify(scratch / "s", "--trusted-root", made["state_root"]["root"])
    for to in ("rocksdb", "memory", "none"):
        name = f"loaded-{to}"
        if to == "none" and kind != "none":
            snapshot.call("load", scratch / "s", "--to", scratch / name, "--archive", to, code=2).says(
                "rows of an archive"
            )
            assert not replay.state(name).exists()
            continue
        loaded = snapshot.load(scratch / "s", replay.state(name), "--archive", to)
        assert loaded["archived"] == made["archived"]["comment"]
        assert loaded["objects"] + loaded["archived"] == written["objects"]
        same(replay.state(), replay.state(name))
        root = inspect.json("root", replay.state(name), "--verify")
        assert root["root"] == made["state_root"]["root"]
        again = snapshot.write(replay.state(name), scratch / f"again-{to}")
        if to == kind:
            assert again["name"] == written["name"]
        else:
            assert again["state_root"] == written["state_root"]
        on = replay("--stop-at", 70000, "--verify-roots", state=name)
        assert on["state_digest"] == whole
        assert on["archive"]["store"] == to


@pytest.mark.parametrize("what", ["many", "fields", "notes.rocksdb", "notes.memory", "notes.none"])
def test_states_of_every_kind_of_field_come_back(what, samples, snapshot, scratch, same):
    state = samples(what)
    written = snapshot.write(state, scratch / "s")
    snapshot.verify(scratch / "s", "--trusted-name", written["name"])
    loaded = snapshot.load(scratch / "s", scratch / "to")
    assert loaded["objects"] + loaded["archived"] == written["objects"]
    same(state, scratch / "to")
    assert snapshot.write(scratch / "to", scratch / "again")["name"] == written["name"]


@pytest.mark.parametrize("kind", ["rocksdb", "memory"])
def test_rows_that_the_archive_still_has_of_removed_objects_come_along(
    kind, inspect, snapshot, scratch, same, seed
):
    state, to = scratch / "from", scratch / "to"
    change(state, "note", f"some_notes {seed}", archive=kind)
    rows = inspect.json("archive", state)["rows"]
    written = snapshot.write(state, scratch / "s")
    note = next(one for one in inspect.json("snapshot", "info", scratch / "s")["types"] if
                one["name"] == "note")
    assert note["removed"] > 0
    assert snapshot.load(scratch / "s", to)["archived"] == note["archived"] + note["removed"]
    same(state, to)
    assert inspect.json("archive", to)["rows"] == rows
    assert inspect.json("archive", to)["findings"] == []
    assert snapshot.write(to, scratch / "again")["name"] == written["name"]
    steps = ("notes", "notes by_weight", "notes by_author al", "hand_over", "notes_digest")
    assert change(state, "note", *steps, archive=kind) == change(to, "note", *steps, archive=kind)
    inspect("check", to)


def test_random_objects_and_none_come_back(snapshot, inspect, scratch, same, seed):
    change(scratch / "from", "everything,measured,account,post", f"everything {seed} 3000",
           "measured 0.1 -0.0 inf 5e-324 3.3")
    snapshot.write(scratch / "from", scratch / "s")
    snapshot.load(scratch / "s", scratch / "to")  # account has a computed key, and no object
    same(scratch / "from", scratch / "to")
    assert inspect("dump", scratch / "to").bytes == inspect("dump", scratch / "from").bytes
    change(scratch / "to", "account,post", "create account 3", "create post 3")
    inspect("check", scratch / "to")
    change(scratch / "none", "account,post,token")
    written = snapshot.write(scratch / "none", scratch / "s.none")
    assert (written["objects"], written["chunks"], written["bytes"]) == (0, 0, 0)
    snapshot.verify(scratch / "s.none")
    snapshot.load(scratch / "s.none", scratch / "none.loaded")
    same(scratch / "none", scratch / "none.loaded")


def test_a_type_whose_key_a_function_computes_is_told_of_and_not_loaded(samples, snapshot, scratch):
    snapshot.call("write", samples("sample"), "--to", scratch / "s").says(
        "account.by_distance", "not loaded"
    )
    for call in (["--to", scratch / "to"], ["--to", scratch / "to", "--drop", "token"]):
        snapshot.call("load", scratch / "s", *call, code=2).says("account.by_distance", "backup")
    dry = snapshot.call("load", scratch / "s", "--dry-run", "--json", code=5).json
    failing = {one["type"]: one["failing"] for one in dry["types"]}
    assert failing["account"] == 1000 and failing["token"] == 0
    snapshot.load(scratch / "s", scratch / "to", "--drop", "account")
    assert left(scratch) == ["s", "to"]


# --- one state, one snapshot ---


def test_threads_places_of_objects_and_a_history_of_undone_blocks_change_no_byte(
    snapshot, inspect, samples, scratch
):
    state = samples("many")
    for threads in (1, 2, 4):
        snapshot.write(state, scratch / f"s{threads}", "--threads", threads)
        assert manifest(scratch / f"s{threads}") == manifest(scratch / "s1")
        assert files(scratch / f"s{threads}") == files(scratch / "s1")
    a, b = scratch / "a", scratch / "b"
    change(a, "token,label", "session", "create token 3000", "create label 50", "remove token 0 999",
           "block")
    change(b, "token,label", "session", "create token 3000", "create label 50", "undo")
    change(b, "token,label", "session", "create token 500", "create label 50", "push", "pop",
           "session", "create label 50", "create token 3000", "remove token 100 999", "session",
           "remove token 0 99", "squash", "block", "compact")
    for one in (a, b):
        snapshot.write(one, one.with_suffix(".s"))
    assert manifest(a.with_suffix(".s")) == manifest(b.with_suffix(".s"))


def test_nodes_that_were_killed_popped_blocks_or_began_with_a_snapshot_write_the_same(
    driver, snapshot, scratch, rng, seed
):
    log = scratch / "log"
    driver("generate", "--operations", "20000", "--accounts", "500", "--seed", seed, "--to", log,
           "--forks", "15", "--fork-depth", "5", "--bad-forks", "10")
    server = serve(driver, log, "--forks", f"{log}.forks")
    calm = serve(driver, log)

    def sync(name, *more, address=server.address):
        return driver(*sync_call(scratch / name, address), "--archive", "none", *more)

    def name_of(state):
        return snapshot.write(scratch / state, scratch / f"{state}.s")["name"]

    sync("straight", address=calm.address)
    for _ in range(5):
        call = [*sync_call(scratch / "killed", server.address), "--archive", "none"]
        until_killed(driver.start(*call), rng.uniform(0.05, 0.5))
    sync("killed")
    sync("early", "--stop-at", 100, address=calm.address)
    snapshot.write(scratch / "early", scratch / "early.s")
    snapshot.load(scratch / "early.s", scratch / "loaded")
    sync("loaded")
    assert len({name_of(one) for one in ("straight", "killed", "loaded")}) == 1


def test_replays_in_other_steps_have_the_same_root_and_chunks_of_all_objects_it_commits_to(
    driver, snapshot, inspect, scratch
):
    replay = Replays(driver, scratch, STEEM)
    how = ["--archive", "none", "--state-root", "all"]
    replay(*how, "--stop-at", 60000, state="a")
    for stop in (20000, 33333, 60000):
        replay(*how, "--stop-at", stop, state="b")
    a, b = (inspect.json("snapshot", "info", scratch / f"{one}.s") for one in "ab" if
            snapshot.write(scratch / one, scratch / f"{one}.s"))
    assert a["state_root"] == b["state_root"]
    committed = [[one for one in of["types"] if one["committed"]] for of in (a, b)]
    assert committed[0] == committed[1] and len(committed[0]) == 4
    assert a["revision"] != b["revision"] and a["name"] != b["name"]
    differ = {one["type"] for one in snapshot.diff(scratch / "a.s", scratch / "b.s")}
    assert differ <= {"applied_block", "block_root", "comment.retired", "state_root.recorded"}
    replay("--archive", "rocksdb", "--state-root", "all", "--stop-at", 60000, state="c")
    snapshot.write(scratch / "c", scratch / "c.s")
    found = {one["type"]: one for one in snapshot.diff(scratch / "a.s", scratch / "c.s")}
    comment = found["comment"]
    assert comment["placed"] == sum(
        one["archived"] for one in inspect.json("snapshot", "info", scratch / "c.s")["types"]
    )
    assert comment["placed"] > 1000
    assert (comment["changed"], comment["only_first"], comment["only_other"]) == (0, 0, 0)


# --- beside a writer ---


def test_beside_a_node_on_many_branches_it_is_of_one_block(
    driver, inspect, snapshot, scratch, seed, same
):
    node = forked_node(driver, inspect, scratch, seed, 500)
    known, taken = {}, []
    while len(taken) < 6:
        node.be_at_work()
        to = scratch / f"s{len(taken)}"
        made = snapshot.call("write", node.state, "--to", to, "--json", code=None)
        if made.code:
            assert made.code == 6 or not node.running.is_running, made
            shutil.rmtree(to, ignore_errors=True)
            continue
        taken.append((to, made.json))
    node.finish()
    for line in driver("roots", scratch / "replayed").out.splitlines():
        if not line.startswith("#"):
            known[int(line.split()[0])] = line.split()[1]
    in_chain = 0
    for to, made in taken:
        snapshot.verify(to, "--trusted-root", made["state_root"])
        snapshot.load(to, to.with_suffix(".state"))
        inspect("check", to.with_suffix(".state"))
        root = inspect.json("root", to.with_suffix(".state"), "--verify")
        assert root["root"] == made["state_root"]
        if not made["block"] or known.get(made["block"]["number"]) != made["state_root"]:
            continue  # of no block yet, or of a branch that lost
        in_chain += 1
        until_there = scratch / f"until{in_chain}"
        replayed = driver.json("replay", "--block-log", scratch / "log", "--state", until_there,
                               "--stop-at", made["block"]["number"])
        digest = inspect.json("digest", to.with_suffix(".state"))["digest"]
        assert digest == replayed["state_digest"]
    assert in_chain > 0


@pytest.mark.parametrize("kind", ["rocksdb", "memory", "none"])
def test_beside_a_replay_at_full_speed_it_is_whole_or_not_there(
    kind, driver, inspect, snapshot, scratch
):
    replay = Replays(driver, scratch, STEEM)
    codes = []
    running = replay.start("--archive", kind, "--state-root", "all")
    until((replay.state() / "segment/header").exists, running)
    while running.is_running:
        to = scratch / f"s{len(codes)}"
        made = snapshot.call("write", replay.state(), "--to", to, "--json", code=None)
        codes.append(made.code)
        assert (to / "manifest").exists() == (made.code == 0)
        if made.code == 0:
            assert not list(scratch.glob("*.copy*"))
            snapshot.verify(to, "--trusted-name", made.json["name"])
        elif made.code not in (1, 2):
            assert made.code == 6 and "its writer changes it too fast" in made.err, made
    running.wait()
    made = [n for n, code in enumerate(codes) if code == 0]
    for n in made[-1:]:
        snapshot.load(scratch / f"s{n}", scratch / "to")
        inspect("check", scratch / "to")
        if inspect.json("snapshot", "info", scratch / f"s{n}")["state_root"]:
            inspect.json("root", scratch / "to", "--verify")
    assert made or kind == "rocksdb", codes


# --- incremental ---


def test_a_base_has_the_chunks_that_did_not_change(large, snapshot, scratch, same):
    state, base, to = large, scratch / "base", scratch / "next"
    first = snapshot.write(state, base)
    change(state, "label,token", "set label 650000 uses 7", "session", "create token 10", "block")
    made = snapshot.write(state, to, "--base", base)
    assert made["kept_chunks"] > made["written_chunks"] > 0
    assert made["kept_chunks"] + made["written_chunks"] == made["chunks"]
    assert not set(files(to)) & set(files(base)) and len(files(to)) == made["written_chunks"]
    snapshot.write(state, scratch / "alone")
    assert manifest(to) == manifest(scratch / "alone")
    assert {**files(base), **files(to)}.items() >= files(scratch / "alone").items()
    snapshot.verify(to, "--base", base)
    bad = snapshot.verify(to, code=4)["bad_chunks"]
    assert len(bad) == made["kept_chunks"]
    assert all(str(to) in one["problem"] and "was based on" in one["problem"] for one in bad)
    snapshot.call("load", to, "--to", scratch / "no", code=1).says(str(to), ", ids ", "was based on")
    assert not (scratch / "no").exists() and not (scratch / "no.unfinished").exists()
    snapshot.load(to, scratch / "loaded", "--base", base)
    same(state, scratch / "loaded")
    found = snapshot.diff(base, to, "--base", base)
    by_type = {one["type"]: one for one in found}
    assert by_type["label"]["changed"] == 1 and by_type["label"]["ids"] == [650000]
    assert by_type["token"]["only_other"] == 10
    assert by_type["token"]["ids"] == list(range(300000, 300010))
    assert first["name"] != made["name"]
    snapshot.call("write", state, "--to", scratch / "x", "--base", scratch / "nowhere", code=(1, 2)).says(
        "nowhere"
    )


# --- kills, locks, disks ---


def test_a_write_that_is_killed_goes_on_and_nothing_is_published_half(
    large, snapshot, inspect, scratch, rng
):
    whole = snapshot.write(large, scratch / "whole")
    to = scratch / "s"
    ended = kept = 0
    while ended < 8 or kept == 0:
        shutil.rmtree(to, ignore_errors=True)
        for _ in range(3):
            running = inspect.start("snapshot", "write", large, "--to", to, "--json")
            chunks = rng.randrange(8)
            until(lambda: len([*to.glob("chunks/*")]) >= chunks, running)  # noqa: B023
            until_killed(running, rng.uniform(0, 0.02))
            if (to / "manifest").exists():
                break
            if not (to / "lock").exists():
                continue  # it was not begun
            ended += 1
            snapshot.call("load", to, "--to", scratch / "no", code=(1, 2)).says("unfinished snapshot")
        if not (to / "manifest").exists():
            kept += snapshot.write(large, to)["kept_chunks"]
        assert manifest(to) == manifest(scratch / "whole")
        assert left(to) == ["chunks", "manifest"]
        assert set(files(to)) == set(files(scratch / "whole"))
        snapshot.verify(to, "--trusted-name", whole["name"])
    assert not (scratch / "no").exists()


def test_the_copy_of_a_call_that_was_killed_is_removed_by_the_next(samples, snapshot, scratch):
    home = scratch / "s.copy.unfinished"
    home.mkdir(mode=0o700)
    (home / "state").mkdir(mode=0o700)
    (home / "unfinished").touch(0o600)
    snapshot.write(samples("many"), f"{scratch}/s/")
    assert left(scratch) == ["s"]


def test_a_second_writer_and_what_is_no_snapshot_are_refused(large, snapshot, inspect, scratch):
    to = scratch / "s"
    first = inspect.start("snapshot", "write", large, "--to", to)
    until((to / "lock").exists, first)
    first.signal(signal.SIGSTOP)
    snapshot.call("write", large, "--to", to, code=1).says(str(to))
    first.signal(signal.SIGCONT)
    first.wait()
    before = files(to)
    snapshot.call("write", large, "--to", to, code=2).says("whole snapshot", "another name")
    (scratch / "mine").mkdir()
    (scratch / "mine/notes").write_text("mine")
    snapshot.call("write", large, "--to", scratch / "mine", code=2).says("notes")
    snapshot.call("write", large, "--to", large, code=2)
    assert (left(scratch / "mine"), files(to)) == (["notes"], before)
    for verb in ("info", "verify"):
        snapshot.call(verb, large, code=2).says("no manifest")
        snapshot.call(verb, scratch / "nowhere", code=(1, 2)).says("nowhere")
    snapshot.call("load", to, "--to", large, code=2).says(str(large))
    snapshot.call("load", to, "--to", to / "state", code=2).says("lies within the snapshot")
    snapshot.call("write", large, "--to", large / "s", code=2).says("lies within the state")
    assert left(to) == ["chunks", "manifest"] and not (large / "s").exists()
    inspect("check", large)


def test_a_signal_ends_the_verbs_with_3_and_the_same_call_goes_on(large, snapshot, inspect, scratch):
    often = {"CHAINBASE_PROGRESS_SECONDS": "0"}
    to = scratch / "s"
    for call, begun in (
        (["write", large, "--to", to], lambda: any(to.glob("chunks/*"))),
        (["load", to, "--to", scratch / "to"], (scratch / "to.unfinished/state/segment").exists),
    ):
        running = inspect.start("snapshot", *call, env=often)
        if until(begun, running):
            running.signal(signal.SIGTERM)
            said = running.wait((0, 3))
            if said.code == 3:
                said.says("the same call goes on" if call[0] == "write" else "the same call ")
        if not (to / "manifest").exists() or call[0] == "load" and not (scratch / "to").exists():
            snapshot.call(*call)
    assert left(scratch) == ["large", "s", "to"]
    inspect("check", scratch / "to")


def test_a_full_disk_is_said_and_the_same_call_goes_on_when_there_is_room(
    large, snapshot, inspect, small_disk  # noqa: F811
):
    to, loaded = small_disk.path / "s", small_disk.path / "loaded"
    for room in (0, 64 * KIB, 700 * KIB, 2 * MIB):
        small_disk.leave_room(room)
        made = snapshot.call("write", large, "--to", to, code=(0, 1))
        small_disk.make_room()
        if made.code == 0:
            break
        made.says("space", str(small_disk.path))
        assert not (to / "manifest").exists()
    if not (to / "manifest").exists():
        assert snapshot.write(large, to)["kept_chunks"] > 0
    snapshot.verify(to)
    codes = []
    for room in (64 * KIB, 20 * MIB, 60 * MIB, 100 * MIB):
        small_disk.leave_room(room)
        made = snapshot.call("load", to, "--to", loaded, code=(0, 1))
        small_disk.make_room()
        codes.append(made.code)
        if made.code == 0:
            break
        made.says("space", str(small_disk.path))
        assert set(left(small_disk.path)) <= {"s", "loaded.unfinished"}
    assert codes[0] == 1
    if codes[-1] != 0:
        snapshot.load(to, loaded)
    inspect("check", loaded)


def test_in_a_folder_that_cannot_be_written_nothing_is_made(large, snapshot, small_disk):  # noqa: F811
    at = small_disk.path
    snapshot.write(large, at / "s")
    disks.mount("none", at, None, READ_ONLY | REMOUNT)
    for call in (["write", large, "--to", at / "x"], ["load", at / "s", "--to", at / "x"]):
        snapshot.call(*call, code=1).says(str(at / "x"), "read-only")
    snapshot.verify(at / "s")  # needs no lock
    snapshot.call("info", at / "s")
    disks.mount("none", at, None, REMOUNT)
    assert left(at) == ["s"]


def test_a_load_that_is_killed_leaves_no_state_and_is_called_again(
    large, snapshot, inspect, scratch, rng, same
):
    snapshot.write(large, scratch / "s")
    begin = time.monotonic()
    snapshot.load(scratch / "s", scratch / "first")
    takes = time.monotonic() - begin
    ended = 0
    while ended < 6:
        running = inspect.start("snapshot", "load", scratch / "s", "--to", scratch / "to")
        until_killed(running, rng.uniform(0, takes))
        if not (scratch / "to").exists():
            ended += 1
            continue
        same(large, scratch / "to")
        shutil.rmtree(scratch / "to")
    snapshot.load(scratch / "s", scratch / "to")
    same(large, scratch / "to")
    assert left(scratch) == ["first", "large", "s", "to"]


def test_a_load_that_is_killed_goes_on_with_what_it_had_loaded_whole(
    snapshot, inspect, driver, scratch, rng, same
):
    replay = Replays(driver, scratch, STEEM)
    replay("--archive", "rocksdb", "--stop-at", 40000)
    snapshot.write(replay.state(), scratch / "s")
    begin = time.monotonic()
    snapshot.load(scratch / "s", scratch / "first")
    takes = time.monotonic() - begin
    went_on = 0
    for _ in range(12):
        to = scratch / "to"
        while not to.exists():  # each goes on with what the one before left
            running = inspect.start("snapshot", "load", scratch / "s", "--to", to)
            went_on += "goes on with the" in until_killed(running, rng.uniform(0.2, 1.1) * takes).err
        same(replay.state(), to)
        shutil.rmtree(to)
    assert went_on
    assert not (scratch / "to.unfinished").exists()


def test_a_load_that_loses_power_goes_on(machine, snapshot, inspect, driver, scratch, rng):  # noqa: F811
    replay = Replays(driver, scratch, STEEM)
    replay("--archive", "rocksdb", "--stop-at", 20000)
    snapshot.write(replay.state(), scratch / "s")
    expected = inspect.json("digest", replay.state())["digest"]  # before the machine restarts
    to = machine.disk / "to"
    on_machine = OnMachine(inspect.path)
    load = ("snapshot", "load", scratch / "s", "--to", to, "--memory-folder")
    machine.work()
    on_machine(*load, machine.memory)
    calls = sum(machine.calls()["calls"].values())
    ended = went_on = 0
    while ended < 20:
        shutil.rmtree(to)
        sync_folder(machine.disk)
        machine.stop("any", rng.randint(1, calls))
        running = on_machine.start(*load, machine.memory)
        until(machine.has_stopped, running)
        machine.lose_power(running)
        machine.work()
        if to.exists():  # of a state that is closed
            continue
        ended += 1
        went_on += "goes on with the" in on_machine(*load, rng.choice([machine.memory, "none"])).err
        assert left(machine.disk) == ["to"]
        inspect("check", to)
        assert inspect.json("digest", to)["digest"] == expected
    assert went_on


# --- damage and lies ---


@pytest.fixture
def small(scratch, snapshot, samples):
    """A snapshot of several types, with archived rows."""
    snapshot.write(samples("notes.memory"), scratch / "small")
    return scratch / "small"


def test_every_flip_cut_and_swap_of_any_file_is_refused_and_the_chunk_is_named(
    small, snapshot, inspect, rng
):
    of_digest = {}
    text = json.loads(manifest(small))
    for one in text["types"]:
        for first, height, _, _, digest, _ in one["chunks"] + one["removed"]:
            of_digest.setdefault(digest, []).append((one["name"], first, height))
    chunks = sorted((small / "chunks").iterdir())
    assert {one.name for one in chunks} == set(of_digest)
    for _ in range(operations(300)):
        file = rng.choice([*chunks, *chunks, small / "manifest"])
        before = file.read_bytes()
        after = bytearray(before)
        match rng.randrange(4):
            case 0:
                after[rng.randrange(len(after))] ^= 1 << rng.randrange(8)
            case 1:
                del after[rng.randrange(len(after)) :]
            case 2:
                after += bytes(rng.randrange(1, 9))
            case 3:
                other = rng.choice([one for one in chunks if one != file])
                after = other.read_bytes()
        file.write_bytes(after)
        said = snapshot.call("verify", small, "--json", code=(1, 4))
        file.write_bytes(before)
        if file.name == "manifest":
            assert str(file) in said.err or str(small) in said.err, said
            continue
        bad = [(one["type"], one["first"], one["height"]) for one in said.json["bad_chunks"]]
        assert bad == of_digest[file.name]
        assert all(str(file) in one["problem"] for one in said.json["bad_chunks"])
        assert said.json["sound"] is False
    snapshot.verify(small)


def test_a_missing_chunk_is_named_and_what_it_has_is_not_loaded(small, snapshot, scratch):
    file = max((small / "chunks").iterdir(), key=lambda one: one.stat().st_size)
    file.unlink()
    [bad] = snapshot.verify(small, code=4)["bad_chunks"]
    assert bad["digest"] == file.name and bad["type"] in bad["problem"]
    snapshot.call("load", small, "--to", scratch / "to", code=1).says(bad["type"], "ids 0 to")
    (small / "chunks" / file.name).mkdir()
    snapshot.verify(small, code=4)
    assert left(scratch) == ["small"]


def test_what_is_trusted_must_be_so(inspect, samples, snapshot, scratch):
    to = scratch / "s"
    made = snapshot.write(samples("rooted"), to)
    root, name = made["state_root"], made["name"]
    wrong = root[:-1] + ("0" if root[-1] != "0" else "1")
    assert root == inspect.json("root", samples("rooted"))["root"]
    bare = snapshot.verify(to)
    assert set(bare["not_proven"]) >= {"account", "post", "token"}
    assert snapshot.verify(to, "--trusted-name", name)["not_proven"] == []
    unproven = snapshot.verify(to, "--trusted-root", root)["not_proven"]
    assert "token" in unproven and "account" not in unproven
    snapshot.call("verify", to, "--trusted-root", root).says("does not commit to", "token")
    for option, value in (("--trusted-root", wrong), ("--trusted-name", wrong)):
        snapshot.call("verify", to, option, value, code=4).says(value, "trusted")
        snapshot.call("load", to, option, value, "--to", scratch / "to", code=(1, 4)).says(value)
        snapshot.call("verify", to, option, value[1:], code=2).says("64 hexadecimal digits")
    snapshot.write(samples("many"), scratch / "many")
    snapshot.call("verify", scratch / "many", "--trusted-root", root, code=4).says("recorded no root")
    assert left(scratch) == ["many", "s"]


def sealed(text):
    """A manifest with the sum that fits: of all bytes before the comma before that member."""
    head = text[: text.rindex(b',"sum":"')]
    return head + b',"sum":"%016x"}\n' % checksum(head)


def test_a_manifest_that_lies_is_refused_whatever_its_sum(small, snapshot, scratch, rng):
    whole = manifest(small)
    name = snapshot.verify(small)["name"]
    assert sealed(whole) == whole
    first = re.search(rb'"chunks":\[(\[[^]]*\])', whole)
    lies = {
        "more objects": (rb'"objects":(\d+)', rb'"objects":1\1'),
        "more archived": (rb'"archived":(\d+)', rb'"archived":9\1'),
        "next_id": (rb'"next_id":10\b', rb'"next_id":3'),
        "huge": (rb'"next_id":(\d+)', rb'"next_id":99999999999999999999999'),
        "exponent": (rb'"revision":0', rb'"revision":0e0'),
        "zeros": (rb'"revision":0', rb'"revision":00'),
        "negative": (rb'"revision":0', rb'"revision":-1'),
        "escape": (rb'"chain":"', b'"chain":"\x1b[2J'),
        "version": (rb'"snapshot":1', rb'"snapshot":2'),
        "twice": (rb'"revision":0', rb'"revision":0,"revision":0'),
        "more members": (rb'"revision":0', rb'"revision":0,"more":1'),
        "space": (rb'"revision":0', rb'"revision": 0'),
        "kind": (rb'"archive":"memory"', rb'"archive":"magic"'),
        "no archive": (rb'"archive":"memory"', rb'"archive":null'),
        "root": (rb'"state_root":null', b'"state_root":"' + b"0" * 64 + b'"'),
        "committed": (rb'"is_committed":false', rb'"is_committed":true'),
        "deep": (rb'"catalogue":', b'"catalogue":' + b"[" * 200000),
        "chunk twice": (re.escape(first.group(1)), first.group(1) + b"," + first.group(1)),
        "no chunk": (re.escape(first.group(1)), b""),
        "huge chunk": (rb'"chunks":\[\[0,(\d+),(\d+),(\d+)', rb'"chunks":[[0,\1,\2,1073741824'),
        "height": (rb'"chunks":\[\[0,(\d+),', rb'"chunks":[[0,33,'),
        "first": (rb'"chunks":\[\[0,', rb'"chunks":[[3,'),
        "capitals": (rb'"root":"([0-9a-f]*)"', lambda m: m.group(0).upper().replace(b"ROOT", b"root")),
        "path": (rb',"([0-9a-f]{64})","', b',"' + b"../" * 21 + b'x","'),
    }
    for lie, (what, by) in lies.items():
        text, count = re.subn(what, by, whole, count=1)
        assert count == 1, lie
        if text == whole:
            continue
        (small / "manifest").write_bytes(sealed(text))
        said = snapshot.call("verify", small, code=None)
        assert said.code in (1, 4) and str(small) in said.both, (lie, said)
        snapshot.call("load", small, "--to", scratch / "to", code=(1, 4))
    for _ in range(operations(200)):
        text = bytearray(whole)
        at = rng.randrange(len(text) - 30)
        text[at] = rng.choice(b'0123456789abcdef",:[]{}')
        if bytes(text) == whole:
            continue
        (small / "manifest").write_bytes(sealed(bytes(text)))
        said = snapshot.call("verify", small, code=None)
        assert said.code in (0, 1, 4), said  # 0: it says another thing that can be, by another name
        snapshot.call("verify", small, "--trusted-name", name, code=(1, 4))
    (small / "manifest").write_bytes(whole)
    for text in (b"", b"{", b"null\n", b"\xff" * 100, b"[" * 1000000, whole[:-1], whole + b"\n"):
        (small / "manifest").write_bytes(text)
        snapshot.call("verify", small, code=(1, 4)).says(str(small))
    assert left(scratch) == ["small"]


@pytest.mark.parametrize("memory", ["none", "memory", ""])
def test_ids_that_there_is_no_room_for_are_refused_before_anything_is_made(
    memory, snapshot, inspect, scratch, small_disk  # noqa: F811
):
    """A type's next id is the manifest's word; its table takes four bytes for each."""
    change(scratch / "from", "token,label", "create token 3")
    s, at = scratch / "s", small_disk.path
    snapshot.write(scratch / "from", s)
    whole = manifest(s)

    def with_next_id(number):
        text, count = re.subn(rb'"label","next_id":0', b'"label","next_id":%d' % number, whole)
        assert count == 1
        (s / "manifest").write_bytes(sealed(text))

    with_next_id(2**32 - 1)
    where = ["--memory-folder", at if memory == "memory" else memory] if memory else []
    to = scratch / "to" if memory == "memory" else at / "to"
    said = snapshot.call("load", s, "--to", to, *where, code=1)
    said.says("alone take", "are free in", str(at))
    assert left(at) == [] and not to.exists() and not (scratch / "to.unfinished").exists()
    with_next_id(1_000_000)  # there is room for these
    snapshot.load(s, to, *where)
    inspect("check", to)
    assert inspect("count", to, "label").out == "0\n"


# --- other types ---


@pytest.fixture
def later(snapshot, scratch):
    """A snapshot of tokens and labels, and a state that has a later version of both types."""
    change(scratch / "from", "token,label", "create token 500", "create label 5")
    change(scratch / "like", "token@later,label@later")
    snapshot.write(scratch / "from", scratch / "s")
    return ["--types-of", scratch / "like"]


RULES = ["--rename", "token/sort=kind", "--drop", "token/amount"]


def test_a_state_is_loaded_with_types_that_are_declared_otherwise(
    later, snapshot, inspect, scratch
):
    s, to = scratch / "s", scratch / "to"
    dry = snapshot.call("load", s, *later, *RULES, "--drop", "label/uses", "--dry-run", "--json")
    token = next(one for one in dry.json["types"] if one["type"] == "token")
    assert {one["field"]: one["what"] for one in token["fields"] if one["what"] != "same"} == {
        "code": "widened", "sort": "renamed", "added": "added", "amount": "dropped",
    }  # fmt: skip
    assert (token["keys_added"], token["keys_dropped"]) == (["by_code"], ["by_code", "by_kind"])
    assert not to.exists()
    snapshot.load(s, to, *later, *RULES, "--drop", "label/uses")
    inspect("check", to)
    rows = inspect("range", to, "token", "by_code", "--limit", "3", "--json").json_lines[1:-1]
    assert rows == [
        {"id": n, "code": n, "sort": n % 6, "added": 0} for n in (499, 498, 497)
    ]  # by falling code
    said = change(to, "token@later,label@later", "remove token@later 0",
                  "create token@later 1", "say")[-1]
    assert said["objects"] == {"token@later": 500, "label@later": 5}
    inspect("check", to)


def test_what_would_be_lost_or_does_not_fit_is_refused_by_name(later, snapshot, scratch):
    def refused(*call, code=2):
        said = snapshot.call("load", scratch / "s", "--to", scratch / "to", *call, code=code)
        assert left(scratch) == ["from", "like", "s"]
        return said

    refused(*later).says("amount", "kind")
    refused(*later, "--drop", "token/amount").says("kind")
    refused(*later, *RULES, "--drop", "coin").says("coin")
    refused(*later, *RULES, "--drop", "token/nothing").says("token", "nothing")
    refused(*later, *RULES, "--rename", "coin=token").says("coin")
    refused(*later, *RULES, "--rename", "token=coin").says("coin")
    refused(*later, *RULES, "--rename", "token/nothing=code").says("nothing")
    refused("--rename", "coin=token").says("coin")
    refused("--rename", "coin").says("--rename", '"coin"')
    refused("--drop", "nothing/at_all").says("nothing")
    refused("--types-of", scratch / "nowhere", code=(1, 2)).says("nowhere")


def test_a_type_is_renamed_and_one_is_dropped(snapshot, inspect, scratch, later):
    change(scratch / "other", "coin@later")
    call = ["--types-of", scratch / "other", "--rename", "coin=token", "--rename", "coin/sort=kind",
            "--drop", "coin/amount"]
    snapshot.call("load", scratch / "s", *call, "--to", scratch / "to", code=2).says("label", "lost")
    dry = snapshot.call("load", scratch / "s", *call, "--drop", "label", "--dry-run")
    dry.says("coin: was called token", "label: dropped")
    snapshot.load(scratch / "s", scratch / "to", *call, "--drop", "label")
    assert inspect("count", scratch / "to", "coin").out == "500\n"
    inspect("count", scratch / "to", "label", code=(1, 2))
    inspect("check", scratch / "to")


def test_values_that_a_narrower_field_cannot_hold_are_counted_and_named(
    snapshot, scratch, later
):
    change(scratch / "from", "token,label", "set label 3 uses 70000")
    shutil.rmtree(scratch / "s")
    snapshot.write(scratch / "from", scratch / "s")
    call = [scratch / "s", *later, *RULES]
    dry = snapshot.call("load", *call, "--dry-run", "--json", code=5).json
    label = next(one for one in dry["types"] if one["type"] == "label")
    assert label["failing"] == 1 and "70000" in label["first_failure"]
    snapshot.call("load", *call, "--to", scratch / "to", code=1).says("label 3", "uses", "70000")
    assert not (scratch / "to").exists()


# --- diff ---


def test_diff_names_types_and_ids(snapshot, scratch):
    a, b = tokens(scratch / "a"), tokens(scratch / "b")
    change(b, "token,label", "set token 100 amount 7", "set token 59000 amount 1", "remove label 5",
           "create token 2")
    change(scratch / "c", "token@later,marker")
    for one in (a, b, scratch / "c"):
        snapshot.write(one, one.with_suffix(".s"))
    a, b, c = (scratch / f"{one}.s" for one in "abc")
    assert snapshot.diff(a, a, code=0) == []
    found = {one["type"]: one for one in snapshot.diff(a, b)}
    assert found["token"] == {
        "type": "token", "problem": None, "changed": 2, "only_first": 0, "only_other": 2, "placed": 0,
        "ids": [100, 59000, 60000, 60001],
    }  # fmt: skip
    assert (found["label"]["only_first"], found["label"]["ids"]) == (1, [5])
    assert snapshot.diff(a, b, "--limit", 1)[1]["ids"] == [100]
    snapshot.call("diff", a, b, "--limit", 1, code=5).says("token: 2 objects differ", "100, ...")
    problems = {one["type"]: one["problem"] for one in snapshot.diff(a, c)}
    assert "only in the first" in problems["label"] and "only in the other" in problems["marker"]
    assert "code" in problems["token"]


def test_a_snapshot_beside_the_state_of_its_block_is_told_with_what_it_has(snapshot, samples, scratch):
    made = snapshot.write(samples("notes.memory"), scratch / "s")
    info = snapshot.call("info", scratch / "s", "--json").json
    assert {key: made[key] for key in info if key in made} == {
        key: value for key, value in info.items() if key in made
    }
    assert sum(one["objects"] for one in info["types"]) == info["objects"]
    assert sum(one["chunks"] for one in info["types"]) == info["chunks"]
    assert sum(one["bytes"] for one in info["types"]) == info["bytes"]
    note = next(one for one in info["types"] if one["name"] == "note")
    assert (note["objects"], note["archived"]) == (10, 4)


# --- streams ---


class Stream:
    """The verbs with a tar stream of a snapshot on stdout or stdin."""

    def __init__(self, inspect):
        self.program = str(inspect.path)

    def start(self, *words, **how):
        return subprocess.Popen([self.program, "snapshot", *map(str, words)], stderr=subprocess.PIPE, **how)

    def write(self, state, *more):
        """The bytes, and the report that is on stderr."""
        it = self.start("write", state, "--to", "-", "--json", *more, stdout=subprocess.PIPE)
        out, err = it.communicate(timeout=120)
        assert it.returncode == 0, err
        return out, json.loads(err.splitlines()[-1])

    def read(self, verb, sent, *more, code=0):
        """What a verb says of bytes, or of a command of the shell that makes them."""
        if isinstance(sent, str):
            source = subprocess.Popen(["sh", "-c", sent], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            it = self.start(verb, "-", *more, stdin=source.stdout, stdout=subprocess.PIPE)
            source.stdout.close()  # it ends by SIGPIPE
            sent = None
        else:
            it = self.start(verb, "-", *more, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        out, err = it.communicate(sent, timeout=120)
        assert it.returncode in ([code] if isinstance(code, int) else code), (it.returncode, out, err)
        return (out + err).decode()

    def json(self, *what, **how):
        return json.loads(self.read(*what, "--json", **how).splitlines()[0])


@pytest.fixture
def stream(inspect):
    return Stream(inspect)


def entries(data):
    """The files in a tar stream, in their order."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar.getmembers() if one.isfile()}


def tarred(files, end=True):
    """A stream of these names and bytes; a text is a type of entry."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in files:
            one = tarfile.TarInfo(name)
            if isinstance(content, bytes):
                one.size = len(content)
            else:
                one.type, one.linkname = content.encode(), "manifest"
            tar.addfile(one, io.BytesIO(content) if isinstance(content, bytes) else None)
        size = out.tell()
    return out.getvalue() if end else out.getvalue()[:size]


def test_a_stream_has_the_files_of_the_folder_and_is_read_as_one(large, snapshot, stream, scratch, same):
    snapshot.write(large, scratch / "s")
    data, said = stream.write(large)
    assert data == stream.write(large, "--threads", 1)[0]
    found = entries(data)
    assert list(found)[-1] == "manifest" and found["manifest"] == manifest(scratch / "s")
    assert said["written_chunks"] == len(found) - 1 == said["chunks"] > 5
    assert {f"chunks/{name}": one for name, one in files(scratch / "s").items()} == {
        name: one for name, one in found.items() if name != "manifest"}
    assert stream.json("verify", data)["name"] == said["name"]
    (scratch / "x").mkdir()
    subprocess.run(["tar", "-x", "-C", scratch / "x"], input=data, check=True)
    assert snapshot.verify(scratch / "x", "--trusted-name", said["name"])["sound"]
    loaded = stream.json("load", data, "--to", scratch / "to")
    assert loaded["objects"] == said["objects"] and loaded["name"] == said["name"]
    same(large, scratch / "to")
    stream.read("load", f"tar -C {scratch}/x -c chunks manifest", "--to", f"{scratch}/to2/", "--trusted-name", said["name"])
    same(large, scratch / "to2")
    stream.read("load", data, "--to", scratch / "dry", "--dry-run")
    assert "which is trusted" in stream.read("load", data, "--to", scratch / "no", "--trusted-name", "0" * 64, code=1)
    assert str(scratch / "to") in stream.read("load", data, "--to", scratch / "to", code=2)
    assert "--to" in stream.read("load", data, code=2)
    assert left(scratch) == ["large", "s", "to", "to2", "x"]


def test_a_stream_with_a_base_has_what_the_base_has_not(large, snapshot, stream, scratch, same):
    snapshot.write(large, scratch / "base")
    change(large, "label,token", "set label 650000 uses 7")
    data, said = stream.write(large, "--base", scratch / "base")
    assert said["kept_chunks"] > said["written_chunks"] == len(entries(data)) - 1 > 0
    stream.read("verify", data, "--base", scratch / "base")
    bad = stream.json("verify", data, code=4)["bad_chunks"]
    assert len(bad) == said["kept_chunks"]
    assert "was based on" in stream.read("load", data, "--to", scratch / "to", code=1)
    assert left(scratch) == ["base", "large"]
    stream.read("load", data, "--to", scratch / "to", "--base", scratch / "base")
    same(large, scratch / "to")


def test_a_stream_beside_a_replay_at_full_speed_is_whole_or_without_a_manifest(driver, stream, scratch, inspect):
    replay = Replays(driver, scratch, STEEM)
    codes = []
    running = replay.start("--archive", "none", "--state-root", "all")
    until((replay.state() / "segment/header").exists, running)
    while running.is_running:
        it = stream.start("write", replay.state(), "--to", "-", stdout=subprocess.PIPE)
        data, err = it.communicate(timeout=120)
        codes.append(it.returncode)
        if it.returncode == 0:
            stream.read("verify", data)
        else:
            assert it.returncode in (1, 2, 6), err
            stream.read("verify", data, code=4)
    running.wait()
    assert 0 in codes or 6 in codes, codes


def test_chunks_that_the_manifest_does_not_name_are_dropped(large, snapshot, stream, scratch, same):
    """As a writer that was too fast leaves them."""
    earlier = entries(stream.write(large)[0])
    change(large, "label,token", "set label 650000 uses 7")
    now = entries(stream.write(large)[0])
    del earlier["manifest"]
    both = tarred({**earlier, **now}.items())
    assert len(entries(both)) > len(now)
    stream.read("verify", both)
    stream.read("load", both, "--to", scratch / "to")
    same(large, scratch / "to")
    assert left(scratch) == ["large", "to"]


def test_a_stream_that_is_cut_or_has_a_wrong_bit_makes_no_state(small, stream, scratch, rng):
    data = tarred([*((f"chunks/{name}", one) for name, one in files(small).items()), ("manifest", manifest(small))])
    whole = stream.json("verify", data)["name"]
    begins = len(data.rstrip(b"\0")) - len(manifest(small).rstrip(b"\0"))  # of the manifest
    for _ in range(operations(100)):
        at = rng.randrange(begins)
        said = stream.read("verify", data[:at], code=4)
        assert "/dev/stdin" in said and "byte" in said, (at, said)
        stream.read("load", data[:at], "--to", scratch / "to", code=1)
        assert "to" not in left(scratch) and "to.snapshot" not in left(scratch)
        wrong = bytearray(data)
        at = rng.randrange(len(data.rstrip(b"\0")))
        wrong[at] ^= 1 << rng.randrange(8)
        if entries_or_none(wrong) == entries(data):  # in what is of no file
            continue
        said = stream.read("verify", bytes(wrong), "--json", code=(0, 4))
        if said.startswith("{") and '"sound":true' in said:
            assert json.loads(said.splitlines()[0])["name"] == whole, at
            pytest.fail(f"the bit at {at} is not seen")
        stream.read("load", bytes(wrong), "--to", scratch / "to", code=1)
        assert "to" not in left(scratch) and "to.snapshot" not in left(scratch)


def entries_or_none(data):
    try:
        return entries(bytes(data))
    except (tarfile.TarError, ValueError, EOFError):
        return None


def test_what_is_no_stream_of_a_snapshot_is_refused_with_its_offset(small, stream, scratch):
    chunks = [(f"chunks/{name}", one) for name, one in files(small).items()]
    last = ("manifest", manifest(small))
    other = (chunks[0][0], chunks[1][1])
    whole = tarred([*chunks, last])
    huge = tarfile.TarInfo(f"chunks/{'0' * 64}")
    huge.size = 7 << 30
    huge = huge.tobuf(tarfile.USTAR_FORMAT)
    made = {
        b"": "", b"x" * 5000: "no tar stream", tarred([]): "ends at byte", tarred(chunks): "ends at byte",
        tarred([*chunks, ("../x", b"x"), last]): "../x", tarred([("/etc/x", b"x")]): "/etc/x",
        tarred([("chunks/\x1b[31mx", b"")]): "u001b[31m", tarred([("chunks/" + "0" * 64, tarfile.SYMTYPE.decode())]): "not a file",
        tarred([("manifest", tarfile.LNKTYPE.decode())]): "", tarred([last, *chunks]): "follows the manifest",
        whole + whole: "follows the manifest", tarred([*chunks, last, last]): "follows the manifest",
        tarred([*chunks, chunks[0], last]): "came before", tarred([other, *chunks[1:], last]): "another content",
        huge + bytes(1 << 20): "of at most", tarred([*chunks, ("manifest", last[1][:-9])]): "manifest",
        gzip.compress(whole): "no tar stream", tarred([(chunks[0][0], b""), *chunks[1:], last]): "does not begin as a chunk",
    }  # fmt: skip
    for data, words in made.items():
        stdout = stream.read("verify", data, code=4)
        assert words in stdout and ("byte" in stdout or not words), (words, stdout)
        stream.read("load", data, "--to", scratch / "to", code=1)
        assert "to" not in left(scratch) and "to.snapshot" not in left(scratch), words
    roots = [one["root"] for one in json.loads(last[1])["types"] if one["chunks"] and not one["is_committed"]]
    lying = tarred([*chunks, ("manifest", sealed(last[1].replace(roots[0].encode(), b"1" * 64)))])
    assert "other objects than the manifest says" in stream.read("verify", lying, code=4)
    stream.read("load", lying, "--to", scratch / "to", code=1)
    (scratch / "part").write_bytes(whole)
    repeated = f"while cat {scratch}/part; do :; done"
    for endless in ("cat /dev/zero", f"cat {scratch}/part /dev/zero", repeated, "cat /dev/urandom",
                    f"head -c 600 {scratch}/part; cat /dev/urandom"):  # fmt: skip
        assert "byte" in stream.read("verify", endless, code=4), endless
    for verb in ("verify", "load"):
        parent, child = os.openpty()
        it = stream.start(verb, "-", *(["--to", scratch / "to"] if verb == "load" else []), stdin=child)
        assert b"terminal" in it.communicate(timeout=20)[1] and it.returncode == 2
        os.close(parent), os.close(child)


def test_a_stream_is_not_written_to_a_terminal(small, stream, samples):
    parent, child = os.openpty()
    it = stream.start("write", samples("notes.none"), "--to", "-", stdout=child)
    assert b"terminal" in it.communicate(timeout=20)[1] and it.returncode == 2
    os.close(parent), os.close(child)


def test_signals_end_a_stream_that_waits_and_kills_leave_what_the_next_call_takes(large, stream, scratch, rng, same):
    it = stream.start("write", large, "--to", "-", stdout=subprocess.PIPE)  # nobody reads it
    time.sleep(1)
    it.send_signal(signal.SIGTERM)
    assert b"interrupted" in it.communicate(timeout=20)[1] and it.returncode == 3
    data, _ = stream.write(large)
    for number in (signal.SIGTERM, *[signal.SIGKILL] * 4):
        it = stream.start("load", "-", "--to", scratch / "to", stdin=subprocess.PIPE)
        it.stdin.write(data[: rng.randrange(len(data) // 2, len(data))])
        it.stdin.flush()
        time.sleep(rng.uniform(0, 0.5) + (number == signal.SIGTERM))
        it.send_signal(number)
        it.wait(20)
        assert it.returncode == (3 if number == signal.SIGTERM else -signal.SIGKILL)
        assert left(scratch) == ["large"] or number == signal.SIGKILL
        it.stdin.close(), it.stderr.close()
    for _ in range(4):  # while it is loaded, too
        it = stream.start("load", "-", "--to", scratch / "to", stdin=subprocess.PIPE)
        it.stdin.write(data)
        it.stdin.close()
        time.sleep(rng.uniform(0, 1))
        it.kill(), it.wait(20), it.stderr.close()
        shutil.rmtree(scratch / "to", ignore_errors=True)
    stream.read("load", data, "--to", scratch / "to")
    same(large, scratch / "to")
    assert left(scratch) == ["large", "to"]
    (scratch / "to2.snapshot").mkdir()
    (scratch / "to2.snapshot/mine").write_text("kept")
    assert "holds mine" in stream.read("load", data, "--to", scratch / "to2", code=2)
    assert left(scratch / "to2.snapshot") == ["mine"]


def test_a_full_disk_ends_the_loading_of_a_stream_and_leaves_nothing(large, stream, small_disk):  # noqa: F811
    data, _ = stream.write(large)
    for room in (0, 64 * KIB, 700 * KIB, 2 * MIB, 20 * MIB):
        small_disk.leave_room(room)
        assert "space" in stream.read("load", data, "--to", small_disk.path / "to", code=1)
        small_disk.make_room()
        assert not {"to", "to.snapshot"} & set(left(small_disk.path))
