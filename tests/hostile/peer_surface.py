"""peer: hostile peers beside an honest one, for `sync` and `live`, which are killed and called again, also
with a snapshot to begin with, and hostile clients beside honest ones of `serve`. The honest chain is reached
whatever came before it, and what that costs is in proportion to what was sent."""

import json
import os
import random as randoms
import signal
import socket
import time
from contextlib import ExitStack, suppress

from block_logs import checksum
from blocks import NO_BLOCK, PaymentsTree, Place
from kills import until_killed
from peers import (BLOCKS, CAUGHT_UP, HELLO, KEEPALIVE, SNAPSHOT_PART, Connection, GivenChain, GivenSnapshot,
                   Hung, ScriptedPeer, blocks_payload, caught_up, feed_request, frame, frame_of, hello, refusal,
                   request, serve, snapshot_part, snapshot_parts, sync_call)  # fmt: skip
from surface import Broken, call, driver, inspect, require

SIZES = {30: 5, 260: 200}  # blocks of the honest chain, and how many of them can be popped
REJECTED, USELESS, SWITCHES = 11, 10_001, 18  # of one sender, and one more: tools/driver/sync/README.md
REJECTION = "the payer has the money"
LASTING = ("deep", "other_name", "old")


class Conduct:
    """What one connection sent, and so what it may have cost at most."""

    def __init__(self, head):
        self.top = self.tallest = head  # heights
        self.rejected = self.useless = self.popped = self.blocks = self.depth = 0
        self.bad = self.idle = 0  # since the chain may have become longer
        self.extends = False

    def sends(self, entry, forks_at):
        self.blocks += 1
        if entry.is_valid and entry.height > self.top:
            self.top, self.bad, self.idle, self.extends = entry.height, 0, 0, True
        else:
            self.idle += 1
            self.useless += self.idle <= USELESS
            self.bad += not entry.is_valid
            self.rejected += not entry.is_valid and self.bad <= REJECTED
        self.depth = max(self.depth, max(self.top, entry.height) - forks_at)

    def sends_any(self):
        """A block that may be anything: known, rejected or malformed."""
        self.rejected += 1
        self.useless += 1


class Hostile:
    """A peer whose acts follow each other in each of its connections."""

    def __init__(self, chain, lag, acts):
        self.chain, self.tree, self.lag, self.acts, self.conducts = chain, chain.tree, lag, acts, []

    def script(self, to, count):
        first = self.acts[0][0] if self.acts else ""
        if first in ("mute", "no_hello", "old"):
            words = {"mute": b"", "no_hello": frame(KEEPALIVE), "old": hello(version=9)}[first]
            self.conducts.append(Conduct(0))
            to.receive()
            to.send(words)
            return
        known = to.greet("other" if first == "other_name" else "payments")
        self.conducts.append(Conduct(known[0].number))
        have = {self.tree[one].place: i + 1 for i, one in enumerate(self.chain.chain)}
        common = next((have[one] for one in known if one in have), 0)
        size = len(self.chain.chain)
        self.at = min(max(common, size // 3), size - 2)  # honest blocks before those of the acts
        self.block(to, *self.chain.chain[common : self.at])
        for act, n in self.acts:
            getattr(self, act)(to, n, count)
        to.socket.settimeout(20 if "silence" in dict(self.acts) else 0.5)
        to.wait_for_end()  # or hangs up

    def block(self, to, *indexes):
        for one in indexes:
            self.conducts[-1].sends(self.tree[one], self.honest_height_below(one))
        for at in range(0, len(indexes), 50):
            to.send(*(frame_of(self.tree, one) for one in indexes[at : at + 50]))

    def honest_height_below(self, index):
        while index > len(self.chain.chain):  # the honest ones were the first
            index = self.tree[index].parent
        return index

    @property
    def parent(self):
        return self.chain.chain[self.at - 1]

    def room(self):
        """Blocks that a branch may have which is to lose, and not to become final."""
        return min(self.lag, len(self.chain.chain) - 1 - self.at)

    def good(self, to, n, _):
        end = min(self.at + 1 + n % 5, len(self.chain.chain) - 2)
        self.block(to, *self.chain.chain[self.at : end])
        self.at = max(self.at, end)

    def siblings(self, to, n, _):
        self.block(to, *(self.tree.add(self.parent, True) for _ in range(n % 400)))

    def family(self, to, n, _):
        at = self.tree.add(self.parent, True)
        self.block(to, at, *self.tree.grow(at, n % 50))

    def tips(self, to, n, _):
        length = min(self.room(), n % 40)
        ends = [(self.tree.grow(self.parent, length) or [self.parent]) for _ in range(2)]
        self.block(to, *(one for end in ends for one in end if one > len(self.chain.chain)))
        self.block(to, *(self.tree.add(ends[i % 2][-1], True) for i in range(n % 300)))

    def turns(self, to, n, _):
        ends, sent = [self.parent] * 2, []
        for height in range(min(self.room(), 60 + n % 120)):
            for _ in range(1 if height == 0 else 2):
                ends[height % 2] = self.tree.add(ends[height % 2])
                sent.append(ends[height % 2])
        self.block(to, *sent)

    def mixture(self, to, n, _):
        """Good and bad ones by turns, of which the good ones make nothing longer."""
        for i in range(n % 30):
            self.block(to, self.tree.add(self.parent), *(self.tree.add(self.parent, True) for _ in range(9)))

    def again(self, to, n, _):
        self.block(to, *[self.parent] * (n % 25 * 1000))

    def storm(self, to, n, _):
        made, drawn = [self.parent], randoms.Random(n)
        for _ in range(n % 100):
            parent = drawn.choice(made[-6:])
            if self.tree[parent].height - self.at < self.room():
                made.append(self.tree.add(parent, drawn.random() < 0.2))
        self.block(to, *made[1:])

    def gap(self, to, n, _):
        self.block(to, *self.chain.chain[self.at + 1 : self.at + 3 + n % 3])

    def disorder(self, to, n, _):
        branch = self.tree.grow(self.parent, min(4, self.room()))
        self.block(to, *randoms.Random(n).sample(branch, len(branch)))

    def deep(self, to, n, _):
        branch = self.tree.grow(self.chain.chain[0], 3)
        self.block(to, *branch)

    def other_chain(self, to, n, _):
        other = PaymentsTree(randoms.Random(99))
        to.send(frame_of(other, other.add(1)))

    def other_name(self, *_):
        pass

    def refuses(self, to, n, _):
        to.send(refusal(1 + n % 9, b"no\n" * (n % 200)))

    def sum_(self, to, n, _):
        place, encoded = self.tree[self.parent].place, self.tree[self.chain.chain[self.at]].encoded
        to.send(frame(BLOCKS, blocks_payload(place, [encoded]), right=False))

    def flip(self, to, n, _):
        data = bytearray(frame_of(self.tree, self.chain.chain[self.at]))
        data[n % len(data)] ^= 1 << n // 7 % 8
        to.send(bytes(data))
        to.send(bytes(1 << 16))  # what a longer length asks for

    def forged(self, to, n, _):
        """A sum that fits whatever the payload is."""
        entry = self.tree[self.chain.chain[self.at]]
        payload = bytearray(blocks_payload(self.tree[entry.parent].place, [entry.encoded]))
        payload[n % len(payload)] ^= 1 + n // 7 % 255
        self.conducts[-1].sends_any()
        to.send(frame(BLOCKS, bytes(payload)))

    def huge(self, to, n, _):
        to.send(frame((BLOCKS, CAUGHT_UP, HELLO)[n % 3], length=(2**32 - 1, 2**31, 2**24 + 1, 2**24)[n // 3 % 4]))
        to.send(bytes(n % 100_000))

    def words(self, to, n, _):
        to.send((frame(77), hello(), request([NO_BLOCK]), frame(BLOCKS), b"\xff" * 64, frame(CAUGHT_UP, bytes(9)))[n % 6])

    def lies(self, to, n, _):
        end = bool(n & 1)
        earlier = self.chain.place(n % (self.at - 1))
        to.send((caught_up(earlier, True), caught_up(Place(self.at, 3, 4), end), caught_up(self.chain.place(-1), end),
                 caught_up(Place(2**64 - 1, 1, 1), end), 2 * caught_up(earlier, False), caught_up(NO_BLOCK, True))[n % 6])  # fmt: skip

    def talk(self, to, n, _):
        to.send(frame(KEEPALIVE) * (n % 1000))

    def drip(self, to, n, count):
        if count > 30:  # each connection gives a block, so it would be slow, and go on
            raise Hung
        one = self.chain.chain[self.at]
        self.conducts[-1].sends(self.tree[one], self.honest_height_below(one))
        data = frame_of(self.tree, one)
        for at in range(0, len(data), 8):
            to.send(data[at : at + 8])
            time.sleep(0.005)

    def cut(self, to, n, _):
        data = frame_of(self.tree, self.chain.chain[self.at])
        to.send(data[: n % len(data)])
        raise Hung

    def silence(self, to, n, count):
        if count:
            raise Hung

    def hang_up(self, to, n, _):
        raise Hung

    mute = no_hello = old = other_name


FAULTS = ("siblings", "gap", "sum_", "words")  # that end a connection at the latest the third time
ACTS = [name for name in vars(Hostile) if name not in
        ("script", "block", "honest_height_below", "parent", "room", "silence") and name[0] != "_"]  # fmt: skip
COSTLY = ["siblings", "tips", "turns", "mixture", "again", "storm"]


class HostileSnapshot(GivenSnapshot):
    """A peer that offers the snapshot in a folder, each of whose answers is its next act, from the first
    one on when all were done. One whose first act is a lie offers that manifest always."""

    def __init__(self, folder, acts, is_named):
        super().__init__(folder, "payments", self.act)
        self.acts, self.is_named = acts, is_named

    def act(self, to, digest, file):
        is_liar = digest is None and self.acts[0][0] == "lie"
        act, n = self.acts[0 if is_liar else (len(self.asked) - 1) % len(self.acts)]
        getattr(self, act)(to, digest, file, n)

    def right(self, to, digest, file, _):
        self.give(to, digest, file)

    def lie(self, to, digest, file, n):
        """Another chunk; or a manifest that fits itself, or only the trusted root, but is another one."""
        if digest is not None:
            others = sorted((self.folder / "chunks").iterdir())
            return self.give(to, digest, others[n % len(others)].read_bytes())
        said = json.loads(file)
        types = [one for one in said["types"] if one["chunks"]]
        one = types[n // 7 % len(types)]
        if not self.is_named or n % 3 == 0:
            one["chunks"][0][5] = said["state_root"] = one["root"] = "1" * 64
        elif n % 3 == 1:
            one["chunks"][n % len(one["chunks"])][4] = f"{n:064x}"
        else:
            said["revision"] += 1  # the same of all that lie so
        del said["sum"]
        text = json.dumps(said, separators=(",", ":"), ensure_ascii=False)[:-1].encode()
        self.give(to, digest, text + b',"sum":"%016x"}\n' % checksum(text))

    def flip(self, to, digest, file, n):
        """A bit; the sum in a chunk fits."""
        data = bytearray(file)
        data[16 + n % (len(data) - 16)] ^= 1 << n // 7 % 8
        if digest is not None:
            data[8:16] = checksum(bytes(data[16:])).to_bytes(8, "little")
        self.give(to, digest, bytes(data))

    def cut(self, to, _, file, n):
        data = b"".join(snapshot_parts(file))
        to.send(data[: n % len(data)])
        raise Hung

    def short(self, to, digest, file, n):
        self.give(to, digest, file[: n % len(file)] or b"x")

    def more(self, to, digest, file, n):
        self.give(to, digest, file + bytes(1 + n % (1 << 17)))

    def endless(self, to, _, __, n):
        size = (2**63, 2**64 - 1, (256 << 20) + 1, 1 << 40)[n % 4]
        to.send(*(snapshot_part(size, at, bytes(1024)) for at in range(0, 1 << 18, 1024)))

    def bomb(self, to, digest, _, n):
        """A frame of zstd, as far as it goes, that says it has more than there is."""
        frame_ = b"\x28\xb5\x2f\xfd\xe0" + (1 << 20 + n % 40).to_bytes(8, "little") + bytes(n % 999)
        self.give(to, digest, b"chnkrow1" + checksum(frame_).to_bytes(8, "little") + frame_)

    def huge(self, to, *_):
        to.send(frame(SNAPSHOT_PART, b"", length=2**31 - 1), bytes(1 << 16))

    def disorder(self, to, _, file, n):
        to.send(snapshot_part(len(file), 1 + n % 99, file[1:2]))

    def lacks(self, to, *_):
        to.send(snapshot_part())

    def drip(self, to, _, file, n):
        for one in b"".join(snapshot_parts(file))[: 1 + n % 400]:
            to.send(bytes([one]))
            time.sleep(0.01)
        raise Hung

    def silence(self, to, *_):
        to.wait_for_end()

    def refuses(self, to, _, __, n):
        to.send(refusal(1 + n % 9, b"no\n" * (n % 200)))
        raise Hung

    def words(self, to, _, __, n):
        to.send((frame(77), hello(), request([NO_BLOCK]), frame(SNAPSHOT_PART), b"\xff" * 64, caught_up(NO_BLOCK))[n % 6])

    def hang_up(self, *_):
        raise Hung


SNAPSHOT_ACTS = [name for name in vars(HostileSnapshot) if name not in ("act", "silence") and name[0] != "_"]


class Peer:
    snapshot_size = 30  # blocks of the chain whose snapshot is offered, in its middle

    def __init__(self, folder):
        self.digests = {}
        for size in SIZES:
            log = GivenChain(randoms.Random(size), size).write_log(folder / f"log{size}")
            said = call(driver(), "replay", "--block-log", log, "--state", folder / f"state{size}", "--json")
            self.digests[size] = said.json["state_digest"]
        size, middle = self.snapshot_size, folder / "middle"
        call(driver(), "replay", "--block-log", folder / f"log{size}", "--state", middle, "--stop-at", size // 2,
             "--state-root", "all").expect(0)  # fmt: skip
        self.log, self.snapshot = folder / f"log{size}", folder / "snapshot"
        self.said = call(inspect(), "snapshot", "write", middle, "--to", self.snapshot, "--json").expect(0).json

    def snapshot_sequence(self, random):
        def step():
            if random.random() < 0.2:
                return ("kill", random.randint(20, 700), random.choice(("SIGKILL", "SIGKILL", "SIGTERM")))
            act = "silence" if random.random() < 0.02 else random.choice(SNAPSHOT_ACTS + ["right"] * 8 + ["lie"] * 4)
            return ("snapshot", random.randrange(3), act, random.randrange(1 << 20))

        return [("trust", random.choice(("root", "name")))] + [step() for _ in range(random.randint(1, 12))]

    def play_snapshot(self, steps, folder):
        is_named = ("trust", "name") in steps
        trust = ["--trusted-root", self.said["state_root"], *(["--trusted-name", self.said["name"]] if is_named else [])]
        acts = [[(act, n) for what, whose, act, n in (one for one in steps if one[0] == "snapshot") if whose == who]
                for who in range(3)]  # fmt: skip
        honest = serve(driver(), self.log, "--snapshot", self.snapshot)
        with ExitStack() as stack:
            hostile = [stack.enter_context(ScriptedPeer(HostileSnapshot(self.snapshot, one, is_named)))
                       for one in acts if one]  # fmt: skip
            addresses = [*(one.address for one in hostile), honest.address]
            it = [*sync_call(folder / "state", *addresses), "--from-snapshot", folder / "fetched", *trust]
            for what, *how in steps:
                if what == "kill":
                    until_killed(driver().start(*it), how[0] / 1000, getattr(signal, how[1]))
            before = [one.connections for one in hostile]
            began = time.monotonic()
            said = call(driver(), *it, patience=150)
            seconds = time.monotonic() - began
            connections = [one.connections - was for one, was in zip(hostile, before)]
        self.at_the_end(said, self.snapshot_size, folder / "state")
        self.few_words(said, len(addresses), seconds)
        require(max(connections, default=0) <= 40, f"{connections} connections to hostile peers\n{said}")
        if begun := said.json["snapshot"]:
            require(begun["name"] == self.said["name"], f"begins with another snapshot\n{said}")
            most = sum(one.stat().st_size for one in (self.snapshot / "chunks").iterdir())
            require(begun["fetched_bytes"] <= most, f"{begun['fetched_bytes']} bytes fetched, of {most}\n{said}")
            require(call(inspect(), "snapshot", "verify", folder / "fetched").code == 0, "the folder is no snapshot")
        honest.signal(signal.SIGTERM)
        honest.wait(None, 20)

    def sequence(self, random):
        if random.random() < 0.25:
            return self.snapshot_sequence(random)

        def step():
            n, what = random.randrange(1 << 20), random.random()
            if what < 0.75:
                act = "silence" if random.random() < 0.01 else random.choice(ACTS + 2 * COSTLY)
                return ("peer", random.randrange(3), act, n)
            if what < 0.85:
                return ("kill", random.randint(20, 700), random.choice(("SIGKILL", "SIGKILL", "SIGTERM")))
            if what < 0.9:
                return ("alone",)
            return ("client", random.choice(CLIENTS), n)

        size = random.choice((30, 30, 260))
        run = ("run", random.choice(("sync", "sync", "live")), size, random.choice((0, 0, size // 5 + 1)))
        return [run] + [step() for _ in range(random.randint(1, 9))]

    def play(self, steps, folder):
        if any(one[0] in ("trust", "snapshot") for one in steps):
            return self.play_snapshot(steps, folder)
        _, verb, size, piece = next((one for one in steps if one[0] == "run"), ("", "sync", 30, 0))
        chain, lag = GivenChain(randoms.Random(size), size), SIZES[size]
        chain.tree.lag = 1000  # no matter here
        acts = [[(act, n) for what, whose, act, n in (one for one in steps if one[0] == "peer") if whose == who]
                for who in range(3)]  # fmt: skip
        hostile = [Hostile(chain, lag, one) for one in acts if one]
        with ExitStack() as stack:
            addresses = [stack.enter_context(ScriptedPeer(one.script)) for one in hostile]
            honest = stack.enter_context(ScriptedPeer(lambda to, count: self.give(chain, piece, to)))
            others = [one.address for one in addresses]
            it = [*sync_call(folder / "state", *others, honest.address, verb=verb), "--lag", lag]
            for what, *how in steps:
                if what == "kill":
                    until_killed(driver().start(*it), how[0] / 1000, getattr(signal, how[1]))
                if what == "alone" and others:
                    alone = [*sync_call(folder / "state", *others, verb=verb), "--lag", lag, "--attempts", 2]
                    began = time.monotonic()
                    said = call(driver(), *alone)
                    ends = said.code == 1 or (said.code == 0 and said.json["head"] == size)
                    require(ends, f"hostile peers alone are an end\n{said}")
                    self.few_words(said, len(others), time.monotonic() - began)
            for one in hostile:
                one.conducts.clear()
            before = [one.connections for one in addresses]
            began = time.monotonic()
            said = call(driver(), *it, patience=120)
            seconds = time.monotonic() - began
            connections = [one.connections - was for one, was in zip(addresses, before)]
        self.at_the_end(said, size, folder / "state")
        self.few_words(said, len(hostile) + 1, seconds)
        self.in_proportion(said, hostile, lag, steps)
        for one, count in zip(hostile, connections):
            # A chain that grows piece by piece can go back to its begin for a while.
            is_lasting = one.acts[0][0] in LASTING and not (one.acts[0][0] == "deep" and piece)
            most = 2 if is_lasting else 4 if one.acts[0][0] in FAULTS else 99
            most *= 1 + sum(each.extends for each in one.conducts)
            require(count <= most, f"{count} connections to a peer that is at fault: {one.acts}\n{said}")
        if any(what == "client" for what, *_ in steps):
            self.play_clients([how for what, *how in steps if what == "client"], chain, folder)

    def give(self, chain, piece, to):
        """All, or a piece and hang up."""
        if not piece:
            return chain.give_all(to)
        known = to.greet()
        have = {chain.tree[one].place: i + 1 for i, one in enumerate(chain.chain)}
        common = next((have[one] for one in known if one in have), 0)
        end = max(common, known[0].number) + piece  # beyond its head: what is not longer is forgotten
        chain.give(to, common, end)
        if end >= len(chain.chain):
            to.send(caught_up(chain.place(-1)))
            to.wait_for_end()

    def at_the_end(self, said, size, state):
        require(said.code == 0, f"the honest chain is not reached\n{said}")
        require(said.json["head"] == size, f"ends at another block\n{said}")
        require(said.json["state_digest"] == self.digests[size], f"ends in another state\n{said}")
        sound = call(inspect(), "check", state)
        require(sound.code == 0, f"not sound\n{sound}")

    def few_words(self, said, peers, seconds):
        minutes, lines = 1 + seconds // 60, said.err.splitlines()
        rejections = sum(REJECTION in one and "peer " not in one for one in lines)
        require(rejections <= 10 * minutes, f"{rejections} lines on rejected blocks\n{said}")
        most = 30 + peers * 25 * minutes + 2 * seconds
        require(len(lines) <= most and len(said.err) <= most * 2000, f"{len(lines)} lines\n{said}")

    def in_proportion(self, said, hostile, lag, steps):
        done = said.json["sync"]
        conducts = [conduct for one in hostile for conduct in one.conducts]
        kills = sum(what == "kill" for what, *_ in steps)
        for what in ("rejected", "useless"):
            most = sum(getattr(one, what) for one in conducts) + REJECTED * kills
            require(done[f"{what}_blocks"] <= most, f"{done[what + '_blocks']} {what} blocks, of at most {most}\n{said}")
        most = sum(5 * one.blocks + SWITCHES * min(one.depth, lag) for one in conducts) + lag * (1 + kills)
        require(done["popped_blocks"] <= most, f"{done['popped_blocks']} popped blocks, of at most {most}\n{said}")

    # --- clients of serve ---

    def play_clients(self, clients, chain, folder):
        server = serve(driver(), chain.write_log(folder / "log"))
        self.complete(server, chain, 0)
        files = len(os.listdir(f"/proc/{server.pid}/fd"))
        left = []
        for act, n in clients:
            for i in range({"idle": n % 80, "greeted": n % 9}.get(act, 1)):
                left.append(self.client(server, chain, act, n + i))
            self.complete(server, chain, n % len(chain.chain))
        for one in left:
            one.socket.close()
        until = time.monotonic() + 15
        while (now := len(os.listdir(f"/proc/{server.pid}/fd"))) > files:
            require(time.monotonic() < until, f"{now} files open in serve, {files} before")
            time.sleep(0.05)
        server.signal(signal.SIGTERM)
        run = server.wait(None, 20)
        require(run.code == 0 and run.json_lines[-1]["finished"] > 0, f"serve ends otherwise\n{run}")
        require(len(run.err.splitlines()) < 60, f"too many words\n{run}")

    def client(self, server, chain, act, n):
        host, port = server.address.split(":")
        source = f"127.0.0.{3 + n % 40}" if act == "idle" else "127.0.0.3"
        to = Connection(socket.create_connection((host, int(port)), 20, (source, 0)))
        words = {
            "idle": hello()[: n % 50],
            "greeted": hello(),
            "half": hello() + request([NO_BLOCK])[: n % 30],
            "wrong": (frame(77), frame(HELLO, length=2**31), hello("x"), hello(version=2), hello() + request([]),
                      hello() + request([Place(7, 1, 2)]), frame(KEEPALIVE), b"\xff" * 99,
                      hello() + feed_request("other"))[n % 9],
            "greedy": hello() + request([NO_BLOCK]),
            "talks on": hello() + request([NO_BLOCK]) + frame(KEEPALIVE) * (n % 90),
        }[act]  # fmt: skip
        with suppress(Hung):
            to.send(words)
            if act in ("wrong", "talks on"):
                to.socket.settimeout(20)
                try:
                    to.wait_for_end()
                except TimeoutError:
                    raise Broken(f"a client that is wrong is not hung up on: {act} {n}") from None
        return to

    def complete(self, server, chain, after):
        """An honest client has each block behind those that it had, and nothing else."""
        expected = [chain.tree[one].encoded for one in chain.chain[after:]]
        with Connection(server.address) as to:
            to.socket.settimeout(20)
            got, kind, place = b"", None, chain.place(after - 1) if after else NO_BLOCK
            try:
                to.ask([place])
                while kind != CAUGHT_UP:
                    kind, payload = to.receive()
                    if kind == BLOCKS:
                        require(payload[:24] == place.packed(), f"blocks behind another than {place}")
                        got += payload[32:]
                        after += int.from_bytes(payload[24:28], "little")
                        place = chain.place(after - 1)
            except (Hung, TimeoutError):
                raise Broken("an honest client of serve gets no blocks") from None
        whole = blocks_payload(NO_BLOCK, expected)[32:]
        require(got == whole and place == chain.place(-1), "an honest client gets other blocks")


CLIENTS = ("idle", "idle", "greeted", "half", "wrong", "wrong", "greedy", "talks on")
