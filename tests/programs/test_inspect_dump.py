"""dump, load and dump --rescue: a dump makes the state again, to the last byte of what it means."""

import json
import re
import shutil

import pytest
import segment
from chains import STEEM, Replays
from segment import Segment, change, image


def lines_of(file):
    return file.read_text().splitlines()


def write_lines(file, lines):
    file.write_text("".join(line + "\n" for line in lines))


@pytest.fixture
def whole(inspect, samples):
    return inspect("dump", samples("sample")).bytes


def rows_of(dump):
    """Without the first line, which has the revision, and the last one."""
    return dump[dump.index(b"\n") : dump.rindex(b"\n", 0, -1)]


# --- dump ---


def test_a_dump_has_all_objects_the_types_by_name_and_the_objects_by_id(whole):
    head, *rows, last = map(json.loads, whole.splitlines())
    assert (head["schema_version"], head["revision"]) == (1, 12)
    assert [one["name"] for one in head["types"]] == ["account", "marker", "post", "token"]
    objects = [next(iter(one.items())) for one in rows if "key" not in one]
    order = [(type, row["id"]) for type, row in objects]
    assert order == sorted(order)
    assert len(order) == len(set(order)) == 1900
    assert last["rows"] == 1900
    assert (last["moved"], last["complete"]) == (False, True)


def test_a_dump_is_the_same_each_time_also_after_objects_were_moved(inspect, sample, whole):
    state = sample("sample")
    assert inspect("dump", state).bytes == whole
    change(state, "account,post,token,marker", "commit", "compact")
    assert inspect("dump", state).bytes == whole
    some = inspect("dump", state, "token", "account").out
    assert '{"post"' not in some
    assert some.index('{"account"') < some.index('{"token"')


def test_a_dump_that_was_cut_off_anywhere_is_gone_on_with_to_the_same_bytes(
    inspect, samples, whole, scratch
):
    file = scratch / "dump"
    key = whole.index(b'\n{"key":') + 1  # and within the keys of a type
    next_key = whole.index(b"\n", key) + 1
    cuts = [key, next_key, next_key + 30, len(whole)]
    cuts += range(whole.index(b"\n") + 1, len(whole), 1 + len(whole) // 23)
    for cut in cuts:
        file.write_bytes(whole[:cut])
        assert inspect("dump", samples("sample"), "--resume", "--output", file).out == ""
        assert file.read_bytes() == whole, cut


def test_a_dump_goes_on_with_no_file_but_its_own_and_replaces_none(
    inspect, samples, whole, scratch
):
    state, file = samples("sample"), scratch / "dump"
    head = whole[: whole.index(b"\n") + 1]
    tokens = inspect("dump", state, "token").bytes
    for text, call, code in [
        (b"my notes\n", [], 2),
        (b"my notes\n", ["--resume"], 1),
        (b"", ["--resume"], 1),
        (b'{"a":1}\n{"b":2}\n', ["--resume"], 1),
        (tokens, ["--resume"], 2),  # of fewer types
        (tokens + b'{"token":{"id', ["--resume"], 2),
        (head + b"[1]\n", ["--resume"], 1),
        (head + b'{"account":{}}\n', ["--resume"], 1),
    ]:
        file.write_bytes(text)
        inspect("dump", state, *call, "--output", file, code=code).says(str(file))
        assert file.read_bytes() == text
    inspect("dump", state, "--resume", code=2)
    inspect("dump", state, "accounts", code=2)


def test_a_dump_that_stdout_does_not_take_is_exit_1(inspect, samples, run):
    run("/bin/sh", "-c", f"exec {inspect} dump {samples('sample')} >/dev/full", code=1)


# --- load ---


def load(inspect, state, file, scratch, **how):
    inspect("dump", state, "--output", file)
    return inspect("load", scratch / "to", file, **how)


def test_a_state_that_a_random_walk_left_is_loaded_and_goes_on(inspect, scratch, seed):
    maker = segment.program("sample_state")
    state, to = scratch / "from", scratch / "to"
    digest = maker("walk", state, seed, 3000, "undo").out
    load(inspect, state, scratch / "dump", scratch)
    inspect("check", to)
    assert inspect("dump", to).bytes == inspect("dump", state).bytes
    assert not (scratch / "to.unfinished").exists()
    assert maker("walk", to, seed, 0, "close").out == digest
    maker("walk", to, seed + 1, 500, "close")  # compares it with a model
    inspect("check", to)


def test_values_of_every_kind_come_back_bit_by_bit(inspect, scratch, seed):
    state, to = scratch / "from", scratch / "to"
    specials = "measured 0.1 -0.0 inf -inf 5e-324 1.7976931348623157e308 1e-40 3.3"
    change(state, "everything,measured", f"everything {seed} 1000", specials, "measured 2.5e38")
    load(inspect, state, scratch / "dump", scratch)
    a, b = Segment(state), Segment(to)
    for type in ("everything", "measured"):
        count = len(inspect("range", state, type, "--limit", "0", "--json").json_lines) - 2
        size = a.types[type]["value_bytes"]
        fields = a.types[type]["fields"]
        # Others are handles, or have gaps of any content.
        plain = [f for f in fields if "shared" not in f["type"] and "{" not in f["type"]]
        for id in range(count):
            with open(a.file(type + ".objects"), "rb") as one:
                one.seek(a.value(type, id))
                x = one.read(size)
            with open(b.file(type + ".objects"), "rb") as one:
                one.seek(b.value(type, id))
                y = one.read(size)
            for f in plain:
                part = slice(f["offset"], f["offset"] + f["bytes"])
                assert x[part] == y[part], (type, id, f["name"])
    # What handles lead to: all content.
    digests = [inspect.json("digest", one)["digest"] for one in (state, to)]
    assert digests[0] == digests[1]
    assert inspect("dump", to).bytes == inspect("dump", state).bytes
    inspect("check", to)


def test_a_minus_before_a_zero_is_no_other_number(inspect, scratch):
    change(scratch / "from", "everything", "everything 1 1")
    file = scratch / "dump"
    inspect("dump", scratch / "from", "--output", file)
    head, row, last = lines_of(file)
    integer = re.compile(r'"(?!id")(\w+)":-?[0-9]+(?=[,}])')
    assert len(integer.findall(row)) > 5
    dumps = []
    for zero in ("0", "-0"):
        write_lines(file, [head, integer.sub(rf'"\1":{zero}', row), last])
        inspect("load", scratch / zero, file)
        dumps.append(inspect("dump", scratch / zero).bytes)
    assert dumps[0] == dumps[1]


def test_load_reads_stdin_and_says_what_it_made(inspect, whole, scratch):
    report = inspect("load", scratch / "to", "--json", stdin=whole).json
    assert (report["schema_version"], report["revision"]) == (1, 12)
    assert {one["name"]: one["rows"] for one in report["types"]} == {
        "account": 1000, "marker": 0, "post": 400, "token": 500,
    }  # fmt: skip


ROW = '{{"token":{{"id":{},"code":{},"kind":0,"amount":0{}}}}}'
LAST = '{{"schema_version":1,"rows":{},"revision":0,"moved":{},"complete":{}}}'


@pytest.mark.parametrize(
    "line, text, said",
    [
        (2, ROW.format(1, '"x"', ""), "line 3: token: field code"),
        (2, ROW.format(1, 4294967296, ""), "field code"),
        (2, ROW.format(1, -1, ""), "field code"),
        (2, ROW.format(1, 1.5, ""), "field code"),
        (2, '{"token":{"id":1,"kind":0,"amount":0}}', "field code is missing"),
        (2, ROW.format(1, 9, ',"more":1'), 'no field "more"'),
        (2, ROW.format(0, 9, ""), "line 3: token: there are two"),
        (2, ROW.format(1, 2, ""), "token.by_code"),
        (2, '{"coin":{"id":1}}', "line 3: neither a row"),
        (2, "no json", "line 3: not a JSON"),
        (4, None, "incomplete"),
        (4, LAST.format(4, "false", "true"), "4 rows are counted"),
        (4, LAST.format(3, "true", "true"), "--moved"),
        (4, LAST.format(3, "false", "false"), "nor the last line"),
        (4, LAST.format('"x"', "false", "true"), "number of rows"),
        (0, "{}", "line 1: not the beginning of a dump"),
        (4, '{"key":"token.by_code","ids":[0,1,2],"hashes":[1,2,3],"follows":[false,false,false]}',
         "not keyed"),
        (0, '{"dump":99}', "version 99"),
        (0, '{"dump":1,"revision":1,"archive":true,"types":[]}', "rows of the archive"),
    ],
)
def test_a_dump_with_a_wrong_line_is_refused_and_nothing_is_made(
    inspect, scratch, line, text, said
):
    change(scratch / "from", "token", "create token 3")
    file = scratch / "dump"
    inspect("dump", scratch / "from", "--output", file)
    lines = lines_of(file)
    assert len(lines) == 5
    lines[line : line + 1] = [] if text is None else [text]
    write_lines(file, lines)
    inspect("load", scratch / "to", file, code=1).says(said)
    assert not (scratch / "to").exists()
    assert not (scratch / "to.unfinished").exists()


def test_a_schema_that_does_not_fit_its_hash_is_refused(inspect, whole, scratch):
    lines = whole.decode().splitlines()
    head = json.loads(lines[0])
    head["types"][0]["value_bytes"] = 1000
    write_lines(scratch / "dump", [json.dumps(head), *lines[1:]])
    inspect("load", scratch / "to", scratch / "dump", code=1).says("hash")


def test_what_is_wrong_with_a_type_names_its_lines(inspect, samples, scratch):
    lines = inspect("dump", samples("sample"), "account").out.splitlines()
    rows = len(lines) - 2
    twice = json.loads(lines[2])["account"]["name"]
    first = json.loads(lines[1])
    first["account"]["name"] = twice
    file = scratch / "dump"
    write_lines(file, [lines[0], json.dumps(first), *lines[2:]])
    said = inspect("load", scratch / "to", file, code=1)
    said.says(f"{file}: lines 2 to {1 + rows}: account.by_name: objects 0 and")
    head = json.loads(lines[0])
    head["types"] *= 2
    write_lines(file, [json.dumps(head), *lines[1:]])
    inspect("load", scratch / "to", file, code=1).says(f"{file}: lines 1 to ")
    write_lines(file, [lines[0], lines[1] + "\0", *lines[2:]])
    inspect("load", scratch / "to", file, code=1).says(f"{file}: line 2: a byte 0")
    assert list(scratch.iterdir()) == [file]


def test_nothing_that_is_there_is_replaced(inspect, whole, scratch):
    (scratch / "dump").write_bytes(whole)
    (scratch / "to").mkdir()
    inspect("load", scratch / "to", scratch / "dump", code=2)
    assert list((scratch / "to").iterdir()) == []
    (scratch / "to").rmdir()
    unfinished = scratch / "to.unfinished"
    unfinished.mkdir(mode=0o700)
    (unfinished / "half").touch()  # nobody knows what it is
    inspect("load", scratch / "to", scratch / "dump", code=2)
    assert (unfinished / "half").exists()
    (unfinished / "unfinished").touch(0o600)  # the remains of a call that was killed
    inspect("load", scratch / "to", scratch / "dump")
    assert not (scratch / "to/half").exists() and not (scratch / "to/unfinished").exists()
    again = scratch / "again.unfinished"
    again.mkdir(mode=0o700)  # of one that was killed before it said what it is
    inspect("load", scratch / "again", scratch / "dump")
    assert not again.exists()


def test_a_loaded_segment_goes_to_the_memory_folder_and_survives_the_machine(
    inspect, driver, scratch
):
    replay = Replays(driver, scratch, STEEM)
    replay("--stop-at", 10000)
    memory, dump, loaded = scratch / "memory", scratch / "dump", scratch / "loaded"
    memory.mkdir()
    inspect("dump", replay.state(), "--output", dump)
    inspect("load", loaded, dump, "--memory-folder", memory)
    [home] = memory.iterdir()
    assert not (loaded / "segment").exists()
    assert json.loads((home / "state.json").read_text())["state"] == str(loaded)
    orphans = inspect("doctor", loaded, "--json").json["orphans"]
    assert str(home) not in {one["home"] for one in orphans}
    assert inspect("dump", loaded).bytes == dump.read_bytes()
    inspect("check", loaded)
    inspect("check", loaded, "--checkpoint")
    inspect("load", scratch / "none", dump, "--memory-folder", "none")
    assert (scratch / "none/segment").exists() and not (scratch / "none/checkpoint").exists()
    write_lines(scratch / "cut", lines_of(dump)[:-1])
    inspect("load", scratch / "other", scratch / "cut", "--memory-folder", memory, code=1)
    assert list(memory.iterdir()) == [home] and not (scratch / "other").exists()
    shutil.rmtree(home)
    assert inspect("dump", f"{loaded}@checkpoint").bytes == dump.read_bytes()


def test_a_load_that_is_killed_leaves_no_state_and_is_called_again(inspect, whole, scratch, rng):
    (scratch / "dump").write_bytes(whole)
    for _ in range(8):
        running = inspect.start("load", scratch / "to", scratch / "dump")
        try:
            running.process.wait(rng.uniform(0.001, 0.05))
        except Exception:
            pass
        ended = running.kill().code == 0
        is_there = (scratch / "to").exists()  # it may be killed between the state's name and its end
        assert is_there or not ended
        if not is_there:
            inspect("load", scratch / "to", scratch / "dump")
        assert inspect("dump", scratch / "to").bytes == whole
        shutil.rmtree(scratch / "to")


# --- rescue ---


def test_a_rescue_has_all_objects_but_those_of_which_a_text_is_nowhere(inspect, sample, scratch):
    state = sample("sample")
    of = Segment(state)
    of.flip("post.objects", of.field("post", 7, "body") + 6)  # another slot
    file, to = scratch / "dump", scratch / "to"
    inspect("dump", state, "--rescue", "--output", file, code=4).says(
        "post: 1 objects cannot be read"
    )
    inspect("load", to, file)
    inspect("check", to)
    others = ("account", "token", "marker")
    assert inspect("dump", to, *others).bytes == inspect("dump", state, *others).bytes
    assert inspect("count", to, "post").out == "399\n"
    inspect("get", to, "post", "id", "7", code=1)
    assert '{"post":{"id":8,' in inspect("dump", to, "post").out


def test_a_rescue_of_a_sound_state_is_its_dump(inspect, samples, whole):
    rescued = inspect("dump", samples("sample"), "--rescue").bytes
    assert rows_of(rescued) == rows_of(whole)


def test_a_rescue_without_the_log_has_all_and_says_that_no_block_is_known_to_be_whole(
    inspect, sample, whole
):
    state = sample("sample")
    (state / "segment/undo_log").write_text("none")
    before = image(state)
    rescued = inspect("dump", state, "--rescue", code=4)
    assert rows_of(whole) in rescued.bytes
    assert "undo_log cannot be read" in rescued.err
    assert {k: v for k, v in image(state).items() if k != "readers"} == {
        k: v for k, v in before.items() if k != "readers"
    }
