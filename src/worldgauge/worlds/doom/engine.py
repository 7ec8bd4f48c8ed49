"""A level in a process of the engine: a walker that it moves, its frames, and their depth, labels and poses.

A walk is made twice: first without pictures, then again by the same commands, tick by tick, for the frames that are
wanted. A pixel of this engine is 1.2 times as high as wide, so the two focal lengths differ.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import WALK_STEP_M
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import MissingExtraError, UsageError, WorldError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.core.image import Image
from worldgauge.worlds.doom.level import SURFACES, UNIT_M, cast, floor_of, read_level
from worldgauge.worlds.recorded import SUFFIX, Truth, write_truth
from worldgauge.worlds.walking.floor import FloorPlan, Landmark
from worldgauge.worlds.walking.planner import Cell
from worldgauge.worlds.walking.walk import Walk
from worldgauge.worlds.walking.walkers import Control, FloorWalker, Stride, WalkFailedError

DOOM = "doom"
_MAPS = {
    "test": "1:e1m1 1:e1m2 1:e1m3 1:e2m1 1:e2m2 1:e2m3 2:map01 2:map02 2:map03 2:map04 2:map05 2:map07",
    "train": "1:e1m4 1:e1m5 1:e2m5 1:e3m1 1:e3m2 1:e4m1 2:map06 2:map08 2:map09 2:map13 2:map14 2:map18",
    "val": "1:e2m6 1:e3m4 1:e4m3 2:map17",
}
LEVELS = {split: tuple(f"freedoom{one}" for one in maps.split()) for split, maps in _MAPS.items()}
"""Levels of each split: a file of the package and a map in it."""
THINGS = ("item", "object")
CATEGORIES = (*SURFACES, *THINGS)
_ITEMS = ("Health", "Armor", "Ammo", "Weapon", "Key", "Powerup")
_FOV_DEG = 75.0
"""Horizontal field of view that the engine is told, of a picture of 4:3."""
_PIXEL_ASPECT = 1.2
_MOST_WIDTH = 320
"""Width of layers in a file of truth: they take more room than the frames."""
_PUSH = 32
"""Force of a key that adds a unit per tick to the speed."""
_MOST_AHEAD, _MOST_ASIDE = 50, 40
_SETTLE = 35
_STUCK_TICKS = 20
_OFF_M = 0.5
"""How far the engine's walker may be from where a planned walk is."""
_SETUP = "-nomonsters +movebob 0 +stillbob 0 +r_drawplayersprites 0 +sv_noitems 1 +sv_cheats 1"
_STATE = ("POSITION_X", "POSITION_Y", "POSITION_Z", "ANGLE", "CAMERA_POSITION_Z", "VELOCITY_X", "VELOCITY_Y")


class Tick(NamedTuple):
    """What was pressed in a tick, and the body after it: feet (3,) and eye, metres, and heading, radians."""

    keys: tuple[float, float, float]
    feet: tuple[float, float, float]
    eye_m: float
    yaw: float


class Engine:
    """One level in a process of the engine. Equal commands after `start` give equal frames.

    Raises:
        MissingExtraError: The extra `doom` is not installed.
        UsageError: The engine has no frames of this size.
    """

    landmarks: tuple[Landmark, ...] = ()

    def __init__(self, level: str, size: tuple[int, int]) -> None:
        vizdoom, resolution = find_engine(size)
        wad, name = level.split(":")
        path = Path(vizdoom.__path__[0]) / f"{wad}.wad"
        self.facts = WorldFacts(DOOM, {"level": level})
        self.level, self.camera = read_level(path, name), _camera_of(size)
        self.floor: FloorPlan = floor_of(self.level)
        self._begin = (0.0, 0.0, 0.0)
        self._ticks: list[Tick] = []
        game = self._game = vizdoom.DoomGame()
        game.set_doom_config_path(os.devnull)
        game.set_doom_scenario_path(str(path))
        game.set_doom_game_path(str(path))
        game.set_doom_map(name)
        game.set_screen_resolution(resolution)
        game.set_screen_format(vizdoom.ScreenFormat.RGB24)
        game.set_labels_buffer_enabled(True)
        game.set_sectors_info_enabled(True)
        for what in ("hud", "weapon", "crosshair", "decals", "particles", "messages", "corpses"):
            getattr(game, f"set_render_{what}")(False)
        keys = ("MOVE_FORWARD_BACKWARD_DELTA", "MOVE_LEFT_RIGHT_DELTA", "TURN_LEFT_RIGHT_DELTA")
        game.set_available_buttons([getattr(vizdoom.Button, one) for one in keys])
        game.set_available_game_variables([getattr(vizdoom.GameVariable, one) for one in _STATE])
        game.set_episode_timeout(10_000_000)
        game.set_window_visible(False)
        game.add_game_args(_SETUP)
        game.init()
        with suppress(OSError):  # it makes this folder for screenshots
            Path("_vizdoom").rmdir()

    def start(self, x_m: float, y_m: float, yaw: float) -> Tick:
        """Begin the level anew, put the walker to a place, metres, with a heading in radians, and wait."""
        self._begin = x_m, y_m, yaw
        self._game.set_seed(1)
        self._game.new_episode()
        for command in (f"fov {_FOV_DEG:g}", "god", f"warp {x_m / UNIT_M:.3f} {y_m / UNIT_M:.3f}"):
            self._game.send_game_command(command)
        for _ in range(_SETTLE):
            body = self._press((0.0, 0.0, 0.0))
        if not 0 < body.eye_m - body.feet[2] < 2:
            raise WalkFailedError("no room to stand")
        self._ticks = [self._press((0.0, 0.0, _degrees(yaw - body.yaw)))]
        return self._ticks[0]

    def move(self, dx_m: float, dy_m: float, turn: float) -> Tick:
        """One tick: turn by an angle in radians to the left, and push so that the body moves by a step in metres."""
        variables = self._variables()
        yaw = math.radians(variables[3]) + turn
        push_x, push_y = dx_m / UNIT_M - variables[5], dy_m / UNIT_M - variables[6]
        c, s = math.cos(yaw) * _PUSH, math.sin(yaw) * _PUSH
        ahead, aside = push_x * c + push_y * s, push_x * s - push_y * c
        part = 1 / max(1.0, abs(ahead) / _MOST_AHEAD, abs(aside) / _MOST_ASIDE)
        body = self._press((float(round(ahead * part)), float(round(aside * part)), _degrees(turn)))
        self._ticks.append(body)
        return body

    def follow(self, places: FloatArray, yaws: FloatArray) -> list[Tick]:
        """Walk through places (T, 2), metres, and headings (T,), one per tick. Raises WalkFailedError if it cannot."""
        body = self.start(float(places[0, 0]), float(places[0, 1]), float(yaws[0]))
        for place, yaw in zip(places[1:], yaws[1:], strict=True):
            dx, dy = place - np.array(body.feet[:2])
            if math.hypot(dx, dy) > _OFF_M:
                raise WalkFailedError("stuck at a thing")
            body = self.move(dx, dy, math.remainder(yaw - body.yaw, math.tau))
        return list(self._ticks)

    @property
    def ticks(self) -> Sequence[Tick]:
        """All ticks since `start`."""
        return self._ticks

    def frames(self, wanted: Iterable[int]) -> Iterator[Image]:
        """The frames of some ticks since `start`, by their numbers in ascending order; the walk is made again."""
        for _ in self._again(wanted):
            yield self._game.get_state().screen_buffer.copy()

    def write_truth(self, video: Path, wanted: Sequence[int]) -> None:
        """Write the file of truth beside a video of some ticks."""
        ticks = [self._ticks[k] for k in wanted]
        eyes = np.array([(*one.feet[:2], one.eye_m) for one in ticks])
        poses = pose_from_yaw_pitch(eyes, np.array([one.yaw for one in ticks]))
        less = -(-self.camera.width // _MOST_WIDTH)
        camera = self.camera.resized(self.camera.width // less, self.camera.height // less)
        truth = Truth(camera, poses, CATEGORIES, THINGS, self.facts.params["level"])
        layers = (self._layers(camera) for _ in self._again(wanted))
        write_truth(video.with_name(f"{video.stem}{SUFFIX}"), truth, layers)

    def close(self) -> None:
        """End the engine's process."""
        self._game.close()

    def _again(self, wanted: Iterable[int]) -> Iterator[int]:
        """Make the walk again, and stop at some ticks."""
        before, done = self._ticks, 0
        self.start(*self._begin)
        for number in wanted:
            while done < number:
                done += 1
                self._ticks.append(self._press(before[done].keys))
            if self._ticks[-1] != before[number]:
                raise WorldError(f"{self.facts.params['level']}: the engine gave another walk for the same keys")
            yield number
        self._ticks = before

    def _press(self, keys: tuple[float, float, float]) -> Tick:
        self._game.make_action(list(keys))
        if self._game.is_episode_finished():
            raise WalkFailedError("left the level")
        x, y, z, degrees, eye = self._variables()[:5]
        return Tick(keys, (x * UNIT_M, y * UNIT_M, z * UNIT_M), eye * UNIT_M, math.radians(degrees))

    def _variables(self) -> list[float]:
        return [float(one) for one in self._game.get_state().game_variables]

    def _layers(self, camera: Camera) -> dict[str, NDArray[Any]]:
        """Depth (metres), categories and instances of the present frame."""
        state, body = self._game.get_state(), self._variables()
        x, y, yaw = body[0], body[1], math.radians(body[3])
        heights = np.array([(one.floor_height, one.ceiling_height) for one in state.sectors], np.float64)
        depth, category = cast(self.level, heights, np.array([x, y, body[4]]), yaw, camera)
        instance = np.zeros_like(category)
        rows, columns = (
            ((np.arange(n) + 0.5) * (whole / n)).astype(int)
            for n, whole in zip(depth.shape, state.labels_buffer.shape, strict=True)
        )
        shown = state.labels_buffer[rows][:, columns]
        for label in state.labels:
            mask = shown == label.value
            category[mask] = CATEGORIES.index(THINGS[label.object_category not in _ITEMS]) + 1
            instance[mask] = label.object_id % 65_535 + 1
            away = (label.object_position_x - x) * math.cos(yaw) + (label.object_position_y - y) * math.sin(yaw)
            depth[mask] = max(away, 1.0)
        return {"category": category, "instance": instance, "depth": (depth * UNIT_M).astype(np.float32)}


def find_engine(size: tuple[int, int]) -> tuple[Any, Any]:
    """The package of the engine, and its name for frames of a size. Raises as `Engine`."""
    try:
        import vizdoom
    except ImportError:
        raise MissingExtraError("world 'doom'", DOOM) from None
    resolution = getattr(vizdoom.ScreenResolution, f"RES_{size[0]}X{size[1]}", None)
    if resolution is None:
        raise UsageError(f"the engine has no frames of {size[0]}x{size[1]}; give 256x144, 320x180, 640x360 or 1280x720")
    return vizdoom, resolution


def _camera_of(size: tuple[int, int]) -> Camera:
    """The camera of the engine's frames."""
    width, height = size
    focal = height / 2 * 4 / 3 / math.tan(math.radians(_FOV_DEG) / 2)
    return Camera(width, height, focal, _PIXEL_ASPECT * focal, width / 2, height / 2)


def _degrees(turn: float) -> float:
    return -math.degrees(math.remainder(turn, math.tau))


class DoomWalker(FloorWalker):
    """A walker that the engine moves: it has momentum, climbs steps, and stops at what stands around."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.floor)
        self.engine = engine
        self._blocked = 0

    def stand(self, cell: Cell, yaw: float) -> None:
        """Put the walker into a cell of a level that begins; see `Walker.stand`."""
        super().stand(cell, yaw)
        self._blocked = 0
        self._read(self.engine.start(float(self._xy[0]), float(self._xy[1]), yaw))

    def _move(self) -> None:
        """The engine moves the body in the tick in which it turns."""

    def _turned(self, control: Control) -> Stride:
        before, speed = self._xy, WALK_STEP_M * self._control.forward
        body = self.engine.move(speed * math.cos(self._yaw), speed * math.sin(self._yaw), control.camera[0])
        self._control = control
        self._read(body)
        is_blocked = speed > 0 and math.dist(before, self._xy) < speed / 4
        self._blocked = self._blocked + 1 if is_blocked else 0
        if self._blocked > _STUCK_TICKS:
            raise WalkFailedError("stuck at a thing")
        return Stride(body.feet, self._yaw, control)

    def _read(self, body: Tick) -> None:
        self._xy = np.array(body.feet[:2])
        self._yaw += math.remainder(body.yaw - self._yaw, math.tau)

    def ticks_of(self, walk: Walk) -> list[int]:
        """Numbers of the ticks whose bodies a walk, which has rounded numbers, holds."""
        found, number = [], 0
        for place, yaw in zip(walk.positions, walk.yaw, strict=True):
            while not _is_at(self.engine.ticks[number], place, yaw):
                number += 1
            found.append(number)
            number += 1
        return found


def _is_at(tick: Tick, place: FloatArray, yaw: float) -> bool:
    near = np.abs(np.array(tick.feet) - place).max() < 6e-4
    return bool(near) and abs(math.remainder(tick.yaw - yaw, math.tau)) < 6e-4
