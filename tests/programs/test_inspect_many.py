"""A state of 60 types: every verb copes with them, and all sums are exact."""

import shutil

import pytest
from segment import change, content
from test_inspect_memory import require_same, require_sums
from test_inspect_stat import require_exact

TYPES = 60


def rows_of_type(type):
    return 0 if type == 7 else 100 + type


def name_of(type):
    return f"type.{type}"


ROWS = {name_of(type): rows_of_type(type) for type in range(TYPES)}


@pytest.fixture
def many(samples):
    """Not to be changed, which is looked at in the end."""
    state = samples("many")
    before = content(state)
    yield state
    assert content(state) == before


def test_every_verb_describes_it_and_all_sums_are_exact(inspect, many):
    assert len(inspect.json("info", many)["schema"]["types"]) == TYPES
    assert len(inspect.json("schema", many)["types"]) == TYPES
    stat = inspect.json("stat", many)
    require_exact(stat)
    assert {one["name"]: one["objects"] for one in stat["types"]} == ROWS
    found = inspect.json("map", many)
    require_same(found, stat)
    assert len(found["files"]) == 2 * TYPES + TYPES // 3 + 27
    tree = inspect.json("tree", many)
    assert require_sums(tree["tree"]) == tree["bytes"]
    assert len(inspect.json("undo", many)["sessions"]) == 3
    for verb in ("check", "locks"):
        assert inspect.json(verb, many)["schema_version"] == 1


@pytest.mark.parametrize("kind", range(3))
def test_rows_of_each_by_its_keys_and_at_random(inspect, many, kind):
    for type in range(kind, TYPES, 6):
        name = name_of(type)
        key = ["by_number"] if kind == 0 else []
        lines = inspect("range", many, name, *key, "--limit", "1000", "--json").json_lines
        everything = lines[1:-1]
        assert len(everything) == lines[-1]["rows"] == rows_of_type(type)
        assert inspect.json("count", many, name)["rows"] == rows_of_type(type)
        order = [one["number" if key else "id"] for one in everything]
        assert order == sorted(set(order))
        if kind == 1:
            inspect("range", many, name, "by_number", "--json", code=2)
        some = inspect("sample", many, name, "--rows", "9", "--json").json_lines[1:-1]
        assert len({one["id"] for one in some}) == len(some) == (9 if everything else 0)
        assert all(one in everything for one in some)
        if everything:
            by = ["id", "1"] if kind == 2 else ["by_number", "1"]
            assert inspect.json("get", many, name, *by)["rows"][0]["number"] == 1


def test_its_dump_has_every_object_of_each(inspect, many):
    lines = inspect("dump", many).json_lines
    seen = dict.fromkeys(ROWS, 0)
    for line in lines:
        if len(line) == 1:
            seen[next(iter(line))] += 1
    assert seen == ROWS
    assert lines[-1]["complete"] is True


def test_a_change_of_one_is_seen_by_digest_and_diff_as_one_of_that(inspect, many, scratch):
    other = shutil.copytree(many, scratch / "other")
    a = inspect.json("digest", many)
    assert inspect.json("digest", other)["digest"] == a["digest"]
    assert inspect.json("diff", many, many)["same"] is True
    assert inspect.json("diff", many, other)["same"] is True
    (first,) = change(other, "type.5", "say")
    assert first["objects"]["type.5"] == 105
    change(other, "type.5", "set type.5 1 visits 9")
    b = inspect.json("digest", other)
    assert a["digest"] != b["digest"]
    changed = [x["name"] for x, y in zip(a["types"], b["types"], strict=True) if x != y]
    assert changed == ["type.5"]
    assert {one["name"]: one["rows"] for one in a["types"]} == ROWS
    diff = inspect("diff", many, other, "--json", code=5).json
    assert diff["same"] is False
    assert {one["name"]: one["changed"] for one in diff["types"]} == {
        name: int(name == "type.5") for name in ROWS
    }
    assert all((one["only_a"], one["only_b"]) == (0, 0) for one in diff["types"])


def test_top_and_warm_tell_of_each(inspect, many):
    top = inspect("top", many, "--json", "--count", "1", "--interval", "0.1").json
    assert {one["name"]: one["objects"] for one in top["types"]} == ROWS
    for how in (["--dry-run"], []):
        files = {one["file"] for one in inspect.json("warm", many, *how)["files"]}
        assert {name + ".objects" for name in ROWS} <= files


def test_loaded_from_its_dump_and_compacted_it_is_the_same(inspect, many, scratch):
    state, loaded = shutil.copytree(many, scratch / "state"), scratch / "loaded"
    digest = inspect.json("digest", state)["digest"]
    inspect("dump", state, "--output", scratch / "dump")
    assert len(inspect.json("load", loaded, scratch / "dump")["types"]) == TYPES
    assert inspect.json("digest", loaded)["digest"] == digest
    inspect("check", loaded)
    told = inspect.json("compact", state, "--dry-run")
    done = inspect.json("compact", state, "--commit")
    names = [one["name"] for one in done["parts"]]
    assert names[:TYPES] == list(ROWS) and len(names) == len(told["parts"]) == TYPES + 4
    assert inspect.json("digest", state)["digest"] == digest
    assert inspect.json("diff", state, loaded)["same"] is True
    inspect("check", state)
    change(state, "type.5", "set type.5 1 visits 9")  # goes on
    assert inspect.json("digest", state)["digest"] != digest
