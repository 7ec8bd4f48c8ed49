"""Answers of models that know their own path, as a calibration reads them: no pictures, the error of a path."""

from __future__ import annotations

import numpy as np

from support.wrong_movers import WrongMover
from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch, relative
from worldgauge.core.model import fitted
from worldgauge_lab.calibrate import Start, question
from worldgauge_lab.calibrate_estimate import HORIZON, Response, controls_of, displacement, space_for

CAMERA = Camera.from_horizontal_fov(16, 9, 90.0)
BLANK = np.zeros((9, 16, 3), np.uint8)


def start(n: int) -> Start:
    pose = pose_from_yaw_pitch((3.0 * n, 1.0, 1.5), 0.7 * n)
    depth = np.ones((9, 16), np.float32)
    return Start(f"start-{n}", WorldFacts("indoor", {"seed": n}), pose, CAMERA, BLANK, depth)


def responses(model: WrongMover, starts: int = 4, error_m: float = 0.001, space: str = "walk-look") -> list[Response]:
    """What a model shows for every control, each sum with an error of `error_m` metres and a fifth of it in radians."""
    rng = np.random.default_rng(7)
    found = []
    for n in range(starts):
        for asked in controls_of(space_for(model.spec, space), diagonals=model.spec.control != "text"):
            path = model.camera_path(fitted(question(model.spec, start(n), asked, 0), model.spec))
            shown = displacement(relative(start(n).pose, path[:HORIZON]))
            shown = shown + rng.normal(0, error_m, shown.shape) * [1, 1, 1, 0.2, 0.2, 0.2]
            found.append(Response(f"start-{n}", asked.control, asked.speed, asked.motions, shown))
    return found
