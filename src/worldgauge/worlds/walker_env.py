"""What environments of walkers have in common: steps can be taken without a picture, so that many are drawn at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds import World
from worldgauge.worlds.walking.primitives import NAV_STEPS, Primitive
from worldgauge.worlds.walking.stance import Stance

SENSORS = ("depth", "instance", "panorama")
"""What an observation of a `PrimitiveEnv` can hold besides "rgb"."""

Sights = Mapping[str, tuple[Camera | Panorama, str]]
"""What is seen by name: the camera, and the name of its array in `View`."""


class WalkerEnv(gymnasium.Env[Any, Any]):
    """A walker without a task: the reward is 0.

    A kind of walker says where it may stand (`_spot`), how it is put there (`_stand`), what an action does (`_act`),
    where its eye is (`pose`), and what info holds (`told`).

    Args:
        world: Where it walks.
        sights: What its observation holds: a dictionary, or the array "rgb" alone where its space is no dictionary.
        labels: What its info holds besides.
        render_mode: "rgb_array" or None.

    Raises:
        UsageError: For another render mode.
    """

    def __init__(self, world: World, sights: Sights, labels: Sights, render_mode: str | None) -> None:
        if render_mode not in (None, "rgb_array"):
            raise UsageError(f"no render mode '{render_mode}'. Known: rgb_array")
        self.world: Any = world
        self.sights, self.labels = sights, labels
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Put the walker somewhere by chance, or where `options` say.

        Args:
            seed: Seed of the environment's generator, as in gymnasium.
            options: May hold 'position' (metres) and 'yaw' (radians).

        Returns:
            Observation and info.

        Raises:
            UsageError: Unknown options, or a position where it cannot stand.
        """
        self.begin(seed=seed, options=options)
        return self._observe()

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Carry out an action.

        Raises:
            UsageError: Before the first reset, or an action outside the space.
        """
        ended = self.advance(action)
        observation, info = self._observe()
        return observation, 0.0, ended, False, info

    def render(self) -> NDArray[np.uint8] | None:
        """The present view as (height, width, 3) uint8 in render mode rgb_array, else None."""
        return look(self.world, self.pose, {"rgb": self.sights["rgb"]})["rgb"] if self.render_mode else None

    def begin(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Do what `reset` does, without a picture.

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
        spot = self._spot(options.get("position"))
        self._stand(spot, float(options.get("yaw", self.np_random.uniform(-np.pi, np.pi))))

    def advance(self, action: Any) -> bool:
        """Do what `step` does, without a picture.

        Args:
            action: As for `step`.

        Returns:
            Whether the episode has ended.

        Raises:
            UsageError: As `step`.
        """
        if not self.action_space.contains(action):
            raise UsageError(f"action {action} is not in {self.action_space}")
        return self._act(action)

    @property
    def pose(self) -> FloatArray:
        """Camera-to-world pose (4, 4) of the eye."""
        raise NotImplementedError

    @property
    def told(self) -> dict[str, Any]:
        """The info without pictures."""
        raise NotImplementedError

    def _spot(self, position: Any) -> Any:
        """A place by chance for None, else the position that was asked for, checked."""
        raise NotImplementedError

    def _stand(self, spot: Any, yaw: float) -> None:
        raise NotImplementedError

    def _act(self, action: Any) -> bool:
        """Carry out an action of the space; tell whether the episode has ended."""
        raise NotImplementedError

    def _observe(self) -> tuple[Any, dict[str, Any]]:
        seen = look(self.world, self.pose, {**self.sights, **self.labels})
        info = {**self.told, **{name: seen.pop(name) for name in self.labels}}
        return (seen if isinstance(self.observation_space, spaces.Dict) else seen["rgb"]), info


class PrimitiveEnv(WalkerEnv):
    """A walker by primitives indoors; STOP ends an episode.

    A kind says where it may stand (`_spot`, `_stand`) and how a primitive moves it (`_walked`).

    Args:
        world: Where it walks.
        depth_m: Largest depth.
        width: Width of the view in pixels.
        height: Height of the view in pixels.
        hfov_deg: Horizontal field of view, between 0 and 180.
        height_m: Height of the eye above the floor.
        sensors: Further observations of `SENSORS`.
        panorama: Width and height of the panorama in pixels.
        render_mode: "rgb_array" or None.

    Raises:
        UnknownNameError: For another sensor.
        UsageError: For values out of range.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": round(NAV_STEPS.fps)}  # noqa: RUF012

    def __init__(
        self,
        world: World,
        *,
        depth_m: float,
        width: int,
        height: int,
        hfov_deg: float,
        height_m: float,
        sensors: Sequence[str],
        panorama: tuple[int, int],
        render_mode: str | None,
    ) -> None:
        for sensor in sensors:
            if sensor not in SENSORS:
                raise UnknownNameError("sensor", sensor, SENSORS)
        if not 0 < hfov_deg < 180:
            raise UsageError(f"hfov_deg must be between 0 and 180, got {hfov_deg}")
        self.camera = Camera.from_horizontal_fov(width, height, hfov_deg)
        self.around = Panorama(*panorama)
        self.height_m = height_m
        every: dict[str, tuple[Camera | Panorama, str, spaces.Space[Any]]] = {
            "rgb": (self.camera, "rgb", spaces.Box(0, 255, (height, width, 3), np.uint8)),
            "depth": (self.camera, "depth", spaces.Box(0.0, depth_m, (height, width), np.float32)),
            "instance": (self.camera, "instance", spaces.Box(0, np.iinfo(np.uint16).max, (height, width), np.uint16)),
            "panorama": (self.around, "rgb", spaces.Box(0, 255, (self.around.height, self.around.width, 3), np.uint8)),
        }
        shown = {name: every[name] for name in ("rgb", *sensors)}
        super().__init__(world, {name: (camera, array) for name, (camera, array, _) in shown.items()}, {}, render_mode)
        self._stance: Stance | None = None
        self._collided = False
        self.observation_space = spaces.Dict({name: space for name, (_, _, space) in shown.items()})
        self.action_space = spaces.Discrete(len(Primitive), start=int(Primitive.FORWARD))

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

    def _act(self, action: Any) -> bool:
        primitive = Primitive(int(action))
        self._stance, self._collided = self._walked(primitive)
        return primitive is Primitive.STOP

    def _walked(self, primitive: Primitive) -> tuple[Stance, bool]:
        """Where a primitive leads, and whether it met something."""
        raise NotImplementedError


def look(world: World, pose: FloatArray, sights: Sights) -> dict[str, NDArray[Any]]:
    """Draw what is seen from one pose. Each camera draws once.

    Args:
        world: The world.
        pose: Camera-to-world (4, 4), metres.
        sights: What is wanted.

    Returns:
        The arrays by name.
    """
    drawn = {camera: world.view(pose, camera) for camera in cameras_of(sights)}
    return {name: getattr(drawn[camera], array) for name, (camera, array) in sights.items()}


def cameras_of(sights: Sights) -> list[Camera | Panorama]:
    """The cameras of sights, each once.

    Args:
        sights: What is wanted.
    """
    return list(dict.fromkeys(camera for camera, _ in sights.values()))
