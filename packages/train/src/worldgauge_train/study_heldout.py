"""`study heldout`: what models of the closed loop imagine on coverage walks of homes that no network is trained on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from worldgauge.core.actions import describe
from worldgauge.core.episode import Episode
from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import Panorama
from worldgauge.core.io import digest_of_file
from worldgauge.core.model import RolloutRequest, WorldModel
from worldgauge.core.video import Clip
from worldgauge.engine.open_suite import suite_name
from worldgauge.engine.options import option, options_of
from worldgauge.engine.suite.base import Suite, suites
from worldgauge.engine.suite.contract import (
    Failure,
    Record,
    Score,
    Table,
    TableRow,
    Task,
    TaskContext,
    cached_by_task,
    mean_of_known,
)
from worldgauge.engine.suite.rollout import caption_for, fit_context, fit_truth, run_rollout
from worldgauge.engine.suite.scores import make_score, row_kind
from worldgauge.engine.suite.settings import networks_digest
from worldgauge.metrics._registry import metric
from worldgauge.metrics.colour import detail_correlation
from worldgauge.metrics.psnr_ssim import mse, psnr_of_mse, ssim_table
from worldgauge.suites.loopnav.scoring import fvd_cell, learned_scores
from worldgauge.suites.loopnav.settings import LEARNED, LoopNavSettings
from worldgauge.suites.worldinworld.format.training_records import MANIFEST
from worldgauge.suites.worldinworld.task import SUITE
from worldgauge.worlds.walking.primitives import as_actions
from worldgauge_train.coverage_trajectory import TrajectoryEntry, read_index, read_trajectory, trajectory_name
from worldgauge_train.study_findings import Study, StudyFinding, conclude, pair_arms
from worldgauge_train.study_run import StudyRequest, measured, run_models, texts_of_models

NAME = "heldout"
HELD_OUT = Study(NAME, "How near to the truth are rollouts in homes that were not trained on?", "", "list")
FRAMES = 14
"""Of a clip, with the picture that it goes on from, as in training (World-in-World)."""
FEWEST_FOR_FVD = 200
MOST_DB = 100.0
RELEASE = "World-in-World, released validation"


@metric("psnr_released", unit="dB", better="higher", bounds=(0.0, MOST_DB), source=RELEASE)
def psnr_released(errors: Sequence[float]) -> float:
    """Mean PSNR over all frames, at most 100 dB each, of mean squared errors in squared grey levels."""
    return math.fsum(min(psnr_of_mse(error), MOST_DB) for error in errors) / len(errors)


@metric("ssim_released", unit="1", better="higher", bounds=(-1.0, 1.0), source=RELEASE)
@metric("lpips_released", unit="1", better="lower", bounds=(0.0, math.inf), source=RELEASE)
def over_all_frames(values: Sequence[float]) -> float:
    """Mean over all frames, the picture that a model is shown among them."""
    return math.fsum(values) / len(values)


@dataclass(frozen=True)
class HeldOutSettings:
    """Which clips, and what looks at them."""

    clips: int = option(20, "Number of clips, spread over homes.", low=1, high=100_000)
    clip_seed: int = option(0, "Seed of the choice of clips. Fewer are among more.", low=0)
    lpips: str | None = option(None, "Network of LPIPS. Default: not computed.")
    fvd: str | None = option(None, "Network of FVD. Default: not computed.")
    networks_digest: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> HeldOutSettings:
        """Settings made of plain values, with the digest of the weights that they name."""
        made = options_of(cls, NAME, given)
        return replace(made, networks_digest=networks_digest(NAME, made, LEARNED))


@suites.register(NAME)
class HeldOutWalks(Suite):
    """Clips of coverage walks, each continued from its first panorama by the steps of the walk."""

    name, Settings = NAME, HeldOutSettings
    titles: ClassVar[Mapping[str, str]] = {
        "psnr": "PSNR",
        "ssim_table": "SSIM",
        "lpips": "LPIPS",
        "detail": "High-frequency correlation",
        "psnr_released": "PSNR, released",
        "ssim_released": "SSIM, released",
        "lpips_released": "LPIPS, released",
    }
    scoring_settings = frozenset({*LEARNED, "networks_digest"})
    choosing_settings = frozenset({"clips", "clip_seed"})

    def tasks(self, source: Path) -> Iterator[Task]:
        """Clips of the homes in turn, each at another random place of a home's walks."""
        index = read_index(source)
        if index.split == "train":
            raise UsageError(
                f"{source}: networks are trained on its homes; worldgauge collect coverage --split val makes others"
            )
        walks: dict[str, list[TrajectoryEntry]] = {}
        for walk in sorted(index.trajectories):
            if walk.frames >= FRAMES:
                walks.setdefault(walk.scene, []).append(walk)
        drawn = []
        for place, own in enumerate(walks.values()):
            counts = np.array([walk.frames - FRAMES + 1 for walk in own])
            firsts = np.cumsum(counts) - counts
            order = np.random.default_rng([self.options.clip_seed, place]).permutation(counts.sum())
            order = order[: self.options.clips]
            which = np.searchsorted(firsts, order, side="right") - 1
            drawn.append([(own[k], int(start)) for k, start in zip(which, order - firsts[which], strict=True)])
        in_turn = (one for row in zip_longest(*drawn) for one in row if one is not None)
        for walk, start in islice(in_turn, self.options.clips):
            folder = source.resolve() / walk.scene / trajectory_name(walk.number)
            sample = {"source": str(source), "folder": str(folder), "start": start}
            id = f"{walk.scene}/{folder.name}/{start}"
            yield Task(NAME, id, sample, digest_of_file(folder / MANIFEST), cluster=walk.scene)

    def episode(self, task: Task) -> tuple[Episode, int]:
        """The clip, of which all but the first frame are hidden."""
        return _episode(task), 1

    def rates(self, task: Task) -> frozenset[float]:
        """None: a frame is a step, as in the loop."""
        return frozenset()

    def perform(self, task: Task, model: WorldModel, task_context: TaskContext) -> Record:
        """Ask as the closed loop does: one panorama, a frame a step at the model's own rate."""
        episode, spec = _episode(task), model.spec
        if spec.view != "panorama":
            raise NotApplicableError(f"'{spec.name}' draws perspective views, the walks are panoramas")
        context = episode.context(0, 1)
        request = RolloutRequest(
            fit_context(context, spec, None, episode.world, in_steps=True),
            horizon=FRAMES - 1,
            seed=task_context.seed,
            actions=episode.actions,
            poses=episode.poses[1:],
            text=describe(episode.actions),
            caption=caption_for(episode, context, 1),
            world=episode.world if "world" in spec.inputs else None,
            truth=fit_truth(episode.clip[1:], spec) if "truth" in spec.inputs else None,
            task=task.id,
        )
        answer = run_rollout(model, request, spec.fps or episode.clip.fps, task_context)
        return Record(task, spec.name, task_context.directory, dict(answer.facts), answer.rollout)

    def compare(self, record: Record, episode: Episode, truth: Clip, rollout: Clip) -> list[Score]:
        """Compare at the size of the recording, so that models of all sizes can be compared."""
        size, real = (episode.clip.width, episode.clip.height), episode.clip.to_array()
        first = episode.clip[:1].resized(rollout.width, rollout.height).resized(*size).to_array()
        seen = np.concatenate([first, rollout.resized(*size).to_array()])
        pairs = list(zip(seen, real, strict=True))
        errors, likeness = [mse(a, b) for a, b in pairs], [ssim_table(a, b) for a, b in pairs]
        networks = LoopNavSettings(lpips=self.options.lpips, fvd=self.options.fvd)
        true, drawn = (Clip.from_array(frames, episode.clip.fps) for frames in (real, seen))
        looked = {one.metric: one for one in learned_scores(record, true, drawn, networks)}
        far = [value for _, value in looked["lpips"].series if value is not None]
        values = {
            "psnr": psnr_of_mse(over_all_frames(errors[1:])),
            "ssim_table": over_all_frames(likeness[1:]),
            "lpips": over_all_frames(far[1:]) if far else None,
            "detail": mean_of_known(detail_correlation(a, b) for a, b in pairs[1:]),
            "psnr_released": psnr_released(errors),
            "ssim_released": over_all_frames(likeness),
            "lpips_released": over_all_frames(far) if far else None,
        }
        scores = []
        for name, value in values.items():
            by = looked["lpips"] if name.startswith("lpips") else None
            reason = None if value is not None else by.reason if by else "no frame has detail"
            n = FRAMES if name.endswith("_released") else FRAMES - 1
            scores.append(make_score(record, name, value, n=n, reason=reason, facts=by.facts if by else None))
        return [*scores, looked["fvd"]]

    def summarize(
        self, scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: Mapping[str, Sequence[Failure]]
    ) -> list[Table]:
        """A table a metric, then FVD, which is of a set."""
        rows = []
        for label, own in scores.items():
            cell = fvd_cell([one for one in own if one.metric == "fvd"])
            rows.append(TableRow(label, (cell,), row_kind(kinds[label])))
        tables = super().summarize(scores, kinds, failed)
        if not (most := max((row.cells[0].n for row in rows), default=0)):
            return tables
        note = f"FVD of {most} clips is meaningless; give {FEWEST_FOR_FVD} or more." if most < FEWEST_FOR_FVD else ""
        return [*tables, Table("fvd", "FVD", "feature^2", "lower", ("all",), tuple(rows), (note,) if note else ())]


@cached_by_task(maxsize=8)
def _episode(task: Task) -> Episode:
    walk = read_trajectory(Path(task.sample["folder"]))
    frames, actions, poses = walk.part(task.sample["start"], FRAMES)
    camera: Any = Panorama(frames.width, frames.height)
    return Episode(task.id, frames, poses, as_actions(actions[1:]), camera, walk.facts.world)


def heldout_study(asked: StudyRequest, models: Sequence[str], clips: int) -> StudyFinding:
    """Continue clips of held-out homes with each model, and compare them with the first one."""
    if suite_name(asked.suite) != SUITE:
        raise UsageError(f"study {NAME} takes {SUITE}, whose agents see panoramas of homes; not {asked.suite}")
    settings = {**asked.settings, "clips": clips, "clip_seed": asked.seed}
    pairs = pair_arms(texts_of_models(models))
    arms, result = run_models(HELD_OUT, pairs, replace(asked, suite=f"{__name__}:HeldOutWalks", settings=settings))
    scores = [score for own in result.scores.values() for score in own]
    known = {one.metric for one in scores if one.value is not None or "features" in one.facts}
    missing = {one.reason: one.metric for one in reversed(scores) if one.metric not in known}
    titles, said = HeldOutWalks.titles, [f"{name.upper()}: {why}." for why, name in missing.items()]
    wanted = replace(asked, metrics=asked.metrics or tuple(name for name in titles if name in known))
    found = conclude(HELD_OUT, SUITE, *measured(result, arms, wanted), said=said)
    return replace(found, tables=(*found.tables, *(table for table in result.table() if table.metric == "fvd")))
