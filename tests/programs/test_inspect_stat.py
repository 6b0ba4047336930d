"""stat: every byte of a state is accounted for, also beside a writer and after its death."""

import os
import resource
import shutil
import signal
import time

import pytest
import segment
from segment import Stay, Writer, change, image
from terminal import Terminal

SAMPLE = {"account": 1000, "post": 400, "token": 500, "marker": 0}


def require_memory(part):
    assert (
        part["header"] + part["links"] + part["values"] + part["slack"] + part["punched"]
        == part["total"]
        == part["files"]
    )
    for name in ("live", "free", "never_used"):
        assert part["slots"][name] >= 0


def require_exact(found):
    """Each part adds up by itself, and all parts to the whole."""
    total = found["header"]["memory"]["total"] + found["log"]["memory"]["total"]
    require_memory(found["header"]["memory"])
    require_memory(found["log"]["memory"])
    for one in found["buffers"]:
        require_memory(one["memory"])
        total += one["memory"]["total"]
    for one in found["types"]:
        for part in ("nodes", "ids", "tables", "total"):
            require_memory(one[part])
        total += one["total"]["total"]
        slots = one["nodes"]["slots"]
        assert slots["live"] == one["objects"]
        # Slot 0 is the container's own.
        assert 1 + sum(slots.values()) == (one["nodes"]["total"] - 4096) // one["node_bytes"]
    sums = found["sums"]
    assert found["total"]["total"] == total == sums["total"] == sums["files"]
    assert sums["header"] + sums["log"] + sums["buffers"] + sums["types"] == total


def test_a_closed_state_has_every_byte_accounted_for(inspect, sample):
    state = sample("sample")
    before = image(state)
    found = inspect.json("stat", state)
    assert image(state) == before
    require_exact(found)
    assert found["state"] == str(state)
    assert found["segment"] == f"{state}/segment"
    assert found["condition"] == "closed"
    assert found["consistent"] is True
    assert found["discrepancies"] == []
    assert found["archive"] is None
    assert isinstance(found["writer"], str)
    header = found["header"]
    assert (header["format"], header["windows"], header["window_bytes"]) == (4, 80, 64 << 20)
    assert len(header["boot"]) == 36
    log = found["log"]
    assert (log["revision"], log["irreversible_revision"], log["sessions"]) == (12, 9, 3)
    assert log["bytes_in_use"] == log["memory"]["values"] > 0
    assert log["changes"] >= 1400
    assert len(found["buffers"]) == 25
    assert all(one["name"].startswith("buffers.") for one in found["buffers"])
    assert all(one["slot_bytes"] >= 16 for one in found["buffers"])
    assert sum(one["memory"]["slots"]["live"] for one in found["buffers"]) > 400
    assert {one["name"]: one["objects"] for one in found["types"]} == SAMPLE
    account, _, token, _ = found["types"]
    assert account["next_id"] == 1000
    assert account["keys"][0] == "by_name (ordered_unique)"
    assert account["node_bytes"] >= account["value_bytes"] + account["link_bytes"]
    assert token["next_id"] == 3000
    assert token["nodes"]["slots"]["free"] == 2500
    files = sum(one.stat().st_size for one in (state / "segment").iterdir())
    catalogue = (state / "segment/catalogue.json").stat().st_size
    assert found["total"]["total"] + catalogue == files


def test_what_compaction_gave_back_is_told(inspect, sample):
    state = sample("sample")
    before = inspect.json("stat", state)
    change(state, "account,post,token,marker", "commit", "compact")
    after = inspect.json("stat", state)
    require_exact(after)
    assert after["log"]["sessions"] == 0
    assert after["log"]["memory"]["values"] == 0
    token = after["types"][2]
    assert token["nodes"]["slots"]["free"] == 0
    assert token["nodes"]["total"] < before["types"][2]["nodes"]["total"]
    # Two pages of ids that are all removed; in memory they stay, since reading would take them.
    in_memory = inspect.json("info", state)["place"]["file_system"] == "tmpfs"
    assert token["ids"]["punched"] == (0 if in_memory else 2 * 4096)


def test_the_tables_name_every_type_and_print_sums_that_hold(inspect, samples):
    text = inspect("stat", samples("sample"))
    text.says("closed properly", "account", "post", "token", "marker", "1,000", "every sum holds")
    assert "archive    none" in text.out


def test_beside_a_writer_every_consistent_sample_sums_exactly(inspect, sample):
    state = sample("sample")
    with Writer(state) as writer:
        changes = consistent = samples = 0
        end = time.monotonic() + 120
        while samples < 60 or consistent == 0:
            assert time.monotonic() < end
            found = inspect.json("stat", state)
            samples += 1
            assert found["condition"] == "writer_running"
            assert found["writer"] == str(writer.pid)
            assert found["log"]["changes"] >= changes
            changes = found["log"]["changes"]
            if found["consistent"]:
                consistent += 1
                assert found["discrepancies"] == []
                require_exact(found)
                assert found["log"]["irreversible_revision"] <= found["log"]["revision"]
        writer.close()
    closed = inspect.json("stat", state)
    assert (closed["condition"], closed["consistent"]) == ("closed", True)
    require_exact(closed)


def test_a_state_whose_writer_was_killed_is_described_and_left_as_it_is(inspect, sample):
    state = sample("sample")
    for kills in range(6):
        with Writer(state):
            time.sleep(0.004 * kills)
        before = image(state)
        found = inspect.json("stat", state)
        assert image(state) == before
        assert found["condition"] == "writer_died"
        if found["consistent"]:
            require_exact(found)
        inspect("stat", state).says("died")
        recovered = segment.opens(state)["revision"]
        after = inspect.json("stat", state)
        assert (after["condition"], after["consistent"]) == ("closed", True)
        assert after["log"]["revision"] == recovered <= found["log"]["revision"]
        require_exact(after)


# --- what is in memory, and what is to be written ---


def parts_of(found):
    """All parts but the sums."""
    yield found["header"]["memory"]
    yield found["log"]["memory"]
    yield from (one["memory"] for one in found["buffers"])
    for one in found["types"]:
        yield from (one[part] for part in ("nodes", "ids", "tables"))


def require_sums_of_memory(found):
    for name in ("resident", "dirty", "writeback", "missing"):
        assert found["total"][name] == sum(part[name] for part in parts_of(found))
        for one in found["types"]:
            parts = (one[part][name] for part in ("nodes", "ids", "tables"))
            assert one["total"][name] == sum(parts)


def test_what_of_a_state_on_a_disk_is_in_memory_and_what_is_to_be_written(
    inspect, samples, on_disk
):
    state = on_disk / "state"
    shutil.copytree(samples("sample"), state)
    fresh = inspect.json("stat", state)
    if fresh["total"]["dirty"] is None:
        pytest.skip("a kernel before 6.5")
    require_sums_of_memory(fresh)
    files = sorted((state / "segment").iterdir())
    for file in files:
        with open(file, "rb") as handle:
            os.fsync(handle)
    synced = inspect.json("stat", state)
    require_sums_of_memory(synced)
    assert (synced["total"]["dirty"], synced["total"]["missing"]) == (0, 0)
    assert synced["total"]["resident"] >= synced["total"]["total"] - synced["total"]["punched"]
    for file in files:
        with open(file, "rb") as handle:
            os.posix_fadvise(handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    cold = inspect.json("stat", state)
    require_sums_of_memory(cold)
    # The pages that a look at the counters reads, and what the disk reads ahead with them.
    assert cold["total"]["resident"] < synced["total"]["resident"]
    assert cold["total"]["missing"] > 0
    info = inspect.json("info", state)["memory"]
    assert info["missing"] > 0 and info["dirty"] == 0
    inspect("stat", state).says("memory and disk", "in memory", "dirty", "missing")
    inspect("warm", state)
    assert inspect.json("stat", state)["total"]["missing"] == 0


def test_in_memory_nothing_is_dirty(inspect, samples):
    state = samples("sample")
    found = inspect.json("stat", state)
    if inspect.json("info", state)["place"]["file_system"] != "tmpfs":
        pytest.skip("the samples are on a disk")
    require_sums_of_memory(found)
    assert (found["total"]["dirty"], found["total"]["writeback"]) == (0, 0)
    assert found["total"]["resident"] > 0


# --- stat --watch ---


def test_watch_prints_as_many_json_lines_as_were_asked_for(inspect, samples):
    result = inspect("stat", "--count", "2", "--watch", samples("sample"))
    assert result.out.startswith('{"schema_version":1,')
    first, second = result.json_lines
    assert first["types"][0]["objects"] == second["types"][0]["objects"] == 1000
    assert first["growth_per_minute"]["seconds"] == 0
    growth = second["growth_per_minute"]
    assert growth["seconds"] > 0.9
    assert growth["objects"] == 0
    assert len(growth["types"]) == 4


def test_watch_beside_a_writer_tells_its_growth_and_ends_well_at_a_signal(inspect, sample):
    state = sample("sample")
    with Writer(state):
        watch = inspect.start("stat", state, "--watch", "1", "--json")
        watch.wait_for(r"\n.*\n.*\n")
        lines = watch.interrupt(0).json_lines
    assert lines[-1]["condition"] == "writer_running"
    assert lines[-1]["log"]["changes"] > lines[0]["log"]["changes"]


def test_growth_is_per_minute_and_of_each_type(inspect, scratch):
    state = scratch / "state"
    with Stay(state, "account,post") as node:
        watch = inspect.start("stat", state, "--watch", "1", "--json")
        watch.wait_for(r"\n")
        node.step("create account 500")
        watch.wait_for(r"\n.*\n")
        growth = watch.interrupt(0).json_lines[1]["growth_per_minute"]
    account, post = growth["types"]
    assert account["name"] == "account"
    assert account["objects"] == pytest.approx(500 * 60 / growth["seconds"], rel=0.01)
    assert account["used_bytes"] > account["objects"] * 40
    assert post["objects"] == 0
    assert growth["objects"] == account["objects"]


def test_watch_on_a_terminal_is_redrawn_in_place(inspect, samples):
    with Terminal(inspect, "stat", samples("sample"), "--watch", "--count", "2") as shown:
        assert shown.end() == 0
        assert shown.sent.startswith("\x1b[H")
        assert "per minute" in shown.sent and "every sum holds\x1b[K" in shown.sent
        assert "\x1b[H" in shown.sent[3:]


@pytest.mark.parametrize(
    "more", ["--watch 0", "--watch x", "--count 2", "--watch --count 0", "--yaml", "/", "--json x"]
)
def test_a_wrong_call_is_exit_2(inspect, more):
    inspect("stat", "/", *more.split(), code=2)


def test_a_limit_of_addresses_is_told_with_what_raises_it(inspect, samples):
    if "ASAN" in os.environ.get("CHAINBASE_SANITIZER", "").upper():
        pytest.skip("sanitizers need addresses of their own")

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, resource.RLIM_INFINITY))

    for verb in ("check", "stat"):
        result = inspect(verb, samples("sample"), code=1, preexec=limited)
        result.says("raise it for this program")
        assert "fewer windows" not in result.both


def test_a_report_that_stdout_does_not_take_is_exit_1(inspect, samples, run):
    for form in ("", "--json"):
        call = f'exec "{inspect}" stat "{samples("sample")}" {form} >/dev/full'
        run("/bin/sh", "-c", call, code=1)
