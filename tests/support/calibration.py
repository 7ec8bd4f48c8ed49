"""A calibration as it stands in a file."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.core.image import Image
from worldgauge.models.calibration import FORMAT, VERSION

CAMERA = Camera.from_horizontal_fov(16, 9, 90.0)


class Start(NamedTuple):
    """Where a walk begins."""

    pose: FloatArray
    camera: Camera
    image: Image
    world: WorldFacts


def start(n: int) -> Start:
    """One of several places, with a black picture."""
    pose = pose_from_yaw_pitch((3.0 * n, 1.0, 1.5), 0.7 * n)
    return Start(pose, CAMERA, np.zeros((9, 16, 3), np.uint8), WorldFacts("indoor", {"seed": n}))


def content(spec: str, **gains: float) -> dict:
    """A calibration as it stands in a file, with these gains and no delay; keys may also be "delay"."""
    delay = gains.pop("delay", 0)
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": {"name": "wrong-mover", "spec": spec},
        "control": "camera",
        "space": {"name": None, "axes": []},
        "delay": {"frames": delay},
        "speed": {"moving": {"whose": "asked"}, "turning": {"whose": "asked"}},
        "controls": {
            name: {"status": "follows", "gain": {"mean": gain}, "a_frame": abs(gain) * 0.05}
            for name, gain in gains.items()
        },
    }
