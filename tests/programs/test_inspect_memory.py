"""tree, map and warm: where the bytes of a state are, and which of them are in memory."""

import json
import os
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from programs import need
from segment import PAGE, ROOT, Segment, Stay, Writer, bytes_below, change, image, opens, write_at
from terminal import Terminal

SAMPLE = "account,post,token,marker"


# --- tree ---


def require_sums(node):
    """Inner nodes are the sums of their children, which stand in order of size; returns leaves."""
    children = node.get("children", [])
    if not children:
        return node["bytes"]
    sizes = [one["bytes"] for one in children]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] > 0
    assert all(one["held"] <= one["bytes"] for one in children)
    assert node["held"] == sum(one["held"] for one in children)
    assert node["bytes"] == sum(require_sums(one) for one in children)
    return node["bytes"]


def at(node, *names):
    for name in names:
        node = next(one for one in node["children"] if one["name"] == name)
    return node


def names_in(node):
    return {one["name"] for one in node["children"]}


def tree_of(inspect, state):
    return inspect.json("tree", state)["tree"]


HOSTILE = 'a;b <script><!--"\n'


@pytest.fixture
def with_files(sample):
    """A state beside whose segment there are files of other kinds, one with a hostile name."""
    state = sample("sample")
    (state / "archive/inner").mkdir(parents=True)
    (state / "archive/inner/000007.sst").write_bytes(b"x" * 50_000)
    (state / "checkpoint").mkdir(0o700)
    (state / "checkpoint/pages").write_bytes(b"x" * 12_345)
    (state / "checkpoint/pages").chmod(0o600)
    (state / HOSTILE).write_bytes(b"0123456789")
    return state


def test_the_leaves_of_a_closed_state_sum_to_its_files(inspect, with_files):
    root = tree_of(inspect, with_files)
    assert require_sums(root) == root["bytes"] == bytes_below(with_files)
    segment = at(root, "segment")
    assert segment["bytes"] == bytes_below(with_files / "segment")
    catalogue = (with_files / "segment/catalogue.json").stat().st_size
    assert at(segment, "catalogue.json")["bytes"] == catalogue
    assert at(root, "archive", "inner", "000007.sst")["bytes"] == 50_000
    assert at(root, "checkpoint", "pages")["bytes"] == 12_345
    stat = inspect("stat", with_files, "--json", code=(0, 1)).json
    account = stat["types"][0]
    node = at(segment, "types", "account")
    assert node["bytes"] == account["total"]["total"]
    assert at(node, "values")["bytes"] == account["nodes"]["values"]
    assert at(node, "links")["bytes"] == account["nodes"]["links"]
    assert at(node, "ids")["bytes"] == account["ids"]["total"]
    assert at(segment, "buffers")["bytes"] == stat["sums"]["buffers"]
    assert at(segment, "types")["bytes"] == stat["sums"]["types"]
    assert at(segment, "undo_log", "records")["bytes"] == stat["log"]["memory"]["values"]


def test_what_was_punched_is_not_held(inspect, sample):
    state = sample("sample")
    change(state, SAMPLE, "commit", "compact")
    root = tree_of(inspect, state)
    assert require_sums(root) == bytes_below(state)
    segment = at(root, "segment")
    assert segment["bytes"] - segment["held"] >= inspect.json("stat", state)["total"]["punched"]


def ncdu_bytes(node, size):
    if isinstance(node, dict):
        return node[size]
    assert "name" in node[0]
    return sum(ncdu_bytes(one, size) for one in node[1:])


def test_json_ncdu_and_folded_say_the_same_bytes(inspect, with_files):
    before = image(with_files)
    all_bytes = bytes_below(with_files)
    text = inspect("tree", with_files, "--json").out
    assert text.startswith('{\n "schema_version": 1,')
    found = json.loads(text)
    assert found["state"] == str(with_files)
    assert found["segment"] == f"{with_files}/segment"
    assert (found["condition"], found["consistent"]) == ("closed", True)
    assert found["discrepancies"] == []
    assert found["bytes"] == found["tree"]["bytes"] == all_bytes
    assert found["tree"]["name"] == "state"
    assert any(one["name"] == HOSTILE for one in found["tree"]["children"])

    one, two, head, root = inspect("tree", with_files, "--ncdu").json
    assert (one, two, head["progname"]) == (1, 2, "chainbase-inspect")
    assert root[0]["name"] == str(with_files)
    assert ncdu_bytes(root, "asize") == all_bytes
    assert ncdu_bytes(root, "dsize") == found["tree"]["held"]

    stacks = {}
    for line in inspect("tree", with_files, "--folded").out.splitlines():
        stack, size = line.split(" ")
        assert stack.startswith("state;")
        stacks[stack] = int(size)
    assert sum(stacks.values()) == all_bytes
    assert 'state;a:b_<script><!--"_' in stacks
    assert image(with_files) == before


def data_in(page):
    return json.loads(page.split('<script type="application/json" id="data">')[1].split("</script")[0])


def test_html_is_one_page_that_names_cannot_break(inspect, with_files, scratch):
    file = scratch / "tree.html"
    file.write_text("before")
    assert inspect("tree", with_files, "--html", file).out == ""
    page = file.read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert page.count("<script") == 2  # its own
    assert page.count("<!--") == 0
    assert page.count("://") == 0  # nothing from elsewhere
    assert data_in(page) == inspect.json("tree", with_files)


def test_the_text_has_every_part_with_its_share(inspect, samples):
    text = inspect("tree", samples("sample")).out
    assert text.startswith("sample ") or text.startswith("state ")
    for part in ("100.0 %", "├─ segment", "account", "marker", "undo_log", "buffers.runs",
                 "catalogue.json", "█"):
        assert part in text


def test_tree_beside_a_writer_and_after_its_death(inspect, sample):
    state = sample("sample")
    with Writer(state):
        for _ in range(15):
            found = inspect.json("tree", state)
            assert found["condition"] == "writer_running"
            require_sums(found["tree"])
    before = image(state)
    found = inspect.json("tree", state)
    assert found["condition"] == "writer_died"
    require_sums(found["tree"])
    inspect("tree", state)
    assert image(state) == before


def test_a_wrong_call_of_tree_is_exit_2(inspect, sample, run):
    state = sample("sample")
    for more in ("--ncdu --json", "--folded --html x.html", "--yaml", "more"):
        inspect("tree", state, *more.split(), code=2)
    inspect("tree", state, "--html", state / "x.html", code=2)
    run("/bin/sh", "-c", f"exec {inspect} tree {state} --json >/dev/full", code=1)


def test_an_archive_on_disk_by_families_and_levels_log_files_and_the_rest(inspect, sample):
    state = sample("notes.rocksdb")
    (state / "archive/rocksdb/000999.sst").write_bytes(b"of no family")
    (state / "archive/rocksdb/000998.log").write_bytes(b"of a writer that died")
    before = image(state)
    root = tree_of(inspect, state)
    assert image(state) == before
    assert require_sums(root) == bytes_below(state)
    archive = at(root, "archive")
    assert archive["bytes"] == bytes_below(state / "archive")
    rocksdb = at(archive, "rocksdb")
    assert rocksdb["bytes"] == bytes_below(state / "archive/rocksdb")
    notes = at(rocksdb, "table", "note")
    assert at(notes, "level 0")["bytes"] == notes["bytes"]
    assert at(rocksdb, "000999.sst")["bytes"] == 12
    in_tables = bytes_below(state / "archive/rocksdb", ".sst")
    assert notes["bytes"] + at(rocksdb, "default")["bytes"] + 12 == in_tables
    assert at(rocksdb, "log files", "000998.log")["bytes"] == 21
    in_logs = bytes_below(state / "archive/rocksdb", ".log")
    assert at(rocksdb, "log files")["bytes"] == in_logs
    assert "CURRENT" in names_in(rocksdb)
    assert "format" in names_in(archive)


def test_the_families_are_those_that_archive_tells_of(inspect, samples):
    state = samples("notes.rocksdb")
    families = inspect.json("archive", state)["rocksdb"]["families"]
    (told,) = (one for one in families if one["name"] == "table/note")
    notes = at(tree_of(inspect, state), "archive", "rocksdb", "table", "note")
    assert told["file_bytes"] == notes["bytes"]


def test_an_archive_that_cannot_be_read_is_its_files(inspect, sample):
    state = sample("notes.rocksdb")
    file = next((state / "archive/rocksdb").glob("*.sst"))
    (state / "archive/rocksdb/CURRENT").write_text("nonsense\n")
    root = tree_of(inspect, state)
    assert require_sums(root) == bytes_below(state)
    rocksdb = at(root, "archive", "rocksdb")
    assert at(rocksdb, file.name)["bytes"] == file.stat().st_size
    assert "table" not in names_in(rocksdb)
    inspect("tree", state)


@pytest.mark.parametrize("kind", ["memory", "none"])
def test_other_kinds_of_archive_have_no_families(inspect, samples, kind):
    state = samples(f"notes.{kind}")
    root = tree_of(inspect, state)
    assert require_sums(root) == bytes_below(state)
    assert "format" in names_in(at(root, "archive"))
    assert "rocksdb" not in names_in(at(root, "archive"))


def test_tree_beside_a_writer_of_the_archive(inspect, scratch):
    state = scratch / "state"
    steps = ("note author 1 title", "retire 0", "hand_over", "sync_rows")
    with Stay(state, "note", *steps, archive="rocksdb"):
        for _ in range(5):
            root = tree_of(inspect, state)
            require_sums(root)
            assert at(root, "archive", "rocksdb", "log files")["bytes"] > 0


# --- map ---


def require_cells(file):
    """What holds of every sample, whatever a writer did meanwhile."""
    assert file["header"] + file["in_use"] + file["free"] + file["never_used"] == file["bytes"]
    pages = file["pages"]
    assert pages["header"] + pages["never_used"] + sum(pages["fullness"]) == pages["all"]
    assert pages["all"] * PAGE == file["bytes"]
    assert pages["punched"] <= pages["fullness"][0]
    assert sum(one["bytes_in_use"] for one in file["cells"]) == file["header"] + file["in_use"]
    assert sum(one["pages"] for one in file["cells"]) == pages["all"]
    assert file["longest_free_run"]["pages"] <= pages["all"]
    slots = file["slots"]
    if file["slot_bytes"]:
        header = 0 if file["kind"] == "runs" else PAGE
        assert sum(slots.values()) == (file["bytes"] - header) // file["slot_bytes"]


def files_of(found):
    return {one["file"]: one for one in found["files"]}


def require_same(found, stat):
    """The map of a state at rest says what stat does."""
    assert (found["consistent"], found["discrepancies"]) == (True, [])
    assert found["bytes"] == stat["total"]["files"]
    for one in found["files"]:
        require_cells(one)
    files = files_of(found)

    def same(name, memory):
        slots = files[name]["slots"]
        assert files[name]["bytes"] == memory["total"]
        assert files[name]["header"] == memory["header"]
        assert (slots["used"], slots["free"], slots["never_used"]) == (
            memory["slots"]["live"], memory["slots"]["free"], memory["slots"]["never_used"],
        )  # fmt: skip

    same("undo_log", stat["log"]["memory"])
    assert files["undo_log"]["in_use"] == stat["log"]["memory"]["values"]
    for one in stat["buffers"]:
        same(one["name"], one["memory"])
        assert files[one["name"]]["in_use"] == one["memory"]["values"]
    for one in stat["types"]:
        objects = files[one["name"] + ".objects"]
        same(one["name"] + ".objects", one["nodes"])
        assert objects["in_use"] == one["objects"] * one["node_bytes"]
        assert files[one["name"] + ".ids"]["in_use"] == one["ids"]["links"]
        tables = [f for f in files.values() if f["type"] == one["name"] and f["kind"] == "hash"]
        assert sum(each["in_use"] for each in tables) == one["tables"]["links"]


def test_map_json_has_every_member_and_its_numbers_are_those_of_stat(inspect, samples):
    state = samples("sample")
    printed = inspect("map", state, "--json")
    assert printed.out.startswith('{\n "schema_version": 1,')
    found = printed.json
    assert found["state"] == str(state)
    assert found["segment"] == f"{state}/segment"
    assert (found["condition"], found["page_bytes"]) == ("closed", PAGE)
    assert found["bytes"] == sum(one["bytes"] for one in found["files"])
    assert found["in_use"] == sum(one["in_use"] for one in found["files"])
    assert found["bytes"] + found["other_files"] == bytes_below(state / "segment")
    require_same(found, inspect.json("stat", state))


def test_map_after_objects_of_many_sizes_were_removed_and_after_compaction(inspect, sample):
    state = sample("holes")
    found = inspect.json("map", state)
    require_same(found, inspect.json("stat", state))
    runs = files_of(found)["buffers.runs"]
    assert runs["slots"]["free"] >= 70  # those of some other texts, too
    assert runs["longest_free_run"]["pages"] == 70
    assert files_of(found)["token.objects"]["slots"]["free"] == 2500
    change(state, SAMPLE, "commit", "compact")
    found = inspect.json("map", state)
    require_same(found, inspect.json("stat", state))
    assert files_of(found)["token.objects"]["slots"]["free"] == 0


def test_what_was_removed_leaves_empty_pages(inspect, samples):
    files = files_of(inspect.json("map", samples("sample")))
    tokens, ids = files["token.objects"], files["token.ids"]
    # The first objects were removed; slot 0 is the container's own.
    empty = (PAGE + 2501 * tokens["slot_bytes"]) // PAGE - 2
    assert tokens["pages"]["fullness"][0] == empty
    assert tokens["longest_free_run"]["pages"] == empty
    assert (ids["slots"]["free"], ids["slots"]["used"]) == (2500, 500)
    assert ids["longest_free_run"]["pages"] == 2500 * 4 // PAGE


def test_what_an_undone_growth_left_in_a_table_counts_as_never_used(inspect, scratch):
    state = scratch / "state"
    change(state, "token", "session", "create token 3000", "undo", "create token 10")
    found = inspect.json("map", state)
    require_same(found, inspect.json("stat", state))
    table = files_of(found)["token.0.hash"]
    assert table["slots"]["used"] == 10
    assert table["bytes"] > 2 * PAGE
    assert table["never_used"] == table["bytes"] - 2 * PAGE
    assert files_of(found)["token.ids"]["slots"]["used"] == 10


@pytest.mark.parametrize("columns", [60, 80, 133])
def test_the_picture_has_a_line_per_file_that_fits_the_terminal(inspect, samples, columns):
    with Terminal(inspect, "map", samples("sample"), columns=columns, lines=120) as shown:
        assert shown.end() == 0
        text = shown.sent.replace("\r", "")
    lines = text[: text.index("\npages")].splitlines()
    pictures = [line for line in lines if line.endswith(" %")]
    assert all(len(line) == columns for line in pictures), pictures
    drawn = [
        one
        for one in inspect.json("map", samples("sample"))["files"]
        if not (one["kind"] == "buffers" and one["in_use"] == 0 and one["slots"]["free"] == 0)
    ]
    assert len(pictures) == len(drawn)


def test_the_text_of_a_map(inspect, samples):
    inspect("map", samples("sample")).says(
        "closed properly", "token.objects", "░", "█", "never used", "100 %", "longest free run"
    )


def test_map_of_a_damaged_state_ends_with_exit_1_and_says_where(inspect, sample):
    state = sample("holes")
    of = Segment(state)
    files = inspect.json("map", state)["files"]
    one = next(f for f in files if f["kind"] == "buffers" and f["slots"]["free"] > 1)
    first = of.read(one["file"], ROOT)  # let the first free slot follow itself
    of.write(one["file"], PAGE + first * one["slot_bytes"], first)
    result = inspect("map", state, code=1)
    assert f"{one['file']}: its free list leads to slot" in result.out
    write_at(of.file("token.ids"), PAGE + 4 * 2700, b"\xff\xff\xff\x7f")
    result = inspect("map", state, code=1)
    assert "token.ids: 1 entries that lead to no object" in result.out
    for file in inspect("map", state, "--json", code=1).json["files"]:
        require_cells(file)


def test_svg_replaces_a_file_and_leaves_nothing_else(inspect, samples, scratch):
    (scratch / "out").mkdir()
    file = scratch / "out/map.svg"
    file.write_text("before")
    before = image(samples("sample"))
    inspect("map", samples("sample"), "--svg", file)
    assert image(samples("sample")) == before
    assert list((scratch / "out").iterdir()) == [file]
    svg = file.read_text()
    assert svg.startswith("<svg ") and svg.endswith("</svg>\n")
    assert "prefers-color-scheme: dark" in svg
    for part in ("<title>token.objects: ", "<title>post.ids: ", 'class="empty"'):
        assert part in svg


def test_svg_has_its_colours_without_a_style_sheet_too(inspect, samples, scratch):
    """Many programs that show pictures know none."""
    inspect("map", samples("sample"), "--svg", scratch / "map.svg")
    all_elements = ElementTree.parse(scratch / "map.svg").getroot().iter()
    shapes = [one for one in all_elements if one.tag.split("}")[1] in ("rect", "text")]
    assert len(shapes) > 50
    for one in shapes:
        assert re.fullmatch(r"#[0-9a-f]{6}|none|url\(#hatched\)", one.get("fill", "black")), one.attrib
        assert one.get("fill") != "none" or one.get("stroke", "").startswith("#")
        assert not one.tag.endswith("text") or int(one.get("font-size")) >= 12


def test_what_may_not_be_written_is_refused_with_exit_2(inspect, sample, scratch):
    state = sample("sample")
    (scratch / "link.svg").symlink_to(state / "segment/header")
    before = image(state)
    for file in (state / "map.svg", state / "segment/header", scratch / "link.svg",
                 scratch / "missing/map.svg", scratch):
        inspect("map", state, "--svg", file, code=2)
    assert image(state) == before


def test_map_beside_a_writer_its_sums_hold_in_every_sample(inspect, sample):
    state = sample("sample")
    with Writer(state) as writer:
        for _ in range(40):
            found = inspect.json("map", state)
            assert found["condition"] == "writer_running"
            assert not found["consistent"] or found["discrepancies"] == []
            for one in found["files"]:
                require_cells(one)
        writer.close()
    require_same(inspect.json("map", state), inspect.json("stat", state))


def test_map_of_a_state_whose_writer_was_killed(inspect, sample):
    state = sample("sample")
    for _ in range(4):
        Writer(state).kill()
        before = image(state)
        found = inspect.json("map", state)
        assert found["condition"] == "writer_died"
        for one in found["files"]:
            require_cells(one)
        assert image(state) == before
    opens(state)
    require_same(inspect.json("map", state), inspect.json("stat", state))


def test_a_browser_draws_the_treemap_and_the_map_without_a_complaint(inspect, samples, scratch, run):
    need("chromium")
    inspect("tree", samples("sample"), "--html", scratch / "t.html")
    inspect("map", samples("sample"), "--svg", scratch / "m.svg")

    def rendered(page):
        result = run(
            "/usr/bin/env", "chromium", "--headless", "--no-sandbox", "--disable-gpu",
            f"--user-data-dir={scratch}/profile", "--window-size=1200,900", "--dump-dom",
            "--enable-logging=stderr", f"file://{page}", timeout=120,
        )  # fmt: skip
        assert "CONSOLE" not in result.err, result
        return result.out

    page = rendered(scratch / "t.html")
    assert page.count('class="tile') > 20
    assert '<td><button type="button">segment</button></td>' in page
    picture = rendered(scratch / "m.svg")
    assert "parsererror" not in picture and "Memory map of" in picture


# --- warm ---


def held_below(folder):
    return sum(one.stat().st_blocks * 512 for one in folder.iterdir())


def make_cold(folder):
    """Takes files out of memory, where they are on a disk."""
    for one in folder.iterdir():
        handle = os.open(one, os.O_RDONLY)
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def warm(inspect, state, *how):
    result = inspect("warm", state, *how, "--json")
    assert result.out.startswith('{\n "schema_version": 1,')
    found = result.json
    for file in found["files"]:  # what must hold on every machine
        assert file["data_bytes"] <= file["bytes"]
        assert file["to_fetch"] <= file["data_bytes"]
        assert file["huge_candidates"] <= file["data_bytes"]
        assert (file["resident_after"] or 0) <= file["bytes"]
        assert (file["huge"] or 0) <= file["bytes"]
        assert (file["dirty"] or 0) <= file["bytes"]
    return found


@pytest.mark.parametrize("place", ["scratch", "on_disk"])
def test_after_warm_all_that_files_hold_is_in_memory_and_nothing_else_is_another(
    inspect, samples, place, request
):
    state = Path(shutil.copytree(samples("sample"), request.getfixturevalue(place) / "state"))
    change(state, SAMPLE, "commit", "compact")  # punches holes
    before = image(state)
    held = held_below(state / "segment")
    make_cold(state / "segment")
    for how in (["--dry-run"], [], ["--hugepages"], ["--hugepages", "--dry-run"]):
        found = warm(inspect, state, *how)
        assert found["state"] == str(state)
        assert found["segment"] == f"{state}/segment"
        assert found["dry_run"] is ("--dry-run" in how)
        assert found["interrupted"] is False
        assert found["file_system"]
        total = found["total"]
        assert total["bytes"] == bytes_below(state / "segment")
        for member in ("bytes", "data_bytes", "to_fetch", "huge_candidates"):
            assert total[member] == sum(file[member] for file in found["files"])
        assert total["data_bytes"] <= held
        assert total["data_bytes"] < total["bytes"]  # there are holes
        if "--dry-run" in how:
            assert total["resident_after"] is None and total["huge"] is None
        else:
            assert total["resident_after"] >= total["data_bytes"]
            assert (total["huge"] is None) == (not how)
        assert held_below(state / "segment") == held
    assert image(state) == before
    assert warm(inspect, state, "--dry-run")["total"]["to_fetch"] == 0


def test_warm_says_what_is_to_be_written_to_the_disk(inspect, samples, on_disk):
    state = Path(shutil.copytree(samples("sample"), on_disk / "state"))
    make_cold(state / "segment")
    if warm(inspect, state)["total"]["dirty"] is None:
        pytest.skip("this kernel does not tell")
    assert warm(inspect, state, "--dry-run")["total"]["dirty"] == 0
    extra = state / "segment/extra"
    extra.write_bytes(b"x" * 8192)
    for how in ([], ["--dry-run"]):
        found = warm(inspect, state, *how)
        assert {file["file"]: file["dirty"] for file in found["files"]}["extra"] == 8192
        assert found["total"]["dirty"] == 8192
    inspect("warm", state).says("dirty", "8.0 KiB")


def test_what_is_not_in_huge_pages_has_a_reason(inspect, sample):
    state = sample("sample")
    (state / "segment/large").write_bytes(b"x" * (5 << 20))
    found = warm(inspect, state, "--hugepages")
    huge = found["huge_page_bytes"]
    if huge != 2 << 20:
        pytest.skip("huge pages are of another size here, or none")
    for file in found["files"]:
        assert file["huge_candidates"] % huge == 0
        assert (file["why_not_huge"] is None) == (file["huge"] >= file["huge_candidates"])
    assert {f["file"]: f["huge_candidates"] for f in found["files"]}["large"] == 4 << 20
    inspect("warm", state, "--hugepages").says("in huge pages", "large")


def test_warm_beside_a_writer_and_after_its_death(inspect, sample):
    state = sample("sample")
    with Writer(state) as writer:
        for times in range(6):
            warm(inspect, state, *(["--hugepages"] if times % 2 else []))
            assert not (state / "readers.new").exists()
        assert "readers    none" in inspect("locks", state).out
        writer.close()
    Writer(state).kill()
    before = image(state)
    assert warm(inspect, state)["total"]["resident_after"] > 0
    assert image(state) == before
    opens(state)
    inspect("check", state)


def test_warm_shows_progress_on_a_terminal_only(inspect, samples):
    assert inspect("warm", samples("sample")).err == ""
    with Terminal(inspect, "warm", samples("sample"), columns=120, lines=60) as shown:
        assert shown.end() == 0
        assert "in memory after" in shown.sent


def test_a_wrong_call_of_warm_is_exit_2(inspect, samples, scratch, run):
    inspect("warm", samples("sample"), "more", code=2)
    inspect("warm", code=2)
    inspect("warm", scratch / "none", code=1).says("there is nothing of this name")
    call = f"exec {inspect} warm {samples('sample')} --json >/dev/full"
    run("/bin/sh", "-c", call, code=1)
