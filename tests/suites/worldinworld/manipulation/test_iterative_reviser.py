"""The revisers `iterative` and `resample` in the loop, with a chat endpoint that follows a script."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suites.worldinworld.manipulation.table_sight import table, table_sight
from support.chat_endpoint import Asked, Behaviour, FakeEndpoint, ok
from support.task_context import QuietContext
from worldgauge.chat.endpoint import open_chat
from worldgauge.chat.prompts import Prompts
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.model import Blinding
from worldgauge.engine.resume import task_key, task_seed
from worldgauge.engine.run import run
from worldgauge.engine.suite.contract import Task
from worldgauge.models import models
from worldgauge.suites.worldinworld.format.load import MANIFEST_FORMAT
from worldgauge.suites.worldinworld.loop import LoopStep, Rules, run_episode
from worldgauge.suites.worldinworld.manipulation.episodes import ManipulationEpisode, write_manipulation
from worldgauge.suites.worldinworld.manipulation.iterative_reviser import LoggedPlan, vote
from worldgauge.suites.worldinworld.policies.asking import plan_in_words
from worldgauge.suites.worldinworld.policies.contract import ActionPlan, PolicyKit, Rollout, proposers, revisers
from worldgauge.suites.worldinworld.suite import ClosedLoop
from worldgauge.suites.worldinworld.task import LoopSettings, serves
from worldgauge.suites.worldinworld.trace import TRACE, read_trace
from worldgauge.worlds.tabletop.pose_plans import HandPose, clip_plan, poses_from_bins

GOAL = Goal(text="push the blue button")
A, B, C, D, E = ([60, 50, height, 0, 60, 60, 1] for height in (20, 30, 40, 50, 60))
UNREAD = "the gripper to the left"


def plan_of(*rows: list[int]) -> ActionPlan:
    return ActionPlan((), "x", poses=tuple(HandPose(*pose) for pose in poses_from_bins(rows).tolist()))


def bins(plan: ActionPlan | None) -> list[list[int]]:
    assert plan is not None
    return json.loads(f"[{plan_in_words(ActionPlan((), '', poses=plan.poses))}]")


def reply(*rows: list[int], plan: str = "press it") -> str:
    return json.dumps({"seen": "s", "reason": "r", "plan": plan, "poses": rows})


class Still:
    """A table at which nothing moves."""

    def observe(self) -> Any:
        return table_sight(64)

    def step(self, action: Any) -> bool:
        return False


class SomeDecisions(Rules[HandPose]):
    """So many decisions of up to two plans; nothing is carried out."""

    def __init__(self, decisions: int, candidates: int) -> None:
        super().__init__(candidates, 3, 1.0)
        self.decisions = decisions

    def truncated(self, history: Sequence[Any]) -> bool:
        return len(history) >= self.decisions

    def actions(self, decision: Any) -> Iterator[HandPose]:
        return iter(())

    def fallback(self, observation: Any, rng: np.random.Generator) -> ActionPlan:
        return plan_of(E)

    def true_value(self, plan: ActionPlan) -> float | None:
        return None


@dataclass
class Acted:
    """What came of decisions: plans that were imagined, call by call, and the prompts that were asked."""

    steps: list[LoopStep] = field(default_factory=list)
    imagined: list[list[list[list[int]]]] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)

    @property
    def notes(self) -> Any:
        return self.steps[-1].past.decision.notes

    @property
    def taken(self) -> tuple[list[list[int]], int | None]:
        decision = self.steps[-1].past.decision
        return bins(decision.plan), decision.chosen


@pytest.fixture
def act(endpoint: FakeEndpoint) -> Callable[..., Acted]:
    """Makes decisions with the replies of a script, one after the other."""

    def made(
        reviser: str, replies: Sequence[str], *, proposer: Any = None, decisions: int = 1, n: int = 2, **options: Any
    ) -> Acted:
        acted = Acted()
        endpoint.then(*map(ok, replies))
        kit = PolicyKit("manipulation", 3, open_chat(f"m@{endpoint.url}"), options={"asks": 2, **options})

        def imagine(sight: Any, plans: Sequence[ActionPlan], number: int) -> list[Rollout]:
            acted.imagined.append([bins(plan) for plan in plans])
            clips = [clip_plan(sight.hand, plan.poses, 14) for plan in plans]
            camera, grey = Camera.from_vertical_fov(32, 32, 40), np.full((14, 32, 32, 3), 90, np.uint8)
            return [Rollout(grey, "perspective", camera, one.step, 14, anchors=one.anchors) for one in clips]

        policies = proposer or proposers.get("chat")(kit), revisers.get(reviser)(kit)
        run_episode(Still(), GOAL, *policies, SomeDecisions(decisions, n), imagine, [5], acted.steps.append)  # type: ignore[arg-type]
        assert not endpoint._script, "every reply of the script was asked for"
        acted.prompts = [prompt_of(asked) for asked in endpoint.asked]
        return acted

    return made


def prompt_of(asked: Asked) -> str:
    """Which of our prompts a request holds."""
    text = asked.body["messages"][0]["content"]
    said = text if isinstance(text, str) else text[0]["text"]
    for name in ("repropose", "resample", "pick", "describe", "propose", "rewrite", "select"):
        system = Prompts("worldgauge.suites.worldinworld")[f"manipulation-{name}"].text.split("[user]")[0]
        if said.strip() == system.split("[system]")[1].strip():
            return name
    raise AssertionError(said)


PLANS = "propose", "propose"
AGAIN = "repropose", "repropose"


def test_three_rounds_are_imagined_and_the_last_proposals_only_vote(act: Callable[..., Acted]) -> None:
    """C was proposed in three rounds; E is new in the last one and is not imagined."""
    acted = act("iterative", [reply(A), reply(B), reply(A), reply(C), reply(C), reply(D), reply(E), reply(C)])
    assert acted.imagined == [[[A], [B]], [[C]], [[D]]]
    assert acted.taken == ([C], 2)
    assert (acted.notes["tags"], acted.notes["votes"]) == ([0, 0, 2, 2, 4, 4, 6, 6], [2, 1, 2, 3, 3, 1, 1, 3])
    assert acted.prompts == [*PLANS, *AGAIN, *AGAIN, *AGAIN]
    assert len(acted.notes["asks"]) == 6, "the proposer notes its own calls"
    assert json.loads(json.dumps(acted.notes)) == acted.notes
    assert "fallback" not in acted.notes


def test_plans_that_are_all_known_end_the_search(act: Callable[..., Acted]) -> None:
    """In other words the same poses are the same plan; the one that came first in the last round is taken."""
    acted = act("iterative", [reply(A), reply(B), reply(B, plan="otherwise said"), reply(A)])
    assert acted.imagined == [[[A], [B]]]
    assert (acted.taken, acted.notes["votes"]) == (([B], 1), [2, 2, 2, 2])
    assert acted.prompts == [*PLANS, *AGAIN]


def test_of_equal_votes_the_shorter_plan_is_taken_then_the_first(act: Callable[..., Acted]) -> None:
    shorter = act("iterative", [reply(A), reply(B), reply(C, D), reply(E)], iterations=2)
    assert shorter.imagined == [[[A], [B]]]
    assert shorter.taken == ([E], None), "a plan that nothing was imagined for"
    first = act("iterative", [reply(A), reply(B), reply(D), reply(C)], iterations=2)
    assert first.taken == ([D], None)
    more = act("iterative", [reply(A, B), reply(C), reply(D), reply(A, B)], iterations=2)
    assert more.taken == ([A, B], 0), "votes count before length"


def test_a_round_counts_a_plan_once() -> None:
    log = [LoggedPlan(plan_of(A), 0), LoggedPlan(plan_of(B), 1), LoggedPlan(plan_of(C), 1), LoggedPlan(plan_of(C), 0)]
    assert (bins(vote(log)[0]), vote(log)[1]) == ([C], [1, 1, 2, 2])


def test_repetitions_within_a_round_are_one_vote(act: Callable[..., Acted]) -> None:
    acted = act("iterative", [*map(reply, (A, B, C, D, D, B, D, D, B))], n=3, iterations=3)
    assert acted.imagined == [[[A], [B], [C]], [[D]]]
    assert (acted.notes["tags"], acted.notes["votes"]) == ([0, 0, 0, 3, 3, 5, 5], [1, 3, 1, 2, 3, 2, 3])
    assert acted.taken == ([B], 1)


def test_each_plan_so_far_is_shown_with_its_poses_and_pictures(
    act: Callable[..., Acted], endpoint: FakeEndpoint
) -> None:
    act("iterative", [reply(A, B), reply(B), reply(C), reply(C), reply(C), reply(C)])
    second, last = endpoint.asked[2].body["messages"][1]["content"], endpoint.asked[4].body["messages"][1]["content"]
    for content, plans in ((second, [[A, B], [B]]), (last, [[A, B], [B], [C]])):
        text = "".join(part["text"] for part in content if part["type"] == "text")
        for number, plan in enumerate(plans, start=1):
            assert f"Candidate {number}: press it - {', '.join(map(str, plan))}." in text
        assert f"So far {len(plans)} plans were tried" in text
        assert "push the blue button" in text
        assert sum(part["type"] == "image_url" for part in content) == 1 + len(plans)


def test_replies_that_cannot_be_read_end_the_search_and_are_flagged(act: Callable[..., Acted]) -> None:
    none = act("iterative", [reply(A), reply(B, C), UNREAD, reply([*A, 0])])
    assert (none.imagined, none.taken) == ([[[A], [B, C]]], ([A], 0))
    assert "2 times asked" in none.notes["fallback"]
    assert [len(note["problems"]) for note in none.notes["asks"]] == [2]
    some = act("iterative", [reply(A), reply(B), reply(C), UNREAD, UNREAD, UNREAD, reply(C), reply(A)], iterations=3)
    assert some.imagined == [[[A], [B]], [[C]]]
    assert some.taken == ([C], 2)


def test_a_decision_forgets_the_one_before(act: Callable[..., Acted]) -> None:
    one = [reply(A), reply(B), reply(A), reply(B)]
    acted = act("iterative", [*one, *map(reply, (C, D, C, D))], decisions=2)
    assert acted.taken == ([C], 0)
    assert acted.notes["votes"] == [2, 2, 2, 2]


def test_without_rollouts_the_first_plan_is_taken_and_nothing_asked() -> None:
    for name in ("iterative", "resample"):
        made = [Candidate(plan_of(A)), Candidate(plan_of(B))]
        kit = PolicyKit("manipulation", 3, object())
        decision = revisers.get(name)(kit).revise(made, table_sight(64), GOAL, [], np.random.default_rng(0))  # type: ignore[arg-type]
        assert decision.chosen == 0
        assert serves(revisers, name, "manipulation")
        assert not serves(revisers, name, "navigation")


@dataclass
class Candidate:
    plan: ActionPlan
    rollout: None = None


class Draws:
    """A proposer that draws what a list says."""

    def __init__(self, *draws: Sequence[list[int]]) -> None:
        self.draws = list(draws)
        self.asked: list[Any] = []

    def propose(self, *given: Any) -> list[ActionPlan]:
        self.asked = [{"draw": len(self.draws)}]
        return [plan_of(row) for row in self.draws.pop(0)]


def choice(number: int) -> str:
    return json.dumps({"reason": "r", "choice": number})


def described(*plans: str) -> list[str]:
    return [f"at the end of {plan}" for plan in plans]


def test_a_plan_that_is_good_enough_is_taken_at_once(act: Callable[..., Acted]) -> None:
    acted = act("resample", [*described("a", "b"), choice(2)], proposer=Draws([A, B]))
    assert (acted.imagined, acted.taken) == ([[[A], [B]]], ([B], 1))
    assert acted.prompts == ["describe", "describe", "resample"]
    assert acted.notes["choices"] == [2 - 1]


def test_else_others_are_drawn_and_those_that_end_far_apart_are_compared(act: Callable[..., Acted]) -> None:
    """Drawn are D and C; of them and A and B, D (the first) and A are farthest apart: A is not imagined twice."""
    draws = Draws([A, B], [D, C])
    acted = act("resample", [*described("a", "b"), choice(-1), *described("d", "a"), choice(1)], proposer=draws)
    assert acted.imagined == [[[A], [B]], [[D]]]
    assert acted.taken == ([D], 2)
    assert (acted.notes["choices"], acted.notes["descriptions"]) == ([-1, 0], described("d", "a"))
    assert acted.prompts == ["describe", "describe", "resample"] * 2
    drawn = [note for note in acted.notes["asks"] if "draw" in note]
    assert (drawn, draws.asked) == ([{"draw": 2}], [{"draw": 1}]), "the trace adds the proposer's latest notes"


def test_in_the_last_round_the_last_plan_is_taken_if_none_helps(act: Callable[..., Acted]) -> None:
    draws = Draws([A], [E], [D])
    said = [*described("a"), choice(-1), *described("e", "a"), choice(-1), *described("d", "a"), choice(-1)]
    acted = act("resample", said, proposer=draws, iterations=3)
    assert acted.imagined == [[[A]], [[E]], [[D]]]
    assert acted.prompts == ["describe", "resample", "describe", "describe", "resample", "describe", "describe", "pick"]
    assert (acted.taken, acted.notes["choices"]) == (([A], 0), [-1, -1, -1])


def test_no_new_plan_and_no_readable_choice_end_the_search(act: Callable[..., Acted]) -> None:
    same = act("resample", [*described("a"), choice(-1), *described("a"), choice(1)], proposer=Draws([A], [A]))
    assert (same.imagined, same.taken, same.prompts[-1]) == ([[[A]]], ([A], 0), "pick")
    unread = act("resample", [*described("a", "b"), UNREAD, choice(7)], proposer=Draws([A, B]))
    assert (unread.taken, unread.notes["choices"]) == (([A], 0), [0])
    assert "2 times asked" in unread.notes["fallback"]


def data_of(root: Path) -> Path:
    """One trial at the table of the tests."""
    place = table()
    trial = ManipulationEpisode(
        "push_buttons-001", "push_buttons-2-1", "push_buttons", 2, place.task.instruction, place.task.wordings, 5
    )
    write_manipulation(root, [trial])
    world = {"world": place.facts.name, "params": place.facts.params, "digest": place.facts.digest}
    manifest = {"format": MANIFEST_FORMAT, "version": 1, "settings": {}, "worlds": {trial.scene: world}}
    (root / "worldgauge.json").write_text(json.dumps(manifest))
    return root


def settings_of(endpoint: FakeEndpoint, recording: Path) -> dict[str, Any]:
    policies = {"proposer": "chat", "reviser": "iterative", "chat": f"m@{endpoint.url}"}
    sizes = {"candidates": 2, "decisions": 1, "length": 2, "view_px": 32}
    return {"task": "manipulation", **policies, **sizes, "chat_recording": str(recording)}


class Fickle:
    """Replies differently each time, twice in no readable form; the reply numbered `held` never comes."""

    BAD = (3, 4)

    def __init__(self, held: int | None = None) -> None:
        self.given, self.held = 0, held
        self.reached, self.let_go = threading.Event(), threading.Event()

    def __call__(self, handler: Any, asked: Asked) -> None:
        if self.given == self.held:
            self.reached.set()
            self.let_go.wait(60)
            raise BrokenPipeError
        number = self.given
        self.given += 1
        rows = [60, 50, 20 + number, 0, 60, 60, 1]
        said: Behaviour = ok(UNREAD if number == 3 else reply(rows[:5] if number == 4 else rows))
        said(handler, asked)


def test_a_run_that_was_killed_in_its_second_round_comes_to_the_same_decision(
    endpoint: FakeEndpoint, tmp_path: Path
) -> None:
    """The other run is one that was never stopped, in this process."""
    data, whole = data_of(tmp_path / "data"), Fickle()
    endpoint.always = whole
    (folder := tmp_path / "whole").mkdir()
    suite = ClosedLoop(**settings_of(endpoint, tmp_path / "whole-chat"))
    (task,) = suite.tasks(data)
    context = QuietContext(folder, task_seed(0, task.id))
    context.blinding = Blinding("as in a run")
    suite.perform(task, models.get("oracle")(), context)
    (line,) = read_trace(folder)
    assert (line["notes"]["tags"], len(line["candidates"])) == ([0, 0, 2, 2, 4, 4, 6, 6], 6)
    assert whole.given == 8 + len(Fickle.BAD)

    broken = endpoint.always = Fickle(held=6)  # two plans, the first new one after two bad replies, and then no more
    settings = settings_of(endpoint, tmp_path / "killed-chat")
    words = [f"--set={k}={v}" for k, v in settings.items()]
    out = tmp_path / "killed"
    call = ["run", "worldinworld", "--data", data, "--model", "oracle", "--no-baselines", "--out", out]
    process = subprocess.Popen([sys.executable, "-m", "worldgauge", *map(str, call), *words], start_new_session=True)
    assert broken.reached.wait(60)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not list(out.rglob("record.json"))
    broken.held = None
    run("worldinworld", model="oracle", data=data, out=out, settings=settings, scoring=False)
    (trace,) = out.rglob(TRACE)
    assert read_trace(trace.parent) == [line]
    assert broken.given == whole.given, "no reply was asked for twice"
    broken.let_go.set()


def test_what_was_recorded_without_the_revisers_keeps_its_key(tmp_path: Path) -> None:
    """A later option at its default, and prompts that no acting policy uses, are as if they had never been there."""
    task = Task("worldinworld", "manipulation/x", {}, fingerprint="f00d")

    def key(**options: Any) -> str:
        return task_key(ClosedLoop(task="manipulation", **options), task, {}, 0)

    assert key() == key(iterations=4) != key(iterations=3)
    talking = {"reviser": "chat", "chat": "m@http://localhost:1/v1"}
    ours = Prompts("worldgauge.suites.worldinworld")
    before = ours.digest_without(["manipulation-repropose", "manipulation-resample"])
    assert LoopSettings.of({"task": "manipulation", **talking}).prompts_digest == before
    (tmp_path / "manipulation-repropose.txt").write_text(ours["manipulation-repropose"].text + "\nBe brief.")
    assert key(**talking, prompts=str(tmp_path)) == key(**talking)
    searching = {**talking, "reviser": "iterative"}
    assert key(**searching, prompts=str(tmp_path)) != key(**searching)


@pytest.mark.parametrize("count", [1, 9])
def test_too_few_or_many_iterations_are_refused(count: int) -> None:
    with pytest.raises(UsageError, match="'iterations' must be a whole number from 2 to 8"):
        LoopSettings.of({"task": "manipulation", "iterations": count})
