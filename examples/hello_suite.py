"""A suite in one file: does the picture stay as it is while the camera stands still?

    worldgauge collect ./examples/hello_suite.py:Stare --out data --scenes 2
    worldgauge run ./examples/hello_suite.py:Stare --data data --baselines --out runs
    worldgauge report runs --out stare.html

After the first command the name is enough: `worldgauge run stare ...`.
`docs/tutorials/build_a_suite.md` builds a larger suite step by step, with a metric and a check of the data.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from worldgauge.data import LOOP_WALK, Actions, Clip, Collection, Episode, Item, Made, Writer, collections
from worldgauge.metrics import mse
from worldgauge.suite import Suite, Task, make_mean_score, option, suites
from worldgauge.world import Camera, pose_from_yaw_pitch, worlds

CAMERA, FRAMES = Camera.from_vertical_fov(160, 90, 75.0), 8


@dataclass(frozen=True)
class StareOptions:
    """Each field is an option of `worldgauge collect`."""

    scenes: int = option(4, "Scenes, each in a home of its own.", low=1, high=1000)
    seed: int = option(42, "Seed of the first home.", low=0)


@collections.register("stare")
class StareCollection(Collection):
    """Videos of homes, taken by a camera that stands still."""

    name, items_noun, Options = "stare", "scenes", StareOptions
    growing = ("scenes",)  # when a collection is continued

    def items(self) -> Iterator[Item]:
        """One per home."""
        for number in range(self.options.scenes):
            yield Item(f"home-{number:03d}", {"home": self.options.seed + number}, place=f"home-{number:03d}")

    def is_done(self, item: Item) -> bool:
        """A video is in place when all of it is written."""
        return (self.out / f"{item.id}.mp4").exists()

    def make(self, item: Item, progress) -> Made:
        """Repeat the picture from the place with the most room. It depends only on the item and the options."""
        home = worlds.get("indoor")(seed=item.args["home"])
        if not self.is_done(item):
            cell = np.unravel_index(np.argmax(home.floor.clearance_m), home.floor.free.shape)
            pose = pose_from_yaw_pitch((*home.floor.points_of(cell), 1.5), 0.0)  # metres
            picture = home.view(pose, CAMERA).rgb
            self.out.mkdir(parents=True, exist_ok=True)
            with Writer(self.out / f"{item.id}.mp4", fps=20, kind="lossless") as video:
                for _ in range(FRAMES):
                    video.write(picture)
        return Made(FRAMES, home.facts)


@suites.register("stare")
class Stare(Suite):
    """The model sees half of a video and generates the other half."""

    name, titles = "stare", {"mse": "Change while the camera stands still"}
    baselines, floor_baselines, claim = ("truth", "freeze", "noise"), ("noise",), "stands still"

    def tasks(self, source: Path) -> Iterator[Task]:
        """One per video. The fingerprint says when the data changed."""
        for path in sorted(source.glob("home-*.mp4")):
            yield Task("stare", path.stem, {"path": str(path.resolve())}, hashlib.sha256(path.read_bytes()).hexdigest())

    def episode(self, task: Task) -> tuple[Episode, int]:
        """The recording, and the index of its first hidden frame."""
        clip = Clip.open(task.sample["path"])
        poses = np.tile(np.eye(4), (FRAMES, 1, 1))  # camera-to-world
        still = Actions(LOOP_WALK, np.zeros((FRAMES - 1, len(LOOP_WALK)), np.float32))
        return Episode(task.id, clip, poses, still, CAMERA), FRAMES // 2

    def compare(self, record, episode, truth, rollout):
        """The score of a task is the mean over the generated frames."""
        series = [(n, mse(got, want)) for n, (got, want) in enumerate(zip(rollout, truth, strict=True))]
        return [make_mean_score(record, "mse", series)]
