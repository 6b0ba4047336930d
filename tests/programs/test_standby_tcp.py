"""serve --feed and standby --from: a standby on another machine, whoever is killed and whatever comes over the
network, and its take-over. On one machine: test_standby.py."""
import shutil
import socket
import struct
import threading
import time

import pytest
from peers import (BUSY, ENDED, FEED_KEEP, FEED_PART, FEED_STATE, FROM_CURSOR, FROM_PLACE, FROM_SNAPSHOT,
                   KEPT_OUT, KILLED, MALFORMED, NO_TAKE_OVER, PART, TOO_FAR_BEHIND, WORKS, Connection, Hung,
                   ScriptedPeer, feed_keep, feed_part, feed_request, feed_state, frame, hello, sync_call)  # fmt: skip
from standbys import ROOT, CopiedNode, killed, took_over


class Nodes(CopiedNode):
    """A primary, a server of its feed, and a standby of that."""

    def __init__(self, driver, inspect, scratch, seed, *options, blocks_per_second=60):
        super().__init__(driver, inspect, scratch, seed, options, 12_000, blocks_per_second)
        self.snapshot, self.fetched = scratch / "snapshot", scratch / "fetched"
        self.node, self.feed, self.name, self.port = None, None, None, 0

    def start(self):
        """Node and server."""
        self.start_node()
        self.start_feed()
        return self

    def start_node(self, block=1):
        self.node = self.start_primary(block)

    def start_feed(self, *more):
        """Where it was before."""
        self.feed = self.driver.start("serve", "--feed", self.primary, "--snapshot", self.snapshot, "--take-over",
                                      "--listen", f"127.0.0.1:{self.port}", "--json", *more)
        said = self.feed.first_json()
        self.name, self.address = said["snapshot"], said["listening"]
        self.port = int(self.address.rsplit(":", 1)[1])

    def call(self, *more, at=None, state=None, name=None):
        return ["standby", "--from", at or self.address, "--state", state or self.copy, "--from-snapshot",
                self.fetched, "--trusted-name", name or self.name, "--json", *self.options, *more]

    def standby(self, *more, **how):
        running = self.driver.start(*self.call(*more, **how))
        running.wait_for('"event":"following"', timeout=60)
        time.sleep(0.3)  # it has seen the writer
        return running


@pytest.fixture
def nodes(driver, inspect, scratch, seed):
    return Nodes(driver, inspect, scratch, seed).start()


def does_not_take_over(standby, seconds=1.0):
    time.sleep(seconds)
    assert standby.is_running and "took_over\",\"of" not in standby.out


# --- who is killed ---

@pytest.mark.parametrize("level", ["process", "checkpoint", "commit"])
def test_it_takes_over_with_every_block_that_a_killed_node_had(driver, inspect, scratch, seed, rng, level):
    nodes = Nodes(driver, inspect, scratch, seed, "--durability", level, "--checkpoint-interval", "0.3").start()
    standby = nodes.standby()
    time.sleep(rng.uniform(0.1, 1.5))
    killed(nodes.node)
    said = took_over(standby)
    assert standby.wait(0).json_lines[-1]["event"] == "ended"
    nodes.feed.interrupt(0)
    assert said["block"] == nodes.block(nodes.primary)
    nodes.are_equal()
    nodes.runs_to_the_end()


def test_whoever_is_killed_it_is_what_it_copies(nodes, rng):
    for _ in range(8):
        standby = nodes.standby("--take-over", "never")
        time.sleep(rng.uniform(0.05, 0.6))
        which = rng.sample(("node", "feed", "standby"), rng.randint(1, 3))
        for one in which:
            killed({"node": nodes.node, "feed": nodes.feed, "standby": standby}[one])
        if standby.is_running:
            time.sleep(rng.uniform(0, 0.3))
            standby.interrupt(0)
        if "node" in which:
            nodes.start_node()
        if "feed" in which:
            nodes.start_feed()
    nodes.reach(nodes.primary, nodes.replayed["head"])
    standby = nodes.standby("--take-over", "never")
    nodes.reach(nodes.copy, nodes.replayed["head"])
    nodes.node.interrupt(None)
    assert standby.interrupt(0).json_lines[-1]["took_over"] is False
    nodes.are_equal()
    nodes.runs_to_the_end()


def test_server_and_standby_are_killed_around_the_take_over(nodes, rng):
    """Again and again, from before the take-over until after it."""
    standby = nodes.standby()
    killed(nodes.node)
    for _ in range(10):
        time.sleep(rng.uniform(0, 0.04))
        for one in rng.choice(((nodes.feed,), (standby,), (nodes.feed, standby))):
            killed(one)
        time.sleep(rng.uniform(0, 0.1))
        if not nodes.feed.is_running:
            nodes.start_feed()
        if not standby.is_running:
            standby = nodes.driver.start(*nodes.call("--take-over", "ended"))  # whether it has seen it or not
        time.sleep(rng.uniform(0, 0.3))
    took_over(standby)
    standby.wait(0)
    nodes.feed.interrupt(0)
    nodes.are_equal()
    nodes.driver(*sync_call(nodes.primary, nodes.blocks.address), *ROOT, code=1).says("took the place of this state")
    nodes.runs_to_the_end()


def test_one_that_took_over_is_no_copy_any_more(nodes, inspect):
    """Neither after a kill, nor when its server and the followed state are gone."""
    standby = nodes.standby("--peer", nodes.blocks.address)
    killed(nodes.node)
    took_over(standby)
    nodes.reach(nodes.copy, nodes.replayed["head"] // 2)
    killed(standby)
    call = nodes.call("--peer", nodes.blocks.address)
    standby = nodes.driver.start(*call)
    took_over(standby)
    killed(standby)
    killed(nodes.feed)
    standby = nodes.driver.start(*call)
    took_over(standby)
    nodes.reach(nodes.copy, nodes.replayed["head"])
    assert standby.interrupt(3).json_lines[-1]["mode"] == "sync"
    nodes.runs_to_the_end()


def test_what_was_given_up_is_not_gone_on_with(nodes):
    standby = nodes.standby("--peer", nodes.blocks.address)
    killed(nodes.node)
    took_over(standby)
    killed(standby)
    nodes.feed.interrupt(0)
    (nodes.primary / "superseded").unlink()
    nodes.start_node(nodes.block(nodes.copy))
    nodes.start_feed()
    for more in ((), ("--take-over", "ended"), ("--take-over", "never")):
        nodes.driver(*nodes.call(*more), code=2).says("was given that again")
    shutil.rmtree(nodes.copy)
    shutil.rmtree(f"{nodes.copy}.feed")
    for more in ((), ("--take-over", "never")):  # of the old snapshot, from before the take-over
        nodes.driver(*nodes.call(*more), code=1).says("was given that again")
    assert nodes.node.is_running and not (nodes.primary / "superseded").exists()


def test_a_server_that_is_killed_before_the_mark_leaves_one_writer(nodes):
    wire = Wire(nodes.address)
    standby = nodes.standby(at=wire.address)
    nodes.reach(nodes.copy, 50)
    wire.holds = True
    killed(nodes.node)
    does_not_take_over(standby)
    killed(nodes.feed)
    wire.holds = False
    nodes.start_node(nodes.block(nodes.copy) + 5)  # nobody took its place
    nodes.start_feed()
    does_not_take_over(standby)
    killed(nodes.node)
    took_over(standby)
    standby.wait(0)
    nodes.feed.interrupt(0)
    nodes.are_equal()


def test_one_that_has_not_seen_the_writer_does_not_take_over(nodes):
    nodes.standby().interrupt(0)
    killed(nodes.node)
    standby = nodes.driver.start(*nodes.call())
    standby.wait_for('"event":"following"', timeout=60)
    does_not_take_over(standby)


def test_a_mark_without_an_end_of_the_feed_is_enough(nodes):
    standby = nodes.standby()
    nodes.reach(nodes.copy, 40)
    killed(standby)
    killed(nodes.node)
    killed(nodes.feed)
    (name,) = [one.name for one in (nodes.primary / "feed/cursors").glob("remote-standby-*")]
    mark = nodes.primary / "superseded"
    mark.touch(mode=0o600)
    mark.write_text(f"the standby {name.removeprefix('remote-')} of another machine\n")
    nodes.start_feed()
    standby = nodes.driver.start(*nodes.call("--take-over", "never"))
    took_over(standby)
    standby.wait(0)


def test_nobody_writes_the_former_state_while_its_server_runs(nodes):
    standby = nodes.standby("--peer", nodes.blocks.address)
    killed(nodes.node)
    took_over(standby)
    call = [*sync_call(nodes.primary, nodes.blocks.address), *ROOT]
    nodes.driver(*call, code=1).says("has this state open", str(nodes.feed.pid))
    nodes.reach(nodes.copy, nodes.replayed["head"])
    assert standby.interrupt(3).json_lines[-1]["mode"] == "sync"
    nodes.runs_to_the_end()


def test_a_node_that_ends_or_comes_back_is_waited_for_unless_asked(nodes):
    standby = nodes.standby()
    nodes.node.interrupt(None)
    does_not_take_over(standby)
    nodes.start_node()
    standby.interrupt(0)
    standby = nodes.standby("--take-over", "ended")
    nodes.node.interrupt(None)
    took_over(standby)
    standby.wait(0)
    nodes.feed.interrupt(0)
    nodes.are_equal()


def test_of_two_standbys_one_takes_over(nodes):
    more = "--peer", nodes.blocks.address
    both = [nodes.standby(*more), nodes.standby(*more, state=nodes.copy.with_name("other"))]
    killed(nodes.node)
    until = time.monotonic() + 30
    while all(one.is_running for one in both):
        assert time.monotonic() < until
        time.sleep(0.05)
    lost = next(one for one in both if not one.is_running)
    lost.wait(1).says("has taken", "state's place")
    took_over(next(one for one in both if one is not lost))


# --- the network ---

class Wire:
    """Between a standby and its server: `is_up`, `is_cut` now, at most `slow` bytes at once, `holds` small messages."""

    def __init__(self, to):
        self.to, self.is_up, self.slow, self.holds, self.open = to, True, None, False, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            try:
                other = socket.create_connection(self.to.rsplit(":", 1)) if self.is_up else None
            except OSError:  # nobody listens there now
                other = None
            if not other:
                one.close()
                continue
            self.open += [one, other]
            for pair in ((one, other), (other, one)):
                threading.Thread(target=self.pump, args=pair, daemon=True).start()

    def pump(self, source, to):
        try:
            while data := source.recv(self.slow or 1 << 16):
                if self.slow:
                    time.sleep(0.002)
                while self.holds and len(data) < 64:  # what the client says of the feed
                    time.sleep(0.01)
                to.sendall(data)
        except OSError:
            pass
        for one in (source, to):
            one.close()

    def cut(self, is_up=True):
        self.is_up = is_up
        for one in self.open:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.open.clear()


def test_a_network_that_is_cut_takes_nothing_and_nobody_over(nodes, rng):
    wire = Wire(nodes.address)
    standby = nodes.standby(at=wire.address)
    for _ in range(10):
        time.sleep(rng.uniform(0, 0.2))
        wire.cut()
    wire.cut(is_up=False)
    killed(nodes.node)
    does_not_take_over(standby)
    assert "nothing is taken over before it says" in standby.err
    wire.is_up = True
    took_over(standby)
    standby.wait(0)
    nodes.feed.interrupt(0)
    nodes.are_equal()
    nodes.runs_to_the_end()


def test_a_slow_server_has_a_standby_that_is_behind_and_lacks_nothing(nodes, rng):
    wire = Wire(nodes.address)
    standby = nodes.standby(at=wire.address)
    wire.slow = 100
    time.sleep(rng.uniform(0.5, 1))
    killed(nodes.node)
    wire.slow = 400
    took_over(standby)
    standby.wait(0)
    nodes.feed.interrupt(0)
    nodes.are_equal()


# --- servers ---

class GivenFeed:
    """The files of a feed, for a scripted server to give; `spoil` changes the bytes of a part."""

    def __init__(self, state, spoil=None, newest=0):
        self.files = {int(one.name.split(".")[1], 16): one.read_bytes() for one in (state / "feed").glob("entries.*")}
        head = (state / "feed/head").read_bytes()
        self.state, (self.end,) = head[24:40], struct.unpack_from("<Q", head, 40)
        self.newest = newest  # revision
        self.spoil = spoil or (lambda file, place, content: (file, place, content))

    def tell(self, to, end, writer=WORKS):
        to.send(feed_state(self.state, min(self.files), self.newest if writer == KEPT_OUT else 0, end, writer))

    def begin(self, to):
        """Where the client goes on."""
        to.receive()
        to.send(hello(b"", offers=2 | 4))
        _, payload = to.receive()
        (place,) = struct.unpack_from("<Q", payload, 80)
        return place if payload[88] == FROM_PLACE else min(self.files)

    def give(self, to, place, end):
        while place < end:
            file = max(one for one in self.files if one <= place)
            content = self.files[file][place - file:min(place - file + 100_000, end - file)]
            to.send(feed_part(*self.spoil(file, place, content)))
            place += len(content)

    def __call__(self, to, _count):
        place = self.begin(to)
        self.tell(to, self.end)
        self.give(to, place, self.end)
        to.wait_for_end()


class LateFeed(GivenFeed):
    """Its writer was killed, the second half comes late after the take-over, and the server is killed before it could
    mark the state."""

    def __call__(self, to, _count):
        place = self.begin(to)
        half = (place + self.end) // 2
        self.tell(to, half, KILLED)
        self.give(to, place, half)
        while not to.receive_until(FEED_KEEP)[16]:
            pass
        self.tell(to, self.end, KEPT_OUT)
        time.sleep(0.5)
        self.give(to, half, self.end)
        to.receive_until(FEED_KEEP)


def flipped(file, place, content):
    data = bytearray(content)
    data[len(data) // 2] ^= 4
    return file, place, bytes(data)


@pytest.mark.parametrize("spoil, words", [
    (flipped, ("no entry of this feed", "entries.", "offset")),
    (lambda file, place, content: (file, place + (place > file), content), ("are next",)),
    (lambda file, place, content: (file + 64 * (place > file), place, content), ("did not begin here",)),
    (lambda file, place, content: (file, place, bytes(len(content))), ("no entry of this feed", "entries.")),
])
def test_wrong_bytes_are_refused_with_their_place(nodes, spoil, words):
    nodes.standby().interrupt(0)
    nodes.node.interrupt(None)
    nodes.feed.interrupt(0)
    shutil.rmtree(f"{nodes.copy}.feed")  # all comes again
    with ScriptedPeer(GivenFeed(nodes.primary, spoil)) as peer:
        result = nodes.driver(*nodes.call(at=peer.address), code=1).says(peer.address, *words)
        assert peer.connections == 3, result
    with ScriptedPeer(GivenFeed(nodes.primary)) as peer:  # nothing wrong was kept
        standby = nodes.standby(at=peer.address)
        nodes.reach(nodes.copy, nodes.block(nodes.primary))
        standby.interrupt(0)
    nodes.are_equal()


def test_it_takes_over_when_all_has_come(nodes):
    nodes.standby().interrupt(0)
    nodes.reach(nodes.primary, min(nodes.block(nodes.primary) + 60, nodes.replayed["head"]))
    nodes.node.interrupt(None)
    nodes.feed.interrupt(0)
    shutil.rmtree(f"{nodes.copy}.feed")
    with ScriptedPeer(LateFeed(nodes.primary, newest=nodes.block(nodes.primary))) as peer:
        standby = nodes.standby("--take-over", "ended", at=peer.address)
        does_not_take_over(standby, 2)
        standby.interrupt(0)
    assert nodes.block(nodes.copy) == nodes.block(nodes.primary)
    nodes.start_feed()
    standby = nodes.driver.start(*nodes.call("--take-over", "ended"))
    took_over(standby)
    standby.wait(0)
    nodes.are_equal()


def test_the_feed_of_another_state_is_refused(nodes, driver, inspect, scratch, seed):
    nodes.standby().interrupt(0)
    (scratch / "others").mkdir()
    others = Nodes(driver, inspect, scratch / "others", seed).start()
    driver(*nodes.call(at=others.address), code=2).says("of another state", str(nodes.copy))
    assert [one.name for one in (others.primary / "feed/cursors").iterdir()] == ["serve"]
    with ScriptedPeer(GivenFeed(others.primary)) as peer:  # one that does not look
        driver(*nodes.call(at=peer.address), code=1).says("another state than the one it was asked for")
    standby = nodes.standby()
    killed(nodes.node)
    took_over(standby)


def test_a_snapshot_that_was_carried_here_is_enough(nodes):
    shutil.copytree(nodes.snapshot, nodes.fetched)
    nodes.feed.interrupt(0)
    nodes.start_feed()
    standby = nodes.standby()
    assert nodes.feed.out.count("snapshot_files") == 0
    killed(nodes.node)
    took_over(standby)
    standby.wait(0)
    assert nodes.feed.interrupt(0).json_lines[-1]["snapshot_files"] == 0
    nodes.are_equal()


def test_what_is_missing_is_said(nodes, driver, scratch):
    driver("standby", "--from", nodes.address, "--state", nodes.copy, code=2).says("--from-snapshot")
    blocks_only = nodes.call(at=nodes.blocks.address)
    driver(*blocks_only, code=1).says("offers no feed", "serve --feed")
    driver("serve", code=2).says("--block-log", "--feed")
    driver("standby", "--state", nodes.copy, code=2).says("--of", "--from")
    assert not nodes.copy.exists()
    nodes.feed.interrupt(0)
    quiet = driver.start("serve", "--feed", nodes.primary, "--json")
    at = quiet.first_json()["listening"]
    driver(*nodes.call(at=at), code=1).says("lets no standby take over", "--take-over never")
    driver(*nodes.call("--take-over", "never", at=at), code=1).says("offers no snapshot")


# --- clients ---

def follow(nodes, name="one", begin=FROM_SNAPSHOT, place=0, at=None):
    to = Connection(at or nodes.address)
    to.send(hello(b""), feed_request(name, begin, place))
    to.receive()
    return to


def end_of(to):
    return struct.unpack_from("<Q", to.receive_until(FEED_STATE), 32)[0]


def test_a_living_writer_is_not_taken_over(nodes):
    with follow(nodes) as to:
        to.send(feed_keep(takes_over=True))
        reason, text = to.refused()
        assert reason == NO_TAKE_OVER and "writer works" in text
    nodes.reach(nodes.primary, min(nodes.block(nodes.primary) + 20, nodes.replayed["head"]))
    assert nodes.node.is_running
    nodes.feed.interrupt(0)
    nodes.feed = nodes.driver.start("serve", "--feed", nodes.primary, "--snapshot", nodes.snapshot, "--json")
    killed(nodes.node)
    with follow(nodes, at=nodes.feed.first_json()["listening"]) as to:
        assert to.receive_until(FEED_STATE)[40] == KILLED
        to.send(feed_keep(takes_over=True))
        reason, text = to.refused()
        assert reason == NO_TAKE_OVER and "--take-over" in text
    nodes.start_node()  # nobody holds it


@pytest.mark.parametrize("name", ["../serve", "a b", "\x01", "", "x" * 60, "standby/../../head"])
def test_a_name_that_is_none_is_refused(nodes, name):
    with follow(nodes, name) as to:
        assert to.refused()[0] == MALFORMED
    assert [one.name for one in (nodes.primary / "feed/cursors").iterdir()] == ["serve"]


def test_a_hostile_client_costs_its_own_connection_only(nodes, driver):
    standby = nodes.standby()
    assert driver("serve", "--feed", nodes.primary, "--listen", "nowhere:x", code=None).code
    with follow(nodes) as to:
        end_of(to)
        to.send(feed_keep(place=1 << 60))
        assert to.refused()[0] == MALFORMED
    with follow(nodes) as to:  # what belongs to others cannot be moved
        to.send(frame(FEED_PART, bytes(24)))
        assert to.refused()[0] == MALFORMED
    with follow(nodes, "never", FROM_CURSOR) as to:
        assert to.refused()[0] == TOO_FAR_BEHIND
    with follow(nodes) as to, follow(nodes) as again:  # it came again
        with pytest.raises(Hung):
            while True:
                to.receive()
        end_of(again)
    left = [Connection(nodes.address) for _ in range(3)]
    for one in left:
        one.send(hello(b""), feed_request("lazy")[:50])
    reasons = []
    for i in range(70):
        with follow(nodes, f"n{i}") as to:
            kind, payload = to.receive()
            reasons.append(None if kind == FEED_STATE else struct.unpack_from("<I", payload)[0])
    assert reasons.count(None) == 62 and set(reasons) == {None, BUSY}
    killed(nodes.node)
    took_over(standby)
    standby.wait(0)
    nodes.feed.interrupt(0)
    nodes.are_equal()


def test_a_client_gets_the_bytes_of_the_files(nodes):
    nodes.node.interrupt(None)
    with follow(nodes) as to:
        state = to.receive_until(FEED_STATE)
        end, writer = struct.unpack_from("<QI", state, 32)
        assert writer == ENDED != WORKS
        got = b""
        while len(got) < end:
            part = to.receive_until(FEED_PART)
            assert struct.unpack_from("<QQ", part) == (0, len(got)) and 16 < len(part) <= 16 + PART
            got += part[16:]
    (only,) = (nodes.primary / "feed").glob("entries.*")
    assert got == only.read_bytes()[:end]
