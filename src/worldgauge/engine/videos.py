"""Score finished videos of several models without running a model: every sub-folder is one model.

score_videos(RunRequest("targetbench", data=Path("benchmark_data"), out=Path("runs")), Path("wm_videos"))
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

from worldgauge.core.errors import UsageError
from worldgauge.core.model import Blinding
from worldgauge.engine.model_entries import run_label
from worldgauge.engine.model_run import RunWatcher
from worldgauge.engine.open_suite import list_tasks, open_suite
from worldgauge.engine.result import RunResult
from worldgauge.engine.run import RunRequest, execute
from worldgauge.engine.sealed import Seal
from worldgauge.engine.store import check_file_slugs
from worldgauge.engine.suite.base import ActedSuite, AnsweredSuite, SubmittedSuite, Suite
from worldgauge.models.videos import Longer, videos_in


@dataclass(frozen=True)
class VideoFolder:
    """What a folder of videos holds; a place is the first one or two folders of a task's id ("1st_data/mirror_test").

    Attributes:
        models: Text that makes a model of a sub-folder, by its name.
        elsewhere: Number of videos by model and place, for places without any task of this run. They are not unmatched.
        expected: For an unmatched video, how the ids of tasks continue from the last folder that they share with it.
    """

    models: Mapping[str, str]
    unmatched: Mapping[str, tuple[str, ...]]
    empty: tuple[str, ...]
    elsewhere: Mapping[str, Mapping[str, int]]
    expected: Mapping[str, tuple[str, ...]]


def score_videos(
    request: RunRequest,
    videos: Path,
    *,
    fps: float | None = None,
    longer: Longer = "error",
    sealed: Seal | None = None,
    progress: RunWatcher | None = None,
) -> tuple[RunResult, VideoFolder]:
    """Score the videos of each sub-folder; a task without one fails. `sealed` turns names of questions into tasks."""
    suite = open_suite(request.suite, request.settings)
    if isinstance(suite, ActedSuite):
        raise UsageError(f"suite '{suite.name}' asks as it goes: no finished video can answer it")
    if sealed is not None:
        sealed.check_data(request.data)
    elif isinstance(suite, SubmittedSuite) and (added := suite.submission_settings(videos, request.data)):
        request = replace(request, settings={**request.settings, **added})
        suite = open_suite(request.suite, request.settings)
    tasks = [task.id for task in list_tasks(suite, request.data, None)]
    found = read_video_folder(suite, videos, tasks, fps, longer, Blinding() if sealed is None else sealed.names)
    if not found.models:
        raise UsageError(f"{videos}: no sub-folder holds a video; expected <model>/<task>.mp4")
    labels = {text: name for name, text in found.models.items()}
    return execute(replace(request, models=(*labels, *request.models), labels=labels), progress), found


def read_video_folder(
    suite: Suite,
    folder: Path,
    tasks: list[str],
    fps: float | None = None,
    longer: Longer = "error",
    names: Blinding | None = None,
) -> VideoFolder:
    """The models in a folder of videos, for the tasks with these ids; a sealed set has a folder per model."""
    salt = None if names is None else names.salt
    tasks = tasks if names is None else [names.name(task) for task in tasks]
    layout = suite.submissions(folder) if salt is None else AnsweredSuite.submissions(suite, folder)
    asked = _TaskFolders(tasks)
    models, unmatched, empty, elsewhere = {}, {}, [], {}
    for name, settings in layout.items():
        held = videos_in(settings["root"])
        if not held:
            empty.append(name)
            continue
        given = {**settings, "name": name, **({} if fps is None else {"fps": fps})}
        if longer != "error":
            given["longer"] = longer
        if salt is not None:
            given["salt"] = salt
        models[name] = "videos?" + urlencode({key: json.dumps(value) for key, value in given.items()})
        left = sorted(set(held) - set(tasks))
        others = {id: place for id in left if (place := asked.elsewhere(id))}
        if others:
            elsewhere[name] = dict(Counter(others.values()))
        if len(left) > len(others):
            unmatched[name] = tuple(id for id in left if id not in others)
    check_file_slugs(run_label(name) for name in models)
    expected = {id: asked.siblings(id) for left in unmatched.values() for id in left}
    return VideoFolder(models, unmatched, tuple(empty), elsewhere, expected)


class _TaskFolders:
    """The folders that the ids of tasks form."""

    def __init__(self, tasks: Sequence[str]) -> None:
        folders = [task.split("/")[:-1] for task in tasks]
        self._depth = min([2, *map(len, folders)])
        self._places = {tuple(folder[: self._depth]) for folder in folders}
        children: dict[str, dict[str, None]] = {}
        for task in tasks:
            parts = task.split("/")
            for i, part in enumerate(parts):
                children.setdefault("/".join(parts[:i]), {})[part] = None
        self._children = {folder: tuple(inside) for folder, inside in children.items()}

    def elsewhere(self, id: str) -> str | None:
        """Place of a video where there is no task at all. None for a video in a place with tasks, or in no place."""
        folder = id.split("/")[:-1]
        place = tuple(folder[: self._depth])
        return None if len(folder) < self._depth or place in self._places else "/".join(place)

    def siblings(self, id: str) -> tuple[str, ...]:
        """Entries of the deepest folder that a video shares with tasks, in the order of the tasks."""
        parts = id.split("/")
        shared = ("/".join(parts[:i]) for i in reversed(range(len(parts))))
        return next((self._children[folder] for folder in shared if folder in self._children), ())
