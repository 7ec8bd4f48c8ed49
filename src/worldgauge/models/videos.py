"""`videos`: finished videos in a folder take the place of the model that made them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

from worldgauge.core.actions import Control
from worldgauge.core.errors import ModelError, NotApplicableError, UsageError
from worldgauge.core.image import IMAGE_SUFFIXES, Frames, images_in
from worldgauge.core.model import Blinding, ModelSpec, RolloutRequest
from worldgauge.core.video import Clip, digest_of_video, problems
from worldgauge.models import models

Longer = Literal["error", "cut"]
Rate = Literal["same", "ignore"]

NO_VIDEO = "no video of this task"
"""Beginning of the error of a task without a video."""
SUFFIXES = (".mp4", ".avi", ".mkv", ".webm", ".mov", ".m4v", ".gif")


@models.register("videos")
class Videos:
    """Finished videos of a folder, played back as if a model had just made them.
    The video of a task is <root>/<task id>.mp4, <root>/<task id>/video.mp4, or numbered images in such a folder. A task
    without a video fails: a model that leaves out the hard tasks must not look better. Links that lead out of `root`
    are refused.

    Args:
        control: What drove that model, recorded with every score.
        longer: "cut" drops the end of a video with too many frames; "error" refuses it.
        fps: Rate of all videos, required for images. "same" refuses another rate; "ignore" takes frames one by one.
        salt: Salt of a sealed data set, whose videos have the names of its questions.
    """

    def __init__(
        self,
        root: str,
        name: str = "videos",
        control: Control = "actions",
        longer: Longer = "error",
        fps: Rate | float = "same",
        salt: str | None = None,
    ) -> None:
        if longer not in get_args(Longer):
            raise UsageError(f"videos: longer is {longer!r}; give {' or '.join(get_args(Longer))}")
        own = fps if isinstance(fps, (int, float)) and not isinstance(fps, bool) else None
        if own is None and fps not in get_args(Rate):
            raise UsageError(f"videos: fps is {fps!r}; give {' or '.join(get_args(Rate))}, or frames a second")
        self._root = Path(str(root)).expanduser()
        self._videos = _find(self._root)
        self._names = Blinding(salt)
        self._longer = longer
        self._compares_rates = fps != "ignore"
        # SHA-256 over names and contents; the folder may lie elsewhere.
        whole = hashlib.sha256()
        for task in sorted(self._videos):
            for video in self._videos[task]:
                whole.update(f"{task}{video.path.suffix}\0{video.sha256}\n".encode("utf-8", "surrogateescape"))
        settings: dict[str, Any] = {"videos": whole.hexdigest(), "longer": longer, "fps": fps}
        settings |= {} if salt is None else {"salt": salt}
        self.spec = ModelSpec(str(name), control=control, fps=own, settings=settings)

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Frames of the video of a task, in chunks of one."""
        path = self._video_of(request.task)
        is_timed = path.is_file() or self.spec.fps is not None or not self._compares_rates
        clip = Clip.open(path, request.context.clip.fps if is_timed else None, by_time=self._compares_rates)
        self._check(clip, path, request)
        self._refuse_damage(path)
        return (frame[None] for frame in clip[: request.horizon].resized(*request.frame_size))

    def video_of(self, task: str) -> Path:
        """The video file of a task as it is, whatever its length, rate and size; it is decoded once to find damage."""
        path = self._video_of(task)
        self._refuse_damage(path)
        return path

    def video_tasks(self) -> Collection[str]:
        """Ids of the tasks that the folder holds a video of."""
        return self._videos.keys()

    def _video_of(self, task: str) -> Path:
        """Look up the video of a task among the files found; the id comes from data and is never opened as a path."""
        if not task:
            raise NotApplicableError(f"'{self.spec.name}' holds a video for each task, and this request names no task")
        task = self._names.name(task)
        found = self._videos.get(task, [])
        if not found:
            place, first, others = f"{self._root}/{task}", SUFFIXES[0], ", ".join(SUFFIXES[1:])
            raise ModelError(
                f"{NO_VIDEO}: expected {place}{first} or {place}/video{first} (or {others}), or images in {place}"
            )
        if len(found) > 1:
            names = " and ".join(str(video.path) for video in found)
            raise ModelError(f"two videos of one task: {names}; leave one")
        if _stamp(found[0].path) != found[0].stamp:
            raise ModelError(f"{found[0].path}: changed since the run began; start the run again")
        return found[0].path

    def _refuse_damage(self, path: Path) -> None:
        # Damaged streams decode to wrong frames without an error, so the file is decoded once for its faults alone.
        if found := problems(path):
            raise ModelError(f"{found[0]}; write this video again")

    def _check(self, clip: Clip, path: Path, request: RolloutRequest) -> None:
        count, wanted = len(clip), request.horizon
        rate, asked = clip.fps, request.context.clip.fps
        if self._compares_rates and abs(rate - asked) * wanted / asked >= 0.5:
            raise ModelError(
                f"{path}: runs at {rate:g} frames/s, and {asked:g} were asked for; give fps={rate:g} for a model of "
                "that rate, or fps=ignore to take its frames one by one"
            )
        if count < wanted:
            raise ModelError(f"{path}: holds {count} frames, {wanted} are needed")
        if count > wanted and self._longer == "error":
            raise ModelError(
                f"{path}: holds {count} frames, {wanted} are needed; "
                "cut off what repeats the context, and give longer=cut to drop the end"
            )


@dataclass(frozen=True)
class _Video:
    path: Path
    stamp: tuple[int, int]
    sha256: str


def videos_in(root: Path | str) -> dict[str, list[Path]]:
    """Find videos and folders of images below a folder, opening none; a folder of images holds nothing else."""
    root = Path(root).expanduser()
    if not root.is_dir():
        raise UsageError(f"videos: {root} is no folder; give root=FOLDER that holds <id of the task>{SUFFIXES[0]}")
    found: dict[str, list[Path]] = {}
    try:
        for folder, below, files in os.walk(root, onerror=_refuse):
            paths = [path for path in sorted(Path(folder, file) for file in files) if path.is_file()]
            videos = [path for path in paths if path.suffix.lower() in SUFFIXES]
            images = [path for path in paths if path.suffix.lower() in IMAGE_SUFFIXES]
            for path in videos or images:
                if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
                    raise UsageError(f"videos: {path} is a link that leads out of {root}; put the file itself there")
            if images and not videos and not below and Path(folder) != root:
                videos = [Path(folder)]
            for path in videos:
                found.setdefault(_task_of(path.relative_to(root), is_folder=path not in paths), []).append(path)
    except OSError as error:
        raise UsageError(f"videos: {error.filename}: cannot be read ({error.strerror})") from error
    return found


def _task_of(path: Path, *, is_folder: bool) -> str:
    """Id of the task that a video answers, by its place below the root."""
    plain = path if is_folder else path.with_suffix("")
    return (path.parent if plain.name == "video" and path.parent != Path() else plain).as_posix()


def _find(root: Path) -> dict[str, list[_Video]]:
    """All videos below `root`, read once."""
    try:
        found = {task: [_read(path) for path in paths] for task, paths in videos_in(root).items()}
    except OSError as error:
        raise UsageError(f"videos: {error.filename}: cannot be read ({error.strerror})") from error
    if not found:
        others = ", ".join(SUFFIXES[1:])
        raise UsageError(
            f"videos: {root} holds no video; expected <id of the task>{SUFFIXES[0]} (or {others}), or folders of images"
        )
    return found


def _refuse(error: OSError) -> NoReturn:
    raise error


def _read(path: Path) -> _Video:
    stamp = _stamp(path)  # before its bytes are read: a change in between is then seen at play-back
    return _Video(path, stamp, digest_of_video(path))


def _stamp(path: Path) -> tuple[int, int]:
    """Size and time of change, of a folder those of all its images; (-1, 0) for one that is gone."""
    try:
        facts = [each.stat() for each in ([path, *images_in(path)] if path.is_dir() else [path])]
    except FileNotFoundError:
        return -1, 0
    return sum(each.st_size for each in facts), max(each.st_mtime_ns for each in facts)
