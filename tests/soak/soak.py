"""A chain that runs long: a generated chain grows, nodes follow it, everything is disturbed, and again
and again all nodes are brought to the same block and compared with a replay that nobody disturbs.
tools/soak.sh is how to call it.

The plan of a round (which node does what, when it is disturbed and how) follows from "SEED.ROUND"
alone, so --first-round N repeats round N on states that came undisturbed to its begin. The moments of
processes beside each other do not repeat exactly. After Chain.ROUNDS rounds the next chain begins.

| node | where it is | what it does |
|---|---|---|
| net | segment on a small tmpfs, state on the folder's disk | sync and live, from an honest and hostile peers |
| log | segment in memory, --durability commit | replay of a log that grows meanwhile |
| disk | all in the folder, archive in memory | sync, live and replay in turn |
| small | all on a small tmpfs, --durability commit | live and sync |

What must hold is in the functions that begin with "require".
"""

import argparse
import concurrent.futures
import contextlib
import http.client
import os
import random
import re
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
import traceback
import urllib.request
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "programs"))

import disks  # noqa: E402
import programs  # noqa: E402
from block_logs import HEADER_BYTES, RECORD_HEADER, social, written_by_another  # noqa: E402
from blocks import Place, encoded_block  # noqa: E402
from conftest import copy_of  # noqa: E402
from kills import until_killed  # noqa: E402
from peers import (BLOCKS, KEEPALIVE, Connection, ScriptedPeer, blocks, caught_up,  # noqa: E402
                   frame, refusal, serve)
from segment import Segment, bytes_below, restart_the_machine  # noqa: E402
from test_inspect_beside_replay import VERBS  # noqa: E402
from test_inspect_serve import Client, Page  # noqa: E402

MIB = 1 << 20
LAG = 20  # blocks that can be popped


def require(holds, *what):
    if not holds:
        raise AssertionError(" ".join(map(str, what)))


class Chain:
    """A generated log with branches, the part of it that has grown so far, and the block at which each
    round ends: none that a branch has, too, so that a node can end at no other one."""

    ROUNDS, BLOCKS = 100, 1000

    def __init__(self, driver, folder, seed):
        folder.mkdir()
        self.whole, self.growing = folder / "whole", folder / "growing"
        driver("generate", "--operations", 17 * self.ROUNDS * self.BLOCKS, "--seed", seed,
               "--accounts", 1000, "--transactions-per-block", 15, "--to", self.whole,
               *("--paid-percent", 90, "--cash-out-percent", 1, "--forks", 2, "--fork-depth", 8),
               *("--bad-forks", 30, "--mix", "custom=30,vote=30,comment=12,comment_delete=3,"
                 "transfer=10,claim=5,deposit=5,account_create=2"))
        self.forks = Path(f"{self.whole}.forks")
        data, at, self.records = self.whole.read_bytes(), HEADER_BYTES, []
        while at < len(data):
            _, packed, _, _, _, last = RECORD_HEADER.unpack_from(data, at)
            at += 48 + packed
            self.records.append((last, at))
        data, at, covered = self.forks.read_bytes(), HEADER_BYTES, set()
        while at < len(data):
            _, packed, count, _, after = struct.unpack_from("<4sIIIQ", data, at)
            covered.update(range(after + 1, after + count + 1))
            at += 32 + packed
        self.ends = [0]
        for number in range(self.BLOCKS, self.records[-1][0], self.BLOCKS):
            self.ends.append(next(n for n in range(number, number + 100) if n not in covered))
        self.growing.write_bytes(self.whole.read_bytes()[:HEADER_BYTES])

    def grow(self, block, rng, seconds):
        """Appends the records up to a block, in pieces that end anywhere, as a writer does."""
        end = next(at for last, at in self.records if last >= block)
        begin = self.growing.stat().st_size
        cuts = sorted(rng.sample(range(begin, end), 9)) if end - begin > 9 else []
        with written_by_another(self.growing), open(self.whole, "rb") as source, \
                open(self.growing, "ab") as to:
            for a, b in zip([begin, *cuts], [*cuts, end]):
                source.seek(a)
                to.write(source.read(b - a))
                to.flush()
                time.sleep(seconds / 10)


# --- hostile peers: script(connection, address of the honest one, random) ---


def relayed(to, address, most):
    """Passes on so many frames; the place of the last block."""
    known, place = to.greet("social"), None
    with Connection(address) as source:
        source.ask(known, "social")
        for _ in range(most + 1):
            kind, payload = source.receive()
            if kind == BLOCKS:
                place, at = Place(*struct.unpack_from("<QQQ", payload)), 32
                while at < len(payload):
                    size = struct.unpack_from("<I", payload, at)[0]
                    encoded = payload[at + 4:at + 4 + size]
                    place, at = place.next(number_of(encoded), encoded), at + 4 + size
                to.send(frame(kind, payload))
    return place


def number_of(encoded):
    value = shift = 0
    for byte in encoded:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value


def cuts(to, address, rng):
    relayed(to, address, rng.randint(0, 3))
    to.send(frame(KEEPALIVE)[:8])


def lies(to, address, rng):
    place = relayed(to, address, rng.randint(1, 3)) or Place(1, 2, 3)
    to.send(rng.choice([frame(77), frame(BLOCKS, length=2**32 - 1), frame(BLOCKS, bytes(8), right=False),
                        caught_up(Place(5, 3, 4)), refusal(1, b"busy"), rng.randbytes(1000),
                        blocks(Place(place.number, 1, 2), [b"\x01"]), blocks(place, [b"\xff" * 40])]))
    to.wait_for_end()


def branches(to, address, rng):
    """Blocks of its own on top, fewer than can be popped: nothing in them, or a bad one at their end."""
    place, is_bad = relayed(to, address, rng.randint(1, 2)), rng.random() < 0.5
    for left in range(rng.randint(1, LAG // 2), 0, -1) if place else ():
        what = [social("transfer", "nobody", "no one", 1, "")] if is_bad and left == 1 else []
        encoded = encoded_block(place.number + 1, 1735689600 + 3 * (place.number + 1), what)
        to.send(blocks(place, [encoded]))
        place = place.next(place.number + 1, encoded)
    time.sleep(0.1)


class Node:
    """A state, what follows the chain with it, and what it has promised."""

    def __init__(self, soak, name, verbs, archive, durability, state, memory=None, disk=None):
        self.soak, self.name, self.verbs, self.archive = soak, name, verbs, archive
        self.durability, self.state, self.memory, self.disk = durability, state, memory, disk
        self.usual, self.closed, self.calls = 0.5, 0, []

    @property
    def options(self):
        memory = ["--memory-folder", self.memory] if self.memory else []
        often = 0.3 if self.durability == "checkpoint" else 3  # so that the redo log has something
        return ["--state", self.state, "--state-root", "all", "--checkpoint-interval", often, "--archive",
                self.archive, "--durability", self.durability, *memory, "--json"]

    def do(self, program, *call, code=0):
        self.calls.append([str(program), *map(str, call)])
        until = time.monotonic() + programs.PATIENCE
        while self.is_held(result := program(*call, code=None)) and time.monotonic() < until:
            time.sleep(0.05)
        return result.expect(code)

    @staticmethod
    def is_held(result):
        """By a look at what a dead writer left, which keeps writers out while it lasts."""
        return result.code == 1 and "this state is being checked" in result.err

    def call(self, verb, end, peers, rng):
        common = [*self.options, "--stop-at", end]
        if verb == "replay":
            return [verb, "--block-log", self.soak.chain.growing, *common]
        more = ["--pending", 50, "--readers", 1, "--interval-ms", rng.choice([0, 0, 1])]
        return [verb, "--once", "--lag", LAG, "--attempts", 30, *common,
                *(more if verb == "live" else []), *(f"--peer={one}" for one in peers)]

    def homes(self):
        return list(self.memory.iterdir()) if self.memory else [self.state / "segment"]

    # --- a round ---

    def march(self, begin, end, rng):
        """Comes to a block, disturbed on the way."""
        self.calls = []
        steps = rng.randint(2, 4)
        for i in range(steps):
            kinds = ["kill", "kill", "term", "loss", "restart" if self.name == "disk" else "loss"]
            kind = rng.choice(kinds + ["full"] * 2 * bool(self.disk))
            sub = end if i + 1 == steps else begin + (end - begin) * (i + 1) // steps
            self.step(kind, sub, rng.uniform(0, 0.3 if kind == "full" else 0.8), rng)
            if self.soak.stopping.is_set():
                return
        began = time.monotonic()
        verb = rng.choice(self.verbs)
        self.finish(end, verb, rng)
        self.usual = min(3, max(0.3, (time.monotonic() - began + 2 * self.usual) / 3))

    def finish(self, end, verb, rng):
        """Undisturbed; no peer that makes blocks of its own, one of which might have the number."""
        self.soak.grown.wait(programs.PATIENCE)
        with self.peers(verb, [cuts, lies], rng) as peers:
            said = self.do(self.soak.driver, *self.call(verb, end, peers, rng)).json
        require(said["head"] == end, self.name, "ends at block", said["head"], "not", end)
        self.soak.counts["switches to another branch"] += said.get("sync", {}).get("switches", 0)
        self.closed = end

    @contextlib.contextmanager
    def peers(self, verb, kinds, rng):
        honest = self.soak.server.address
        with contextlib.ExitStack() as stack:
            hostile = []
            for _ in range(0 if verb == "replay" else rng.choice([0, 1, 1, 2])):
                kind, own = rng.choice(kinds), random.Random(rng.random())
                peer = ScriptedPeer(lambda to, _, kind=kind, own=own: kind(to, honest, own))
                hostile.append(stack.enter_context(peer).address)
            self.soak.counts["hostile peers"] += len(hostile)
            yield [*hostile, honest]

    def step(self, kind, end, moment, rng):
        verb = rng.choice(self.verbs)
        if verb == "replay" and len(self.verbs) > 1:  # it may be further than the log
            self.soak.grown.wait(programs.PATIENCE)
        # Blocks so slow that the node says of some that they are durable, once a second.
        is_slow = kind == "loss" and self.durability == "commit" and "live" in self.verbs
        if is_slow:
            verb, moment = "live", 3
        with self.peers(verb, [cuts, lies, branches], rng) as peers:
            call = [*self.call(verb, end, peers, rng), "--metrics", ":0"]
            if is_slow:
                call[call.index("--interval-ms") + 1] = 5
            self.calls.append([str(self.soak.driver), *map(str, call), f"# {kind}"])
            running = self.soak.driver.start(*call)
            irreversible, durable = self.watch(running, moment if is_slow else moment * self.usual, is_slow)
            if kind == "full":
                with contextlib.suppress(OSError):  # it takes the room itself just now
                    self.disk.leave_room(rng.choice([0, 64 << 10, MIB]))
            else:
                running.signal(signal.SIGTERM if kind == "term" else signal.SIGKILL)
            ended = running.wait(None)
            programs._started.remove(running)
        if self.is_held(ended):
            ended.code = 0
        self.soak.counts[kind if ended.code != 0 or kind == "loss" else "too late"] += 1
        if kind == "full":
            if (self.disk.path / "ballast").exists():
                self.disk.make_room()
            ended.expect((0, 1))
            require(ended.code == 0 or "space" in ended.both, ended)
            return
        ended.expect((0, 3, -signal.SIGTERM) if kind == "term" else (0, -signal.SIGKILL))
        if not list(self.state.glob("checkpoint/published.*")):
            require(not self.closed, f"{self.name}: closed, and has no checkpoint after a {kind}")
            return  # killed before there is anything to go back to
        if kind == "restart":
            restart_the_machine(self.state)
        elif kind == "loss":
            for home in self.homes():
                shutil.rmtree(home, ignore_errors=True)
            if self.soak.breaks == "block":
                for file in self.state.glob("checkpoint/redo*"):
                    file.unlink()
        if rng.random() < 0.8 or kind == "loss":
            self.require_promise(kind, irreversible, durable)

    def watch(self, running, seconds, until_durable=False):
        """Until the moment has come, or it says a second time what is durable: the newest block and
        revision that it says nothing takes back."""
        until, irreversible, durable, first = time.monotonic() + seconds, 0, 0, 0
        while time.monotonic() < until and running.is_running and not (until_durable and durable > first > 0):
            if where := re.search(r"metrics: (http://\S+)", running.err):
                with contextlib.suppress(OSError, http.client.HTTPException):
                    page = urllib.request.urlopen(where[1], timeout=5).read().decode()
                    value = dict(re.findall(r"^chainbase_(\w+) (\d+)$", page, re.M))
                    irreversible = int(value.get("chain_irreversible_block", irreversible))
                    durable = int(value.get("redo_durable_revision", durable))
                    first = first or durable
            time.sleep(0.02)
        return irreversible, durable

    def require_promise(self, kind, irreversible, durable):
        """A kill takes no irreversible block; what is lost with memory, no block that was on storage:
        those of a proper close, and with --durability commit what the node said was durable."""
        call = ["replay", "--block-log", self.soak.chain.whole, *self.options, "--stop-at", 1]
        opened = self.do(self.soak.driver, *call, code=(0, 2))  # it opens, and is beyond the block
        found = re.search(r"is at block (\d+) already", opened.err)
        head = int(found[1]) if found else 1
        least = self.closed - LAG if kind in ("loss", "restart") else irreversible
        require(head >= least, f"{self.name}: block {head} after a {kind}, {least} was promised")
        if kind == "loss" and self.durability == "commit" and durable:
            rows = self.do(self.soak.inspect, "dump", self.state, "applied_block").json_lines
            revision = rows[-2]["applied_block"]["revision"]
            least = durable - (0 if self.verbs == ["replay"] else LAG)
            require(revision >= least, f"{self.name}: revision {revision} after a loss of memory,",
                    f"{least} was promised")
            self.soak.counts["promises"] += 1

    # --- at rest ---

    def digest(self):
        return self.do(self.soak.inspect, "digest", self.state, "--json").json["digest"]

    def require_same(self, reference):
        """Sound, and the same digest, root, and root of each block as the undisturbed replay."""
        self.do(self.soak.inspect, "check", self.state)
        self.do(self.soak.inspect, "check", "--checkpoint", self.state)
        self.do(self.soak.inspect, "root", "--verify", self.state)
        here, there = self.digest(), reference.digest()
        require(here == there, f"{self.name}: digest {here}, undisturbed {there}")
        self.do(self.soak.driver, "bisect", self.state, reference.state)

    def maintain(self, rng):
        """One thing that an operator does, after which everything is as it was."""
        what = rng.choice(["compact", "resize", "convert", "backup", "copy", "warm"])
        before, new = self.digest(), self.state.with_name(f"{self.state.name}-new")
        if what == "compact":
            self.do(self.soak.inspect, "compact", self.state, "--commit")
        elif what == "resize":
            self.do(self.soak.inspect, "resize", self.state, "--windows", rng.randint(384, 600),
                    code=(0, 2))  # not while blocks can be undone
        elif what == "warm":
            self.do(self.soak.inspect, "warm", self.state)
        elif what == "convert":
            self.archive = rng.choice(["rocksdb", "memory"])
            said = self.do(self.soak.driver, "convert-archive", "--state", self.state, "--pop",
                           "--to", self.archive, "--json").json
            self.closed = said["block"]  # a session of a replay has more blocks than the lag
        elif what == "backup":
            backup = self.state.with_name(f"{self.state.name}-backup")
            self.do(self.soak.driver, "backup", "--state", self.state, "--to", backup)
            self.do(self.soak.driver, "restore", "--from", backup, "--state", new)
            shutil.rmtree(backup)
        elif what == "copy":
            copy_of(self.state, new)
        if new.exists():
            for home in (self.state, *self.homes()):
                shutil.rmtree(home, ignore_errors=True)
            new.rename(self.state)
            self.finish(self.closed, "replay", rng)  # opens it
        self.soak.counts[what] += 1
        if what != "convert":  # which takes blocks back
            require(self.digest() == before, f"{self.name}: another digest after {what}")

    def bytes(self):
        return sum(bytes_below(one) for one in (self.state, self.memory) if one)

    def files(self):
        return sum(1 for _ in self.state.rglob("*"))


class Soak:
    def __init__(self, arguments, folder):
        self.driver, self.inspect = programs.program("chainbase-driver"), programs.program("chainbase-inspect")
        self.seed, self.breaks, self.folder = arguments.seed, arguments.breaks, folder
        self.stopping, self.grown, self.counts, self.answers = threading.Event(), threading.Event(), Counter(), Counter()
        self.mounts, self.chain, self.nodes, self.first_memory = [], None, [], {}
        self.reference, self.number = None, arguments.first_round
        self.why_no_disks = disks.own_mounts()
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        os.environ["TMPDIR"] = str(self.temporary)

    def small_disk(self, name, size):
        path = self.folder / name
        if self.why_no_disks:
            path.mkdir()
            return path, None
        self.mounts.append(disks.SmallDisk(path, size))
        return path, self.mounts[-1]

    def begin_chain(self, number):
        """The next chain, with new states."""
        self.end_chain()
        base = self.folder / f"chain{number}"
        base.mkdir()
        self.chain = Chain(self.driver, base / "chain", random.Random(f"{self.seed}/{number}").randrange(2**31))
        self.server = serve(self.driver, self.chain.whole, "--forks", self.chain.forks)
        memory = self.folder / f"memory{number}"
        memory.mkdir()
        net, net_disk = self.small_disk(f"net{number}", 400 * MIB)
        small, small_disk = self.small_disk(f"small{number}", 1000 * MIB)
        self.nodes = [
            Node(self, "net", ["sync", "live"], "rocksdb", "checkpoint", base / "net", net, net_disk),
            Node(self, "log", ["replay"], "rocksdb", "commit", base / "log", memory),
            Node(self, "disk", ["sync", "live", "replay"], "memory", "checkpoint", base / "disk"),
            Node(self, "small", ["live", "sync"], "rocksdb", "commit", small / "state", None, small_disk),
        ]
        self.reference = Node(self, "reference", ["replay"], "rocksdb", "checkpoint", base / "reference")

    def end_chain(self):
        if self.chain:
            require(self.server.is_running, self.server)
            self.server.signal(signal.SIGTERM)
            self.server.wait(0)
        for one in self.mounts:
            one.unmount()
        self.mounts = []
        for one in self.folder.iterdir():
            if one != self.temporary:
                shutil.rmtree(one)

    # --- beside the nodes ---

    def read(self, rng, done):
        """What the inspector tells beside writers that live and die holds. It may find nothing there."""
        while not done.is_set():
            node, verb = rng.choice(self.nodes), rng.choice(VERBS)
            if not node.closed:  # it may have no types yet
                time.sleep(0.05)
                continue
            if rng.random() < 0.15:
                running = self.inspect.start(*verb.call(node.state))
                result = until_killed(running, rng.uniform(0, 0.05)).expect((0, 1, 2, 5, 6, -9))
                programs._started.remove(running)
                continue
            result = self.inspect(*verb.call(node.state), code=None)
            if result.code in verb.codes and result.code not in (1, 2):
                self.answers[verb.parts[0]] += bool(verb.answer(result))
            else:
                result.expect((1, 2))
                require(result.err, "says nothing\n", result)
            self.counts["looks"] += 1

    def browse(self, page, rng, done):
        """A web page whose clients are broken or hostile goes on to answer the others."""
        while not done.is_set():
            client = Client(page.port)
            client.send(rng.choice([rng.randbytes(5000), b"GET / HTTP/1.1\r\nHost: evil\r\n\r\n", b"",
                                    b"GET /" + b"a" * 70000, b"POST /api/rows HTTP/1.1\r\n\r\n"]))
            client.socket.close()
            begun = time.monotonic()
            answer = page.ask("/api/sample")
            require(answer.status == 200, f"the page answers {answer} after {time.monotonic() - begun:.1f} s,",
                    "and ended" if page.running.process.poll() is not None else "and still runs")
            self.counts["web clients"] += 1
            time.sleep(0.1)
        page.running.interrupt(0)
        programs._started.remove(page.running)

    # --- a round ---

    def round(self, number):
        rng = random.Random(f"{self.seed}.{number}")
        at = (number - 1) % self.chain.ROUNDS
        begin, end = self.chain.ends[at], self.chain.ends[at + 1]
        plans = {node: random.Random(rng.random()) for node in self.nodes}
        others = [random.Random(rng.random()) for _ in range(3)]
        done = threading.Event()
        self.grown.clear()
        there = [one for one in self.nodes if one.closed]
        pages = [Page(self.inspect, others[2].choice(there).state)] if there else []
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            def grow():
                self.chain.grow(end, others[0], 1)
                self.grown.set()
            beside = [pool.submit(self.read, others[1], done),
                      *(pool.submit(self.browse, one, others[2], done) for one in pages)]
            marches = [pool.submit(grow), *(pool.submit(one.march, begin, end, plans[one]) for one in self.nodes)]
            try:
                concurrent.futures.wait(marches, return_when=concurrent.futures.FIRST_EXCEPTION)
            except KeyboardInterrupt:
                self.stopping.set()
                self.grown.set()
                programs.reap()
                raise
            finally:
                done.set()
            for one in (*marches, *beside):
                one.result()
        self.reference.calls = []
        self.reference.finish(end, "replay", rng)
        if self.breaks == "object" and number % 3 == 2:
            of = Segment(self.nodes[2].state)
            of.flip("account.objects", of.field("account", 5, of.types["account"]["fields"][-1]["name"]))
        for node in self.nodes:
            node.require_same(self.reference)
        self.require_no_leak()
        for node in self.nodes:
            if plans[node].random() < 0.6:
                node.maintain(plans[node])
        return end

    def require_no_leak(self):
        """Against the undisturbed replay, which has the same objects: a state has at most twice its bytes
        and 100 MiB, and 60 files more (checkpoints, logs and tables come and go, but only so many). No
        process of the inspector leaves a file in TMPDIR; one that is killed may leave an empty folder.
        The server, which lives as long as the chain, holds at most 64 MiB more than at the chain's
        begin; nothing but the nodes' homes is in memory."""
        if self.breaks == "leak":
            with open(self.nodes[1].state / "grows", "ab") as file:
                os.posix_fallocate(file.fileno(), 0, file.seek(0, 2) + 100 * MIB)
        limit, files = 2 * self.reference.bytes() + 100 * MIB, self.reference.files() + 60
        for node in self.nodes:
            require(node.bytes() <= limit, f"{node.name}: {node.bytes()} bytes, at most {limit}")
            require(node.files() <= files, f"{node.name}: {node.files()} files, at most {files}")
            require(len(node.homes()) == 1, f"{node.name}: homes {node.homes()}")
        left = [one for one in self.temporary.rglob("*") if not one.is_dir()]
        require(not left, "left in TMPDIR:", left)
        status = Path(f"/proc/{self.server.pid}/status").read_text()
        memory = 1024 * int(re.search(r"RssAnon:\s+(\d+)", status)[1])
        require(memory <= self.first_memory.setdefault(self.server.pid, memory) + 64 * MIB,
                f"serve holds {memory} bytes")

    def require_end(self):
        """The last block once more, by a replay from the first one without an archive."""
        fresh = Node(self, "fresh", ["replay"], "none", "checkpoint", self.folder / "fresh")
        fresh.finish(self.reference.closed, "replay", random.Random(0))
        fresh.require_same(self.reference)

    def run(self, first, minutes):
        began, number = time.monotonic(), first
        while number == first or time.monotonic() - began < 60 * minutes:
            at = (number - 1) % Chain.ROUNDS
            self.number = number
            if number == first or at == 0:
                self.begin_chain((number - 1) // Chain.ROUNDS)
                if at:
                    self.chain.grow(self.chain.ends[at], random.Random(0), 0)
                    self.grown.set()
                    for node in (*self.nodes, self.reference):
                        node.finish(self.chain.ends[at], "replay", random.Random(0))
            before = Counter(self.counts)
            end = self.round(number)
            did = ", ".join(f"{value} {key}" for key, value in sorted((self.counts - before).items()))
            print(f"{(time.monotonic() - began) / 60:5.1f} min  round {number}: block {end}; {did}; "
                  f"{len(self.nodes)} nodes are as the undisturbed one", flush=True)
            number += 1
        self.require_end()
        kinds = ["kill", "term", "loss", "restart", "promises", "hostile peers", "looks", "web clients",
                 "switches to another branch", *([] if self.why_no_disks else ["full"])]
        for kind in kinds if number - first >= 20 else []:
            require(self.counts[kind], f"{number - first} rounds without any {kind}")
        return number - first


def main():
    def interrupted(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupted)
    parser = argparse.ArgumentParser(prog="soak.sh")
    parser.add_argument("--seed", type=int, default=random.randrange(10**9))
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--first-round", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--keep", type=Path, help="a new folder, in which all stays")
    parser.add_argument("--break", dest="breaks", choices=["object", "block", "leak"])
    arguments = parser.parse_args()
    print(f"soak: seed {arguments.seed}", flush=True)
    if arguments.keep:
        arguments.keep.mkdir(parents=True, mode=0o700)
        folder = arguments.keep.resolve()
    else:
        folder = Path(tempfile.mkdtemp(prefix="chainbase-soak-", dir=arguments.folder)).resolve()
    soak, keeps = Soak(arguments, folder), bool(arguments.keep)
    if soak.why_no_disks:
        print(f"soak: no full disks, may not mount: {soak.why_no_disks}")
    try:
        rounds = soak.run(arguments.first_round, arguments.minutes)
        print(f"soak: {rounds} rounds, all the same; {dict(soak.counts)}; readers told {dict(soak.answers)}")
        return 0
    except KeyboardInterrupt:
        print("soak: interrupted")
        return 3
    except Exception:
        keeps = True
        print(f"soak: FAILED, seed {arguments.seed}, round {soak.number}\n{traceback.format_exc():.12000}\ncalls of this round:")
        for node in filter(None, (*soak.nodes, soak.reference)):
            print(*(f"  {' '.join(call)}" for call in node.calls), sep="\n")
        print(f"kept in {folder}; again: tools/soak.sh --seed {arguments.seed} --first-round {soak.number}")
        return 1
    finally:
        programs.reap()
        for disk in soak.mounts:
            if keeps:  # the mount is gone with this process
                shutil.copytree(disk.path, f"{disk.path}.content", ignore=shutil.ignore_patterns("ballast"))
            disk.unmount()
        if not keeps:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
