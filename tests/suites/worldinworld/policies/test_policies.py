"""Policies without a language model."""

import json
import re
import shlex
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.at_the_page import Hand, free_port
from support.commands import command
from support.places import DOCS, TESTS
from support.served import MODELS, PYTHON
from support.served_policies import policies_of_this_test
from support.standins import standing_in
from support.vectors import cases
from worldgauge.core.episode import Goal
from worldgauge.core.errors import MissingExtraError, ModelError, UsageError, WorldgaugeError
from worldgauge.core.geometry import Camera
from worldgauge.core.panorama import perspective
from worldgauge.engine.run import run
from worldgauge.perception.loading import _perceived
from worldgauge.report.evidence import load_evidence
from worldgauge.serving import open_estimator
from worldgauge.serving.remote_model import Expected
from worldgauge.suites.worldinworld.manipulation.process_proposer import checked_poses
from worldgauge.suites.worldinworld.policies import cached_inference
from worldgauge.suites.worldinworld.policies.cached_inference import ask_masks, ask_network, check_networks, network
from worldgauge.suites.worldinworld.policies.contract import (
    REFUSED,
    ActionPlan,
    Candidate,
    Decision,
    PastDecision,
    PolicyKit,
    Reviser,
    Rollout,
    proposers,
    revisers,
)
from worldgauge.suites.worldinworld.policies.process_proposer import KIND, STEPS, StepsProcess, checked_steps
from worldgauge.suites.worldinworld.policies.simple import HeuristicProposer, valid
from worldgauge.suites.worldinworld.suite import ClosedLoop
from worldgauge.suites.worldinworld.task import LoopSettings
from worldgauge.weights import AbsentWeightsError
from worldgauge.worlds.walking.primitives import Primitive, Steps, letters

F, L, R = Primitive.FORWARD, Primitive.TURN_LEFT, Primitive.TURN_RIGHT


VALID = [case for case in cases("wiw_loop", "cases") if case.values[0]["kind"] == "heuristic_valid"]


def steps_of(words: list[str]) -> Steps:
    return tuple(Primitive[word.upper()] for word in words)


def history_of(steps: Steps) -> list[PastDecision]:
    return [PastDecision(Decision(None), (step,), (False,), np.eye(4)) for step in steps]


def drawn(history: Steps, n: int, seed: int, **options: Any) -> list[Steps]:
    proposer = HeuristicProposer(PolicyKit("recognition", 5, options=options))
    plans = proposer.propose(None, Goal(), history_of(history), n, np.random.default_rng(seed))  # type: ignore[arg-type]
    return [plan.steps for plan in plans]


@pytest.mark.parametrize("case", VALID)
def test_vectors(case: dict[str, Any]) -> None:
    assert valid(steps_of(case["history"]), steps_of(case["plan"])) is case["expected"]


def test_what_lies_behind_is_not_judged() -> None:
    assert valid((L, R, L, L, L, L, L), (F, R))
    assert not valid((L, R, L, L, L, L), (L,))


@pytest.mark.parametrize("history", [(), (L,), (R, R, R, R), (F, L, L, L)])
def test_every_plan_is_valid_and_of_full_length(history: Steps) -> None:
    plans = drawn(history, 300, 1)
    assert len(plans) == 300
    assert all(len(plan) == 5 and valid(history, plan) for plan in plans)


def test_first_steps_are_uniform_over_what_is_allowed() -> None:
    firsts = [plan[0] for plan in drawn((), 3000, 2)]
    assert all(abs(firsts.count(step) / 3000 - 1 / 3) < 0.03 for step in (F, L, R))
    after_left = [plan[0] for plan in drawn((L,), 2000, 3)]
    assert R not in after_left
    assert abs(after_left.count(F) / 2000 - 1 / 2) < 0.04


def test_decisions_draw_their_own_plans_and_the_release_does_not() -> None:
    assert drawn((), 3, 4) == drawn((), 3, 4)
    assert drawn((), 3, 4) != drawn((), 3, 5)
    assert drawn((), 3, 4, seeds="zero") == drawn((F,), 3, 5, seeds="zero")


def test_other_seeds_are_refused_and_it_is_registered() -> None:
    with pytest.raises(UsageError, match="'decision' or 'zero'"):
        HeuristicProposer(PolicyKit("navigation", 5, options={"seeds": "one"}))
    assert proposers.entry("heuristic").facts["tasks"] == ("recognition", "navigation")


SERVER = TESTS / "support" / "perception_server.py"


CAMERA = Camera.from_horizontal_fov(64, 64, 90)


PANORAMA = np.random.default_rng(0).integers(0, 256, (128, 256, 3), np.uint8)


AHEAD = perspective(PANORAMA, CAMERA)


GREY = np.full_like(AHEAD, 128)


HERE: Any = SimpleNamespace(camera=CAMERA)


@pytest.fixture(scope="module")
def reviser() -> Iterator[Reviser[Any]]:
    """The stand-in's distance is the mean absolute difference of frames in [-1, 1]."""
    made: Any = revisers.get("lpips")(
        PolicyKit("navigation", 4, options={"lpips": f"cmd:{sys.executable} -m worldgauge_serve {SERVER}:Lpips"})
    )
    yield made
    made._network.close()
    _perceived.cache_clear()


def candidate(*frames: Any, valid: int | None = None) -> Candidate:
    film = np.stack([GREY, *frames])
    rollout = Rollout(film, "perspective", CAMERA, np.arange(len(film)), len(film) if valid is None else valid)
    return Candidate(ActionPlan((Primitive.FORWARD,) * len(frames), "test"), rollout, lambda: None)


def decided(reviser: Reviser[Any], *candidates: Candidate, goal: Any = PANORAMA) -> Decision:
    return reviser.revise(candidates, HERE, Goal(image=goal), [], np.random.default_rng(0))


def test_the_view_ahead_of_the_goal_is_at_no_distance(reviser: Reviser[Any]) -> None:
    made = decided(reviser, candidate(GREY), candidate(AHEAD))
    assert made.chosen == 1
    expected = 1 - np.abs(AHEAD.astype(float) - 128).mean() / 127.5
    assert made.scores == pytest.approx((expected, 1.0), abs=1e-5)


def test_all_frames_count_and_shorter_plans_repeat_their_last(reviser: Reviser[Any]) -> None:
    made = decided(reviser, candidate(GREY, AHEAD), candidate(AHEAD))
    assert made.chosen == 1
    assert made.scores[1] == pytest.approx(1)  # type: ignore[arg-type]
    alone = decided(reviser, candidate(GREY)).scores[0]
    assert made.scores[0] == pytest.approx((1 + alone) / 2)  # type: ignore[operator]


def test_the_first_of_equals_and_a_plan_without_frames_last(reviser: Reviser[Any]) -> None:
    assert decided(reviser, candidate(GREY), candidate(GREY)).chosen == 0
    made = decided(reviser, candidate(AHEAD, valid=1), candidate(GREY))
    assert (made.chosen, made.scores[0]) == (1, None)


def test_without_rollouts_the_first_and_without_a_picture_an_error(reviser: Reviser[Any]) -> None:
    plain = Candidate(ActionPlan((Primitive.FORWARD,), "test"), None, lambda: None)
    assert decided(reviser, plain, candidate(AHEAD)).chosen == 0
    with pytest.raises(UsageError, match="needs a goal image"):
        decided(reviser, candidate(AHEAD), goal=None)


def test_the_next_episode_looks_with_the_same_network(reviser: Reviser[Any]) -> None:
    address = f"cmd:{sys.executable} -m worldgauge_serve {SERVER}:Lpips"
    again: Any = revisers.get("lpips")(PolicyKit("navigation", 4, options={"lpips": address}))
    assert again._network is reviser._network  # type: ignore[attr-defined]


def test_without_weights_it_cannot_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path))
    with pytest.raises(WorldgaugeError, match=r"reviser 'lpips'.*worldgauge weights pull lpips-alex"):
        revisers.get("lpips")(PolicyKit("navigation", 4))


RGB = np.random.default_rng(0).integers(0, 256, (6, 7, 3), np.uint8)


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path / "weights"))


def test_one_is_opened_once_for_the_same_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    weights = SimpleNamespace(digest="a")

    def ready(name: str) -> Any:
        made.append(name)
        return standing_in(name)

    monkeypatch.setattr(cached_inference, "ready", ready)
    monkeypatch.setattr(cached_inference, "opened", lambda name: weights)
    cached_inference._opened_once.cache_clear()
    assert network("sam2") is network("sam2")
    weights.digest = "b"
    network("sam2")
    network("grounding-dino")
    cached_inference._opened_once.cache_clear()
    assert made == ["sam2", "sam2", "grounding-dino"]


def test_absent_weights_and_absent_torch_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AbsentWeightsError, match=r"^weights 'sam2' are not here: worldgauge weights pull sam2$"):
        check_networks(["sam2"])
    with pytest.raises(AbsentWeightsError, match=r"'sam2' and 'sam3' are not here: worldgauge weights pull sam2 sam3$"):
        check_networks(["sam2", "sam3"])
    monkeypatch.setattr(cached_inference, "opened", lambda name: None)
    monkeypatch.setattr(cached_inference, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="'sam2' needs the extra 'torch'"):
        check_networks(["sam2"])
    check_networks([])


def test_an_answer_is_kept_by_question_frames_and_network() -> None:
    asked: list[int] = []

    def ask() -> dict[str, Any]:
        asked.append(1)
        return {"n": np.array([len(asked)])}

    one, other = standing_in("a"), standing_in(1)
    for network_, question, frames, expected in (
        *((one, ["x", 1], RGB, 1), (one, ["x", 1], RGB.copy(), 1), (one, ["x", 2], RGB, 2)),
        *((one, ["x", 1], RGB[None], 3), (one, ["x", 1], RGB[:, ::-1], 4), (other, ["x", 1], RGB, 5)),
    ):
        assert ask_network(network_, question, frames, ask)["n"].tolist() == [expected]


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (2, 8, 8)])
def test_masks_come_back_as_they_were(shape: tuple[int, int, int]) -> None:
    masks = np.random.default_rng(1).random(shape) < 0.5
    for ask in (lambda: masks, lambda: np.zeros(shape, bool)):  # the second time from what was kept
        found = ask_masks(standing_in("a"), "masks", RGB, ask)
        assert found.dtype == np.bool_
        assert (found == masks).all()


def at(target: str) -> str:
    return f"cmd:{PYTHON} -m worldgauge_serve '{MODELS / 'walkers.py'}:{target}'"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No policy of another test; none is left behind."""
    with policies_of_this_test():
        yield


@pytest.mark.parametrize("task", ["navigation", "recognition", "questions"])
def test_a_script_acts_in_whole_episodes(episodes: Path, tmp_path: Path, task: str) -> None:
    settings = {
        "task": task,
        "proposer": "process",
        "policy": at("Ahead"),
        "decisions": 2,
        "candidates": 2,
        "view_px": 48,
        "panorama_px": 128,
        "judge": "rules",
    }
    result = run("worldinworld", model=["none"], data=episodes, out=tmp_path, settings=settings)
    assert result is not None
    records = [json.loads(path.read_text()) for path in tmp_path.glob("none/records/*/record.json")]
    assert len(records) == 2
    decided = [one["facts"]["decisions"] for one in records]
    assert any(decided)
    for path, record in zip(tmp_path.glob("none/records/*/record.json"), records, strict=True):
        assert record["error"] is None
        assert record["facts"]["proposer"] == "process"
        trace = [json.loads(line) for line in (path.parent / "trace.jsonl").read_text().splitlines()]
        assert len(trace) == record["facts"]["decisions"]
        for step in trace:  # a policy that only goes straight on
            assert '"process"' in json.dumps(step)
            assert "fallback" not in json.dumps(step)
        assert record["facts"]["steps"] <= sum(range(1, 3))


def test_its_steps_are_those_that_are_carried_out(episodes: Path, tmp_path: Path) -> None:
    """In questions, too, where plans in words are carried out otherwise."""
    settings = {"proposer": "process", "policy": at("Ahead?how=turning"), "view_px": 48, "panorama_px": 128}
    executed: list[str] = []
    for task in ("navigation", "questions"):
        asked = {**settings, "task": task, "candidates": 1, "decisions": 3}
        run("worldinworld", model=["none"], data=episodes, out=tmp_path / task, settings=asked)
        for path in (tmp_path / task).glob("none/records/*/trace.jsonl"):
            executed += [json.loads(line)["executed"] for line in path.read_text().splitlines()]
    assert len(executed) > 6
    assert set(executed) <= {"R", ""}  # nothing where the reviser answers


def test_two_plans_and_what_is_wrong_with_others() -> None:
    assert checked_steps(np.array([[1, 0], [2, 3], [0, 0]]), 2, "it") == [
        (Primitive.FORWARD,),
        (Primitive.TURN_LEFT, Primitive.TURN_RIGHT),
    ]
    for answer, words in (
        ([[1, 1, 1]], "plans of 3 steps"),
        ([[0, 1]], "0 after the last one"),
        ([[4, 0]], "steps are 1, 2 or 3"),
        ([[1.5, 0]], "steps are 1, 2 or 3"),
        ([[float("nan"), 0]], "steps are 1, 2 or 3"),
    ):
        with pytest.raises(ModelError, match=words):
            checked_steps(np.array(answer), 2, "it")


class Sight:
    camera = Camera.from_horizontal_fov(8, 8, 90)
    box = None

    def view(self, side: str) -> Any:
        return np.zeros((8, 8, 3), np.uint8)


def proposed(target: str) -> list[ActionPlan]:
    kit = PolicyKit("recognition", 3, options={"policy": at(target)})
    return list(StepsProcess(kit).propose(Sight(), Goal(), [], 2, np.random.default_rng(0)))  # type: ignore[arg-type]


def test_what_breaks_a_promise_is_one_failed_step() -> None:
    assert [letters(plan.steps) for plan in proposed("Ahead")] == ["F", "FF"]
    for how, words in (("wrong step", "steps are 1, 2 or 3"), ("too long", "plans of 4 steps"), ("gap", "0 after")):
        (plan,) = proposed(f"Ahead?how={how.replace(' ', '%20')}")
        assert plan.flags == (REFUSED,)
        assert words in plan.aim["text"]  # type: ignore[index]
    assert proposed("Ahead?how=none") == []


def test_a_policy_of_an_arm_is_refused_and_none_is_told() -> None:
    with pytest.raises(UsageError, match="a policy is of kind 'policy', layout 'steps'"):
        proposed("Ahead?layout=things")
    with pytest.raises(UsageError, match="say which with --set policy="):
        LoopSettings.of({"task": "navigation", "proposer": "process"})


PAGE = DOCS / "howto" / "policies.md"


def test_the_example_is_short_and_answers(tmp_path: Path) -> None:
    code, _, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len([line for line in code.split("\n") if line.strip()]) <= 12
    (tmp_path / "wiggle.py").write_text(code, "utf-8")
    hand = np.array([0.1, 0.2, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    camera = {"width": 4, "height": 3, "fx": 5.0, "fy": 5.0, "cx": 2.0, "cy": 1.5}
    arrays = {
        **{"front": np.zeros((3, 4, 3), np.uint8), "depth": np.ones((3, 4), np.float32), "pose": np.eye(4)},
        **{"hand": hand, "history": np.zeros((0, 8))},
    }
    options = {"instruction": "push", "n": 3, "length": 2, "seed": 5, "camera": camera, "things": []}
    server = open_estimator(f"cmd:{sys.executable} -m worldgauge_serve '{tmp_path}/wiggle.py:Wiggle?far_m=0.02'", KIND)
    try:
        assert (server.spec.kind, server.spec.settings) == (KIND, {"far_m": 0.02})
        wanted = {"poses": Expected(((3, 2, 8),))}
        one, other = (server.estimate(arrays, options, wanted).arrays["poses"] for _ in range(2))
    finally:
        server.close()
    np.testing.assert_array_equal(one, other)
    assert checked_poses(one, 2, "it").shape == (3, 2, 8)
    assert 0 < np.abs(one - hand).max() < 0.1


def test_the_example_that_walks_answers(tmp_path: Path) -> None:
    _, code, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "ahead.py").write_text(code, "utf-8")
    options = {"n": 2, "length": 3, "steps": {step.name.lower(): number for number, step in STEPS.items()}}
    server = open_estimator(f"cmd:{sys.executable} -m worldgauge_serve '{tmp_path}/ahead.py:Ahead'", KIND)
    try:
        answer = server.estimate({}, options, {"steps": Expected(((2, 3),), dtypes=("float64",))}).arrays["steps"]
    finally:
        server.close()
    assert [letters(plan) for plan in checked_steps(answer, 3, "it")] == ["F", "FF"]


def test_a_person_is_a_row_beside_the_references(episodes: Path, tmp_path: Path) -> None:
    """The three commands of the page, in a small world."""
    section = PAGE.read_text("utf-8").split("\n## Act as a person\n")[1].split("\n## ")[0]
    references, person, report = re.findall(r"^worldgauge (.*)$", section, re.MULTILINE)
    small = " --set view_px=48 --set panorama_px=128 --set decisions=1"
    done = command(tmp_path, *shlex.split(references.replace("DIR", str(episodes)) + small))
    assert done.returncode == 0, done.stderr
    hand = Hand(free_port())
    shown: list[dict[str, object]] = []
    player = threading.Thread(target=lambda: shown.extend(hand.play(lambda now: {"plans": ["LF"]})), daemon=True)
    player.start()
    where = f" --set page=127.0.0.1:{hand.port}"
    done = command(tmp_path, *shlex.split(person.replace("DIR", str(episodes)) + small + where))
    player.join(30)
    assert done.returncode == 0, done.stderr
    assert len(shown) == 2
    assert f"Open http://127.0.0.1:{hand.port}/ in a browser and act as anna" in done.stderr
    assert "anna" in done.stdout
    done = command(tmp_path, *shlex.split(report))
    assert done.returncode == 0, done.stderr
    evidence, _ = load_evidence([tmp_path / "runs" / "navigation"])
    assert {run.label for run in evidence.runs} == {"anna", *ClosedLoop.baselines}
    assert "anna" in (tmp_path / "navigation.html").read_text("utf-8")
