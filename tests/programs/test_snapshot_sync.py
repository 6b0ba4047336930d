"""serve --snapshot and sync --from-snapshot: a new node begins with a snapshot that its peers offer, and
ends where a replay ends, whatever some of them send and whenever it is killed. Who is asked for what:
tests/sync/snapshot_start.cpp."""
import hashlib
import json
import os
import shutil
import signal
import threading
import time

import pytest
from block_logs import checksum
from chains import EOS, STEEM, Replays
from kills import until_killed
from peers import (ENDING, HELLO, MALFORMED, REQUEST, SNAPSHOT_PART, Connection, GivenChain, GivenSnapshot, Hung,
                   ScriptedPeer, frame, hello, refusal, serve, snapshot_part, snapshot_parts, snapshot_request)


class Offer:
    """A chain's log, and a snapshot of its state in the middle."""

    def __init__(self, driver, inspect, folder, chain, *options):
        self.driver, self.inspect, self.chain = driver, inspect, chain
        self.replays = Replays(driver, folder, chain)
        self.log, self.folder = self.replays.log, folder / "snapshot"
        said = self.replays("--stop-at", chain.middle, "--state-root", "all", *options, state="middle")
        self.root = said["state_root"]["root"]
        written = inspect.json("snapshot", "write", self.replays.state("middle"), "--to", self.folder)
        self.name, self.chunks = written["name"], written["chunks"]
        assert written["state_root"] == self.root

    @property
    def manifest(self):
        return json.loads((self.folder / "manifest").read_bytes())

    def serve(self, folder=None):
        return serve(self.driver, self.log, "--snapshot", folder or self.folder)

    def call(self, state, *peers, root=None, folder=None):
        return ["sync", "--state", state, "--from-snapshot", folder or state.with_name("fetched"),
                "--trusted-root", root or self.root, "--once", "--json",
                *(word for one in peers for word in ("--peer", one))]


@pytest.fixture(scope="module")
def offer(tmp_path_factory):
    from programs import program
    return Offer(program("chainbase-driver"), program("chainbase-inspect"), tmp_path_factory.mktemp("offer"), STEEM)


def flipped(to, _digest, file):
    """A bit of the content is another one; the sum in the file fits."""
    data = bytearray(file)
    data[len(data) // 2 + 8] ^= 1
    data[8:16] = checksum(bytes(data[16:])).to_bytes(8, "little")
    GivenSnapshot.give(to, None, bytes(data))


def resealed(manifest):
    """The bytes of a manifest, with a sum that fits."""
    del manifest["sum"]
    text = json.dumps(manifest, separators=(",", ":"), ensure_ascii=False)[:-1].encode()
    return text + b',"sum":"%016x"}\n' % checksum(text)


def is_at_the_end(offer, said):
    assert said["state_digest"] == offer.chain.digest
    assert said["state_root"]["root"] == offer.chain.root
    assert said["head"] == said["irreversible"]


def test_a_new_node_begins_with_a_snapshot_and_ends_where_a_replay_ends(offer, scratch):
    servers = [offer.serve() for _ in range(2)]
    addresses = [one.address for one in servers]
    result = offer.driver(*offer.call(scratch / "state", *addresses), "--verify", "--state-root", "all")
    said = result.json
    is_at_the_end(offer, said)
    begun = said["snapshot"]
    assert begun["name"] == offer.name
    assert begun["fetched_chunks"] == begun["chunks"] == offer.chunks
    assert begun["block"] == offer.chain.middle
    assert said["replayed_blocks"] == offer.chain.blocks - offer.chain.middle
    assert "applied_block" in begun["not_proven"]
    result.says("does not commit to", "applied_block", "offered by 2 of 2 peers")
    assert offer.inspect("check", scratch / "state").code == 0
    sent = sum(one.interrupt(0).json_lines[-1]["snapshot_files"] for one in servers)
    assert sent >= 2 + offer.chunks  # either its manifest, too
    assert offer.inspect.json("snapshot", "verify", scratch / "fetched", "--trusted-root", offer.root)["sound"]


def test_with_a_state_it_is_an_ordinary_sync(offer, scratch):
    server = offer.serve()
    call = offer.call(scratch / "state", server.address)
    offer.driver(*call, "--stop-at", offer.chain.middle + 10)
    shutil.rmtree(scratch / "fetched")
    again = offer.driver(*call).says("the state is there")
    is_at_the_end(offer, again.json)
    assert again.json["snapshot"] is None
    assert not (scratch / "fetched").exists()


def test_another_chain_kind_of_archive_and_name(driver, inspect, scratch):
    eos = Offer(driver, inspect, scratch, EOS, "--archive", "memory")
    server = eos.serve()
    call = eos.call(scratch / "state", server.address)
    wrong = driver(*call, "--trusted-name", "0" * 64, code=1).says(server.address, eos.name, "which is trusted")
    assert not (scratch / "state").exists() and not (scratch / "fetched").exists(), wrong
    said = driver(*call, "--trusted-name", eos.name).json
    is_at_the_end(eos, said)
    assert said["snapshot"]["not_proven"] == []


class Beside:
    """Two honest peers that give no chunk before `asked` is set, and a server of blocks without a
    snapshot."""

    def __init__(self, offer, asked):
        def give(to, digest, file):
            assert digest is None or asked.wait(60)
            GivenSnapshot.give(to, digest, file)

        self.peers = [ScriptedPeer(GivenSnapshot(offer.folder, offer.chain, give)) for _ in range(2)]
        self.blocks = serve(offer.driver, offer.log).address

    def __enter__(self):
        return [one.__enter__().address for one in self.peers] + [self.blocks]

    def __exit__(self, *how):
        for one in self.peers:
            one.__exit__(*how)


@pytest.mark.parametrize("what", ["flipped", "silent", "slow", "cut", "endless", "oversized", "disorder", "lacking"])
def test_a_peer_that_gives_chunks_wrongly_costs_itself_only(offer, scratch, what):
    """It is asked first. The node comes to the right state."""
    answer, words = FAULTS[what]
    asked = threading.Event()

    def give(to, digest, file):
        if digest is None:
            return GivenSnapshot.give(to, digest, file)
        asked.set()
        return answer(to, digest, file)

    with ScriptedPeer(GivenSnapshot(offer.folder, offer.chain, give)) as bad, Beside(offer, asked) as others:
        result = offer.driver(*offer.call(scratch / "state", bad.address, *others))
    is_at_the_end(offer, result.json)
    result.says(bad.address, *words, "offers no snapshot")
    dropped = result.json["snapshot"]["dropped_peers"]
    assert any(bad.address in one for one in dropped) == (what in DROPPED), result


@pytest.mark.parametrize("what", ["manifest", "forged_root", "other_root", "old", "damaged", "huge", "mute"])
def test_a_peer_that_offers_what_is_not_trusted_costs_itself_only(offer, scratch, what):
    manifest, words, lying = offer.manifest, "", scratch / "lying"
    if what == "other_root":  # of another block
        offer.replays("--stop-at", offer.chain.middle // 2, "--state-root", "all", state="other")
        offer.inspect("snapshot", "write", offer.replays.state("other"), "--to", scratch / "other")
        manifest, words = json.loads((scratch / "other/manifest").read_bytes()), "which is trusted"
    lying.mkdir()
    if what == "manifest":  # the same root; what differs is not proven by it
        manifest["block"]["number"] += 1
        words = "offers another snapshot than most peers"
    elif what == "forged_root":
        manifest["state_root"] = "1" * 64
        words = "does not follow"
    script = GivenSnapshot(lying, offer.chain)
    (lying / "manifest").write_bytes(resealed(manifest))
    if what == "damaged":
        (lying / "manifest").write_bytes((offer.folder / "manifest").read_bytes()[:-9])
        words = "its snapshot"
    elif what == "huge":
        script.answer = lambda to, *_: to.send(snapshot_part((256 << 20) + 1, 0, b"x"))
        words = "which is at most"
    elif what == "mute":
        script.answer = say_nothing
    elif what == "old":
        script, words = old, "offers no snapshot"
    honest = [offer.serve().address for _ in range(2)]
    with ScriptedPeer(script) as bad:
        result = offer.driver(*offer.call(scratch / "state", bad.address, *honest))
    is_at_the_end(offer, result.json)
    if words:
        result.says(bad.address, words)
        assert any(bad.address in one for one in result.json["snapshot"]["dropped_peers"]), result


def drip(to, _digest, file):
    data = b"".join(snapshot_parts(file))
    for at in range(0, len(data), 50):
        to.send(data[at : at + 50])
        time.sleep(0.05)


def old(to, _count):
    """As a program of before there were snapshots answers."""
    to.receive()
    to.send(hello(STEEM))
    kind, _ = to.receive()
    assert kind == REQUEST
    to.send(refusal(ENDING, b"no blocks here"))
    to.wait_for_end()


def say_nothing(to, *_):
    to.wait_for_end()


def hang_up(*_):
    raise Hung


FAULTS = {
    "flipped": (flipped, ["sent a wrong chunk"]),
    "silent": (say_nothing, []),
    "slow": (drip, []),
    "cut": (hang_up, ["hung up"]),
    "endless": (lambda to, *_: to.send(*[snapshot_part(1 << 63, at, bytes(1 << 10)) for at in range(0, 1 << 20, 1 << 10)]),
                ["which is at most"]),
    "oversized": (lambda to, *_: to.send(frame(SNAPSHOT_PART, b"", length=2**31 - 1)), ["of at most"]),
    "disorder": (lambda to, _digest, file: to.send(snapshot_part(len(file), 1, file[1:2])), ["out of order"]),
    "lacking": (lambda to, *_: to.send(snapshot_part()), ["does not have"]),
}  # fmt: skip
DROPPED = ["flipped", "endless", "oversized", "disorder"]  # others are asked again, or lack some only


def test_an_untrusted_snapshot_is_refused_and_nothing_is_made(offer, scratch):
    servers = [offer.serve() for _ in range(2)]
    wrong = "1" + offer.root[1:] if offer.root[0] != "1" else "2" + offer.root[1:]
    call = offer.call(scratch / "state", *(one.address for one in servers), root=wrong)
    result = offer.driver(*call, code=1).says("No peer offers a snapshot that can be trusted", offer.root, wrong)
    for one in servers:
        result.says(one.address)
    assert os.listdir(scratch) == []
    inside = offer.call(scratch / "here/state", servers[0].address, folder=scratch / "here")
    offer.driver(*inside, code=2).says("lies within the snapshot")
    assert os.listdir(scratch) == []
    without = offer.driver(*(word for word in call if word not in ("--trusted-root", wrong)), code=2)
    without.says("--trusted-root")


def test_peers_that_offer_two_snapshots_of_a_root_are_no_majority(offer, scratch):
    manifest = offer.manifest
    manifest["block"]["number"] += 1
    (scratch / "lying").mkdir()
    text = resealed(manifest)
    (scratch / "lying/manifest").write_bytes(text)
    server = offer.serve()
    with ScriptedPeer(GivenSnapshot(scratch / "lying", offer.chain)) as bad:
        call = offer.call(scratch / "state", bad.address, server.address)
        offer.driver(*call, code=1).says("--trusted-name", offer.name, hashlib.sha256(text).hexdigest())
        assert not (scratch / "state").exists()
        is_at_the_end(offer, offer.driver(*call, "--trusted-name", offer.name).json)


def schema_hash(one):
    """type_schema::hash."""
    sizes = ("value_bytes", "node_bytes", "link_bytes", "value_offset", "root_bytes", "tables")
    text = "/".join([one["name"], *(str(one[size]) for size in sizes)])
    for field in one["fields"]:
        text += "|{name}:{type} at offset {offset}:{bytes}".format(**field)
    for key in one["keys"]:
        parts = ", ".join(part["field"] + " desc" * part["descending"] for part in key["parts"])
        text += f"|{key['name']}:{key['kind']}({parts})"
    return str(checksum(text.encode()))


@pytest.mark.parametrize("what", ["key", "field", "more", "identity"])
def test_a_snapshot_that_the_program_could_not_open_is_refused_before_a_chunk_is_fetched(offer, scratch, what):
    """Its root is right: that is of objects, not of how they are declared."""
    manifest = offer.manifest
    types = manifest["catalogue"]["types"]
    number = next(i for i, one in enumerate(types) if one["name"] == ("chain_identity" if what == "identity" else "vote"))
    one = types[number]
    assert schema_hash(one) == one["hash"]
    if what == "key":
        words = ["type vote is declared otherwise", one["keys"].pop()["name"]]
    elif what == "field":
        one["fields"][-1]["name"] = "other"
        words = ["type vote is declared otherwise", "other"]
    elif what == "more":
        types.append({**one, "name": "zebra"})
        manifest["types"].append({**manifest["types"][number], "name": "zebra", "is_committed": False})
        words = ["has no type zebra"]
    else:
        del types[number], manifest["types"][number]
        words = ["no object that says its chain"]
    for each in types:
        each["hash"] = schema_hash(each)
    lying = scratch / "lying"
    lying.mkdir()
    shutil.copytree(offer.folder / "chunks", lying / "chunks")
    (lying / "manifest").write_bytes(resealed(manifest))
    given = GivenSnapshot(lying, offer.chain)
    with ScriptedPeer(given) as bad:
        result = offer.driver(*offer.call(scratch / "state", bad.address), code=1)
    result.says(bad.address, *words)
    assert not any(given.asked) and os.listdir(scratch) == ["lying"]


@pytest.mark.parametrize("what", ["flipped", "missing", "cut", "manifest"])
def test_what_rotted_in_a_whole_folder_is_fetched_again(offer, scratch, what):
    server = offer.serve()
    call = offer.call(scratch / "state", server.address)
    offer.driver(*call, "--stop-at", offer.chain.middle + 10)
    shutil.rmtree(scratch / "state")
    file = max((scratch / "fetched/chunks").iterdir(), key=lambda one: one.stat().st_size)
    if what == "manifest":
        file = scratch / "fetched/manifest"
    before = file.read_bytes()
    file.unlink()
    if what != "missing":
        file.write_bytes(before[:-1] if what == "cut" else before[:100] + bytes([before[100] ^ 1]) + before[101:])
        file.chmod(0o600)
    alone = [word for word in call if word not in ("--peer", server.address)]
    offer.driver(*alone, code=(1, 2))
    assert (scratch / "fetched/manifest").exists() and not (scratch / "state").exists()
    said = offer.driver(*call).says("peers are asked for what is right").json
    is_at_the_end(offer, said)
    assert said["snapshot"]["fetched_chunks"] == (what != "manifest")
    assert file.read_bytes() == before


@pytest.mark.parametrize("what", ["lacking", "archived"])
def test_a_snapshot_of_most_peers_that_cannot_be_used_gives_way_to_the_next(offer, scratch, what):
    """Its root is the trusted one; the honest peer is alone with its own."""
    manifest, lying = offer.manifest, scratch / "lying"
    lying.mkdir()
    shutil.copytree(offer.folder / "chunks", lying / "chunks")
    answer = None
    if what == "lacking":
        manifest["block"]["number"] += 1
        answer = lambda to, digest, file: to.send(*(snapshot_parts(file) if digest is None else [snapshot_part()]))
    else:
        comment = next(one for one in manifest["types"] if one["name"] == "comment")
        assert 0 < comment["archived"]
        comment["archived"] -= 1
    (lying / "manifest").write_bytes(resealed(manifest))
    scripts = [GivenSnapshot(lying, offer.chain, *([answer] if answer else [])) for _ in range(2)]
    honest = offer.serve()
    with ScriptedPeer(scripts[0]) as one, ScriptedPeer(scripts[1]) as other:
        result = offer.driver(*offer.call(scratch / "state", one.address, other.address, honest.address))
    is_at_the_end(offer, result.json)
    assert result.json["snapshot"]["name"] == offer.name
    result.says("cannot be completed" if what == "lacking" else "objects in memory, not")


def test_no_peer_is_left_for_a_chunk_and_the_same_call_goes_on(offer, scratch):
    server = offer.serve()
    given = []

    def few(to, digest, file):
        given.append(file)  # the manifest, too
        has = len(given) <= 1 + offer.chunks // 2
        to.send(*(snapshot_parts(file) if has else [snapshot_part()]))

    with ScriptedPeer(GivenSnapshot(offer.folder, offer.chain, few)) as bad:
        offer.driver(*offer.call(scratch / "state", bad.address), code=1).says(
            "No peer is left that has", bad.address, "the same call goes on")
    said = offer.driver(*offer.call(scratch / "state", server.address)).json
    is_at_the_end(offer, said)
    assert said["snapshot"]["kept_chunks"] == offer.chunks // 2
    assert said["snapshot"]["fetched_chunks"] == offer.chunks - offer.chunks // 2


def test_kills_while_it_fetches_and_loads_cost_time_only(offer, scratch, rng):
    """The last call fetches only what is missing, and ends as if there had been none."""
    servers = [offer.serve() for _ in range(3)]
    addresses = [one.address for one in servers]
    (scratch / "undisturbed").mkdir()
    said = offer.driver(*offer.call(scratch / "undisturbed/state", *addresses)).json
    longest = said["snapshot"]["seconds"] * 1.3  # until it follows blocks, and a little of that
    phases = set()
    for number in range(6):
        folder = scratch / str(number)
        folder.mkdir()
        call = offer.call(folder / "state", *addresses)
        for _ in range(3):
            how = rng.choice([signal.SIGKILL, signal.SIGTERM])
            until_killed(offer.driver.start(*call), rng.uniform(0, longest), how).expect((0, 3, -how))
            is_whole = (folder / "fetched/manifest").exists()
            phases.add("synced" if (folder / "state").exists() else "loading" if is_whole else
                       "fetching" if (folder / "fetched").exists() else "before")
            if (folder / "state").exists():
                longest *= 0.8  # the first call may have been slower than these
        is_at_the_end(offer, offer.driver(*call).json)
        assert offer.inspect("check", folder / "state").code == 0
        assert sorted(os.listdir(folder)) == ["fetched", "state"]
        shutil.rmtree(folder)
    assert len(phases) > 1, phases


def test_a_kill_at_each_chunk_fetches_the_others_only(offer, scratch):
    """A peer that stops after one more chunk each time: the node is killed there."""
    asked = []
    for number in range(offer.chunks):
        given = GivenSnapshot(offer.folder, offer.chain)
        count = 0

        def one_only(to, digest, file):
            nonlocal count
            count += digest is not None
            if count > 1:
                to.wait_for_end()
                raise Hung
            GivenSnapshot.give(to, digest, file)

        given.answer = one_only
        with ScriptedPeer(given) as peer:
            running = offer.driver.start(*offer.call(scratch / "state", peer.address))
            end = time.monotonic() + 60
            while len([one for one in given.asked if one]) < 2 and running.is_running and time.monotonic() < end:
                time.sleep(0.005)
            if not running.is_running:
                break
            running.kill()
        asked.append(given.asked[1])
        if number == 4:
            break
    assert len(set(asked)) == len(asked) > 1
    server = offer.serve()
    said = offer.driver(*offer.call(scratch / "state", server.address)).json
    is_at_the_end(offer, said)
    assert said["snapshot"]["kept_chunks"] == len(asked)


# --- the server ---


def test_a_damaged_file_is_not_sent(offer, scratch):
    shutil.copytree(offer.folder, scratch / "damaged")
    chunks = sorted((scratch / "damaged/chunks").iterdir())
    for one, change in zip(chunks, (lambda data: data[:-1], lambda data: data[:-1] + bytes([data[-1] ^ 1]),
                                    lambda data: b"", lambda data: data + bytes(1))):  # fmt: skip
        one.write_bytes(change(one.read_bytes()))
    server = offer.serve(scratch / "damaged")
    with Connection(server.address) as client:
        client.send(hello(offer.chain))
        client.receive()
        for one in chunks[:4]:
            client.send(snapshot_request(bytes.fromhex(one.name)))
            assert client.receive() == (SNAPSHOT_PART, bytes(16))
        client.send(snapshot_request(bytes(31) + b"\1"))  # of no chunk
        assert client.receive() == (SNAPSHOT_PART, bytes(16))
        client.send(snapshot_request(bytes.fromhex(chunks[5].name)))
        file = chunks[5].read_bytes()
        assert client.receive() == (SNAPSHOT_PART, len(file).to_bytes(8, "little") + bytes(8) + file[: 1 << 20])
    server.signal(signal.SIGTERM)
    server.wait().says("damaged")


def test_a_server_refuses_to_offer_what_is_no_snapshot_of_its_chain(offer, scratch, driver, rng):
    log = GivenChain(rng).write_log(scratch / "log")
    driver("serve", "--block-log", log, "--snapshot", offer.folder, code=2).says("snapshot of the chain", offer.chain)
    driver("serve", "--block-log", log, "--snapshot", scratch / "nothing", code=2).says("no such folder")
    shutil.copytree(offer.folder, scratch / "part")
    next((scratch / "part/chunks").iterdir()).unlink()
    driver("serve", "--block-log", offer.log, "--snapshot", scratch / "part", code=2).says("has no file of")


def test_an_incremental_snapshot_is_offered_with_its_base(offer, scratch, driver):
    """Of two bases either has some of its chunks."""
    shutil.copytree(offer.folder, scratch / "part")
    for name in ("base", "other"):
        (scratch / name / "chunks").mkdir(parents=True)
    for number, one in enumerate(sorted((scratch / "part/chunks").iterdir())):
        if number % 3:
            one.rename(scratch / ("base", "other")[number % 3 - 1] / "chunks" / one.name)
    bases = ["--snapshot-base", scratch / "base", "--snapshot-base", scratch / "other"]
    call = ["serve", "--block-log", offer.log, "--snapshot", scratch / "part"]
    driver(*call, *bases[:2], code=2).says("has no file of", "--snapshot-base")
    driver("serve", "--block-log", offer.log, *bases, code=2).says("--snapshot")
    server = serve(driver, offer.log, "--snapshot", scratch / "part", *bases)
    said = driver(*offer.call(scratch / "state", server.address)).json
    is_at_the_end(offer, said)
    assert said["snapshot"]["fetched_chunks"] == offer.chunks


def test_a_server_without_a_snapshot_says_so_and_refuses_requests_for_one(driver, scratch, rng):
    server = serve(driver, GivenChain(rng).write_log(scratch / "log"))
    with Connection(server.address) as client:
        client.send(hello())
        kind, payload = client.receive()
        assert (kind, payload[12:16]) == (HELLO, bytes(4))
        client.send(snapshot_request())
        assert client.refused()[0] == MALFORMED


def test_clients_that_ask_and_do_not_take_cost_themselves(offer, scratch):
    """Others are served meanwhile."""
    server = offer.serve()
    largest = max((offer.folder / "chunks").iterdir(), key=lambda one: one.stat().st_size)
    greedy = [Connection(server.address) for _ in range(6)]
    for one in greedy:
        one.send(hello(offer.chain), *[snapshot_request(bytes.fromhex(largest.name))] * 1000)
    is_at_the_end(offer, offer.driver(*offer.call(scratch / "state", server.address)).json)
    for one in greedy:
        one.socket.close()
    server.signal(signal.SIGTERM)
    server.wait()
