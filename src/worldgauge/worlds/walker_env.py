"""What environments of walkers have in common: steps can be taken without a picture, so that many are drawn at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, SupportsFloat, TypeVar, get_args

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, iterate
from numpy.typing import NDArray

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds import World
from worldgauge.worlds.gpu.batch import Batched
from worldgauge.worlds.walking.primitives import EYE_HEIGHT_M, NAV_STEPS, Primitive, Stance

SENSORS = ("depth", "instance", "panorama")
"""What an observation of a `PrimitiveEnv` can hold besides "rgb"."""

Sights = Mapping[str, tuple[Camera | Panorama, str]]
"""What is seen by name: the camera, and the name of its array in `View`."""


class WalkerEnv(gymnasium.Env[Any, Any]):
    """A walker without a task: the reward is 0.
    A kind of walker defines where it may stand (`_spot`), how it is put there (`_stand`) and what an action does
    (`_act`). It also defines where its eye is (`pose`), and what info holds (`told`). Without a dictionary space,
    `sights` is "rgb" alone."""

    def __init__(self, world: World, sights: Sights, labels: Sights, render_mode: str | None) -> None:
        if render_mode not in (None, "rgb_array"):
            raise UsageError(f"no render mode '{render_mode}'. Known: rgb_array")
        self.world: Any = world
        self.sights, self.labels = sights, labels
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Put the walker somewhere by chance, or at the 'position' (metres) and 'yaw' (radians) of `options`."""
        self.begin(seed=seed, options=options)
        return self._observe()

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Carry out an action."""
        ended = self.advance(action)
        observation, info = self._observe()
        return observation, 0.0, ended, False, info

    def render(self) -> NDArray[np.uint8] | None:
        """The present view as (height, width, 3) uint8 in render mode rgb_array, else None."""
        return look(self.world, self.pose, {"rgb": self.sights["rgb"]})["rgb"] if self.render_mode else None

    def begin(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Do what `reset` does, without a picture."""
        super().reset(seed=seed)
        options = options or {}
        if unknown := set(options) - {"position", "yaw"}:
            raise UsageError(f"reset takes the options 'position' and 'yaw', not {sorted(unknown)}")
        spot = self._spot(options.get("position"))
        self._stand(spot, float(options.get("yaw", self.np_random.uniform(-np.pi, np.pi))))

    def advance(self, action: Any) -> bool:
        """Do what `step` does, without a picture, and return whether the episode has ended."""
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
    A kind defines where it may stand (`_spot`, `_stand`) and how a primitive moves it (`_walked`)."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": round(NAV_STEPS.fps)}  # noqa: RUF012

    def __init__(
        self,
        world: World,
        *,
        depth_m: float,
        width: int = 384,
        height: int = 384,
        hfov_deg: float = 90.0,
        height_m: float = EYE_HEIGHT_M,
        sensors: Sequence[str] = (),
        panorama: tuple[int, int] = (1024, 576),
        render_mode: str | None = None,
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
        """Where the walker stands."""
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
    """Render what is seen from one pose. Each camera renders once."""
    drawn = {camera: world.view(pose, camera) for camera in cameras_of(sights)}
    return {name: getattr(drawn[camera], array) for name, (camera, array) in sights.items()}


def cameras_of(sights: Sights) -> list[Camera | Panorama]:
    """The cameras of sights, each once."""
    return list(dict.fromkeys(camera for camera, _ in sights.values()))


# Many walkers in one gymnasium environment: they step one after another and are drawn together.
#
# import worldgauge.worlds.voxel.env envs = gymnasium.make_vec("worldgauge/Voxel-v0", num_envs=256, worlds=4,
# width=64, height=64, device="cuda")


Place = TypeVar("Place", bound=World)


class WalkerVectorEnv(VectorEnv[Any, Any, Any]):
    """N environments that are rendered together, otherwise as gymnasium's `SyncVectorEnv`.
    Those that end are reset in the next step. Those that share a world must be neighbours: their views are one batch.
    `device` None renders view by view on the CPU. With `out` "torch", observations stay on the device as tensors."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self, envs: Sequence[WalkerEnv], *, device: str | None = None, out: Literal["numpy", "torch"] = "numpy"
    ) -> None:
        if not envs:
            raise UsageError("give at least one environment")
        if out not in get_args(Literal["numpy", "torch"]):
            raise UsageError(f"out is '{out}'; one of numpy, torch")
        if out == "torch" and device is None:
            raise UsageError("out is 'torch': give a device that keeps the views, such as cuda")
        for env in envs:
            if device is not None and not isinstance(env.world, Batched):
                raise UsageError(f"world '{env.world.facts.name}' is rendered on the CPU only: leave device out")
        self.envs = list(envs)
        self.num_envs = len(self.envs)
        self.render_mode = envs[0].render_mode
        self.single_observation_space = envs[0].observation_space
        self.single_action_space = envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._device, self._out = device, out
        self._ended = np.zeros(self.num_envs, bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all environments, except those where the option `reset_mask` (N,) is False."""
        options = dict(options or {})
        mask = np.asarray(options.pop("reset_mask", np.ones(self.num_envs, bool)))
        if mask.shape != (self.num_envs,) or mask.dtype != bool:
            raise UsageError(f"option 'reset_mask' is {mask}: give {self.num_envs} times True or False")
        seeds: Sequence[int | None]
        if seed is None or isinstance(seed, int | np.integer):
            seeds = [None if seed is None else int(seed) + n for n in range(self.num_envs)]
        elif len(seeds := seed) != self.num_envs:
            raise UsageError(f"{len(seed)} seeds for {self.num_envs} environments: give one for each")
        for n in range(self.num_envs):
            if mask[n]:
                self._begin(n, seeds[n], options)
        self._ended &= ~mask
        return self._observe()

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Step each environment, or reset it if its episode had ended. Rewards are 0, truncations False."""
        self._check(actions)
        before, self._ended = self._ended, np.zeros(self.num_envs, bool)
        for n in range(self.num_envs):
            if before[n]:
                self._begin(n, None, None)
        self._advance(actions, ~before)
        observations, infos = self._observe()
        nothing = np.zeros(self.num_envs)
        return observations, nothing, self._ended.copy(), np.zeros(self.num_envs, bool), infos

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """The present views (H, W, 3) uint8 in render mode rgb_array, else None."""
        if self.render_mode != "rgb_array":
            return None
        sights = {"rgb": self.envs[0].sights["rgb"]}
        poses = self._poses(0, self.num_envs)
        return tuple(look(env.world, pose, sights)["rgb"] for env, pose in zip(self.envs, poses, strict=True))

    # what a kind of walker may override, to do it for all at once

    def _check(self, actions: Any) -> None:
        """Raise what is wrong with actions, before anyone moves."""
        for n, action in enumerate(iterate(self.action_space, actions)):
            if not self.single_action_space.contains(action):
                raise UsageError(f"action {action} of environment {n} is not in {self.single_action_space}")

    def _begin(self, n: int, seed: int | None, options: dict[str, Any] | None) -> None:
        """Put walker number n somewhere."""
        self.envs[n].begin(seed=seed, options=options)

    def _advance(self, actions: Any, moving: NDArray[np.bool_]) -> None:
        """Move the walkers that are `moving` (N,), and note whose episodes end."""
        for n, action in enumerate(iterate(self.action_space, actions)):
            if moving[n]:
                self._ended[n] = self.envs[n].advance(action)

    def _told(self) -> dict[str, Any]:
        """The infos without pictures, (N, ...) by name."""
        told = [env.told for env in self.envs]
        return {name: np.array([one[name] for one in told]) for name in told[0]}

    def _poses(self, start: int, end: int) -> FloatArray:
        """Poses (n, 4, 4) of the walkers from `start` to before `end`."""
        return np.stack([env.pose for env in self.envs[start:end]])

    def _observe(self) -> tuple[Any, dict[str, Any]]:
        infos = self._told()
        first = self.envs[0]
        seen = self._look({**first.sights, **{f"label {name}": sight for name, sight in first.labels.items()}})
        infos |= {name: seen.pop(f"label {name}") for name in first.labels}
        infos |= {f"_{name}": np.ones(self.num_envs, bool) for name in infos}
        return (seen if isinstance(self.single_observation_space, spaces.Dict) else seen["rgb"]), infos

    def _look(self, sights: Sights) -> dict[str, Any]:
        """Arrays (N, ...) by name, of numpy or torch."""
        parts = [self._part(start, end, sights) for start, end in self._rows_by_world()]
        if len(parts) == 1:
            return parts[0]
        if self._out == "torch":
            import torch

            return {name: torch.cat([part[name] for part in parts]) for name in sights}
        return {name: np.concatenate([part[name] for part in parts]) for name in sights}

    def _part(self, start: int, end: int, sights: Sights) -> dict[str, Any]:
        """What the environments from `start` to before `end`, which share a world, see."""
        some = self.envs[start:end]
        if self._device is None:
            poses = self._poses(start, end)
            seen = [look(env.world, pose, sights) for env, pose in zip(some, poses, strict=True)]
            return {name: np.stack([one[name] for one in seen]) for name in sights}
        poses = self._poses(start, end)
        drawn = {
            camera: some[0].world.views(poses, camera, device=self._device, out=self._out)
            for camera in cameras_of(sights)
        }
        return {name: getattr(drawn[camera], array) for name, (camera, array) in sights.items()}

    def _rows_by_world(self) -> list[tuple[int, int]]:
        """First environment, and the one after the last, of each row of environments that share a world."""
        starts = [n for n, env in enumerate(self.envs) if n == 0 or env.world is not self.envs[n - 1].world]
        return list(zip(starts, [*starts[1:], self.num_envs], strict=True))


def shared_worlds(make: Callable[[int], Place], count: int, worlds: int) -> list[Place]:
    """Worlds for `count` environments: `worlds` different ones, each for a row of neighbours."""
    if not 1 <= worlds <= count:
        raise UsageError(f"worlds is {worlds}: give 1 to {count}, the number of environments")
    made = [make(n) for n in range(worlds)]
    return [made[n * worlds // count] for n in range(count)]
