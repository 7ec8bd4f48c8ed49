"""The cache: the same bytes by any number of workers and after any kill; clips that cannot be decoded are told."""

import errno
import os
import random
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera
from worldgauge.core.image import Image
from worldgauge.core.video import Clip
from worldgauge_train.training.cache import cached_clips
from worldgauge_train.training.clip import TrainingClip

SIZE, FRAMES = (16, 8), 700


def clip(number: int, source: object = None) -> TrainingClip:
    frames = np.random.default_rng(number).integers(0, 256, (FRAMES, 16, 32, 3), np.uint8)
    shown = Clip.from_array(frames, 20.0) if source is None else Clip(source, range(FRAMES), 20.0, (32, 16))  # type: ignore[arg-type]
    actions = Actions(LOOP_WALK, np.zeros((FRAMES - 1, 4), np.float32))
    camera = Camera.from_horizontal_fov(32, 16, 90)
    return TrainingClip(f"{number}", "s", "train", f"d{number}", shown, actions, np.zeros((FRAMES, 4, 4)), camera)


class Damaged:
    """Frames of which one cannot be read."""

    def frame(self, index: int) -> Image:
        raise DataError("frame 3 is torn")

    def read(self, indices: Iterable[int]) -> Iterator[Image]:
        yield from map(self.frame, indices)


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_any_number_of_workers_and_a_kill_give_the_same_bytes(tmp_path: Path) -> None:
    clips = [clip(number) for number in range(5)]  # two a file
    for workers in (1, 3):
        cached_clips(clips, SIZE, tmp_path / str(workers), workers=workers)
    assert files(tmp_path / "1") == files(tmp_path / "3")
    assert len(files(tmp_path / "1")) == 6
    rng, kills = random.Random(1), 0
    for _ in range(4):
        child = os.fork()
        if child == 0:
            try:
                cached_clips(clips, SIZE, tmp_path / "killed")
            finally:
                os._exit(0)
        time.sleep(rng.uniform(0, 0.05))
        os.kill(child, signal.SIGKILL)
        kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert kills
    cached_clips(clips, SIZE, tmp_path / "killed", workers=2)
    assert files(tmp_path / "killed") == files(tmp_path / "1")


def test_trainings_that_begin_together_share_what_one_of_them_decodes(tmp_path: Path) -> None:
    clips, children = [clip(number) for number in range(5)], []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            code = 1
            with suppress(BaseException):
                code = 0 if len(cached_clips(clips, SIZE, tmp_path / "shared", workers=2).clips) == 5 else 1
            os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    cached_clips(clips, SIZE, tmp_path / "alone")
    assert files(tmp_path / "shared") == files(tmp_path / "alone")


def test_what_is_decoded_whole_is_read_from_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clips = [clip(0), clip(1)]
    cached_clips(clips, SIZE, tmp_path)

    def refused(folder: Path) -> None:
        raise DataError(f"{folder}: cannot be written")

    monkeypatch.setattr("worldgauge_train.training.cache.one_writer", refused)
    assert len(cached_clips(clips, SIZE, tmp_path).clips) == 2
    with pytest.raises(DataError, match="cannot be written"):
        cached_clips([clip(2)], SIZE, tmp_path)


def test_a_disk_without_locks_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_here(file: object, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", none_here)
    with pytest.raises(DataError, match=r"cannot be locked \(No locks available\); name another --cache"):
        cached_clips([clip(0)], SIZE, tmp_path)


def test_a_clip_that_cannot_be_decoded_is_left_out_also_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clips = [clip(0), clip(1, Damaged()), clip(2)]
    with pytest.raises(DataError, match=r"1 of 3 clips are damaged, more than 1 %.*s/1: frame 3 is torn"):
        cached_clips(clips, SIZE, tmp_path)
    monkeypatch.setattr("worldgauge_train.training.clip.MOST_DAMAGED", 0.5)
    for _ in range(2):
        found = cached_clips(clips, SIZE, tmp_path)
        assert [one.id for one in found.clips] == ["s/0", "s/2"]
        assert found.damaged == [("s/1", "frame 3 is torn")]
        means = clips[2].frames.to_array().astype(float).reshape(FRAMES, 8, 2, 16, 2, 3).mean((2, 4))
        np.testing.assert_allclose(found.clips[1].frames, means, atol=1)
