"""Clips of the test rooms, spoilt in the ways that videos of world models are; each with the truth about its path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import cv2
import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.core.video import Clip
from worldgauge.perception.decoders import DecodeRequest
from worldgauge.worlds.indoor.textured_rooms import RoomClip, TexturedRoom, room_clip, room_walk, with_noise

HFOV_DEG = 80.0
NOISE = 2.5
VERY_LOW = 0.05
LOW = 0.15
BLUR_PX = 2.5
WRONG_FOCAL = 0.8

CONDITIONS = (
    *(
        "clean",
        "warp 1 px",
        "warp 3 px",
        "warp 6 px",
        "blur",
        "low contrast",
        "very low contrast",
        "hard cut",
        "wrong focal",
    ),
    *("repeated textures", "repeated, low contrast", "repeated, very low contrast"),
)

Frames = NDArray[np.uint8]


@dataclass(frozen=True)
class Case:
    """A clip and what is true of it: poses (T, 4, 4) camera-to-world; beyond frame `valid` there is no truth."""

    condition: str
    request: DecodeRequest
    poses: FloatArray
    valid: int


def cases(walk: str, seed: int) -> Iterator[Case]:
    """Every condition once, on one walk through one room. Noise is added last, as a camera does."""
    yield from _spoilt(room_clip(walk, seed=seed, noise=0.0), walk, seed)
    repeated = room_clip(walk, seed=seed, noise=0.0, repeat=True)
    yield _case("repeated textures", repeated, seed)
    yield _case("repeated, low contrast", _dimmed(repeated, LOW), seed)
    yield _case("repeated, very low contrast", _dimmed(repeated, VERY_LOW), seed)


def _spoilt(clip: RoomClip, walk: str, seed: int) -> Iterator[Case]:
    rng = np.random.default_rng([seed, 0xDEC])
    yield _case("clean", clip, seed)
    # Only the generated frames are warped: the anchor is a real one.
    for sd_px in (1, 3, 6):
        yield _case(f"warp {sd_px} px", replace(clip, frames=warped(clip.frames, sd_px, rng)), seed)
    blurred = partial(cv2.GaussianBlur, ksize=(0, 0), sigmaX=BLUR_PX)
    frames = np.stack([np.asarray(blurred(frame), np.uint8) for frame in clip.frames])
    yield _case(
        "blur", replace(clip, frames=frames, history_frame=np.asarray(blurred(clip.history_frame), np.uint8)), seed
    )
    yield _case("low contrast", _dimmed(clip, LOW), seed)
    yield _case("very low contrast", _dimmed(clip, VERY_LOW), seed)
    cut = round(0.6 * len(clip.frames))
    other = TexturedRoom(walk, seed + 50)
    poses = room_walk(walk, len(clip.frames), seed + 50).poses[cut:]
    rest = np.stack([other.view(pose, clip.camera).rgb for pose in poses])
    yield _case("hard cut", replace(clip, frames=np.concatenate([clip.frames[:cut], rest])), seed, valid=cut)
    half_angle = np.arctan(np.tan(np.radians(HFOV_DEG / 2)) / (WRONG_FOCAL if seed % 2 else 2 - WRONG_FOCAL))
    yield _case("wrong focal", clip, seed, hfov_deg=float(np.degrees(2 * half_angle)))


def warped(frames: Frames, sd_px: float, rng: np.random.Generator) -> Frames:
    """Frames (T, H, W, 3) bent smoothly by `sd_px`, standard deviation of each coordinate, in space and time.

    Knots 64 pixels and 6 frames apart; cubic in space, linear in time.
    """
    count, height, width = frames.shape[:3]
    knots = rng.standard_normal((count // 6 + 2, height // 64 + 2, width // 64 + 2, 2)).astype(np.float32)
    fields = [cv2.resize(knot, (width, height), interpolation=cv2.INTER_CUBIC) for knot in knots]
    size = sd_px / np.std([field[::8, ::8] for field in fields])
    grid = np.stack(np.meshgrid(np.arange(width), np.arange(height)), -1).astype(np.float32)
    bent = np.empty_like(frames)
    for t, frame in enumerate(frames):
        first, share = divmod(t / 6, 1)
        # A mixture of two knots varies less than either.
        field = ((1 - share) * fields[int(first)] + share * fields[int(first) + 1]) / np.hypot(1 - share, share)
        at = (grid + size * field).astype(np.float32)
        bent[t] = cv2.remap(frame, at[..., 0], at[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    return bent


def _dimmed(clip: RoomClip, contrast: float) -> RoomClip:
    def dim(frames: Frames) -> Frames:
        return np.rint(128 + (frames.astype(np.float32) - 128) * contrast).astype(np.uint8)

    return replace(clip, frames=dim(clip.frames), history_frame=dim(clip.history_frame))


def _case(condition: str, clip: RoomClip, seed: int, *, hfov_deg: float = HFOV_DEG, valid: int | None = None) -> Case:
    rng = np.random.default_rng([seed, CONDITIONS.index(condition)])
    video = Clip.from_array(with_noise(clip.frames, NOISE, rng), clip.fps)
    anchor = with_noise(clip.history_frame[None], NOISE, rng)[0]
    request = DecodeRequest(video, anchor, clip.anchor_distance_m, hfov_deg)
    return Case(condition, request, clip.poses, len(clip.poses) if valid is None else valid)
