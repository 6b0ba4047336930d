"""What is the same in every verb: wrong calls, help, progress, colours; and the inspector without a verb."""

import re
import shutil

import pytest
from chains import STEEM, Replays
from programs import TREE
from segment import Header, Writer, cut, image, opens, restart_the_machine
from terminal import Terminal


ENDLESS = [["generate"], ["load"], ["sync"], ["live"]]  # they need nothing to work for long


def verbs_of(program, *above):
    """Each verb, as a list of words."""
    text = program(*above, "--help").out
    if "Subcommands:" not in text:
        yield list(above)
        return
    for name in re.findall(r"^  (\S+)", text.split("Subcommands:\n")[1].split("\n\n")[0], re.M):
        yield from verbs_of(program, *above, name)


@pytest.fixture
def programs_by_name(inspect, driver, sink):
    return {"chainbase-inspect": inspect, "chainbase-driver": driver, "chainbase-sink": sink}


# --- wrong calls ---


@pytest.mark.parametrize(
    "call, words",
    [
        ("chainbase-inspect inf state", ['"inf" is no verb', "did you mean info?"]),
        ("chainbase-inspect chekc state", ["did you mean check?"]),
        ("chainbase-inspect xyzzy state", ['"xyzzy" is no verb of chainbase-inspect; `']),
        ("chainbase-inspect get state account by_name a --jsn", ['"--jsn" is no option',
                                                                "did you mean --json?"]),
        ("chainbase-inspect get state", ["chainbase-inspect get: TYPE is required",
                                         "`chainbase-inspect get --help`"]),
        ("chainbase-inspect info a b", ["chainbase-inspect info: ", " b"]),
        ("chainbase-inspect foo", ["is no verb of chainbase-inspect; `chainbase-inspect --help`"]),
        ("chainbase-driver", ["a verb is missing; `chainbase-driver --help`"]),
        ("chainbase-driver repla --block-log x", ["did you mean replay?"]),
        ("chainbase-driver replay --blck-log x --state y", ['"--blck-log" is no option',
                                                            "did you mean --block-log?"]),
        ("chainbase-driver --quiet replay --block-log x",
         ["options of a verb come after it: chainbase-driver replay ... --quiet"]),
        ("chainbase-driver block-log --json verify x",
         ["options of a verb come after it: chainbase-driver block-log verify ... --json"]),
        ("chainbase-driver block-log", ["a verb is missing; `chainbase-driver block-log --help`"]),
        ("chainbase-driver block-log verfy x", ["is no verb of chainbase-driver block-log",
                                                "did you mean verify?"]),
        ("chainbase-driver block-log verify x --operation", ["did you mean --operations?"]),
    ],
)  # fmt: skip
def test_a_wrong_word_is_named_with_the_nearest_right_one(call, words, programs_by_name, scratch):
    program, *rest = call.split()
    result = programs_by_name[program](*rest, code=2, cwd=scratch).says(*words)
    assert result.err.count("\n") == 1 and result.out == ""


def test_the_help_of_every_verb_has_an_example_that_is_a_right_call(programs_by_name, scratch):
    counted = 0
    for name, program in programs_by_name.items():
        assert "Exit codes:\n  0  Done." in program("--help").out
        for verb in verbs_of(program):
            text = program(*verb, "--help").out
            example = text.split("Example:\n")[1].split()
            assert example[: len(verb) + 1] == [name, *verb]
            for word in example:
                assert not word.startswith("--") or re.search(rf"{word}\b", text.split("Example")[0])
            if verb not in ENDLESS:
                result = program(*example[1:], code=None, cwd=scratch, timeout=60)
                assert result.code in (0, 1, 2) and "--help" not in result.err, result
            counted += 1
    assert counted > 45


# --- progress and colours ---

# verb of a state of STEEM -> what its progress says
LONG = {
    "check": ("inspect check state", r"checking: \d+ %"),
    "checkpoint": ("inspect check --checkpoint state", r"checking: \d+ %"),
    "compact": ("inspect compact state --commit", r"copying: \d+ %"),
    "copy": ("inspect backup state --to copied --without-archive", r"copying: \d+ %"),
    "dump": ("inspect dump state --output dump.jsonl", r"dumping: \d+ %"),
    "load": ("inspect load loaded dump.jsonl", r"loading: \d+ %"),
    "digest": ("inspect digest state", r"digesting: \d+ %"),
    "diff": ("inspect diff state copy", r"comparing: \d+ %"),
    "repair": ("inspect repair state", r"checking: \d+ %"),
    "warm": ("inspect warm state", r"warming: \d+ %"),
    "root": ("inspect root rooted --verify", r"hashing the objects of \S+: \d+ %"),
    "backup": ("driver backup --state state --to monday", r"backing up: \d+ %"),
    "restore": ("driver restore --from monday --state restored", r"restoring: \d+ %"),
    "replay": ("driver replay --block-log log --state again --state-root all",
               r"replaying, with a root for each block: \d+ %"),
    "sync": ("driver sync --block-log log --state synced --once", r"following: block \d+"),
    "verify": ("driver block-log verify log --operations", r"verifying: \d+ %"),
    "generate": ("driver generate --operations 100000 --to made.blocks", r"generating: \d+ %"),
}  # fmt: skip
OFTEN = {"CHAINBASE_PROGRESS_SECONDS": "0.001"}


def test_a_long_verb_shows_its_progress_on_stderr_and_with_quiet_does_not(inspect, driver, scratch):
    replay = Replays(driver, scratch, STEEM)
    shutil.copy(replay.log, scratch / "log")
    driver("replay", "--block-log", scratch / "log", "--state", scratch / "state")
    shutil.copytree(scratch / "state", scratch / "copy")
    driver("replay", "--block-log", scratch / "log", "--state", scratch / "rooted", "--state-root", "all")

    def made_anew():
        for name in ("copied", "loaded", "monday", "restored", "again", "synced", "made.blocks"):
            shutil.rmtree(scratch / name, ignore_errors=True)
            (scratch / name).unlink(missing_ok=True)

    for how in (OFTEN, {}):  # {}: every ten seconds, and this takes less
        for call, said in LONG.values():
            if call.endswith("dump.jsonl") and "dump state" in call:
                (scratch / "dump.jsonl").unlink(missing_ok=True)
            program, *words = call.split()
            result = {"inspect": inspect, "driver": driver}[program](*words, cwd=scratch, env=how)
            assert bool(re.search(said, result.err)) == bool(how), result
            assert "\r" not in result.err and "\x1b" not in result.err
        made_anew()
    assert " left, " in driver("replay", "--block-log", "log", "--state", "again", "--state-root",
                               "all", cwd=scratch, env=OFTEN).err
    made_anew()
    (scratch / "dump.jsonl").unlink()
    for call, _ in LONG.values():
        program, *words = call.split()
        result = {"inspect": inspect, "driver": driver}[program](*words, "--quiet", cwd=scratch,
                                                                 env=OFTEN)
        assert not re.search(r"\d+ %, |ing: ", result.err), result


def test_on_a_terminal_progress_is_one_line_that_is_gone_at_the_end(driver, scratch):
    replay = Replays(driver, scratch, STEEM)
    shutil.copy(replay.log, scratch / "log")
    call = ("replay", "--block-log", scratch / "log", "--state", scratch / "state", "--state-root",
            "all")
    with Terminal(driver, *call, columns=70) as shown:
        shown.shows("replaying, with a root for each block: ")
        shown.shows(" left")
        assert sum("replaying" in line for line in shown.text.split("\n")) == 1
        assert shown.end() == 0
        assert "replaying" not in shown.text
        assert shown.sent.count("\r\x1b[K") >= 2
        pieces = [one.split("\r")[0] for one in shown.sent.split("\r\x1b[K")[1:]]
        assert all(len(one) < 70 for one in pieces if one.startswith("replaying")), pieces
    with Terminal(driver, *call[:-3], scratch / "other", "--quiet") as quiet:
        assert quiet.end() == 0
        assert "\x1b[K" not in quiet.sent


@pytest.mark.parametrize("env, has_colours", [({}, True), ({"NO_COLOR": "1"}, False),
                                              ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)])
def test_the_log_has_colours_on_a_terminal_that_shows_them(env, has_colours, inspect, scratch):
    with Terminal(inspect, "info", scratch / "none", env=env) as shown:
        assert shown.end() == 1
        assert ("\x1b[" in shown.sent) == has_colours, shown.sent


# --- the inspector without a verb ---


def test_without_a_verb_the_inspector_shows_the_state_or_lists_those_below(inspect, samples, scratch):
    inspect(code=1, cwd=scratch).says("no chainbase state is in this folder")
    shutil.copytree(samples("sample"), scratch / "a/b/state")
    shutil.copytree(samples("sample"), scratch / "other")
    (scratch / "empty").mkdir()
    for result in (inspect(cwd=scratch), inspect(scratch)):
        assert re.search(r"a/b/state +closed +12\n", result.out)
        assert re.search(r"other +closed +12\n", result.out)
        assert "empty" not in result.out and "`chainbase-inspect info STATE`" in result.out
    assert inspect(scratch / "other").out == inspect("info", scratch / "other").out
    assert inspect(cwd=scratch / "other").out.startswith("state      .\n")
    inspect(scratch / "empty", code=1).says("no chainbase state is in this folder")
    inspect(scratch / "none", code=2).says("is no verb of chainbase-inspect")


# --- doctor ---


def as_it_is(state):
    pass


def killed(state):
    Writer(state).kill()


def lost(state):
    """As after a restart of the machine."""
    Header(state).set(clean=0)
    restart_the_machine(state)


def without_checkpoint(state):
    lost(state)
    shutil.rmtree(state / "checkpoint")


def of_another_format(state):
    Header(state).set(format=99)


def with_a_damaged_header(state):
    cut(state / "segment/header", 100)


def without_segment(state):
    shutil.rmtree(state / "segment")


def open_to_all(state):
    state.chmod(0o777)


START = "start the program that writes it again"
# what happened -> which sample, what the sentence says, whether opening then does what it says
DOCTOR = {
    as_it_is: ("sample", "Nothing is to be done: it is closed, and goes on at revision 12.", True),
    killed: ("sample", f"Its writer died: {START}", True),
    lost: ("checkpointed", "is restored from checkpoint 2, revision", True),
    without_segment: ("checkpointed", START, True),
    with_a_damaged_header: ("checkpointed", "which restores its last checkpoint: `mv -- ", True),
    without_checkpoint: ("checkpointed", "put a copy of the folder in its place", False),
    of_another_format: ("sample", "format 99", False),
    open_to_all: ("sample", "chmod", False),
}


@pytest.mark.parametrize("what", DOCTOR, ids=lambda what: what.__name__)
def test_doctor_says_in_one_sentence_what_to_do_next(what, inspect, sample, run):
    made, says, opens_then = DOCTOR[what]
    state = sample(made)
    what(state)
    before = image(state)
    result = inspect("doctor", state)
    assert result.out.count("\n") == 1 and says in result.out, result
    assert image(state) == before
    if command := re.search("`(mv .*)`", result.out):
        run("/bin/sh", "-c", command.group(1))
    types = "account" if made == "checkpointed" else "account,post,token,marker"
    how = {"durability": "checkpoint"} if made == "checkpointed" else {}
    assert (opens(state, types, **how) is not None) == opens_then
    if opens_then:
        assert "Nothing is to be done" in inspect("doctor", state).out


def test_doctor_of_a_state_whose_archive_is_gone(inspect, driver, scratch):
    replay = Replays(driver, scratch, STEEM)
    replay("--stop-at", 100000)
    assert "Nothing is to be done" in inspect("doctor", replay.state()).out
    shutil.rmtree(replay.state() / "archive")
    inspect("doctor", replay.state()).says("put the archive of this state back in place")
    assert replay.driver(*replay.call(), code=1).says(
        "put the archive of this state back", "a copy of the archive of the dumped one")


def test_doctor_names_what_is_left_in_the_memory_folders_of_a_state(inspect, driver, scratch):
    named, preferred = scratch / "named", scratch / "preferred"
    for one in (named, preferred):
        one.mkdir()
        (one / f"chainbase-{0:032x}").mkdir(mode=0o700)
    replay = Replays(driver, scratch, STEEM)
    replay("--stop-at", 10000, "--memory-folder", named)
    state = replay.state()
    said = inspect("doctor", state, "--json", env={"CHAINBASE_MEMORY_FOLDER": preferred}).json
    homes = {one["home"] for one in said["orphans"]}
    assert homes >= {str(one / f"chainbase-{0:032x}") for one in (named, preferred)}, said
    assert said["segment_beside"] is None
    (state / "segment").mkdir()
    assert inspect("doctor", state, "--json").json["segment_beside"] == str(state / "segment")
    inspect("doctor", state).says("is not the segment of this state", f"rm -r -- '{state}/segment'")


def test_doctor_of_a_state_that_is_written_and_of_none(inspect, sample, scratch):
    state = sample("sample")
    with Writer(state) as writer:
        assert f"process {writer.pid} writes it" in inspect("doctor", state).out
    inspect("doctor", scratch / "none", code=1).says("there is nothing of this name")


# --- words ---

# Names of the glossary that are not used have other meanings in these.
MEANT = {
    "pointer": ("chainbase/object/declaration.hpp", "pool_allocator/shared_buffer.hpp"),
    "export": ("tools/inspect/state/c_header.cpp", "tools/inspect/memory/memory_tree.cpp"),
    "snapshot": ("chainbase/segment/doctor.cpp",),  # of btrfs
    "journal": ("tools/sink/sqlite/connection.cpp",),  # what SQLite calls it
    "rollback": ("tools/sink/sqlite/connection.cpp", "tools/sink/postgres/connection.cpp",
                 "tools/sink/postgres/postgres_link.cpp"),  # of SQL
}
QUOTED = r'"(?:[^"\\\n]|\\.)*"'
SHOWN = {".cpp": QUOTED, ".hpp": QUOTED, ".ipp": QUOTED, ".js": QUOTED + r"|`(?:[^`\\]|\\.)*`",
         ".html": r">[^<{]+<", ".txt": ".+"}  # fmt: skip


def test_names_that_the_glossary_discards_are_in_no_text_of_a_program():
    glossary = (TREE / "chainbase/glossary.md").read_text()
    names = [name.strip() for names in re.findall(r"\*Not:\* ([^|]*?)(?:, which| \|)", glossary)
             for name in names.split(",")]
    terms = set(re.findall(r"\w+", " ".join(re.findall(r"^\|(.*?)\|", glossary, re.M))))
    discarded = [name for name in names if name not in terms and name != "table"]  # as in "flat table"
    assert {"journal", "promise", "rollback", "write-ahead log"} <= set(discarded)
    files = [TREE / "tests/programs/abilities.txt"]
    for folder in ("pool_allocator", "undo", "chainbase", "archive", "tools"):
        files += [file for file in (TREE / folder).rglob("*") if not {"bench", "vendor"} & {*file.parts}]
    wrong = []
    for file in files:
        for part in re.finditer(SHOWN[file.suffix], file.read_text()) if file.suffix in SHOWN else ():
            for name in discarded:
                if re.search(rf"(?<![a-z]){name}s?(?![a-z])", part[0].replace("_", " "), re.I):
                    if str(file.relative_to(TREE)) not in MEANT.get(name, ()):
                        wrong.append(f"{file.relative_to(TREE)}: {name}: {part[0].strip()[:100]}")
    assert not wrong, "\n".join(wrong)
