"""The wheel, the interface's description, and the page about it."""

import ast
import base64
import hashlib
import inspect as introspection
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import chainbase
from chainbase import _chainbase
from programs import TREE

BUILD = Path(chainbase.__file__).parent.parent


def test_the_wheel_is_whole_and_its_content_runs(samples, scratch):
    made = [subprocess.run([sys.executable, TREE / "tools/python/wheel.py", BUILD, chainbase.__version__],
                           stdout=subprocess.PIPE, text=True, check=True).stdout.strip() for _ in range(2)]
    wheel = Path(made[0])
    assert wheel.name.startswith(f"chainbase-{chainbase.__version__}-cp3")
    with zipfile.ZipFile(wheel) as file:
        content = {name: file.read(name) for name in file.namelist()}
        file.extractall(scratch / "site")
    info = f"chainbase-{chainbase.__version__}.dist-info"
    listed = dict(line.split(",", 1) for line in content[f"{info}/RECORD"].decode().splitlines())
    assert set(listed) == set(content)
    for name, line in listed.items():
        if line != ",":
            digest = base64.urlsafe_b64encode(hashlib.sha256(content[name]).digest()).rstrip(b"=").decode()
            assert line == f"sha256={digest},{len(content[name])}"
    assert {"chainbase/__init__.py", "chainbase/py.typed", "chainbase/_chainbase.pyi"} <= set(content)
    call = "import sys, chainbase; print(chainbase.__file__, len(chainbase.open(sys.argv[1])['account']))"
    out = subprocess.run([sys.executable, "-B", "-c", call, samples("sample")], text=True, check=True, cwd="/",
                         stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(scratch / "site")}).stdout
    with chainbase.open(samples("sample")) as state:
        assert out.split() == [str(scratch / "site/chainbase/__init__.py"), str(len(state["account"]))]


def test_every_public_name_is_documented():
    assert {name for name in vars(chainbase) if not name.startswith("_")} >= set(chainbase.__all__) - {"__version__"}
    for name in chainbase.__all__:
        one = getattr(chainbase, name)
        if not isinstance(one, str):
            assert one.__doc__, name
    for name in ("State", "Block", "Table", "Feed"):
        for member, one in introspection.getmembers(getattr(chainbase, name), introspection.isfunction):
            if not member.startswith("_"):
                assert introspection.signature(one).return_annotation is not introspection.Signature.empty or \
                    member.startswith("to_"), f"{name}.{member}"


def test_every_error_of_the_library_has_a_class():
    errors = re.findall(r"^class (\w+)_error : public", (TREE / "pool_allocator/base/error.hpp").read_text(), re.M)
    assert len(errors) > 12
    for one in errors:
        name = "".join(word.capitalize() for word in one.split("_")) + "Error"
        assert issubclass(getattr(chainbase, name), chainbase.Error), name


def test_the_hints_are_those_of_the_extension():
    hints = ast.parse((TREE / "tools/python/chainbase/_chainbase.pyi").read_text())
    hinted = {one.name: {member.name for member in one.body if isinstance(member, ast.FunctionDef)}
              for one in hints.body if isinstance(one, ast.ClassDef)}
    there = {name: one for name, one in vars(_chainbase).items() if isinstance(one, type)}
    assert set(hinted) == set(there)
    for name, members in hinted.items():
        if not issubclass(there[name], Exception):
            own = {member for member in vars(there[name]) if not member.startswith("_")}
            assert own == {member for member in members if not member.startswith("_")}, name


def test_the_page_shows_calls_that_exist():
    text = (TREE / "tools/python/README.md").read_text()
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S))
    compile(code, "README.md", "exec")
    for name in re.findall(r"\b(?:state|block|accounts|feed)\.(\w+)\(", code):
        assert any(hasattr(one, name) for one in (chainbase.State, chainbase.Block, chainbase.Table,
                                                  chainbase.Feed)), name
