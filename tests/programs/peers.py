"""Either end of the protocol between `serve` and `sync` (tools/driver/sync/protocol.md), as a test
script wants it: correct, broken or hostile."""
import contextlib
import socket
import struct
import threading

from blocks import NO_BLOCK, PaymentsTree, Place, checksum

(HELLO, REQUEST, BLOCKS, CAUGHT_UP, REFUSAL, KEEPALIVE, SNAPSHOT_REQUEST, SNAPSHOT_PART, FEED_REQUEST, FEED_PART,
 FEED_STATE, FEED_KEEP) = range(1, 13)
BUSY, MALFORMED, WRONG_VERSION, WRONG_CHAIN, NO_COMMON_BLOCK, TOO_SLOW, ENDING, TOO_FAR_BEHIND, NO_TAKE_OVER, OTHER_STATE = range(1, 11)
MAGIC = b"\x8eBLKSYN\n"
PATIENCE = 120  # seconds: a test that waits longer for the other end has failed


# --- frames ---

def frame(kind, payload=b"", length=None, right=True):
    front = struct.pack("<II", len(payload) if length is None else length, kind)
    total = checksum(payload, int.from_bytes(front, "little"))
    return front + struct.pack("<Q", total ^ (0 if right else 1)) + payload


def hello(chain="payments", first=NO_BLOCK, last=NO_BLOCK, magic=MAGIC, version=1, offers=0):
    name = chain if isinstance(chain, bytes) else chain.encode()
    return frame(HELLO, struct.pack("<8sII32s", magic, version, offers, name) + first.packed() +
                 last.packed())


def request(known):
    return frame(REQUEST, struct.pack("<II", len(known), 0) +
                 b"".join(one.packed() for one in known))


def blocks_payload(parent, encodings):
    return parent.packed() + struct.pack("<II", len(encodings), 0) + b"".join(
        struct.pack("<I", len(one)) + one for one in encodings)


def blocks(parent, encodings):
    return frame(BLOCKS, blocks_payload(parent, encodings))


def caught_up(head, is_end=True):
    return frame(CAUGHT_UP, head.packed() + struct.pack("<II", int(is_end), 0))


def refusal(reason, text):
    return frame(REFUSAL, struct.pack("<II", reason, 0) + text)


MANIFEST = bytes(32)  # what a request for it names
PART = 1 << 20


def snapshot_request(digest=MANIFEST):
    return frame(SNAPSHOT_REQUEST, digest)


def snapshot_part(size=0, offset=0, content=b""):
    return frame(SNAPSHOT_PART, struct.pack("<QQ", size, offset) + content)


def snapshot_parts(content):
    return [snapshot_part(len(content), at, content[at:at + PART])
            for at in range(0, len(content), PART)]


FROM_SNAPSHOT, FROM_CURSOR, FROM_PLACE = range(1, 4)  # where a feed begins
WORKS, KILLED, ENDED, KEPT_OUT, LOST, TAKEN = range(1, 7)  # what becomes of the followed state


def feed_request(name, begin=FROM_SNAPSHOT, place=0, state=bytes(16)):
    return frame(FEED_REQUEST, struct.pack("<64s16sQII", name.encode(), state, place, begin, 0))


def feed_part(file, place, content):
    return frame(FEED_PART, struct.pack("<QQ", file, place) + content)


def feed_state(state, begin, revision, end, writer=WORKS):
    return frame(FEED_STATE, struct.pack("<16sQqQII", state, begin, revision, end, writer, 0))


def feed_keep(place=0, revision=0, takes_over=False):
    return frame(FEED_KEEP, struct.pack("<QqII", place, revision, int(takes_over), 0))


def places_in(payload):
    return [Place(*struct.unpack_from("<QQQ", payload, at)) for at in range(0, len(payload), 24)]


# --- connections ---

class Hung(Exception):
    """The other end has hung up."""


class Connection:
    def __init__(self, to):
        """`to`: a socket, or the HOST:PORT to connect to."""
        if isinstance(to, str):
            host, port = to.rsplit(":", 1)
            to = socket.create_connection((host, int(port)))
        self.socket = to
        self.socket.settimeout(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, *frames):
        try:
            self.socket.sendall(b"".join(frames))
        except (BrokenPipeError, ConnectionResetError) as problem:
            raise Hung from problem

    def receive(self):
        """The type and payload of the next frame; its checksum is right."""
        front = self._exactly(16)
        length, kind, total = struct.unpack("<IIQ", front)
        payload = self._exactly(length)
        assert total == checksum(payload, int.from_bytes(front[:8], "little"))
        return kind, payload

    def receive_until(self, kind):
        """The payload of the next frame of that type."""
        while True:
            came, payload = self.receive()
            if came == kind:
                return payload

    def refused(self):
        """The reason and text with which the other end hangs up."""
        payload = self.receive_until(REFUSAL)
        return struct.unpack_from("<I", payload)[0], payload[8:].decode()

    def greet(self, chain="payments", last=NO_BLOCK):
        """What a peer says first; returns what the client has, the newest first."""
        self.receive()
        self.send(hello(chain, last=last))
        return places_in(self.receive_until(REQUEST)[8:])

    def ask(self, known=(NO_BLOCK,), chain="payments"):
        """What a client says first."""
        self.send(hello(chain), request(known))

    def wait_for_end(self):
        with contextlib.suppress(ConnectionResetError):
            while self.socket.recv(1 << 16):
                pass

    def _exactly(self, size):
        data = bytearray()
        while len(data) < size:
            try:
                more = self.socket.recv(size - len(data))
            except ConnectionResetError as problem:
                raise Hung from problem
            if not more:
                raise Hung
            data += more
        return bytes(data)


class ScriptedPeer:
    """Listens, and runs script(connection, how many came before it) for one connection after the
    other. A script ends when the client hangs up. An error in a script fails the test."""

    def __init__(self, script):
        self.script = script
        self.connections = 0
        self.failure = None
        self._came = threading.Condition()
        self._current = None
        self._stopping = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._work)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, kind, *_):
        self._stopping = True
        for one in (self._listener, self._current):
            with contextlib.suppress(OSError, AttributeError):
                one.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
        if self.failure and kind is None:
            raise self.failure
        if self.failure:
            print(f"the script of a peer failed: {self.failure!r}")

    def wait_for_connection(self):
        with self._came:
            assert self._came.wait_for(lambda: self.connections > 0, PATIENCE)

    def _work(self):
        while not self._stopping:
            try:
                self._current, _ = self._listener.accept()
            except OSError:
                return
            with self._came:
                count = self.connections
                self.connections += 1
                self._came.notify_all()
            try:
                with Connection(self._current) as one:
                    self.script(one, count)
            except (Hung, OSError):
                pass
            except Exception as problem:  # told when the test ends
                self.failure = self.failure or problem


# --- chains to give ---

class GivenChain:
    """A chain in a tree, for peers to give. `known`: what the client had that was given it last."""

    def __init__(self, random, blocks=30):
        self.tree = PaymentsTree(random)
        self.chain = [1] + self.tree.grow(1, blocks - 1)
        self.known = None

    def place(self, i):
        return self.tree[self.chain[i]].place

    def frames(self, first, end):
        return [frame_of(self.tree, one) for one in self.chain[first:end]]

    def give(self, to, first, end):
        to.send(*self.frames(first, end))

    def give_all(self, to, _count=0):
        """All that a client lacks, and that this is all."""
        self.known = to.greet()
        have = {self.tree[at].place: i + 1 for i, at in enumerate(self.chain)}
        common = next((have[one] for one in self.known if one in have), 0)
        self.give(to, common, len(self.chain))
        to.send(caught_up(self.place(-1)))
        to.wait_for_end()

    def write_log(self, path):
        return self.tree.write_log(path, self.chain[-1])


def frame_of(tree, index):
    """One block of a tree."""
    return blocks(tree[tree[index].parent].place, [tree[index].encoded])


class GivenSnapshot:
    """The snapshot in a folder, for peers to give as `answer` likes: it is called with the connection,
    the digest that was asked for (None: the manifest) and its file, and sends; without it, all is
    given as it is. `asked`: all digests, in order."""

    def __init__(self, folder, chain, answer=None):
        self.folder, self.chain, self.asked = folder, chain, []
        self.answer = answer or self.give

    def file_of(self, digest):
        name = f"chunks/{digest.hex()}" if digest else "manifest"
        return (self.folder / name).read_bytes()

    @staticmethod
    def give(to, _digest, file):
        to.send(*snapshot_parts(file))

    def __call__(self, to, _count=0):
        to.receive()
        to.send(hello(self.chain, offers=1))
        while True:
            kind, payload = to.receive()
            if kind != SNAPSHOT_REQUEST:  # blocks are others' work
                to.send(refusal(ENDING, b"no blocks here"))
                return to.wait_for_end()
            digest = None if payload == MANIFEST else payload
            self.asked.append(digest)
            self.answer(to, digest, self.file_of(digest))


# --- the programs ---

def serve(driver, log, *more, listen="127.0.0.1:0"):
    """A server beside the test, with its `address`."""
    server = driver.start("serve", "--block-log", log, "--listen", listen, "--json", *more)
    server.address = server.first_json()["listening"]
    return server


def sync_call(state, *peers, verb="sync"):
    return [verb, "--state", state, "--once", "--json"] + [
        word for one in peers for word in ("--peer", one)]


def digest_of(driver, log, state):
    """Of a new state to which replay applies the log."""
    return driver.json("replay", "--block-log", log, "--state", state)["state_digest"]
