"""Every check catches the fault it is for, and only it; nothing that a model does costs more than its own check."""

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from json import dumps, loads
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import wrong_models
from support.places import DOCS
from support.registered import own_names
from worldgauge.cli import show as cli_check
from worldgauge.core.actions import Control
from worldgauge.core.errors import ModelError, NotApplicableError, UnknownNameError, UsageError
from worldgauge.core.model import ModelSpec, RolloutRequest, imagines
from worldgauge.engine.workers.pool import Pool
from worldgauge.models import models
from worldgauge.tools.check_model import CHECKS, ModelReport, _in_worker, _questions_of, check_model
from worldgauge.tools.model_trial import trial_questions

REST = set(CHECKS) - {"spec", "answers"}
READY = [
    name
    for name in own_names(models)
    if all(p.default is not p.empty for p in inspect.signature(models.get(name)).parameters.values())
    and imagines(models.get(name))
    and "space" not in models.entry(name).facts
]
"""Registered models that need no address, key or file to be made, and that take the actions of any walk."""


def judged(report: ModelReport, status: str) -> set[str]:
    return {verdict.name for verdict in report.verdicts if verdict.status == status}


def said(report: ModelReport, name: str) -> str:
    """Explanations and advice of one check."""
    verdict = next(verdict for verdict in report.verdicts if verdict.name == name)
    return f"{verdict.explanation} {verdict.advice}"


@pytest.mark.slow
@pytest.mark.parametrize("name", READY)
def test_our_own_models_have_no_violation(name: str) -> None:
    model = models.get(name)()
    panoramic = model.spec.view == "panorama"
    report = check_model(model, suite="worldinworld" if panoramic else None)
    assert judged(report, "violated") == set()
    assert judged(report, "warning") <= {"control"}
    pointless = [*(["long-context"] if panoramic else []), *(["other-size"] if model.spec.frame_size else [])]
    assert judged(report, "skipped") <= {"batch", *pointless}
    assert report.ok
    dumps(report.to_dict(), allow_nan=False)


def test_a_sound_model_has_nothing_to_hear() -> None:
    report = check_model(wrong_models.Batches())
    assert judged(report, "ok") == set(CHECKS) - {"other-size"}
    assert all(verdict.asked for verdict in report.verdicts if verdict.name not in ("spec", "other-size"))
    measured = {name: value for verdict in report.verdicts for name, value in verdict.measured.items()}
    assert measured["another seed gives"] == "other frames"
    assert measured["distinct frames"] == "8 of 8"
    assert measured["frames repeat after"] == "never"
    assert measured["looks ahead"] == "no"
    assert measured["frames a chunk"] == "4"


WRONG: list[tuple[str, set[str], str]] = [
    ("ArraySetting", {"spec"}, "setting 'gain' is float32"),
    ("ArraySetting", {"spec"}, "setting 'weights' is float nan"),
    ("BrokenName", {"spec"}, "cannot be shown"),
    ("UnknownNeeds", {"spec"}, "mapping of gpus, cpus, memory_gb"),
    ("Raises", {"answers"}, "raised ValueError: no such latent (after 2 frames; wrong_models.py, line"),
    ("ReturnsNone", {"answers"}, "rollout returned None; yield chunks"),
    ("GivesNothing", {"answers"}, "gave no frame at all"),
    ("Exits", {"answers"}, "SystemExit: usage: wan.py"),
    ("UnitFloats", {"values"}, "(frames * 255).round().astype(np.uint8)"),
    ("SignedFloats", {"values"}, "((frames + 1) * 127.5).round().astype(np.uint8)"),
    ("OvershootingFloats", {"values"}, "(np.clip(frames, 0, 1) * 255).round().astype(np.uint8)"),
    ("ByteFloats", {"values"}, "Return frames.round().astype(np.uint8)"),
    ("NotFinite", {"values"}, "values are NaN or infinite"),
    ("Whole", {"values"}, "np.clip(frames, 0, 255)"),
    ("Masks", {"values"}, "astype(np.uint8) * 255"),
    ("Lists", {"values"}, "Its chunks are list, not numpy.ndarray. Return np.stack(frames)"),
    ("Tensors", {"values"}, "wrong_models.Tensor, not numpy.ndarray. Return chunk.detach().cpu().numpy()"),
    ("Transposed", {"shape"}, "width and height are swapped. Return chunk.transpose(0, 2, 1, 3)"),
    ("ChannelsFirst", {"shape"}, "chunk.transpose(0, 2, 3, 1)"),
    ("Alpha", {"shape"}, "fourth channel"),
    ("Grey", {"shape", "count"}, "no axis of colours"),
    ("Smaller", {"shape"}, "another size. Resize to request.frame_size, or declare frame_size=(32, 24)"),
    ("BatchAxis", {"shape", "count"}, "an axis for the batch is left. Return chunk[0]"),
    ("SingleFrames", {"shape"}, "Yield frame[None]"),
    ("Short", {"count"}, "Asked for 8 frames, it stopped after 7 frames"),
    ("Endless", {"count"}, "Asked for 8 frames, it went on after them"),
    ("EmptyChunks", {"count"}, "2 of its 4 chunks hold no frame"),
    ("OnlyEmptyChunks", {"count"}, "it gave nothing, not one of 8 frames"),
    ("WritesIntoItsQuestion", {"untouched"}, "wrote into the context frames and the future actions of its request"),
    ("OneBuffer", {"kept"}, "7 of its 8 chunks (first: 0) changed after it had given them"),
    ("Random", {"same"}, "Asked the same twice, 8 of 8 frames differed (first: 0)"),
    ("NeedsWords", {"control-alone"}, "Asked without poses, text, caption, it raised"),
    ("OneCaption", {"caption"}, "With another caption, it raised KeyError"),
    ("NeedsTwo", {"one-frame"}, "Asked for 1 frame of 64x48"),
    ("WholeChunks", {"one-frame", "part-of-a-chunk"}, "Asked for 1 frame, it gave 4"),
    ("RunsOut", {"long-horizon"}, "Asked for 100 frames of 64x48"),
    ("NeedsAPast", {"short-context"}, "after 1 frame of context"),
    ("ShortSighted", {"long-context"}, "after 128 frames of context, driven by actions, seed 7, it raised"),
    ("OneSize", {"long-horizon", "other-size"}, "it gave 100 frames of shape (90, 160, 3)"),
    ("OnlyLeft", {"control"}, "A turn to the right: it raised KeyError"),
    ("Remembers", {"order", "dropped"}, "After another question, for the same question 8 of 8 frames differed"),
    ("Occupied", {"dropped"}, "After a rollout that was dropped half-way, the same question raised RuntimeError"),
    ("SameBatch", {"batch"}, "In a batch, for question 2 of 2"),
    ("HalfBatch", {"batch"}, "Asked a batch of 2, it gave 1 answers"),
    ("NoBatch", {"batch"}, "rollout_batch raised NotImplementedError"),
]


@pytest.mark.parametrize(("name", "checks", "words"), WRONG, ids=lambda given: given if isinstance(given, str) else "")
def test_a_fault_is_caught_where_it_belongs(name: str, checks: set[str], words: str) -> None:
    report = check_model(getattr(wrong_models, name)())
    assert judged(report, "violated") == checks
    assert not report.ok
    assert words in " ".join(said(report, check) for check in CHECKS if check in checks)


@pytest.mark.parametrize(
    ("name", "check", "words"),
    [
        ("LateNeeds", "spec", "Make `needs` an attribute of the class"),
        ("Upright", "spec", "recordings of 16:9 are squashed"),
        ("Unscaled", "values", "they are black"),
        ("Trembling", "same", "by up to 1"),
        ("Swapped", "colours", "return chunk[..., ::-1]"),
        ("Deaf", "control", "it ignores its actions"),
        ("DeafToWords", "caption", "It requires a caption, and another one gave the same frames"),
        ("OneAtATime", "in-turn", "Next to another rollout"),
        ("Loops", "long-horizon", "Its frames repeat every 4 frames"),
    ],
)
def test_what_may_be_meant_is_a_warning(name: str, check: str, words: str) -> None:
    report = check_model(getattr(wrong_models, name)())
    assert report.ok
    assert check in judged(report, "warning")
    assert judged(report, "warning") <= {check, "control"}  # black frames show no turn
    assert words in said(report, check)


@pytest.mark.parametrize("control", ["actions", "camera", "text"])
def test_a_model_that_looks_ahead_is_named_and_not_judged(control: Control) -> None:
    model = wrong_models.LooksAhead()
    model.spec = replace(model.spec, control=control, inputs=frozenset({"actions", "poses"}))
    report = check_model(model, only=("answers", "values", "same", "control"))
    assert report.verdicts[-1].measured["looks ahead"] == "yes: a later control changes earlier frames"
    assert report.verdicts[-1].status == "ok"


def test_every_check_that_judges_has_a_model_that_fails_it() -> None:
    warned = {"colours", "in-turn"}
    assert set().union(*(checks for _, checks, _ in WRONG)) | warned == set(CHECKS) - {"speed"}


def test_many_faults_show_all_at_once() -> None:
    report = check_model(wrong_models.ManyFaults())
    assert judged(report, "violated") == {"spec", "values", "shape", "count", "untouched", "same"}
    assert "setting 'device'" in said(report, "spec")
    assert "needs is {'gpu': 1}" in said(report, "spec")
    assert "fix 'same' first" in said(report, "order")


def test_a_model_that_fails_the_second_time_fails_all_that_asks_again() -> None:
    report = check_model(wrong_models.SecondTimeFails())
    asks_again = {"same", "one-frame", "part-of-a-chunk", "long-horizon", "short-context", "long-context"}
    assert judged(report, "violated") == asks_again
    assert "Asked a second time, it raised RuntimeError: the cache is full" in said(report, "same")


def test_what_does_not_answer_is_not_asked_on() -> None:
    report = check_model(wrong_models.Raises())
    assert judged(report, "skipped") == REST
    assert said(report, "speed").startswith("'long-horizon' was skipped")
    report = check_model(wrong_models.Slow(), deadline_s=0.01)  # found late: a live model cannot be stopped
    assert judged(report, "violated") == {"answers"}
    assert "gave nothing for" in said(report, "answers")


def test_a_model_of_another_rate_and_size_is_asked_at_them() -> None:
    report = check_model(wrong_models.OtherRate())
    assert report.ok
    assert judged(report, "skipped") == {"other-size", "batch"}
    assert "64x48" in said(report, "other-size")
    assert set(check_model(wrong_models.OtherRate(), only=("spec",), sizes=[(128, 72)]).speeds) == {"64x48"}


@pytest.mark.parametrize(
    ("spec", "suite"),
    [
        ({}, "loopnav"),
        ({"action_spaces": ("walk-look",)}, "mind"),
        ({"action_spaces": ("nav-steps",)}, "worldinworld"),
        ({"action_spaces": ("nav-steps",), "control": "camera"}, "loopnav"),
        ({"view": "panorama"}, "worldinworld"),
        ({"action_spaces": ("of-nobody",)}, "loopnav"),
    ],
)
def test_a_suite_is_chosen_that_suits_the_model(spec: dict[str, Any], suite: str) -> None:
    assert _questions_of(None, ModelSpec("m", **spec))[0] == suite


def test_actions_that_a_model_does_not_know_are_not_asked_and_a_length_of_its_own_is() -> None:
    for model, words in (
        (wrong_models.Panorama(), "draws panoramas"),
        (wrong_models.Refuses(), "it wants a longer walk"),
        (wrong_models.OfKeys(), "knows the actions of walk-look, and those of this task are loop-walk"),
    ):
        report = check_model(model, suite="loopnav")
        assert report.ok
        assert judged(report, "skipped") == REST | {"answers"}
        assert words in said(report, "answers")
    report = check_model(wrong_models.OfLengths())
    assert report.ok, report.to_dict()
    asked = {verdict.name: verdict.asked for verdict in report.verdicts}
    assert asked["one-frame"][0].startswith("4 frames of 64x48 after 21 frames of context")
    assert asked["answers"][0].startswith("8 frames of 64x48 after 21 frames of context")
    model = wrong_models.Listener()  # no context is longer than declared
    assert check_model(model).ok
    assert model.heard == {1, 24, 40}


def test_a_model_that_dies_costs_only_that_check() -> None:
    report = check_model("support.wrong_models:DiesOnTurns")
    assert judged(report, "violated") == {"control"}
    assert judged(report, "skipped") == {"other-size", "batch"}
    assert "exited with code 3" in said(report, "control")
    assert "an illegal memory access" in said(report, "control")
    report = check_model("support.wrong_models:DiesAtOnce")
    assert judged(report, "violated") == {"answers"}
    assert judged(report, "skipped") == REST


@pytest.mark.slow
def test_a_model_that_hangs_costs_only_that_check() -> None:
    report = check_model("support.wrong_models:HangsOnShortContexts", deadline_s=10)
    assert judged(report, "violated") == {"short-context"}
    assert "timed out after 10 s without progress" in said(report, "short-context")


def test_text_and_live_object_get_the_same_verdicts() -> None:
    steps: list[tuple[str, int, int]] = []
    text = check_model("support.wrong_models:ManyFaults", progress=lambda *step: steps.append(step))
    live = check_model(wrong_models.ManyFaults())

    def plain(report: ModelReport) -> list[Any]:
        return [(one.name, one.status, len(one.findings), one.asked, one.reason) for one in report.verdicts]

    assert plain(text) == plain(live)
    assert steps == [(name, done, len(CHECKS)) for done, name in enumerate(CHECKS)]
    assert loads(dumps(text.to_dict(), allow_nan=False))["ok"] is False


class RefusesBatches(wrong_models.Sound):
    def rollout_batch(self, requests: Any) -> Any:
        raise NotApplicableError("these two differ in size")


def test_a_batch_that_cannot_be_asked_is_no_violation() -> None:
    report = check_model(RefusesBatches())
    assert judged(report, "skipped") == {"other-size", "batch"}
    assert said(report, "batch").strip() == "these two differ in size"


@pytest.mark.slow
def test_making_a_model_again_is_no_silence(tmp_path: Path) -> None:
    """Whose last worker has died."""
    (tmp_path / "heavy.py").write_text(HEAVY)
    with Pool(1) as pool:
        verdict = _in_worker(CHECKS["spec"], f"{tmp_path}/heavy.py:Heavy", "loopnav", pool, 2.0)
    assert (verdict.status, verdict.explanation) == ("ok", "")


HEAVY = """
import time
from worldgauge_serve import ModelSpec

class Heavy:
    def __init__(self):
        time.sleep(3)
        self.spec = ModelSpec("heavy")

    def rollout(self, request):
        raise NotImplementedError
"""


def test_speed_is_measured_by_size_and_suites_that_skip_it_are_told() -> None:
    report = check_model("freeze", only=("answers",), sizes=[(64, 36), (128, 72)])
    assert set(report.speeds) == {"64x36", "128x72"}
    assert all(speed.frame_s >= 0 and speed.question_s >= 0 for speed in report.speeds.values())
    assert report.unfit == {}
    keys = wrong_models.Sound()
    keys.spec = replace(keys.spec, action_spaces=("mind",))
    assert "loopnav" in check_model(keys, only=("spec",)).unfit


def test_what_cannot_be_made_is_an_error() -> None:
    with pytest.raises(ModelError, match="no model 'freez'"):
        check_model("freez")
    with pytest.raises(UsageError, match="is no world model"):
        check_model(object())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="deadline must be above 0"):
        check_model("freeze", deadline_s=0)
    with pytest.raises(UnknownNameError, match="mind"):
        check_model(Keyed(), suite="mindd")


def test_the_page_lists_every_check_and_its_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (DOCS / "howto" / "check_and_calibrate.md").read_text("utf-8")
    rows = page.split("| checks | about |\n|---|---|\n")[1].split("\n\n")[0]
    listed = re.findall(r"`([a-z-]+)`", "\n".join(row.split("|")[1] for row in rows.split("\n")))
    assert sorted(listed) == sorted(CHECKS)
    (code,) = re.findall(r"```python\n(from worldgauge import check_model\n\nreport.*?)```", page, re.DOTALL)
    exec(compile(code, "docs/howto/check_and_calibrate.md", "exec"), {"__name__": "page"})
    assert "control warning Turning to the left" in capsys.readouterr().out


def test_a_served_model_is_checked_in_its_own_process(tmp_path: Path) -> None:
    """Where it raised is told by its process; its faults of form are those that are found in this one."""
    (tmp_path / "served.py").write_text(SERVED)
    serve = f"cmd:{sys.executable} -m worldgauge_serve {tmp_path}/served.py"
    report = check_model(f"{serve}:Impatient")
    assert judged(report, "violated") == {"short-context"}
    assert "IndexError" in said(report, "short-context")
    assert "served.py, line 10, in rollout" in said(report, "short-context")
    assert "one request at a time" in said(report, "in-turn")
    assert "no rollout_batch" in said(report, "batch")
    report = check_model(f"{serve}:Floats")
    here = check_model(f"{tmp_path}/served.py:Floats")
    assert judged(report, "violated") == judged(here, "violated") == {"count", "values"}
    assert said(report, "values") == said(here, "values")


SERVED = """
from worldgauge_serve import ModelSpec

class Impatient:
    def __init__(self):
        self.spec = ModelSpec("impatient", frame_size=(32, 16), max_context=8)

    def rollout(self, request):
        for t in range(request.horizon):
            before = request.context.clip[-2]
            yield request.context.clip[-1][None]

class Floats(Impatient):
    def rollout(self, request):
        yield request.context.clip[-1][None] / 255
"""


@pytest.mark.parametrize("json", [False, True])
def test_the_command_line_shows_what_to_do(json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    report = check_model(wrong_models.UnitFloats())
    assert cli_check.checked_model(report, "json" if json else "text") is False
    shown = capsys.readouterr().out
    if json:
        assert loads(shown) == loads(dumps(report.to_dict()))
    else:
        text = " ".join(shown.split())
        assert "values violated Are its frames numpy arrays of bytes?" in text
        assert "To do: Return (frames * 255).round().astype(np.uint8)." in text
        assert "it is not ready to be evaluated" in text


class Keyed:
    """Moves the picture by the look keys of mind."""

    def __init__(self) -> None:
        self.spec = ModelSpec("keyed", fps=24)

    def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
        assert request.actions is not None
        frame = request.context.clip[-1]
        left, right = request.actions.column("look_left"), request.actions.column("look_right")
        for turn in left - right:
            frame = np.roll(frame, round(3 * float(turn)), axis=1)
            yield frame[None]


def test_a_model_of_keys_is_asked_with_keys() -> None:
    report = check_model(Keyed(), suite="mind")
    assert judged(report, "violated") == set()
    assert judged(report, "skipped") <= {"batch"}
    assert judged(check_model(Keyed()), "violated")


def test_one_suite_is_asked_where_none_is_named() -> None:
    assert sum(questions.by_default for questions in trial_questions().values()) == 1
