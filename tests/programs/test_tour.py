#!/usr/bin/python3
"""tools/tour.md is typed from top to bottom, and what it shows has to come; the calls of the READMEs are made, and each
has verbs and options that exist; the picture in the README shows the tour.

    tests/programs/test_tour.py        makes the picture anew
"""

import functools
import html
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from chains import CHAINS
from programs import TREE, folders

TOUR = TREE / "tools/tour.md"
PICTURE = TREE / "tools/inspect/pictures/tour.svg"
PICTURED = ("generate", "serve", "live", "kill -9", "doctor", "replay", "range", "bisect")


def steps():
    """What is typed, and the lines that are shown for it."""
    for block in re.findall(r"^```console\n(.*?)^```$", TOUR.read_text(), re.M | re.S):
        for step in block.split("$ ")[1:]:
            typed, *shown = step.rstrip("\n").split("\n")
            yield typed, shown


def pattern(line):
    """Spaces may be others; `...` is anything; times and rates vary where the text has none of them."""
    words = [re.escape(word) for word in line.split()]
    return r"\s+".join(words).replace(r"\.\.\.", r".*?")


class Shell:
    """One bash, as whoever follows the tour has it."""

    def __init__(self, folder):
        self.file = folder.parent / f"{folder.name}.out"
        path = ":".join([*map(str, folders()), os.environ["PATH"]])
        self.out = open(self.file, "wb")
        self.process = subprocess.Popen(["/bin/bash"], stdin=subprocess.PIPE, stdout=self.out,
                                        stderr=self.out, cwd=folder, env={**os.environ, "PATH": path},
                                        start_new_session=True)

    def type(self, line):
        """Everything that comes until the next prompt, and of a background job until it says something."""
        before = self.file.stat().st_size
        self.process.stdin.write(f"{line}\necho '[prompt]'\n".encode())
        self.process.stdin.flush()
        for _ in range(1200):
            came = self.file.read_bytes()[before:].decode()
            if came.endswith("[prompt]\n") and (not line.endswith("&") or "listening" in came):
                return came
            if "listening" in came and "[prompt]" in came:
                return came
            assert self.process.poll() is None, came
            signal.sigtimedwait([], 0.05)
        raise AssertionError(f"{line}: no end of\n{came[-3000:]}")

    def end(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.out.close()
        self.file.unlink()


def test_the_tour_shows_what_comes(scratch):
    folder = scratch / "tour"
    folder.mkdir()
    shell = Shell(folder)
    try:
        for typed, shown in steps():
            came = shell.type(typed)
            at = 0
            for line in shown:
                found = re.compile(pattern(line)).search(came, at)
                assert found, f"$ {typed}\ndoes not show, from here on: {line}\n{came}"
                at = found.end()
    finally:
        shell.end()


CALL = re.compile(r"^\s*(?:\$ )?(?:\./)?(chainbase-(?:driver|inspect|bench|sink))((?: .*)?)$")


@functools.cache
def options_of(program, verbs):
    """Those of a verb; none if there is no such verb."""
    result = program(*verbs, "--help", code=None)
    text = result.out if result.code == 0 else ""
    return re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text.split("Example:")[0])


def test_every_call_in_a_readme_has_verbs_and_options_that_exist(driver, inspect, bench, sink):
    programs = {"chainbase-driver": driver, "chainbase-inspect": inspect, "chainbase-bench": bench,
                "chainbase-sink": sink}
    wrong, seen = [], 0
    pages = subprocess.run(["git", "ls-files", "*.md"], cwd=TREE, capture_output=True, text=True).stdout
    for page in pages.split() or map(str, TREE.glob("**/*.md")):
        if page == "CHANGELOG.md":
            continue
        text = (TREE / page).read_text().replace("\\\n", " ")
        for line in text.split("\n"):
            call = CALL.match(line.split("  #")[0])
            if not call:
                continue
            name, words = call.group(1), call.group(2).replace("[", " ").replace("]", " ").split()
            verbs = tuple(word for word in words[:1] if re.fullmatch(r"(?!chainbase)[a-z][a-z-]+", word))
            if verbs in (("block-log",), ("snapshot",)):
                verbs += tuple(words[1:2])
            if not verbs:
                continue
            seen += 1
            known = options_of(programs[name], verbs)
            options = [word.split("=")[0] for word in words if word.startswith("--")]
            for one in options:
                if one not in known:
                    wrong.append(f"{page}: {name} {' '.join(verbs)} has no {one}")
            if not known:
                wrong.append(f"{page}: {name} has no verb {' '.join(verbs)}")
    assert not wrong, "\n".join(wrong)
    assert seen > 50


# page -> what its words stand for; in a folder with a log of 300 blocks, two states of it, one with roots, and a backup.
# Not here: those that the tour makes, that never end, and that measure for minutes.
MADE = {
    "tools/driver/README.md": {"LOG": "log", "F": "log", "DIR": "made", "100000": "200", "1000000": "100"},
    "tools/driver/backup.md": {
        "--from BACKUP --state DIR": "--from monday --state made", "BACKUP": "monday", "DIR": "state",
        "--state DIR --to BACKUP": "--state state --to tuesday",
    },
    "tools/driver/block_log_tools/README.md": {
        "--to OUT LOG": "--to whole log", "LOG --to OUT": "log --to part", "salvage LOG --to OUT": "salvage log --to saved",
        "LOG": "log", "DIR": "pieces", "N": "100",
    },
    "tools/driver/generate/README.md": {
        "--operations N --to BLOCK_LOG": "--operations 1000 --to made.blocks", "BLOCK_LOG": "log", "FILE": "log.forks",
        "PERCENT": "20",
    },
    "tools/driver/root/README.md": {"F": "log", "DIR": "rooted", "--state DIR": "--state made", "OTHER": "other"},
    "tools/inspect/README.md": {"checkpoint:12": "checkpoint:1", "checkpoint:13": "checkpoint:2"},
    "tools/inspect/rows/README.md": {"STATE": "state", "steemit": "NAME"},
}  # fmt: skip


def calls_of(page):
    """As they are typed without what is optional, and with the first of what is a choice."""
    for line in (TREE / page).read_text().split("\n"):
        call = CALL.match(line)
        if not call:
            continue
        words, said = re.split(r"\s{3,}|\s+#", call.group(2).strip())[0], None
        while said != words:
            said, words = words, re.sub(r" ?\[[^][]*\]", "", words)
        words = re.sub(r"\((.*?) \|.*?\)", r"\1", words)
        words = re.sub(r"(\w)\|\S+", r"\1", words).replace("...", "")
        for word, meant in sorted(MADE[page].items(), key=lambda one: -len(one[0])):
            words = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", meant, words)
        yield f"{call.group(1)} {words}"


@pytest.mark.parametrize("page", MADE)
def test_the_calls_of_a_readme_work(page, driver, inspect, scratch):
    driver("generate", "--operations", 20_000, "--to", scratch / "log")
    for state, options in (("state", []), ("rooted", ["--state-root", "all"])):
        for stop in (["--stop-at", 20], []):
            call = ("replay", "--block-log", scratch / "log", "--state", scratch / state, *options)
            driver(*call, *stop)
    driver("backup", "--state", scratch / "state", "--to", scratch / "monday")
    name = inspect.json("get", scratch / "state", "account", "id", 1)["rows"][0]["name"]
    path = ":".join([*map(str, folders()), os.environ["PATH"]])
    for call in calls_of(page):  # 5: what was compared differs
        result = subprocess.run(["/bin/bash", "-c", call.replace("NAME", name)], cwd=scratch, text=True,
                                capture_output=True, env={**os.environ, "PATH": path})
        assert result.returncode in (0, 5), f"{page}: {call}\n{result.stdout}{result.stderr}"


# --- the picture ---


def picture():
    """A terminal with the begin of the tour, drawn without a style sheet."""
    width, line_height, lines = 92, 17, []
    for typed, shown in steps():
        if not any(word in typed for word in PICTURED) or "chain payments" in typed:
            continue
        lines.append(("#8bd49c", "$ " + typed))
        lines += [("#d8dee9", line) for line in shown[:4]]
    drawn = []
    for number, (color, line) in enumerate(lines):
        cut = line if len(line) <= width else line[: width - 1] + "…"
        drawn.append(f'<text x="16" y="{48 + number * line_height}" fill="{color}" xml:space="preserve">'
                     f"{html.escape(cut)}</text>")
    height = 48 + len(lines) * line_height
    dots = "".join(f'<circle cx="{20 + 18 * n}" cy="18" r="6" fill="{color}"/>'
                   for n, color in enumerate(("#bf616a", "#ebcb8b", "#a3be8c")))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" width="760" '
            f'height="{height}" role="img" font-family="ui-monospace, monospace" font-size="13">\n'
            "<title>A terminal with a part of the tour</title>\n"
            f'<rect width="760" height="{height}" rx="8" fill="#20242c"/>{dots}\n'
            + "\n".join(drawn) + "\n</svg>\n")


def test_the_picture_in_the_readme_is_of_this_tour():
    assert PICTURE.read_text() == picture(), "call tests/programs/test_tour.py, which makes it anew"
    assert "tools/inspect/pictures/tour.svg" in (TREE / "README.md").read_text()


def test_the_quickstart_expects_what_the_chains_come_to():
    expected = (TREE / "tools/quickstart.sh").read_text()
    for chain in CHAINS:
        assert chain.digest in expected
        assert chain.root in expected


if __name__ == "__main__":
    PICTURE.write_text(picture())
    sys.exit(0)
