"""serve and sync: the state ends where a replay of the longest branch ends, whatever ends the
processes. What is at fault at one end: test_driver_peers.py."""
import random
import re
import signal
import time

import pytest
from blocks import PaymentsTree, write_branches
from chains import EOS, STEEM, carried_log
from peers import (CAUGHT_UP, HELLO, KEEPALIVE, Connection, GivenChain, ScriptedPeer,
                   caught_up, digest_of, frame, frame_of, serve, sync_call)


@pytest.fixture
def given(rng):
    return GivenChain(rng)


# --- forks ---


def storm(rng, lag, recent):
    """A tree of blocks at random places, some of them bad, and their frames as they came."""
    tree = PaymentsTree(rng, lag)
    frames = [frame_of(tree, 1)]
    for _ in range(200):
        parent = tree.any_parent(recent) if rng.random() < 0.7 else tree.head
        frames.append(frame_of(tree, tree.add(parent, rng.random() < 0.1)))
    return tree, frames


@pytest.mark.parametrize("verb", ["sync", "live"])
def test_storms_of_forks_and_bad_blocks_end_where_the_model_ends(driver, scratch, rng, verb):
    lag = rng.randint(3, 10)  # less of either, where little forks: tests/sync/peers.cpp
    tree, frames = storm(rng, lag, rng.randint(3, 6))

    def give(to, _count):
        to.greet()
        to.send(*frames, caught_up(tree[tree.head].place))
        to.wait_for_end()

    with ScriptedPeer(give) as peer:
        said = driver(*sync_call(scratch / "state", peer.address, verb=verb), "--lag", lag).json
    assert said["head"] == said["irreversible"] == tree[tree.head].place.number
    assert said["state_digest"] == digest_of(driver, tree.write_log(scratch / "log"), scratch / "r")
    assert said["sync"]["failures"] == 0
    assert said["sync"]["popped_blocks"] > 0
    assert said["sync"]["rejected_blocks"] > 0


@pytest.mark.parametrize("overlap", [False, True])
def test_served_branches_are_followed_and_left(driver, scratch, rng, overlap):
    lag, popped, branches, at = 8, 0, [], 3
    tree = PaymentsTree(rng, 1000)
    chain = tree.grow(1, 300)
    while at + lag < len(chain):
        length, is_bad, last = rng.randint(1, lag), rng.random() < 0.3, chain[at]
        branch = []
        for left in range(length, 0, -1):
            last = tree.add(last, is_bad and left == 1)
            branch.append(tree[last].encoded)
        branches.append((tree[chain[at]].place.number, branch))
        popped += length - is_bad
        at += rng.randint(1, 9) + (0 if overlap else length)  # overtakes each before the next
    log = tree.write_log(scratch / "log", chain[-1])
    server = serve(driver, log, "--forks", write_branches(scratch / "forks", "payments", branches))
    said = driver(*sync_call(scratch / "state", server.address), "--lag", lag, "--verify").json
    assert said["state_digest"] == digest_of(driver, log, scratch / "replayed")
    assert said["sync"]["popped_blocks"] > 0
    assert overlap or said["sync"]["popped_blocks"] == popped
    assert said["sync"]["connections"] == 1


@pytest.mark.parametrize("is_bad", [False, True])
def test_a_fork_that_overtakes_after_a_restart_is_followed(driver, scratch, rng, is_bad):
    tree = PaymentsTree(rng, 10)
    chain = [1] + tree.grow(1, 5)
    branch = [chain[2]]
    for i in range(5):
        branch.append(tree.add(branch[-1], is_bad and i == 2))

    def give(to, count):
        to.greet()
        if count == 0:
            to.send(*(frame_of(tree, one) for one in chain), caught_up(tree[chain[-1]].place, False))
        elif is_bad and count == 2:  # the blocks that were popped for it come again
            to.send(*(frame_of(tree, one) for one in chain[3:]), caught_up(tree[chain[-1]].place))
        else:
            to.send(*(frame_of(tree, one) for one in branch[1:]),
                    caught_up(tree[branch[-1]].place, not is_bad))
        to.wait_for_end()

    call = ["--lag", "10"]
    with ScriptedPeer(give) as peer:
        first = driver(*sync_call(scratch / "state", peer.address), *call, "--stop-at", "6").json
        assert first["head"] == 6
        said = driver(*sync_call(scratch / "state", peer.address), *call).json
    assert said["sync"]["popped_blocks"] >= 3
    assert said["sync"]["rejected_blocks"] == (1 if is_bad else 0)
    log = tree.write_log(scratch / "log", chain[-1] if is_bad else branch[-1])
    assert said["state_digest"] == digest_of(driver, log, scratch / "replayed")


def test_a_bad_branch_as_long_as_what_an_earlier_run_had_costs_that_nothing(driver, scratch, rng):
    given = GivenChain(rng, 8)
    tree, branch = given.tree, [given.chain[2]]
    for i in range(4):
        branch.append(tree.add(branch[-1], i == 3))

    def give(to, count):
        if count != 1:
            return given.give_all(to)
        to.greet()
        to.send(*(frame_of(tree, one) for one in branch[1:]), caught_up(tree[branch[3]].place))
        return to.wait_for_end()

    with ScriptedPeer(give) as peer:
        call = [*sync_call(scratch / "state", peer.address), "--lag", "5"]
        assert driver(*call, "--stop-at", "6").json["head"] == 6
        said = driver(*call).json
    assert said["sync"]["rejected_blocks"] == 1
    assert said["sync"]["popped_blocks"] >= 3
    assert said["sync"]["failures"] == 1
    log = given.write_log(scratch / "log")
    assert said["state_digest"] == digest_of(driver, log, scratch / "replayed")


@pytest.mark.parametrize("chain", [EOS, STEEM])
@pytest.mark.parametrize("each", [0, 11], ids=["whole", "cut_at_every_11th_frame"])
def test_the_carried_logs_lead_to_the_digest_of_replay(driver, scratch, chain, each):
    server = serve(driver, carried_log(chain, scratch))

    def pass_on(to, _count):
        known, frames = to.greet(chain), []
        with Connection(server.address) as source:  # whose patience is not the client's
            source.ask(known, chain)
            assert source.receive()[0] == HELLO
            kind = None
            while kind != CAUGHT_UP and (each == 0 or len(frames) < each):
                kind, payload = source.receive()
                if kind != KEEPALIVE:
                    frames.append(frame(kind, payload))
        to.send(*frames)
        if kind == CAUGHT_UP:
            to.wait_for_end()
        to.send(frame(KEEPALIVE)[:8])

    with ScriptedPeer(pass_on) as peer:
        said = driver(*sync_call(scratch / "state", peer.address), "--attempts", "1000").json
    assert said["state_digest"] == chain.digest
    assert (said["sync"]["failures"] > 0) == (each != 0)
    assert said["sync"]["useless_blocks"] == 0


# --- processes that end ---


def timed(driver, call):
    begin = time.monotonic()
    said = driver(*call).json
    return said, time.monotonic() - begin


def test_a_sync_killed_or_interrupted_at_random_times_goes_on_to_the_same_state(
        driver, scratch, rng):
    server = serve(driver, carried_log(EOS, scratch))
    said, longest = timed(driver, sync_call(scratch / "undisturbed", server.address))
    assert said["state_digest"] == EOS.digest
    state, ended = scratch / "state", 0
    while ended < 12:
        process = driver.start(*sync_call(state, server.address), "--verify")
        time.sleep(rng.uniform(0, longest))
        process.signal(signal.SIGKILL if rng.random() < 0.7 else signal.SIGTERM)
        run = process.wait(None)
        if run.code == 0:
            assert run.json["state_digest"] == EOS.digest
            state = state.with_name(state.name + "_")
        else:
            run.expect((3, -signal.SIGKILL, -signal.SIGTERM))
            ended += 1
    said = driver(*sync_call(state, server.address), "--verify").json
    assert said["state_digest"] == EOS.digest


@pytest.fixture(scope="module")
def forked(driver, session_scratch, request):
    """A generated log with branches beside it, some of them bad, and what replaying it leads to."""
    log = session_scratch / "forked"
    driver("generate", "--operations", "30000", "--accounts", "500", "--seed", request.config.seed,
           "--to", log, "--forks", "20", "--fork-depth", "8", "--bad-forks", "30")
    replayed = driver.json("replay", "--block-log", log, "--state", session_scratch / "forked.state",
                           "--state-root", "all", "--verify-roots")
    return log, replayed


def test_generated_forks_are_followed_and_left_good_ones_and_bad_ones(driver, scratch, forked):
    log, replayed = forked
    server = serve(driver, log, "--forks", f"{log}.forks")
    said = driver(*sync_call(scratch / "state", server.address), "--verify").json
    assert said["state_digest"] == replayed["state_digest"]
    assert said["operations"] == replayed["operations"]
    assert said["sync"]["popped_blocks"] > 10
    assert said["sync"]["rejected_blocks"] > 0


@pytest.mark.parametrize("killed, ended", [("sync", "sync"), ("sync", "live"), ("sync", "replay"),
                                           ("live", "live"), ("live", "sync")])
def test_what_is_killed_among_forks_goes_on_to_the_same_state_and_root(
        driver, scratch, rng, forked, killed, ended):
    log, replayed = forked
    server = serve(driver, log, "--forks", f"{log}.forks")
    state, root = scratch / "state", ["--state-root", "all"]

    def call(verb, to=state):
        if verb == "replay":
            return ["replay", "--block-log", log, "--state", to, "--json", *root]
        more = ["--pending", "20", "--readers", "1"] if verb == "live" else []
        return [*sync_call(to, server.address, verb=verb), *root, *more]

    _, longest = timed(driver, call(killed, scratch / "undisturbed"))
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
        process = driver.start(*call(killed))
        time.sleep(rng.uniform(0, longest))
        process.signal(number)
        process.wait(None).expect((0, 3, -number))
    end = driver(*call(ended)).json
    assert end["state_digest"] == replayed["state_digest"]
    assert end["head"] == replayed["head"]
    verified = driver.json("replay", "--block-log", log, "--state", state, "--verify-roots")
    assert verified["state_root"]["root"] == replayed["state_root"]["root"]
    assert verified["state_root"]["recomputed"] is True


def test_a_server_that_is_killed_and_started_again_costs_nothing_but_time(
        driver, scratch, rng, forked):
    log, replayed = forked
    branches = ["--forks", f"{log}.forks"]
    server = serve(driver, log, *branches)
    client = driver.start(*sync_call(scratch / "state", server.address))
    for _ in range(5):
        if not client.is_running:
            break
        time.sleep(rng.uniform(0, 0.06))
        server.kill()
        server = serve(driver, log, *branches, listen=server.address)
    assert client.wait().json["state_digest"] == replayed["state_digest"]


def test_a_log_in_place_of_a_peer_its_end_is_the_end_and_a_foreign_one_is_refused(
        driver, scratch, forked, seed):
    log, replayed = forked
    state = scratch / "state"
    end = driver.json("sync", "--block-log", log, "--state", state)
    assert end["state_digest"] == replayed["state_digest"]
    assert end["irreversible"] == replayed["head"]
    driver("generate", "--operations", "3000", "--accounts", "500", "--seed", seed, "--to",
           scratch / "other")
    driver("sync", "--block-log", scratch / "other", "--state", state, code=2).says(
        "use the log that the state was made from")
    again = driver.json("sync", "--block-log", log, "--state", state)
    assert again["state_digest"] == replayed["state_digest"]
    assert again["replayed_blocks"] == 0


def test_serve_and_sync_end_with_a_signal_and_say_what_they_did(driver, scratch):
    server = serve(driver, carried_log(EOS, scratch))
    client = driver.start(*(word for word in sync_call(scratch / "state", server.address)
                            if word != "--once"))
    client.wait_for("peer ", "err")
    assert driver(*sync_call(scratch / "other", server.address)).json["head"] > 0
    server.signal(signal.SIGTERM)
    end = server.wait(0).json_lines[-1]
    assert end["chain"] == EOS
    assert end["connections"] == 2
    assert end["refused"] == 0
    run = client.interrupt(3)
    assert run.out == "" or run.json["interrupted"] is True


@pytest.mark.parametrize("verb", ["sync", "live"])
def test_a_signal_before_a_peer_answers_leaves_no_state(driver, scratch, verb):
    with ScriptedPeer(lambda to, _count: to.wait_for_end()) as mute:
        process = driver.start(verb, "--peer", mute.address, "--state", scratch / "state", "--json")
        mute.wait_for_connection()
        run = process.interrupt(3)
    assert run.out == ""
    run.says("the same call goes on")
    assert not (scratch / "state").exists()


# --- what is said ---


def test_what_a_peer_needs_for_its_first_answer_is_not_waiting_for_blocks(driver, scratch, given):
    def script(to, _count):
        time.sleep(1.5)
        to.greet()
        given.give(to, 0, 10)
        time.sleep(0.6)  # meanwhile a line is due
        given.give(to, 10, 30)
        to.send(caught_up(given.place(-1)))
        to.wait_for_end()

    with ScriptedPeer(script) as peer:
        run = driver(*sync_call(scratch / "state", peer.address),
                     env={"CHAINBASE_PROGRESS_SECONDS": "0.5"})
    assert run.json["head"] == 30
    assert run.json["waited"]["for_blocks"] <= run.json["seconds"]
    shares = re.findall(r"waited for blocks (\d+)", run.err)
    assert shares
    assert all(int(one) <= 100 for one in shares)


# --- refusals ---


WRONG_CALLS = {
    "no_source": (["sync"], "--peer HOST:PORT"),
    "no_port": (["sync", "--peer", "here"], "is not an address"),
    "port": (["sync", "--peer", "here:99999"], "is not an address"),
    "brackets": (["sync", "--peer", "::1:4000"], "is not an address"),
    "unknown_chain": (["sync", "--peer", "a:1", "--chain", "nothing"], "no model for"),
    "chain_of_log": (["sync", "--block-log", "b", "--chain", "payments"], "excludes"),
    "both": (["sync", "--peer", "a:1", "--block-log", "b"], "excludes"),
    "lag": (["sync", "--peer", "a:1", "--lag", "4097"], "--lag"),
    "metrics": (["serve", "--metrics", "here"], "is not an address"),
    "listen": (["serve", "--listen", "nowhere"], "is not an address"),
    "no_rate": (["serve", "--from-head", "1"], "--blocks-per-second"),
    "no_such_block": (["serve", "--from-head", "100", "--blocks-per-second", "5"],
                      "has no block 100"),
}


@pytest.mark.parametrize("what", WRONG_CALLS)
def test_a_wrong_call_says_why(driver, scratch, given, what):
    (verb, *more), why = WRONG_CALLS[what]
    if verb == "serve":
        more += ["--block-log", given.write_log(scratch / "log")]
    else:
        more += ["--state", scratch / "state"]
    driver(verb, *more, code=2).says(why)
    assert not (scratch / "state").exists()


def test_when_nobody_is_left_every_peer_is_named(driver, scratch):
    driver(*sync_call(scratch / "state", "127.0.0.1:1", "127.0.0.1:2"), "--attempts", "2",
           code=1).says("127.0.0.1:1: cannot connect (Connection refused), attempt 2 of 2",
                        "127.0.0.1:2", "No peer is left")


def test_a_state_of_another_chain_or_branch_is_refused(driver, scratch, given):
    server = serve(driver, given.write_log(scratch / "log"))
    state = scratch / "steem"
    driver("replay", "--block-log", carried_log(STEEM, scratch), "--state", state, "--stop-at", "9")
    call = [*sync_call(state, server.address), "--attempts", "1"]
    driver(*call, code=1).says("blocks of payments, not of steem-2016")
    driver(*call, "--chain", "payments", code=2).says("is of the chain steem-2016, not of payments")
    other = PaymentsTree(random.Random(99))
    other.add(1)
    driver("replay", "--block-log", other.write_log(scratch / "other"), "--state", scratch / "fork")
    driver(*sync_call(scratch / "fork", server.address), "--attempts", "1", code=1).says(
        "this server has none", "sync into another folder")
