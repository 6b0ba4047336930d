"""Fixtures of the tests of the reader for Python: those of tests/programs, and the package of the build."""

import ctypes
import json
import math
import os
import sys
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
sys.dont_write_bytecode = True
sys.path.insert(0, str(PROGRAMS))
sys.path.insert(0, os.environ.get("CHAINBASE_PYTHON_PACKAGE",
                                  str(PROGRAMS.parent.parent / "build/release/python")))

exec(compile((PROGRAMS / "conftest.py").read_text(), str(PROGRAMS / "conftest.py"), "exec"))


def rows_of(inspect, state, type, key="id", *more):
    """What `chainbase-inspect range` prints."""
    call = ("range", state, type, key, "--limit", "0", "--json", *more)
    return [json.loads(line) for line in inspect(*call).out.splitlines()[1:-1]]


def is_same(printed, value):
    """Whether a value is the one that the inspector prints so."""
    if isinstance(value, bytes):
        return printed == value.hex() or printed == {"hex": value.hex()}
    if isinstance(value, tuple) and hasattr(value, "fields"):
        return list(printed) == list(value.fields) and all(
            is_same(printed[name], value[name]) for name in value.fields)
    if isinstance(value, tuple):
        return len(printed) == len(value) and all(map(is_same, printed, value))
    if isinstance(value, float):
        if isinstance(printed, str):
            return printed.startswith("nan") or printed.startswith("-nan") if math.isnan(value) \
                else printed == str(value)
        return printed == value or abs(printed - value) <= 2e-7 * abs(value) or \
            ctypes.c_float(printed).value == value  # f32 has few digits
    return type(printed) is type(value) and printed == value


def require_same(printed, rows):
    rows = list(rows)
    assert len(printed) == len(rows)
    for one, row in zip(printed, rows):
        assert is_same(one, row), f"{one} is not {row}"
