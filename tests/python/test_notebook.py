"""tools/python/steem-2016.ipynb runs from top to bottom, and prints what it shows.

    tests/python/test_notebook.py        makes its outputs and pictures anew
"""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent.parent
NOTEBOOK = TREE / "tools/python/steem-2016.ipynb"
LOG = TREE / "tools/chains/social/data/steem-2016.blocks"


def run_cells():
    """What each cell of code prints. In a process of its own, with CHAINBASE_STATE."""
    import matplotlib

    matplotlib.use("Agg")
    names, printed = {}, []
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile("".join(cell["source"]), NOTEBOOK.name, "exec"), names)
            printed.append(out.getvalue())
    print(json.dumps(printed))


def outputs(state, pictures, package):
    call = f"import sys; sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(package)!r}]; " \
           "import test_notebook; test_notebook.run_cells()"
    environment = {**os.environ, "CHAINBASE_STATE": str(state), "CHAINBASE_PICTURES": str(pictures)}
    made = subprocess.run([sys.executable, "-B", "-c", call], env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(made.stdout)


def test_the_notebook_shows_what_comes(driver, scratch):
    import chainbase
    import pytest

    pytest.importorskip("matplotlib", reason="tools/setup.sh --notebook")
    driver("replay", "--block-log", LOG, "--state", scratch / "steem")
    made = outputs(scratch / "steem", scratch, Path(chainbase.__file__).parent.parent)
    shown = ["".join("".join(output["text"]) for output in cell["outputs"])
             for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert made == shown
    for picture in ("richest", "votes", "memory"):
        assert (scratch / f"{picture}.png").stat().st_size > 5000
        assert (NOTEBOOK.parent / f"pictures/{picture}.png").stat().st_size > 5000


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([TREE / "build/release/bin/chainbase-driver", "replay", "--block-log", LOG, "--state",
                        f"{folder}/steem"], check=True, stdout=subprocess.DEVNULL)
        made = outputs(f"{folder}/steem", NOTEBOOK.parent / "pictures", TREE / "build/release/python")
    notebook = json.loads(NOTEBOOK.read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, text) in enumerate(zip(cells, made), 1):
        cell["execution_count"] = number
        cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": text.splitlines(True)}] if text else []
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
