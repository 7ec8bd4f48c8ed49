"""The notebook of the docs: it holds no outputs, and runs from the first cell to the last."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.places import DOCS

pytestmark = pytest.mark.process

NOTEBOOK = DOCS / "tutorials" / "notebook.ipynb"
PLAIN = os.environ.get("WORLDGAUGE_PLAIN", "")
JUPYTER = os.environ.get("WORLDGAUGE_JUPYTER", "")
SHOWN = """
import ast, json, sys
space = {"__name__": "__main__"}
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, cell["id"], "exec"), space)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), cell["id"], "eval"), space)
            html = getattr(value, "_repr_html_", lambda: "")()
            print(cell["id"], type(value).__name__, len(html or ""))
"""
"""Does what a notebook does with its cells: runs them in order, and shows the last value of each."""


def test_it_holds_no_outputs() -> None:
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 5
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])


@pytest.mark.parametrize(
    "python",
    [
        pytest.param(sys.executable, marks=pytest.mark.slow),  # the plain install does the same in CI
        pytest.param(PLAIN, marks=pytest.mark.skipif(not PLAIN, reason="no plain install: make test-plain")),
    ],
    ids=["here", "plain"],
)
def test_its_cells_run_in_order(python: str, tmp_path: Path) -> None:
    environment = dict(os.environ)
    if python == PLAIN:
        environment.pop("PYTHONPATH", None)
    words = [python, "-c", SHOWN, str(NOTEBOOK)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    shown = {kind: int(size) for _, kind, size in map(str.split, done.stdout.splitlines())}
    assert list(shown) == ["Collected", "Result", "Tables", "DataFrame", "Film", "PosixPath", "dict"]
    assert all(shown[kind] > 1000 for kind in ("Result", "Tables", "DataFrame", "Film"))
    assert (tmp_path / "report.html").exists()


@pytest.mark.skipif(not JUPYTER, reason="no environment with Jupyter's kernel: make test-plain")
def test_jupyter_runs_it_and_shows_tables_and_film(tmp_path: Path) -> None:
    code = (
        "import sys, nbformat\n"
        "from nbclient import NotebookClient\n"
        "book = nbformat.read(sys.argv[1], 4); nbformat.validate(book)\n"
        "NotebookClient(book, timeout=300).execute()\n"
        "nbformat.write(book, 'done.ipynb')"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [JUPYTER, "-P", "-c", code, str(NOTEBOOK)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    cells = json.loads((tmp_path / "done.ipynb").read_text("utf-8"))["cells"]
    html = [
        "".join(out["data"].get("text/html", "")) for cell in cells for out in cell.get("outputs", ()) if "data" in out
    ]
    assert sum("SGCS above chance" in one for one in html) == 2
    assert sum("data:video/mp4;base64," in one for one in html) == 1
