"""serve: the web page and its API over real sockets, and clients that are wrong, broken or hostile.
In a browser: test_inspect_page.py."""

import json
import shutil
import signal
import socket
import time
from urllib.parse import quote

import pytest
from chains import STEEM, carried_log
from segment import Stay, Writer, change, image, opens

SAMPLE = ["account", "post", "token", "marker"]
TOKEN = "0123456789abcdef0123456789abcdef"


class Client:
    """One TCP connection, as raw as a hostile client likes it."""

    def __init__(self, port, source="127.0.0.1"):
        self.socket = socket.create_connection(("127.0.0.1", port), 60, (source, 0))

    def send(self, text):
        """Whether it was taken."""
        try:
            self.socket.sendall(text if isinstance(text, bytes) else text.encode())
            return True
        except OSError:
            return False

    def rest(self):
        pieces = []
        try:
            while piece := self.socket.recv(65536):
                pieces.append(piece)
        except ConnectionError:
            pass
        return b"".join(pieces).decode("utf-8", "replace")


class Answer:
    def __init__(self, text):
        self.text = text
        self.head, _, self.body = text.partition("\r\n\r\n")

    @property
    def status(self):
        return int(self.head.split(" ")[1]) if self.head.startswith("HTTP/1.1 ") else None

    @property
    def json(self):
        assert self.body.startswith(('{"schema_version":1', '{\n "schema_version": 1')), self.text
        return json.loads(self.body)

    def refused(self, status):
        assert self.status == status, self.text
        assert isinstance(self.json["error"], str)

    def __repr__(self):
        return self.text[:2000]


class Page:
    """chainbase-inspect serve."""

    def __init__(self, inspect, state, *more):
        self.running = inspect.start("serve", state, *more)
        self.line = self.running.wait_for(r"(.*)\n").group(1)
        url = self.line if "--json" not in more else json.loads(self.line)["url"]
        self.port = int(url.split(":")[2].split("/")[0])
        self.host = f"127.0.0.1:{self.port}"

    def ask(self, target, *fields, host=None, method="GET"):
        client = Client(self.port)
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host or self.host}", *fields]
        client.send("\r\n".join([*lines, "Connection: close", "", ""]))
        return Answer(client.rest())

    def get(self, target):
        answer = self.ask(target)
        assert answer.status == 200, answer
        assert "Content-Type: application/json\r\n" in answer.head
        return answer.json

    def eventually(self, target, wanted, patience=30):
        end = time.monotonic() + patience
        while not wanted(found := self.get(target)):
            assert time.monotonic() < end, found
            time.sleep(0.1)
        return found


@pytest.fixture
def state(sample):
    return sample("sample")


@pytest.fixture
def page(inspect, state):
    return Page(inspect, state)


def test_each_path_of_the_api_gives_its_object(inspect, state):
    before = image(state)
    page = Page(inspect, state)
    stat = page.get("/api/stat")
    assert stat["condition"] == "closed"
    assert stat["types"][0]["objects"] == 1000
    found = page.get("/api/sample")
    assert found["types"] == SAMPLE
    now = found["sample"]
    assert now["error"] is None and now["archive"] is None
    assert (now["revision"], now["irreversible_revision"], now["objects"][0]) == (12, 9, 1000)
    memory = now["memory"]
    parts = memory["header"] + memory["log"] + memory["buffers"] + sum(memory["types"])
    assert memory["total"] == parts
    assert memory["files"] == stat["total"]["files"]
    assert memory["resident"] > 0 and memory["missing"] >= 0 and "dirty" in memory

    history = page.get("/api/history")
    last = history["samples"][-1]["number"]
    assert history["samples"][0]["number"] == 1
    later = page.eventually(f"/api/history?after={last}", lambda one: one["samples"])
    assert later["samples"][0]["number"] == last + 1
    assert later["begun"] == history["begun"]

    assert page.get("/api/locks")["readers"] == []
    schema = page.get("/api/schema")
    assert len(schema["types"]) == 4
    assert schema["types"][0]["fields"][0]["name"] == "id"
    assert schema["types"][0]["indexes"][0]["name"] == "by_name"
    archive = page.get("/api/archive")
    assert archive["store"] is None and "archive" in archive["refusal"]
    assert page.get("/api/feed") == {"schema_version": 1, "begin": 0, "end": 0, "cursors": []}
    assert image(state) == before


def test_followers_of_the_feed_are_told_as_by_the_verb(inspect, driver, scratch):
    log, state = carried_log(STEEM, scratch), scratch / "state"
    replay = ["replay", "--block-log", log, "--state", state, "--stop-at"]
    driver(*replay, 1000)
    followers = [inspect.start("feed", state, "--cursor", name) for name in ("one", "other")]
    while len(list(state.glob("feed/cursors/*"))) < 2:
        assert all(one.is_running for one in followers)
        time.sleep(0.01)
    driver(*replay, 2000)
    for one in followers:
        one.wait(0)
    driver(*replay, 3000)
    inspect("feed", state, "--cursor", "one")
    page = Page(inspect, state)
    found = page.get("/api/feed")
    assert found == inspect.json("feed", state, "--cursors")
    one, other = found["cursors"]
    assert (one["name"], one["behind"], one["position"]) == ("one", 0, found["end"])
    assert other["behind"] == found["end"] - other["position"] > 0
    assert one["has_begun"] and one["revision"] > other["revision"]
    text = inspect("feed", state, "--cursors").out
    assert text.split()[:3] == ["cursor", "revision", "behind"]
    assert str(one["revision"]) in text and "other" in text
    file = state / "feed/cursors/other"
    file.write_bytes(bytes(file.stat().st_size))
    page.ask("/api/feed").refused(503)
    assert page.get("/api/locks")["readers"] == []
    inspect("feed", state, "--drop", "other")
    assert [one["name"] for one in page.get("/api/feed")["cursors"]] == ["one"]


def test_rows_are_found_by_key_and_what_is_asked_wrongly_is_told(page):
    rows = page.get("/api/rows?type=account&limit=3")
    assert (len(rows["rows"]), rows["more"]) == (3, True)
    following = page.get(f"/api/rows?type=account&limit=3&after={rows['after']}")
    assert following["rows"][0]["id"] > rows["rows"][2]["id"]
    name = rows["rows"][1]["name"]
    found = page.get(f"/api/rows?type=account&index=by_name&key={name}")
    assert found["rows"] == [rows["rows"][1]]
    assert (found["more"], found["revision"], found["rolled_back"]) == (False, 12, False)
    placed = page.get("/api/rows?type=account&archive=1&limit=3")
    assert placed["rows"][1] == {"row": rows["rows"][1], "archived": False}
    for wrong in (
        "", "?type=account&archive=2", "?type=none", "?type=account&index=none",
        "?type=account&key=x", "?type=account&limit=x", "?type=account&limit=1001",
        "?type=account&limit=", "?type=account&limit=-1", "?type=account&limit=0",
        "?type=account&limit=99999999999999999999", "?type=account&limit=7%20",
        "?type=account&after=4294967296", "?type=account&reverse=2", "?type=account&index=by_weight",
        "?type=account&index=by_name&key=a&key=b&key=c&key=d",
        "?type=account&index=by_name&key=nobody+has+this+name",  # too long for the field
        "?type=account&index=by_name&after=1007", "?type=%", "?type=%4", "?type=%zz", "?%=1",
        "?type=account&" + "a=1&" * 65,
    ):  # fmt: skip
        page.ask("/api/rows" + wrong).refused(400)
    assert page.get("/api/rows?type=account&index=by_name&key=nobody")["rows"] == []
    # The order of ids needs no object to go on from.
    assert page.get("/api/rows?type=account&index=id&after=1007")["rows"] == []


def test_keys_may_have_any_bytes(inspect, samples):
    page = Page(inspect, samples("fields"))
    found = page.get("/api/rows?type=everything&index=by_place&key=1%2C2%2C3%2C250&key=0")
    assert [one["id"] for one in found["rows"]] == [0]
    assert page.get("/api/rows?type=everything&text=1&limit=3")["names"][0] == "id"


def test_the_page_has_all_that_it_needs_and_every_answer_its_protection(page):
    start = page.ask("/")
    assert start.status == 200 and "<title>chainbase</title>" in start.body
    assert not any(one in start.body for one in ("<style", "style=", "onclick"))
    assert "Content-Type: text/javascript" in page.ask("/app.js").head
    assert "Content-Type: text/css" in page.ask("/style.css").head
    assert "export { uPlot as default };" in page.ask("/uplot.js").body
    for answer in (start, page.ask("/none"), page.ask("/api/stat"), page.ask("/", "Host: x"),
                   page.ask("/", method="POST")):
        for field in (
            "Content-Security-Policy: default-src 'self';", "X-Content-Type-Options: nosniff",
            "X-Frame-Options: DENY", "Referrer-Policy: no-referrer", "Cache-Control: no-store",
            "Cross-Origin-Resource-Policy: same-origin",
        ):  # fmt: skip
            assert field in answer.head, answer
        assert "unsafe-inline" not in answer.head and "Access-Control" not in answer.head


def test_what_there_is_not_and_what_is_asked_wrongly_is_refused_as_json(page):
    for path in ("/none", "/api", "/api/", "/api/none", "/api/stat/", "/../etc/passwd",
                 "/%2e%2e/etc/passwd", "//api/stat", "/index.html", "*"):
        page.ask(path).refused(404)
    page.ask("/api/history?after=x").refused(400)
    page.ask("/api/history?after=%zz").refused(400)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"):
        answer = page.ask("/api/stat", method=method)
        assert answer.status == 405 and "Allow: GET, HEAD" in answer.head
    head = page.ask("/api/stat", method="HEAD")
    assert head.status == 200 and "Content-Length: " in head.head and head.body == ""


# --- who may ask ---


def test_only_the_names_of_the_loopback_with_its_port_are_answered(page):
    port = page.port
    for own in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"):
        assert page.ask("/api/stat", host=own).status == 200
    for foreign in (
        "127.0.0.1", "localhost", f"127.0.0.1:{port + 1}", f"evil.example:{port}", "evil.example",
        f"localhost.evil.example:{port}", f"127.0.0.1.evil.example:{port}", f"127.0.0.2:{port}",
        f":{port}", f"10.0.0.1:{port}", f"127.0.0.1:0{port}", f"::1:{port}",
    ):  # fmt: skip
        page.ask("/api/stat", host=foreign).refused(403)
    nameless = Client(port)
    nameless.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
    Answer(nameless.rest()).refused(400)
    page.ask("/", f"Host: localhost:{port}").refused(400)  # two names


def test_requests_that_pages_of_other_sites_make_are_refused(page):
    own = page.host
    for field in (f"Origin: http://{own}", f"origin: http://localhost:{page.port}",
                  "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: none"):
        assert page.ask("/api/stat", field).status == 200, field
    for field in (
        "Origin: https://evil.example", "Origin: http://127.0.0.1:80", "Origin: null", "Origin: ",
        f"Origin: https://{own}", f"Origin: http://{own}.evil.example",
        "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site",
    ):  # fmt: skip
        page.ask("/api/stat", field).refused(403)
    page.ask("/", "Sec-Fetch-Site: cross-site").refused(403)


@pytest.fixture
def token_file(scratch):
    def make(text=TOKEN + "\n", mode=0o600):
        file = scratch / "token"
        file.unlink(missing_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file

    return make


def test_with_a_token_nothing_is_answered_without_it(inspect, state, token_file):
    page = Page(inspect, state, "--token-file", token_file())
    assert "token" not in page.line  # whoever made it knows it
    name = f"chainbase-inspect-{page.port}"
    for path in ("/", "/app.js", "/api/stat", "/none"):
        page.ask(path).refused(401)
    for field in (f"Authorization: Bearer {TOKEN}", f"Cookie: a=b; {name}={TOKEN}",
                  f"Cookie: {name}={TOKEN}; c=d"):
        assert page.ask("/api/stat", field).status == 200, field
    for field in (
        f"Authorization: {TOKEN}", f"Authorization: Bearer {TOKEN[::-1]}", "Authorization: Bearer ",
        f"Cookie: chainbase-inspect-{page.port + 1}={TOKEN}", f"Cookie: x{name}={TOKEN}",
        f"Cookie: {name}={TOKEN}0",
    ):  # fmt: skip
        page.ask("/api/stat", field).refused(401)
    # Whoever has the token is no page of another site for that.
    bearer = f"Authorization: Bearer {TOKEN}"
    page.ask("/", bearer, host=f"evil.example:{page.port}").refused(403)
    visit = page.ask(f"/?token={TOKEN}")
    assert visit.status == 303 and "Location: /\r\n" in visit.head + "\r\n"
    cookie = f"Set-Cookie: {name}={TOKEN}; Path=/; HttpOnly; SameSite=Strict"
    assert cookie in visit.head
    for wrong in ("/?token=", f"/?token={TOKEN[1:]}", f"/?x={TOKEN}", "/?token=%zz",
                  f"/api/stat?token={TOKEN}"):
        page.ask(wrong).refused(401)


def test_at_every_address_of_the_machine_a_token_is_needed_and_told(inspect, state):
    pages = [Page(inspect, state, "--listen", "0.0.0.0:0") for _ in range(2)]
    tokens = [page.line.split("?token=")[1] for page in pages]
    assert tokens[0] != tokens[1]
    for page, token in zip(pages, tokens, strict=True):
        assert len(token) == 32 and set(token) <= set("0123456789abcdef")
        page.ask("/").refused(401)
        assert page.ask(f"/?token={token}").status == 303
    page, token = pages[0], tokens[0]
    bearer = f"Authorization: Bearer {token}"
    for own in (f"192.168.1.7:{page.port}", f"localhost:{page.port}", f"[fe80::7]:{page.port}"):
        assert page.ask("/api/stat", bearer, host=own).status == 200, own
    page.ask("/api/stat", bearer, host=f"node.example:{page.port}").refused(403)
    page.ask("/api/stat", bearer, host="192.168.1.7:80").refused(403)


@pytest.mark.parametrize(
    "text, mode, code",
    [
        *((TOKEN, mode, 1) for mode in (0o640, 0o604, 0o602, 0o644)),
        *(
            (wrong, 0o600, 2)
            for wrong in ("", "short", TOKEN + " ", TOKEN + "=", "\n" + TOKEN, "a" * 257)
        ),
    ],
)
def test_a_token_file_that_others_can_read_or_that_has_none_is_refused(
    inspect, state, token_file, text, mode, code
):
    inspect("serve", state, "--token-file", token_file(text, mode), code=code)


def test_a_token_file_may_have_any_good_token(inspect, state, token_file):
    for text, mode in (("0123456789-abcdef_XYZ0\n", 0o600), ("a" * 256, 0o400)):
        page = Page(inspect, state, "--listen", ":0", "--token-file", token_file(text, mode))
        assert page.ask(f"/?token={text.strip()}").status == 303


# --- hostile clients ---


def test_huge_requests_are_cut_and_others_are_served(page):
    megabyte = "a" * (1 << 20)
    for begin, more in (
        ("GET / HTTP/1.1\r\nX: ", megabyte),  # a header
        ("GET /", megabyte),  # an address
        ("", megabyte),  # a method
        ("GET / HTTP/1.1\r\n", "X-Y: 1234567\r\n" * 1000),  # fields
    ):
        client = Client(page.port)
        taken = client.send(begin)
        sent = 0
        while taken and sent < 20_000_000:
            taken = client.send(more)
            sent += len(more)
        assert not taken
        assert page.get("/api/locks")["checked"] is False
    for field in ("Content-Length: 5", "Transfer-Encoding: chunked"):
        answer = page.ask("/api/stat", field)  # which a reset may have thrown away
        assert answer.status is None or 400 <= answer.status < 500, answer
        assert "types" not in answer.body


def test_slow_clients_are_hung_up_on_and_others_are_served_meanwhile(page):
    silent, slow, greedy = (Client(page.port) for _ in range(3))
    # Asks, and takes no answers: they fill the buffers of the kernel, and then it is too slow.
    greedy.socket.settimeout(2)
    for _ in range(2000):
        if not greedy.send(f"GET /uplot.js HTTP/1.1\r\nHost: {page.host}\r\n\r\n"):
            break
    end = time.monotonic() + 60
    while slow.send("G"):
        assert time.monotonic() < end
        time.sleep(0.1)
        assert page.get("/api/locks")["readers"] == []
    assert silent.rest() == ""
    greedy.socket.settimeout(60)
    greedy.rest()  # comes to an end


@pytest.mark.parametrize("addresses", [1, 20])
def test_clients_that_say_nothing_do_not_keep_others_out(page, addresses):
    idle = [Client(page.port, f"127.0.0.{2 + i % addresses}") for i in range(100)]
    for _ in range(3):
        assert page.get("/api/sample")["sample"]["number"] >= 1
    assert all(one.rest() == "" for one in idle)
    assert page.get("/api/sample")["sample"]["number"] >= 1


# --- what happens meanwhile ---


def test_a_writer_that_comes_and_dies_and_a_state_that_goes_away_are_shown(page, state, scratch):
    def condition(wanted):
        return lambda found: found["sample"].get("condition") == wanted

    with Writer(state) as writer:
        running = page.eventually("/api/sample", condition("writer_running"))["sample"]
        assert running["writer"] == str(writer.pid)
        assert running["locks"]["writer_alive"] is True
        page.eventually(
            "/api/sample", lambda one: (one["sample"]["rates"] or {"changes": 0})["changes"]
        )
        assert page.get("/api/stat")["condition"] == "writer_running"
    page.eventually("/api/sample", condition("writer_died"))
    assert page.get("/api/stat")["condition"] == "writer_died"
    aside = state.rename(scratch / "aside")
    gone = page.eventually("/api/sample", lambda one: one["sample"]["error"])
    assert str(state) in gone["sample"]["error"]
    page.ask("/api/stat").refused(503)
    assert page.ask("/").status == 200
    aside.rename(state)
    assert page.eventually("/api/sample", condition("writer_died"))["sample"]["error"] is None
    page.running.interrupt(0)
    assert opens(state)["revision"] > 0


def test_another_state_in_its_place_begins_another_history(inspect, scratch, samples):
    state = scratch / "state"
    change(state, "label")
    page = Page(inspect, state)
    first = page.get("/api/history")
    assert first["types"] == ["label"]
    state.rename(scratch / "aside")
    shutil.copytree(samples("sample"), state)
    second = page.eventually("/api/history", lambda one: one["begun"] != first["begun"])
    assert second["types"] == SAMPLE
    assert second["samples"][0]["number"] == 1
    assert second["samples"][0]["rates"] is None


def test_it_prints_where_it_listens_and_ends_well_at_a_signal(inspect, state):
    for number in (signal.SIGINT, signal.SIGTERM):
        page = Page(inspect, state)
        assert page.line.startswith("http://127.0.0.1:")
        assert page.ask("/api/stat").status == 200
        open_connection = Client(page.port)  # does not keep it
        open_connection.send("GET /")
        page.running.signal(number)
        page.running.wait(0)
    page = Page(inspect, state, "--json")
    assert page.line.startswith('{"schema_version":1,')
    assert json.loads(page.line)["url"] == f"http://127.0.0.1:{page.port}/"


def test_a_wrong_call_is_exit_2_and_what_cannot_begin_exit_1(inspect, state, scratch):
    for more in ("--listen localhost:1", "--listen 80", "--port 80"):
        inspect("serve", state, *more.split(), code=2)
    inspect("serve", code=2)
    inspect("serve", scratch, code=1)
    inspect("serve", state, "--token-file", scratch / "missing", code=1)
    inspect("serve", state, "--token-file", scratch, code=2)
    taken = Page(inspect, state)
    inspect("serve", state, "--listen", f"127.0.0.1:{taken.port}", code=1)


# --- the row browser ---


def pages(page, query, limit):
    """The rows of all pages, one after the other."""
    rows, after = [], ""
    while True:
        one = page.get(f"/api/rows?{query}&limit={limit}{after}")
        rows += one["rows"]
        assert one["more"] == isinstance(one["after"], int)
        if not one["more"]:
            return rows
        assert len(one["rows"]) == limit
        last = rows[-1].get("row", rows[-1])
        assert one["after"] == last["id"]
        after = f"&after={one['after']}"


def ranged(inspect, state, *call):
    """What the verb says, which reads in another way."""
    lines = inspect("range", state, *call, "--limit", "0", "--json").json_lines
    return lines[1:-1]


KEYS = [
    ("account", ["id", "by_name", "by_balance", "by_group", "by_distance"]),
    ("post", ["id", "by_link", "by_body"]),
    ("token", ["id"]),
]


@pytest.mark.parametrize("type, keys", KEYS)
def test_pages_of_every_order_hold_each_row_once_as_range_does(inspect, page, state, type, keys):
    for key in keys:
        for reverse in ("", "--reverse"):
            expected = ranged(inspect, state, type, key, *reverse.split())
            for limit in (23, 333):
                query = f"type={type}&index={key}&reverse={int(bool(reverse))}"
                assert pages(page, query, limit) == expected, (query, limit)


@pytest.mark.parametrize("archive", [0, 1])
@pytest.mark.parametrize(
    "after, reverse, expected",
    [(2, 0, [5]), (5, 0, []), (9, 0, []), (9, 1, [5]), (5, 1, []), (2, 1, [])],
)
def test_a_page_by_id_after_another_one_has_no_other_rows(
    inspect, samples, archive, after, reverse, expected
):
    if archive and reverse:
        pytest.skip("the archive is not gone through in that order")
    page = Page(inspect, samples("notes.rocksdb"))
    query = f"type=note&index=id&key=5&after={after}&reverse={reverse}&archive={archive}"
    rows = page.get(f"/api/rows?{query}")["rows"]
    assert [one.get("row", one)["id"] for one in rows] == expected


def test_a_page_by_key_after_a_row_outside_of_it_has_no_other_rows(inspect, page, state, samples):
    rows = {group: [one["id"] for one in ranged(inspect, state, "account", "by_group", str(group))]
            for group in (2, 3, 4)}  # fmt: skip

    def ids(after, reverse=0):
        query = f"type=account&index=by_group&key=3&limit=1000&after={after}&reverse={reverse}"
        return [one["id"] for one in page.get(f"/api/rows?{query}")["rows"]]

    assert ids(rows[2][0]) == rows[3] and ids(rows[4][0]) == []
    assert ids(rows[4][0], reverse=1) == rows[3][::-1] and ids(rows[2][0], reverse=1) == []
    archived = samples("notes.rocksdb")
    notes = Page(inspect, archived)
    all = [one["row"] for one in ranged(inspect, archived, "note", "by_weight", "--archive")]
    assert [one["id"] for one in all] == list(range(9, -1, -1))
    for wanted in (7, 2):  # in memory, in the archive
        for after in range(10):
            query = f"type=note&index=by_weight&archive=1&key={all[9 - wanted]['weight']}&after={after}"
            found = [one["row"]["id"] for one in notes.get(f"/api/rows?{query}")["rows"]]
            assert found == ([wanted] if after > wanted else []), (wanted, after)


def test_beside_a_writer_every_page_is_whole_and_goes_on(page, state):
    with Writer(state):
        for key in ("id", "by_balance"):
            after, seen = "", 0
            for _ in range(10):
                query = f"type=account&index={key}&limit=20{after}"
                answer = page.ask(f"/api/rows?{query}")
                if answer.status == 400:  # what it went on from was removed
                    after = ""
                    continue
                found = answer.json
                seen += len(found["rows"])
                assert all(one["visits"] == one["balance"] % 1000 for one in found["rows"])
                if not found["more"]:
                    break
                after = f"&after={found['after']}"
            assert seen > 100
    assert page.get("/api/rows?type=account")["rolled_back"] is True
    page.running.kill()
    assert opens(state)["revision"] > 0


@pytest.mark.parametrize("kind", ["rocksdb", "memory"])
def test_pages_of_memory_and_archive_hold_each_row_once_as_range_does(
    inspect, scratch, kind, seed
):
    state = scratch / "state"
    change(state, "note", f"some_notes {seed}", archive=kind)
    page = Page(inspect, state)
    for key, part in (("id", ""), ("by_weight", ""), ("by_author", ""), ("by_author", "alice"),
                      ("by_weight", "3")):
        expected = ranged(inspect, state, "note", key, *([part] if part else []), "--archive")
        assert len(expected) > (0 if part else 300)
        for limit in (17, 333):
            query = f"type=note&index={key}&archive=1" + (f"&key={part}" if part else "")
            assert pages(page, query, limit) == expected, (query, limit)


@pytest.mark.parametrize("kind", ["rocksdb", "memory"])
def test_a_key_finds_what_is_in_the_archive_and_each_row_says_where_it_is(inspect, sample, kind):
    state = sample(f"notes.{kind}")
    page = Page(inspect, state)

    def by_title(n, archive=1, more=""):
        title = quote(f"title {n}")
        query = f"type=note&index=by_title&key=author&key={title}&archive={archive}{more}"
        return page.get(f"/api/rows?{query}")

    for n in range(10):
        (found,) = by_title(n)["rows"]
        assert found["row"]["id"] == n and found["row"]["marks"] == [7, n]
        assert found["archived"] == (n < 4)
        assert by_title(n)["archive_searched"] is True
        assert len(by_title(n, archive=0)["rows"]) == (0 if n < 4 else 1)
        told = by_title(n, more="&text=1")
        (row,) = told["cells"]
        assert told["names"][-1] == "where"
        assert row[2] == f"title {n}"
        assert row[-1] == ("archive" if n < 4 else "memory")
        memory = by_title(n, archive=0, more="&text=1")
        assert (len(memory["cells"]), memory["names"][-1]) == (0 if n < 4 else 1, "marks")
    assert by_title(10)["rows"] == []
    change(state, "note", "remove_note 2", archive=kind)
    assert by_title(2)["rows"] == []
    assert page.get("/api/rows?type=note&index=id&key=2&archive=1")["rows"] == []


def test_a_page_goes_on_where_it_was_after_its_last_row_left_memory(inspect, sample):
    state = sample("notes.rocksdb")  # 4 and 5 are retired
    page = Page(inspect, state)
    query = "/api/rows?type=note&index=by_weight&archive=1&limit=5"  # 9 first
    first = page.get(query)
    assert first["after"] == 5
    assert first["rows"][-1]["archived"] is False
    change(state, "note", "hand_over", archive="rocksdb")
    second = page.get(query + "&after=5")
    assert [one["row"]["id"] for one in second["rows"]] == [4, 3, 2, 1, 0]
    change(state, "note", "remove_note 5", archive="rocksdb")
    page.ask(query + "&after=5").refused(400)
    by_id = page.get("/api/rows?type=note&index=id&archive=1&limit=5&after=5")
    assert by_id["rows"][0]["row"]["id"] == 6


def test_with_an_archive_what_it_cannot_do_is_refused_and_its_loss_is_told(
    inspect, sample, page
):
    state = sample("notes.rocksdb", "notes")
    notes = Page(inspect, state)
    notes.ask("/api/rows?type=note&index=by_weight&archive=1&reverse=1").refused(400)
    notes.ask("/api/rows?type=note&index=by_title&archive=1&key=author").refused(400)
    shutil.rmtree(state / "archive")
    notes.ask("/api/rows?type=note&index=id&archive=1").refused(503)
    found = page.get("/api/rows?type=account&index=by_name&archive=1&reverse=1&limit=7")
    assert found["archive_searched"] is False
    assert len(found["rows"]) == 7
    assert found["rows"][0]["archived"] is False and "name" in found["rows"][0]["row"]
