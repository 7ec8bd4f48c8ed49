"""What the source may not do: run what comes from outside, or draw from global random state."""

import ast
from pathlib import Path

import pytest

import worldgauge.chat

FILES = sorted(Path(worldgauge.chat.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_from_outside_is_run(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"eval", "exec", "compile", "__import__"}
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names}.isdisjoint({"pickle", "marshal", "shelve", "random"})
