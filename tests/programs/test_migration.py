"""A state of the social chain, opened by a program whose account is declared otherwise."""

import pytest
from programs import program


@pytest.fixture
def state(driver, scratch):
    driver("generate", "--operations", 20000, "--accounts", 500, "--to", scratch / "log")
    driver("replay", "--block-log", scratch / "log", "--state", scratch / "state")
    return scratch / "state"


def accounts(inspect, state):
    return inspect("range", state, "account", "id", "--limit", 100000, "--json").json_lines[1:-1]


CHANGES = {"liquid": "renamed", "posts": "widened", "activity": "added", "about": "added"}


def hash_of(inspect, state, name="account"):
    (found,) = inspect.json("schema", state, name)["types"]
    return found["hash"]


def digests(inspect, state):
    found = inspect("digest", state, "--json").json
    return {one["name"]: one["digest"] for one in found["types"] if one["name"] != "account"}


def test_an_account_with_a_new_field_a_new_key_and_a_rename(inspect, state):
    before, others = accounts(inspect, state), digests(inspect, state)
    former = hash_of(inspect, state)
    busiest = max(before, key=lambda one: one["posts"] + one["replies"] + one["votes"])
    activity = busiest["posts"] + busiest["replies"] + busiest["votes"]
    for _ in range(2):  # the second time nothing is to be done
        said = program("evolved_account")(state, busiest["name"]).json
        assert said == {
            "accounts": len(before),
            "liquid": sum(one["balance"] for one in before),
            "id": busiest["id"],
            "activity": activity,
            "busiest": activity,
        }
    after = accounts(inspect, state)
    assert [one["liquid"] for one in after] == [one["balance"] for one in before]
    assert all(one["about"] == "" for one in after)
    assert digests(inspect, state) == others
    told = inspect.json("schema", state)
    became = {one["name"]: one["hash"] for one in told["types"]}
    (step,) = told["migrations"]  # of the first time
    assert (step["type"], step["to"], step["computed"]) == ("account", became["account"], True)
    assert step["from"] == former and step["keys_added"] == ["by_activity"]
    assert {one["name"]: one["what"] for one in step["fields"]} == CHANGES
    inspect("schema", state).says(f"from hash {former}", "a function computed fields",
                                  "liquid: renamed, was balance i64, became i64")
    assert inspect.json("schema", state, "vote")["migrations"] == []
    found = inspect("range", state, "account", "by_activity", "--limit", 1, "--reverse", "--json")
    assert found.json_lines[1]["activity"] == activity
    inspect("check", state)


def test_without_a_migration_the_state_is_refused_and_stays(driver, inspect, state, scratch):
    name = accounts(inspect, state)[0]["name"]
    program("evolved_account")(state, name)
    refused = driver("replay", "--block-log", scratch / "log", "--state", state, code=1)
    assert "type account was stored with another layout" in refused.err
    assert "open_options::migrate" in refused.err
    program("evolved_account")(state, name)


def test_a_state_whose_feed_has_followers_is_not_taken_over(inspect, state):
    before = accounts(inspect, state)
    (state / "feed/cursors").mkdir(parents=True)
    (state / "feed/cursors/index").write_bytes(b"of a follower")
    refused = program("evolved_account")(state, before[0]["name"], code=1)
    assert "its feed has followers" in refused.err and "--drop NAME" in refused.err
    assert accounts(inspect, state) == before
    (state / "feed/cursors/index").unlink()
    program("evolved_account")(state, before[0]["name"])


def test_a_snapshot_is_loaded_into_the_types_of_another_state(driver, inspect, state, scratch):
    """What the operator does without the program: the types come from a state that has them."""
    name = accounts(inspect, state)[0]["name"]
    inspect("snapshot", "write", state, "--to", scratch / "snapshot")
    driver("generate", "--operations", 2000, "--accounts", 50, "--to", scratch / "small")
    driver("replay", "--block-log", scratch / "small", "--state", scratch / "like")
    program("evolved_account")(scratch / "like", accounts(inspect, scratch / "like")[0]["name"])
    load = ("snapshot", "load", scratch / "snapshot", "--to", scratch / "loaded")
    how = ("--types-of", scratch / "like", "--rename", "account/liquid=balance")
    said = inspect(*load, *how, "--dry-run", "--json").json
    changes = {one["field"]: one["what"] for one in said["types"] if one["type"] == "account"
               for one in one["fields"] if one["what"] != "same"}
    assert changes == CHANGES
    assert not (scratch / "loaded").exists()
    inspect(*load, *how)
    (step,) = inspect.json("schema", scratch / "loaded")["migrations"]
    assert (step["from"], step["to"]) == (
        hash_of(inspect, state), hash_of(inspect, scratch / "loaded"))
    assert {one["name"]: one["what"] for one in step["fields"]} == CHANGES and not step["computed"]
    before = accounts(inspect, state)
    after = accounts(inspect, scratch / "loaded")
    assert [one["liquid"] for one in after] == [one["balance"] for one in before]
    inspect("check", scratch / "loaded")
    said = program("evolved_account")(scratch / "loaded", name).json
    assert said["accounts"] == len(before)


def test_a_root_of_former_types_is_left_out_and_not_written(driver, inspect, scratch):
    driver("generate", "--operations", 5000, "--accounts", 100, "--to", scratch / "log")
    replay = ("replay", "--block-log", scratch / "log", "--state")
    driver(*replay, scratch / "rooted", "--state-root", "all")
    name = accounts(inspect, scratch / "rooted")[0]["name"]
    inspect("snapshot", "write", scratch / "rooted", "--to", scratch / "snapshot")
    driver(*replay, scratch / "like")
    program("evolved_account")(scratch / "like", name)
    inspect("snapshot", "load", scratch / "snapshot", "--to", scratch / "loaded",
            "--types-of", scratch / "like", "--rename", "account/liquid=balance",
            "--drop", "root_setting", "--drop", "block_root", "--drop", "state_root.recorded",
            "--drop", "state_root.committed")
    program("evolved_account")(scratch / "rooted", name)
    for state in ("rooted", "loaded"):
        inspect("check", scratch / state)
        said = inspect("snapshot", "write", scratch / state, "--to", scratch / f"of-{state}", "--json")
        assert said.json["state_root"] is None
