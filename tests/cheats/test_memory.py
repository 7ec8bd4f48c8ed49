"""Models without memory of a place that try to pass the decoy test, beside one that remembers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.made_once import made_once
from worldgauge.core.episode import Context
from worldgauge.core.geometry import invert
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.engine.collect import collect
from worldgauge.engine.run import run
from worldgauge.engine.suite.decoy import arm_of
from worldgauge.models.baselines.memory import MemoryModel, PointStore, splat
from worldgauge.models.baselines.planar import Planar, planar_views
from worldgauge.perception import estimators
from worldgauge.report.evidence import load_evidence
from worldgauge.report.judgement import judge
from worldgauge.suites.loopnav.suite import LoopNav


class Cheat:
    """A model under test that is driven by poses. Its name is that of its class."""

    def __init__(self) -> None:
        self.spec = ModelSpec(type(self).__name__.lower(), control="camera", settings={"digest": "1"})

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        """Frames of the request, in chunks of one."""
        return Planar().rollout(request)

    def noise(self, request: RolloutRequest) -> Iterator[Any]:
        """An answer that is bad on purpose."""
        rng = np.random.default_rng(request.seed)
        for _ in range(request.horizon):
            yield rng.integers(0, 256, (1, *request.context.clip[-1].shape), dtype=np.uint8)


class FrozenSandbag(Cheat):
    """The last frame; noise after a single frame."""

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        if len(request.context) == 1:
            return self.noise(request)
        return (request.context.clip[-1][None] for _ in range(request.horizon))


class ColourPainter(Cheat):
    """The commonest colours above and below the horizon, in all that was shown."""

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        context, rays = request.context, request.context.camera.rays()  # type: ignore[union-attr]
        segmenter = estimators.get("colour")()
        up: dict[int, list[Any]] = {}
        down: dict[int, list[Any]] = {}
        for index in range(0, len(context), max(1, len(context) // 24)):
            frame = np.ascontiguousarray(context.clip[index])
            kinds = np.asarray(segmenter.segment(frame).category)
            height = (rays @ context.path[index][:3, :3].T)[..., 2]
            for side, where in ((up, height > 0.1), (down, height < -0.1)):
                for kind in np.unique(kinds[where]).tolist():
                    side.setdefault(kind, []).append(frame[where & (kinds == kind)])
        sky, ground = (
            np.median(np.concatenate(max(side.values(), key=lambda one: sum(map(len, one)))), axis=0)
            for side in (up, down)
        )
        assert request.poses is not None
        for pose in request.poses:
            height = (rays @ pose[:3, :3].T)[..., 2:]
            yield np.where(height > 0, sky, ground).astype(np.uint8)[None]


class Hedge3(Cheat):
    """One frame on a floor and a wall; noise after a single frame."""

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        return self.noise(request) if len(request.context) == 1 else super().rollout(request)


class DecoySandbag(Cheat):
    """The best one-frame answer if the earlier frames fit the last second, else noise."""

    def fits(self, request: RolloutRequest) -> bool:
        """Whether the last frame, moved to where the earlier frames are, looks like them."""
        context = request.context
        jumps = np.linalg.norm(np.diff(context.path[:, :3, 3], axis=0), axis=1)
        earlier = int(np.argmax(jumps)) if len(jumps) else 0
        if jumps.max(initial=0) < 3 * np.median(jumps):
            return True  # no cut, as in the tasks themselves
        (view, shown, _) = next(planar_views(context, context.path[earlier : earlier + 1], np.ones(1)))
        there = shown[..., 0] > 0.3 * shown.max()
        both = [
            np.asarray(one, np.float64)[there].mean(-1)
            for one in (view / np.maximum(shown, 1e-3), context.clip[earlier])
        ]
        return there.sum() > 50 and float(np.corrcoef(*both)[0, 1]) > 0.4

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        return super().rollout(request) if self.fits(request) else self.wrong(request)

    def wrong(self, request: RolloutRequest) -> Iterator[Any]:
        """The answer after frames of another place."""
        return self.noise(request)


class Replayer(DecoySandbag):
    """A sandbag whose wrong answers are frames of the other place, as those of a memory would be."""

    def wrong(self, request: RolloutRequest) -> Iterator[Any]:
        for index in range(request.horizon):
            yield request.context.clip[max(0, len(request.context) - 30 - index)][None]


class HalfSandbag(DecoySandbag):
    """A sandbag whose wrong answers are its right ones with noise, so that they stay close to the floors."""

    def wrong(self, request: RolloutRequest) -> Iterator[Any]:
        rng = np.random.default_rng(request.seed)
        for frame in Planar().rollout(request):
            yield np.clip(frame + rng.normal(0, 40, frame.shape), 0, 255).astype(np.uint8)


class Palette(Cheat):
    """Mean colours by elevation of the earlier frames alone: it knows the kind of place, and no place."""

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        assert request.poses is not None
        for _, _, mean in planar_views(request.context, request.poses, np.zeros(request.horizon)):
            yield np.rint(mean).astype(np.uint8)[None]


class Recogniser(Cheat):
    """What the last second shows, in its true place: far above the floors. After frames of another place, a floor."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = replace(self.spec, inputs=frozenset({"depth"}))

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        context, poses = request.context, request.poses
        cut = len(context) - round(context.clip.fps)
        floor = Planar().rollout(request)
        if not self.fits(context, cut):
            yield from floor
            return
        points = self.cloud(context, range(cut, len(context)))
        assert poses is not None
        for pose, frame in zip(poses, floor, strict=True):
            yield splat(points, context.camera, invert(pose), frame[0])[None]  # type: ignore[arg-type]

    def fits(self, context: Context, cut: int) -> bool:
        """Whether the surfaces of the earlier frames look like the last frame where they are in its view."""
        points, view = self.cloud(context, range(0, cut, 2)), invert(context.path[-1])
        last = context.clip[-1]
        dark, light = (splat(points, context.camera, view, np.full_like(last, grey)) for grey in (0, 255))  # type: ignore[arg-type]
        shown = (dark == light).all(-1)
        if shown.sum() < 0.02 * shown.size:
            return True
        return float(np.corrcoef(dark[shown].mean(-1), last[shown].mean(-1))[0, 1]) > 0.5

    def cloud(self, context: Context, indices: Iterable[int]) -> PointStore:
        """Points of some frames of a context."""
        points = PointStore()
        assert context.depth is not None
        for index in indices:
            points.add(context.clip[index], context.depth(index), context.camera, context.path[index])  # type: ignore[arg-type]
        return points


class Recaller(Cheat):
    """A model that knows the worlds of a data set: it finds its place by the last frame. After frames of another place,
    a floor."""

    def __init__(self, data: Path) -> None:
        super().__init__()
        suite = LoopNav()
        episodes = [suite.episode(task) for task in suite.tasks(data)]
        self.known = {episode.clip[start - 1].tobytes(): (episode.clip, start) for episode, start in episodes}

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        shown = request.context.clip
        clip, start = self.known[shown[-1].tobytes()]
        first = shown[0].tobytes()
        if all(clip[index].tobytes() != first for index in range(start)):
            return Planar().rollout(request)
        return (clip[start + index][None] for index in range(request.horizon))


class Honest(MemoryModel):
    """A point cloud of what was shown, under the name of a model."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = ModelSpec("honest", control="camera", inputs=self.inputs, settings={"digest": "1"})


CHEATS = (FrozenSandbag, ColourPainter, Hedge3, DecoySandbag, Replayer, HalfSandbag, Palette, Recogniser)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of all cheats, of a model that remembers, of one that knows the worlds, and of the floors."""
    data = made_once(tmp_path_factory, "loops-of-pairs", collect_loops)
    out = tmp_path_factory.mktemp("cheats")
    models = (*(cheat() for cheat in CHEATS), Honest(), Recaller(data), *LoopNav.floor_baselines)
    run("loopnav", model=models, data=data, out=out)
    return out


def collect_loops(folder: Path) -> None:
    """Two villages of each kind, with a loop in each."""
    collect("loopnav", out=folder, settlements=12, ranges=(5,), types=("ABA",), per_combination=1, size=(96, 54))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_cheat_remembers_and_a_memory_does(runs: Path) -> None:
    evidence, suite = load_evidence([one for one in runs.iterdir() if one.name != "recaller"])
    found = judge(evidence, suite)
    assert "only honest redraws the place it has seen" in found.verdict.headline
    for cheat in CHEATS:
        name = cheat.__name__.lower()
        assert any(line.startswith(f"Not shown of {name}:") for line in found.verdict.support)
    (line,) = (one for one in found.verdict.support if one.startswith("Decoy test of honest"))
    assert line.endswith("n = 12 in 12 clusters; 24 rollouts.")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_model_that_knows_the_worlds_passes_so_a_claim_needs_unknown_worlds(runs: Path) -> None:
    """The limit of the decoy test, which docs/explanation/memory_claims.md states."""
    evidence, suite = load_evidence([runs / name for name in ("recaller", *LoopNav.floor_baselines)])
    assert judge(evidence, suite).verdict.headline.startswith("recaller redraws the place it has seen, better than ")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_arms_change_no_table_and_no_count(runs: Path) -> None:
    evidence, _ = load_evidence([runs])
    assert all(run.counts.expected == run.counts.scored == 12 for run in evidence.runs)
    assert not any(arm_of(task) for task in evidence.groups)
    assert {len(run.arms) for run in evidence.runs if run.source == "freeze"} == {0}
