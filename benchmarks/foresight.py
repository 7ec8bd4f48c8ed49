"""What foresight brings in the closed loop, over hundreds of episodes: success by model, and the gain over `none`.

    python -m benchmarks.foresight --data data --task recognition --model oracle --model none --out ends.jsonl

Episodes are acted out by the suite's own policies and rules, with the seeds of `worldgauge run`, and nothing is filmed.
Of a plan only the last frame is drawn, since `nearness`, `similarity` and `panorama-answerer` read no other of models
that draw what they ask for (of questions panoramas, `oracle?view=panorama`), nor does `uncovered`; `clearest` and
`recogniser` follow the camera through all. So an episode takes a fraction of the time of a run, and ends as it
does there with `oracle`,
`warp`, `freeze` and `none`; of `degraded`, `noise` and `forgetful` the last frame alone is another draw. Each episode's
end is a line of the file, and an interrupted benchmark goes on where it was.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.image import Frames
from worldgauge.core.intervals import mean_interval, rate_interval
from worldgauge.core.model import RolloutRequest, WorldModel, imagines
from worldgauge.core.paired_tests import paired_difference
from worldgauge.engine.model_entries import resolve_model
from worldgauge.engine.resume import task_seed
from worldgauge.engine.suite.contract import Record, Task
from worldgauge.suites.worldinworld import task_index
from worldgauge.suites.worldinworld.home_env import HomeTaskEnv
from worldgauge.suites.worldinworld.loop import run_episode
from worldgauge.suites.worldinworld.manipulation.env import TableEnv
from worldgauge.suites.worldinworld.task import ClosedLoopTask, LoopSettings, noted_settings, task_names
from worldgauge.terminal.options import settings_of
from worldgauge.worlds.tabletop.pose_plans import HandPose
from worldgauge.worlds.tabletop.simulation import Move, TableState

SEED = 0
BASE = "none"
READS_ALL = frozenset({"clearest", "recogniser"})
"""Revisers that read all frames of a plan."""
ANY_FRAME = frozenset({"oracle", "warp", "degraded", "forgetful", "freeze", "noise", "roll"})
"""Models that draw a frame without those before it."""


class LastFrame:
    """A model of which only the last frame of every plan is drawn; the others repeat the present view.

    Args:
        model: The model.
    """

    def __init__(self, model: WorldModel) -> None:
        self.spec, self._model = model.spec, model

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Yield `horizon` frames."""
        for _ in range(request.horizon - 1):
            yield request.context.clip[-1][None]
        last = slice(request.horizon - 1, request.horizon)
        short = {
            name: None if value is None else value[last]
            for name in ("actions", "poses", "truth", "truth_poses")
            for value in (getattr(request, name),)
        }
        yield from self._model.rollout(replace(request, horizon=1, **short))


def share_moves(env: TableEnv) -> None:
    """Keep moves of an arm by state and pose: a plan is foreseen, carried out, and proposed to other models too."""
    simulation = env._simulation
    known: dict[Any, tuple[Move, TableState]] = {}
    move = simulation.move

    def known_move(pose: HandPose) -> Move:
        key = simulation.state(), pose
        if key not in known:
            known[key] = move(pose), simulation.state()
            return known[key][0]
        simulation.restore(known[key][1])
        return known[key][0]

    simulation.move = known_move  # type: ignore[method-assign]


def share_ways(env: HomeTaskEnv) -> None:
    """Cache ways by start and end: the first decision proposes the same ones to all models."""
    steps_to = lru_cache(maxsize=1024)(env.ground.steps_to)
    env.ground.steps_to = lambda stance, goal, radius_m: steps_to(  # type: ignore[method-assign]
        stance, tuple(map(float, goal)), radius_m
    )


def end_of(task: ClosedLoopTask[Any, Any, Any], env: Any, model: WorldModel, asked_of: Task) -> float:
    """Act an episode out in an environment at its start; 1 for success, a share of it for an answer."""
    name = asked_of.id
    seed = task_seed(SEED, name)
    proposer, reviser = task.policies()
    env.reset()
    goal, rules = task.goal(env), task.rules(env, seed)
    rules.true_value = lambda plan: None  # regret is not told, and it takes longer than all else
    in_order = getattr(model, "needs_all_frames", model.spec.name not in ANY_FRAME)
    whole = task.parameters.reviser in READS_ALL or in_order
    asked = model if whole else LastFrame(model)
    imagine = task.imagination(asked, env, seed, name) if imagines(model) else None
    if imagine is not None:
        imagine.remember()
    walked = env if imagine is None else Remembering(env, imagine)
    end = task.start_fault(env) or run_episode(walked, goal, proposer, reviser, rules, imagine, [seed])
    noted = {name: getattr(task.settings, name) for name in noted_settings()}
    facts = {"end": end, **noted, **task.outcome(rules, env)}
    head = next(iter(task.scores(Record(asked_of, model.spec.name, Path(), facts))))
    assert head.metric == "task/success"
    assert head.value is not None
    return head.value / 100


class Remembering:
    """An environment of which the model is shown what is seen after every action."""

    def __init__(self, env: Any, imagine: Any) -> None:
        self._env, self._imagine = env, imagine
        self.observe, self.turn = env.observe, env.turn

    def step(self, action: Any) -> bool:
        """Carry out one action."""
        failed = bool(self._env.step(action))
        self._imagine.remember()
        return failed


def act_out(data: Path, settings: LoopSettings, models: Sequence[str], every: int, out: Path) -> None:
    """Append the end of each `every`th episode that the file lacks, a line for each model."""
    known = set(ends(out))
    made = {name: resolve_model(name).model for name in models}
    for task in list(task_index.tasks(data, settings))[::every]:
        missing = [name for name in models if (task.id, name) not in known]
        if not missing or task.skip is not None:
            continue
        own = task_index.open_task(task, settings)
        env = own.make_env()
        if isinstance(env, TableEnv):
            share_moves(env)
        elif isinstance(env, HomeTaskEnv):
            share_ways(env)
        found = {name: end_of(own, env, made[name], task) for name in missing}
        with out.open("a") as file:
            for name, success in found.items():
                line = {"task": task.id, "cluster": task.cluster, "model": name, "success": success}
                file.write(json.dumps(line) + "\n")


def ends(out: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Lines of a file by task and model."""
    lines = map(json.loads, out.read_text().splitlines()) if out.exists() else ()
    return {(line["task"], line["model"]): line for line in lines}


def table(found: Mapping[tuple[str, str], Mapping[str, Any]]) -> Iterator[str]:
    """Rows of a table: success, gain over `none` on the same episodes, episodes and clusters."""
    yield "| model | success, % | gain, points | episodes | clusters |"
    yield "|---|---|---|---|---|"
    clusters = {task: line["cluster"] for (task, _), line in found.items()}
    base = {task: line["success"] for (task, model), line in found.items() if model == BASE}
    for model in dict.fromkeys(model for _, model in found):
        own = {task: line["success"] for (task, name), line in found.items() if name == model}
        among = [clusters[task] for task in own]
        inside = (
            rate_interval(map(bool, own.values()), among)
            if set(own.values()) <= {0.0, 1.0}
            else mean_interval(own.values(), among)
        )
        gain = "" if model == BASE else _gain(own, {task: base[task] for task in own if task in base}, clusters)
        said = "" if inside is None else f" [{100 * inside.low:.1f}, {100 * inside.high:.1f}]"
        homes = len({clusters[task] for task in own})
        yield f"| `{model}` | {100 * np.mean(list(own.values())):.1f}{said} | {gain} | {len(own)} | {homes} |"


def _gain(own: Mapping[str, float], base: Mapping[str, float], clusters: Mapping[str, str]) -> str:
    told = paired_difference(own, base, cluster=clusters)
    if told.mean is None:
        return ""
    low_high = "" if told.interval is None else f" [{100 * told.interval.low:.1f}, {100 * told.interval.high:.1f}]"
    return f"{100 * told.mean:+.1f}{low_high}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.foresight", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of `worldgauge collect worldinworld`")
    parser.add_argument("--task", choices=task_names(), required=True)
    parser.add_argument("--model", action="append", default=[], help="world model to ask; repeat for several")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the suite")
    parser.add_argument("--every", type=int, default=1, help="only every Nth episode")
    parser.add_argument("--out", type=Path, required=True, help="file of the episodes' ends, new or to be continued")
    asked = parser.parse_args()
    settings = LoopSettings.of({**settings_of(asked.set), "task": asked.task})
    act_out(asked.data, settings, asked.model or [BASE], asked.every, asked.out)
    print("\n".join(table(ends(asked.out))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
