"""A data set in one file: one picture per home.

    worldgauge collect ./examples/hello_data_set.py:Photos --out photos --photos 2
    worldgauge check photos --data photos

The second command finds the collection by its name, because the first one named its file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from worldgauge import DataError
from worldgauge.data import Collection, DataReport, Finding, Item, Made, collections, png, read_png, write_file
from worldgauge.suite import option
from worldgauge.world import Camera, pose_from_yaw_pitch, worlds


@dataclass(frozen=True)
class PhotoOptions:
    """Each field is an option of `worldgauge collect photos`."""

    photos: int = option(10, "Pictures, each in a home of its own.", low=1, high=10000)
    seed: int = option(42, "Seed of the first home.", low=0)


@collections.register("photos")
class Photos(Collection):
    """A picture of the inside of many homes."""

    name, items_noun, frames_noun = "photos", "photos", "pictures"
    Options, growing, first_model = PhotoOptions, ("photos",), ""

    def items(self) -> Iterator[Item]:
        """One per home."""
        for number in range(self.options.photos):
            yield Item(f"home-{number:04d}", {"home": self.options.seed + number}, place=f"home-{number:04d}")

    def is_done(self, item: Item) -> bool:
        """Files are written whole or not at all."""
        return (self.out / f"{item.id}.png").exists()

    def make(self, item: Item, progress) -> Made:
        """Render one picture. It depends only on the item and the options."""
        home = worlds.get("indoor")(seed=item.args["home"])
        if not self.is_done(item):
            cell = np.unravel_index(np.argmax(home.floor.clearance_m), home.floor.free.shape)
            pose = pose_from_yaw_pitch((*home.floor.points_of(cell), 1.5), 0.0)  # metres
            picture = home.view(pose, Camera.from_vertical_fov(160, 120, 75)).rgb
            write_file(self.out / f"{item.id}.png", png(picture))
        return Made(1, home.facts)

    @classmethod
    def check(cls, root: Path, *, decode: bool = False) -> DataReport:
        """Read every picture. `worldgauge check` prints the findings."""
        paths, faults = sorted(root.glob("home-*.png")), []
        for path in paths:
            try:
                read_png(path)
            except DataError as error:
                faults.append(Finding("error", str(error)))
        valid = len(paths) - len(faults)
        return DataReport("photos", valid, len(paths), valid, faults, frames_noun="pictures")
