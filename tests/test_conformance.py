"""Whatever is registered keeps its word. A new model, metric, world or suite is tested by being there."""

import inspect
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suites.worldinworld.manipulation.table_sight import table
from support.registered import own_names
from support.task_context import QuietContext
from worldgauge.core.actions import HAND_POSES
from worldgauge.core.agent import Agent, Answer, Problem, agents
from worldgauge.core.episode import Episode
from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.core.model import RolloutRequest, WorldModel, checked_rollout, imagines, rollout_batch
from worldgauge.metrics import metrics
from worldgauge.models import models
from worldgauge.perception import estimators
from worldgauge.perception.decoders import decoders
from worldgauge.suites import suites
from worldgauge.suites.loopnav.protocol import make_request
from worldgauge.suites.loopnav.settings import LoopNavSettings
from worldgauge.suites.mineanybuild.critics import critics
from worldgauge.suites.mineanybuild.format import KINDS, LIMITS
from worldgauge.suites.worldinworld.manipulation.env import TableEnv, TableImagination
from worldgauge.suites.worldinworld.policies.contract import ActionPlan
from worldgauge.suites.worldinworld.task import TaskParameters
from worldgauge.suites.worldinworld.trial_questions import StepQuestions
from worldgauge.worlds import World, open_world, worlds

REGISTRIES = {r.kind: r for r in (suites, models, agents, critics, metrics, worlds, estimators, decoders)}
ALL = [(kind, name) for kind, registry in REGISTRIES.items() for name in own_names(registry)]


@pytest.mark.parametrize(("kind", "name"), ALL, ids=lambda x: str(x))
def test_everything_says_what_it_is(kind: str, name: str) -> None:
    entry = REGISTRIES[kind].entry(name)
    assert entry.summary.endswith("."), f"first line of the docstring of {kind} '{name}' is not a sentence"
    assert entry.load() is entry.load()


@pytest.mark.parametrize("name", own_names(metrics))
def test_metric_declares_itself(name: str) -> None:
    facts = metrics.entry(name).facts
    low, high = facts["bounds"]
    assert low < high
    assert facts["better"] in ("higher", "lower", "neither")
    assert facts["version"] >= 1
    assert facts["unit"]
    assert facts["source"]
    assert inspect.signature(metrics.get(name)).parameters


def stands_alone(name: str) -> bool:
    """Whether a model can be made without arguments; the others have tests of their own."""
    return all(each.default is not each.empty for each in inspect.signature(models.get(name)).parameters.values())


class Noting:
    """Takes the place of a model, and notes what it is asked."""

    def __init__(self, model: WorldModel) -> None:
        self.spec = model.spec
        self.asked: list[RolloutRequest] = []

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        self.asked.append(request)
        width, height = request.frame_size
        yield np.zeros((request.horizon, height, width, 3), np.uint8)


def table_question(model: WorldModel, context: int) -> RolloutRequest:
    """At a table, after a few poses where several frames are to be seen."""
    place, noting = TableEnv(table(), 48), Noting(model)
    poses = tuple(place.observe().expert())
    defaults = TaskParameters(
        decisions=15,
        candidates=5,
        length=5,
        clip=5,
        aspect=1.0,
        hfov_deg=40.0,
        view_px=48,
        proposer="scripted",
        reviser="similarity",
    )
    imagine = TableImagination(noting, place, defaults, table().facts, "push", 3, "manipulation/x")
    imagine.remember()
    for pose in poses[: 2 * (context > 1)]:
        place.step(pose)
        imagine.remember()
    imagine(place.observe(), [ActionPlan((), "test", poses=poses[2:5])], 0)
    return noting.asked[0]


def question(model: WorldModel, walk: tuple[Episode, int], context: int) -> RolloutRequest:
    """Of a walk; in a home for those that draw panoramas, at a table for those that follow a hand."""
    if models.entry(model.spec.name).facts.get("space") == HAND_POSES.name:
        return table_question(model, context)
    if model.spec.view == "panorama":
        return StepQuestions().question(model.spec, start=30, horizon=4, seed=3, size=(160, 90), turn=None)
    return make_request(*walk, model.spec, LoopNavSettings(context=context), seed=3)


@pytest.mark.parametrize("name", [name for name in own_names(models) if stands_alone(name)])
class TestModel:
    def test_spec(self, name: str) -> None:
        model = models.get(name)()
        assert isinstance(model, WorldModel)
        assert model.spec.name == name
        json.dumps(dict(model.spec.settings), allow_nan=False)

    def test_rollout_keeps_the_promise_and_the_seed(self, name: str, walk: tuple[Episode, int]) -> None:
        model = models.get(name)()
        if not imagines(model):
            pytest.skip("it generates nothing")
        request = question(model, walk, context=16)
        one = np.concatenate(list(checked_rollout(model, request)))
        assert one.shape == (request.horizon, *request.frame_size[::-1], 3)
        again = np.concatenate(rollout_batch(models.get(name)(), [request])[0])
        assert np.array_equal(one, again), "same request, same frames"

    def test_a_single_context_frame_is_enough(self, name: str, walk: tuple[Episode, int]) -> None:
        model = models.get(name)()
        if not imagines(model):
            pytest.skip("it generates nothing")
        request = question(model, walk, context=1)
        assert next(iter(checked_rollout(model, request))).dtype == np.uint8


def problem(kind: str) -> Problem:
    """A small one of a kind."""
    words = {"reasoning": ("A", "B", "C", "D")}
    built = kind not in ("reasoning", "commonsense")
    return Problem(
        f"{kind}/x",
        kind,
        "Build a hut. It is 3 blocks wide (x), 2 blocks deep (z) and 2 blocks high.",
        seed=5,
        materials=("oak_planks", "stone") if built else (),
        choices=words.get(kind, ()),
        most=LIMITS if built else (),
        truth="```json\n[[[1, 1]]]\n```" if built else "A",
    )


@pytest.mark.parametrize("name", [name for name in own_names(agents) if name != "chat"])
class TestAgent:
    def test_spec(self, name: str) -> None:
        agent = agents.get(name)()
        assert isinstance(agent, Agent)
        assert agent.spec.name == name
        json.dumps(dict(agent.spec.settings), allow_nan=False)

    @pytest.mark.parametrize("kind", KINDS)
    def test_answers_every_kind_alike_by_seed(self, name: str, kind: str) -> None:
        said = [agents.get(name)().answer(problem(kind)) for _ in range(2)]
        texts = [one.text if isinstance(one, Answer) else one for one in said]
        assert texts[0] == texts[1]


def example(name: str) -> World:
    """The world that its registration offers for tests."""
    return worlds.get(name)(**worlds.entry(name).facts["example"])


@pytest.mark.parametrize("name", [name for name in own_names(worlds) if "served" not in worlds.entry(name).facts])
class TestWorld:
    def test_is_built_again_from_its_facts(self, name: str) -> None:
        world = example(name)
        facts = world.facts
        again = open_world(type(facts)(facts.name, json.loads(json.dumps(dict(facts.params))), facts.digest))
        assert again.facts == facts

    def test_another_digest_is_refused(self, name: str) -> None:
        facts = example(name).facts
        with pytest.raises(WorldgaugeError, match="collect the data again"):
            open_world(type(facts)(facts.name, facts.params, "0" * 64))

    def test_view_has_the_promised_arrays(self, name: str) -> None:
        world = example(name)
        pose = pose_from_yaw_pitch((160.5, 160.5, 50.0), 0.5, -0.3)
        cameras: list[tuple[Camera | Panorama, tuple[int, int]]] = [(Camera.from_vertical_fov(64, 36, 75), (36, 64))]
        if worlds.entry(name).facts.get("panorama", True):
            cameras.append((Panorama(64, 32), (32, 64)))
        for camera, shape in cameras:
            view = world.view(pose, camera, position=True)
            assert (view.rgb.shape, view.rgb.dtype) == ((*shape, 3), np.uint8)
            assert (view.depth.shape, view.depth.dtype) == (shape, np.float32)
            assert (view.category.shape, view.category.dtype) == (shape, np.uint16)
            assert (view.instance.shape, view.instance.dtype) == (shape, np.uint16)
            assert view.position is not None
            assert view.position.shape == (*shape, 3)
            assert view.category.max() < len(world.categories)
            assert np.array_equal(np.isinf(view.depth), np.isnan(view.position).any(-1))


@pytest.mark.parametrize("name", own_names(suites))
class TestSuite:
    def test_settings_rebuild_it(self, name: str) -> None:
        suite = suites.get(name)()
        settings = json.loads(json.dumps(dict(suite.settings), allow_nan=False))
        assert suites.get(name)(**settings).settings == suite.settings
        assert suite.name == name
        assert suite.version >= 1

    def test_references_exist(self, name: str) -> None:
        suite = suites.get(name)
        known = agents if suite.answerer_kind == "agent" else models
        assert set(suite.baselines) <= set(known.names())

    def test_published_numbers_are_marked(self, name: str) -> None:
        for made in suites.get(name)().published():
            assert made.notes
            assert all(row.kind == "published" for row in made.rows)

    def test_a_link_to_the_data_may_go(self, name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
        suite, data = suites.get(name)(), request.getfixturevalue(f"{name}_data")
        if suite.answerer_kind == "agent" or name == "worldinworld":
            pytest.skip("the suite shows no recording")
        link = tmp_path / "link"
        link.symlink_to(data)
        for source in (link, data):
            task = next(iter(suite.tasks(source)))
            assert list(suite.task_view(task).truth)  # opens the file anew
            link.unlink(missing_ok=True)

    def test_scores_stay_in_their_bounds(self, name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
        small = {"view_px": 48, "panorama_px": 128, "decisions": 2} if name == "worldinworld" else {}
        suite = suites.get(name)(**small)
        task = next(iter(suite.tasks(request.getfixturevalue(f"{name}_data"))))
        asked = agents.get("random")() if suite.answerer_kind == "agent" else models.get("freeze")()
        record = suite.perform(task, asked, QuietContext(tmp_path))
        for score in suite.score(record, QuietContext(tmp_path)):
            # A name may say of which test the metric is taken, as in "lcm/mse_720p".
            metric = score.metric if score.metric in metrics else score.metric.rpartition("/")[2]
            if metric not in metrics:
                assert score.value is None, "a number of a metric that nobody declared"
                continue
            low, high = metrics.entry(metric).facts["bounds"]
            values = [score.value, *(value for _, value in score.series)]
            assert all(low <= value <= high for value in values if value is not None and math.isfinite(value))
