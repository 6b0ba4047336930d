"""A state's files, read and changed a word at a time, and states made by sample_state.

Where words are follows from the catalogue alone, by the pictures in the engine's READMEs: a file of
the segment begins with a page that has a header of 64 bytes and then the root block; slots follow.
"""

import json
import os
import struct
import subprocess
import zlib
from pathlib import Path

from programs import program

PAGE = 4096
ROOT = 64  # of a window: where its root block begins


# --- sample_state ---


def make(what, state):
    program("sample_state")("make", what, state)
    return Path(state)


def change(state, types, *steps, **settings):
    """Opens the state with these types, takes the steps and closes it; what they answered."""
    call = [f"{name}={value}" for name, value in settings.items()]
    return program("sample_state")("do", state, *call, types, *steps).json_lines


def opens(state, types="account,post,token,marker", **settings):
    """What opening the state for writing and closing it says; None when it is refused."""
    call = [f"{name}={value}" for name, value in settings.items()]
    result = program("sample_state")("do", state, *call, types, "say", code=(0, 1))
    return result.json if result.code == 0 else None


class Stay:
    """A process that has a state open and takes steps when it is told to."""

    def __init__(self, state, types, *steps, **settings):
        call = [f"{name}={value}" for name, value in settings.items()]
        self.running = program("sample_state").start(
            "do", state, *call, types, *steps, "-", stdin=subprocess.PIPE
        )
        self._read = 0
        while self._line() != "ready":
            pass

    def _line(self):
        found = self.running.wait_for(r"(?:^|\n)?([^\n]*)\n", since=self._read)
        self._read += found.end()
        return json.loads(found.group(1))

    def step(self, text):
        """Takes a step; what it answered."""
        self.running.send(text + "\n")
        return self._line()

    @property
    def pid(self):
        return self.running.pid

    def close(self):
        self.running.close_stdin()
        return self.running.wait()

    def kill(self):
        return self.running.kill()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


class Writer(Stay):
    """A process that changes the state "sample" at random all the time."""

    def __init__(self, state):
        self.running = program("sample_state").start("write", state, stdin=subprocess.PIPE)
        self._read = 0
        self._line()


# --- looking at files ---


def image(folder, without=()):
    """Every file below a folder with its time of change and content."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if name in without:
            continue
        status = path.lstat()
        found[name] = (status.st_mtime_ns, path.read_bytes() if path.is_file() else None)
    return found


def content(folder):
    """The same without the file in which processes take turns and without times."""
    return {
        name: data for name, (_, data) in image(folder, ("readers",)).items() if data is not None
    }


def bytes_below(folder, suffix=""):
    return sum(
        path.stat().st_size
        for path in Path(folder).rglob("*" + suffix)
        if path.is_file() and not path.is_symlink()
    )


def flip_bit(file, bit):
    with open(file, "r+b") as both:
        both.seek(bit // 8)
        byte = both.read(1)[0] ^ 1 << bit % 8
        both.seek(bit // 8)
        both.write(bytes([byte]))


def cut(file, length):
    os.truncate(file, length)


def write_at(file, at, data):
    with open(file, "r+b") as both:
        both.seek(at)
        both.write(data)


def replace_in(file, old, new):
    text = Path(file).read_bytes()
    assert old in text, f"no {old} in {file}"
    Path(file).write_bytes(text.replace(old, new, 1))


class Segment:
    """The files of a closed or dead state's segment."""

    def __init__(self, state, folder=None):
        self.state = Path(state)
        self.folder = Path(folder) if folder else self.state / "segment"
        self.types = {
            one["name"]: one
            for one in program("chainbase-inspect").json("schema", self.state)["types"]
        }

    def file(self, name):
        return self.folder / name

    def read(self, name, at, format="<I"):
        with open(self.file(name), "rb") as file:
            file.seek(at)
            return struct.unpack(format, file.read(struct.calcsize(format)))[0]

    def write(self, name, at, value, format="<I"):
        write_at(self.file(name), at, struct.pack(format, value))

    def flip(self, name, at, bit=5):
        flip_bit(self.file(name), 8 * at + bit)

    def slot(self, type, id):
        return self.read(f"{type}.ids", PAGE + 4 * id)

    def node(self, type, id=None):
        """Where the node of an object is in TYPE.objects; of slot 0 without an id."""
        slot = 0 if id is None else self.slot(type, id)
        return PAGE + slot * self.types[type]["node_bytes"]

    def value(self, type, id):
        return self.node(type, id) + self.types[type]["value_offset"]

    def field(self, type, id, name):
        offset = next(one["offset"] for one in self.types[type]["fields"] if one["name"] == name)
        return self.value(type, id) + offset

    def links(self, type, key, id=None):
        """Where the links of an ordered key are: parent, left, right, and of a ranked one a count.
        Those of the last key come first."""
        at = self.types[type]["value_offset"]
        for one in self.types[type]["indexes"]:
            if one["kind"].startswith("hashed"):
                continue
            at -= 16 if one["kind"].startswith("ranked") else 12
            if one["name"] == key:
                return self.node(type, id) + at
        raise KeyError(key)

    def ring(self, type, key, id):
        """Where the links of objects with an equal hashed key are: before all those of trees."""
        indexes = self.types[type]["indexes"]
        sizes = {"hashed_unique": 0, "hashed_non_unique": 8, "ranked": 16, "ordered": 12}
        all_bytes = sum(
            sizes.get(one["kind"], sizes.get(one["kind"].split("_")[0], 0)) for one in indexes
        )
        at = self.types[type]["value_offset"] - all_bytes
        for one in indexes:
            if one["name"] == key:
                return self.node(type, id) + at
            at += 8 if one["kind"] == "hashed_non_unique" else 0
        raise KeyError(key)

    def table_words(self, type, number=0):
        """Where in TYPE.objects the words of a hash table are: logarithm of its entries, count."""
        return ROOT + 16 + 8 * number


class Header:
    """The words of segment/header, written with a checksum that fits."""

    PLACES = {
        "format": (16, "<I"),
        "windows": (20, "<I"),
        "window_bytes": (24, "<Q"),
        "checksum": (32, "<I"),
        "clean": (36, "<I"),
        "boot": (48, "<40s"),
    }

    def __init__(self, state):
        self.file = Path(state) / "segment/header"

    def is_open(self):
        page = self.file.read_bytes() if self.file.is_file() else b""
        return len(page) == PAGE and page[36:40] == bytes(4)

    def set(self, **values):
        page = bytearray(self.file.read_bytes())
        for name, value in values.items():
            at, format = self.PLACES[name]
            struct.pack_into(format, page, at, value)
        if "checksum" not in values:
            struct.pack_into("<I", page, 32, zlib.crc32(bytes(page[:32])))
        write_at(self.file, 0, bytes(page))


def restart_the_machine(state):
    Header(state).set(boot=b"another boot")


def die(state):
    """What a kill leaves in the header."""
    Header(state).set(clean=0)
    claim(state)


def claim(state):
    """Has a copy of a state whose writer died count as that state."""
    if Header(state).is_open():
        program("chainbase-inspect")("repair", "--from", "copy", "--yes", state, code=(0, 1, 2))
