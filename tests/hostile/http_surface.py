"""http: clients of `chainbase-inspect serve`, and scrapers of `--metrics`, that say nothing, half of
something, too much or too slowly, ask for other sites, without the token or for odd paths, many at
once, while somebody at another address asks for what there is."""

import os
import signal
import socket
import struct
import time

from block_logs import payments
from blocks import encoded_block, write_log
from surface import Broken, call, driver, inspect, require
from test_driver_observation import Page
from test_inspect_serve import TOKEN, Answer, Client

HONEST = "127.0.0.2"
SERVERS = ("page", "page with a token", "metrics")
# What a connection says before it says no more: its begin, and how often the rest.
HALVES = (
    ("", "", 0), ("G", "", 0), ("GET /api/stat HTTP/1.1\r\nHost: ", "a", 3000),
    ("GET / HTTP/1.1\r\n", "X-Y: 1\r\n", 500), ("GET / HTTP/1.1\r\nContent-Length: 9\r\n\r\n", "", 0),
    ("GET /", "%61", 2000), ("\r\n", "\r\n", 50), ("\x16\x03\x01\x02\x00\x01", "\x00", 200),
)  # fmt: skip
LONG = (("", "a"), ("GET /", "a"), ("GET / HTTP/1.1\r\nX: ", "a"), ("GET / HTTP/1.1\r\n", "X: y\r\n"))
NAMES = ("evil.example", "localhost.evil.example", "127.0.0.2", "127.1", "0x7f.0.0.1", "2130706433",
         "10.0.0.1", "[::ffff:127.0.0.1]", "127.0.0.1.", "[::2]", "user@127.0.0.1", "")  # fmt: skip
ORIGINS = ("https://evil.example", "null", "http://127.0.0.1:80", "file://", "http://evil.example:{}",
           "https://127.0.0.1:{}", "http://127.0.0.1:{}.evil.example", "http://127.0.0.2:{}")  # fmt: skip
WRONG_TOKENS = ("", "Bearer ", "Bearer " + TOKEN[:-1], "Bearer " + TOKEN + "0", "bearer\t" + TOKEN,
                "Basic " + TOKEN, "Bearer " + "0" * 32, "Bearer " + TOKEN[:-1] + "e")  # fmt: skip
PIECES = ("/", "..", "api", "stat", "rows", "%2e%2e", "%00", "%", "\\", "//", "?", "&", "=", "type=account",
          "index=by_name", "key=user1", "limit=-1", "after=9", "é", ";", "etc/passwd", "app.js", "#", "*",
          "http://evil.example/", "limit=1000", "token=" + TOKEN, "%ff", "a" * 3000)  # fmt: skip
GOOD = ("/", "/api/schema", "/api/rows?type=account&limit=100", "/api/rows?type=account&index=by_name&key=user7",
        "/api/stat", "/api/sample", "/api/locks", "/uplot.js")  # fmt: skip
MAY_CHANGE = ("/api/sample", "/api/stat", "/api/locks", "/metrics")


class Server:
    """One of SERVERS, and the connections that hostile clients have to it."""

    def __init__(self, kind, surface):
        self.kind, self.open, self.known = kind, [], surface.known
        self.fields = [f"Authorization: Bearer {TOKEN}"] if kind == SERVERS[1] else []
        if kind == "metrics":
            it = ["serve", "--block-log", surface.log, "--listen", "127.0.0.1:0", "--json"]
            self.running = driver().start(*it, "--metrics", "127.0.0.1:0")
            told = self.running.wait_for(r"metrics: http://127.0.0.1:(\d+)/", "err", timeout=30)
            self.running.first_json()  # all its files are open then
        else:
            more = ["--token-file", surface.token] if self.fields else []
            self.running = inspect().start("serve", surface.state, *more)
            told = self.running.wait_for(r"http://127.0.0.1:(\d+)/", timeout=30)
        self.port = int(told.group(1))
        self.ask(self.good(0))
        self.files = self.count_files()

    def count_files(self):
        return len(os.listdir(f"/proc/{self.running.pid}/fd"))

    def good(self, which):
        return "/metrics" if self.kind == "metrics" else GOOD[which % len(GOOD)]

    def connect(self, source):
        one = Client(self.port, source)
        one.socket.settimeout(20)
        return one

    def request(self, target, *fields, host=None, method="GET", end="Connection: close"):
        host = f"127.0.0.1:{self.port}" if host is None else host
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *fields, end, "", ""]
        return "\r\n".join(lines).encode()

    def raw(self, words, source=HONEST):
        client = self.connect(source)
        client.send(words)
        try:
            return Answer(client.rest())
        except TimeoutError:
            raise Broken(f"no end of an answer to {words[:200]} from {source}") from None
        finally:
            client.socket.close()

    def ask(self, target, source=HONEST):
        """As who may: the answer is whole, right and not slow."""
        began = time.monotonic()
        answer = self.raw(self.request(target, *self.fields), source)
        require(answer.status == 200, f"{target}: no answer to an honest client: {answer!r}")
        require(time.monotonic() - began < 10, f"{target}: answered after more than 10 s")
        self.require_whole(answer, target)
        if target.startswith("/api/"):
            require("error" not in answer.json, f"{target}: {answer!r}")
        if target == "/metrics":
            require(Page(answer.body).values, "no metrics")
        elif target not in MAY_CHANGE:
            require(self.known.setdefault(target, answer.body) == answer.body, f"{target}: another answer")

    def require_whole(self, answer, about):
        head = answer.head.lower()
        require(f"content-length: {len(answer.body.encode())}\r\n" in head + "\r\n", f"{about}: cut: {answer!r}")
        if self.kind != "metrics":
            require("content-security-policy: default-src 'self'" in head, f"{about}: no protection")
            require("access-control" not in head, f"{about}: other sites may read it")

    def refused(self, words, codes, about):
        """Answered with one of these codes, or hung up on, and nothing of the state in it."""
        answer = self.raw(words, "127.0.0.1")
        require(answer.status in (*codes, None), f"{about}: {answer!r}")
        require("user7" not in answer.body and TOKEN not in answer.text, f"{about}: told {answer!r}")
        if answer.status and not words.startswith(b"HEAD"):
            self.require_whole(answer, about)

    def drip(self):
        for one in self.open:
            one.send("a" if one.drips else "")

    def release(self):
        """Whoever does not go on is hung up on, in the time that the README has and some more."""
        until = time.monotonic() + 20
        for one in self.open:
            while True:
                require(time.monotonic() < until, "a connection that does not go on is kept")
                one.socket.settimeout(0.2)
                try:
                    if not one.socket.recv(1 << 20):
                        break
                except TimeoutError:
                    self.drip()
                except OSError:
                    break
        self.close()

    def close(self):
        for one in self.open:
            one.socket.close()
        self.open = []

    def end(self):
        """What connections took is given back; a signal ends it though there are some left."""
        left = self.open[:3]
        del self.open[:3]
        self.close()
        until = time.monotonic() + 15
        while (now := self.count_files()) > self.files + len(left):
            require(time.monotonic() < until, f"{now} files open, {self.files} before")
            time.sleep(0.05)
        self.running.signal(signal.SIGTERM)
        run = self.running.wait(None, 20)
        require(run.code == 0, f"a signal does not end it as it should\n{run}")
        require(len(run.err) < 20_000, f"{len(run.err)} bytes of messages\n{run}")
        for one in left:
            one.socket.close()


class Http:
    def __init__(self, folder):
        self.log, self.state, self.token = (folder / one for one in ("log", "state", "token"))
        accounts = [payments("account_create", f"user{n}", n) for n in range(200)]
        write_log(self.log, "payments", [(1, encoded_block(1, 1000, accounts))])
        require(call(driver(), "replay", "--block-log", self.log, "--state", self.state).code == 0, "")
        self.token.touch(0o600)
        self.token.write_text(TOKEN)
        self.known = {}  # answers to honest clients
        self.digest = call(inspect(), "digest", self.state).out

    def sequence(self, random):
        def source():
            return f"127.0.0.{random.choice((1, 1, 1, random.randint(3, 40)))}"

        def step():
            n = random.randrange(1 << 16)
            return random.choice([
                ("idle", source(), random.choice((1, 17, 70)), n),
                ("idle, of many addresses", random.choice((5, 64, 150)), n),
                ("drip", source(), random.randint(1, 20)), ("long", source(), n),
                ("pipeline", source(), random.randint(2, 25), n), ("greedy", source(), random.randint(1, 3)),
                ("reset", source(), random.randint(1, 60), n), ("name", n), ("origin", n), ("wrong token", n),
                ("path", *random.choices(range(len(PIECES)), k=random.randint(1, 6))), ("method", n),
                ("close",), *[("release",)] * (random.random() < 0.3),
            ])  # fmt: skip

        server = ("server", random.choice(SERVERS))
        return [server] + [step() for _ in range(random.randint(2, 9))]

    def play(self, steps, folder):
        kinds = [how[0] for what, *how in steps if what == "server"]
        server = Server(kinds[0] if kinds else "page", self)
        for number, (what, *how) in enumerate(steps):
            getattr(self, what.split(",")[0].replace(" ", "_"))(server, *how)
            server.drip()
            server.ask(server.good(number))
        server.end()
        require(call(inspect(), "digest", self.state).out == self.digest, "the state is another one")

    def server(self, *_):
        pass

    def idle(self, server, *how):
        *sources, n = how
        if isinstance(sources[0], str):
            sources = [sources[0]] * sources[1]
        else:
            sources = [f"127.0.1.{1 + i % 40}" for i in range(sources[0])]
        begin, more, times = HALVES[n % len(HALVES)]
        for source in sources:
            self.keep(server, source, begin + more * times)

    def keep(self, server, source, words, drips=False):
        one = server.connect(source)
        one.drips = drips
        one.send(words)
        server.open.append(one)

    def drip(self, server, source, count):
        for _ in range(count):
            self.keep(server, source, "GET /", drips=True)

    def greedy(self, server, source, count):
        for _ in range(count):
            self.keep(server, source, "")
            server.open[-1].socket.setblocking(False)
            target = "/metrics" if server.kind == "metrics" else "/uplot.js"
            server.open[-1].send(server.request(target, *server.fields, end="X: y") * 3000)

    def long(self, server, source, n):
        begin, more = LONG[n % len(LONG)]
        client, sent = server.connect(source), 0
        client.send(begin)
        while client.send(more * 20_000):
            sent += len(more) * 20_000
            require(sent < 20_000_000, f"{sent} bytes of one request are taken")
        client.socket.close()

    def pipeline(self, server, source, count, n):
        words = [server.request(server.good(n + i), *server.fields, end="X: y") for i in range(count - 1)]
        last = server.request("/none", *server.fields)
        answer = server.raw(b"".join(words) + last, source)
        codes = [one[:3] for one in answer.text.split("HTTP/1.1 ")[1:]]
        require(codes == ["200"] * (count - 1) + ["404"], f"{count} requests, answers {codes}")

    def reset(self, server, source, count, n):
        begin, more, times = HALVES[n % len(HALVES)]
        for _ in range(count):
            client = server.connect(source)
            client.send(begin + more * times)
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.socket.close()

    def name(self, server, n):
        host = NAMES[n % len(NAMES)] + (f":{server.port}" if n & 1024 else "")
        if server.kind != "metrics":
            server.refused(server.request("/api/rows?type=account", *server.fields, host=host), (400, 403), host)

    def origin(self, server, n):
        site = ORIGINS[n % len(ORIGINS)].format(server.port)
        field = ("Origin: " + site, "Sec-Fetch-Site: cross-site", "oRIGIN: " + site)[n % 3]
        if server.kind != "metrics":
            server.refused(server.request("/api/rows?type=account", field, *server.fields), (403,), field)

    def wrong_token(self, server, n):
        if not server.fields:
            return
        wrong, target = WRONG_TOKENS[n % len(WRONG_TOKENS)], server.good(n // 16)
        name = f"chainbase-inspect-{server.port}"
        cookie = wrong.replace(TOKEN, TOKEN + "x").replace(" ", "")
        for field in (f"Authorization: {wrong}", f"Cookie: {name}={cookie}", f"Cookie: x{name}={TOKEN}"):
            server.refused(server.request(target, field), (401,), field)

    def path(self, server, *pieces):
        target = "/".join(PIECES[one] for one in pieces)
        words = server.request("/" + target, *server.fields)
        answer = server.raw(words, "127.0.0.1")
        require(answer.status in (200, 303, 400, 404, 431, None), f"{target}: {answer!r}")
        require("root:" not in answer.body, f"{target}: a file of the machine")
        if answer.status:
            server.require_whole(answer, target)
        if answer.status != 303 and "application/json" in answer.head:
            answer.json  # is one

    def method(self, server, n):
        method = ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "X" * 40)[n % 8]
        server.refused(server.request("/api/rows?type=account", *server.fields, method=method), (400, 405), method)

    def close(self, server):
        server.close()

    def release(self, server):
        server.release()
