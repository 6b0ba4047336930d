"""get, range, count and sample: the same objects, in the same order, as their program sees."""

import json
import shutil

import pytest
import segment
from segment import Stay, Writer, change, content

TYPES = "account,post,stake,token"


@pytest.fixture(scope="module")
def filled(session_scratch):
    """Objects of which many have the same keys, some removed, in no order."""
    state = session_scratch / "filled"
    import random

    random = random.Random(61)
    steps = []
    for number in range(160):
        steps += [f"create {name}" for name in TYPES.split(",")]
        steps += [
            f"set account {number} balance {random.randrange(40) - 20}",
            f"set account {number} group {random.randrange(5)}",
            f"set account {number} name {random.randrange(10**11)}",
            f"set account {number} number {random.getrandbits(62)}",
            f"set post {number} author author-{random.randrange(30)}",
            f"set post {number} permlink {random.choice('abcdefgh') * random.randrange(1, 300)}{number}",
            f"set post {number} body {random.choice(['same', 'x' * random.randrange(1, 3000)])}",
            f"set stake {number} owner {number}",
            f"set stake {number} score {random.randrange(9) - 4}",
            f"set stake {number} weight {random.randrange(4)}",
            f"set token {number} code {1000 + number * 7}",
            f"set token {number} kind {random.randrange(6)}",
        ]
    for _ in range(50):
        gone = random.randrange(160)
        steps += [f"remove {name} {gone}" for name in TYPES.split(",")]
    change(state, TYPES, *steps)
    return state


def rows(inspect, state, *call, **how):
    """The rows of a range, of which the first and the last line speak."""
    lines = inspect("range", state, *call, "--limit", "0", "--json", **how).json_lines
    assert lines[0]["schema_version"] == 1
    assert lines[-1]["rows"] == len(lines) - 2
    assert lines[-1]["more"] is False
    return lines[1:-1]


def ids(found):
    return [one["id"] for one in found]


def get(inspect, state, *call):
    return inspect("get", state, *call, "--json", code=(0, 1)).json


ORDERS = [
    ("account", "by_name"),
    ("account", "by_balance"),
    ("account", "by_group"),
    ("account", "by_distance"),
    ("post", "by_link"),
    ("post", "by_body"),
    ("stake", "by_score"),
    ("stake", "by_weight"),
]


def test_every_ordered_key_is_gone_through_as_its_program_does(inspect, filled):
    expected = change(filled, TYPES, *(f"order {type} {key}" for type, key in ORDERS), mode="ro")
    for (type, key), wanted in zip(ORDERS, expected, strict=True):
        assert len(wanted) > 80
        assert ids(rows(inspect, filled, type, key)) == wanted, (type, key)
        assert ids(rows(inspect, filled, type, key, "--reverse")) == wanted[::-1], (type, key)
    tokens = ids(rows(inspect, filled, "token"))
    assert tokens == sorted(tokens)
    assert ids(rows(inspect, filled, "token", "id", "--reverse")) == tokens[::-1]


def test_each_object_is_found_by_each_of_its_keys_with_those_that_share_it(inspect, filled):
    everything = {type: rows(inspect, filled, type) for type in TYPES.split(",")}
    order = dict(
        zip(
            ("by_body",), change(filled, TYPES, "order post by_body", mode="ro"), strict=True
        )
    )
    for one in everything["account"][::9]:
        for key in (
            ["id", one["id"]],
            ["by_name", one["name"]],
            ["by_number", one["number"]],
            ["by_balance", one["balance"], one["id"]],
        ):
            assert get(inspect, filled, "account", *map(str, key))["rows"] == [one], key
    for one in everything["post"][::9]:
        author, link = one["author"], one["permlink"]
        assert get(inspect, filled, "post", "by_link", author, link)["rows"] == [one]
        assert get(inspect, filled, "post", "by_address", link, author)["rows"] == [one]
        same = [each for each in everything["post"] if each["author"] == author]
        found = get(inspect, filled, "post", "by_author", author)["rows"]
        assert sorted(ids(found)) == ids(same)
        found = get(inspect, filled, "post", "by_body", one["body"])["rows"]
        body_of = {each["id"]: each["body"] for each in everything["post"]}
        assert ids(found) == [id for id in order["by_body"] if body_of[id] == one["body"]]
    for kind in range(6):
        found = get(inspect, filled, "token", "by_kind", str(kind))["rows"]
        assert sorted(ids(found)) == [
            one["id"] for one in everything["token"] if one["kind"] == kind
        ]
    assert get(inspect, filled, "account", "by_number", "1")["rows"] == []
    assert get(inspect, filled, "post", "by_author", "author-31")["rows"] == []
    assert get(inspect, filled, "token", "id", "4294967295")["rows"] == []


def test_leading_parts_and_bounds_both_ways(inspect, filled):
    by_link = rows(inspect, filled, "post", "by_link")
    for author in ("author-0", "author-7", "author-29"):
        wanted = [one for one in by_link if one["author"] == author]
        assert rows(inspect, filled, "post", "by_link", author) == wanted
        assert rows(inspect, filled, "post", "by_link", author, "--reverse") == wanted[::-1]
    by_group = rows(inspect, filled, "account", "by_group")
    for low in range(6):
        for high in range(low, 6):
            wanted = [one for one in by_group if low <= one["group"] <= high]
            bounds = ("--from", str(low), "--to", str(high))
            assert rows(inspect, filled, "account", "by_group", *bounds) == wanted
            found = rows(inspect, filled, "account", "by_group", *bounds, "--reverse")
            assert found == wanted[::-1]
    # A descending key begins with the largest.
    rich = rows(inspect, filled, "account", "by_balance", "--from", "3", "--to", "1")
    by_balance = rows(inspect, filled, "account", "by_balance")
    assert rich == [one for one in by_balance if 1 <= one["balance"] <= 3] != []
    assert 0 < len(rows(inspect, filled, "token", "id", "--from", "100", "--to", "104")) <= 5


@pytest.mark.parametrize(
    "call, words",
    [
        ("acount id 1", "it has account, post, stake, token"),
        ("account by_nam x", "it has id, by_name, by_balance"),
        ("account id -- -1", '"-1" is not an id'),
        ("account id 1 2", "is not an id"),
        ("account by_name seventeen.letters", "no value of name"),
        ("account by_number 18446744073709551616", "of type u64"),
        ("account by_number x", "of type u64"),
        ("account by_group 4294967296", "of type u32"),
        ("account by_group 1 2", "has 1 part, 2 were given"),
        ("post by_link author-1", "has 2 parts, 1 was given"),
        ("account by_balance 1", "use range"),
        ("account by_distance 1 2", "computed by a function"),
        ("account", ""),
    ],
)
def test_what_cannot_be_asked_for_is_refused_by_name(inspect, filled, call, words):
    inspect("get", filled, *call.split(), code=2).says(words)


def test_a_hashed_key_has_no_range(inspect, filled):
    inspect("range", filled, "account", "by_number", code=2)


# --- as they are called ---


def test_get_prints_the_object_that_has_a_key_and_changes_nothing(inspect, sample):
    state = sample("sample")
    before = content(state)
    text = inspect("get", state, "account", "by_name", "17").out
    assert text.startswith("id       17\nname     17\n")
    report = inspect.json("get", state, "account", "by_name", "17")
    assert report["schema_version"] == 1
    assert (report["type"], report["key"]) == ("account", "by_name")
    assert (report["revision"], report["rolled_back"]) == (12, False)
    assert [one["number"] for one in report["rows"]] == [17]
    assert len(inspect.json("get", state, "post", "by_author", "author-3")["rows"]) == 40
    assert content(state) == before


def test_get_of_what_is_not_there_is_exit_1(inspect, samples):
    call = ("get", samples("sample"), "account", "by_name", "nobody")
    assert inspect(*call, "--json", code=1).json["rows"] == []
    inspect(*call, code=1).says("no account has by_name nobody in memory")


def test_range_gives_as_many_as_were_asked_for_and_says_whether_there_are_more(inspect, samples):
    state = samples("sample")
    some = inspect(
        "range", state, "account", "by_name", "--from", "5", "--limit", "3", "--json"
    ).json_lines
    assert some[0]["schema_version"] == 1
    assert [one["name"] for one in some[1:-1]] == ["5", "50", "500"]
    assert (some[-1]["rows"], some[-1]["more"]) == (3, True)
    last = inspect(
        "range", state, "account", "by_name", "--limit", "1", "--reverse", "--json"
    ).json_lines
    assert last[1]["name"] == "999"
    assert len(rows(inspect, state, "post", "by_link", "author-2")) == 40
    table = inspect(
        "range", state, "account", "by_name", "--from", "70", "--to", "71", "--limit", "50"
    ).out
    assert table.startswith("id   name  balance")
    assert table.count("\n") == 13


def test_a_long_table_has_its_titles_once_and_keeps_its_columns(inspect, scratch):
    state = scratch / "state"
    change(state, "account", *["create account"] * 2100, "set account 2050 name a-longer-one")
    lines = inspect("range", state, "account", "--limit", "0").out.splitlines()
    assert len(lines) == 2101
    assert [line for line in lines if line.startswith("id")] == lines[:1]
    assert [line.split()[0] for line in lines[1:]] == [str(number) for number in range(2100)]
    widths = [len(line) for line in lines]
    assert widths == sorted(widths) and len(set(widths)) == 3, "columns became narrower"
    assert "a-longer-one" in lines[2051]


@pytest.mark.parametrize(
    "call, number",
    [
        ("account", "1,000"),
        ("token", "500"),
        ("marker", "0"),
        ("post by_link author-4", "40"),
        ("token id --from 2600 --to 2609", "10"),
        ("account by_group 3", "143"),
    ],
)
def test_count(inspect, samples, call, number):
    assert inspect("count", samples("sample"), *call.split()).out == number + "\n"
    report = inspect.json("count", samples("sample"), *call.split())
    assert report["rows"] == int(number.replace(",", ""))


def test_sample_takes_objects_by_chance_others_with_another_seed(inspect, samples):
    def taken(*call):
        lines = inspect("sample", samples("sample"), *call, "--json").json_lines
        return lines[1:-1]

    some = taken("account", "--rows", "20")
    assert len(set(ids(some))) == 20
    assert taken("account", "--rows", "20") == some
    assert taken("account", "--rows", "20", "--seed", "2") != some
    assert len(taken("token", "--rows", "400")) == 400  # of which most ids are not in use
    assert len(taken("token", "--rows", "1000")) == 500
    assert taken("marker") == []


def test_rows_that_stdout_does_not_take_are_exit_1(inspect, samples, run):
    for call in ("get {} account by_name 17", "get {} account by_name 17 --json",
                 "range {} account --limit 0 --json"):
        words = call.format(samples("sample"))
        run("/bin/sh", "-c", f"exec {inspect} {words} >/dev/full", code=1)


def test_a_state_that_waits_to_be_restored_is_exit_1(inspect, sample):
    state = sample("checkpointed")
    shutil.rmtree(state / "segment")
    inspect("count", state, "account", code=1).says("checkpoint")
    assert not (state / "segment").exists()


# --- values ---


@pytest.fixture(scope="module")
def fields(inspect, samples):
    text = inspect("range", samples("fields"), "everything", "--limit", "0", "--json").out
    lines = text.splitlines()[1:-1]
    return lines, [json.loads(line) for line in lines]


def test_each_kind_of_field_has_its_form(fields):
    lines, values = fields
    assert '"high":18446744073709551615,' in lines[0]
    assert values[0] == {
        "id": 0,
        "yes": True,
        "what": 1,
        "tiny": -128,
        "small": 65535,
        "low": -(2**63),
        "high": 2**64 - 1,
        "name": "sixteen letters!",
        "text": "plain",
        "blob": "00ff10",
        "numbers": [-1, 0, 7],
        "prices": [
            {"amount": -5, "unit": 9, "fixed": True},
            {"amount": 1, "unit": 2, "fixed": False},
        ],
        "place": "010203fa",
        "parts": [1, 2, 3],
        "pair": [
            {"amount": 0, "unit": 0, "fixed": False},
            {"amount": 4, "unit": 5, "fixed": True},
        ],
        "grid": [[1, 2], [3, 4]],
        "one": {"amount": -7, "unit": 8, "fixed": False},
        "other": 12,
    }


def test_texts_with_any_bytes_stay_json_and_can_be_told_apart(fields):
    lines, values = fields
    for byte in range(1, 256):
        name = values[byte]["name"]
        assert name == (chr(byte) if byte < 0x80 else {"hex": f"{byte:02x}"})
    texts = [line[line.index('"text":') + 7 : line.index(',"blob"')] for line in lines[256:]]
    assert texts == [
        '""',
        r'"a\"b\\c\n\t\u0001"',
        r'"nul\u0000in it"',
        '"ä € 😀"',
        '{"hex":"ff"}',
        '{"hex":"63757420e282"}',
        '{"hex":"eda080"}',  # half of a pair
        '{"hex":"c080"}',  # longer than it need be
        '"</script>"',
    ]


def test_the_cells_of_the_text_are_the_values(inspect, samples):
    text = inspect("get", samples("fields"), "everything", "id", "0").out
    assert "sixteen letters!" in text and "00ff10" in text and "18446744073709551615" in text


def test_floats_are_short_and_those_that_json_has_not_are_texts(inspect, scratch):
    state = scratch / "state"
    change(state, "measured", "measured 0.1 1e300 -2", "measured nan", "measured -inf")
    text = inspect("range", state, "measured", "--limit", "0", "--json").out
    assert '"single":0.1,' in text
    first, second, third = rows(inspect, state, "measured")
    assert first["reals"] == [0.1, 1e300, -2]
    assert (second["single"], second["real"]) == ("nan", "nan")
    assert third["real"] == "-inf"


def test_arrays_are_found_by_their_elements(inspect, samples):
    for place in ("1,2,3,250", "010203fa", "0x010203FA"):
        found = get(inspect, samples("fields"), "everything", "by_place", place, "0")["rows"]
        assert ids(found) == [0]
    assert get(inspect, samples("fields"), "everything", "by_place", "1,2,3,4", "0")["rows"] == []
    for wrong in ("1,2,3", "1,2,3,4,5", "1,2,3,256", "", "1,2,,3", "1,2,3,4,", "010203", "010203fg"):
        inspect("get", samples("fields"), "everything", "by_place", wrong, "0", code=2)


# --- beside a writer and after its death ---

STEADY = 300  # accounts that a writer does not remove


def test_rows_beside_a_writer_are_never_torn_and_those_that_stay_are_visited_once(inspect, sample):
    state = sample("sample")
    with Writer(state):
        for _ in range(15):
            for key in ("id", "by_group"):
                found = rows(inspect, state, "account", key, code=(0, 6))
                assert all(one["visits"] == one["balance"] % 1000 for one in found)
                seen = [id for id in ids(found) if id < STEADY]
                assert sorted(seen) == list(range(STEADY))
            for one in rows(inspect, state, "post", code=(0, 6)):
                text = one["body"]
                length = len(text["hex"]) // 2 if isinstance(text, dict) else len(text)
                assert length == one["likes"]
            report = inspect.json("get", state, "account", "id", "7")
            assert report["rolled_back"] is False


def test_rows_after_a_kill_are_those_of_the_last_block_that_was_completed(inspect, sample):
    state = sample("sample")
    for _ in range(5):
        Writer(state).kill()
        before = content(state)
        report = inspect.json("count", state, "account", "by_group", "2")
        found = rows(inspect, state, "account", "by_group", "2")
        assert content(state) == before
        assert report["rows"] == len(found)
        opened = segment.opens(state)
        assert report["revision"] == opened["revision"]
        assert rows(inspect, state, "account", "by_group", "2") == found


# --- in the archive ---

KINDS = ("rocksdb", "memory")


def note(number):
    return {
        "id": number,
        "author": "author",
        "title": f"title {number}",
        "weight": number,
        "marks": [7, number],
    }


@pytest.mark.parametrize("kind", KINDS)
def test_get_finds_what_left_memory_by_each_key_of_the_archive(inspect, samples, kind):
    state = samples(f"notes.{kind}")
    for n in range(10):
        for key in (["id", n], ["by_title", "author", f"title {n}"], ["by_weight", n, n]):
            found = get(inspect, state, "note", *map(str, key))
            where, other = ("archived_rows", "rows") if n < 4 else ("rows", "archived_rows")
            assert found[where] == [note(n)], key
            assert found[other] == []
    everything = get(inspect, state, "note", "by_author", "author")
    assert (len(everything["rows"]), len(everything["archived_rows"])) == (6, 4)
    assert "(in the archive)" in inspect("get", state, "note", "id", "2").out
    inspect("get", state, "note", "id", "99", code=1).says("in memory or in the archive")


@pytest.mark.parametrize("kind", KINDS)
def test_get_finds_no_archived_object_that_was_removed_and_the_one_that_took_its_key(
    inspect, sample, kind
):
    state = sample(f"notes.{kind}")
    change(state, "note", "remove_note 1", "remove_note 2", "note author 20 title 2", "retire 10",
           "hand_over", archive=kind)
    assert get(inspect, state, "note", "id", "1")["archived_rows"] == []
    assert get(inspect, state, "note", "by_title", "author", "title 1")["archived_rows"] == []
    again = get(inspect, state, "note", "by_title", "author", "title 2")["archived_rows"]
    assert ids(again) == [10]
    assert ids(get(inspect, state, "note", "id", "3")["archived_rows"]) == [3]


def test_get_finds_archived_objects_beside_their_writer(inspect, sample):
    state = sample("notes.rocksdb")
    with Stay(state, "note", archive="rocksdb") as node:
        assert node.step("hand_over") == 2  # 4 and 5
        for n in range(6):
            assert ids(get(inspect, state, "note", "id", str(n))["archived_rows"]) == [n]
        assert ids(get(inspect, state, "note", "id", "6")["rows"]) == [6]
        node.close()


def places(inspect, state, *call):
    return [
        [one["row"]["id"], int(one["archived"]), one["row"]["weight"]]
        for one in rows(inspect, state, "note", *call, "--archive")
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_both_places_in_the_order_of_each_key_as_the_typed_calls_give_it(
    inspect, scratch, kind, seed
):
    state = scratch / "state"
    asked = [
        [],
        ["by_weight"],
        ["by_author"],
        *(["by_author", author] for author in ("a", "al", "alice", "b")),
        *(["by_weight", str(weight)] for weight in (-31, -7, 0, 5, 29, 40)),
    ]
    steps = ["notes " + " ".join(one) for one in asked]
    answers = change(state, "note", f"some_notes {seed}", *steps, archive=kind)
    for one, expected in zip(asked, answers, strict=True):
        words = ["--", *one[1:]] if len(one) > 1 and one[1].startswith("-") else one[1:]
        call = [*one[:1], "--limit", "0", "--json", "--archive", *words]
        lines = inspect("range", state, "note", *call).json_lines[1:-1]
        found = [[r["row"]["id"], int(r["archived"]), r["row"]["weight"]] for r in lines]
        assert found == expected, one
    by_id, by_weight = answers[0], answers[1]
    assert len(by_id) > 300 and {place for _, place, _ in by_id} == {0, 1}
    for weight in (0, 5, 29):  # descending
        lower = [one for one in by_weight if one[2] <= weight]
        assert places(inspect, state, "by_weight", "--from", str(weight)) == lower
        upper = [one for one in by_weight if one[2] >= weight]
        assert places(inspect, state, "by_weight", "--to", str(weight)) == upper
    some = [one for one in by_id if 100 <= one[0] <= 300]
    assert places(inspect, state, "id", "--from", "100", "--to", "300") == some


def test_range_count_and_dump_tell_where_each_row_is(inspect, samples, scratch):
    state = samples("notes.rocksdb")
    lines = inspect("range", state, "note", "by_weight", "--archive", "--json").json_lines
    assert [one["row"]["id"] for one in lines[1:-1]] == list(range(9, -1, -1))
    assert all(one["archived"] == (one["row"]["id"] < 4) for one in lines[1:-1])
    assert lines[-1]["more"] is False
    first = inspect("range", state, "note", "--archive", "--limit", "3", "--json").json_lines
    assert (len(first), first[-1]["more"]) == (5, True)
    assert "archive" in inspect("range", state, "note", "--archive").out
    inspect("range", state, "note", "--archive", "--limit", "3").says("there are more than 3")
    for call, number in (("--archive", 10), ("", 6), ("by_weight --from 3 --archive", 4)):
        assert inspect("count", state, "note", *call.split()).out == f"{number}\n"
    inspect("range", state, "note", "--archive", "--reverse", code=2)

    file = scratch / "dump"
    inspect("dump", state, "note", "--archive", "--output", file)
    whole = file.read_bytes()
    dumped = [json.loads(line) for line in whole.splitlines()]
    assert len(dumped) == 12
    assert dumped[1]["note"]["id"] == 0 and dumped[1]["archived"] is True
    assert len(dumped[5]) == 1
    file.write_bytes(b"".join(whole.splitlines(keepends=True)[:4]))  # cut after three rows
    inspect("dump", state, "note", "--output", file, "--resume", code=2)
    inspect("dump", state, "note", "--archive", "--output", file, "--resume")
    assert file.read_bytes() == whole


def test_rows_that_the_archive_lost_are_told(inspect, sample):
    state = sample("notes.rocksdb")
    shutil.rmtree(state / "archive")
    for verb in ("range", "count", "dump"):
        inspect(verb, state, "note", "--archive", code=1).says("handed over 4 rows of note")
        inspect(verb, state, "note")


def test_where_there_is_no_row_that_is_said_on_stderr(inspect, samples, scratch):
    change(scratch / "new", "account")
    for call, says in (
        (("range", samples("sample"), "account", "id", "999999"), "no account in this range of id is"),
        (("range", scratch / "new", "account"), "no account in this range of id is"),
        (("sample", scratch / "new", "account"), "no account is in memory"),
    ):  # fmt: skip
        result = inspect(*call).says(says)
        assert result.out == ""
        assert "no account" not in inspect(*call, "--json").err
