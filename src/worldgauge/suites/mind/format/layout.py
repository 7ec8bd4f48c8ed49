"""What a MIND folder holds: clips, videos of the mirror test, and file names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from worldgauge.core.actions import ActionSpace
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera
from worldgauge.suites.mind.actions import space_of, steps_of, walk_look
from worldgauge.suites.mind.walks.mirror import Perspective

Part = Literal["train", "mem_test", "action_space_test", "mirror_test"]

PERSPECTIVES: tuple[Perspective, ...] = ("1st", "3rd")
PARTS: tuple[Part, ...] = ("train", "mem_test", "action_space_test", "mirror_test")
FPS = 24.0
ACTIONS = "action.json"
VIDEO = "video.mp4"
IMAGES = "images.txt"
SIDECAR = "world.json"
MIRROR_ROWS = 48
DATA_FOLDER = "MIND-Data"
SHARED_SPACE = (1.0, 200.0)
"""Degrees a frame and centimetres a second of the space that most of the data share."""

MIRROR_NUMBERS: Mapping[str, int] = {
    name: number for number, name in enumerate(("w", "s", "u", "down", "a", "d", "wl", "wr", "sl", "sr"), 1)
}
"""Name of a path -> n of its `path-<n>.mp4` (specification, section 3; the published numbers are not known)."""

_SPACE_IN_NAME = re.compile(r"data-\d+-(\d{1,2}(?:\.\d{1,6})?)x-(\d{1,5}(?:\.\d{1,6})?)")


@dataclass(frozen=True)
class MindClip:
    """A recorded clip, or a start image with one of the out-and-back paths.

    Attributes:
        id: Such as "1st_data/mem_test/data-25" or "1st_data/mirror_test/data-3/path-7".
        folder: Holds its files; all mirror tasks share one folder.
        perspective: First or third person.
        part: Part of the data.
        name: Name of the clip's folder, or stem of the start image.
        fault: Why it cannot be used; it is then listed and fails. Else None.
        warnings: Noteworthy facts; the clip is usable.
        mark_time: First frame to predict.
        frames: Rows of data that have a frame.
        total_time: Frames of the clip as its file states, else its rows.
        space: What the keys do.
        space_known: False where `space` is not stored and was read off the name, or is the shared one.
        family: Family of the world; "unknown" where it is not stored.
        world: The world it shows; only for data collected here, else None.
        camera: Its camera; only for data collected here, else None.
        path: Name of a mirror path.
        number: Number of a mirror path.
        records: The action file; None where a mirror path has none (missing, or taken from its definition).
        video: Video of a recorded clip.
        image: Start image of a mirror task.
        sidecar: File with what an embedded world adds.
        caption: File of the caption, if any.
    """

    id: str
    folder: Path
    perspective: Perspective
    part: Part
    name: str
    fault: str | None = None
    warnings: tuple[str, ...] = ()
    mark_time: int = 0
    frames: int = 0
    total_time: int = 0
    space: ActionSpace = field(default_factory=walk_look)
    space_known: bool = False
    family: str = "unknown"
    world: WorldFacts | None = None
    camera: Camera | None = None
    path: str | None = None
    number: int | None = None
    records: Path | None = None
    video: Path | None = None
    image: Path | None = None
    sidecar: Path | None = None
    caption: Path | None = None

    def __hash__(self) -> int:
        # The world's parameters have no hash; name and place are enough to tell clips apart.
        return hash((self.id, self.folder, self.fault))

    @property
    def is_submitted(self) -> bool:
        """Whether it is a path of a submission that belongs to no start image of the data."""
        return self.part == "mirror_test" and self.image is None and self.fault is None

    @property
    def steps(self) -> tuple[float, float]:
        """Size of a key's effect, (delta_r, delta_p): degrees a frame and centimetres a second."""
        return steps_of(self.space)


def part_folder(perspective: Perspective, part: Part) -> Path:
    """Return the path of a part's folder, relative to the data folder.

    Args:
        perspective: First or third person.
        part: The part.
    """
    top = Path(f"{perspective}_data")
    return top / part if part == "train" else top / "test" / part


def space_hint(name: str) -> ActionSpace:
    """The space that a clip's name implies, such as `data-0-1.0x-200`; the shared space where it implies none."""
    found = _SPACE_IN_NAME.fullmatch(name)
    steps = (float(found[1]), float(found[2])) if found else SHARED_SPACE
    return space_of(*(steps if min(steps) > 0 else SHARED_SPACE))


def data_folder(root: Path) -> Path:
    """The folder that holds `1st_data` and `3rd_data`: `root` or `root`/MIND-Data.

    Raises:
        DataError: When there is no such folder.
    """
    root = Path(root)
    if not root.is_dir():
        raise DataError(f"{root}: no such folder; give the folder {DATA_FOLDER} with 1st_data or 3rd_data in it")
    inner = root / DATA_FOLDER
    has_data = any((root / f"{perspective}_data").is_dir() for perspective in PERSPECTIVES)
    return inner if not has_data and inner.is_dir() else root
