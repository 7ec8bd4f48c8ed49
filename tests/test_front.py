"""The public front: six light modules, and documentation, examples and adapters that import from nothing else."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import worldgauge
from support.places import ROOT
from support.registered import own_names
from worldgauge.metrics import metrics

FRONT = (
    "worldgauge",
    "worldgauge.suite",
    "worldgauge.model",
    "worldgauge.metrics",
    "worldgauge.world",
    "worldgauge.data",
)
SRC = Path(worldgauge.__file__).parent
EXCEPTIONS = {
    ("docs/explanation/metric_sensitivity.md", "worldgauge_lab.validate_metrics"): "a study of the neighbour",
    ("docs/howto/train.md", "worldgauge.suites.worldinworld.format"): "reads what the neighbour trains on",
    ("docs/howto/train.md", "worldgauge_train"): "the page of the neighbour",
}
"""Pages that import from what moves to a neighbour."""


def imports_in(text: str) -> list[str]:
    """Modules of worldgauge that lines of a text import, also those in prose and indented examples."""
    return re.findall(r"^\s*(?:from|import) (worldgauge[\w.]*)", text, re.MULTILINE)


def pages() -> dict[str, str]:
    """Text of every page, notebook cell and example."""
    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"), *SRC.rglob("README.md")]
    paths += (ROOT / "examples").glob("*.py")
    found = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}
    cells = json.loads((ROOT / "docs" / "tutorials" / "notebook.ipynb").read_text("utf-8"))["cells"]
    return {**found, "docs/tutorials/notebook.ipynb": "\n".join("".join(cell["source"]) for cell in cells)}


def front_tree(name: str) -> ast.Module:
    file = importlib.import_module(name).__file__
    assert file is not None
    return ast.parse(Path(file).read_text("utf-8"))


def test_every_offered_name_is_there_and_is_declared_for_type_checkers() -> None:
    for name in FRONT:
        module = importlib.import_module(name)
        declared = {
            alias.asname or alias.name
            for node in ast.walk(front_tree(name))
            if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
            for imported in node.body
            if isinstance(imported, ast.ImportFrom)
            for alias in imported.names
        }
        offered = set(module.__all__) - {"__version__"}
        assert declared == offered, f"{name}: {declared ^ offered}"
        assert set(module.__all__) <= set(dir(module))
        for one in module.__all__:
            found = getattr(module, one)
            assert found is not None, f"{name}.{one}"
            assert not callable(found) or found.__doc__, f"{name}.{one} has no docstring"


def test_no_name_has_two_homes_and_none_hides_a_submodule() -> None:
    """Importing a submodule sets an attribute of that name: `worldgauge.metrics.lpips` must stay the function."""
    everywhere: list[str] = []
    for name in FRONT:
        module = importlib.import_module(name)
        inside = {one.name for one in pkgutil.iter_modules(getattr(module, "__path__", []))}
        assert not inside & set(module.__all__)
        everywhere += module.__all__
    assert len(everywhere) == len(set(everywhere))


def test_every_metric_is_on_the_front() -> None:
    front = importlib.import_module("worldgauge.metrics")
    for name in own_names(metrics):
        assert getattr(front, name.replace("/", "_")) is metrics.get(name), name


def test_importing_the_front_is_light() -> None:
    heavy = ("numba", "cv2", "pandas", "av", "scipy", "torch", "jinja2", "gymnasium", "numpy")
    code = f"import sys, {', '.join(FRONT)}\nprint(*[one for one in {heavy} if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_pages_and_examples_import_from_the_front_alone() -> None:
    known, used = pages(), set()
    assert len(known) > 60
    stray = []
    for page, text in known.items():
        for module in imports_in(text):
            excepted = {one for one in EXCEPTIONS if page.endswith(one[0]) and module.startswith(one[1])}
            used |= excepted
            if module not in (*FRONT, "worldgauge_serve") and not excepted:
                stray.append(f"{page}: {module}")
    assert not stray, "\n".join(stray)
    assert used == set(EXCEPTIONS), "an exception is not needed any more"


def test_names_that_pages_import_are_offered() -> None:
    pattern = re.compile(r"^\s*from (worldgauge[\w.]*) import (?:\(([^)]*)\)|([\w, ]+))", re.MULTILINE)
    for page, text in pages().items():
        for module, wrapped, line in pattern.findall(text):
            for name in re.findall(r"\w+", wrapped or line) if module in FRONT else ():
                assert name in importlib.import_module(module).__all__, f"{page}: {module}.{name}"


def test_what_runs_beside_a_model_imports_the_serving_file_alone() -> None:
    files = [*SRC.rglob("adapters/*.py"), *(ROOT / "adapters").rglob("*.py"), ROOT / "examples" / "hello_model.py"]
    served = [path for path in files if "worldgauge_serve" in path.read_text("utf-8")]
    assert len(served) > 15
    for path in served:
        tree = ast.parse(path.read_text("utf-8"))
        top = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
        top |= {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
        assert not {name for name in top if name and name.partition(".")[0] == "worldgauge"}, path


def test_a_suite_needs_at_most_five_imports() -> None:
    page = (ROOT / "docs" / "tutorials" / "build_a_suite.md").read_text("utf-8")
    tutorial = page.partition("```python")[2].partition("```")[0]
    for text in (tutorial, (ROOT / "examples" / "hello_suite.py").read_text("utf-8")):
        assert 0 < len(imports_in(text)) <= 5
