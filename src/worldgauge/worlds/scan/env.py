"""A scan as a gymnasium environment: World-in-World's primitives, `worldgauge/Scan-v0`.

gymnasium knows the id once this module is imported; the long form of the id imports it by itself:

    env = gymnasium.make("worldgauge.worlds.scan.env:worldgauge/Scan-v0", scene="example/room")
"""

from __future__ import annotations

from typing import Any, Literal

import gymnasium
import numpy as np

from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.scan import Scan
from worldgauge.worlds.walker_env import PrimitiveEnv, WalkerVectorEnv
from worldgauge.worlds.walking.primitives import Primitive, Stance

ENV_ID = "worldgauge/Scan-v0"


class ScanEnv(PrimitiveEnv):
    """One primitive per step in a scan, on all its storeys. There is no task: the reward is 0, and STOP terminates.

    Action: number of a `Primitive`, 1 to 4. Observation: rgb (height, width, 3) uint8, and, if in `sensors`, depth
    (height, width) float32 metres along the optical axis, infinite in holes, instance (height, width) uint16, panorama
    uint8. info: pose (4, 4) camera-to-world, position (3,) of the feet, yaw, and collided in the last step.
    `reset(seed=...)` chooses the place of the walker; options={"position": (x, y, z), "yaw": ...} choose any place.
    `scene` is a key (`worldgauge list scans`); `sliding`: slide along walls.
    """

    def __init__(
        self, scene: str = "example/room", *, scan: Scan | None = None, sliding: bool = False, **view: Any
    ) -> None:
        self.scan = scan if scan is not None else Scan(scene)
        self.ground = self.scan.ground(sliding)
        super().__init__(self.scan, depth_m=np.inf, **view)

    @property
    def told(self) -> dict[str, Any]:
        """The info without pictures."""
        here = self.stance
        return {"pose": self.pose, "position": np.array(here.at), "yaw": here.yaw, "collided": self._collided}

    def _spot(self, position: Any) -> FloatArray:
        place = self.ground.random_point(self.np_random) if position is None else np.asarray(position, np.float64)
        if place.shape != (3,) or not np.isfinite(place).all() or not self.ground.stands(place):
            raise UsageError(f"option 'position' needs x, y, z in metres where a walker has room, got {place.tolist()}")
        return self.ground.nearest(place)

    def _stand(self, spot: FloatArray, yaw: float) -> None:
        x, y, z = spot.tolist()
        self._stance, self._collided = Stance(x, y, yaw, z), False

    def _walked(self, primitive: Primitive) -> tuple[Stance, bool]:
        return self.ground.step(self.stance, primitive)


def scan_vector_env(
    num_envs: int,
    scene: str = "example/room",
    *,
    scan: Scan | None = None,
    device: str | None = None,
    out: Literal["numpy", "torch"] = "numpy",
    **each: Any,
) -> WalkerVectorEnv:
    """Many walkers in one scan, rendered together."""
    shared = scan if scan is not None else Scan(scene)
    envs: list[ScanEnv] = []
    for _ in range(num_envs):
        envs.append(ScanEnv(scan=shared, **each))
        envs[-1].ground = envs[0].ground  # the same for all, and large
    return WalkerVectorEnv(envs, device=device, out=out)


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point=f"{__name__}:ScanEnv", vector_entry_point=f"{__name__}:scan_vector_env")
