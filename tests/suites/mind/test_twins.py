"""Counterfactual twins: paths that go on exactly, known values, cheats, what has no second future, and the tables."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from suites.mind.mind_data import write_published
from support.films import write
from support.task_context import Given, QuietContext
from worldgauge.core.actions import Actions, camera_path
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.model import Blinding, ModelSpec, RolloutRequest
from worldgauge.core.video import Clip
from worldgauge.engine.model_entries import resolve_model
from worldgauge.engine.model_run import LocalTaskContext
from worldgauge.engine.resume import score_key, task_key
from worldgauge.engine.run import run
from worldgauge.engine.suite.contract import Failure, Score, Task
from worldgauge.metrics.alternatives import twin_accuracy, twin_gain
from worldgauge.models import models
from worldgauge.models.baselines.truth import Reencoded, Render, TruthModel
from worldgauge.serving import open_model
from worldgauge.suites.mind.format.read import keys_of, load
from worldgauge.suites.mind.suite import ActionFollowing, Mind, TwinFutures
from worldgauge.suites.mind.tasks import clip_of
from worldgauge.suites.mind.twins import HELD, REST, twin_questions, walk_on

FIRST, THIRD = "1st_data/mem_test/data-25", "3rd_data/mem_test/data-150"
SUITE = Mind(tests="twins")


@pytest.fixture(scope="module")
def tasks(clips: Path) -> dict[str, Task]:
    return {task.id: task for task in SUITE.tasks(clips)}


def scores(model: Any, task: Task, folder: Path) -> dict[str, Score]:
    folder.mkdir(parents=True, exist_ok=True)
    record = SUITE.perform(task, model, QuietContext(folder))
    return {score.metric.removeprefix("twins/"): score for score in SUITE.score(record, QuietContext(folder))}


def value(found: Mapping[str, Score]) -> tuple[float | None, float | None, float | None]:
    return found["twin_accuracy"].value, found["twin_gain"].value, found["twin_ahead"].value


@pytest.mark.parametrize("name", [FIRST, THIRD])
def test_a_walker_goes_on_as_recorded_where_it_has_the_recorded_keys(name: str, tasks: Mapping[str, Task]) -> None:
    clip = clip_of(tasks[f"{name}/twin-walk"])
    poses, start = load(clip).poses, clip.mark_time
    walked = walk_on(clip, poses[:start], keys_of(clip)[start - 1 :])
    np.testing.assert_allclose(walked, poses[start:], atol=1e-9)


def test_both_futures_are_one_until_their_keys_differ(tasks: Mapping[str, Task]) -> None:
    for task in tasks.values():
        one, other = twin_questions(task)
        assert len(one) == len(other) == REST + HELD == len(one.truth)  # type: ignore[arg-type]
        np.testing.assert_array_equal(one.poses[:REST], other.poses[:REST])
        np.testing.assert_array_equal(one.actions.values[:REST], 0)
        assert (one.actions.values[REST:].sum(1) == 1).all()
        assert (one.actions.values * other.actions.values).sum() == 0
        assert not np.allclose(one.poses[REST], other.poses[REST])


class Exchanged:
    """Renders where its keys lead, and takes each for its opposite."""

    spec = ModelSpec("exchanged", inputs=frozenset({"world", "actions"}))

    def rollout(self, request: RolloutRequest) -> Iterable[np.ndarray]:
        actions = request.actions
        assert actions is not None
        turned = actions.values.reshape(-1, 4, 2)[:, :, ::-1].reshape(-1, 8)
        poses = camera_path(Actions(actions.space, turned), request.context.path[-1], heading="mean")
        return Render().rollout(replace(request, poses=poses))


LATE = (HELD - 0.5) / HELD
KNOWN: list[tuple[str, Callable[[], Any], dict[str, float], dict[str, float]]] = [
    ("truth", lambda: models.get("truth")(), dict.fromkeys(("turn", "walk", "strafe"), 1.0), {"all": 1.0}),
    ("freeze", lambda: models.get("freeze")(), dict.fromkeys(("turn", "walk", "strafe"), 0.5), {"all": 0.0}),
    ("noise", lambda: models.get("noise")(), dict.fromkeys(("turn", "walk"), 0.5), {"all": 0.0}),
    ("mean", lambda: models.get("mean")(), {"turn": 0.5}, {"all": 0.0}),
    ("render", lambda: models.get("render")(), {"walk": 1.0}, {"all": 1.0}),
    ("degraded", lambda: models.get("degraded")(level=0.3), {"turn": 1.0, "walk": 1.0}, {"all": 0.7}),
    ("late", lambda: models.get("late")(), dict.fromkeys(("turn", "walk", "strafe"), LATE), {}),
    ("hedge", lambda: models.get("hedge")(), {"turn": 1.0, "walk": 0.5, "strafe": 0.5}, {"walk": 0.0, "strafe": 0.0}),
    ("exchanged", Exchanged, {"turn": 0.0, "walk": 0.0, "strafe": 0.0}, {}),
]


@pytest.mark.parametrize(("make", "accuracy", "gain"), [one[1:] for one in KNOWN], ids=[one[0] for one in KNOWN])
def test_known_values(
    make: Callable[[], Any],
    accuracy: Mapping[str, float],
    gain: Mapping[str, float],
    tasks: Mapping[str, Task],
    tmp_path: Path,
) -> None:
    for keys, expected in accuracy.items():
        found = scores(make(), tasks[f"{FIRST}/twin-{keys}"], tmp_path / keys)
        assert value(found)[::2] == (expected, 0.0)
        assert found["twin_accuracy"].n == HELD
        if (wanted := gain.get(keys, gain.get("all"))) is not None:
            assert found["twin_gain"].value == pytest.approx(wanted, abs=0.002)


@pytest.mark.parametrize("keys", ["turn", "walk", "strafe"])
def test_third_person(keys: str, tasks: Mapping[str, Task], tmp_path: Path) -> None:
    task = tasks[f"{THIRD}/twin-{keys}"]
    assert value(scores(models.get("truth")(), task, tmp_path / "truth")) == (1.0, 1.0, 0.0)
    assert value(scores(models.get("freeze")(), task, tmp_path / "freeze")) == (0.5, 0.0, 0.0)


def test_scores_are_the_metrics_of_the_frames(tasks: Mapping[str, Task], tmp_path: Path) -> None:
    task = tasks[f"{FIRST}/twin-turn"]
    found = scores(models.get("hedge")(), task, tmp_path)
    drawn = Clip.open(tmp_path / "rollout.mp4").to_array()
    sides = drawn[:, :, :64], drawn[:, :, 64:]
    truths = [question.truth.to_array() for question in twin_questions(task) if question.truth is not None]
    assert found["twin_accuracy"].value == pytest.approx(twin_accuracy(*sides, *truths))
    assert found["twin_gain"].value == pytest.approx(twin_gain(*sides, *truths))
    assert [at for at, _ in found["twin_gain"].series] == list(range(REST, REST + HELD))
    assert not list(tmp_path.glob("twin-*")), "one video holds both"


def test_both_twins_have_one_seed_which_does_not_show_the_task(tasks: Mapping[str, Task], tmp_path: Path) -> None:
    seen: list[RolloutRequest] = []

    class Notes:
        spec = ModelSpec("notes", control="text")

        def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
            seen.append(request)
            return iter([request.context.clip[-1][None]] * request.horizon)

    for keys in ("turn", "walk"):
        folder = tmp_path / keys
        folder.mkdir()
        context = LocalTaskContext(folder, 7, lambda done, total: None, blinding=Blinding("salt", 3))
        SUITE.perform(tasks[f"{FIRST}/twin-{keys}"], Notes(), context)
    assert len({request.seed for request in seen}) == 1
    assert seen[0].seed != 7
    assert len({request.text for request in seen}) == 4
    assert not any("twin" in request.task for request in seen)


class Changed(TruthModel):
    """The truth, harmlessly changed."""

    def __init__(self, change: Callable[[np.ndarray], np.ndarray]) -> None:
        super().__init__()
        self._change = change

    def _shown(self, truth: Clip, request: RolloutRequest) -> Iterator[np.ndarray]:
        return (self._change(frame)[None] for frame in truth)


def tinted(frame: np.ndarray) -> np.ndarray:
    return np.clip(frame.astype(int) + 3, 0, 255).astype(np.uint8)


def noisy(frame: np.ndarray) -> np.ndarray:
    mixed = frame + np.random.default_rng(1).normal(0, 3, frame.shape)
    return mixed.round().clip(0, 255).astype(np.uint8)


def jpeg(frame: np.ndarray) -> np.ndarray:
    done, packed = cv2.imencode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, 75])
    assert done
    return np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR), np.uint8)


@pytest.mark.parametrize(
    ("model", "within"),
    [(Changed(tinted), 0.01), (Changed(noisy), 0.01), (Changed(jpeg), 0.15), (Reencoded(), 0.15)],
    ids=["tint", "noise", "jpeg", "h264"],
)
def test_harmless_changes_hardly_move_the_numbers(
    model: Any, within: float, tasks: Mapping[str, Task], tmp_path: Path
) -> None:
    # Codecs blur frames, which costs gain and no accuracy.
    for keys in ("turn", "walk", "strafe"):
        accuracy, gain, _ = value(scores(model, tasks[f"{FIRST}/twin-{keys}"], tmp_path / keys))
        assert accuracy == 1.0
        assert gain == pytest.approx(1, abs=within)


class Painted:
    """Knows nothing of places: it paints the last picture in a colour for each key."""

    spec = ModelSpec("painted", inputs=frozenset({"actions"}))

    def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
        last = request.context.clip[-1].astype(int)
        assert request.actions is not None
        for row in request.actions.values:
            colour = np.array([40, 0, -40]) * int(row[::2].sum() - row[1::2].sum())
            yield np.clip(last + colour, 0, 255).astype(np.uint8)[None]


def test_a_colour_for_each_key_gains_nothing(tasks: Mapping[str, Task], tmp_path: Path) -> None:
    found = [value(scores(Painted(), task, tmp_path / name)) for name, task in tasks.items()]
    assert abs(np.mean([accuracy for accuracy, _, _ in found if accuracy is not None]) - 0.5) < 0.1
    assert max(abs(gain) for _, gain, _ in found if gain is not None) < 0.1


class Whole:
    """Draws a whole clip at once: the keys of its end reach its first frame."""

    spec = ModelSpec("whole", inputs=frozenset({"actions"}))

    def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
        assert request.actions is not None
        level = request.context.clip[-1] // 2 + np.uint8(10) * int(request.actions.values[:, 6].any())
        yield np.repeat(level[None], request.horizon, axis=0)


def test_a_model_that_looks_ahead_is_marked_and_not_failed(tasks: Mapping[str, Task], tmp_path: Path) -> None:
    task = tasks[f"{FIRST}/twin-turn"]
    found = scores(Whole(), task, tmp_path / "whole")
    assert found["twin_ahead"].value == 100.0
    assert found["twin_accuracy"].value is not None
    rows = {"whole": list(found.values()), "freeze": list(scores(models.get("freeze")(), task, tmp_path).values())}
    tables = SUITE.summarize(rows, {"whole": "model", "freeze": "baseline"}, {})
    assert {row.label: row.marks for row in tables[0].rows} == {"whole": ("looks ahead",), "freeze": ()}
    assert {row.flag for row in tables[0].rows} == {""}


def test_a_model_of_another_rate(tasks: Mapping[str, Task], tmp_path: Path) -> None:
    accuracy, _, ahead = value(scores(models.get("truth")(fps=10.0), tasks[f"{FIRST}/twin-turn"], tmp_path))
    assert accuracy == 1.0
    assert ahead == 0.0


def test_where_nothing_differs_there_is_no_number(clips: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(clips, tmp_path / "data"))
    path = next(root.rglob("1st_data/test/mem_test/data-25/action.json"))
    content = json.loads(path.read_text())
    for row in content["data"]:  # outside of what can be walked, every step is a wall
        row["actor_pos"] |= {"x": 100.0, "y": -100.0}
    path.write_text(json.dumps(content))
    task = next(task for task in SUITE.tasks(root) if task.id == f"{FIRST}/twin-walk")
    found = scores(models.get("freeze")(), task, tmp_path / "r")
    assert found["twin_accuracy"].value is found["twin_gain"].value is None
    assert found["twin_gain"].reason == "both futures look the same, as before a wall"
    assert found["twin_ahead"].value == 0.0


def test_tasks_of_other_tests_are_what_they_were(clips: Path, tasks: Mapping[str, Task]) -> None:
    assert [task.id for task in Mind().tasks(clips)] == [task.id for task in Mind(tests="mem,mirror").tasks(clips)]
    before = {task.id: task for task in Mind(tests="mem").tasks(clips)}
    both = {task.id: task for task in Mind(tests="twins,mem").tasks(clips)}
    assert both == {**before, **tasks}
    assert {task.fingerprint for task in tasks.values()}.isdisjoint(task.fingerprint for task in before.values())
    assert tasks[f"{FIRST}/twin-turn"].cluster == before[FIRST].cluster
    key = {
        task_key(Mind(tests=tests), before[FIRST], {}, 0) for tests in ("mem", "mem,twins", "mem,action_space,mirror")
    }
    assert len(key) == 1
    assert score_key(Mind(tests="mem"), "k") == score_key(Mind(), "k") != score_key(SUITE, "k")


def test_who_is_not_asked(tmp_path: Path, tasks: Mapping[str, Task]) -> None:
    data = write_published(tmp_path, clips=1, frames=30, perspectives=("1st",))
    assert {task.skip for task in SUITE.tasks(data)} == {
        "its world cannot be walked and rendered here, so it has one future"
    }
    task = tasks[f"{FIRST}/twin-turn"]
    video = tmp_path / "videos" / f"{task.id}.mp4"
    video.parent.mkdir(parents=True)
    write(video, grey(), "lossless")
    model = models.get("videos")(root=str(tmp_path / "videos"))
    with pytest.raises(NotApplicableError, match="one future"):
        SUITE.perform(task, model, QuietContext(tmp_path))


def test_tables(tasks: Mapping[str, Task], tmp_path: Path) -> None:
    assert isinstance(SUITE, TwinFutures)
    assert isinstance(ActionFollowing(tests="twins"), TwinFutures)
    assert type(Mind(tests="mem,twins")) is Mind
    assert not SUITE.claims_memory
    lost = [f"{THIRD}/twin-{keys}" for keys in ("turn", "walk", "strafe")]
    found = [
        score
        for name, task in tasks.items()
        if name not in lost
        for score in scores(Given(grey()), task, tmp_path / name).values()
    ]
    failed = {"grey": [Failure(name, {}, "lost") for name in lost]}
    tables = SUITE.summarize({"grey": found}, {"grey": "model"}, failed)
    assert [table.metric for table in tables] == ["twins/twin_accuracy", "twins/twin_gain", "twins/twin_ahead"]
    first = tables[0]
    assert first.columns == ("turn", "walk", "strafe", "first person", "third person", "all")
    assert [(cell.mean, cell.n, cell.expected) for cell in first.rows[0].cells] == [
        *[(0.5, 1, 2)] * 3, (0.5, 3, 3), (None, 0, 3), (0.5, 3, 6)
    ]  # fmt: skip
    assert "0.5: a model that ignores its keys" in first.notes[0]


def grey() -> np.ndarray:
    return np.full((REST + HELD, 36, 64, 3), 90, np.uint8)


def test_what_a_report_shows(tasks: Mapping[str, Task]) -> None:
    task = tasks[f"{FIRST}/twin-strafe"]
    view = SUITE.task_view(task)
    assert (len(view.truth), view.truth.width, view.truth.height) == (REST + HELD, 128, 36)
    frame = view.truth[REST - 1]
    np.testing.assert_array_equal(frame[:, :64], frame[:, 64:])
    assert len(view.poses) - view.generated_from == REST + HELD
    details = SUITE.task_details(task, {})
    assert details is not None
    assert details.caption == "Both stand for 8 frames; then the left one holds left, the right one right."
    assert SUITE.rollout_s(task) == 2.0


def test_a_served_model_gives_the_same_bytes(tasks: Mapping[str, Task], tmp_path: Path) -> None:
    source = tmp_path / "turning.py"
    source.write_text(
        "import numpy as np\n"
        "from worldgauge_serve import ModelSpec\n"
        "class Turning:\n"
        "    spec = ModelSpec('turning')\n"
        "    def rollout(self, request):\n"
        "        frame = request.context.clip[-1]\n"
        "        noise = np.random.default_rng(request.seed).integers(0, 9, frame.shape)\n"
        "        for row in request.actions.values:\n"
        "            frame = np.roll(frame, round(float(row[6] - row[7])), axis=1)\n"
        "            yield np.minimum(frame // 2 + noise, 255).astype(np.uint8)[None]\n"
    )
    task = tasks[f"{FIRST}/twin-turn"]
    here = value(scores(resolve_model(f"{source}:Turning").model, task, tmp_path / "here"))
    with closing(open_model(f"cmd:{sys.executable} -m worldgauge_serve {source}:Turning")) as model:
        assert value(scores(model, task, tmp_path / "served")) == here
    assert here[0] is not None
    assert here[0] > 0.5
    assert (tmp_path / "here/rollout.mp4").read_bytes() == (tmp_path / "served/rollout.mp4").read_bytes()


@pytest.mark.slow
def test_workers_give_the_same_bytes(clips: Path, tmp_path: Path) -> None:
    found = []
    for workers in (1, 2):
        out = tmp_path / str(workers)
        run("mind", model="hedge", data=clips, out=out, settings={"tests": "twins"}, workers=workers)
        found.append({path.parent.name: path.read_bytes() for path in out.rglob("rollout.mp4")})
    assert len(found[0]) == 6
    assert found[0] == found[1]
