"""Scores of one episode: what the agent achieved, and what its world model's imagination was worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from worldgauge.core.image import Frames
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Record, Score, TaskContext, mean_of
from worldgauge.engine.suite.scores import score_of
from worldgauge.suites.closedloop.format.layout import (
    ManipulationEpisode,
    NavigationEpisode,
    QuestionEpisode,
    RecognitionEpisode,
)
from worldgauge.suites.closedloop.learned import METRICS as LEARNED
from worldgauge.suites.closedloop.learned import learned_scores, missing_learned
from worldgauge.suites.closedloop.loop import FALLBACK
from worldgauge.suites.closedloop.manipulation.episode import SOLVED
from worldgauge.suites.closedloop.manipulation.place import TablePlace
from worldgauge.suites.closedloop.metrics import controllability
from worldgauge.suites.closedloop.metrics.success import (
    Term,
    answer_score,
    answer_spl,
    model_calls,
    spl,
    success,
    task_progress,
    trajectory_m,
    trajectory_steps,
)
from worldgauge.suites.closedloop.protocol import judge_of, place_of
from worldgauge.suites.closedloop.questions.chat_judge import JudgeError
from worldgauge.suites.closedloop.questions.judge import Judge, Mark
from worldgauge.suites.closedloop.settings import Settings
from worldgauge.suites.closedloop.simulator import Simulator
from worldgauge.suites.closedloop.tasks import episode_of
from worldgauge.suites.closedloop.trace import COMPARED, read_trace
from worldgauge.worlds.tabletop.pose_plans import HandPose, clip_plan
from worldgauge.worlds.tabletop.simulation import State
from worldgauge.worlds.walking.primitives import from_letters
from worldgauge.worlds.walking.walker import Stance

HEADLINE = "task/success"
"""What an episode came to, in percent: success, or the answer score."""
QUALITY = ("controllability_psnr", "controllability_ssim", "visual_quality")
METRICS = (
    *("success", "trajectory_steps", "trajectory_m", "spl", "answer_score", "answer_spl"),
    *("task_progress", "decision_regret", "model_calls", *QUALITY, *LEARNED.values()),
)
NOTHING_IMAGINED = "nothing was imagined"
_UNREACHABLE = "the goal cannot be reached: the episode is invalid"
_NO_LENGTH = "the reference length is not known"
_UNSEEN = "the target is not seen at the start: the episode could not begin"


def score(record: Record, task_context: TaskContext, settings: Settings) -> list[Score]:
    """All scores of one record; what cannot be known has none, with the reason."""
    episode, world = episode_of(record.task)
    trace = read_trace(record.directory)
    if isinstance(episode, RecognitionEpisode):
        found = list(_recognition(record, episode))
    elif isinstance(episode, NavigationEpisode):
        found = list(_navigation(record, episode))
    elif isinstance(episode, ManipulationEpisode):
        found = list(_manipulation(record))
    else:
        found = list(_questions(record, episode, judge_of(settings)))
    task_context.progress(1, 2)
    kind = record.task.sample["kind"]
    regrets = [one for one in _regrets(trace) if one is not None]
    found.append(
        score_of(
            record,
            "decision_regret",
            mean_of(regrets),
            n=len(regrets),
            reason=None if regrets else "no decision chose among known candidates",
        )
    )
    found.append(score_of(record, "model_calls", model_calls(record.facts["calls"]), facts=_counts(trace)))
    found += _imagination(record, trace, settings, lambda: place_of(episode, world, settings.of_task(kind), settings))
    return sorted(found, key=lambda one: one.metric)


def _recognition(record: Record, episode: RecognitionEpisode) -> Iterator[Score]:
    facts = record.facts
    unseen = facts["end"] == "unseen"
    right = facts["label"] == episode.category
    told = {
        **_way(record),
        "label": facts["label"],
        "confidence": facts["confidence"],
        "flags": ["unseen_at_start"] if unseen else [],
    }
    yield score_of(record, "success", success(right), facts=told, prefix="task/")
    yield score_of(record, "success", success(right), prefix="recognition/")
    steps = trajectory_steps(None if unseen else facts["steps"])
    yield score_of(record, "trajectory_steps", steps, reason=_UNSEEN, prefix="recognition/")


def _navigation(record: Record, episode: NavigationEpisode) -> Iterator[Score]:
    facts = record.facts
    arrived = facts["arrived"] and (facts["track"] == "oracle_stop" or facts["end"] == "declared")
    told = {**_way(record), "distance_m": facts["distance_m"]}
    invalid = ("unreachable",) if facts["distance_m"] is None else ()
    yield score_of(record, "success", success(arrived), facts={**told, "flags": invalid}, prefix="task/")
    yield score_of(record, "success", success(arrived), prefix="navigation/")
    yield score_of(record, "trajectory_steps", trajectory_steps(facts["steps"]), prefix="navigation/")
    reference = math.inf if invalid else episode.step_to_goal
    yield _of_term(record, "spl", spl(arrived, reference, facts["steps"]), _UNREACHABLE, prefix="navigation/")


def _manipulation(record: Record) -> Iterator[Score]:
    facts = record.facts
    solved = success(facts["end"] == SOLVED)
    flags = ["unstable"] if facts["unstable"] else []
    told = {**_way(record), "progress": facts["progress"], "failed_poses": facts["failed_poses"], "flags": flags}
    yield score_of(record, "success", solved, facts=told, prefix="task/")
    yield score_of(record, "success", solved, prefix="manipulation/")
    decisions = trajectory_steps(facts["decisions"])
    yield score_of(record, "trajectory_steps", decisions, prefix="manipulation/")
    yield score_of(record, "task_progress", task_progress(facts["progress"]), prefix="manipulation/")


def _questions(record: Record, episode: QuestionEpisode, judge: Judge) -> Iterator[Score]:
    facts = record.facts
    answer, blind = facts["answer"], episode.blind_answer
    asked = (episode.question, episode.answer, episode.extra_answers)
    mark = None if answer is None else _marked(judge, *asked, answer)
    blind_mark = None if blind is None else _marked(judge, *asked, blind)
    sigma = None if mark is None else mark.sigma
    # A judge that fails on the blind answer gives no mark, which is another thing than that there is no such answer.
    blind_sigma = None if blind is None else 0 if blind_mark is None else blind_mark.sigma
    told = {
        **_way(record),
        "answer": answer,
        "mark": sigma,
        "why": None if mark is None else mark.reason,
        "blind_answer": blind,
        "blind_mark": blind_sigma,
    }
    answered = answer is not None
    fallback = answer_score(answered, sigma, blind_sigma)
    yield score_of(record, "success", fallback.value, facts={**told, "flags": fallback.flags}, prefix="task/")
    yield _of_term(record, "answer_score", fallback)
    yield _of_term(record, "answer_score", answer_score(answered, sigma), prefix="questions/seen_only/")
    yield score_of(record, "trajectory_m", trajectory_m(facts["metres"]), prefix="questions/")
    lengths = episode.reference_m, facts["metres"]
    alone = answer_spl(answered, sigma, *lengths)
    yield _of_term(record, "answer_spl", alone, _NO_LENGTH)
    blindly = answer_spl(True, blind_sigma, *lengths) if not answered and blind_sigma is not None else alone
    yield _of_term(record, "answer_spl", blindly, _NO_LENGTH, prefix="questions/with_blind/")


def _marked(judge: Judge, question: str, answer: str, extra: tuple[str, ...], prediction: str) -> Mark | None:
    """None where the judge gives no mark that can be read. An outage fails the scoring, which can be done again."""
    try:
        return judge.mark(question, answer, extra, prediction)
    except JudgeError as error:
        if error.outage:
            raise
        return None


def _of_term(record: Record, metric: str, term: Term, reason: str = "", *, prefix: str = "questions/") -> Score:
    why = None if term.value is not None else reason
    return score_of(record, metric, term.value, reason=why, facts={"flags": list(term.flags)}, prefix=prefix)


def _way(record: Record) -> dict[str, Any]:
    """How the episode ended and where it led, for tables and pictures."""
    return {name: record.facts[name] for name in ("end", "xy", "leading_turns", "track")}


def _regrets(trace: list[dict[str, Any]]) -> Iterator[float | None]:
    """Of every decision that had a choice."""
    for line in trace:
        values = [one["true_value"] for one in line["candidates"]]
        if len(values) > 1:
            yield controllability.decision_regret(values, line["chosen"])


def _counts(trace: list[dict[str, Any]]) -> dict[str, int]:
    """What an episode took beside rollouts: candidates, decisions that fell back on something, queries and tokens."""
    queries = [one for line in trace for one in _queries(line["notes"])]
    flagged = [flag for line in trace for one in line["candidates"] for flag in one["flags"]]
    fell = sum(any("fallback" in key for key in line["notes"]) for line in trace)
    return {
        "decisions": len(trace),
        "candidates": sum(len(line["candidates"]) for line in trace),
        "fallbacks": fell + flagged.count(FALLBACK),
        "queries": sum(int(one.get("asks", 0)) for one in queries),
        "tokens": sum(int(one.get(key) or 0) for one in queries for key in ("input_tokens", "output_tokens")),
    }


def _queries(notes: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Notes of what a language model was asked, by whoever asked it."""
    for name in ("proposals", "asks", "steps"):
        yield from notes.get(name, ())


def _imagination(
    record: Record, trace: list[dict[str, Any]], settings: Settings, simulator: Callable[[], Simulator | TablePlace]
) -> Iterator[Score]:
    """What was imagined against what the simulator shows of the same steps, of the rollouts that were kept for it.

    All frames of an episode are one film: a rollout that is right by chance, such as of a blocked step, is no record.
    """
    path = record.directory / COMPARED
    compared = [(line, one) for line in trace for one in line["candidates"] if one["compared"]]
    if not compared or not path.exists():
        why = NOTHING_IMAGINED
        yield from (score_of(record, metric, None, reason=why) for metric in QUALITY)
        yield from missing_learned(record, why)
        return
    place = simulator()
    imagined = Clip.open(path).to_array()
    real = np.concatenate([_replayed(line, one, place) for line, one in compared])
    n = len(imagined)
    quality = float(np.mean([controllability.visual_quality(frame) for frame in imagined]))
    yield score_of(record, "controllability_psnr", controllability.controllability_psnr(imagined, real), n=n)
    yield score_of(record, "controllability_ssim", controllability.controllability_ssim(imagined, real), n=n)
    yield score_of(record, "visual_quality", quality, n=n)
    yield from learned_scores(record, imagined, real, settings)


def _replayed(line: Mapping[str, Any], one: Mapping[str, Any], place: Simulator | TablePlace) -> Frames:
    """The frames of the simulator for those of a candidate that the model drew, of as much as the model shows."""
    camera = place.camera
    across, down = one["shown"]
    cut = camera.cropped(round(camera.width * min(across, 1.0)), round(camera.height * min(down, 1.0)))
    if isinstance(place, TablePlace):
        frames = one["imagined"][1] - one["imagined"][0] + 1
        poses = [HandPose(*pose) for pose in one["steps"]]
        told = clip_plan(line["hand"], np.array(poses), frames)
        film = place.film(poses, told, State.of(line["state"])).cropped(cut.width, cut.height)
    else:
        stances = place.replayed(Stance(*line["stance"]).turned(one["turn_left_rad"]), from_letters(one["steps"]))
        film = place.film(stances[one["exact"] :], cut)
    return film.resized(camera.width, camera.height).to_array()
