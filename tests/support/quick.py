"""Run the tests of what a change touches: `python -m support.quick --base REV`.

These are the changed tests, tests that import a changed name, and tests in the mirror folder that bear the name of a
changed module or of one that imports a changed name. Comments and docstrings do not count as changes.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from support.places import ROOT

MIRRORS = {
    "src/worldgauge/": "tests/",
    "adapters/": "tests/adapters/",
    "packages/train/src/worldgauge_train/": "packages/train/tests/",
    "packages/lab/src/worldgauge_lab/": "packages/lab/tests/",
}
"""Folders of sources, and the folders of their tests."""
IMPORT_ROOTS = ("src/", "packages/train/src/", "packages/lab/src/", "tests/", "adapters/", "")
TESTS_OF = {
    "src/": "tests/test_house.py",
    "packages/": "tests/test_house.py",
    "docs/": "tests/test_docs.py",
    "README.md": "tests/test_docs.py",
    "examples/": "tests/test_examples.py",
    "requirements": "tests/test_locks.py",
    "pyproject.toml": "tests/test_house.py",
}
"""Beginnings of paths, and the tests of every file that begins so."""
LEFT_OUT = "not slow and not process and not browser and not minecraft"
EVERY = frozenset("*")
"""Instead of names: the whole module changed."""


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=True).stdout


def changed_files(root: Path, base: str) -> list[str]:
    """Paths that differ from a revision, new files among them."""
    tracked = git(root, "diff", "--name-only", "--no-renames", base)
    return sorted({*tracked.split(), *git(root, "ls-files", "--others", "--exclude-standard").split()})


def definitions(text: str) -> dict[str, ast.AST]:
    """Name -> statement that defines it; what defines no name comes under `*`."""
    named: dict[str, ast.AST] = {"*": ast.Module([], [])}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            named[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named |= {name.id: node for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            origin = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            named |= {alias.asname or alias.name: ast.Constant(origin + alias.name) for alias in node.names}
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            named["*"].body.append(node)  # type: ignore[attr-defined]
    return named


def without_docstrings(node: ast.AST) -> str:
    for inner in ast.walk(node):
        body = getattr(inner, "body", None)
        if isinstance(body, list):
            inner.body = [  # type: ignore[attr-defined]
                line for line in body if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
            ]
    return ast.dump(node)


def changed_names(before: str | None, after: str | None) -> frozenset[str]:
    """Names of a module whose meaning may differ: their definition changed, or that of a name that they use."""
    if before is None or after is None:
        return EVERY
    old, new = definitions(before), definitions(after)
    old_text, new_text = ({name: without_docstrings(node) for name, node in each.items()} for each in (old, new))
    changed = {name for name in old | new if old_text.get(name) != new_text.get(name)}
    uses = {name: {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} for name, node in new.items()}
    while more := {name for name, used in uses.items() if used & changed} - changed:
        changed |= more
    return EVERY if "*" in changed else frozenset(changed)


@cache
def imported(text: str) -> frozenset[tuple[str, str]]:
    """Module and name of each import, anywhere in a text, and of each entry string."""
    found = set(re.findall(r"\"([\w.]+):(\w+)\"", text))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                found |= {(node.module, alias.name), (f"{node.module}.{alias.name}", "*")}
        elif isinstance(node, ast.Import):
            found |= {(alias.name, "*") for alias in node.names}
    return frozenset(found)


def module_of(path: str) -> str:
    root = next(root for root in IMPORT_ROOTS if path.startswith(root))
    return path.removeprefix(root).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def mirror(path: str, tests: list[str], *, folder: bool) -> set[str]:
    """Tests in a module's mirror folder that bear its name; `folder`: if none does, all of the folder."""
    source = next((source for source in MIRRORS if path.startswith(source)), None)
    if source is None:
        return set()
    place = Path(MIRRORS[source], path.removeprefix(source)).parent
    stem = Path(path).stem.strip("_")
    if stem == "init":
        place, stem = place.parent, place.name
    named = re.compile(rf"{re.escape(str(place))}/(test_{stem}(_\w+)?\.py|{stem}/test_\w+\.py)")
    return {test for test in tests if named.fullmatch(test)} or {
        test for test in tests if folder and Path(test).parent == place
    }


def select(root: Path, base: str) -> list[str]:
    """Test files that a change since a revision touches."""
    everything = git(root, "ls-files", "--cached", "--others", "--exclude-standard").split()
    texts = {
        path: (root / path).read_text(encoding="utf-8")
        for path in everything
        if (root / path).is_file() and path.endswith(".py")
    }
    tests = [path for path in texts if Path(path).name.startswith("test_") and "tests/" in path]
    files = changed_files(root, base)
    selected = {test for path in files for start, test in TESTS_OF.items() if path.startswith(start)}
    changes: dict[str, frozenset[str]] = {}
    for path in files:
        if path.endswith(".py"):
            before = subprocess.run(
                ["git", "-C", root, "show", f"{base}:{path}"], capture_output=True, text=True, check=False
            )
            changes[path] = changed_names(None if before.returncode else before.stdout, texts.get(path))
        else:
            selected |= mirror(path, tests, folder=True)
    for path, names in changes.items():
        if path in tests:
            selected.add(path)
        elif names:
            selected |= mirror(path, tests, folder=True)
    importers = importers_of(changes, texts)
    for path in importers - set(tests):
        selected |= mirror(path, tests, folder=False)
    selected |= importers
    # A helper of tests hands a change on, whatever the name.
    seen: set[str] = set()
    helpers = {path: names for path, names in changes.items() if path.startswith("tests/")}
    while helpers:
        importers = importers_of(helpers, texts)
        selected |= importers
        seen |= helpers.keys()
        helpers = dict.fromkeys(importers - set(tests) - seen, EVERY)
    fixtures = {
        name
        for path, names in changes.items()
        if re.search(r"(conftest|fixtures)\.py$", path)
        for name in names - EVERY
    }
    if fixtures:
        word = re.compile(rf"\b({'|'.join(map(re.escape, sorted(fixtures)))})\b")
        selected |= {test for test in tests if word.search(texts[test])}
    return sorted(selected & set(tests))


def importers_of(changes: Mapping[str, frozenset[str]], texts: Mapping[str, str]) -> set[str]:
    """Files that import a changed name."""
    modules = {module_of(path): names for path, names in changes.items() if names and path.endswith(".py")}
    if not modules:
        return set()
    stems = re.compile(rf"\b({'|'.join(sorted({re.escape(module.rsplit('.', 1)[-1]) for module in modules}))})\b")
    return {
        path
        for path, text in texts.items()
        if stems.search(text)
        for module, name in imported(text)
        if module in modules and (name == "*" or modules[module] == EVERY or name in modules[module])
    }


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default="HEAD~1", help="Revision to compare with. Default: the last commit's parent.")
    parser.add_argument("--list", action="store_true", help="Only print the files.")
    parser.add_argument("pytest", nargs="*", help="Options of pytest.")
    options = parser.parse_args(arguments)
    files = select(root, options.base)
    print("\n".join(files) or "nothing that tests know has changed", flush=True)
    if options.list or not files:
        return 0
    # 5: all tests of these files are left out.
    code = subprocess.run(
        [sys.executable, "-m", "pytest", "-m", LEFT_OUT, *options.pytest, *files], cwd=root, check=False
    ).returncode
    return 0 if code == 5 else code


if __name__ == "__main__":
    sys.exit(main())
