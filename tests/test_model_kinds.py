"""A model of each kind is asked by every suite of world models: through its adapter, against a stand-in of its code.

Camera poses at 16 frames a second, keys at 25, keys as sentences, words alone, poses and keys, and a realtime session.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters import realtime
from support.commands import command
from support.places import TESTS
from support.realtime_server import RealtimeServer, realtime_server
from support.task_context import QuietContext
from worldgauge.engine.collect import collect
from worldgauge.engine.model_entries import resolve_model
from worldgauge.engine.suite.base import suites
from worldgauge.engine.suite.contract import Record
from worldgauge.worlds.tabletop.engine import can_draw

KINDS = ("camera_at_16", "keys_at_25", "sentences", "words", "poses_and_keys", "session")
SETTINGS: dict[str, dict[str, Any]] = {
    "loopnav": {"stride": 40},
    "mind": {"tests": "mem"},
    "targetbench": {"decoder": "exact", "cross_check": "never"},
    "worldinworld": {"view_px": 48, "panorama_px": 128, "decisions": 1, "candidates": 2, "task": "navigation"},
}
OWN = {"camera_at_16": 16.0, "keys_at_25": 25.0, "sentences": 16.0, "words": 24.0, "poses_and_keys": 20.0}
RECORDED = {"loopnav": 20.0, "mind": 24.0, "targetbench": 10.0}


@pytest.fixture(scope="module")
def server() -> Iterator[RealtimeServer]:
    with realtime_server() as made:
        yield made


def text_of(kind: str, server: RealtimeServer) -> str:
    """What a user writes after --model."""
    if kind == "session":
        return f"{realtime.__file__}:Realtime?url={server.url}&name=session&size=160x96"
    served = f"{sys.executable} -m worldgauge_serve {TESTS / 'support' / 'model_kinds.py'}:{kind}"
    return f"cmd:env PYTHONPATH={TESTS.parent} {served}"


@pytest.fixture
def asked(request: pytest.FixtureRequest, server: RealtimeServer, tmp_path: Path) -> Any:
    """Asks a model of a kind the first task of a suite, without scoring it."""

    def ask(kind: str, suite: str) -> Record:
        opened = suites.get(suite)(**SETTINGS[suite])
        task = next(iter(opened.tasks(request.getfixturevalue(f"{suite}_data"))))
        model = resolve_model(text_of(kind, server)).model
        try:
            return opened.perform(task, model, QuietContext(tmp_path))
        finally:
            getattr(model, "close", lambda: None)()

    return ask


def test_camera_poses_act_in_a_home_and_padding_is_told(asked: Any) -> None:
    facts = asked("camera_at_16", "worldinworld").facts
    assert facts["calls"] == 2
    # Of 8n + 1 frames the first is the view: steps are filled up to the next 8.
    assert facts["frames_asked"] < facts["frames_made"]
    assert facts["frames_made"] % 8 == 0


def test_keys_at_25_on_a_loop_at_20(asked: Any) -> None:
    facts = asked("keys_at_25", "loopnav").facts
    assert (facts["bridge"]["own_fps"], facts["bridge"]["fps"]) == (25.0, 20.0)
    assert facts["context_frames_used"] == 1
    assert facts["frames_generated"] == facts["bridge"]["frames_asked"] - facts["bridge"]["never_imagined"]


def test_keys_as_sentences_follow_a_planned_path(asked: Any) -> None:
    facts = asked("sentences", "targetbench").facts
    assert (facts["planner"], facts["fps"], facts["frames_generated"]) == ("walker", 16.0, 128)


def test_words_alone_continue_a_walk(asked: Any) -> None:
    facts = asked("words", "mind").facts
    assert (facts["control"], facts.get("bridge")) == ("text", None), "both have 24 frames a second"


def test_poses_and_keys_remember_all_that_was_seen(asked: Any) -> None:
    facts = asked("poses_and_keys", "mind").facts
    assert (facts["bridge"]["own_fps"], facts["bridge"]["fps"]) == (20.0, 24.0)
    assert facts["context_frames_used"] > 1


def test_a_session_is_asked_once_for_each_plan(asked: Any, server: RealtimeServer) -> None:
    before = len(server.asked)
    facts = asked("session", "worldinworld").facts
    assert len(server.asked) - before == facts["calls"] == 2


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("kinds")
    small: dict[str, dict[str, Any]] = {
        "loopnav": {"settlements": 1, "ranges": (5,), "per_combination": 1, "size": (160, 90)},
        "mind": {
            **{"families": ("urban",), "train": 0, "mem": 1, "action_space": 0, "mirror": 0},
            **{"frames": 48, "size": (64, 36)},
        },
        "targetbench": {"scenes": 1, "per_scene": 1, "size": (160, 90), "fps": 10},
        "worldinworld": {
            **{"scenes": 1, "recognition": 0, "questions": 0, "navigation": 1, "size": (128, 72)},
            "manipulation": int(can_draw()),
        },
    }
    for suite, options in small.items():
        collect(suite, root / suite, **options)
    return root


QUICK = ("session", "worldinworld")
"""The one that is asked whenever tests run."""


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("kind", "suite"),
    [
        pytest.param(kind, suite, marks=() if (kind, suite) == QUICK else pytest.mark.slow)
        for kind in KINDS
        for suite in sorted(SETTINGS)
    ],
)
def test_one_command(suite: str, kind: str, data: Path, server: RealtimeServer, tmp_path: Path) -> None:
    given = {name: value for name, value in SETTINGS[suite].items() if name != "task"}
    settings = [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
    words = ["--model", text_of(kind, server), "--data", data / suite, "--out", tmp_path / "runs", *settings]
    done = command(tmp_path, "run", suite, *words, "--gpus-per-worker", "0", "--json")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    found = json.loads(done.stdout)
    counts = {model: run["counts"] for model, run in found["runs"].items()}
    (name,) = (row["label"] for row in found["tables"][0]["rows"] if row["kind"] == "model")
    for each in counts.values():
        assert each["expected"] == each["scored"] + each["skipped"] + each["failed"]
        assert each["failed"] == 0
    assert counts[name]["scored"]
    skips = [skip for skip in found["skips"] if skip["model"] == name]
    if suite == "worldinworld" and kind != "words" and can_draw():
        assert [skip["task"].split("/")[0] for skip in skips] == ["manipulation"]
        assert all(skip["error"] and "\n" not in skip["error"] for skip in skips)
    else:
        assert not skips
    own = OWN.get(kind, 16.0)
    bridged = suite in RECORDED and own != RECORDED[suite]
    assert (f"truth-fps-{own:g}" in counts) == bridged
    costs = [note for note in found["tables"][0]["notes"] if "its loss is the cost of the rate alone" in note]
    assert len(costs) == bridged
    if bridged:
        (row,) = (row for row in found["tables"][0]["rows"] if row["label"] == f"truth-fps-{own:g}")
        assert row["kind"] == "baseline"
        assert any(cell["mean"] is not None for cell in row["cells"])
        assert any(note.startswith(f"{name} generates at {own:g} fps") for note in found["tables"][0]["notes"])
    (row,) = (row for row in found["speed"]["rows"] if row["label"] == name)
    seconds, rate, memory = (cell["mean"] for cell in row["cells"][:3])
    assert seconds > 0
    assert rate > 0
    assert memory is None, "no GPU is in use"
