"""Another look for the arm: the meshes of a folder in place of capsules. What moves and how stays the same.

The folder is laid out as robosuite's `models/assets/robots/panda`: meshes/link0.stl to link7.stl, hand.stl and
finger.stl, binary STL in metres, each in the frame of its link. robosuite itself is not needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.tabletop.engine import mujoco
from worldgauge.worlds.tabletop.franka_arm import FINGERS, HAND, joint_names

MOST_TRIANGLES = 50_000
"""Of one mesh; robosuite's largest has 12,516."""
_HIDDEN = 3
"""Of MuJoCo's groups of geoms, the first that is not drawn."""
_HEADER, _TRIANGLE = 84, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("colour", "<u2")])
_WHITE, _GREY = (0.93, 0.93, 0.95, 1), (0.5, 0.52, 0.56, 1)


def dress(spec: Any, folder: Path) -> None:
    """Draw the arm with meshes. Its capsules and boxes stay in the physics but are hidden.

    Args:
        spec: The model to change (mujoco.MjSpec).
        folder: Folder with meshes/*.stl, laid out as the module describes.

    Raises:
        WorldError: A mesh is missing or malformed.
    """
    mj = mujoco()
    links = {"base": "link0", **{name: f"link{n}" for n, name in enumerate(joint_names(), start=1)}, HAND: "hand"}
    for name, file in (links | dict.fromkeys(FINGERS, "finger")).items():
        corners = _triangles(folder / "meshes" / f"{file}.stl")
        vertices, faces = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
        spec.add_mesh(
            name=f"{name}_mesh",
            uservert=vertices.ravel(),
            userface=faces.ravel(),
            inertia=mj.mjtMeshInertia.mjMESH_INERTIA_SHELL,
        )
        body = spec.body(name)
        for geom in body.geoms:
            geom.group = _HIDDEN
        body.add_geom(
            type=mj.mjtGeom.mjGEOM_MESH,
            meshname=f"{name}_mesh",
            # Both fingers are one mesh, the right one turned around.
            quat=(0, 0, 0, 1) if name == FINGERS[1] else (1, 0, 0, 0),
            rgba=_GREY if name in FINGERS else _WHITE,
            mass=0,
            contype=0,
            conaffinity=0,
        )


def _triangles(file: Path) -> FloatArray:
    """Corners (n, 3, 3) in metres of a binary STL file."""
    try:
        with file.open("rb") as stream:
            data = stream.read(_HEADER + MOST_TRIANGLES * _TRIANGLE.itemsize + 1)
    except OSError as error:
        raise WorldError(
            f"mesh {file}: {error.strerror}; name a folder like robosuite's models/assets/robots/panda"
        ) from error
    count = int.from_bytes(data[80:_HEADER], "little")
    if count > MOST_TRIANGLES:
        raise WorldError(f"mesh {file}: {count} triangles, at most {MOST_TRIANGLES} are drawn")
    if not count or len(data) != _HEADER + count * _TRIANGLE.itemsize:
        raise WorldError(f"mesh {file} is no binary STL file")
    corners = np.frombuffer(data, _TRIANGLE, count, _HEADER)["corners"].astype(np.float64)
    if not (np.abs(corners) < 10).all():
        raise WorldError(f"mesh {file} has corners that are not within 10 m")
    return corners
