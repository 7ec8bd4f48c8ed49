"""Videos that are decoded to their last frame, and images."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from fuzz.format import Format
from worldgauge.core.geometry import Camera
from worldgauge.core.image import png, png_size, read_png
from worldgauge.core.video import Clip, Kind, Writer, problems
from worldgauge.worlds.recorded import RecordingWorld, Truth, write_truth

FRAMES = np.random.default_rng(0).integers(0, 256, (6, 18, 32, 3), dtype=np.uint8)


def _make_video(name: str, kind: Kind) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        with Writer(folder / name, fps=20.0, kind=kind) as video:
            video.write(FRAMES)

    return make


def _make_gif(folder: Path) -> None:
    first, *others = (Image.fromarray(frame) for frame in FRAMES)
    first.save(folder / "a.gif", save_all=True, append_images=others, duration=50)


def _make_images(folder: Path) -> None:
    for name in ("0.png", "1.jpg", "2.webp"):
        (folder / name[0]).mkdir()
        Image.fromarray(FRAMES[0]).save(folder / name[0] / name)


def _read_images(folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        Clip.open(path, fps=10)[0]
        problems(path)


def _read_video(folder: Path) -> None:
    clip = Clip.open(next(folder.iterdir()), fps=20)
    for frame in clip:
        assert frame.dtype == np.uint8
    clip[len(clip) - 1]


def _make_png(folder: Path) -> None:
    (folder / "a.png").write_bytes(png(FRAMES[0]))


def _read_png(folder: Path) -> None:
    png_size(folder / "a.png")
    read_png(folder / "a.png")


def _make_truth(folder: Path) -> None:
    truth = Truth(Camera.from_horizontal_fov(8, 6, 90), np.tile(np.eye(4), (2, 1, 1)), ("floor", "barrel"), ("barrel",))
    labels = np.ones((6, 8), np.uint16)
    frame = {"category": labels, "instance": labels, "depth": labels.astype(np.float32)}
    write_truth(folder / "a.truth.zip", truth, [frame] * 2)


def _read_recorded(folder: Path) -> None:
    world = RecordingWorld(str(folder / "a.truth.zip"))
    for pose in world.truth.poses:
        view = world.view(pose, Camera.from_horizontal_fov(4, 3, 60), position=True)
        assert view.category.max() < len(world.categories)


FORMATS = (
    Format("truth", _make_truth, _read_recorded),
    Format("avi", _make_video("a.avi", "mjpg"), _read_video, video=True),
    Format("mp4", _make_video("a.mp4", "viewable"), _read_video, video=True),
    Format("gif", _make_gif, _read_video, video=True, weight=0.5),
    Format("images", _make_images, _read_images, video=True, weight=0.5),
    Format("png", _make_png, _read_png, weight=0.5),
)
