"""Tasks: one per clip of the memory and action-space tests, per start image and mirrored path, per pair of twins."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.errors import DataError, NotApplicableError
from worldgauge.core.io import cached_by_stamp, digest_of, dumps
from worldgauge.core.video import Clip, problems
from worldgauge.engine.suite.contract import Task, TaskData, TaskView
from worldgauge.engine.suite.drift import too_short
from worldgauge.suites.mind.actions import TWIN_KEYS
from worldgauge.suites.mind.format.files import FPS, PERSPECTIVES, MindClip, Part
from worldgauge.suites.mind.format.read import discover, find, fingerprint_of, load
from worldgauge.suites.mind.format.write import submitted_path, submitted_paths
from worldgauge.suites.mind.settings import TWINS, MindSettings
from worldgauge.worlds import worlds
from worldgauge.worlds.recorded import RECORDED, read_truth

PARTS: dict[str, Part] = {
    "mem": "mem_test",
    "action_space": "action_space_test",
    "mirror": "mirror_test",
    TWINS: "mem_test",
}
"""Name of a test -> its folder. Tests that have a folder of their own come first."""
VIEWS: dict[str, str] = {"1st": "first person", "3rd": "third person"}
"""Perspective -> what tables call it."""


def tasks(source: Path, settings: MindSettings) -> Iterator[Task]:
    """Yield all tasks; a faulty clip becomes a failing task, so that nobody gains by leaving it out."""
    parts = tuple(dict.fromkeys(PARTS[test] for test in settings.parts))
    root = Path(source).resolve()
    found = discover(root, parts=parts, perspectives=settings.views)
    if settings.mirror_folders and "mirror_test" in parts:
        found = _with_submitted(found, settings)
    if not found:
        wanted = ", ".join(f"{view}_data/test/{part}" for view in settings.views for part in parts)
        raise DataError(
            f"{source}: no clips in {wanted}; try --data worldgauge-small, "
            "or name others with --set tests=... and --set perspectives=..."
        )
    _demand_horizon(source, [clip for clip in found if test_of(clip.part) in settings.parts], settings)
    _clips.hold(str(root), {clip.id: clip for clip in found if not clip.is_submitted})
    for clip in found:
        group = {"test": test_of(clip.part), "perspective": VIEWS[clip.perspective], "family": clip.family}
        if clip.part == "mirror_test":
            group["path"] = str(clip.path)
        elif clip.part == "action_space_test":
            group["space"] = clip.space.name if clip.space_known else "unknown"
        task = Task(
            suite="mind",
            id=clip.id,
            sample={"source": str(root), "broken": clip.fault} | ({"submitted": True} if clip.is_submitted else {}),
            fingerprint=fingerprint_of(clip),
            group=group,
            cluster="" if clip.world is None else _cluster(clip.world, clip.family),
            skip=_too_short(clip, settings),
        )
        if group["test"] in settings.parts:
            yield task
        if clip.part == "mem_test" and TWINS in settings.parts:
            yield from _twins(task, clip)


def _twins(task: Task, clip: MindClip) -> Iterator[Task]:
    """Three pairs of twins, which begin where the context of a clip of the memory test ends."""
    known = clip.world is not None and clip.world.name in worlds and hasattr(worlds.get(clip.world.name), "floor")
    for keys in TWIN_KEYS:
        yield replace(
            task,
            id=f"{task.id}/twin-{keys}",
            sample={**task.sample, "clip": task.id, "of": task.fingerprint},
            fingerprint=digest_of(f"{task.fingerprint} twins/1"),
            group={**task.group, "test": TWINS, "keys": keys},
            skip=None if known or clip.fault else "its world cannot be walked and rendered here, so it has one future",
        )


def test_of(part: str) -> str:
    """The test that a folder is of."""
    return next(test for test, folder in PARTS.items() if folder == part)


def _cluster(world: WorldFacts, family: str | None) -> str:
    """Name of a world, the same on every machine."""
    if world.name == RECORDED:
        return read_truth(Path(str(world.params["file"]))).place
    return f"{family}-{digest_of(dumps(world.params))[:12]}"


def _demand_horizon(source: Path, found: list[MindClip], settings: MindSettings) -> None:
    """Raises DataError where no walk lasts as long as horizon_s; paths out and back have their own length."""
    walks = [clip for clip in found if clip.part != "mirror_test" and clip.fault is None]
    if walks and all(_too_short(clip, settings) for clip in walks):
        longest = max(clip.frames - clip.mark_time for clip in walks) / FPS
        frames = -(-3 * (settings.frames_asked or 0) // 2)
        raise DataError(
            f"{source}: no walk goes on for horizon_s={settings.horizon_s:g}; the longest ends {longest:.3g} s after "
            f"its context. Collect longer ones: worldgauge collect mind --frames {frames} --out ..."
        )


def _too_short(clip: MindClip, settings: MindSettings) -> str | None:
    if settings.horizon_s is None or clip.part == "mirror_test" or clip.fault is not None:
        return None
    assert settings.frames_asked is not None
    return too_short(clip.frames - clip.mark_time, settings.frames_asked, FPS)


def _with_submitted(found: list[MindClip], settings: MindSettings) -> list[MindClip]:
    """Clips with the paths of `mirror_folders` for start images; a perspective without a folder keeps its own."""
    named = [name.partition("_data/") for name in str(settings.mirror_folders).split(",")]
    asked = [(view, name) for view in settings.views for top, _, name in named if top == view]
    views = {view for view, _ in asked}
    kept = [
        c for c in found if c.part != "mirror_test" or c.perspective not in views or (c.perspective, c.name) in asked
    ]
    started = {(clip.perspective, clip.name) for clip in kept if clip.part == "mirror_test"}
    added = [clip for one in asked if one not in started for clip in submitted_paths(*one)]
    parts = tuple(PARTS.values())
    return sorted(kept + added, key=lambda clip: (PERSPECTIVES.index(clip.perspective), parts.index(clip.part)))


def cluster_of(task: str) -> str:
    """The start image or walk that clips share, as far as the id shows it; a known world is the cluster instead."""
    place = task.split("/")[:3]  # without the path
    return _SPACE.sub("", "/".join(place))


_SPACE = re.compile(r"-[0-9.]+x-[0-9.]+$")
"""The action space in the name of a clip."""


def decoy_kind(task: Task) -> Hashable | None:
    """The perspective and the family of a clip of the memory test."""
    group = task.group
    return None if task.sample["broken"] or group["test"] != "mem" else (group["perspective"], group["family"])


def clip_of(task: Task) -> MindClip:
    """The clip of a task."""
    if task.sample.get("broken"):
        raise DataError(task.sample["broken"])
    if task.sample.get("submitted"):
        return submitted_path(task.id)
    clip = _clips(replace(task, id=task.sample["clip"], fingerprint=task.sample["of"]) if is_twin(task) else task)
    if clip.fault:
        raise DataError(clip.fault)
    return clip


def is_twin(task: Task) -> bool:
    """Whether a task asks for two futures of a clip."""
    return "clip" in task.sample


def rate_of(clip: MindClip) -> float:
    """Frames a second of a clip."""
    return FPS if clip.video is None else Clip.open(clip.video).fps


def episode_of(clip: MindClip) -> Episode:
    """The recording of a clip; of a mirrored path its start image alone."""
    return _episode(clip, fingerprint_of(clip))


@lru_cache(maxsize=8)
def _episode(clip: MindClip, fingerprint: str) -> Episode:
    episode = load(clip)
    if clip.video is not None and (found := _problem(clip.video)):
        raise DataError(f"{found}; download or collect this clip again")
    return episode


def task_view(task: Task) -> TaskView:
    """The real frames from the first that is asked for, and the walk; of a mirrored path only its start."""
    clip = clip_of(task)
    if clip.is_submitted:
        raise NotApplicableError("the data hold no start image of this path")
    episode = episode_of(clip)
    x, y = episode.poses[clip.mark_time if len(episode) > clip.mark_time else 0, :2, 3]
    marks = {"start": (float(x), float(y))}
    if clip.part == "mirror_test":
        return TaskView(episode.clip, episode.poses, 0, episode.world, marks, episode.camera, episode.clip)
    seen = episode.clip[clip.mark_time :]
    shown = episode.clip[: clip.mark_time]
    return TaskView(seen, episode.poses, clip.mark_time, episode.world, marks, episode.camera, shown)


@cached_by_stamp(maxsize=512)
def _problem(video: Path) -> str | None:
    """The first fault of a video, which is decoded to find it."""
    return next(iter(problems(video)), None)


def _read(source: Path, id: str) -> dict[str, MindClip]:
    clip = find(source, id)
    return {} if clip is None else {id: clip}


_clips = TaskData(
    _read, fingerprint_of, lambda clip: (clip.records, clip.sidecar, clip.video, clip.image, clip.caption)
)
