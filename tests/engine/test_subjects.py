"""A model by name, by module, by file, or live; anything else is one clear line."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from worldgauge.engine.identity import score_key, task_key, task_seed
from worldgauge.engine.subjects import parse, resolve, value_of
from worldgauge.errors import SubjectError, UnknownNameError, UsageError
from worldgauge.models.freeze import Freeze
from worldgauge.subject import ModelSpec
from worldgauge.suites.contract import Task

MODEL = """
from worldgauge.subject import ModelSpec
from neighbour import NAME

class Mine:
    def __init__(self, gain=0.9):
        self.spec = ModelSpec(NAME, settings={"gain": gain})
    def rollout(self, request):
        yield from ()

ready = Mine()
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3), ("0.01", 0.01), ("true", True), ("null", None), ("[1, 2]", [1, 2]), ('"3"', "3"),
        ("released", "released"), ("NaN", "NaN"), ("", ""), ("01", "01"),
    ],
)  # fmt: skip
def test_values_are_json_where_they_can_be(text: str, value: object) -> None:
    assert value_of(text) == value


def test_a_query_holds_settings() -> None:
    assert parse("drift?step_m=0.01&seed=3&how=a%26b") == ("drift", {"step_m": 0.01, "seed": 3, "how": "a&b"})
    assert parse("./a.py:B") == ("./a.py:B", {})
    with pytest.raises(UsageError, match="settings look like"):
        parse("drift?step")
    with pytest.raises(UsageError, match="given twice"):
        parse("drift?a=1&a=2")


def test_registered_and_live_models(doubles: ModuleType) -> None:
    named = resolve("drift?step_m=0.02")
    assert (named.label, named.source) == ("drift-step_m-0.02", "drift")
    assert named.identity["settings"]["step_m"] == 0.02
    live, text = resolve(doubles.Steady()), resolve("enginedoubles:Steady")
    assert live.identity == text.identity
    assert resolve(Freeze()).label == "freeze"


def test_a_file_and_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("NAME = 'My Model/2'")
    file = tmp_path / "wm.py"
    file.write_text(MODEL)
    subject = resolve(f"{file}:Mine?gain=0.5")
    assert subject.label == "My-Model-2-gain-0.5"
    assert subject.identity["settings"] == {"gain": 0.5}
    assert resolve(f"{file}:ready").model.spec.settings == {"gain": 0.9}
    file.write_text(MODEL + "\n# changed\n")
    assert resolve(f"{file}:Mine?gain=0.5").identity != subject.identity


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("fereeze", UnknownNameError, "no model 'fereeze'. Did you mean 'freeze'"),
        ("nowhere.to:Be", UsageError, "there is no module 'nowhere.to' here or installed"),
        ("enginedoubles:Nobody", UsageError, "'enginedoubles' holds no 'Nobody'"),
        ("enginedoubles:NoModel", UsageError, "lacks 'spec', a worldgauge.subject.ModelSpec and 'rollout"),
        ("enginedoubles:HORIZON", UsageError, "is no world model"),
        ("enginedoubles:Steady?levl=1", UsageError, "takes \\(level=0, wait=0.0\\)"),
        ("enginedoubles:Unloadable", SubjectError, "could not be made: RuntimeError: no CUDA device"),
        ("./none.py:Mine", UsageError, "none.py: cannot be read"),
        ("BAD:Mine", SubjectError, "importing it raised ZeroDivisionError"),
        ("NEEDY:Mine", SubjectError, "importing it raised ModuleNotFoundError: No module named 'nosuchthing'"),
    ],
)
@pytest.mark.usefixtures("doubles")
def test_what_is_no_model_is_one_clear_line(text: str, error: type[Exception], words: str, tmp_path: Path) -> None:
    for name, source in (("BAD", "1 / 0"), ("NEEDY", "import nosuchthing")):
        (tmp_path / f"{name.lower()}.py").write_text(source)
        text = text.replace(f"{name}:", f"{tmp_path}/{name.lower()}.py:")
    with pytest.raises(error, match=words):
        resolve(text)


def test_a_name_without_a_letter_is_refused() -> None:
    class Nameless:
        spec = ModelSpec("///")

        def rollout(self, request: object) -> None: ...

    with pytest.raises(UsageError, match="holds no letter"):
        resolve(Nameless())  # type: ignore[arg-type]


def test_every_ingredient_is_part_of_the_identity(doubles: ModuleType) -> None:
    suite, task = doubles.Echo(), Task("echo", "odd/1", {"number": 1}, "f1", {"kind": "odd"})
    who = resolve("enginedoubles:Steady").identity
    key = task_key(suite, task, who, 0)
    moved = Task("echo", "odd/1", {"number": 1, "source": "/elsewhere"}, "f1", {"kind": "odd"})
    assert task_key(suite, moved, who, 0) == key, "where the data lie does not matter"
    assert task_key(doubles.Echo(gain=3.0), task, who, 0) == key, "nor how it is scored"
    assert score_key(doubles.Echo(gain=3.0), key) != score_key(suite, key)
    others = [
        task_key(doubles.Echo(bias=1), task, who, 0),
        task_key(suite, Task("echo", "odd/1", {}, "f2"), who, 0),
        task_key(suite, Task("echo", "odd/3", {}, "f1"), who, 0),
        task_key(suite, task, who, 1),
        *(task_key(suite, task, {**who, name: "other"}, 0) for name in who),
    ]
    assert len({key, *others}) == len(others) + 1


def test_seeds_of_tasks_differ_and_stay() -> None:
    assert task_seed(0, "a") == task_seed(0, "a") == 3542182797  # sha256 of 0/a, its first four bytes
    assert len({task_seed(seed, task) for seed in range(20) for task in "abc"}) == 60


def test_a_module_of_the_working_folder_is_found_and_known_by_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`my_pkg.wm:MyModel` works from the project's folder, and an edited module is another model."""
    source = """
import numpy as np
from worldgauge.subject import ModelSpec

class Grey:
    spec = ModelSpec("grey")

    def rollout(self, request):
        return iter(())
"""
    (tmp_path / "worldgauge_here_wm.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    first = resolve("worldgauge_here_wm:Grey").identity
    sys.modules.pop("worldgauge_here_wm")
    (tmp_path / "worldgauge_here_wm.py").write_text(source + "# edited")
    importlib.invalidate_caches()
    second = resolve("worldgauge_here_wm:Grey").identity
    sys.modules.pop("worldgauge_here_wm")
    assert first != second
    with pytest.raises(UsageError, match=r"name the class in it"):
        resolve("./worldgauge_here_wm.py")
