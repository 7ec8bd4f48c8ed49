"""The textured test rooms: one room with boxes, a camera path through it, and the eight clips decoders are measured on.

    from worldgauge.worlds.indoor.textured_rooms import CLIPS, room_clip
    clip = room_clip("turn")                       # one of CLIPS; seed=..., frames=97, size=(640, 360), noise=2.5
    clip.frames, clip.poses                        # (97, 360, 640, 3) uint8, (97, 4, 4) float64 camera-to-world
    clip.history_frame, clip.history_pose          # 1.07 m back along the path
    clip.anchor_distance_m, clip.camera, clip.fps  # planar metres between history and first frame; pinhole; 12

    walk = room_walk("curve", frames=97)           # poses only
    room = Room("curve", seed=0, contrast=0.15, repeat=True)
    room.view(walk.poses[0], ROOM_CAMERA).rgb      # a World like any other, registered as "room"

Source: worldgauge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import Camera, FloatArray, Panorama, pose_from_yaw_pitch
from worldgauge.worlds import View, worlds
from worldgauge.worlds.indoor.boxes import Box, Boxes, Paint, Point
from worldgauge.worlds.walking.floor import FloorPlan, Landmark

if TYPE_CHECKING:
    from worldgauge.worlds.indoor.camera import BoxScene

ROOM_M = (12.0, 16.0, 3.0)
"""The room along x, y, z; its lower corner is the origin."""

ROOM_CAMERA = Camera.from_vertical_fov(640, 360, float(np.degrees(2 * np.arctan(9 / 16 * np.tan(np.radians(40))))))
"""80 degrees across, 640 x 360."""

WALKS = ("curve", "turn", "straight", "still", "spin")
CLIPS = ("curve", "turn", "straight", "moving_box", "blur", "low_contrast", "still", "spin")
"""Gentle curve, 90 degree turn, straight ahead, a box moving in view, blur, low contrast, still, turn in place."""

PATH_M, SECONDS, HISTORY_M = 4.34, 8.0, 1.07
EYE_M = 0.45
KEPT_OFF_M = 1.2
FLOOR_CELL_M, WALKER_M = 0.05, 0.6
LOW_CONTRAST = 0.15
BLUR_PX = 1.6


@dataclass(frozen=True)
class RoomWalk:
    """A camera path: poses (T, 4, 4) camera-to-world, and the pose (4, 4) of a frame 1.07 m back along it."""

    history: FloatArray
    poses: FloatArray
    fps: float


@dataclass(frozen=True)
class RoomClip:
    """What a camera saw on a walk: frames (T, H, W, 3) uint8 with their poses (T, 4, 4), the same of its history."""

    frames: NDArray[np.uint8]
    poses: FloatArray
    history_frame: NDArray[np.uint8]
    history_pose: FloatArray
    camera: Camera
    fps: float

    @property
    def anchor_distance_m(self) -> float:
        """Planar distance in metres between the history frame and the first."""
        return float(np.linalg.norm(self.poses[0, :2, 3] - self.history_pose[:2, 3]))


@worlds.register("room", walkable=True, example={"walk": "curve", "seed": 1})
class TexturedRoom:
    """A textured room of 12 x 16 x 3 m with boxes along a path, for measuring decoders.

    Args:
        walk: Path of WALKS from which its boxes keep 1.2 m.
        repeat: The same texture on many surfaces.
        box_offset: Shift of an extra box from its start next to the path, metres; None for no such box.
    """

    categories: tuple[str, ...] = ("void", "floor", "ceiling", "wall", "box")

    def __init__(
        self,
        walk: str = "curve",
        seed: int = 0,
        contrast: float = 1.0,
        repeat: bool = False,
        box_offset: Sequence[float] | None = None,
    ) -> None:
        if seed < 0:
            raise WorldError(f"a room's seed must be 0 or more, got {seed}")
        self._params = {"walk": walk, "seed": seed, "contrast": contrast, "repeat": repeat}
        self._params["box_offset"] = None if box_offset is None else tuple(float(c) for c in box_offset)
        points = _points(walk)
        rng = np.random.default_rng([seed, WALKS.index(walk), 0x2004])
        listed = _shell(contrast) + _obstacles(np.concatenate([points, _crossing(points)]), rng, contrast)
        if box_offset is not None:
            listed.append(_mover(points, contrast))
        boxes = Boxes.of(listed, seed)
        if repeat:
            boxes.face_seeds[:] = boxes.face_seeds.reshape(-1)[:3][rng.integers(3, size=boxes.face_seeds.shape)]
        if box_offset is not None:
            x, y, z = box_offset
            boxes = boxes.moved(len(boxes) - 1, (x, y, z))
        self.boxes = boxes

    @classmethod
    def describe(cls, walk: str = "curve", seed: int = 0, contrast: float = 1.0, **later: Any) -> str:
        """Describe the room of these arguments in a sentence."""
        return f"A large room with {'faint' if contrast < 1 else 'coloured'} patterns on its surfaces."

    @property
    def facts(self) -> WorldFacts:
        """Its arguments and the digest of its boxes."""
        return WorldFacts("room", self._params, self.boxes.digest())

    @cached_property
    def floor(self) -> FloorPlan:
        """Cells of 5 cm, free where no box stands."""
        cells = round(ROOM_M[0] / FLOOR_CELL_M), round(ROOM_M[1] / FLOOR_CELL_M)
        free = np.ones(cells, bool)
        for low, high in zip(self.boxes.bounds[:, :3], self.boxes.bounds[:, 3:], strict=True):
            if low[2] < WALKER_M and high[2] > 0.0:
                first = np.clip(np.floor(low[:2] / FLOOR_CELL_M).astype(int), 0, cells)
                last = np.clip(np.ceil(high[:2] / FLOOR_CELL_M).astype(int), 0, cells)
                free[first[0] : last[0], first[1] : last[1]] = False
        return FloorPlan(free, np.zeros(cells, np.float32), (0.0, 0.0), FLOOR_CELL_M)

    @property
    def landmarks(self) -> tuple[Landmark, ...]:
        """None: its boxes have no names."""
        return ()

    def view(self, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
        """Render a view. Safe to call from several threads."""
        from worldgauge.worlds.indoor.camera import render

        return render(self._scene, pose, camera, position=position)

    @cached_property
    def _scene(self) -> BoxScene:
        from worldgauge.worlds.indoor.camera import BoxScene

        return BoxScene.of(self.boxes, (0.0, ROOM_M[2]))


def room_walk(kind: str, frames: int = 97, seed: int = 0) -> RoomWalk:
    """Make a walk through the room: 4.34 m in 8 s at even speed, camera at 0.45 m, with bob and jitter of steps.
    Bob is 1 cm at 1.8 Hz; jitter of yaw, pitch and roll is 0.5 degrees (standard deviation) below 2.5 Hz. 'still' stops
    after the history; 'spin' turns 80 degrees to the left in place."""
    share = np.linspace(0, 1, frames)
    history_s = SECONDS * HISTORY_M / PATH_M
    seconds = np.concatenate([[-history_s], share * SECONDS])
    moving = kind not in ("still", "spin")
    metres = np.concatenate([[-HISTORY_M], share * (PATH_M if moving else 0.0)])
    xy, yaw = _path(kind, metres)
    if kind == "spin":
        yaw = yaw + np.radians(80) * np.concatenate([[0.0], share])
    rng = np.random.default_rng([seed, 0x3A1C])
    clock = np.where(seconds < 0, seconds, 0.0) if kind == "still" else seconds
    jitter = np.radians(0.5) * np.stack([_wobble(clock, rng) for _ in range(3)])
    z = EYE_M + 0.01 * np.sin(2 * np.pi * 1.8 * clock)
    poses = pose_from_yaw_pitch(np.concatenate([xy, z[:, None]], 1), yaw + jitter[0], jitter[1])
    cosine, sine = np.cos(jitter[2])[:, None], np.sin(jitter[2])[:, None]
    right, down = poses[:, :3, 0].copy(), poses[:, :3, 1].copy()
    poses[:, :3, 0], poses[:, :3, 1] = cosine * right + sine * down, cosine * down - sine * right
    return RoomWalk(poses[0], poses[1:], (frames - 1) / SECONDS)


def room_clip(
    name: str,
    *,
    seed: int = 0,
    frames: int = 97,
    size: tuple[int, int] = (640, 360),
    noise: float = 2.5,
    contrast: float = 1.0,
    repeat: bool = False,
) -> RoomClip:
    """Render a clip of the room; `size` is width and height in pixels."""
    if name not in CLIPS:
        raise WorldError(f"no room clip '{name}'; known: {', '.join(CLIPS)}")
    kind = name if name in WALKS else "curve"
    walk = room_walk(kind, frames, seed)
    contrast *= LOW_CONTRAST if name == "low_contrast" else 1.0
    camera = ROOM_CAMERA.resized(*size)
    poses = np.concatenate([walk.history[None], walk.poses])
    seen = np.empty((len(poses), size[1], size[0], 3), np.uint8)
    room = TexturedRoom(kind, seed, contrast, repeat)
    way = np.subtract(*_crossing(_points(kind))[[-1, 0]])
    for t, pose in enumerate(poses):
        if name == "moving_box":
            # It crosses in front of the camera, from left to right, while the clip lasts.
            x, y = way * max(t - 1, 0) / max(frames - 1, 1)
            room = TexturedRoom(kind, seed, contrast, repeat, (float(x), float(y), 0.0))
        seen[t] = room.view(pose, camera).rgb
        if name == "blur":
            seen[t] = _blurred(seen[t], BLUR_PX * size[0] / 640)
    seen = with_noise(seen, noise, np.random.default_rng([seed, 0x9015E]))
    return RoomClip(seen[1:], walk.poses, seen[0], walk.history, camera, walk.fps)


def with_noise(frames: NDArray[np.uint8], sigma: float, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Add normal noise to frames. `frames`: (T, H, W, 3) uint8. Returns (T, H, W, 3) uint8."""
    if sigma == 0:
        return frames
    noisy = np.empty_like(frames)
    for t, frame in enumerate(frames):
        grain = rng.standard_normal(frame.shape, np.float32) * np.float32(sigma)
        noisy[t] = np.clip(np.rint(frame + grain), 0, 255)
    return noisy


def _points(kind: str) -> FloatArray:
    """Places (200, 2) along all of a walk, its history first."""
    return _path(kind, np.linspace(-HISTORY_M, PATH_M, 200))[0]


def _path(kind: str, metres: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Places (N, 2) and headings (N,) after `metres` along a walk; it starts at (6, 4) towards +y."""
    if kind not in WALKS:
        raise WorldError(f"no room walk '{kind}'; known: {', '.join(WALKS)}")
    # Curvature by arc length, integrated: 30 degrees over the whole path, or 90 within 1.5 m.
    fine = np.linspace(-HISTORY_M, PATH_M, 5412)
    bend = np.zeros_like(fine)
    if kind == "curve":
        bend[:] = np.radians(30) / PATH_M
    elif kind == "turn":
        bend[(fine >= 1.4) & (fine < 2.9)] = -np.radians(90) / 1.5
    step = fine[1] - fine[0]
    yaw = np.pi / 2 + (np.cumsum(bend) - bend.cumsum()[int(HISTORY_M / step)]) * step
    middle = np.cumsum(np.stack([np.cos(yaw), np.sin(yaw)], 1), 0) * step
    middle += np.array([6.0, 4.0]) - middle[int(HISTORY_M / step)]
    at = np.stack([np.interp(metres, fine, middle[:, axis]) for axis in range(2)], 1)
    return at, np.interp(metres, fine, yaw)


def _wobble(seconds: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Smooth noise of standard deviation 1: three sines between 0.4 and 2.5 Hz."""
    frequency, phase = rng.uniform(0.4, 2.5, (3, 1)), rng.uniform(0, 2 * np.pi, (3, 1))
    wobble: FloatArray = np.sqrt(2 / 3) * np.sin(2 * np.pi * frequency * seconds + phase).sum(0)
    return wobble


def _shell(contrast: float) -> list[Box]:
    x, y, z = ROOM_M
    paint = Paint("posters", (128, 126, 122), contrast=contrast)
    sides: list[tuple[Point, Point, int]] = [
        ((-0.2, -0.2, -0.2), (x + 0.2, y + 0.2, 0.0), 1),
        ((-0.2, -0.2, z), (x + 0.2, y + 0.2, z + 0.2), 2),
        ((-0.2, -0.2, 0.0), (0.0, y + 0.2, z), 3),
        ((x, -0.2, 0.0), (x + 0.2, y + 0.2, z), 3),
        ((0.0, -0.2, 0.0), (x, 0.0, z), 3),
        ((0.0, y, 0.0), (x, y + 0.2, z), 3),
    ]
    return [Box(low, high, category, 0, paint) for low, high, category in sides]


def _obstacles(points: FloatArray, rng: np.random.Generator, contrast: float) -> list[Box]:
    """Seven boxes on the floor that keep off `points` (N, 2) and one another."""
    boxes: list[Box] = []
    while len(boxes) < 7:
        half, height = rng.uniform(0.25, 0.7, 2), rng.uniform(0.5, 2.0)
        middle = rng.uniform((1.0, 4.0), (11.0, 15.0))
        colour = tuple(int(c) for c in rng.integers(70, 190, 3))
        gap = np.maximum(np.abs(points - middle) - half, 0)
        apart = all(
            (np.abs(middle - np.add(b.low, b.high)[:2] / 2) > half + np.subtract(b.high, b.low)[:2] / 2 + 0.3).any()
            for b in boxes
        )
        if np.hypot(*gap.T).min() < KEPT_OFF_M or not apart or np.hypot(*(middle - points.mean(0))) > 5.0:
            continue
        low, high = middle - half, middle + half
        paint = Paint("posters", (colour[0], colour[1], colour[2]), contrast=contrast)
        boxes.append(Box((low[0], low[1], 0.0), (high[0], high[1], height), 4, len(boxes) + 1, paint))
    return boxes


def _mover(points: FloatArray, contrast: float) -> Box:
    """The box that moves, at the left end of its way."""
    x, y = _crossing(points)[0]
    paint = Paint("posters", (150, 96, 70), contrast=contrast)
    return Box((x - 0.35, y - 0.35, 0.0), (x + 0.35, y + 0.35, 0.9), 4, 8, paint)


def _crossing(points: FloatArray) -> FloatArray:
    """The way (20, 2) of the moving box: 2.6 m from left to right, 2.2 m ahead of the end of a path (N, 2)."""
    ahead = points[-1] - points[-2]
    ahead /= np.hypot(*ahead)
    right = np.array([ahead[1], -ahead[0]])
    way: FloatArray = points[-1] + 2.2 * ahead + np.linspace(-1.3, 1.3, 20)[:, None] * right
    return way


def _blurred(image: NDArray[np.uint8], sigma_px: float) -> NDArray[np.uint8]:
    import cv2

    return np.asarray(cv2.GaussianBlur(image, (0, 0), sigma_px), np.uint8)
