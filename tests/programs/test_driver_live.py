"""live and load: a node that follows a log or peers, with transactions that arrive before their
block, blocks that are popped, and readers, comes to the state of replay; a measurement writes what
it found, and overwrites nothing."""
import csv
import json
import signal
import time

import pytest
from blocks import PaymentsTree
from chains import EOS, STEEM, carried_log
from peers import ScriptedPeer, caught_up, frame_of, sync_call
from programs import need

# Enough of a log for everything to happen in it, and little enough to be quick.
STOP = {STEEM: 20000, EOS: 270500000}


# --- a node ---


@pytest.fixture(scope="module", params=[STEEM, EOS])
def part_of_a_log(request, driver, session_scratch):
    """A chain, its log, and the digest of replay at the block to stop at."""
    chain = request.param
    folder = session_scratch / f"live-{chain}"
    folder.mkdir()
    log = carried_log(chain, folder)
    said = driver.json("replay", "--block-log", log, "--state", folder / "replayed", "--stop-at",
                       STOP[chain])
    return chain, log, said["state_digest"]


def live(log, state, *more):
    return ["live", "--block-log", log, "--state", state, "--json", *more]


WAYS = {
    "blocks_alone": (["--pending", "0"], lambda chain, pending: pending["arrived"] == 0),
    "readers": (["--pending", "30", "--readers", "2"], lambda chain, pending:
                pending["applied"] > 0 and (chain == EOS or pending["included"] > 0)),
    "shuffled": (["--pending", "30", "--shuffle", "7", "--batch", "1"], lambda chain, pending:
                 chain == EOS or pending["rejected"] > 0),
    "no_time": (["--pending", "200", "--budget-ms", "0"],
                lambda chain, pending: pending["applied"] == 0),
    "no_forks": (["--pending", "30", "--lag", "0"], lambda chain, pending: pending["arrived"] > 0),
}


@pytest.mark.parametrize("way", WAYS)
def test_live_comes_to_the_state_of_replay_whatever_arrives_before_its_block(
        driver, scratch, part_of_a_log, way):
    chain, log, digest = part_of_a_log
    more, holds = WAYS[way]
    said = driver(*live(log, scratch / "state", "--stop-at", STOP[chain], *more)).json
    assert said["state_digest"] == digest
    assert said["head"] <= STOP[chain]
    assert said["interrupted"] is False
    assert holds(chain, said["pending"]), said["pending"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_node_that_is_killed_or_interrupted_goes_on_to_the_same_state(
        driver, scratch, rng, number):
    log = carried_log(STEEM, scratch)
    digest = driver.json("replay", "--block-log", log, "--state", scratch / "replayed", "--stop-at",
                         STOP[STEEM])["state_digest"]
    call = live(log, scratch / "state", "--stop-at", STOP[STEEM], "--pending", "50")
    head = 0
    for _ in range(6):
        process = driver.start(*call)
        time.sleep(rng.uniform(0.02, 0.14))
        process.signal(number)
        run = process.wait(None).expect((0, 3, -number))  # done, or not listening to signals yet
        if run.code == 3:
            assert run.json["interrupted"] is True
            assert run.json["state_digest"] is None
            assert run.json["head"] >= head
            head = run.json["head"]
    said = driver(*call).json
    assert said["state_digest"] == digest
    assert said["head"] == STOP[STEEM]


def test_replay_and_live_go_on_with_each_others_state(driver, scratch):
    log, state = carried_log(EOS, scratch), scratch / "state"
    driver("replay", "--block-log", log, "--state", state, "--stop-at", "270300000")
    driver(*live(log, state, "--stop-at", STOP[EOS], "--pending", "10"))
    said = driver.json("replay", "--block-log", log, "--state", state, "--verify")
    assert said["state_digest"] == EOS.digest
    assert said["verified"]


def test_a_node_refuses_a_state_beyond_the_block_to_stop_at_and_one_of_another_log(driver, scratch):
    log, state = carried_log(EOS, scratch), scratch / "state"
    driver(*live(log, state, "--stop-at", "269300000", "--pending", "0"))
    driver(*live(log, state, "--stop-at", "1"), code=2).says("to stop at")
    driver(*live(carried_log(STEEM, scratch), state), code=2).says("of the chain")


def test_payments_of_a_losing_branch_are_pending_until_the_winning_one_has_them(
        driver, scratch, rng):
    tree = PaymentsTree(rng, 10)
    common = tree.add(1)
    losing = tree.add(common)
    winning = tree.add_copy(common, losing)
    last = tree.add(winning)

    def give(to, _count):
        to.greet()
        to.send(*(frame_of(tree, one) for one in (1, common, losing, winning, last)),
                caught_up(tree[last].place))
        to.wait_for_end()

    with ScriptedPeer(give) as peer:
        call = sync_call(scratch / "state", peer.address, verb="live")
        said = driver(*call, "--pending", "0").json
    log = tree.write_log(scratch / "log", last)
    replayed = driver.json("replay", "--block-log", log, "--state", scratch / "replayed")
    assert said["state_digest"] == replayed["state_digest"]
    assert said["sync"]["switches"] == 1
    payments = len(tree[losing].operations)
    pending = said["pending"]
    assert (pending["returned"], pending["included"], pending["forgotten"]) == (payments, payments, 0)


# --- load ---


def short_load(scratch, workload):
    return ["load", "--workload", workload, "--accounts", "200", "--start-rate", "1000", "--step",
            "500", "--last-rate", "1500", "--seconds", "1", "--interval-ms", "200", "--json",
            "--to", scratch / "files", "--state", scratch / "state"]


def rows_of(path):
    """Of a CSV file; each has as many columns as its header."""
    header, *rows = list(csv.reader(path.open()))
    assert all(len(row) == len(header) for row in rows)
    return header, rows


@pytest.mark.parametrize("workload", ["payments", "social"])
def test_a_measurement_raises_the_rate_to_the_last_one_and_writes_its_files(
        driver, scratch, workload):
    said = driver(*short_load(scratch, workload)).json
    assert said == json.loads((scratch / "files/load.json").read_text())
    assert said["workload"] == workload
    assert [step["rate"] for step in said["steps"]] in ([1000], [1000, 1500])  # the last that holds
    first = said["steps"][0]
    assert first["rejected"] == 0
    if first["sustained"]:
        assert first["offered"] == first["completed"] == 1000
        assert len(said["steps"]) == 2
        assert said["sustained_rate"] == said["sustained"]["rate"] >= 1000
    assert first["transactions"]["p50_ms"] <= first["transactions"]["max_ms"]
    assert first["readers"]["count"] > 0
    header, rows = rows_of(scratch / "files/load.csv")
    assert header[:4] == ["second", "rate", "offered", "completed"]
    assert len(rows) >= 2
    assert (scratch / "state").is_dir()


def test_the_plot_of_a_measurement(driver, scratch):
    need("gnuplot")
    driver(*short_load(scratch, "payments"))
    assert "</svg>" in (scratch / "files/load.svg").read_text()


def test_without_gnuplot_there_are_figures_and_a_word_on_the_plot(driver, scratch):
    driver(*short_load(scratch, "payments"), env={"PATH": "/nonexistent"}).says("no gnuplot")
    assert len(rows_of(scratch / "files/load.csv")[1]) >= 2
    assert (scratch / "files/load.gp").exists()
    assert not (scratch / "files/load.svg").exists()


def test_a_measurement_stops_at_the_first_rate_that_is_not_sustained(driver):
    said = driver.json("load", "--accounts", "200", "--start-rate", "30000000", "--step", "1",
                       "--seconds", "1", "--interval-ms", "1")
    assert len(said["steps"]) == 1
    assert said["steps"][0]["sustained"] is False
    assert said["steps"][0]["failed"] != ""
    assert said["sustained"] is None
    assert said["sustained_rate"] == 0


def test_a_measurement_overwrites_neither_files_nor_a_state(driver, scratch):
    files, state = scratch / "files", scratch / "state"
    files.mkdir()
    (files / "load.json").write_text("mine")
    driver(*short_load(scratch, "payments"), code=2).says("load.json exists already")
    assert (files / "load.json").read_text() == "mine"
    (files / "load.json").unlink()
    state.mkdir()
    driver(*short_load(scratch, "payments"), code=2).says("exists already")
    assert list(state.iterdir()) == []
