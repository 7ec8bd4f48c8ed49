"""Makes build.jpg and builds.jpg: python docs/images/build.py DATA RUNS, a collected set and runs of its references."""

import sys
from pathlib import Path

import cv2
import numpy as np

from worldgauge.suites.mineanybuild.format import read_image
from worldgauge.suites.mineanybuild.format_reader import load
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import read_blueprint
from worldgauge.worlds.blocks.views import picture

SHOWN, WHO = "TSK_SP_90012_0", ("truth", "reader", "copy-example", "solid-box", "random")
data, runs, here = Path(sys.argv[1]), Path(sys.argv[2]), Path(__file__).parent
found = load(data)
row = next(task for task in found.tasks["planning"] if task.id == SHOWN)


def titled(name: str) -> np.ndarray:
    """What one of them built, under its name."""
    answer = next((runs / name / "records").glob(f"*{SHOWN}*")) / "answer.txt"
    built = read_blueprint(answer.read_text(), row.materials).blueprint
    strip = np.full((34, 340, 3), 255, np.uint8)
    cv2.putText(strip, name, (8, 24), cv2.FONT_HERSHEY_SIMPLEX, 0.62, (30, 30, 30), 1, cv2.LINE_AA)
    return np.vstack([strip, picture(built, size_px=340)])


def small(path: str) -> np.ndarray:
    """A picture of the data set as a tile."""
    return cv2.resize(read_image(data, path), (120, 120), interpolation=cv2.INTER_AREA)


tiles = [small(one.image) for one in list(found.architectures.values())[:66]]
sheet = np.vstack([np.hstack(tiles[start : start + 11]) for start in range(0, 66, 11)])
for name, image in (("build", np.hstack([titled(name) for name in WHO])), ("builds", sheet)):
    cv2.imwrite(str(here / f"{name}.jpg"), image[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 86])
