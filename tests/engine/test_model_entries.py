"""A model by name, by module, by file, or live; anything else is one clear line."""

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import pytest

from support.served import is_alive, question
from worldgauge.core.errors import ModelError, NotApplicableError, UnknownNameError, UsageError
from worldgauge.core.model import ModelSpec, Needs, checked_rollout, rollout_batch
from worldgauge.engine.model_entries import find_served, resolve_cached, resolve_model
from worldgauge.engine.resume import score_key, task_key, task_seed
from worldgauge.engine.suite.contract import Task
from worldgauge.models.address import ModelAddress
from worldgauge.models.baselines.trivial import Freeze
from worldgauge.serving import RemoteModel, open_model
from worldgauge_serve import value_of

MODEL = """
from worldgauge.core.model import ModelSpec
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


def taken_apart(text: str) -> tuple[str, Mapping[str, Any]]:
    address = ModelAddress.parse(text)
    assert address.text == text
    assert (address.calibration, address.context_frames) == (None, None)
    return address.target, address.settings


def test_a_query_holds_settings() -> None:
    assert taken_apart("drift?step_m=0.01&seed=3&how=a%26b") == ("drift", {"step_m": 0.01, "seed": 3, "how": "a&b"})
    assert taken_apart("./a.py:B") == ("./a.py:B", {})
    command = "cmd:python -m worldgauge_serve a.py:B?gain=1&x=%20"
    assert taken_apart(command) == (command, {}), "its settings are its server's affair"
    with pytest.raises(UsageError, match="settings look like"):
        ModelAddress.parse("drift?step")
    with pytest.raises(UsageError, match="given twice"):
        ModelAddress.parse("drift?a=1&a=2")


def test_registered_and_live_models(doubles: ModuleType) -> None:
    named = resolve_model("drift?step_m=0.02")
    assert (named.label, named.source) == ("drift-step_m-0.02", "drift")
    assert named.identity["settings"]["step_m"] == 0.02
    live, text = resolve_model(doubles.Steady()), resolve_model("enginedoubles:Steady")
    assert live.identity == text.identity
    assert resolve_model(Freeze()).label == "freeze"


def test_a_file_and_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("NAME = 'My Model/2'")
    file = tmp_path / "wm.py"
    file.write_text(MODEL)
    model = resolve_model(f"{file}:Mine?gain=0.5")
    assert model.label == "My-Model-2-gain-0.5"
    assert model.identity["settings"] == {"gain": 0.5}
    assert resolve_model(f"{file}:ready").model.spec.settings == {"gain": 0.9}
    file.write_text(MODEL + "\n# changed\n")
    assert resolve_model(f"{file}:Mine?gain=0.5").identity != model.identity


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("fereeze", UnknownNameError, "no model 'fereeze'. Did you mean 'freeze'"),
        ("nowhere.to:Be", UsageError, "there is no module 'nowhere.to' here or installed"),
        ("enginedoubles:Nobody", UsageError, "'enginedoubles' holds no 'Nobody'"),
        ("enginedoubles:NoModel", UsageError, "lacks 'spec', a worldgauge.core.model.ModelSpec and 'rollout"),
        ("enginedoubles:HORIZON", UsageError, "is no world model"),
        (
            "enginedoubles:Steady?levl=1",
            UsageError,
            "no setting 'levl'. Did you mean 'level'. It takes: level=0, wait=0.0",
        ),
        ("enginedoubles:Unloadable", ModelError, "could not be made: RuntimeError: no CUDA device"),
        ("./none.py:Mine", UsageError, "none.py: cannot be read"),
        ("BAD:Mine", ModelError, "importing it raised ZeroDivisionError"),
        ("NEEDY:Mine", ModelError, "importing it raised ModuleNotFoundError: No module named 'nosuchthing'"),
        ("./wm.py", UsageError, "name the class in it: ./wm.py:Class"),
        ("cdm:python x.py:Y", UsageError, "Did you mean 'cmd:python x.py:Y'"),
        ("CMD:python x", UsageError, "Did you mean 'cmd:python x'"),
        ("pip:ssh box serve", UsageError, "Did you mean 'pipe:ssh box serve'"),
        ("htp://host:7000", UsageError, "Did you mean 'http://host:7000'"),
        ("http:host:7000", UsageError, "Did you mean 'http://host:7000'"),
        ("localhost:7000", UsageError, "Did you mean 'http://localhost:7000'"),
        ("./wm.py:a b", UsageError, "'a b' cannot be a class; name it as ./file.py:Class"),
        ("cmd:no-such-program", UsageError, "there is no such program"),
    ],
)
@pytest.mark.usefixtures("doubles")
def test_what_is_no_model_is_one_clear_line(text: str, error: type[Exception], words: str, tmp_path: Path) -> None:
    for name, source in (("BAD", "1 / 0"), ("NEEDY", "import nosuchthing")):
        (tmp_path / f"{name.lower()}.py").write_text(source)
        text = text.replace(f"{name}:", f"{tmp_path}/{name.lower()}.py:")
    with pytest.raises(error, match=words):
        resolve_model(text)


def test_a_name_without_a_letter_is_refused() -> None:
    class Nameless:
        spec = ModelSpec("///")

        def rollout(self, request: object) -> None: ...

    with pytest.raises(UsageError, match="holds no letter"):
        resolve_model(Nameless())  # type: ignore[arg-type]


def test_every_ingredient_is_part_of_the_identity(doubles: ModuleType) -> None:
    suite, task = doubles.Echo(), Task("echo", "odd/1", {"number": 1}, "f1", {"kind": "odd"})
    who = resolve_model("enginedoubles:Steady").identity
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
from worldgauge.core.model import ModelSpec

class Grey:
    spec = ModelSpec("grey")

    def rollout(self, request):
        return iter(())
"""
    (tmp_path / "worldgauge_here_wm.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    first = resolve_model("worldgauge_here_wm:Grey").identity
    sys.modules.pop("worldgauge_here_wm")
    (tmp_path / "worldgauge_here_wm.py").write_text(source + "# edited")
    importlib.invalidate_caches()
    second = resolve_model("worldgauge_here_wm:Grey").identity
    sys.modules.pop("worldgauge_here_wm")
    assert first != second
    with pytest.raises(UsageError, match=r"name the class in it"):
        resolve_model("./worldgauge_here_wm.py")


FOREIGN = """
import numpy as np
from worldgauge_serve import ModelSpec, NotApplicable

class Mine:
    needs = {"gpus": 1, "memory_gb": 24}
    def __init__(self, gain=0.5):
        self.spec = ModelSpec("mine", inputs=("depth",), settings={"gain": gain})
    def rollout(self, request):
        if request.text:
            raise NotApplicable("takes no text")
        for _ in range(request.horizon):
            yield request.context.clip[-1][None]

class Together(Mine):
    def rollout_batch(self, requests):
        return [[np.concatenate(list(self.rollout(request)))] for request in requests]

class Wrong:
    spec = ModelSpec("wrong", control="mouse")
    def rollout(self, request): ...
"""


def test_a_model_written_for_a_server_runs_here_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(FOREIGN)
    model = resolve_model(f"{file}:Mine?gain=0.25")
    assert model.model.spec == ModelSpec("mine", inputs=frozenset({"depth"}), settings={"gain": 0.25})
    assert Needs.of(model.model) == Needs(gpus=1, memory_gb=24)
    assert len(list(checked_rollout(model.model, question(3)))) == 3
    assert not hasattr(model.model, "rollout_batch")
    with pytest.raises(NotApplicableError, match=r"^takes no text$"):
        list(checked_rollout(model.model, question(3, text="Walk.")))
    together = resolve_model(f"{file}:Together").model
    assert [len(chunks[0]) for chunks in rollout_batch(together, [question(3), question(2)])] == [3, 2]
    with pytest.raises(NotApplicableError):
        rollout_batch(together, [question(3, text="Walk.")])
    with pytest.raises(UsageError, match="model 'wrong': control is 'mouse'"):
        resolve_model(f"{file}:Wrong")


def test_a_served_model_is_kept_until_another_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FOREIGN)
    text = f"cmd:{sys.executable} -m worldgauge_serve {tmp_path / 'mine.py'}:Mine"
    model = resolve_cached(text).model
    assert isinstance(model, RemoteModel)
    assert resolve_cached(text).model is model
    pid = model._channel.pid  # type: ignore[attr-defined]
    assert is_alive(pid)
    resolve_cached("freeze")
    assert not is_alive(pid)


def test_a_served_model_that_is_recorded_is_ended_as_well(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FOREIGN)
    served = f"cmd:{sys.executable} -m worldgauge_serve {tmp_path / 'mine.py'}:Mine"
    inner = f"recording?of={quote(served)}&folder={tmp_path / 'inner'}"
    for text in (inner, f"recording?of={quote(inner)}&folder={tmp_path / 'outer'}"):
        behind = find_served(resolve_cached(text).model)
        assert behind is not None
        pid = behind._channel.pid  # type: ignore[attr-defined]
        assert is_alive(pid)
        resolve_cached("freeze")
        assert not is_alive(pid)
    assert find_served(resolve_cached(f"recording?of=freeze&folder={tmp_path / 'other'}").model) is None


def test_a_served_model_can_be_given_live(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FOREIGN)
    model = open_model(f"cmd:{sys.executable} -m worldgauge_serve {tmp_path / 'mine.py'}:Mine?gain=0.25")
    live, text = resolve_model(model), resolve_model(f"{tmp_path / 'mine.py'}:Mine?gain=0.25")
    model.close()
    assert (live.label, live.identity) == (text.label, text.identity)


def test_a_constructor_that_leaves_the_program_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "leaves.py").write_text("import sys\nclass Leaves:\n    def __init__(self):\n        sys.exit(3)\n")
    with pytest.raises(ModelError, match=r"could not be made: SystemExit: 3$"):
        resolve_model(f"{tmp_path / 'leaves.py'}:Leaves")


def test_settings_of_references_are_checked_when_they_are_made() -> None:
    with pytest.raises(UsageError, match=r"^model 'drift': step_m must be a number, got 'abc'$"):
        resolve_model("drift?step_m=abc")
    with pytest.raises(UsageError, match=r"^model 'memory': stride must be a whole number, got 1.5$"):
        resolve_model("memory?stride=1.5")


def test_a_short_form_is_a_setting() -> None:
    assert taken_apart("trained:ckpt/tiny?steps=2") == ("trained", {"folder": "ckpt/tiny", "steps": 2})
    assert taken_apart("trained?folder=ckpt") == ("trained", {"folder": "ckpt"})
    assert taken_apart("freeze:Class") == ("freeze:Class", {})  # a module, for freeze has no short form
    with pytest.raises(UsageError, match="folder is given twice"):
        ModelAddress.parse("trained:a?folder=b")
