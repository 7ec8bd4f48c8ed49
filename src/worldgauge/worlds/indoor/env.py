"""A home as a gymnasium environment: World-in-World's primitives, `worldgauge/Home-v0`.

gymnasium knows the id once this module is imported; the long form of the id imports it by itself:

    env = gymnasium.make("worldgauge.worlds.indoor.env:worldgauge/Home-v0", seed=3)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import gymnasium
import numpy as np

from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.camera import VIEW_M
from worldgauge.worlds.walker_env import PrimitiveEnv, WalkerVectorEnv, shared_worlds
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import EYE_HEIGHT_M, Primitive, Stance, stands, walked

ENV_ID = "worldgauge/Home-v0"


class HomeEnv(PrimitiveEnv):
    """One primitive per step in a home. There is no task: the reward is 0, and STOP terminates.

    Action: number of a `Primitive`, 1 to 4. Observation: rgb (height, width, 3) uint8, and, if in `sensors`, depth
    (height, width) float32 metres along the optical axis, instance (height, width) uint16, panorama uint8. info: pose
    (4, 4) camera-to-world, position (2,), yaw, room, and collided, whether the last step met something.
    `reset(seed=...)` chooses the place of the walker; options={"position": (x, y), "yaw": ...} choose any free place.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        home: Home | None = None,
        width: int = 384,
        height: int = 384,
        hfov_deg: float = 90.0,
        height_m: float = EYE_HEIGHT_M,
        sensors: Sequence[str] = (),
        panorama: tuple[int, int] = (1024, 576),
        render_mode: str | None = None,
    ) -> None:
        self.home = home if home is not None else Home(seed)
        self.geodesic = Geodesic(self.home.floor)
        super().__init__(
            self.home,
            depth_m=VIEW_M,
            width=width,
            height=height,
            hfov_deg=hfov_deg,
            height_m=height_m,
            sensors=sensors,
            panorama=panorama,
            render_mode=render_mode,
        )

    @property
    def told(self) -> dict[str, Any]:
        """The info without pictures."""
        return {
            "pose": self.pose,
            "position": np.array(self.stance[:2]),
            "yaw": self.stance.yaw,
            "room": self.home.room_at(self.stance[:2]),
            "collided": self._collided,
        }

    def _spot(self, position: Any) -> FloatArray:
        place = self.geodesic.random_point(self.np_random) if position is None else np.asarray(position, np.float64)
        if place.shape != (2,) or not stands(self.home.floor.clearance_at(place)).all():
            raise UsageError(f"option 'position' needs x, y in metres where a walker has room, got {place.tolist()}")
        return place

    def _stand(self, spot: FloatArray, yaw: float) -> None:
        self._stance, self._collided = Stance(float(spot[0]), float(spot[1]), yaw), False

    def _walked(self, primitive: Primitive) -> tuple[Stance, bool]:
        return walked(self.home.floor, self.stance, primitive)


def home_vector_env(
    num_envs: int,
    seed: int = 0,
    *,
    worlds: int = 1,
    device: str | None = None,
    out: Literal["numpy", "torch"] = "numpy",
    **each: Any,
) -> WalkerVectorEnv:
    """Many walkers in `worlds` homes with seeds from `seed` on, equally many per home, rendered together."""
    homes = shared_worlds(lambda n: Home(seed + n), num_envs, worlds)
    envs = [HomeEnv(home=home, **each) for home in homes]
    shared = {env.home: env.geodesic for env in envs}
    for env in envs:
        env.geodesic = shared[env.home]  # its map of the floor is the same for all, and large
    return WalkerVectorEnv(envs, device=device, out=out)


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point=f"{__name__}:HomeEnv", vector_entry_point=f"{__name__}:home_vector_env")
