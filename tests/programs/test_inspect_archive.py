"""archive: what it tells of each kind of store, beside a writer and after it, and how it ends.
check, of the rows of an archive."""

import shutil

import pytest
from programs import program
from segment import Stay, change, image


def told(inspect, state, code=0, *more):
    return inspect("archive", state, "--json", *more, code=code).json


def require_objects(table, keeps_rows=True):
    assert table["name"] == "note"
    found = [table[name] for name in ("in_memory", "retired", "handed_over")]
    assert found == ([6, 2, 4] if keeps_rows else [10, 6, 0])


def require_times(times, count):
    assert times["count"] == count
    assert times["measured"] <= count
    longest = times["longest_us"]
    assert times["p50_us"] <= times["p99_us"] <= times["p999_us"] <= longest
    assert (longest > 0) == (times["measured"] > 0)
    assert longest <= times["seconds"] * 1e6 * 1.001


def change_rows(state, *steps):
    program("sample_state")("rows", state, *steps)


def test_a_store_on_disk_what_is_where_and_nothing_changes(inspect, sample):
    state = sample("notes.rocksdb")
    before = image(state)
    found = told(inspect, state, 0, "--records")
    assert image(state) == before
    assert found["state"] == str(state)
    assert found["folder"] == f"{state}/archive"
    assert (found["store"], found["condition"], found["readable"]) == ("rocksdb", "closed", True)
    assert found["refusal"] is None and found["state_refusal"] is None
    assert found["findings"] == []
    assert found["rows"] == 4
    (table,) = found["tables"]
    require_objects(table)
    assert table["keys"] == ["by_title", "by_weight", "by_author,id"]
    assert (table["rows"], table["in_both"], table["ahead"]) == (4, 0, 0)
    # fingerprint, id, author, title, weight, two marks
    assert table["record_bytes"] == 4 * (4 + 4 + (4 + 6) + (4 + 7) + 8 + (4 + 2 * 4))
    assert told(inspect, state)["tables"][0]["record_bytes"] is None
    rocksdb = found["rocksdb"]
    assert "chainbase archive" in rocksdb["format"]
    assert (rocksdb["closed"], rocksdb["being_written"]) == (True, False)
    assert rocksdb["synced_write"] == rocksdb["last_write"]
    assert rocksdb["log"]["files"] >= 0
    assert len(rocksdb["families"]) == 2
    for family in rocksdb["families"]:
        assert family["file_bytes"] == sum(level["bytes"] for level in family["levels"])
    notes = rocksdb["families"][1]
    assert notes["name"] == "table/note"
    assert notes["files"] >= 1
    assert notes["entries"] >= 4 * (1 + 3) + 1  # rows, keys, the count
    assert notes["content_bytes"] > table["record_bytes"]
    assert notes["filter_bytes"] > 0
    assert found["bytes"]["file_bytes"] >= sum(f["file_bytes"] for f in rocksdb["families"])
    assert found["bytes"]["files"] >= 5
    assert found["bytes"]["segment_bytes"] is None


def test_what_the_last_process_did_that_had_it_open(inspect, scratch):
    state = scratch / "state"
    said, *_ = change(state, "note", "say", "create note 10", "retire 0 3", "hand_over",
                      "retire 4 5", archive="rocksdb")
    counted = told(inspect, state)["statistics"]
    assert (counted["process"], counted["running"]) == (said["process"], False)
    assert counted["closed"] >= counted["opened"]
    assert (counted["rows"], counted["failures"]) == (4, 0)
    require_times(counted["batches"], 1)
    require_times(counted["syncs"], 2)  # what the state relies on, and closing
    require_times(counted["hit_in_memory"], 0)
    steps = counted["hand_over"]
    assert (steps["objects"], steps["largest_batch_rows"]) == (4, 4)
    assert steps["largest_batch_bytes"] > 0
    for name, count in (("encoding", 1), ("writing", 1), ("waiting", 0), ("removing", 1)):
        require_times(steps[name], count)


def test_rows_in_memory_and_an_archive_that_keeps_none(inspect, samples):
    memory = told(inspect, samples("notes.memory"), 0, "--records")
    assert memory["store"] == "memory"
    (table,) = memory["tables"]
    require_objects(table)
    assert (table["rows"], table["record_bytes"]) == (4, 4 * 49)
    assert memory["bytes"]["segment_bytes"] > 0
    assert memory["rocksdb"] is None
    assert memory["statistics"]["rows"] == 4
    none = told(inspect, samples("notes.none"))
    assert none["store"] == "none"
    (table,) = none["tables"]
    require_objects(table, keeps_rows=False)
    assert table["rows"] is None
    assert none["bytes"]["segment_bytes"] is None
    inspect("archive", samples("notes.none")).says("keeps no rows")


def test_rows_ahead_of_the_state_are_told_apart_from_those_of_objects_in_memory(inspect, sample):
    state = sample("notes.rocksdb")
    change_rows(state, *(f"copy 1 {id}" for id in (5, 8, 10, 11, 4000000000)))
    (table,) = told(inspect, state)["tables"]
    found = [table[name] for name in ("rows", "handed_over", "in_both", "ahead")]
    assert found == [9, 4, 2, 3]


def test_rows_that_are_missing_are_damage_named_with_the_next_thing_to_do(inspect, sample):
    state = sample("notes.rocksdb")
    change_rows(state, "erase 2", "copy 1 10")  # the last is ahead, and stands for none missing
    assert len(told(inspect, state, 4)["findings"]) == 1
    inspect("archive", state, code=4).says(
        "table note: 4 objects were handed over, but there are 3 rows", "replay into a new folder"
    )
    shutil.rmtree(state / "archive")
    lost = told(inspect, state, 4)
    assert lost["store"] is None
    assert len(lost["findings"]) == 1
    assert lost["tables"][0]["handed_over"] == 4
    inspect("archive", state, code=4).says("does not exist")


def test_a_damaged_store_is_damage_and_one_that_cannot_be_read_is_not(inspect, sample):
    state = sample("notes.rocksdb")
    for file in (state / "archive/rocksdb").glob("*.sst"):
        file.unlink()
    damaged = told(inspect, state, 4)
    assert (damaged["readable"], len(damaged["findings"])) == (False, 1)
    assert f"{state}/archive" in damaged["refusal"] and "backup" in damaged["refusal"]
    assert damaged["tables"][0]["handed_over"] == 4
    assert damaged["statistics"]["rows"] == 4
    (state / "archive/format").write_text("chainbase archive\nformat 99\n")
    foreign = told(inspect, state, 1)
    assert foreign["findings"] == []
    assert "format 99" in foreign["refusal"]
    other = sample("notes.memory", "other")
    shutil.rmtree(other / "segment")  # rows and all
    assert str(other) in told(inspect, other, 1)["state_refusal"]


def test_calls_that_are_wrong_and_folders_without_an_archive(inspect, samples, scratch):
    inspect("archive", samples("sample"), code=1).says("there is no archive")
    inspect("archive", scratch / "nowhere", code=1).says("nowhere")
    inspect("archive", code=2).says("DIR")
    inspect("archive", samples("sample"), "--rows", code=2).says("--rows")


def test_stat_of_a_state_whose_archive_cannot_be_read_prints_what_is_known(inspect, sample):
    state = sample("sample")
    (state / "archive").mkdir()
    (state / "archive/notes.txt").write_text("something else")
    result = inspect("stat", state, code=1)
    assert "every sum holds" in result.out
    assert "not readable now" in result.out
    assert "its archive cannot be read" in result.err


def test_stat_counts_rows_beside_their_writer_and_after_it(inspect, scratch):
    state = scratch / "state"

    def rows():
        return inspect.json("stat", state)["archive"]

    with Stay(state, "note", "create note 30", archive="rocksdb") as node:
        node.step("retire 0 9")
        node.step("hand_over")
        before = image(state / "archive")
        found = rows()
        assert image(state / "archive") == before
        assert [(one["name"], one["rows"]) for one in found["tables"]] == [("note", 10)]
        node.step("retire 10 19")
        node.step("hand_over")
        assert rows()["tables"][0]["rows"] == 20
        node.close()
    assert rows()["tables"][0]["rows"] == 20


@pytest.mark.parametrize("kind", ["rocksdb", "memory"])
def test_beside_a_running_process_it_tells_what_that_has_counted_so_far(inspect, sample, kind):
    state = sample(f"notes.{kind}")
    with Stay(state, "note", "look_up 200", archive=kind) as node:
        found = told(inspect, state)
        assert (found["condition"], found["rows"]) == ("writer_running", 4)
        counted = found["statistics"]
        assert (counted["process"], counted["running"]) == (node.pid, True)
        assert counted["closed"] is None
        for name in ("hit_in_memory", "hit_in_archive", "known_miss"):
            require_times(counted[name], 200)
        assert counted["hit_in_archive"]["measured"] == 200
        inspect("archive", state).says("and running")
        node.kill()
    code = 1 if kind == "memory" else 0
    found = told(inspect, state, code)
    assert (found["condition"], found["readable"]) == ("writer_died", kind == "rocksdb")
    if kind == "memory":
        assert "rolls back the rows in memory" in found["refusal"]
    assert found["statistics"]["running"] is False
    require_times(found["statistics"]["known_miss"], 200)
    inspect("archive", state, code=code).says("and died")


# --- check, of rows ---


def checked(inspect, state, *steps, code=4):
    """What is found after rows were changed behind their state, one a line."""
    if steps:
        change_rows(state, *steps)
    found = []

    def collect(part):
        found.extend(one["what"] for one in part["findings"])
        for inner in part["parts"]:
            collect(inner)

    for part in inspect("check", state, "--json", code=code).json["parts"]:
        collect(part)
    return found


def test_rows_of_the_archive_are_compared_with_the_state(inspect, sample):
    state = sample("notes.rocksdb")
    assert checked(inspect, state, code=0) == []
    found = "\n".join(checked(inspect, state, "copy 0 4"))
    assert "row 4: holds object 0" in found
    assert "row 4: differs from the object in memory" in found
    assert checked(inspect, state, "erase 4", code=0) == []
    assert "row 77: holds object 1" in "\n".join(checked(inspect, state, "copy 1 77"))
    assert checked(inspect, state, "erase 77", code=0) == []
    found = "\n".join(checked(inspect, state, "erase 2"))
    assert "4 objects were handed over, 3 of those" in found
    found = "\n".join(checked(inspect, state, "shorten 1"))
    assert "row 1: ends within field marks" in found


def test_an_entry_of_a_key_that_is_lost_is_found_as_one_too_many_is(inspect, sample):
    state = sample("notes.rocksdb")
    assert checked(inspect, state, "keys 2 title author") == [
        "row 2: no entry of key by_weight leads to it"
    ]
    found = checked(inspect, state, "keys 2 title weight other_weight author")
    assert "row 2: two entries of key by_weight lead to it" in found
    assert checked(inspect, state, "keys 2 other_title weight author") == [
        "row 2: is not found by key by_title: the state's filter lacks it"
    ]
    assert checked(inspect, state, "keys 2 title weight author", code=0) == []


@pytest.mark.parametrize("kind", ["rocksdb", "memory"])
def test_finished_objects_that_were_removed_and_others_with_their_keys_are_no_damage(
    inspect, sample, kind
):
    state = sample(f"notes.{kind}")
    change(state, "note", *(
        step
        for n, number in enumerate((1, 4, 7))  # archived, retired, live
        for step in (f"remove_note {number}", f"note author 100 title {number}", f"retire {10 + n}")
    ), "hand_over", archive=kind)
    rows = inspect.json("check", state)["parts"][-1]
    if kind == "memory":
        assert rows["figures"]["handed over"] == 8  # 0 to 3, 5, and three again
        return
    figures = rows["parts"][0]["figures"]
    assert [figures[name] for name in ("removed", "handed over", "rows")] == [2, 8, 8]
    (table,) = told(inspect, state)["tables"]
    assert (table["handed_over"], table["in_both"]) == (8, 0)


def test_an_archive_that_is_lost_is_found_by_what_was_handed_over_to_it(inspect, sample, scratch):
    assert checked(inspect, sample("sample", "never"), code=0) == []  # there never was one
    state = sample("notes.rocksdb")
    (state / "archive").rename(scratch / "aside")
    found = "\n".join(checked(inspect, state))
    assert "4 objects were handed over, but there is no archive" in found
    found = "\n".join(checked(inspect, state, "open_table something"))
    assert "4 objects were handed over, but the archive has no table of them" in found


def test_get_says_that_the_archive_is_lost_and_finds_what_is_in_memory(inspect, sample, scratch):
    state = sample("notes.rocksdb")
    ids = {row["note"]["id"] for row in inspect("dump", state, "note").json_lines[1:-1]}
    (archived,) = sorted(set(range(10)) - ids)[:1]
    inspect("get", state, "note", "id", archived)
    (state / "archive").rename(scratch / "aside")
    inspect("get", state, "note", "id", archived, code=1).says("archive, which is missing, has 0")
    inspect("get", state, "note", "id", min(ids))


def test_an_archive_in_memory_is_checked_and_one_that_keeps_no_rows_is_no_damage(inspect, sample):
    state = sample("notes.memory")
    figures = inspect.json("check", state)["parts"][-1]["figures"]
    assert (figures["handed over"], figures["rows"]) == (4, 4)
    inspect("stat", state).says("rows are objects of the segment")
    change(state, "note", "erase_row 2", archive="memory")
    found = "\n".join(checked(inspect, state))
    assert "4 objects were handed over, but there are 3 rows" in found
    none = sample("notes.none", "none")
    inspect("check", none)
    assert inspect.json("stat", none)["archive"]["store"] == "none"


def test_a_damaged_store_is_a_finding(inspect, sample):
    state = sample("notes.rocksdb")
    for file in (state / "archive/rocksdb").glob("*.sst"):
        file.write_bytes(file.read_bytes()[:100])
    assert "archive" in "\n".join(checked(inspect, state))
