"""How a run is watched: the metrics page and its server, the line a second, the file of spans, and
the example board. What these have of known readings is in tests/trace."""
import contextlib
import json
import math
import re
import resource
import signal
import socket
import threading
import time
from collections import Counter

import pytest
from chains import EOS, STEEM, carried_log

# --- a page, taken apart ---

VALUE = re.compile(
    r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)')


class Page:
    """Prometheus' text format 0.0.4; requires what the format does."""

    def __init__(self, text):
        self.types, self.values, self.names = {}, {}, set()
        assert text.endswith("\n")
        helped = current = None
        for line in text.splitlines():
            if line.startswith("# HELP "):
                helped = line.split(" ")[2]
            elif line.startswith("# TYPE "):
                current, kind = line.split(" ")[2:]
                assert helped == current, f"no help before {line}"
                assert current not in self.types, f"a second type: {line}"
                self.types[current] = kind
            else:
                self._add(line, current)

    def _add(self, line, current):
        parts = VALUE.fullmatch(line)
        assert parts, f"no value: {line}"
        metric, labels, value = parts.groups()
        self.names.add(metric)
        if self.types[current] == "histogram":
            metric = re.sub(f"^({current})_(bucket|sum|count)$", r"\1", metric)
        assert metric == current, f"stands under another type: {line}"
        assert self.types[current] != "counter" or metric.endswith("_total"), f"no total: {line}"
        name = parts[1] + (labels or "")
        assert name not in self.values, f"twice: {line}"
        self.values[name] = float(value)


class Client:
    """One TCP connection to a metrics server, as raw as a hostile client likes it."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(120)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """Returns whether all of it was taken."""
        try:
            self.socket.sendall(data)
            return True
        except OSError:
            return False

    def rest(self):
        """What comes until the server closes."""
        data = b""
        with contextlib.suppress(ConnectionResetError):
            while more := self.socket.recv(1 << 16):
                data += more
        return data.decode()

    def until(self, end):
        data = b""
        while not data.endswith(end) and (more := self.socket.recv(1)):
            data += more
        return data.decode()


def get(port, target="/metrics", method="GET"):
    with Client(port) as client:
        client.send(f"{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        return client.rest()


def body_of(answer):
    return answer.partition("\r\n\r\n")[2]


def page_at(port):
    return Page(body_of(get(port)))


def metrics_port(process):
    return int(process.wait_for(r"metrics: http://127.0.0.1:(\d+)/metrics", "err").group(1))


@pytest.fixture
def server(driver, scratch):
    """The port of a server of metrics, of a program that stays."""
    process = driver.start("serve", "--block-log", carried_log(EOS, scratch), "--metrics", ":0")
    process.wait_for("listening at")
    yield metrics_port(process)
    process.signal(signal.SIGTERM)
    process.wait(0)


# --- the server ---


def test_it_answers_what_it_is_asked_and_refuses_the_rest(server):
    answer = get(server)
    assert answer.startswith("HTTP/1.1 200 OK\r\n")
    assert "text/plain; version=0.0.4" in answer
    length = int(re.search(r"Content-Length: (\d+)\r\n", answer)[1])
    assert length == len(body_of(answer)) > 1000
    assert "chainbase_process_resident_bytes" in body_of(get(server, "/metrics?x=1"))
    assert "/metrics" in body_of(get(server, "/"))
    for target in ("/other", "/metrics/../x"):
        assert get(server, target).startswith("HTTP/1.1 404 ")
    assert get(server, method="POST").startswith("HTTP/1.1 405 ")
    head = get(server, method="HEAD")
    assert head.startswith("HTTP/1.1 200 ")
    assert re.search(r"Content-Length: \d{4,}\r\n", head)
    assert body_of(head) == ""


def test_a_connection_serves_one_request_after_the_other(server):
    with Client(server) as client:
        for _ in range(3):
            assert client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.until(b"metrics</a>\n").startswith("HTTP/1.1 200 ")


@pytest.mark.parametrize("bad", [
    b"\r\n\r\n\r\n", b"GET /metrics\r\n\r\n", b"G\0T / HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"])
def test_a_malformed_request_or_one_with_a_body_is_refused(server, bad):
    with Client(server) as client:
        client.send(bad + b"\r\n\r\n")
        answer = client.rest()
    assert answer == "" or answer.startswith("HTTP/1.1 4")
    assert "chainbase_" not in answer
    assert page_at(server).values


def test_a_request_that_does_not_end_is_cut_at_the_limit(server):
    with Client(server) as client:
        client.send(b"GET /metrics HTTP/1.1\r\n")
        line, sent = b"X: " + b"x" * 9997 + b"\r\n", 0
        while sent < 20_000_000 and client.send(line):
            sent += len(line)
        assert sent < 15_000_000  # what the kernel's buffers hold at most
    assert page_at(server).values


def test_a_request_that_is_too_slow_is_cut_and_others_are_served_meanwhile(server):
    with Client(server) as slow, Client(server) as silent:
        taken = 0
        while slow.send(b"G"):
            taken += 1
            time.sleep(0.05)
            if taken % 20 == 0:
                assert page_at(server).values
            assert taken < 2000
        assert silent.rest() == ""  # and closed


def test_more_connections_than_allowed_are_closed_and_room_comes_back(server):
    with contextlib.ExitStack() as held:
        idle = [held.enter_context(Client(server)) for _ in range(100)]
        for one in idle:
            assert one.rest() == ""  # closed: at once, or when patience ended
    assert page_at(server).values


def test_many_clients_at_once_all_get_their_answer(server):
    good = []

    def ask():
        for _ in range(25):
            good.append("chainbase_process_resident_bytes" in get(server))

    clients = [threading.Thread(target=ask) for _ in range(8)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    assert good == [True] * 200


def test_an_address_that_is_taken_is_told(driver, scratch, server):
    log = scratch / f"{EOS}.blocks"
    driver("serve", "--block-log", log, "--metrics", f"127.0.0.1:{server}", code=1).says(
        f"127.0.0.1:{server}")


# --- options ---


@pytest.mark.parametrize("wrong", [
    "9464", "localhost:1", "1.2.3.4", "1.2.3.4:", "1.2.3.4:65536", "1.2.3.4:-1", "1.2.3.4:8x",
    "::1:80", "[1.2.3.4]:80", "1.2.3.4: 8", "nowhere"])
def test_what_is_no_address_is_refused_before_the_work_begins(driver, scratch, wrong):
    driver("replay", "--block-log", carried_log(EOS, scratch), "--state", scratch / "state",
           "--metrics", wrong, code=2).says("is not an address")
    assert not (scratch / "state").exists()


def test_an_address_of_no_machine_is_told_before_the_work_begins(driver, scratch):
    driver("replay", "--block-log", carried_log(EOS, scratch), "--state", scratch / "state",
           "--metrics", "192.0.2.1:0", code=1).says("192.0.2.1")
    assert not (scratch / "state").exists()


@pytest.mark.parametrize("option", ["--trace", "--trace-log"])
def test_somebodys_file_is_left_alone(driver, scratch, option):
    mine = scratch / "mine"
    mine.write_text("CBLOCKS, and much more\n")
    call = ["replay", "--block-log", carried_log(EOS, scratch), "--state", scratch / "state"]
    driver(*call, option, mine, code=2).says(str(mine))
    assert mine.read_text() == "CBLOCKS, and much more\n"
    driver(*call, option, scratch / "no" / "file", code=1).says(str(scratch / "no" / "file"))
    assert not (scratch / "state").exists()


@pytest.fixture(scope="module")
def watched(driver, session_scratch):
    """A replay with all that watches it: what it said, the spans, the lines."""
    folder = session_scratch / "watched"
    folder.mkdir()
    said = driver.json("replay", "--block-log", carried_log(STEEM, folder), "--state",
                       folder / "state", "--trace", folder / "spans", "--trace-log", folder / "log",
                       "--metrics", ":0", "--threads", "2")
    lines = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    return said, json.loads((folder / "spans").read_text()), lines


def test_what_is_watched_does_not_change_the_state(watched):
    assert watched[0]["state_digest"] == STEEM.digest


# --- the line a second ---


def test_the_lines_add_up_to_what_the_run_did(watched):
    said, _, lines = watched
    assert sum(line["counters"].get("driver.operations", {"count": 0})["count"]
               for line in lines) == said["replayed_operations"]
    last = lines[-1]
    assert last["gauges"]["chain.head.block"] == said["head"]
    assert last["gauges"]["chain.irreversible.block"] == said["irreversible"]
    assert last["gauges"]["type.objects{type=account}"] == said["objects"]["account"]
    assert [line["time"] for line in lines] == sorted(line["time"] for line in lines)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", last["time"])
    steps = sum(line["spans"].get("driver.run.apply", {"count": 0})["count"] for line in lines)
    assert steps > 10
    assert any("chainbase.open" in line["spans"] for line in lines)
    for line in lines:
        assert line["seconds"] > 0
        for span in line["spans"].values():
            if span.get("count") and "total_us" in span:
                assert span["own_us"] <= span["total_us"] + 1
                assert span["p50_us"] <= span["p99_us"] * 1.001
                assert span["average_us"] <= span["longest_us"] * 1.001


WHOLE_LINE = '{"time":"2023-11-14T22:13:20.123Z"}\n'


@pytest.mark.parametrize("whole", [2 * WHOLE_LINE, ""], ids=["two_lines", "no_line"])
@pytest.mark.parametrize("half", ['{"time":"20', '{"time":' + 10_000 * "x"], ids=["short", "long"])
def test_a_log_is_continued_behind_its_last_whole_line(driver, scratch, whole, half):
    log = scratch / "log"
    log.write_text(whole + half)
    driver("replay", "--block-log", carried_log(EOS, scratch), "--state", scratch / "state",
           "--stop-at", "1", "--trace-log", log)
    text = log.read_text()
    assert text.startswith(whole)
    more = text[len(whole):].splitlines()
    assert more and all("spans" in json.loads(line) for line in more)


def test_a_line_is_not_written_where_a_file_would_be_renamed_over_somebodys(driver, scratch):
    (scratch / "log.2").write_text("mine\n")
    driver("replay", "--block-log", carried_log(EOS, scratch), "--state", scratch / "state",
           "--trace-log", scratch / "log", code=2).says("log.2")
    assert (scratch / "log.2").read_text() == "mine\n"
    assert not (scratch / "log").exists()


# --- the file of spans ---


def test_spans_stand_on_the_tracks_of_named_threads_within_those_around_them(watched):
    _, events, _ = watched
    threads = {one["tid"]: one["args"]["name"] for one in events if one["name"] == "thread_name"}
    spans = [one for one in events if one["ph"] == "X"]
    count = Counter(one["name"] for one in spans)
    assert count["chainbase.open"] >= 1
    assert count["driver.run.apply"] > 10
    assert {threads[one["tid"]] for one in spans} > {"chainbase-drive"}
    for tid in threads:  # of two spans of a thread one is within the other, or behind it
        ends = []
        for one in sorted((one for one in spans if one["tid"] == tid),
                          key=lambda one: (one["ts"], -one["dur"])):
            while ends and ends[-1] <= one["ts"] + 0.002:
                ends.pop()
            assert not ends or one["ts"] + one["dur"] <= ends[-1] + 0.002, one
            ends.append(one["ts"] + one["dur"])


def whole_events(text):
    """Every whole line of an array that may not be closed."""
    lines = text.splitlines(keepends=True)
    return [json.loads(line.lstrip(",")) for line in lines
            if line.endswith("\n") and line.strip() not in ("[", "]")]


def test_killed_in_the_middle_every_line_but_the_last_is_whole(driver, scratch):
    spans = scratch / "spans"
    process = driver.start("live", "--block-log", carried_log(STEEM, scratch), "--state",
                           scratch / "state", "--trace", spans)
    while not spans.exists() or spans.stat().st_size < 100_000:
        assert process.is_running
        time.sleep(0.005)
    process.kill()
    names = Counter(one["name"] for one in whole_events(spans.read_text()))
    assert names["driver.block.apply"] > 100


def test_a_full_disk_ends_the_file_and_not_the_program(driver, scratch):
    spans, log = scratch / "spans", scratch / "log"
    def without_the_signal():  # a write beyond the limit is refused, as on a full disk
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    process = driver.start(
        "load", "--accounts", "100", "--start-rate", "1000", "--step", "1", "--last-rate", "1000",
        "--seconds", "3", "--interval-ms", "200", "--json", "--trace", spans, "--trace-log", log,
        preexec=without_the_signal)
    while not spans.exists() or spans.stat().st_size < 4096:
        assert process.is_running
        time.sleep(0.005)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, 4096))
    run = process.wait()
    assert run.json["steps"][0]["rate"] == 1000
    run.says(str(spans))
    assert whole_events(spans.read_text())
    assert spans.read_text().endswith("\n")
    assert all(json.loads(line) for line in log.read_text().splitlines())


# --- a node, as Prometheus and the example board see it ---


@pytest.fixture(scope="module")
def node_page(driver, session_scratch):
    """The page of a node that has applied a block."""
    folder = session_scratch / "node"
    folder.mkdir()
    process = driver.start(
        "live", "--block-log", carried_log(STEEM, folder), "--state", folder / "state",
        "--interval-ms", "3", "--readers", "1", "--pending", "50", "--metrics", ":0")
    port = metrics_port(process)
    while True:  # its numbers are not of one moment: an account is counted before its block is
        page = page_at(port)
        if all(page.values.get(name, 0) > 0 for name in (
                'chainbase_type_objects{type="account"}', "chainbase_chain_head_block",
                "chainbase_driver_operations_total")):
            break
        assert process.is_running
        time.sleep(0.01)
    process.kill()
    return page


@pytest.fixture(scope="module")
def queries(tree):
    """The expressions of all panels of the board."""
    found = []

    def collect(value):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(one, (dict, list)):
                collect(one)
            elif key == "expr":
                found.append(one)

    collect(json.loads((tree / "tools/driver/grafana.json").read_text()))
    assert len(found) >= 20
    return found


def test_a_node_exports_all_that_the_example_board_asks_for(node_page, queries):
    for query in queries:
        if "chainbase_sink_" in query:  # another program's
            continue
        names = set(re.findall("(chainbase_[a-z_]+)", query))
        assert names, query
        assert names <= node_page.names, query
        for place in re.findall(r'span="([^"]+)"', query):
            assert f'chainbase_spans_total{{span="{place}"}}' in node_page.values, query


def test_a_node_exports_what_of_its_state_is_in_memory(node_page):
    values = node_page.values
    for name in ("resident", "dirty", "missing"):
        if math.isnan(values[f"chainbase_segment_{name}_bytes"]):  # a kernel before 6.5
            continue
        of_types = sum(value for key, value in values.items()
                       if key.startswith(f"chainbase_type_{name}_bytes{{"))
        parts = of_types + sum(values[f"chainbase_segment_{part}_{name}_bytes"]
                               for part in ("undo_log", "buffers"))
        rest = values[f"chainbase_segment_{name}_bytes"] - parts  # header and catalogue
        assert 0 <= rest < 1 << 20
        assert f'chainbase_type_{name}_bytes{{type="account"}}' in values
    assert values["chainbase_segment_resident_bytes"] > 0
    for name in ("disk_read_bytes", "disk_written_bytes", "major_faults"):
        assert values[f"chainbase_process_{name}_total"] >= 0
        assert node_page.types[f"chainbase_process_{name}_total"] == "counter"


def test_the_example_board_shows_the_gauges_of_a_node(node_page, queries):
    of_the_exporter = ("chainbase_span", "chainbase_trace_", "chainbase_process_")
    gauges = {name for name, kind in node_page.types.items()
              if kind == "gauge" and not name.startswith(of_the_exporter)}
    assert len(gauges) > 20
    unseen = {name for name in gauges if not any(name in query for query in queries)}
    assert unseen <= {"chainbase_chain_operations"}


def test_a_node_counts_what_it_tells_its_followers(driver, inspect, scratch):
    state = scratch / "state"
    process = driver.start("live", "--block-log", carried_log(STEEM, scratch), "--state", state,
                           "--interval-ms", "3", "--metrics", ":0")
    port = metrics_port(process)

    def eventually(wanted):
        while not wanted((page := page_at(port)).values):
            assert process.is_running
            time.sleep(0.01)
        return page

    alone = eventually(lambda of: "chainbase_feed_followers" in of and
                       of.get("chainbase_chain_head_block", 0) > 0)
    for name in ("followers", "slowest_cursor_bytes", "waiting_bytes", "blocks_total",
                 "series_total", "failed_total", "bytes_total"):
        assert alone.values[f"chainbase_feed_{name}"] == 0, name
    follower = inspect.start("feed", state, "--cursor", "index", "--follow")
    page = eventually(lambda of: of["chainbase_feed_followers"] == 1 and
                      of["chainbase_feed_blocks_total"] > 20)
    assert page.values["chainbase_feed_bytes_total"] > 0
    assert page.values["chainbase_feed_series_total"] == 1
    assert page.values["chainbase_feed_failed_total"] == 0
    assert page.types["chainbase_feed_waiting_bytes"] == "gauge"
    follower.wait_for("block")
    follower.interrupt(0)
    # Unread by a follower that does not run.
    eventually(lambda of: of["chainbase_feed_slowest_cursor_bytes"] > 0)
    inspect("feed", state, "--drop", "index")
    page = eventually(lambda of: of["chainbase_feed_followers"] == 0)
    eventually(lambda of: of["chainbase_feed_waiting_bytes"] ==
               of["chainbase_feed_slowest_cursor_bytes"] == 0)
    process.kill()


def test_the_lookups_of_an_archive_are_a_histogram_that_adds_up(node_page):
    values, name = node_page.values, "chainbase_archive_lookup_seconds"
    assert node_page.types[name] == "histogram"
    assert node_page.types["chainbase_archive_misses_total"] == "counter"
    for outcome in ("hit_in_memory", "hit_in_archive", "miss", "known_miss"):
        count = values[f'{name}_count{{outcome="{outcome}"}}']
        buckets = [value for key, value in values.items()
                   if key.startswith(f'{name}_bucket{{outcome="{outcome}",')]
        assert len(buckets) >= 10
        assert values[f'{name}_bucket{{outcome="{outcome}",le="+Inf"}}'] == count == max(buckets)
        assert values[f'{name}_bucket{{outcome="{outcome}",le="17.1798692"}}'] == count
        assert (values[f'{name}_sum{{outcome="{outcome}"}}'] > 0) == (count > 0)
    # Counted at once here, once a second there.
    assert values[f'{name}_count{{outcome="miss"}}'] >= values["chainbase_archive_misses_total"]
