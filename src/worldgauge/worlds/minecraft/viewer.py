"""Pictures of the game's world as LoopNav's published frames were drawn: by the package prismarine-viewer, in Node.

They show the game's own textures, which the package brings and which stay where npm put it. Colour only, at most six
chunks far, without entities; our own camera (`Voxel.view`) needs none of it and knows depth and labels.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import UsageError, WorldError
from worldgauge.core.geometry import camera_pose
from worldgauge.worlds.minecraft.bridge import Bridge, Closing
from worldgauge.worlds.minecraft.cells import Cells, to_bytes
from worldgauge.worlds.minecraft.install import BRIDGE_FOLDER, VIEWER, find_node, find_packages, mismatch
from worldgauge.worlds.minecraft.offline import VERSION

MOST_PIXELS = 4096
"""Along a side of a picture."""

_OPEN_S = 120.0
_FRAME_S = 120.0
"""Of the first picture in new country, for which the sections around are meshed."""
_GAME = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]], np.float64)
"""Our x, y, z in the game's axes."""


class MinecraftViewer(Closing):
    """A renderer of cells with the game's textures; a context manager, for one thread."""

    def __init__(
        self,
        cells: Cells,
        *,
        width: int = 640,
        height: int = 360,
        released: bool = False,
        version: str = VERSION,
        packages: Path | None = None,
    ) -> None:
        if not (1 <= width <= MOST_PIXELS and 1 <= height <= MOST_PIXELS):
            raise UsageError(f"a picture is 1 to {MOST_PIXELS} pixels wide and high, not {width} x {height}")
        self.cells, self._size = cells, (height, width)
        folder = find_packages(packages, VIEWER) / "node_modules"
        program = [str(find_node()), str(BRIDGE_FOLDER / "main.js"), VIEWER.lock.name]
        self._bridge = Bridge(program, {"NODE_PATH": str(folder)})
        try:
            if wrong := mismatch(self._bridge.hello.get("packages", {}), VIEWER):
                raise WorldError(f"the packages in {folder} are not those of this version ({wrong}): {VIEWER.hint}")
            args = {"version": version, "width": width, "height": height, "released": released}
            drawn = self._bridge.ask("viewer.open", args, data=to_bytes(cells), deadline_s=_OPEN_S).ok["drawn"]
            texels = _textures(folder / "prismarine-viewer" / "public" / "textures" / f"{drawn}.png")
            self._bridge.ask("viewer.textures", {"side": len(texels)}, data=texels.tobytes())
        except BaseException:
            self.close()
            raise

    def frame(self, pose: ArrayLike) -> NDArray[np.uint8]:
        """Render a picture (height, width, 3) for a camera-to-world pose (4, 4) in the frame of `Cells.ours`.
        The same pose gives the same bytes, whatever was rendered before."""
        pose = camera_pose(pose)
        x, y, z = pose[:3, 3].tolist()
        matrix = np.eye(4)  # in the game's axes, x right, y up and z back
        matrix[:3, :3] = _GAME @ pose[:3, :3] * (1, -1, -1)
        matrix[:3, 3] = self.cells.game((x, y, z))
        data = self._bridge.ask("viewer.frame", {"matrix": matrix.T.ravel().tolist()}, deadline_s=_FRAME_S).data
        rgba = np.frombuffer(data, np.uint8).reshape(*self._size, 4)
        return np.ascontiguousarray(rgba[::-1, :, :3])

    def close(self) -> None:
        """End the child process and its display."""
        self._bridge.close()


def _textures(path: Path) -> NDArray[np.uint8]:
    """The RGBA of a version's square atlas, rounded as the package's own canvas does: 8-bit, times alpha and back."""
    try:
        coded = np.frombuffer(path.read_bytes(), np.uint8)
    except OSError as error:
        raise WorldError(f"cannot read the textures {path}: {error.strerror}") from error
    image = cv2.imdecode(coded, cv2.IMREAD_UNCHANGED) if len(coded) else None
    if image is None or image.ndim != 3 or image.shape[2] != 4 or image.shape[0] != image.shape[1]:
        raise WorldError(f"{path} is no square RGBA picture: {VIEWER.hint}")
    rgba = cv2.cvtColor(image, cv2.COLOR_BGRA2RGBA).astype(np.int32)
    alpha = rgba[..., 3:]
    product = alpha * rgba[..., :3] + 128
    premultiplied = (product + (product >> 8)) >> 8
    back = np.float32(255) / np.maximum(alpha, 1).astype(np.float32)
    return np.concatenate([premultiplied.astype(np.float32) * back, alpha], -1).astype(np.uint8)
