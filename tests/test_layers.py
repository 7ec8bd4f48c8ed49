"""A module imports only from lower layers or from its own folder (docs/design.md)."""

import ast
from pathlib import Path

import pytest

import worldgauge

ROOT = Path(worldgauge.__file__).parent
LAYERS = [
    *("serving", "weights", "worlds", "collect", "datasets", "metrics", "estimators", "agents"),
    *("suites", "models", "engine", "report", "cli"),
]
FILES = sorted(path for path in ROOT.rglob("*.py") if path.name != "__init__.py" or path.parent != ROOT)


def rank(parts: tuple[str, ...]) -> int:
    """0 for the single files at the top, then one more a layer."""
    name = parts[0].removesuffix(".py")
    if name.startswith("cli"):
        name = "cli"
    return LAYERS.index(name) + 1 if name in LAYERS else 0


def imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return [name for name in found if name.startswith("worldgauge.")]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_only_downward(path: Path) -> None:
    own = rank(path.relative_to(ROOT).parts)
    for name in imports(path):
        parts = tuple(name.split(".")[1:])
        assert rank(parts) <= own, f"{path.relative_to(ROOT)} imports {name}, which is a higher layer"
