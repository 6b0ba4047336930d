"""Help, the manual page and the completions: each verb and option is in them, and the programs that
they are for take them."""

import os
import re
from pathlib import Path

import pytest
from programs import folders, need


@pytest.fixture(scope="module")
def manual(inspect, session_scratch):
    """The folder of the page and the completions: as the program writes them, or as it was built."""
    written = session_scratch / "manual"
    written.mkdir()
    if inspect("--write-manual", written, code=None).code == 0:
        return written
    named = os.environ.get("CHAINBASE_MANUAL")
    places = [Path(named)] if named else []
    places += [one.parent / "tools/inspect/manual" for one in folders()]
    for place in places:
        if (place / "chainbase-inspect.1").exists():
            return place.absolute()
    pytest.fail(f"chainbase-inspect.1 is in none of {', '.join(map(str, places))}", pytrace=False)


@pytest.fixture(scope="module")
def verbs(inspect):
    """Each verb with its long options, as the program's help has them."""
    names = re.search(r"Subcommands:\n((?:  .*\n)+)", inspect("--help").out).group(1)
    found = {}
    for name in re.findall(r"^  (\S+)", names, re.MULTILINE):
        text = inspect(name, "--help").out
        found[name] = sorted(set(re.findall(r"(?:^|[ ,])(--[a-z][a-z-]*)", text)) - {"--help"})
    return found


def test_every_verb_has_help_with_its_arguments(inspect, verbs):
    assert {"stat", "info", "check", "schema", "undo", "dump", "load", "serve", "top"} <= set(verbs)
    assert len(verbs) >= 22
    for name in verbs:
        text = inspect(name, "--help").out
        assert "DIR" in text or "STATE" in text.upper(), name
        assert "--json" in verbs[name] or name in ("dump", "snapshot"), name  # the latter has verbs
    text = inspect("schema", "--help").out
    assert "TYPE" in text and "--c-header" in text


@pytest.mark.parametrize("call", ["status /", "--json", "stat", "stat / --yaml", "stat / /"])
def test_a_wrong_call_is_exit_2(inspect, call):
    inspect(*call.split(), code=2)


@pytest.mark.parametrize(
    "call, words",
    [
        ("inspect dump", "--output FILE"),
        ("inspect tree", "--html FILE"),
        ("inspect map", "--svg FILE"),
        ("inspect serve", "--token-file FILE"),
        ("driver replay", "--block-log FILE"),
        ("driver replay", "--state FOLDER"),
        ("driver replay", "--memory-folder FOLDER"),
        ("driver serve", "--forks FILE"),
        ("driver generate", "--fit FILE"),
        ("driver backup", "--to FOLDER"),
        ("driver restore", "--from FOLDER"),
        ("driver block-log trim", "--to FILE"),
        ("driver block-log salvage", "--to-folder FOLDER"),
        ("inspect range", "--limit NUMBER"),
    ],
)
def test_help_says_what_kind_of_value_an_option_takes(inspect, driver, call, words):
    program, *verb = call.split()
    assert re.search(rf"{words}\b", {"inspect": inspect, "driver": driver}[program](*verb, "--help").out)


def test_help_of_an_argument_is_its_name_and_its_choices(inspect, driver):
    def arguments(program, *verb):
        part = program(*verb, "--help").out.split("Positionals:\n")[1].split("\n\n")[0]
        return re.findall(r"^  (\S+(?: [^a-z ]\S*)*)", part, re.MULTILINE)

    assert arguments(inspect, "range") == ["DIR REQUIRED", "TYPE REQUIRED", "KEY=id", "PART ..."]
    assert arguments(inspect, "diff") == ["A REQUIRED", "B REQUIRED"]
    assert arguments(inspect, "load") == ["DIR REQUIRED", "FILE"]
    assert "data {" in driver("import", "--help").out


def test_the_page_has_every_verb_and_option(manual, verbs):
    page = (manual / "chainbase-inspect.1").read_text()
    for part in (r".TH CHAINBASE\-INSPECT 1", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION",
                 ".SH VERBS", ".SH EXIT STATUS", ".SH EXAMPLES"):
        assert part in page
    for verb, options in verbs.items():
        assert f".SS {verb}\n" in page
        section = page.split(f".SS {verb}\n")[1].split("\n.S")[0]
        for option in options:
            assert option.replace("-", r"\-") in section, (verb, option)
    assert r"\fITYPE\fR" in page


def test_no_formatter_warns_of_the_page(manual, run):
    need("groff")
    result = run("/usr/bin/env", "groff", "-man", "-ww", "-z", "-Tutf8",
                 manual / "chainbase-inspect.1")
    assert result.both == ""


def test_man_shows_the_page(manual, run):
    need("man")
    page = run("/usr/bin/env", "man", "-l", manual / "chainbase-inspect.1",
               env={"MANWIDTH": "100", "MANPAGER": "cat", "MANROFFOPT": "-c"}).out
    text = re.sub(".\b", "", page)
    assert "chainbase-inspect schema DIR" in text


def test_the_program_tells_the_version_that_its_page_has(inspect, manual):
    told = inspect("--version").out
    assert re.fullmatch(r"chainbase-inspect \d+\.\d+\.\d+\n", told)
    assert inspect("-V").out == told
    page = (manual / "chainbase-inspect.1").read_text()
    assert f'"chainbase {told.split()[1]}"' in page
    assert r"\-\-version" in page


def offered(run, manual, words):
    """What bash offers for the last of the words."""
    last = len(words) - 1
    quoted = " ".join(f"'{word}'" for word in words)
    script = (f"source '{manual}/chainbase-inspect.bash'; COMP_WORDS=({quoted}); "
              f"COMP_CWORD={last}; _chainbase_inspect; echo ${{COMPREPLY[@]}}")
    return run("/bin/bash", "-c", script).out.split()


def test_bash_completes_verbs_and_the_options_of_the_one_that_was_called(run, manual, verbs):
    def after(*words):
        return offered(run, manual, ["chainbase-inspect", *words])

    assert after("st") == ["stat"]
    assert set(verbs) <= set(after(""))
    for verb, options in verbs.items():
        assert set(options) | {"--help"} == set(after(verb, "--")), verb
    assert after("schema", "state", "--d") == ["--dot"]
    assert after("stat", "--d") == []
    assert after("stat", "sta") == []  # a file's name
    assert after("--h") == ["--help"]
    assert after("--v") == ["--version"]


def test_zsh_takes_its_completions(run, manual, verbs):
    file = manual / "_chainbase-inspect"
    text = file.read_text()
    assert text.startswith("#compdef chainbase-inspect\n")
    assert "--dot:Print a directed graph for Graphviz" in text
    need("zsh")
    assert run("/usr/bin/env", "zsh", "-n", file).both == ""


def test_fish_takes_its_completions(run, manual, scratch):
    file = manual / "chainbase-inspect.fish"
    assert "-f -a schema -d " in file.read_text()
    need("fish")
    env = {"HOME": scratch}  # where fish makes folders of its own
    assert run("/usr/bin/env", "fish", "--no-execute", file, env=env).both == ""

    def complete(line):
        return run("/usr/bin/env", "fish", "-c", f"source {file}; complete -C '{line}'", env=env)

    assert "stat\t" in complete("chainbase-inspect st").out
    assert "--dot\t" in complete("chainbase-inspect schema --d").out
