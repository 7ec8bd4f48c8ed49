"""A scan as a gymnasium environment: World-in-World's primitives, `worldgauge/Scan-v0`.

gymnasium knows the id once this module is imported; the long form of the id imports it by itself:

    env = gymnasium.make("worldgauge.worlds.scan.env:worldgauge/Scan-v0", scene="example/room")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, SupportsFloat

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds.scan import Scan
from worldgauge.worlds.vector_env import Sights, WalkerVectorEnv, look
from worldgauge.worlds.walking.primitives import NAV_STEPS, Primitive
from worldgauge.worlds.walking.stance import EYE_HEIGHT_M, Stance

ENV_ID = "worldgauge/Scan-v0"
SENSORS = ("depth", "instance", "panorama")
"""What an observation can hold besides "rgb"."""

Observation = dict[str, Any]
"""Arrays by sensor."""


class ScanEnv(gymnasium.Env[Observation, np.int64]):
    """One primitive per step in a scan, on all its storeys. There is no task: the reward is 0, and STOP terminates.

    Action: number of a `Primitive`, 1 to 4. Observation: rgb (height, width, 3) uint8, and, if in `sensors`, depth
    (height, width) float32 metres along the optical axis, infinite in holes, instance (height, width) uint16, panorama
    (panorama height, width, 3) uint8. info: pose (4, 4) camera-to-world, position (3,) of the feet, yaw, and collided,
    whether the last step met something.

    `reset(seed=...)` chooses the place of the walker; options={"position": (x, y, z), "yaw": ...} put it anywhere with
    enough room.

    Args:
        scene: Key of the scene (`worldgauge world list`).
        scan: A scan that is open, instead of `scene`.
        sliding: Whether the walker slides along walls.
        width: Width of the view in pixels.
        height: Height of the view in pixels.
        hfov_deg: Horizontal field of view, between 0 and 180.
        height_m: Height of the eye above the floor.
        sensors: Further observations, "depth", "instance" and "panorama".
        panorama: Width and height of the panorama in pixels.
        render_mode: "rgb_array" or None.

    Raises:
        UnknownNameError: For another sensor.
        UsageError: For values out of range.
        WorldError: The scene is not registered.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": round(NAV_STEPS.fps)}  # noqa: RUF012

    def __init__(
        self,
        scene: str = "example/room",
        *,
        scan: Scan | None = None,
        sliding: bool = False,
        width: int = 384,
        height: int = 384,
        hfov_deg: float = 90.0,
        height_m: float = EYE_HEIGHT_M,
        sensors: Sequence[str] = (),
        panorama: tuple[int, int] = (1024, 576),
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise UsageError(f"no render mode '{render_mode}'. Known: rgb_array")
        for sensor in sensors:
            if sensor not in SENSORS:
                raise UnknownNameError("sensor", sensor, SENSORS)
        if not 0 < hfov_deg < 180:
            raise UsageError(f"hfov_deg must be between 0 and 180, got {hfov_deg}")
        self.scan = scan if scan is not None else Scan(scene)
        self.ground = self.scan.ground(sliding)
        self.camera = Camera.from_horizontal_fov(width, height, hfov_deg)
        self.around = Panorama(*panorama)
        self.height_m = height_m
        self.render_mode = render_mode
        self.world = self.scan
        self.sights: Sights = {
            name: (self.around, "rgb") if name == "panorama" else (self.camera, name) for name in ("rgb", *sensors)
        }
        self.labels: Sights = {}
        self._collided = False
        self._stance: Stance | None = None
        every: dict[str, spaces.Space[Any]] = {
            "rgb": spaces.Box(0, 255, (height, width, 3), np.uint8),
            "depth": spaces.Box(0.0, np.inf, (height, width), np.float32),
            "instance": spaces.Box(0, np.iinfo(np.uint16).max, (height, width), np.uint16),
            "panorama": spaces.Box(0, 255, (self.around.height, self.around.width, 3), np.uint8),
        }
        self.observation_space = spaces.Dict({name: every[name] for name in self.sights})
        self.action_space = spaces.Discrete(len(Primitive), start=int(Primitive.FORWARD))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Put the walker at a random place indoors, or where `options` say.

        Args:
            seed: Seed of the environment's generator, as in gymnasium.
            options: May hold 'position' (x, y, z in metres) and 'yaw' (radians).

        Returns:
            Observation and info.

        Raises:
            UsageError: Unknown options, or a position without room to stand.
        """
        self.begin(seed=seed, options=options)
        return self._observe()

    def begin(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Put the walker somewhere, as `reset` does, without a picture.

        Args:
            seed: As for `reset`.
            options: As for `reset`.

        Raises:
            UsageError: As `reset`.
        """
        super().reset(seed=seed)
        options = options or {}
        if unknown := set(options) - {"position", "yaw"}:
            raise UsageError(f"reset takes the options 'position' and 'yaw', not {sorted(unknown)}")
        position = options.get("position")
        place = self.ground.random_point(self.np_random) if position is None else np.asarray(position, np.float64)
        if place.shape != (3,) or not np.isfinite(place).all() or not self.ground.stands(place):
            raise UsageError(f"option 'position' needs x, y, z in metres where a walker has room, got {place.tolist()}")
        x, y, z = self.ground.nearest(place).tolist()
        self._stance = Stance(x, y, float(options.get("yaw", self.np_random.uniform(-np.pi, np.pi))), z)
        self._collided = False

    def step(self, action: np.int64 | int) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Carry out one primitive.

        Raises:
            UsageError: Before the first reset, or an action outside the space.
        """
        ended = self.advance(action)
        observation, info = self._observe()
        return observation, 0.0, ended, False, info

    def advance(self, action: np.int64 | int) -> bool:
        """Carry out one primitive, without a picture.

        Args:
            action: As for `step`.

        Returns:
            Whether it was STOP.

        Raises:
            UsageError: As `step`.
        """
        if not self.action_space.contains(action):
            raise UsageError(f"action {action} is not in {self.action_space}")
        primitive = Primitive(int(action))
        self._stance, self._collided = self.ground.step(self.stance, primitive)
        return primitive is Primitive.STOP

    def render(self) -> NDArray[np.uint8] | None:
        """The present view as (height, width, 3) uint8 in render mode rgb_array, else None."""
        return self.scan.view(self.pose, self.camera).rgb if self.render_mode == "rgb_array" else None

    @property
    def stance(self) -> Stance:
        """Where the walker stands.

        Raises:
            UsageError: Before the first reset.
        """
        if self._stance is None:
            raise UsageError("call reset() first")
        return self._stance

    @property
    def pose(self) -> FloatArray:
        """Camera-to-world pose (4, 4) of the eye."""
        return self.stance.eye(self.height_m)

    @property
    def told(self) -> dict[str, Any]:
        """The info without pictures."""
        return {
            "pose": self.pose,
            "position": np.array(self.stance.at),
            "yaw": self.stance.yaw,
            "collided": self._collided,
        }

    def _observe(self) -> tuple[Observation, dict[str, Any]]:
        return look(self.world, self.pose, self.sights), self.told


def scan_vector_env(
    num_envs: int,
    scene: str = "example/room",
    *,
    scan: Scan | None = None,
    device: str | None = None,
    out: Literal["numpy", "torch"] = "numpy",
    **each: Any,
) -> WalkerVectorEnv:
    """Many walkers in one scan, drawn together.

    Args:
        num_envs: Number of walkers.
        scene: Key of the scene.
        scan: A scan that is open, instead of `scene`.
        device: As for `WalkerVectorEnv`.
        out: As for `WalkerVectorEnv`.
        **each: Further arguments of `ScanEnv`.

    Raises:
        UsageError: As `WalkerVectorEnv`.
    """
    shared = scan if scan is not None else Scan(scene)
    envs: list[ScanEnv] = []
    for _ in range(num_envs):
        envs.append(ScanEnv(scan=shared, **each))
        envs[-1].ground = envs[0].ground  # the same for all, and large
    return WalkerVectorEnv(envs, device=device, out=out)


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point=f"{__name__}:ScanEnv", vector_entry_point=f"{__name__}:scan_vector_env")
