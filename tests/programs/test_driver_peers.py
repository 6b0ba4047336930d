"""What a peer or a client of serve and sync does wrong costs its connection, a message that names it,
and nothing else: the state is at a good block, and others are served."""
import random
import resource
import signal
import struct

import pytest
from blocks import NO_BLOCK, PaymentsTree, Place, encoded_block, signed, unsigned
from chains import STEEM
from peers import (BLOCKS, BUSY, CAUGHT_UP, HELLO, KEEPALIVE, MALFORMED, NO_COMMON_BLOCK,
                   WRONG_CHAIN, Connection, GivenChain, Hung, ScriptedPeer, blocks, blocks_payload,
                   caught_up, digest_of, frame, frame_of, hello, refusal, request, serve,
                   sync_call)


@pytest.fixture
def given(rng):
    return GivenChain(rng)


# --- peers at fault ---


def too_many_bad(story, to):
    tree, at, frames = story.tree, story.chain[9], []
    for i in range(30):
        at = tree.add(at, i == 0)
        frames.append(frame_of(tree, at))
    to.send(*frames, caught_up(tree[at].place))


def far_child(story, to):
    tree, at = story.tree, story.chain[9]
    for i in range(30):
        at = tree.add(at, i == 0)
    while True:
        to.send(frame_of(tree, at))


def known_already(story, to):
    while True:
        to.send(frame_of(story.tree, story.chain[9]))


def damaged(story, to):
    data = bytearray(frame_of(story.tree, story.chain[10]))
    data[len(data) // 2] ^= 4
    to.send(bytes(data))


def forged(change):
    """The next block in a frame whose payload is changed and whose checksum is right."""
    def evil(story, to):
        tree, at = story.tree, story.chain[10]
        payload = bytearray(blocks_payload(tree[tree[at].parent].place, [tree[at].encoded]))
        to.send(frame(BLOCKS, bytes(change(payload) or payload)))
    return evil


def overwritten(at, with_bytes):
    def change(payload):
        payload[at:at + len(with_bytes)] = with_bytes
    return forged(change)


def other_chain(story, to):
    other = PaymentsTree(random.Random(99))
    to.send(frame_of(other, other.add(1)))


def sends(*frames):
    return lambda story, to: to.send(*frames)


FAULTS = {
    "hangs_up": (lambda story, to: to.socket.close(), "hung up"),
    "huge": (sends(frame(BLOCKS, length=2**32 - 1)), "a message of 4294967295 bytes"),
    "large_word": (sends(frame(CAUGHT_UP, length=200_000)), "a message of 200000 bytes"),
    "unknown_type": (sends(frame(77)), "unknown type 77"),
    "wrong_checksum": (sends(frame(BLOCKS, bytes(8), right=False)), "wrong checksum"),
    "second_hello": (sends(hello()), "not expected here"),
    "flipped_bit": (damaged, "wrong checksum"),
    "count": (overwritten(24, b"\xff" * 4), "4294967295 blocks in"),
    "no_blocks": (overwritten(24, bytes(4)), "a message of 0 blocks"),
    "length": (overwritten(32, b"\xff" * 4), "reaches beyond its message"),
    "more": (forged(lambda payload: payload + b"\0"), "after the last"),
    "no_block": (overwritten(38, b"\xff" * 10), "is not a block of the chain payments"),
    "cut": (forged(lambda payload: payload[:5]), "blocks of 5 bytes, which has at least 32"),
    "falling": (overwritten(0, b"\xc8"), "numbers rise"),
    "other_parent": (forged(lambda payload: payload.__setitem__(9, payload[9] ^ 1)),
                     "no peer has sent"),
    "gap": (lambda story, to: to.send(frame_of(story.tree, story.chain[20])), "no peer has sent"),
    "deep_fork": (other_chain, "cannot go back before its irreversible"),
    "says_twice": (lambda story, to: to.send(*2 * [caught_up(story.place(9), False)]),
                   "says twice"),
    "unsent_head": (lambda story, to: to.send(caught_up(story.place(20))),
                    "which it has not sent"),
    "known": (known_already, "known already"),
    "bad_chain": (too_many_bad, "has the money"),
    "unlinked": (far_child, "no peer has sent"),
}


def tell_faulty(driver, scratch, given, script, why, head, more=("--lag", "5")):
    """The peer alone: sync fails saying why, and the state is at a good block. Then with a good peer
    behind it: sync comes to the end."""
    state = scratch / "state"
    with ScriptedPeer(script) as bad, ScriptedPeer(given.give_all) as good:
        alone = driver(*sync_call(state, bad.address), *more, "--attempts", "2", code=1)
        alone.says(why, bad.address, "name another")
        assert alone.out == ""
        said = driver(*sync_call(state, bad.address, good.address), *more).json
    # What the state had when the good peer's turn came: nothing was made final before its time.
    assert given.known[0].number == head
    assert given.known[-1].number == max(0, head - 5)
    assert good.connections == 1
    return said


@pytest.mark.parametrize("what", FAULTS)
def test_a_faulty_peer_costs_its_connection(driver, scratch, given, what):
    evil, why = FAULTS[what]

    def script(to, _count):
        given.give(to, to.greet()[0].number, 10)
        evil(given, to)
        to.wait_for_end()

    said = tell_faulty(driver, scratch, given, script, why, 10)
    log = given.write_log(scratch / "log")
    assert said["state_digest"] == digest_of(driver, log, scratch / "replayed")


# --- rejected blocks without end ---

def bad_siblings(given):
    """Behind one good block."""
    return [given.tree.add(given.chain[9], True) for _ in range(400)]


def bad_tips_in_turn(given):
    """Of two branches, equally long, each of which would be the longest."""
    tree = given.tree
    branch = tree.grow(given.chain[1], 8)
    tips = [tree.add(end, True) for _ in range(200) for end in (branch[-1], given.chain[9])]
    return branch + tips


REJECTED = {"siblings": bad_siblings, "tips_in_turn": bad_tips_in_turn}


@pytest.mark.parametrize("verb", ["sync", "live"])
@pytest.mark.parametrize("what", REJECTED)
def test_blocks_that_are_rejected_count_against_their_sender(driver, scratch, given, verb, what):
    sent = [frame_of(given.tree, one) for one in REJECTED[what](given)]

    def script(to, _count):
        given.give(to, to.greet()[0].number, 10)
        to.send(*sent)
        to.wait_for_end()

    with ScriptedPeer(script) as bad, ScriptedPeer(given.give_all) as good:
        call = sync_call(scratch / "state", bad.address, good.address, verb=verb)
        run = driver(*call, "--lag", "20")
        alone = driver(*sync_call(scratch / "alone", bad.address, verb=verb), "--lag", "20",
                       "--attempts", "5", code=1)
    assert good.connections == 1
    said = run.json
    assert said["head"] == 30
    assert 0 < said["sync"]["rejected_blocks"] <= 20
    assert said["sync"]["popped_blocks"] <= 20 * 20
    assert said["sync"]["failures"] == 1
    assert run.err.count("has the money") <= 20
    run.says(bad.address, "break the rules")
    assert said["state_digest"] == digest_of(driver, given.write_log(scratch / "log"),
                                             scratch / "replayed")
    # Three connections, and no more.
    assert alone.err.count("has the money") <= 40
    alone.says("given up", "No peer is left")


def test_branches_that_overtake_each_other_in_turn_have_an_end(driver, scratch, rng):
    """Each block is good, and makes the node go back to where two branches part."""
    given = GivenChain(rng, 30)
    given.tree.lag = 1000
    tree, ends, sent = given.tree, [given.chain[9]] * 2, []
    for round_ in range(400):
        if round_ % 30 == 0:
            ends = [ends[round_ % 2]] * 2
        for _ in range(1 if round_ % 30 == 0 else 2):
            ends[round_ % 2] = tree.add(ends[round_ % 2])
            sent.append(frame_of(tree, ends[round_ % 2]))

    def script(to, _count):
        given.give(to, to.greet()[0].number, 10)
        to.send(*sent)
        to.wait_for_end()

    with ScriptedPeer(script) as bad:
        run = driver(*sync_call(scratch / "state", bad.address), "--lag", "40", "--attempts", "1",
                     code=1)
    run.says("took back", bad.address)


ENDS = {
    "with_nothing": (None, 0, lambda given: caught_up(NO_BLOCK), "has no blocks", 0),
    "before_the_states_head": (
        None, 10, lambda given: caught_up(given.place(8)),
        "the state has as many blocks or more, up to block 10 ", 10),
    "below_the_irreversible_block": (
        None, 10, lambda given: caught_up(Place(1, 3, 4)),
        "the state has as many blocks or more", 10),
    "before_what_it_said_first": (
        29, 10, lambda given: caught_up(given.place(9)), "said before that it has block 30 ", 10),
}


@pytest.mark.parametrize("what", ENDS)
def test_a_peer_that_says_that_its_chain_ends_early(driver, scratch, given, what):
    last, blocks_given, end, why, head = ENDS[what]

    def script(to, _count):
        known = to.greet(last=given.place(last) if last else NO_BLOCK)
        given.give(to, min(known[0].number, blocks_given), blocks_given)
        to.send(end(given))
        to.wait_for_end()

    assert tell_faulty(driver, scratch, given, script, why, head)["head"] == 30


def test_a_peer_with_a_block_beyond_the_one_to_stop_at_which_follows_nothing(driver, scratch, given):
    far = encoded_block(2000, 9000, given.tree[2].operations)

    def script(to, _count):
        to.greet()
        to.send(blocks(Place(3, 1, 2), [far]))
        to.wait_for_end()

    said = tell_faulty(driver, scratch, given, script, "which no peer has sent", 0,
                       ["--lag", "5", "--stop-at", "20"])
    assert said["head"] == 20


def test_a_side_branch_beyond_the_block_to_stop_at_does_not_end_a_sync(driver, scratch, given):
    operations = given.tree[given.tree.add(given.chain[7])].operations

    def script(to, _count):
        to.greet()
        given.give(to, 0, 10)
        to.send(blocks(given.place(7), [encoded_block(500, 9000, operations),
                                        encoded_block(501, 9000, operations)]))
        given.give(to, 10, 30)
        to.wait_for_end()

    with ScriptedPeer(script) as peer:
        said = driver(*sync_call(scratch / "state", peer.address), "--lag", "5",
                      "--stop-at", "20").json
    assert said["head"] == 20
    assert said["sync"]["failures"] == 0
    log = given.tree.write_log(scratch / "log", given.chain[19])
    assert said["state_digest"] == digest_of(driver, log, scratch / "replayed")


def test_the_block_to_stop_at_may_be_missing_in_a_chain(driver, scratch, rng):
    given = GivenChain(rng, 10)
    beyond = given.tree.add(given.chain[9], number=12)

    def script(to, _count):
        given.give(to, to.greet()[0].number, 10)
        to.send(frame_of(given.tree, beyond))
        to.wait_for_end()

    with ScriptedPeer(script) as peer:
        for _ in range(2):
            said = driver(*sync_call(scratch / "state", peer.address), "--stop-at", "11").json
            assert said["head"] == 10


FIRST_WORDS = {
    "no_hello": (frame(KEEPALIVE), "begins without a hello"),
    "unknown_chain": (hello("nothing"), "no model for the chain"),
    "no_text": (hello("a\nb"), "not text"),
    "refusal": (refusal(WRONG_CHAIN, b"not\nfor you"), 'it refuses: "not?for you"'),
    "version": (hello(version=9), "version 9 of the protocol, this program speaks 1"),
    "magic": (hello(magic=b"\x09BLKSYN\n"), "does not speak this protocol"),
    "empty": (frame(HELLO), "does not speak this protocol"),
}


@pytest.mark.parametrize("what", FIRST_WORDS)
def test_a_peer_that_begins_wrongly_leaves_no_state(driver, scratch, what):
    words, why = FIRST_WORDS[what]

    def script(to, _count):
        to.receive()
        to.send(words)
        to.wait_for_end()

    with ScriptedPeer(script) as peer:
        driver(*sync_call(scratch / "state", peer.address), "--attempts", "2", code=1).says(why)
    assert not (scratch / "state").exists()


# A known chain of a peer that nobody knows another one of would be the chain to follow.
@pytest.mark.parametrize("chain, known_by", [
    (STEEM, "state"), (STEEM, "option"), ("nothing", "state"), ("nothing", "option"),
    ("nothing", "nobody")])
def test_a_peer_of_another_chain_costs_itself(driver, scratch, given, chain, known_by):
    def script(to, _count):
        to.receive()
        to.send(hello(chain))
        to.wait_for_end()

    if known_by == "state":
        log = given.tree.write_log(scratch / "one", given.chain[0])
        driver("replay", "--block-log", log, "--state", scratch / "state")
    with ScriptedPeer(script) as wrong, ScriptedPeer(given.give_all) as right:
        call = sync_call(scratch / "state", wrong.address, right.address)
        said = driver(*call, *(["--chain", "payments"] if known_by == "option" else [])).json
    assert said["head"] == 30
    assert wrong.connections == right.connections == 1


def test_a_peer_that_fills_the_tree_and_hangs_up_does_not_harm_the_next(driver, scratch, given):
    tree, at, frames = given.tree, 1, [frame_of(given.tree, 1)]
    for _ in range(3):
        at = tree.add(at)
        frames.append(frame_of(tree, at))
    frames += [blocks(given.place(0), [encoded_block(2, time, tree[2].operations)])
               for time in range(10_000)]

    def fill(to, _count):
        to.greet()
        to.send(*frames)

    with ScriptedPeer(fill) as hostile, ScriptedPeer(given.give_all) as honest:
        said = driver(*sync_call(scratch / "state", hostile.address, honest.address),
                      "--lag", "5").json
    assert honest.connections == 1
    assert said["sync"]["failures"] == 1
    log = given.write_log(scratch / "log")
    assert said["state_digest"] == digest_of(driver, log, scratch / "replayed")


def least_memory(driver, call):
    """How many bytes of private memory a call needs, to 16 MiB."""
    def is_enough(limit):
        return driver(*call, code=None, preexec=with_memory(limit)).code == 0

    enough = 1 << 26
    while not is_enough(enough):
        enough *= 2
        if enough > 1 << 36:
            pytest.skip("a sanitizer takes all memory for itself")
    too_few = enough // 2
    while enough - too_few > 16 << 20:
        middle = (enough + too_few) // 2
        enough, too_few = (middle, too_few) if is_enough(middle) else (enough, middle)
    return enough


def with_memory(limit):
    return lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def test_a_block_that_there_is_no_memory_for_ends_the_connection_and_not_the_node(
        driver, scratch, given):
    count = 15 << 20  # transactions without operations: a byte each, and many times that decoded
    too_large = unsigned(2) + signed(2000) + unsigned(count) + bytes(count)

    def script(to, _count):
        to.greet()
        to.send(frame_of(given.tree, 1), blocks(given.place(0), [too_large]))
        to.wait_for_end()

    with ScriptedPeer(script) as bad, ScriptedPeer(given.give_all) as good:
        state = scratch / "state"
        limit = least_memory(driver, sync_call(scratch / "other", good.address)) + (64 << 20)
        call = [*sync_call(state, bad.address), "--attempts", "1"]
        driver(*call, code=1, preexec=with_memory(limit)).says(
            bad.address, "follows block 1", "more memory than there is")
        assert driver(*sync_call(state, good.address)).json["head"] == 30
    assert given.known[0].number == 1


# --- clients at fault ---


@pytest.fixture
def small_server(driver, scratch, rng):
    given = GivenChain(rng, 41)
    server = serve(driver, given.write_log(scratch / "log"))
    yield server
    # Whatever a client did, others are served.
    said = driver(*sync_call(scratch / "others", server.address)).json
    assert said["state_digest"] == digest_of(driver, scratch / "log", scratch / "replayed")
    server.signal(signal.SIGTERM)
    end = server.wait().json_lines[-1]
    assert end["finished"] >= 1
    assert end["blocks"] >= 41


CLIENTS = {
    "keepalive": (frame(KEEPALIVE), MALFORMED, ""),
    "unknown_type": (b"\xff" * 16, MALFORMED, "unknown type"),
    "too_large": (frame(HELLO, length=0x7f000000), MALFORMED, "of at most"),
    "checksum": (frame(HELLO, bytes(96), right=False), MALFORMED, "checksum"),
    "other_chain": (hello(STEEM), WRONG_CHAIN, "payments"),
    "no_block_named": (hello() + request([]), MALFORMED, ""),
    "none_in_common": (hello() + request([Place(7, 1, 2), Place(3, 3, 4)]), NO_COMMON_BLOCK,
                       "block 3 ("),
}


@pytest.mark.parametrize("what", CLIENTS)
def test_a_client_that_makes_no_sense_is_told_so_and_hung_up_on(small_server, what):
    words, reason, text = CLIENTS[what]
    with Connection(small_server.address) as client:
        client.send(words)
        told, why = client.refused()
        assert told == reason
        assert text in why
        with pytest.raises(Hung):
            client.receive()
        if what == "none_in_common":
            assert "block 41 (" in why


def test_a_client_that_talks_on_is_hung_up_on(small_server):
    with Connection(small_server.address) as client:
        client.ask()
        client.send(frame(KEEPALIVE))
        client.wait_for_end()


@pytest.mark.parametrize("option", ["--connections", "--connections-per-address"])
def test_one_client_too_many_is_told_to_come_later(driver, scratch, rng, option):
    log = GivenChain(rng).write_log(scratch / "log")
    server = serve(driver, log, option, "2")
    with Connection(server.address) as first, Connection(server.address) as second:
        for one in (first, second):
            one.send(hello())
            one.receive()
        with Connection(server.address) as third:
            assert third.refused()[0] == BUSY
    said = driver(*sync_call(scratch / "state", server.address)).json  # tries until they are gone
    assert said["head"] == 30


def test_blocks_appear_at_the_rate_asked_for_and_a_client_waits(driver, scratch, rng):
    log = GivenChain(rng, 41).write_log(scratch / "log")
    server = serve(driver, log, "--from-head", "10", "--blocks-per-second", "200", "--once")
    count = waits = is_end = 0
    with Connection(server.address) as client:
        client.ask()
        while not is_end:
            kind, payload = client.receive()
            if kind == BLOCKS:
                count += struct.unpack_from("<I", payload, 24)[0]
            if kind == CAUGHT_UP:
                assert struct.unpack_from("<Q", payload)[0] == count
                is_end = struct.unpack_from("<I", payload, 24)[0]
                waits += 1
    assert count == 41
    assert waits > 1
    assert server.wait().json_lines[-1]["finished"] == 1
