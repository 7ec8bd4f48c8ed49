"""Finished videos of several models, scored without running any: every sub-folder of a folder is a subject.

score_videos("target", videos=Path("wm_videos"), data=Path("benchmark_data"))
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from worldgauge.core.errors import UsageError
from worldgauge.engine.plan import open_suite, tasks_of
from worldgauge.engine.result import RunResult
from worldgauge.engine.run import DEADLINE_S, run
from worldgauge.engine.store import check_slugs
from worldgauge.engine.subject_run import Watch
from worldgauge.engine.subjects import plain_label
from worldgauge.engine.suite.base import Suite
from worldgauge.models.outside.videos import videos_in


@dataclass(frozen=True)
class VideoFolder:
    """What a folder of videos holds. models: name of a sub-folder -> the text that makes a subject of it.

    strays: name -> videos that no task asks for. empty: sub-folders without a video, which are no subjects.
    elsewhere: name -> place -> number of videos in it, where no task that is asked for lies in that place; they are no
    strays. A place is the first two folders of a task's id, such as "1st_data/mirror_test", fewer where ids have fewer.
    known: id of a stray -> what the ids of tasks go on with where it leaves them.
    """

    models: Mapping[str, str]
    strays: Mapping[str, tuple[str, ...]]
    empty: tuple[str, ...]
    elsewhere: Mapping[str, Mapping[str, int]]
    known: Mapping[str, tuple[str, ...]]


def score_videos(
    suite: str,
    *,
    videos: Path | str,
    data: Path | str,
    out: Path | str | None = None,
    references: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    workers: int = 1,
    on: str | None = None,
    deadline_s: float | None = DEADLINE_S,
    progress: Watch | None = None,
) -> tuple[RunResult, VideoFolder]:
    """Score the videos of every sub-folder of `videos` on the tasks of `data`, into `out`, by default runs/<suite>.

    references: models that are asked beside them. A task without a video fails, with the reason. Arguments as of `run`.
    Raises UsageError where no sub-folder holds a video, WorldgaugeError for what makes the run impossible.
    """
    asked = open_suite(suite, settings or {})
    shelf = shelf_of(asked, Path(videos), [task.id for task in tasks_of(asked, Path(data), None)])
    if not shelf.models:
        raise UsageError(f"{videos}: no sub-folder holds a video; expected <model>/<task>.mp4")
    result = run(
        suite,
        model=[*shelf.models.values(), *references],
        data=data,
        out=out,
        workers=workers,
        on=on,
        settings=settings,
        deadline_s=deadline_s,
        labels={text: name for name, text in shelf.models.items()},
        progress=progress,
    )
    return result, shelf


def shelf_of(suite: Suite, folder: Path, tasks: list[str]) -> VideoFolder:
    """The subjects in `folder`: what `suite.videos` says, else every sub-folder. tasks: ids of those asked for.

    Raises UsageError for what is no folder, and for names that would share a run folder.
    """
    asked = _Asked(tasks)
    models, strays, empty, elsewhere = {}, {}, [], {}
    for name, settings in _subjects(suite, folder).items():
        found = videos_in(settings["root"])
        if not found:
            empty.append(name)
            continue
        given = {**settings, "name": name}
        models[name] = "videos?" + urlencode({key: json.dumps(value) for key, value in given.items()})
        left = sorted(set(found) - set(tasks))
        others = {id: place for id in left if (place := asked.elsewhere(id))}
        if others:
            elsewhere[name] = dict(Counter(others.values()))
        if len(left) > len(others):
            strays[name] = tuple(id for id in left if id not in others)
    check_slugs(plain_label(name) for name in models)
    known = {id: asked.known(id) for left in strays.values() for id in left}
    return VideoFolder(models, strays, tuple(empty), elsewhere, known)


class _Asked:
    """The folders that the ids of tasks make."""

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
        """The place of a video where no task lies; None for one that lies in a place of tasks, or in none."""
        folder = id.split("/")[:-1]
        place = tuple(folder[: self._depth])
        return None if len(folder) < self._depth or place in self._places else "/".join(place)

    def known(self, id: str) -> tuple[str, ...]:
        """What lies in the last folder that a video shares with tasks, in their order."""
        parts = id.split("/")
        shared = ("/".join(parts[:i]) for i in reversed(range(len(parts))))
        return next((self._children[folder] for folder in shared if folder in self._children), ())


def _subjects(suite: Suite, folder: Path) -> Mapping[str, Mapping[str, Any]]:
    return suite.submissions(folder)
