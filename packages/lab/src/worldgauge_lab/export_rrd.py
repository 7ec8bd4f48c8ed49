"""A task as a recording of Rerun: the films of all models, the camera's path, depth, paths that were decoded, curves.

    world/path                  the true walk, a line; of an episode of an agent, the shortest way
    world/paths/NAME            paths that were decoded, planned, told by the model, or walked by the agent
    world/camera                the true camera at each frame, with its picture and, where the world is known, depth
    imagined/LABEL              the film of a model; of an agent, what was imagined of the plans that were taken
    seen/LABEL                  what an agent saw
    replay/LABEL                what reports show of an episode, at times of its own, `replay`
    metrics/METRIC/LABEL        a curve

Times: `frame` of the leading clip, and `time` in seconds. World frame as everywhere: right-handed, z up, metres; camera
x right, y down, z forward, which is Rerun's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.errors import MissingExtraError, UnknownNameError, UsageError, WorldgaugeError
from worldgauge.core.geometry import Camera
from worldgauge.core.image import Image
from worldgauge.core.io import atomic_file
from worldgauge.engine.store import file_slug
from worldgauge.engine.suite.base import ActedSuite, AnsweredSuite
from worldgauge.engine.suite.contract import Record, Task
from worldgauge.engine.suite.rollout import read_poses
from worldgauge.tools.viewer_runs import TRUTH, Footages, Library, RunGroup
from worldgauge.worlds import open_world

QUALITY = 90
"""Of pictures, as JPEG."""
_ASKED = ("scored", "unscored")
"""Ends of a task that has a record."""


def write_rrd(runs: Sequence[Path], out: Path, task: str) -> list[Path]:
    """Write what there is of one task, a file for each suite that has it."""
    if not task:
        raise UsageError("--to rrd writes one task: name it with --task")
    try:
        import rerun
    except ImportError:
        raise MissingExtraError("recordings of Rerun", "rerun") from None
    groups = [group for root in runs for group in Library(root.resolve()).refresh()]
    having = [group for group in groups if task in group.tasks]
    if not having:
        raise UnknownNameError("task", task, [name for group in groups for name in group.tasks][:50])
    having = [group for group in having if any(run.ends.get(task) in _ASKED for run in group.runs.values())]
    if not having:
        raise UsageError(f"no run has scored task '{task}', so there is nothing to record; its journal says why")
    words = [group.suite.name for group in having if isinstance(group.suite, AnsweredSuite)]
    having = [group for group in having if not isinstance(group.suite, AnsweredSuite)]
    if not having:
        raise UsageError(
            f"'{task}' of {words[0]} is answered in words or builds, which Rerun does not show; see report"
        )
    paths = []
    for number, group in enumerate(having):
        name = f"{group.suite.name}-{file_slug(task)}"
        same = sum(other.suite.name == group.suite.name for other in having[:number])
        path = out / f"{name}{f'-{same + 1}' if same else ''}.rrd"
        with atomic_file(path) as file:
            file.write(_recording(rerun, group, task, name))
        paths.append(path)
    return paths


def _recording(rr: Any, group: RunGroup, task: str, name: str) -> bytes:
    recording = rr.RecordingStream("worldgauge", recording_id=name)
    stream = recording.binary_stream()
    footage = Footages().open(group, task)
    records = {
        label: run.record(group.suite.name, task) for label, run in group.runs.items() if run.ends.get(task) in _ASKED
    }
    _log_world(rr, recording, group, task, records, footage.fps or 20.0)
    for label, clip in footage.clips.items():
        if label == TRUTH:
            continue  # with the camera
        for frame, picture in enumerate(clip):
            if isinstance(group.suite, ActedSuite):
                recording.reset_time()
                recording.set_time("replay", sequence=frame)
                recording.log(f"replay/{_part(label)}", _picture(rr, picture))
            else:
                _at(recording, frame, clip.fps or footage.fps)
                recording.log(f"imagined/{_part(label)}", _picture(rr, picture))
    recording.reset_time()
    for label, (_, record) in records.items():
        _log_episode(rr, recording, group, label, record)
    for label, run in group.runs.items():
        for metric in group.metrics:
            score = run.score(task, metric.name)
            for frame, value in () if score is None or not score.series else score.series:
                if value is not None and np.isfinite(value):
                    _at(recording, int(frame), footage.fps)
                    recording.log(f"metrics/{_part(metric.name)}/{_part(label)}", rr.Scalars(value))
    data: bytes = stream.read(flush=True)
    return data


def _log_episode(rr: Any, recording: Any, group: RunGroup, label: str, record: Record) -> None:
    """What an agent saw, and what was imagined of it, in step."""
    try:
        suite = group.suite
        films = suite.episode_films(record) if isinstance(suite, ActedSuite) else None
        if films is None:
            return
        for frame, picture in enumerate(films.seen):
            _at(recording, frame, films.seen.fps or 20.0)
            recording.log(f"seen/{_part(label)}", _picture(rr, picture))
        for frame, picture in zip(films.imagined_at, films.imagined or (), strict=True):
            _at(recording, frame, films.seen.fps or 20.0)
            recording.log(f"imagined/{_part(label)}", _picture(rr, picture))
    except WorldgaugeError:  # its files are gone or damaged; the curves are left
        return


def _log_world(
    rr: Any, recording: Any, group: RunGroup, task: str, records: Mapping[str, tuple[Task, Record]], fps: float
) -> None:
    """The truth: the walk, and at each hidden frame the camera with what it saw; and the paths of the models."""
    asked = next((asked for asked, _ in records.values()), None)
    if asked is None:
        return
    try:
        view = group.suite.task_view(asked)
    except WorldgaugeError:  # of this task no truth is known
        return
    recording.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    recording.log("world/path", rr.LineStrips3D([view.poses[:, :3, 3]]), static=True)
    height = view.poses[0, 2, 3]
    for mark, (x, y) in view.marks.items():
        recording.log(f"world/marks/{_part(mark)}", rr.Points3D([[x, y, height]], labels=mark), static=True)
    scores = {
        label: [one for name in run.values.get(task, {}) if (one := run.score(task, name)) is not None]
        for label, run in group.runs.items()
    }
    details = group.suite.task_details(asked, scores)
    for name, path in () if details is None else details.paths.items():
        flat = np.column_stack([path, np.full(len(path), height)])
        recording.log(f"world/paths/{_part(name)}", rr.LineStrips3D([flat]), static=True)
    known = set() if details is None else set(details.paths)
    for label, (_, record) in records.items():
        told = read_poses(record) if record.facts.get("poses") and label not in known else None
        if told is not None:
            recording.log(f"world/paths/{_part(label)}", rr.LineStrips3D([told[:, :3, 3]]), static=True)
    if isinstance(group.suite, ActedSuite):
        return  # the truth is what each agent saw, and the frames of the shortest way are none of its
    camera = view.camera
    if camera is not None:
        recording.log("world/camera", _pinhole(rr, camera), static=True)
    world = open_world(view.world) if view.world is not None and camera is not None else None
    for frame, picture in enumerate(view.truth):
        at = view.generated_from + frame
        if at >= len(view.poses):
            break
        pose = view.poses[at]
        _at(recording, frame, view.truth.fps or fps)
        recording.log("world/camera", rr.Transform3D(translation=pose[:3, 3], mat3x3=pose[:3, :3]))
        recording.log("world/camera/picture", _picture(rr, picture))
        if world is not None and camera is not None:
            depth = np.where(np.isfinite(seen := world.view(pose, camera).depth), seen, 0).astype(np.float32)
            recording.log("world/camera/depth", rr.DepthImage(depth, meter=1.0))


def _pinhole(rr: Any, camera: Camera) -> Any:
    matrix = [[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1]]
    return rr.Pinhole(image_from_camera=matrix, resolution=[camera.width, camera.height])


def _picture(rr: Any, picture: Image) -> Any:
    return rr.Image(np.ascontiguousarray(picture)).compress(jpeg_quality=QUALITY)


def _at(recording: Any, frame: int, fps: float) -> None:
    recording.set_time("frame", sequence=frame)
    recording.set_time("time", duration=frame / (fps or 20.0))


def _part(name: str) -> str:
    """A name as one part of a path."""
    return name.replace("/", "_").replace(" ", "_")
