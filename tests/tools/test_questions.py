"""What a suite asks as plain files: the same as a model is asked, and a round trip through a model that is not here."""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.commands import command
from worldgauge.core.errors import RunError, UsageError
from worldgauge.core.image import Frames, read_png
from worldgauge.core.model import Blinding, ModelSpec, RolloutRequest
from worldgauge.core.video import Clip
from worldgauge.engine.run import run
from worldgauge.tools.questions import ABOUT, CONTEXT, POSES, QUESTION, START, TABLE, read_question, write_questions

SETTINGS = {
    "loopnav": {"stride": 40},
    "mind": {"tests": "mem"},
    "targetbench": {"decoder": "exact", "cross_check": "never"},
}

CLIP = "./clips.py:Clips"
CLIPS = """
from worldgauge_serve import ModelSpec

class Clips:
    def __init__(self):
        self.spec = ModelSpec("clips", control="camera", fps=16.0, max_context=1, lengths="40n+1")

    def rollout(self, request):
        raise RuntimeError("it is elsewhere")
"""


class Asked:
    """A model that keeps what it is asked, and turns nothing."""

    def __init__(self, control: str, **spec: Any) -> None:
        self.spec = ModelSpec("asked", control=control, **spec)  # type: ignore[arg-type]
        self.requests: dict[str, RolloutRequest] = {}

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        self.requests[request.task] = request
        yield np.repeat(request.context.clip[-1:].to_array(), request.horizon, 0)


def answered_elsewhere(questions: Path, videos: Path) -> None:
    """What somebody does on another machine: the program of the docs, which knows nothing of worldgauge."""
    page = (Path(__file__).parents[2] / "docs" / "howto" / "wrap_videos.md").read_text("utf-8")
    program = page.split("<!-- example: answer-questions")[1].split("```python\n")[1].split("```")[0]
    assert "worldgauge" not in program
    done = subprocess.run([sys.executable, "-", questions, videos], input=program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("suite", ["loopnav", "mind", "targetbench"])
def test_it_is_what_a_model_is_asked(suite: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    data, settings = request.getfixturevalue(f"{suite}_data"), SETTINGS[suite]
    found = write_questions(suite, data=data, out=tmp_path / "q", settings=settings, limit=2)
    assert len(found.questions) == 2
    for control in ("camera", "actions", "text"):
        model = Asked(control)
        options = {"data": data, "out": tmp_path / control, "settings": settings, "limit": 2, "scoring": False}
        salt = run(suite, model=model, **options).folders[0].facts()["salt"]
        for task in found.questions:
            live, asked = model.requests[Blinding(salt).name(task)], read_question(found.folder, task)
            assert (asked["frames"], asked["seed"], asked["caption"]) == (live.horizon, live.seed, live.caption)
            assert (asked["width"], asked["height"]) == live.frame_size
            shown = live.context.clip.to_array()
            assert np.array_equal(read_png(found.folder / task / START), shown[-1])
            assert np.array_equal(Clip.open(found.folder / task / CONTEXT).to_array(), shown)
            if live.poses is not None:
                assert asked["poses"]["convention"] == POSES
                np.testing.assert_allclose(asked["poses"]["rows"], live.poses, atol=1e-8)
                np.testing.assert_allclose(asked["poses"]["context"], live.context.poses, atol=1e-8)
            if live.actions is not None:
                np.testing.assert_allclose(asked["actions"]["rows"], live.actions.values, atol=1e-8)
                assert [axis["name"] for axis in asked["actions"]["axes"]] == [a.name for a in live.actions.space.axes]
            if control == "text":
                assert asked["text"] == live.text


@pytest.mark.parametrize("suite", ["loopnav", "mind", "targetbench"])
def test_a_model_elsewhere_is_scored_by_its_videos(suite: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    data = request.getfixturevalue(f"{suite}_data")
    settings = [word for name, value in SETTINGS[suite].items() for word in ("--set", f"{name}={value}")]
    asked = command(tmp_path, "questions", suite, "--data", data, "--out", "q", *settings, "--json")
    assert asked.returncode == 0, asked.stderr
    answered_elsewhere(tmp_path / "q", tmp_path / "videos" / "still")
    scoring = [word.replace("exact", "sfm-global") for word in settings]  # nobody knows the path of such a video
    words = ["score", suite, "--data", data, "--videos", "videos", "--no-baselines", *scoring, "--json"]
    done = command(tmp_path, *words)
    told = json.loads(done.stdout)
    assert done.returncode == 0, told["failures"]
    counts = told["runs"]["still"]["counts"]
    assert counts["scored"] == len(json.loads(asked.stdout)["questions"]) > 0
    assert (counts["failed"], told["unused_videos"]) == (0, {})


@pytest.mark.parametrize("suite", ["loopnav", "mind"])
def test_a_model_of_another_rate_is_scored(suite: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    data, settings = request.getfixturevalue(f"{suite}_data"), SETTINGS[suite]
    model = Asked("camera", fps=16.0, max_context=1)
    found = write_questions(suite, data=data, out=tmp_path / "q", model=model, settings=settings)
    assert {read_question(found.folder, task)["fps"] for task in found.questions} == {16.0}
    answered_elsewhere(tmp_path / "q", tmp_path / "videos" / "slow")
    words = ["score", suite, "--data", data, "--videos", "videos", "--no-baselines", "--json"]
    chosen = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    refused = json.loads(command(tmp_path, *words, *chosen, "--out", "other").stdout)
    if suite == "loopnav":
        assert "give fps=16 for a model of that rate" in refused["failures"][0]["error"]
    done = command(tmp_path, *words, *chosen, "--video-fps", "16", "--out", "runs")
    assert done.returncode == 0, done.stdout[-2000:]
    counts = json.loads(done.stdout)["runs"]["slow"]["counts"]
    assert (counts["scored"], counts["failed"]) == (len(found.questions), 0)
    record = json.loads(next((tmp_path / "runs").rglob("record.json")).read_text())
    assert record["facts"]["bridge"]["own_fps"] == 16


def test_a_model_of_certain_lengths_gets_them(loopnav_data: Path, tmp_path: Path) -> None:
    (tmp_path / "clips.py").write_text(CLIPS)
    settings = ("--set", "stride=40")
    asked = command(tmp_path, "questions", "loopnav", "--data", loopnav_data, "--out", "q", *settings, "--for", CLIP)
    assert asked.returncode == 0, asked.stderr
    plain = write_questions("loopnav", data=loopnav_data, out=tmp_path / "all", model=Asked("camera", fps=16.0))
    for path in (tmp_path / "q").rglob(QUESTION):
        told = json.loads(path.read_text())
        assert told["judged"] == read_question(plain.folder, told["task"])["frames"]
        assert told["judged"] < told["frames"]
        assert told["frames"] % 40 == 0, "with the picture it goes on from: 40 n + 1"
        for rows in (told["poses"]["rows"], told["actions"]["rows"], told["keys"]["held"]):
            assert len(rows) == told["frames"]
        assert told["keys"]["held"][-1] == [], "standing still beyond what is judged"
    answered_elsewhere(tmp_path / "q", tmp_path / "VIDEOS" / "clips")
    # The command that `questions` ends with, as it stands.
    words = shlex.split(asked.stdout.splitlines()[-1])[1:]
    assert words[-6:] == ["--video-fps", "16", "--video-longer", "cut", "--set", "stride=40"]
    done = command(tmp_path, *words, "--no-baselines", "--json")
    counts = json.loads(done.stdout)["runs"]["clips"]["counts"]
    assert (counts["scored"], counts["failed"]) == (len(plain.questions), 0)


@pytest.mark.parametrize("suite", ["loopnav", "mind", "targetbench"])
def test_keys_say_what_the_actions_do(suite: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    found = write_questions(
        suite, data=request.getfixturevalue(f"{suite}_data"), out=tmp_path, settings=SETTINGS[suite], limit=2
    )
    for task in found.questions:
        told = read_question(found.folder, task)
        if told["actions"] is None:
            continue
        axes, keys = told["actions"]["axes"], told["keys"]
        gains = np.array([[axis["motion"][name] for name in ("forward", "left", "yaw", "pitch")] for axis in axes])
        moves = np.array(told["actions"]["rows"]) @ gains
        for held, turned, (ahead, left, yaw, pitch) in zip(
            keys["held"], keys["turned_deg"]["rows"], moves, strict=True
        ):
            assert ("forward" in held, "back" in held) == (ahead >= 1e-3, ahead <= -1e-3)
            assert ("left" in held, "right" in held) == (left >= 1e-3, left <= -1e-3)
            assert turned == pytest.approx([-np.degrees(yaw), -np.degrees(pitch)], abs=1e-4)
            assert ("look_left" in held) == (np.degrees(yaw) >= 0.1)


def test_the_table_holds_every_question(loopnav_data: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    found = write_questions("loopnav", data=loopnav_data, out=tmp_path / "q", limit=2)
    rows = parquet.read_table(tmp_path / "q" / TABLE).to_pylist()
    assert [row["task"] for row in rows] == list(found.questions)
    for row in rows:
        assert row["caption"] == read_question(found.folder, row["task"])["caption"]
        assert row["keys"]["held"] == read_question(found.folder, row["task"])["keys"]["held"]
        assert (tmp_path / "q" / row["start"]).is_file()
        assert (tmp_path / "q" / row["context"]["video"]).is_file()


def test_it_goes_on_where_it_stopped_with_the_same_bytes(loopnav_data: Path, tmp_path: Path) -> None:
    found = write_questions("loopnav", data=loopnav_data, out=tmp_path / "q", limit=2)
    kept, lost = (found.folder / task for task in found.questions)
    before = {path: path.read_bytes() for path in found.folder.rglob("*") if path.is_file()}
    stamp = (kept / CONTEXT).stat().st_mtime_ns
    shutil.rmtree(lost)
    (kept.parent / f".{kept.name}.part").mkdir()  # what a killed process leaves
    write_questions("loopnav", data=loopnav_data, out=tmp_path / "q", limit=2)
    assert (kept / CONTEXT).stat().st_mtime_ns == stamp
    assert {path: path.read_bytes() for path in found.folder.rglob("*") if path.is_file()} == before
    # Questions have the form of a model.
    model = Asked("text", frame_size=(64, 48), crop=(4, 3), max_context=1)
    found = write_questions("loopnav", data=loopnav_data, out=tmp_path / "of-model", model=model, limit=1)
    asked = read_question(found.folder, found.questions[0])
    assert (asked["width"], asked["height"], asked["context"]["frames"]) == (64, 48, 1)
    assert asked["text"].endswith(".")


def test_what_cannot_be_asked_is_refused_or_told(loopnav_data: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="step by step"):
        write_questions("worldinworld", data=tmp_path, out=tmp_path / "q")
    with pytest.raises(UsageError, match="evaluates agents"):
        write_questions("mineanybuild", data=tmp_path, out=tmp_path / "q")
    assert not (tmp_path / "q").exists()
    panoramic = Asked("camera", view="panorama")
    found = write_questions("loopnav", data=loopnav_data, out=tmp_path / "q", model=panoramic, limit=1)
    assert found.questions == ()
    assert all("panorama" in reason for reason in found.skipped.values())
    with pytest.raises(RunError, match="another model"):
        write_questions("loopnav", data=loopnav_data, out=tmp_path / "q", limit=1)
    (tmp_path / "q" / ABOUT).write_text("{")
    with pytest.raises(RunError, match="choose another folder"):
        write_questions("loopnav", data=loopnav_data, out=tmp_path / "q", limit=1)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / QUESTION).write_text("{}")
    with pytest.raises(RunError, match="holds no questions"):
        write_questions("loopnav", data=loopnav_data, out=tmp_path / "mine", limit=1)
    (tmp_path / "d").mkdir()
    done = command(tmp_path, "score", "worldinworld", "--data", "d", "--videos", "q", "--no-baselines")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no finished video can answer it" in done.stderr
