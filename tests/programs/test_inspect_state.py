"""info, schema, undo, locks and check of sound states, and checkpoints that are named as states.
What they say of damaged ones: test_inspect_damage.py."""

import shutil
import signal
import time

import pytest
from programs import need, operations, program
from segment import (
    PAGE, Header, Segment, Stay, Writer, change, cut, flip_bit, image, opens, restart_the_machine,
)  # fmt: skip

SAMPLE = "account,post,token,marker"


# --- info ---


def test_info_of_a_closed_state(inspect, sample):
    state = sample("sample")
    before = image(state)
    result = inspect("info", state, "--json")
    assert image(state) == before
    assert result.out.startswith('{\n "schema_version": 1,')
    found = result.json
    assert found["condition"] == "closed"
    assert found["next_opening"]["does"] == "attach"
    assert found["troubles"] == [] and found["checkpoints"] == []
    assert (found["header"]["format"], found["header"]["clean"]) == (4, 1)
    assert found["header"]["this_boot"] is True
    log = found["log"]
    assert (log["revision"], log["irreversible_revision"], log["sessions"]) == (12, 9, 3)
    assert found["writer"]["alive"] is False
    place = found["place"]
    assert place["segment"] == f"{state}/segment" and place["in_memory"] is False
    assert isinstance(place["file_system"], str)
    memory = found["memory"]
    assert memory["resident"] > 0 and memory["missing"] >= 0 and "dirty" in memory
    assert found["huge_pages"]["writer"] is None
    assert found["schema"]["hash"] == inspect.json("schema", state)["hash"]
    assert len(found["schema"]["types"]) == 4
    assert (found["durability"], found["archive"]) == ("process", None)
    assert found["permissions"]["mode"] == "0700"
    assert found["permissions"]["readers_group"] is None
    text = inspect("info", state).out
    assert "opening    would attach: it was closed properly" in text
    assert "revision   12, irreversible 9; 3 session(s)" in text


def test_info_beside_a_writer_and_after_its_death(inspect, sample):
    state = sample("sample")
    with Writer(state) as writer:
        for _ in range(5):
            found = inspect.json("info", state)
            assert found["condition"] == "writer_running"
            assert found["next_opening"]["does"] == "refuse"
            assert str(writer.pid) in found["next_opening"]["why"]
            assert found["troubles"] == []
            assert found["writer"] == {"process": writer.pid, "alive": True}
            assert found["log"]["sessions"] <= 9
            pages = found["huge_pages"]["writer"]
            assert pages["mappings"] > 20 and pages["resident"] > 100_000
    found = inspect.json("info", state)
    assert found["condition"] == "writer_died"
    assert found["next_opening"]["does"] == "roll_back"
    assert found["troubles"][0]["code"] == "writer_died"
    revision = opens(state)["revision"]
    assert f"to revision {revision}" in found["next_opening"]["why"]
    assert inspect.json("info", state)["next_opening"]["does"] == "attach"


def test_info_lists_checkpoints_and_names_the_one_that_is_restored(inspect, sample):
    state = sample("checkpointed")
    found = inspect.json("info", state)
    assert found["durability"] == "checkpoint"
    newest, older = found["checkpoints"]
    assert (newest["generation"], older["generation"]) == (2, 1)
    assert newest["revision"] == found["log"]["revision"]
    Header(state).set(clean=0)
    restart_the_machine(state)
    assert "checkpoint 2 of revision" in inspect.json("info", state)["next_opening"]["why"]


def test_a_segment_in_memory_its_copy_and_when_it_is_gone(inspect, scratch):
    state, memory, copy = scratch / "state", scratch / "memory", scratch / "copy"
    memory.mkdir()
    change(state, "account", "session", "create account 100", "block", "checkpoint",
           durability="checkpoint", memory=memory)
    found = inspect.json("info", state)
    assert found["next_opening"]["does"] == "attach"
    assert found["place"]["in_memory"] is True
    assert str(memory) in found["place"]["segment"]
    inspect("check", state)

    def expect(of, check, words, does):
        told = inspect.json("info", of)
        assert (told["condition"], told["next_opening"]["does"]) == ("segment_lost", does)
        assert told["troubles"][0]["code"] == "segment_lost"
        inspect("check", of, code=check).says(words)

    shutil.copytree(state, copy)
    expect(copy, 0, "this folder is a copy", "restore")
    assert opens(copy, "account", durability="checkpoint")["opened"] == "restored"
    bare = scratch / "bare"
    shutil.copytree(state, bare)
    shutil.rmtree(bare / "checkpoint")
    expect(bare, 4, "there is no checkpoint", "refuse")
    assert opens(bare, "account", durability="checkpoint") is None
    shutil.rmtree(memory)
    memory.mkdir()
    expect(state, 0, "is gone", "restore")
    assert opens(state, "account", durability="checkpoint")["opened"] == "restored"


def test_what_an_interrupted_creation_left_is_made_into_a_state_by_opening(inspect, scratch):
    state = scratch / "state"
    state.mkdir(0o700)
    (state / "lock").touch(0o600)
    assert inspect.json("info", state)["next_opening"]["does"] == "create"
    assert opens(state, "account")["opened"] == "created"


# --- schema ---


def test_schema_has_every_type_field_and_key_as_the_program_has_it(inspect, samples):
    result = inspect("schema", samples("sample"), "--json")
    assert result.out.startswith('{\n "schema_version": 1,')
    found = result.json
    assert found["state"] == str(samples("sample"))
    assert [one["name"] for one in found["types"]] == ["account", "post", "token", "marker"]
    account = found["types"][0]
    assert int(account["hash"], 16) > 0
    assert account["value_bytes"] == 48  # id, name, balance, number, group, visits
    assert account["node_bytes"] >= account["value_offset"] + account["value_bytes"]
    assert account["fields"][2] == {
        "name": "balance", "type": "i64", "offset": account["fields"][2]["offset"], "bytes": 8,
    }  # fmt: skip
    assert [one["name"] for one in account["fields"]] == [
        "id", "name", "balance", "number", "group", "visits",
    ]  # fmt: skip
    assert len(account["indexes"]) == 5
    assert account["indexes"][1] == {
        "name": "by_balance",
        "kind": "ordered_unique",
        "parts": [
            {"field": "balance", "descending": True},
            {"field": "id", "descending": False},
        ],
    }


def test_schema_needs_no_more_than_the_catalogue_and_works_beside_a_writer(inspect, sample):
    state = sample("sample")
    with Writer(state):
        inspect("schema", state)
    before = inspect("schema", state, "--json").out
    for file in (state / "segment").iterdir():
        if file.name != "catalogue.json":
            file.unlink()
    assert inspect("schema", state, "--json").out == before


def test_schema_of_types_by_name_and_of_one_that_is_not_there(inspect, samples):
    state = samples("sample")
    everything = inspect.json("schema", state)
    two = inspect.json("schema", state, "token", "account")
    assert [one["name"] for one in two["types"]] == ["token", "account"]
    assert two["types"][1] == everything["types"][0]
    assert two["hash"] == everything["hash"]
    inspect("schema", state, "tokens", code=2).says('"tokens"', "account, post, token, marker")
    inspect("schema", state, "--dot", "--json", code=2)
    inspect("schema", state, "account").says(
        "fixed_string<16>", "by_balance: ordered_unique (balance descending, id)"
    )


def test_schema_that_cannot_be_read_is_told_with_the_file(inspect, sample, scratch):
    inspect("schema", scratch / "none", code=1).says("check the path")
    state = sample("sample")
    cut(state / "segment/catalogue.json", 100)
    inspect("schema", state, code=1).says("catalogue.json", "not valid JSON")
    shutil.rmtree(state / "segment")
    inspect("schema", state, code=1).says("does not exist")


def test_c_header_is_c_and_a_program_of_c_reads_what_one_of_cpp_wrote(
    inspect, samples, scratch, run
):
    of = Segment(samples("fields"))
    header = inspect("schema", of.state, "--c-header").out
    for part in ("bool yes;", "uint8_t what;", "int8_t tiny;", "char name[16];", "uint64_t text;",
                 "uint32_t parts[3];", "} pair[2];", "uint16_t grid[2][2];", "int16_t amount;"):
        assert part in header, header
    value = of.value("everything", 0)
    size = of.types["everything"]["value_bytes"]
    with open(of.file("everything.objects"), "rb") as file:
        file.seek(value)
        (scratch / "value").write_bytes(file.read(size))
    offsets = "".join(
        f'_Static_assert(offsetof(struct everything, {one["name"]}) == {one["offset"]}, "");\n'
        for one in of.types["everything"]["fields"]
    )
    (scratch / "read.c").write_text(header + offsets + r"""
#include <stdio.h>
int main(void) {
    struct everything e;
    if (fread(&e, sizeof e, 1, stdin) != 1) return 1;
    printf("%d %d %d %lld %.16s %u %d %d %u", e.yes, e.tiny, e.small, (long long)e.low, e.name,
           e.parts[2], e.pair[1].amount, e.grid[1][0], e.other);
    return 0;
}
""")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    run("/usr/bin/cc", *flags, "-Wpadded", "-fsyntax-only", scratch / "read.c")
    run("/usr/bin/cc", *flags, scratch / "read.c", "-o", scratch / "read")
    said = run(scratch / "read", stdin=(scratch / "value").read_bytes()).out
    assert said == "1 -128 65535 -9223372036854775808 sixteen letters! 3 4 3 12"


def test_c_header_has_floats_and_the_gaps_between_fields(inspect, scratch, run):
    change(scratch / "state", "measured")
    header = inspect("schema", scratch / "state", "--c-header").out
    for part in ("float single;", "double real;", "uint64_t reals;"):
        assert part in header, header
    (scratch / "header.c").write_text(header)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpadded", "-Werror", "-fsyntax-only"]
    run("/usr/bin/cc", *flags, scratch / "header.c")


def test_dot_is_a_graph(inspect, samples, run):
    graph = inspect("schema", samples("sample"), "--dot").out
    assert r"by_link:\ ordered_unique\ (author,\ permlink)\l" in graph
    need("dot")
    result = run("/usr/bin/env", "dot", "-Tplain", stdin=graph)
    assert result.err == "" and "account" in result.out


# --- undo ---


def require_sums(part):
    """Bytes and records of the parts are those of the whole."""
    owners = part["types"] + part["others"]
    bytes = part["mark_bytes"] + part["unused_bytes"] + sum(one["bytes"] for one in owners)
    assert bytes == part["bytes"]
    assert part["marks"] + sum(one["records"] for one in owners) == part["records"]
    assert sum(one.get("objects", 0) for one in owners) == part["objects"]
    for one in part["types"]:
        kinds = ("created", "modified", "removed", "created_and_removed")
        assert sum(one[kind] for kind in kinds) == one["objects"]


def require_whole(found):
    assert (found["consistent"], found["complete"]) == (True, True)
    assert found["why_incomplete"] is None
    assert len(found["sessions"]) == found["can_be_undone"]
    revision = found["irreversible_revision"]
    for session in found["sessions"]:
        require_sums(session)
        revision += 1
        assert session["revision"] == revision
    assert found["revision"] == revision
    parts = found["sessions"] + [one for one in [found["operation"]] if one]
    if found["operation"]:
        require_sums(found["operation"])
    if found["can_be_undone"]:
        assert sum(one["bytes"] for one in parts) == found["bytes_in_use"]


def changes(session, type):
    (one,) = (one for one in session["types"] if one["type"] == type)
    return [one[kind] for kind in ("created", "modified", "removed", "created_and_removed")]


def undo(inspect, state):
    result = inspect("undo", state, "--json")
    assert result.out.startswith('{\n "schema_version": 1,')
    return result.json


def test_undo_of_a_closed_state_has_its_sessions_with_what_each_changed(inspect, sample):
    state = sample("sample")
    before = image(state)
    found = undo(inspect, state)
    assert image(state) == before
    require_whole(found)
    expected = {
        "state": str(state), "segment": f"{state}/segment", "condition": "closed", "revision": 12,
        "irreversible_revision": 9, "can_be_undone": 3, "oldest": 10, "operation": None,
        "file_bytes": (state / "segment/undo_log").stat().st_size,
        "next_opening": {"operation": False, "sessions": 0, "revision": 12},
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    for session in found["sessions"]:
        assert (session["open"], session["marks"]) == (False, 1)
        assert session["mark_bytes"] > 0
        assert len(session["types"]) == 1
        assert changes(session, "account") == [0, 1, 0, 0]
    assert found["bytes_in_use"] == inspect.json("stat", state)["log"]["bytes_in_use"]
    inspect("undo", state).says(
        "3 can be undone; the oldest, which keeps all of the log after it, is of revision 10",
        "closed properly", "  account",
    )  # fmt: skip


def leave_three_sessions(state):
    """Two pushed ones and an open one, as a kill leaves them."""
    change(
        state, "account,label", "create label 10",
        # created 3, modified 2, removed 1, one comes and goes
        "session", "create label 3", *["set label 0 uses 1", "set label 1 uses 2"] * 5,
        "remove label 2", "create label 1", "remove label 13", "push",
        # another one squashed into it, and both touch one object
        "session", "set label 3 uses 1", "session", "set label 3 uses 2", "remove label 3",
        "squash", "push",
        "session", "create account 1", "abandon",
    )  # fmt: skip


def test_undo_counts_objects_once_and_net_of_what_cancels_out(inspect, scratch):
    state = scratch / "state"
    leave_three_sessions(state)
    before = image(state)
    found = undo(inspect, state)
    assert image(state) == before
    require_whole(found)
    assert found["condition"] == "writer_died"
    first, second, third = found["sessions"]
    assert changes(first, "label") == [3, 2, 1, 1]
    assert changes(second, "label") == [0, 0, 1, 0]
    assert (first["marks"], second["marks"]) == (1, 2)
    assert changes(third, "account") == [1, 0, 0, 0]
    assert third["open"] is True
    assert first["others"][0]["bytes"] > 0  # texts
    # What the next opening takes back.
    assert found["next_opening"] == {"operation": False, "sessions": 1, "revision": 2}
    checked = inspect.json("check", state)
    assert checked["revision"] == 2
    assert checked["rolled_back"]["sessions"] == 1
    inspect("undo", state).says(
        "the next opening for writing rolls back 1 session(s), to revision 2",
        "3 (not pushed)",
    )
    assert opens(state, "account,label")["revision"] == 2


def add_sessions(state, count, each):
    change(state, "account,label", *["session", f"create label {each}", "push"] * count)


def test_undo_shows_an_operation_that_a_kill_interrupted(inspect, scratch):
    state = scratch / "state"
    add_sessions(state, 2, 3)
    program("sample_state")("do", state, "account,label", "session", "die_setting label 1 uses 1",
                            code=-9)
    found = undo(inspect, state)
    require_whole(found)
    assert found["next_opening"] == {"operation": True, "sessions": 1, "revision": 2}
    assert changes(found["operation"], "label") == [0, 1, 0, 0]
    assert inspect.json("check", state)["rolled_back"] == {"operation": True, "sessions": 1}


def test_undo_beside_a_writer_what_is_consistent_sums_exactly(inspect, sample):
    state = sample("sample")
    with Writer(state) as writer:
        for _ in range(10):
            found = undo(inspect, state)
            assert (found["condition"], found["writer"]) == ("writer_running", writer.pid)
            if found["consistent"]:
                require_whole(found)
            else:
                assert found["sessions"] == []
                assert isinstance(found["why_incomplete"], str)
                assert found["next_opening"] is None
    found = undo(inspect, state)
    require_whole(found)
    assert found["condition"] == "writer_died"
    assert opens(state)["revision"] == found["next_opening"]["revision"]


def test_undo_beside_a_writer_that_never_pauses_shows_blocks_whole(inspect, scratch):
    state = scratch / "state"
    add_sessions(state, 1, 1)
    with Stay(state, "account,label") as node:
        node.step("busy_labels 200")
        for _ in range(5):
            found = undo(inspect, state)
            require_whole(found)
            for session in found["sessions"]:
                if session["revision"] != 1 and not session["open"]:
                    assert changes(session, "label") == [200, 0, 0, 0]


def test_undo_without_the_catalogue_knows_sessions_and_no_types(inspect, sample):
    state = sample("sample")
    cut(state / "segment/catalogue.json", 20)
    found = undo(inspect, state)
    require_whole(found)
    assert "catalogue.json" in found["types_unknown"]
    assert found["sessions"][0]["types"] == []
    assert found["sessions"][0]["others"][0]["of"].startswith("window ")


def test_undo_of_a_damaged_log_or_segment_is_refused_with_the_file_and_what_to_do(inspect, sample):
    state = sample("sample")

    def refused(*words):
        inspect("undo", state, code=1).says(*words)

    flip_bit(state / "segment/undo_log", 8 * (64 + 16) + 5)  # the newest session
    refused("undo_log: offset", "restore the folder")
    flip_bit(state / "segment/header", 8 * 48)
    refused("the machine restarted", "info")
    flip_bit(state / "segment/header", 8 * 20)
    refused("header: offset 0", "info")
    shutil.rmtree(state / "segment")
    refused("does not exist", "info")
    shutil.rmtree(state)
    refused("check the path")


# --- locks ---


def test_locks_of_a_closed_state(inspect, sample):
    state = sample("sample")
    before = image(state)
    found = inspect.json("locks", state)
    assert found["writer"]["process"] > 0
    assert (found["writer"]["alive"], found["writer"]["state"]) == (False, "idle")
    assert found["readers"] == [] and found["checked"] is False
    assert image(state) == before
    inspect("locks", state).says("writer     none", "readers    none")


def test_who_reads_is_named_while_the_writer_waits_for_it(inspect, sample):
    state = sample("sample")
    with Writer(state) as writer, Stay(state, SAMPLE, mode="ro") as reader:
        assert reader.step("read_lock") == "held"
        time.sleep(0.1)
        found = inspect.json("locks", state)
        assert (found["writer"]["process"], found["writer"]["alive"]) == (writer.pid, True)
        (own,) = found["readers"]
        expected = {"process": reader.pid, "thread": reader.pid, "name": "sample_state",
                    "alive": True, "state": "reading", "slot": 0}  # fmt: skip
        assert {name: own[name] for name in expected} == expected
        assert own["seconds"] >= 0
        inspect("locks", state).says("sample_state", "reading")
        reader.running.send("\n")
        reader._line()  # the step ends
        assert inspect.json("locks", state)["readers"][0]["state"] == "idle"
        writer.close()


def test_a_reader_and_a_writer_that_died_are_told_from_the_living(inspect, sample):
    state = sample("sample")
    with Stay(state, SAMPLE) as writer, Stay(state, SAMPLE, mode="ro") as reader:
        reader.step("read_lock")
        reader.kill()
        assert writer.step("write_lock") == "held"
        found = inspect.json("locks", state)
        assert (found["writer"]["state"], found["writer"]["alive"]) == ("writing", True)
        writer.kill()
    found = inspect.json("locks", state)
    assert (found["writer"]["state"], found["writer"]["alive"]) == ("writing", False)
    inspect("locks", state).says("died while it was writing, which it began",
                                 "until the program that writes the state is started again")


def test_a_check_that_runs_is_visible_since_it_keeps_writers_out(inspect, scratch):
    state = scratch / "state"
    change(state, "account", "create account 100000")
    assert inspect.json("locks", state)["checked"] is False
    running = inspect.start("check", state)
    seen = False
    while running.is_running and not seen:
        found = inspect.json("locks", state)
        seen = found["checked"]
        assert found["writer"]["alive"] is False
    assert seen
    running.wait()
    with Stay(state, "account"):
        assert inspect.json("locks", state)["checked"] is False


# --- check of what is sound ---


def findings(report):
    found = []

    def collect(part):
        found.extend((part["name"], one) for one in part["findings"])
        for inner in part["parts"]:
            collect(inner)

    for part in report["parts"]:
        collect(part)
    return found


def part_of(report, *names):
    parts = report["parts"]
    for name in names:
        part = next(one for one in parts if one["name"] == name)
        parts = part["parts"]
    return part


def require_sound(inspect, state, condition=None):
    report = inspect("check", state, "--json", code=(0, 4)).json
    assert findings(report) == []
    assert report["sound"] is True
    assert all(one["whole"] == one["objects"] for one in report["survived"])
    assert condition in (None, report["condition"])
    return report


@pytest.mark.parametrize("end", ["close", "kill", "compact"])
def test_a_random_walk_leaves_nothing_to_find(inspect, scratch, seed, end):
    state = scratch / "state"
    for round in range(4):
        program("sample_state")("walk", state, seed + round, operations(600), end,
                                code=-9 if end == "kill" else 0)
        condition = "writer_died" if end == "kill" else "closed"
        require_sound(inspect, state, condition)
        shutil.rmtree(state)


@pytest.mark.parametrize("end", ["close", "compact"])
def test_the_pages_of_a_closed_state_are_those_of_its_checkpoint(inspect, scratch, seed, end):
    state = scratch / "state"
    for round in range(3):
        program("sample_state")("walk", state, seed + round, operations(500), end, "checkpoints")
        report = require_sound(inspect, state)
        assert part_of(report, "pages")["figures"]["pages"] > 40
        if round < 2:
            shutil.rmtree(state)
    # A program that opens and closes it changes nothing.
    opens(state, "account,post,stake,marker,token,label", durability="checkpoint")
    assert part_of(require_sound(inspect, state), "pages")["findings"] == []
    shutil.rmtree(state / "checkpoint")
    report = require_sound(inspect, state)
    assert len(part_of(report, "pages")["not_checked"]) == 1


def test_a_bit_flipped_anywhere_in_the_pages_of_a_closed_state_is_found(
    inspect, scratch, seed, rng
):
    state = scratch / "state"
    program("sample_state")("walk", state, seed, operations(500), "close", "checkpoints")
    names = sorted(
        one.name
        for one in (state / "segment").iterdir()
        # The first page of each has sums of its own.
        if one.name not in ("header", "catalogue.json", "undo_log") and one.stat().st_size > PAGE
    )
    for _ in range(operations(60)):
        name = rng.choice(names)
        file = state / "segment" / name
        bit = rng.randrange(8 * PAGE, 8 * file.stat().st_size)
        flip_bit(file, bit)
        report = inspect("check", state, "--json", code=4).json
        flip_bit(file, bit)
        (one,) = part_of(report, "pages")["findings"]
        assert (one["file"], one["offset"]) == (f"segment/{name}", bit // 8)
        assert one["what"].startswith("1 byte(s) of the page")
    require_sound(inspect, state)


def test_an_object_whose_bytes_were_altered_is_not_among_those_that_survive(inspect, sample):
    state = sample("checkpointed")
    of = Segment(state)
    end = of.node("account", 99) + of.types["account"]["node_bytes"]
    flip_bit(of.file("account.objects"), 8 * (end - 1))
    (survived,) = inspect("check", state, "--json", code=4).json["survived"]
    assert (survived["objects"], survived["whole"]) == (200, 199)


def test_what_is_counted_is_what_is_there_and_looking_changes_nothing(inspect, sample):
    state = sample("sample")
    before = image(state)
    report = require_sound(inspect, state, "closed")
    assert (report["found"], report["revision"], report["irreversible_revision"]) == (0, 12, 9)
    assert report["rolled_back"]["sessions"] == 0
    assert report["survived"][0]["objects"] == 1000
    assert len(report["parts"]) == 3 + 4
    assert part_of(report, "account", "objects")["figures"]["live"] == 1000
    for key in ("by_name", "by_balance", "by_group", "by_distance"):
        assert part_of(report, "account", key)["figures"]["nodes"] == 1000
    assert part_of(report, "account", "by_number")["figures"]["entries"] == 1000
    by_author = part_of(report, "post", "by_author")["figures"]
    assert (by_author["entries"], by_author["objects"]) == (10, 400)
    ids = part_of(report, "token", "ids")["figures"]
    assert (ids["given"], ids["objects"]) == (3000, 500)
    assert part_of(report, "marker", "objects")["figures"]["live"] == 0
    assert len(part_of(report, "account", "by_distance")["not_checked"]) == 1
    assert part_of(report, "account", "by_name")["not_checked"] == []
    assert part_of(report, "undo_log")["figures"]["sessions"] == 3
    plain = inspect("check", state)
    plain.says("sound: nothing was found; 1 thing(s) were not checked", "closed properly",
               "not checked: account by_distance")
    more = inspect("check", "-v", state).out
    assert "undo_log" in more and "account" in more and "by_name" not in more
    inspect("check", "-vv", state).says("account by_name", "buffers.16")
    assert image(state) == before


def test_damage_is_told_with_place_and_survivors(inspect, sample):
    state = sample("sample")
    of = Segment(state)
    of.write("account.ids", PAGE + 4 * 7, 0x0FFFFFFF)
    inspect("check", state, code=4).says(
        "account ids: segment/account.ids, offset 4124: object 7", "account: 999 of 1,000 objects",
        "damaged",
    )  # fmt: skip
    found = inspect("check", state, "--json", code=4).json
    assert (found["sound"], found["survived"][0]["whole"]) == (False, 999)


def test_a_state_whose_writer_was_killed_is_checked_as_the_next_opening_leaves_it(inspect, sample):
    state = sample("sample")
    for kills in range(6):
        with Writer(state) as writer:
            refused = inspect("check", state, code=1)
            refused.says(f"process {writer.pid}", "--checkpoint")
            time.sleep(0.003 * kills)
        before = image(state)
        report = require_sound(inspect, state, "writer_died")
        assert image(state) == before
        assert opens(state)["revision"] == report["revision"]


def test_keys_of_arrays_and_small_numbers_without_a_hashed_one_are_checked(inspect, samples):
    report = require_sound(inspect, samples("fields"))
    by_place = part_of(report, "everything", "by_place")
    assert (by_place["not_checked"], by_place["figures"]["nodes"]) == ([], 265)
    assert part_of(report, "everything", "by_height")["figures"]["nodes"] == 265


def test_what_is_not_known_is_called_unknown(inspect, sample, scratch):
    state = sample("sample")
    aside = scratch / "aside"
    shutil.move(state / "segment/post.objects", aside)
    inspect("check", state, code=4).says(
        "  post: unknown", "revision   unknown", "not checked: buffers: whether every buffer"
    )
    found = inspect("check", state, "--json", code=4).json
    assert found["revision"] is None and found["survived"][1]["objects"] is None
    shutil.move(aside, state / "segment/post.objects")
    cut(state / "segment/header", 100)
    text = inspect("check", state, code=4).out
    assert "condition  unknown\nrevision   unknown\n" in text
    assert text.count("not checked: ") == 1


def test_check_of_nothing_is_exit_1_and_a_wrong_call_exit_2(inspect, scratch):
    inspect("check", scratch / "none", code=1)
    inspect("check", code=2)


# --- check of checkpoints ---


def check_checkpoints(inspect, state):
    return inspect("check", "--checkpoint", state, "--json", code=(0, 4)).json


def test_checkpoints_are_checked_beside_the_writer_that_makes_them(inspect, sample, scratch):
    plain = sample("sample", "plain")
    inspect("check", "--checkpoint", plain, code=1).says("--durability checkpoint")
    with Writer(plain):
        inspect("check", "--checkpoint", plain, code=1).says("no checkpoint was made yet")
    state = scratch / "state"
    with Stay(state, "account", durability="checkpoint") as node:
        inspect("check", "--checkpoint", state, code=1)
        for number in range(1, 5):
            for step in ("session", "create account 50", "block"):
                node.step(step)
            generation = node.step("checkpoint")
            found = check_checkpoints(inspect, state)
            assert (found["found"], found["restorable"]) == (0, generation)
            newest = found["publications"][0]
            assert (newest["standing"], newest["revision"]) == ("whole", number)
            assert len(found["publications"]) == min(number, 2)
        text = inspect("check", "--checkpoint", "-v", state)
        text.says(f"would take checkpoint {generation}")


def test_a_bit_flipped_anywhere_in_a_checkpoint_is_found(inspect, scratch, rng):
    state = scratch / "state"
    block = ["session", "create account 50", "block", "checkpoint"]
    change(state, "account", *block * 3, "abandon", durability="checkpoint")
    folder = state / "checkpoint"
    sound = check_checkpoints(inspect, state)
    newest, older = (one["generation"] for one in sound["publications"])
    named = {}  # slot: the generations that may be restored with it damaged
    for name in ("published.0", "published.1", "pages"):
        for _ in range(operations(50)):
            bit = rng.randrange(8 * (folder / name).stat().st_size)
            flip_bit(folder / name, bit)
            found = check_checkpoints(inspect, state)
            flip_bit(folder / name, bit)
            for _, one in findings(found):
                assert one["file"] == f"checkpoint/{name}"
                if name == "pages":
                    assert one["offset"] // PAGE == bit // 8 // PAGE
            if name != "pages":
                assert found["found"] != 0
                assert len(found["publications"]) == 1
                continue
            # A slot is named by both, one or none of the checkpoints.
            slot = bit // 8 // PAGE
            if slot == 0:
                continue
            state_of = (found["found"] != 0, found["restorable"])
            assert named.setdefault(slot, state_of) == state_of
            assert state_of in [(False, newest), (True, newest), (True, older), (True, None)]
    assert any(found for found, _ in named.values())
    assert check_checkpoints(inspect, state)["found"] == 0
    cut(folder / "pages", PAGE)
    assert check_checkpoints(inspect, state)["restorable"] is None
    (folder / "pages").unlink()
    assert check_checkpoints(inspect, state)["restorable"] is None


def test_checkpoints_of_another_state_are_found(inspect, scratch):
    for name in ("one", "other"):
        change(scratch / name, "account", "session", "create account 50", "block", "checkpoint",
               durability="checkpoint")
    shutil.rmtree(scratch / "one/checkpoint")
    shutil.copytree(scratch / "other/checkpoint", scratch / "one/checkpoint")
    ((_, one),) = findings(check_checkpoints(inspect, scratch / "one"))
    assert "another state" in one["what"]


# --- STATE@checkpoint, STATE@checkpoint:GENERATION ---


@pytest.fixture
def named(scratch):
    """Checkpoints of 100 and of 103 accounts, and 110 in memory, in a state that stays open."""
    state = scratch / "state"
    with Stay(state, "account", durability="checkpoint") as node:
        def block(*steps):
            for one in ("session", *steps, "block"):
                node.step(one)

        block("create account 100")
        node.first = node.step("checkpoint")
        block("create account 3", "set account 7 balance 70")
        node.second = node.step("checkpoint")
        block("create account 7")
        node.state = state
        node.temporary = scratch / "temporary"
        node.temporary.mkdir()
        node.at = lambda generation: f"{state}@checkpoint:{generation}"
        yield node


@pytest.fixture
def look(inspect, named):
    def call(*words, **how):
        result = inspect(*words, env={"TMPDIR": named.temporary}, **how)
        assert list(named.temporary.iterdir()) == [], "temporary files were left"
        return result

    return call


def test_each_checkpoint_is_a_state_beside_its_writer_and_nothing_changes(named, look):
    before = image(named.state / "checkpoint")

    def rows(name):
        return look("count", name, "account", "--json").json["rows"]

    assert rows(named.state) == 110
    assert rows(f"{named.state}@checkpoint") == rows(named.at(named.second)) == 103
    assert rows(named.at(named.first)) == 100
    assert "70" not in look("get", named.at(named.first), "account", "id", "7").out
    assert len(look("schema", named.at(named.first), "--json").json["types"]) == 1
    stat = look("stat", named.at(named.first), "--json").json
    assert (stat["types"][0]["objects"], stat["state"]) == (100, named.at(named.first))
    assert image(named.state / "checkpoint") == before


def test_diff_says_what_changed_between_two_of_them_and_since(named, look):
    call = ("diff", named.at(named.first), named.at(named.second), "--json")
    type = look(*call, code=5).json["types"][0]
    assert (type["only_b"], type["changed"], type["fields"]) == (3, 1, {"balance": 1})
    since = look("diff", f"{named.state}@checkpoint", named.state, "--json", code=5)
    type = since.json["types"][0]
    assert (type["only_b"], type["changed"]) == (7, 0)


def test_the_digest_of_a_checkpoint_is_the_states_at_that_time(named, look):
    named.close()  # makes one

    def digest(name):
        return look("digest", name, "--json").json["digest"]

    assert digest(f"{named.state}@checkpoint") == digest(named.state)
    assert digest(named.at(named.second)) != digest(named.state)


def test_info_lists_the_names_and_what_there_is_not_is_told(named, look):
    info = look("info", named.state, "--json").json
    assert info["checkpoints"][0]["name"] == named.at(named.second)
    look("info", named.state).says(named.at(named.first))
    look("count", named.at(77), "account", code=2).says(f"it has {named.second}")
    look("count", f"{named.state}@checkpoint:x", "account", code=2)
    look("count", f"{named.state}/nothing@checkpoint", "account", code=(1, 2))


@pytest.mark.parametrize(
    "verb",
    ["info", "check", "check --checkpoint", "undo", "locks", "map", "tree", "archive", "repair", "warm --dry-run",
     "resize --dry-run", "compact --dry-run", "backup --to none/copy", "top --json --count 1", "serve"],
)  # fmt: skip
def test_a_verb_that_takes_no_checkpoint_says_what_to_do(inspect, samples, verb):
    state = samples("checkpointed")
    name, *options = verb.split()
    said = inspect(name, f"{state}@checkpoint", *options, code=2)
    said.says("not a checkpoint", f"give the folder, {state} ", "check --checkpoint")
    inspect(name, f"{state}/none", *options, code=1).says("check the path")


def test_a_temporary_folder_goes_with_the_process_even_if_that_is_killed(inspect, named):
    end = time.monotonic() + 30
    was_there = False
    while not was_there:  # it may have ended before it was killed
        assert time.monotonic() < end
        running = inspect.start("digest", f"{named.state}@checkpoint", env={"TMPDIR": named.temporary})
        while running.is_running and not was_there:
            was_there = any(named.temporary.glob("*/*"))  # its remover is there before
        running.process.kill()
        was_there = running.process.wait() == -signal.SIGKILL and was_there
    while list(named.temporary.iterdir()):
        assert time.monotonic() < end
        time.sleep(0.01)
