"""top: what is on the screen of a terminal, that the terminal is given back, and its JSON lines."""

import re
import shutil
import signal
import time

import pytest
from segment import Stay, Writer, image, opens
from terminal import Terminal


@pytest.fixture
def state(sample):
    return sample("sample")


@pytest.fixture
def top(inspect):
    """top(state, **how) in a terminal, with figures ten times a second."""
    return lambda state, *more, **how: Terminal(
        inspect, "top", state, "--interval", "0.1", *more, **how
    )


def test_figures_move_beside_a_writer_and_every_table_can_be_seen(top, state):
    with Writer(state) as writer, top(state) as shown:
        shown.shows(f"writer running, process {writer.pid}")
        shown.shows("q quit")  # the last line that is sent
        before = re.search("revision [0-9,]+", shown.text).group()
        assert shown.until(lambda text: before not in text)
        disk = re.compile(r"disk +\S+ \S+ missing, \S+ \S+ dirty   \S+ faults/s, read")
        assert shown.until(lambda text: disk.search(text) and "account" in text)
        assert "(undo log)" in shown.text
        for key, text in (
            ("2", "write turns under way"), ("3", "process"), ("4", "no process has counted"),
            ("5", "checkpoints"), ("\t", "in use v"), ("?", "any key leads back"), ("x", "in use v"),
        ):  # fmt: skip
            shown.type(key)
            shown.shows(text)
        shown.shows("q quit")
        assert state.name in shown.line(0)
        assert "q quit" in shown.line(29)
        shown.type("q")
        assert shown.end() == 0
        writer.close()


def test_what_is_sent_for_a_change_leaves_the_screen_as_a_new_one_would_be(top, state):
    """After keys that move, sort and scroll."""
    with top(state) as moved, top(state) as fresh:
        moved.shows("q quit")
        moved.shows("changes/s")
        for keys, text in (("2", "write turns"), ("3", "no readers"), ("?", "any key"),
                           ("?", "no readers"), ("1", "in use v"), ("p", "PAUSED")):
            moved.type(keys)
            moved.shows(text)
        fresh.shows("q quit")
        fresh.shows("changes/s")
        fresh.type("p")
        fresh.shows("PAUSED")
        for line in (1, 4, 8, 9, 10, 11, 12, 13, 20, 28, 29):
            assert moved.line(line) == fresh.line(line), line


def test_another_size_is_another_screen_and_too_small_a_one_says_so(top, state):
    with top(state) as shown:
        shown.shows("q quit")
        shown.resize(50, 10)
        shown.shows("too small: 50x10")
        shown.resize(120, 40)
        shown.shows("q quit")
        assert "q quit" in shown.line(39)
        shown.resize(60, 15)
        shown.shows("q quit")
        assert "q quit" in shown.line(14)
        shown.resize(3, 1)
        shown.read_for(0.2)
        shown.resize(80, 24)
        shown.shows("q quit")
        shown.type("q")
        assert shown.end() == 0


@pytest.mark.parametrize(
    "number", [0, 3, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]
)
def test_a_key_and_each_signal_end_it_and_the_terminal_is_as_before(top, state, number):
    with top(state, env={"TERM": "xterm"}) as shown:
        shown.shows("q quit")
        assert "\x1b[?1049h" in shown.sent
        assert not shown.is_restored  # it reads keys one by one
        if number == 0:
            shown.type("q")
        elif number == 3:
            shown.type("\x03")  # ctrl-c
        else:
            shown.signal(number)
        assert shown.end() == 0
        assert shown.is_restored
        left = shown.sent.rindex("\x1b[?1049l")
        assert "\x1b[?25h" in shown.sent
        assert "\x1b[?1049h" not in shown.sent[left:]


def test_a_writer_that_comes_dies_and_comes_back_and_a_state_that_goes(top, state, samples):
    with top(state) as shown:
        shown.shows("closed")
        for _ in range(2):
            with Writer(state) as writer:
                shown.shows(f"writer running, process {writer.pid}")
            shown.shows("the last writer died")
        revision = opens(state)["revision"]
        shown.shows("closed")
        shown.shows(f"revision {revision}")
        shutil.rmtree(state)
        shown.shows("not readable now")
        shutil.copytree(samples("sample"), state)
        shown.shows("closed")
        shown.type("q")
        assert shown.end() == 0


def test_nothing_is_changed_and_killed_at_any_moment_it_leaves_no_lock(inspect, top, state):
    before = image(state)
    with top(state) as shown:
        shown.shows("q quit")
        shown.read_for(0.3)
    assert image(state) == before
    with Writer(state) as writer:
        for pause in range(1, 12):
            with top(state) as shown:
                shown.read_for(0.012 * pause)
                shown.signal(signal.SIGKILL)
                assert shown.end() == -signal.SIGKILL
            assert inspect.json("locks", state)["readers"] == []
        changes = inspect.json("stat", state)["log"]["changes"]
        end = time.monotonic() + 60
        while inspect.json("stat", state)["log"]["changes"] == changes:  # it goes on
            assert time.monotonic() < end
        writer.close()


@pytest.mark.parametrize("term", ["dumb", "unknown", "no-such-terminal", "", None])
def test_a_terminal_that_cannot_do_it_is_exit_2_and_what_to_do_instead(top, state, term):
    with top(state, env={"TERM": term}) as shown:
        assert shown.end() == 2
        assert "TERM=" in shown.sent and "--watch --json" in shown.sent
        assert shown.is_restored


def test_without_a_terminal_it_is_exit_2_and_without_a_state_exit_1(inspect, top, state, scratch):
    inspect("top", state, code=2).says("stat DIR --watch --json")
    with top(scratch / "none") as shown:
        assert shown.end() == 1
        assert "no chainbase state" in shown.sent and "\x1b[?" not in shown.sent


COLOUR = re.compile("\x1b\\[([0-9]+;)*3[0-7](;[0-9]+)*m")


@pytest.mark.parametrize(
    "env, is_coloured, is_ascii",
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),  # empty: not set
        ({"LC_ALL": "C"}, True, True),
    ],
)
def test_colours_unless_no_color_says_otherwise_and_ascii_where_the_locale_has_nothing_else(
    top, state, env, is_coloured, is_ascii
):
    with top(state, "--count", "4", env={"TERM": "xterm-256color", **env}) as shown:
        assert shown.end() == 0
        assert bool(COLOUR.search(shown.sent)) == is_coloured
        assert shown.sent.isascii() == is_ascii


def test_rows_that_do_not_fit_scroll_to_their_ends(top, samples):
    with top(samples("many"), env={"TERM": "xterm"}) as shown:
        shown.shows("rows 1 to 16 of 63")
        for key, rows in (("\x1b[6~", "17 to 32"), ("\x1bOF", "48 to 63"), ("\x1b[5~", "32 to 47"),
                          ("\x1bOH", "1 to 16"), ("\x1bOB", "2 to 17"), ("\x1bOA", "1 to 16")):
            shown.type(key)
            shown.shows(f"rows {rows} of 63")
        shown.type("q")
        assert shown.end() == 0


# --- JSON lines ---


def test_json_beside_a_writer_is_a_line_a_look_in_which_figures_move(inspect, state):
    with Writer(state) as writer:
        result = inspect("top", state, "--json", "--interval", "0.3", "--count", "4")
        writer.close()
    assert result.out.startswith('{"schema_version":1,"state":')
    lines = result.json_lines
    assert len(lines) == 4
    for line in lines:
        expected = {"schema_version": 1, "state": str(state), "error": None, "archive": None,
                    "condition": "writer_running", "archive_times": None}  # fmt: skip
        assert {name: line[name] for name in expected} == expected
        assert len(line["types"]) == 4
        assert line["types"][0]["name"] == "account"
        assert isinstance(line["types"][0]["per_minute"]["objects"], (int, float))
        assert isinstance(line["checkpoints"], list)
        assert line["locks"]["writer_alive"] is True
    assert lines[0]["rates"] is None
    assert lines[0]["lock_looks"]["looks"] == 0
    assert any(line["rates"]["changes"] > 0 for line in lines[1:])
    assert lines[3]["changes"] > lines[0]["changes"]
    assert lines[3]["lock_looks"]["looks"] > 0
    assert lines[3]["growth_seconds"] > lines[1]["growth_seconds"]


def test_json_tells_what_is_in_memory_and_what_the_writer_does_with_the_disk(inspect, samples, on_disk):
    state = on_disk / "state"
    shutil.copytree(samples("sample"), state)
    with Writer(state) as writer:
        lines = inspect("top", state, "--json", "--interval", "0.5", "--count", "4").json_lines
        writer.close()
    for line in lines:
        for part in (line["memory"], *line["types"]):
            assert part["resident"] > 0 and part["missing"] >= 0 and "dirty" in part
    for line in lines[1:]:
        assert line["rates"]["disk_read_per_second"] >= 0
        assert line["rates"]["major_faults_per_second"] >= 0
    assert sum(line["rates"]["disk_written_per_second"] for line in lines[1:]) > 0
    assert any(line["memory"]["dirty"] != 0 for line in lines)  # null before Linux 6.5
    (after,) = inspect("top", state, "--json", "--count", "1").json_lines
    assert after["rates"] is None
    line = inspect("top", state, "--json", "--interval", "0.1", "--count", "2").json_lines[1]
    for name in ("disk_read_per_second", "disk_written_per_second", "major_faults_per_second"):
        assert line["rates"][name] is None  # there is no writer


def test_rates_are_what_changed_divided_by_the_time_between(inspect, scratch):
    state = scratch / "state"
    with Stay(state, "account", "create account 10") as node:
        running = inspect.start("top", state, "--json", "--interval", "1")
        running.wait_for(r"\n")
        for step in ("session", "create account 600", "push"):
            node.step(step)
        running.wait_for(r"\n.*\n.*\n")
        lines = running.interrupt(0).json_lines
    rates = [line["rates"] for line in lines[1:]]
    seconds = 1
    assert sum(one["objects"] for one in rates) == pytest.approx(600 / seconds, rel=0.2)
    assert sum(one["revisions"] for one in rates) == pytest.approx(1 / seconds, rel=0.2)
    assert max(one["changes"] for one in rates) >= 400


def test_json_of_a_state_that_goes_and_comes_and_a_signal_ends_it_well(inspect, state, scratch):
    running = inspect.start("top", state, "--json", "--interval", "0.1")
    running.wait_for(r'"error":null')
    state.rename(scratch / "away")
    gone = running.wait_for(r'"error":"')
    (scratch / "away").rename(state)
    running.wait_for(r'"error":null', since=gone.end())
    running.signal(signal.SIGTERM)
    assert all(line["schema_version"] == 1 for line in running.wait(0).json_lines)


@pytest.mark.parametrize(
    "more",
    ["--interval 0", "--interval -1", "--interval nan", "--interval x", "--interval 1e9",
     "--count 0", "--count x", "more"],
)  # fmt: skip
def test_a_wrong_call_is_exit_2(inspect, samples, more):
    inspect("top", samples("sample"), "--json", *more.split(), code=2)


def test_no_state_and_nowhere_to_print_are_exit_1(inspect, samples, scratch, run):
    inspect("top", scratch / "none", "--json", code=1)
    call = f"exec {inspect} top {samples('sample')} --json --count 1 >/dev/full"
    run("/bin/sh", "-c", call, code=1)
