"""chainbase-driver replay: what the logs of the project come to, what is refused and how, archives.

Kills, losses of power and full disks are in test_driver_kill.py.
"""

import collections
import json
import os
import re
import signal
import subprocess

import block_logs
import pytest
from block_logs import Log, account, block_of, post, vote, written_by_another
from chains import CHAINS, EOS, STEEM, Replays, carried_log
from kills import until

ARCHIVES = ("rocksdb", "memory", "none")
each_chain = pytest.mark.parametrize("chain", CHAINS)


@pytest.fixture
def replays(driver, scratch):
    return lambda chain, log=None: Replays(driver, scratch, chain, log)


# --- a log that is cut ---


CUT_CALLS = {
    "replay": ["replay"],
    "sync": ["sync"],
    "live": ["live", "--pending", "0"],
}


@pytest.mark.parametrize("verb", CUT_CALLS)
def test_a_log_that_is_cut_is_said_last_and_the_whole_one_goes_on(driver, scratch, verb):
    whole, cut = carried_log(EOS, scratch), scratch / "cut"
    content = whole.read_bytes()
    cut.write_bytes(content[: len(content) * 9 // 10])
    call = [*CUT_CALLS[verb], "--state", scratch / "state", "--block-log"]

    run = driver(*call, cut, "--json", code=4)
    said = run.json
    assert said["state_digest"] and said["state_digest"] != EOS.digest
    place = re.match(rf"the log is cut: {re.escape(str(cut))} is whole up to byte (\d+), behind block "
                     rf"{said['head']}, where (\d+) bytes of a record follow", said["log_cut"])
    assert int(place[1]) + int(place[2]) == cut.stat().st_size
    assert said["log_cut"] in run.err.splitlines()[-1]
    assert driver(*call, cut, code=4).out.splitlines()[-1] == said["log_cut"]

    # What was asked for is there, or a writer is at work: nothing is amiss.
    stop = ["--stop-at", said["head"]]
    if verb == "replay":
        assert driver(*call[:-2], scratch / "other", call[-1], cut, *stop, "--json").json[
            "log_cut"] is None
    with written_by_another(cut):
        assert driver(*call, cut, "--json").json["log_cut"] is None
    assert driver(*call, whole, "--json").json["state_digest"] == EOS.digest


# --- what is known of the data ---


def check_frame(said, chain):
    assert said["chain"] == chain
    assert (said["blocks"], said["operations"]) == (chain.blocks, chain.operations)
    assert said["replayed_blocks"] == said["blocks"]
    assert said["replayed_operations"] == said["operations"]
    assert said["head"] == said["irreversible"]
    assert said["seconds"] > 0 and not said["interrupted"]
    assert said["ops_per_second"] * said["seconds"] == pytest.approx(said["operations"], rel=0.01)
    parts = said["bytes"]
    assert parts["total"] == sum(parts["types"].values()) + sum(
        parts[one] for one in ("log", "buffers", "header")
    )
    assert said["state_digest"] == chain.digest


def test_steem_2016_pays_what_the_data_says(replays):
    said = replays(STEEM)("--verify")
    check_frame(said, STEEM)
    assert said["head"] == 162689
    oracle = said["oracle"]
    assert oracle["paid_posts"] == 3566
    assert oracle["author_paid"] == 53183942
    assert oracle["curator_paid"] + oracle["unassigned"] == 15249522
    assert oracle["votes_on_paid"] == 21757
    assert oracle["author_paid"] + oracle["curator_paid"] == oracle["sum_of_balances"]
    assert oracle["sum_of_balances"] + oracle["unassigned"] == 68433464
    assert oracle["curator_remainder_to_author"] < 21757
    objects = said["objects"]
    assert objects["account"] == 92462
    assert objects["comment"] == 3488
    assert objects["vote"] == 174597 - 21757
    assert said["archived"]["comment"] == 3566
    assert said["verified"]["objects"] == 7054
    assert said["verified"]["in_memory"] == 3488
    assert said["verified"]["in_archive"] == 3566


def test_eos_swap_2022_counts_what_the_data_says(replays):
    said = replays(EOS)("--verify")
    check_frame(said, EOS)
    assert said["oracle"] == {
        "first_of_pair": 322,
        "out_exact": 142939,
        "out_other": 2884,
        "in_exact": 130611,
        "in_other": 15212,
    }
    assert said["objects"]["pair"] == 322
    assert said["objects"]["owner"] == 4621
    assert said["verified"]["objects"] == 4943


@each_chain
def test_a_replay_that_stops_and_goes_on_comes_to_the_same_state(chain, replays):
    replay = replays(chain)
    half = replay("--stop-at", chain.middle, "--verify")
    assert half["head"] <= chain.middle and half["irreversible"] == half["head"]
    assert half["state_digest"] != chain.digest
    again = replay("--stop-at", chain.middle)
    assert again["replayed_blocks"] == 0
    assert again["state_digest"] == half["state_digest"] and again["oracle"] == half["oracle"]
    rest = replay("--verify")
    assert rest["state_digest"] == chain.digest
    assert rest["replayed_blocks"] + half["blocks"] == rest["blocks"]


def test_a_replay_to_a_block_comes_to_what_blocks_one_by_one_come_to(replays):
    # tests/tools/replay.cpp applies them one by one, with any lag.
    said = replays(STEEM)("--stop-at", 140000)
    assert said["state_digest"] == "bf7e2068faa571525d3218a8810f0678faf00521b4a13b380f83a0dcf00db1bc"


@pytest.mark.parametrize("lag", [0, 20])
def test_what_sync_began_replay_goes_on_with(lag, replays, driver):
    replay = replays(STEEM)
    where = ["--block-log", replay.log, "--state", replay.state()]
    begun = driver.json("sync", *where, "--once", "--lag", lag, "--stop-at", 100000)
    assert (begun["head"], begun["irreversible"]) == (100000, 100000 - lag)
    assert replay("--verify")["state_digest"] == STEEM.digest


def test_a_second_writer_is_refused(replays):
    replay = replays(STEEM)
    writer = replay.start()
    assert until((replay.state() / "archive/rocksdb/CURRENT").exists, writer)
    writer.signal(signal.SIGSTOP)
    second = replay.run(code=1)
    writer.signal(signal.SIGCONT)
    second.says(str(replay.state()))
    assert writer.wait().json["state_digest"] == STEEM.digest


@each_chain
def test_threads_and_validate_change_nothing_about_what_comes_out(chain, replays):
    replay = replays(chain)
    for threads in "125":
        said = replay("--threads", threads, "--validate", state=threads)
        assert said["state_digest"] == chain.digest
        assert 0 < said["apply_busy"] <= 1


def test_the_replay_begins_at_from_or_is_refused(replays, driver):
    replay = replays(EOS)
    replay.run("--from", 269262400, code=2).says("is block 269262342, not block 269262400")
    replay("--from", 269262342, "--stop-at", 269300000)
    again = replay("--from", 269262342, "--stop-at", 269310000)
    assert again["replayed_blocks"] > 0  # as an interrupted call goes on
    replay.run("--from", 999999999, code=2).says("is block")
    following = driver("block-log", "print", replay.log, "--from", again["head"] + 1, "--limit", 1)
    assert replay("--from", following.json_lines[0]["number"])["state_digest"] == EOS.digest


def test_a_log_in_pieces_is_replayed_when_from_says_where_each_begins(replays, driver, scratch):
    whole = replays(STEEM)
    first = 1
    for last in (50000, 100001, 162689):
        piece = scratch / f"piece{last}"
        driver("block-log", "trim", whole.log, "--to", piece, "--from", first, "--stop-at", last)
        part = replays(STEEM, piece)
        if first > 1:
            part.run(code=2)  # nobody said that it follows
        if first == 50001:  # and this one does not
            whole.run("--from", 100002, code=2).says("is block 50001, not block 100002")
        assert part("--from", first)["head"] == last
        first = last + 1
    assert whole()["state_digest"] == STEEM.digest


def test_without_json_a_summary_is_printed(replays, driver):
    call = replays(EOS).call("--stop-at", 269300000)
    call.remove("--json")
    said = driver(*call).out
    for word in ("state digest ", "first_of_pair", "operations/s"):
        assert word in said


def test_a_replay_shows_on_stderr_that_it_works_and_how_it_ended(replays):
    replay = replays(STEEM)
    replay.run("--stop-at", 100000).says("block 100000: 100000 blocks, ", "the block to stop at")
    replay.run().says("block 162689: 162689 blocks, ", "3566 objects archived", "end of the log")
    assert "the end of the log" in replay.run().err
    # A replay that takes longer than 0.2 s has said something before its end.
    whole = replay.run(state="whole")
    assert whole.json["seconds"] <= 0.5 or whole.err.count("\n") >= 2


# --- small logs that do not fit: the message, the exit code, the state ---


SOCIAL = [
    block_of(1, 3, account("alice")),
    block_of(2, 6, account("bob")),
    block_of(3, 9, post("alice", "one")),
    block_of(4, 12, vote("bob", "alice", "one", 1)),
]


class Place:
    """Small logs, and states of their replays."""

    def __init__(self, driver, folder):
        self.driver, self.folder = driver, folder

    def log(self, name, blocks, chain="steem-2016"):
        return Log(self.folder / name, blocks, chain)

    def replay(self, *more, log="log", state="state", code=0):
        where = ["--block-log", self.folder / log, "--state", self.folder / state]
        return self.driver("replay", *where, "--json", *more, code=code)


@pytest.fixture
def place(driver, scratch):
    here = Place(driver, scratch)
    here.log("log", SOCIAL)
    return here


def test_a_wrong_call_ends_with_2_and_says_how_to_call(driver):
    for call in (
        [],
        ["fly"],
        ["replay", "--state", "x"],
        ["replay", "--block-log", "x", "--state", "y", "--threads", "0"],
        ["import", "my-chain", "--from", "x", "--to", "y"],
    ):
        assert driver(*call, code=2).out == ""
    for number in ("z", "-1", "+1", "", "0x10", "1e3", "1 ", "18446744073709551616"):
        driver("replay", "--block-log", "x", "--state", "y", f"--stop-at={number}", code=2)
    assert "--block-log" in driver("replay", code=2).err
    driver("--help")
    assert "--stop-at" in driver("replay", "--help").out


def test_a_block_log_that_is_not_there_or_is_none_is_named(place, scratch):
    missing = place.replay(log="nowhere", code=1).says("nowhere")
    assert missing.out == ""
    (scratch / "text").write_text("not a block log, but long enough to hold a header of one: ....")
    place.replay(log="text", code=1)
    place.log("unknown", [block_of(1, 3)], "my-chain")
    place.replay(log="unknown", code=2).says("my-chain")
    assert not (scratch / "state").exists()
    place.replay()  # its name is not taken


def test_a_state_of_another_chain_is_refused_and_unchanged(place):
    a, b = (1, 4, "EOS"), (1, 4, "BOX")
    place.log("other", [block_of(9, 3, block_logs.swap("alice", 1, a, b, a, a, b))], EOS)
    before = place.replay().json
    place.replay(log="other", code=2).says("steem-2016", "eos-swap-2022")
    assert place.replay().json["objects"] == before["objects"]


def test_a_state_is_continued_only_with_the_log_it_was_made_from(place):
    place.replay()
    place.log("short", SOCIAL[:3])
    place.replay(log="short", code=2).says("is at block 4", "has no block 4")
    place.log("fork", SOCIAL[:3] + [block_of(4, 12, vote("bob", "alice", "one", 2))])
    place.replay(log="fork", code=2).says("has another block ")
    place.log("piece", [block_of(9, 30, account("dora"))])
    place.replay(log="piece", code=2).says("is at block 4", "begins at block 9", "--from 9")
    place.log("longer", SOCIAL + [block_of(5, 15, account("carol"))])
    assert place.replay(log="longer").json["replayed_blocks"] == 1


def test_a_folder_with_something_else_in_it_is_refused_and_unchanged(place, scratch):
    (scratch / "letters").mkdir()
    (scratch / "letters/dear").write_text("you")
    place.replay(state="letters", code=1)
    assert os.listdir(scratch / "letters") == ["dear"]


def test_a_state_beyond_the_block_to_stop_at_is_refused(place):
    assert place.replay("--stop-at", 3).json["head"] == 3
    place.replay("--stop-at", 2, code=2).says("beyond the block 2")
    assert place.replay("--stop-at", 99).json["head"] == 4


def test_a_block_to_stop_at_is_a_decimal_number_with_leading_zeros_too(place):
    place.log("log", [block_of(number, 3 * number) for number in range(1, 13)])
    assert place.replay("--stop-at", "010").json["head"] == 10
    assert place.replay("--stop-at", 2**64 - 1).json["head"] == 12


def test_damage_behind_the_block_to_stop_at_does_not_matter_and_before_it_does(place, driver):
    log = place.log("log", SOCIAL)
    driver("block-log", "repair-index", log)
    log.flip(2)
    for _ in range(2):  # the second time it is there already
        assert place.replay("--stop-at", 2).json["head"] == 2
    place.replay("--stop-at", 3, code=1).says("block 3", str(log), f"byte {log.offsets[2]}")


def test_a_report_that_stdout_does_not_take_ends_with_1_and_the_state_is_complete(
    place, driver, scratch
):
    call = [driver, "replay", "--block-log", scratch / "log", "--state", scratch / "state"]
    with open("/dev/full", "w") as full:
        done = subprocess.run([*call, "--json"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "stdout" in done.stderr
    again = place.replay().json
    assert (again["replayed_blocks"], again["head"]) == (0, 4)


@pytest.mark.parametrize(
    "operation, why",
    [(b"\xfa" * 3, "operation: byte"), (account("bob"), '("bob") is taken')],
    ids=["malformed", "refused"],
)
def test_a_bad_operation_is_named_and_the_state_stays_before_its_block(operation, why, place):
    place.log("good", SOCIAL)
    number, time, transactions = SOCIAL[2]
    bad = (number, time, transactions + [[account("carol"), operation]])
    place.log("log", SOCIAL[:2] + [bad] + SOCIAL[3:])
    stopped = place.replay(code=1).says(
        "block 3, transaction 2 of 2, operation 2 of 2: ", why, "The state stays at block 2"
    )
    assert stopped.out == ""
    place.replay(code=1)  # and again, from the same block
    going_on = place.replay("--verify", log="good").json
    assert going_on["replayed_blocks"] == 2
    assert going_on["state_digest"] == place.replay(log="good", state="new").json["state_digest"]


def test_a_block_numbered_0_is_refused_by_name_and_no_state_is_made(place, scratch):
    place.log("log", [block_of(0, 3, account("alice")), block_of(1, 6, account("bob"))])
    place.replay(code=1).says("number 0")
    assert not (scratch / "state").exists()


def test_an_empty_log_makes_an_empty_state(place):
    place.log("log", [])
    said = place.replay("--verify").json
    assert (said["blocks"], said["head"], said["ops_per_second"]) == (0, 0, 0)
    assert place.replay().json["state_digest"] == said["state_digest"]


# --- what is said of the machine when a state is opened ---


def test_a_state_in_memory_says_once_what_that_costs_and_not_on_stdout(place, scratch, run):
    if run("stat", "-f", "-c", "%T", scratch).out.strip() != "tmpfs":
        pytest.skip("the scratch folder is in no tmpfs")
    place.log("log", SOCIAL[:1])
    state = f"{scratch}/state: "
    for _ in range(2):  # it is made, and it is there
        done = place.replay()
        assert done.json["head"] == 1
        lines = [line[line.index(state) :] for line in done.err.splitlines() if state in line]
        costs = [line for line in lines if "nothing of it survives a restart" in line]
        assert len(costs) == 1 and "--memory-folder" in costs[0]
        assert len(lines) == len(set(lines)) <= 6


def test_a_closed_segment_moves_to_the_place_that_is_asked_for(place, scratch):
    memory, other = scratch / "memory", scratch / "other"
    memory.mkdir()
    other.mkdir()
    before = place.replay("--memory-folder", memory).json["state_digest"]
    assert "moves" not in place.replay("--memory-folder", memory).err
    assert "moves" not in place.replay().err  # it stays where it is
    for to, left in ((other, memory), ("none", other), (memory, scratch / "state/segment")):
        moved = place.replay("--memory-folder", to)
        moved.says("its segment moves from")
        assert moved.json["state_digest"] == before
        assert not left.exists() or os.listdir(left) == []
    assert len(os.listdir(memory)) == 1


def test_a_new_segment_goes_where_memory_is_unless_it_is_kept_for_the_process(
    driver, place, scratch, tmp_path
):
    def is_memory(folder):
        return subprocess.run(["stat", "-fc%T", folder], capture_output=True).stdout == b"tmpfs\n"

    if not is_memory(scratch) or is_memory(tmp_path):
        pytest.skip("needs a folder in memory and one on a disk")

    def replay(state, *more, memory=scratch):
        where = ["--block-log", scratch / "log", "--state", tmp_path / state]
        return driver("replay", *where, *more, env={"CHAINBASE_MEMORY_FOLDER": str(memory)})

    replay("a").says(f"its segment is in {scratch}/chainbase-", "there is room")
    assert not (tmp_path / "a/segment").exists()
    replay("b", memory="none")
    replay("c", "--durability", "process")
    replay("d", memory=tmp_path).says("is in the state folder", "not memory")
    replay("e", memory=scratch / "nowhere").says("is in the state folder", "cannot be written")
    replay("f", "--expected-size", "1PiB").says("is in the state folder", "1048576 GiB")
    for state in "bcdef":
        assert (tmp_path / state / "segment/header").exists()
    assert "its segment" not in replay("b").err  # it is there, and stays


def test_memory_that_is_not_there_or_for_no_group_leaves_nothing_behind(place, scratch):
    for option, value in (
        ("--memory-folder", scratch / "nowhere"),
        ("--memory-folder", scratch / "log"),
        ("--group", "99999999999"),
        ("--group", "4294967295"),
    ):
        place.replay(option, value, state="above/state", code=2).says(str(value))
        assert not (scratch / "above").exists()


# --- archives: where finished objects go changes nothing of what a state says ---


@pytest.fixture(scope="module")
def by_archive(driver, tmp_path_factory):
    """Reports of a replay in two calls, by chain and archive."""
    said = {}
    for chain in CHAINS:
        replay = Replays(driver, tmp_path_factory.mktemp("archives"), chain)
        for archive in ARCHIVES:
            replay("--archive", archive, "--stop-at", 1000, state=archive)
            said[chain, archive] = replay("--verify", state=archive)
    return said


def test_a_replay_comes_to_the_same_state_with_any_archive(by_archive):
    for (chain, archive), said in by_archive.items():
        assert said["state_digest"] == chain.digest
        assert said["archive"]["store"] == archive


def test_what_became_of_the_archive_is_told(by_archive):
    said = {archive: by_archive[STEEM, archive] for archive in ARCHIVES}
    assert said["rocksdb"]["archived"] == said["memory"]["archived"]
    for kept in ("rocksdb", "memory"):
        archive = said[kept]["archive"]  # of the second run
        steps = archive["hand_over"]
        assert archive["rows"] > 0
        assert archive["bytes"] > archive["record_bytes"] > 0
        assert archive["failures"] == 0
        assert steps["objects"] == archive["rows"]
        assert 1 < steps["largest_batch_rows"] <= archive["rows"]
        assert steps["writing"] == archive["batches"]
        for step in ("encoding", "writing", "removing"):
            assert steps[step]["count"] > 0 and steps[step]["seconds"] > 0
            assert steps[step]["p50_us"] <= steps[step]["p999_us"]
        assert archive["hit_in_memory"]["count"] > archive["hit_in_memory"]["measured"]
        assert archive["miss"]["count"] == archive["miss"]["measured"]
        assert archive["hit_in_memory"]["count"] == said[kept]["lookups"]["hit_in_memory"]
    assert said["memory"]["archive"]["engine"] is None
    assert said["none"]["archive"]["engine"] is None
    engine = said["rocksdb"]["archive"]["engine"]
    written = engine["log_bytes"] + engine["ingested_bytes"]
    assert written > said["rocksdb"]["archive"]["record_bytes"]
    for figure in (
        *("block_hits", "block_misses", "filter_hits", "filter_misses", "flushed_bytes"),
        *("compacted_bytes", "stalled_seconds", "cache_bytes", "filter_and_index_bytes"),
        *("hint_bytes", "buffer_bytes", "files", "file_bytes"),
    ):
        assert isinstance(engine[figure], (int, float)), figure
    assert said["none"]["archived"]["comment"] == 0
    assert said["none"]["archive"]["rows"] == 0
    assert said["none"]["verified"]["in_archive"] == 0
    assert said["memory"]["verified"]["in_archive"] == said["rocksdb"]["verified"]["in_archive"]


def test_what_became_of_the_archive_is_in_the_trace_and_in_the_report_alike(replays, scratch):
    lines, events = scratch / "trace-log", scratch / "trace"
    archive = replays(STEEM)("--trace-log", lines, "--trace", events)["archive"]
    counted = collections.Counter()
    for line in map(json.loads, lines.read_text().splitlines()):
        for kind in ("counters", "spans"):
            counted.update({name: one["count"] for name, one in line[kind].items()})
    steps = archive["hand_over"]
    expected = {
        "hits_in_memory": archive["hit_in_memory"]["count"],
        "hits": archive["hit_in_archive"]["count"],
        "misses": archive["miss"]["count"],
        "rows": archive["rows"],
        "record_bytes": archive["record_bytes"],
        "handed_over": steps["objects"],
        "log_bytes": archive["engine"]["log_bytes"],
        "write": steps["writing"]["count"],
        "encode": steps["encoding"]["count"],
        "hand_over": steps["removing"]["count"],
    }
    assert {name: counted[f"archive.{name}"] for name in expected} == expected

    events = json.loads(events.read_text())
    threads = {one["tid"]: one["args"]["name"] for one in events if one["name"] == "thread_name"}
    writers = {
        threads[one["tid"]] for one in events if one["name"] == "archive.write" and one["ph"] == "X"
    }
    assert "archive" in writers  # behind the back of the thread that applies


def test_an_archive_stays_what_it_was_made_as_and_another_one_is_refused_by_name(replays, scratch):
    replay = replays(STEEM)
    for made in ARCHIVES:
        replay("--archive", made, "--stop-at", 500, state=made)
        for asked in set(ARCHIVES) - {made}:
            replay.run("--archive", asked, state=made, code=2).says(
                f"`{made}`", f"`{asked}`", f"{scratch}/{made}/archive"
            )
        replay("--stop-at", 600, state=made)


def test_a_folder_that_is_no_archive_is_refused_for_every_kind_and_not_touched(replays, scratch):
    replay = replays(STEEM)
    for kind in ARCHIVES:
        replay("--archive", kind, "--stop-at", 100, state=kind)
        archive = scratch / kind / "archive"
        archive.rename(scratch / f"{kind}-archive")
        archive.mkdir(mode=0o700)
        (archive / "notes").write_text("mine")
        replay.run("--archive", kind, state=kind, code=1).says(str(archive), "format")
        assert os.listdir(archive) == ["notes"]
