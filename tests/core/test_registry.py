"""One registry: found by walking the folder, taken names refused, outside packages lazily imported."""

import importlib
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.registry import Entry, Registry, check_arguments

PACKAGE = """
from worldgauge.core.registry import Registry
things = Registry("thing", __name__, group="toys.things")
"""
MODULE = """
from PACKAGE import things

@things.register("wooden", colour="brown")
class Wooden:
    '''Made of wood.

    From trees.
    '''
"""


@pytest.fixture
def things(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Registry[type]:
    """A package with one thing in it, and one more through the entry point of another package."""
    package = "toys_" + "".join(c for c in request.node.name if c.isalpha())
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(PACKAGE)
    (tmp_path / package / "wood.py").write_text(MODULE.replace("PACKAGE", package))
    (tmp_path / package / "_hidden.py").write_text("raise RuntimeError('private files are not imported')")
    info = tmp_path / "outsider-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outsider\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[toys.things]\niron = {package}_outsider:Iron\n")
    (tmp_path / f"{package}_outsider.py").write_text("class Iron:\n    '''Heavy.'''\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry: Registry[type] = __import__(package).things
    return registry


def test_things_are_found_without_a_list(things: Registry[type]) -> None:
    assert things.names() == ["iron", "wooden"]
    assert "wooden" in things
    assert "stone" not in things
    assert things.get("wooden").__name__ == "Wooden"
    assert [entry.name for entry in things] == ["iron", "wooden"]


def test_an_entry_says_what_it_is(things: Registry[type]) -> None:
    entry = things.entry("wooden")
    assert entry.summary == "Made of wood."
    assert entry.facts == {"colour": "brown"}
    assert entry.origin.endswith(".wood")


def test_outside_things_are_imported_when_asked_for(things: Registry[type]) -> None:
    entry = things.entry("iron")
    module = entry.origin.partition(":")[0]
    assert entry.summary == ""
    assert module not in sys.modules
    assert things.get("iron").__doc__ == "Heavy."
    assert module in sys.modules


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise RuntimeError('of two\\nlines \\x1b[2J')", "RuntimeError: of two lines"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("import not_there_at_all", "No module named 'not_there_at_all'"),
        ("def (", "SyntaxError"),
        ("def deep():\n    deep()\ndeep()", "RecursionError"),
        ("", "has no attribute 'Iron'"),
    ],
)
def test_an_outside_package_that_cannot_be_imported_is_one_line(
    code: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ruined.py").write_text(code)
    info = tmp_path / "ruined-2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ruined\nVersion: 2.0\n")
    (info / "entry_points.txt").write_text("[worldgauge.models]\nruined-iron = ruined:Iron\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ruined", raising=False)
    (point,) = entry_points(group="worldgauge.models", name="ruined-iron")
    entry: Entry[type] = Entry(point.name, point.value, point)
    with pytest.raises(UsageError) as caught:
        entry.load()
    assert "'ruined-iron' of ruined 2.0 cannot be imported from ruined:Iron" in str(caught.value)
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_module_of_plugins_registers_what_has_no_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "plugged-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[worldgauge.plugins]\nmine = plugged_tools\n")
    (tmp_path / "plugged_tools.py").write_text(
        "import plugged_registry\n@plugged_registry.tools.register('saw')\nclass Saw:\n    pass\n"
    )
    (tmp_path / "plugged_registry.py").write_text(
        "from worldgauge.core.registry import Registry\ntools = Registry('tool', __name__)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    tools = __import__("plugged_registry").tools
    assert tools.names() == ["saw"]
    assert tools.get("saw").__name__ == "Saw"


def test_a_taken_name_is_refused(things: Registry[type]) -> None:
    things.names()
    with pytest.raises(UsageError, match=r"two things are called 'wooden': one in .*; rename one"):
        things.register("wooden")(type("Other", (), {"__module__": "elsewhere"}))


def test_a_taken_name_is_refused_within_one_module_too(things: Registry[type]) -> None:
    module = things.get("wooden").__module__
    with pytest.raises(UsageError, match="two things are called 'wooden'"):
        things.register("wooden")(type("Other", (), {"__module__": module}))


def test_a_module_that_fails_fails_every_time_and_can_be_mended(things: Registry[type], tmp_path: Path) -> None:
    package = things._packages[0]
    broken = tmp_path / package / "aaa.py"
    good = f"from {package} import things\n@things.register('glass')\nclass Glass: ...\n"
    broken.write_text(good + "1 / 0\n")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            things.names()
    broken.write_text(good + "# mended\n")
    importlib.invalidate_caches()
    assert things.names() == ["glass", "iron", "wooden"]


def test_registering_again_from_the_same_place_is_no_clash(things: Registry[type]) -> None:
    things.register("wooden")(things.get("wooden"))
    assert things.names() == ["iron", "wooden"]


def test_a_file_imported_under_two_names_is_no_clash(things: Registry[type], tmp_path: Path) -> None:
    """As a script is that others import, or a model's file that is named by its path."""
    path = tmp_path / f"{things._packages[0]}_both.py"
    path.write_text(f"from {things._packages[0]} import things\n@things.register('clay')\nclass Clay: ...\n")
    importlib.import_module(path.stem)
    spec = importlib.util.spec_from_file_location("another_name", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["another_name"] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["another_name"]
    assert things.get("clay") is module.Clay
    with pytest.raises(UsageError, match="two things are called 'clay'"):
        things.register("clay")(type("Mud", (), {"__module__": path.stem}))


@pytest.mark.parametrize("asked_first", [False, True])
def test_an_entry_point_may_name_what_registers_itself(things: Registry[type], asked_first: bool) -> None:
    if asked_first:
        assert things.entry("iron").summary == ""
    module = f"{things._packages[0]}_outsider"
    path = Path(str(importlib.util.find_spec(module).origin))  # type: ignore[union-attr]
    path.write_text(
        f"from {things._packages[0]} import things\n"
        "@things.register('iron', colour='grey')\nclass Iron:\n    'Heavy.'\n"
    )
    importlib.import_module(module)
    assert things.names() == ["iron", "wooden"]
    assert things.entry("iron").facts == {"colour": "grey"}
    assert things.get("iron").__module__ == module


@pytest.mark.parametrize("fails", [False, True])
def test_threads_that_ask_at_once_see_all(things: Registry[type], tmp_path: Path, fails: bool) -> None:
    """Each of them, also one that asks while another thread is in the middle of the search."""
    package = tmp_path / things._packages[0]
    began, asking = threading.Event(), threading.Event()
    things.began, things.asking = began, asking  # type: ignore[attr-defined]
    (package / "aaa.py").write_text(
        f"from {things._packages[0]} import things\n"
        "import time\nthings.began.set()\nassert things.asking.wait(10)\ntime.sleep(0.1)\n"
        + ("1 / 0\n" if fails else "@things.register('glass')\nclass Glass: ...\n")
    )
    found: list[object] = []

    def ask() -> None:
        if threading.current_thread().name != "first":
            asking.set()
        try:
            found.append(things.names())
        except ZeroDivisionError as error:
            found.append(type(error))

    threads = [threading.Thread(target=ask, name="first", daemon=True)]
    threads[0].start()
    assert began.wait(10)
    threads += [threading.Thread(target=ask, daemon=True) for _ in range(4)]
    for thread in threads[1:]:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert found == [ZeroDivisionError if fails else ["glass", "iron", "wooden"]] * 5


@pytest.mark.parametrize("name", ["mineanybuild", "worldinworld", "loopnav", "mind", "targetbench", "unseen"])
def test_a_suite_is_found_without_importing_the_others(name: str) -> None:
    code = f"""
import sys
from worldgauge.engine.suite.base import suites
assert suites.get({name!r}).name == {name!r}
all_of_us = ("mineanybuild", "worldinworld", "loopnav", "mind", "targetbench", "unseen")
others = [each for each in all_of_us if each != {name!r}]
assert not [each for each in others if f"worldgauge.suites.{{each}}.suite" in sys.modules]
own = [entry.name for entry in suites if entry.origin.startswith("worldgauge.")]  # not those of plug-ins
assert own == ["loopnav", "mind", "mineanybuild", "targetbench", "unseen", "worldinworld"]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_suite_that_was_registered_is_found_without_importing_ours() -> None:
    code = """
import sys
from worldgauge.engine.suite.base import suites
class Own: ...
suites.register("own")(Own)
assert suites.get("own") is Own
assert not [name for name in sys.modules if name.startswith("worldgauge.suites.")]
assert "loopnav" in suites.names()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_suggests(things: Registry[type]) -> None:
    with pytest.raises(UnknownNameError, match=r"no thing 'woden'. Did you mean 'wooden'\? Known: iron, wooden"):
        things.get("woden")


class Plain:
    pass


def takes_all(gain: int = 1, **more: int) -> None: ...


def needs_one(weights: str, *, scale: float = 0.5) -> None: ...


@pytest.mark.parametrize(
    ("make", "given", "words"),
    [
        (needs_one, {"weights": "x", "scal": 1}, "it has no setting 'scal'. Did you mean 'scale'? It takes: weights, "),
        (needs_one, {"weights": "x", "foo": 1}, "it has no setting 'foo'. It takes: weights, scale=0.5"),
        (needs_one, {"scale": 1}, "it needs the setting 'weights'. It takes: weights, scale=0.5"),
        (Plain, {"foo": 1}, "it has no setting 'foo'. It takes no settings"),
    ],
)
def test_wrong_settings_are_named(make: Callable[..., Any], given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_arguments(make, given, "it")
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("make", "given"), [(needs_one, {"weights": "x"}), (takes_all, {"foo": 1}), (Plain, {}), (dict, {"any": 1})]
)
def test_what_fits_passes(make: Callable[..., Any], given: dict[str, Any]) -> None:
    check_arguments(make, given, "it")


class Typed:
    def __init__(
        self, step_m: float = 0.1, stride: int = 4, loud: bool = False, speed: float | None = None, name: str = "x"
    ) -> None: ...


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"step_m": "abc"}, "it: step_m must be a number, got 'abc'"),
        ({"step_m": True}, "it: step_m must be a number, got True"),
        ({"step_m": None}, "it: step_m must be a number, got None"),
        ({"stride": 1.5}, "it: stride must be a whole number, got 1.5"),
        ({"stride": [1]}, r"it: stride must be a whole number, got \[1\]"),
        ({"loud": 1}, "it: loud must be true or false, got 1"),
        ({"speed": "fast"}, "it: speed must be a number, got 'fast'"),
    ],
)
def test_settings_of_another_type_are_refused_at_once(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=f"^{words}$"):
        check_arguments(Typed, given, "it")


def test_settings_of_the_declared_type_pass() -> None:
    check_arguments(Typed, {"step_m": 1, "stride": 2, "loud": True, "speed": None, "name": 7}, "it")
    check_arguments(Typed, {"speed": 0.5}, "it")
