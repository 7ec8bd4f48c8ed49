"""The side-car of clips and start images collected here: what an embedded world adds to the published files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.actions import ActionSpace
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.fields import camera_of, number_of, poses_of, short, world_of
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.io import read_json_object
from worldgauge.suites.mind.format.clip import space_of, steps_of
from worldgauge.suites.mind.walks.mirror import Perspective

FORMAT = "worldgauge-mind"
VERSION = 1


class SideCar(NamedTuple):
    """World, camera and keys of a clip or a start image. facts: plain JSON values, such as the seed of the walk.

    pose: (4, 4) camera-to-world of a start image, None for clips, whose poses are in the action file.
    """

    world: WorldFacts
    camera: Camera
    family: str
    space: ActionSpace
    perspective: Perspective
    facts: Mapping[str, Any]
    pose: FloatArray | None = None


def sidecar_text(car: SideCar) -> str:
    """The file's content. Raises DataError where `facts` or the world's params are no plain JSON values."""
    delta_r, delta_p = steps_of(car.space)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "world": {"name": car.world.name, "params": dict(car.world.params), "digest": car.world.digest},
        "camera": asdict(car.camera),
        "family": car.family,
        "space": {"delta_r_deg": delta_r, "delta_p_cm_s": delta_p},
        "perspective": car.perspective,
        "facts": dict(car.facts),
        "pose": None if car.pose is None else np.asarray(car.pose, np.float64)[:3].ravel().tolist(),
    }
    try:
        return json.dumps(content, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise DataError(f"a side-car needs plain JSON values ({error})") from error


def read_sidecar(path: Path) -> SideCar:
    """The side-car at `path`. Raises DataError naming the field that is not what it should be: it is believed later."""
    content = read_json_object(path)
    if content.get("format") != FORMAT:
        raise DataError(f"{path}: field 'format' is not '{FORMAT}'; remove or repair the file")
    if content.get("version") != VERSION:
        raise DataError(f"{path}: version {short(content.get('version'))} is not {VERSION}; collect the data again")
    try:
        json.dumps(content, allow_nan=False, ensure_ascii=False).encode()  # 1e999 is infinite; lone surrogates
        perspective: Any = content["perspective"]
        if perspective not in ("1st", "3rd"):
            raise ValueError("field 'perspective' is neither '1st' nor '3rd'")
        if not isinstance(content["family"], str) or not isinstance(content["facts"], dict):
            raise ValueError("field 'family' must be text, field 'facts' an object")
        steps = content["space"]
        return SideCar(
            world=world_of(content["world"]),
            camera=camera_of(content["camera"]),
            family=content["family"],
            space=space_of(number_of(steps, "delta_r_deg", 1e-6, 90), number_of(steps, "delta_p_cm_s", 1e-6, 1e5)),
            perspective=perspective,
            facts=content["facts"],
            pose=None if content["pose"] is None else poses_of([content["pose"]], "pose")[0],
        )
    except KeyError as error:
        raise DataError(f"{path}: field {error} is missing; collect the data again") from error
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise DataError(f"{path}: not a side-car of ours ({error}); collect the data again") from error
