"""check-model for the closed loop: one view of a home, primitives as keys, panoramas; served and here."""

import sys

import numpy as np
import pytest

from support.served import MODELS
from worldgauge.core.geometry import Camera, Panorama, relative, rotation_angle
from worldgauge.core.model import ModelSpec
from worldgauge.models.baselines.trivial import Freeze, NoModel
from worldgauge.models.baselines.warp import Roll, Warp
from worldgauge.suites.worldinworld.trial_questions import StepQuestions
from worldgauge.tools.check_model import ModelReport, check_model
from worldgauge.worlds.walking.primitives import NAV_STEPS

FILE = MODELS / "panoramas.py"


def statuses(report: ModelReport) -> dict[str, str]:
    return {verdict.name: verdict.status for verdict in report.verdicts}


@pytest.mark.parametrize(
    "what",
    [
        f"{FILE}:AroundTogether",
        pytest.param(f"cmd:{sys.executable} -m worldgauge_serve '{FILE}:Around'", marks=pytest.mark.slow),
    ],
)
def test_a_panorama_model_passes_also_where_it_is_served(what: str) -> None:
    report = check_model(what, suite="worldinworld")
    assert report.ok, report
    left_out = {name for name, status in statuses(report).items() if status == "skipped"}
    assert left_out <= {"long-context", "batch", "in-turn"}
    speed = next(verdict for verdict in report.verdicts if verdict.name == "speed")
    assert "frames a second, at 1024x576" in speed.measured


def test_what_ignores_its_keys_is_told() -> None:
    assert statuses(check_model(Freeze("panorama"), suite="worldinworld"))["control"] == "warning"
    assert statuses(check_model(Roll(), suite="worldinworld"))["control"] == "ok"


def test_panoramas_are_for_the_closed_loop_only() -> None:
    report = check_model(Roll(), suite="loopnav")
    assert report.verdicts[1].status == "skipped"
    assert "check it with --suite worldinworld" in report.verdicts[1].explanation


def test_none_is_not_asked() -> None:
    report = check_model(NoModel(), suite="worldinworld")
    assert set(statuses(report).values()) == {"ok", "skipped"}


@pytest.mark.parametrize("control", ["actions", "camera", "text"])
def test_questions_hold_every_form_of_the_steps(control: str) -> None:
    spec = ModelSpec("m", control=control, view="panorama", fps=12)  # type: ignore[arg-type]
    question = StepQuestions().question(spec, start=60, horizon=4, seed=2, size=None, turn=-1.0)
    assert isinstance(question.context.camera, Panorama)
    assert question.frame_size == StepQuestions.sizes["panorama"][0]
    assert (len(question.context), question.context.clip.fps, question.horizon) == (1, 12, 4)
    assert question.poses is not None
    assert question.text is not None
    assert (question.actions.space.axes, question.actions.values.tolist()) == (NAV_STEPS.axes, [[0, 0, 1]] * 4)
    turned = rotation_angle(relative(question.context.poses[0], question.poses)[:, :3, :3])
    np.testing.assert_allclose(np.degrees(turned), [22.5, 45, 67.5, 90])
    np.testing.assert_allclose(question.poses[:, :3, 3], np.tile(question.context.poses[0, :3, 3], (4, 1)))
    assert question.text == "Turn right 90 degrees."


def test_depth_is_that_of_the_picture_on_its_grid() -> None:
    for view, kind in (("perspective", Camera), ("panorama", Panorama)):
        spec = Warp(view).spec  # type: ignore[arg-type]
        question = StepQuestions().question(spec, start=60, horizon=1, seed=2, size=(96, 54), turn=None)
        assert isinstance(question.context.camera, kind)
        depth = question.context.depth(0)
        assert depth.shape == (54, 96)
        assert 0 < depth.min() < depth.max() < 40


def test_a_model_of_a_size_of_its_own_is_shown_it() -> None:
    spec = ModelSpec("m", view="panorama", frame_size=(512, 256), inputs=frozenset({"truth", "depth"}))
    question = StepQuestions().question(spec, start=60, horizon=2, seed=2)
    assert question.frame_size == (512, 256)
    assert (question.truth.width, question.truth.height, len(question.truth)) == (512, 256, 2)
    assert question.context.depth(0).shape == (256, 512)
