"""The figure: a walker with jacket and backpack, made of capsules, 1.8 m tall.

Body frame: origin between the feet on the ground, x ahead, y left, z up, metres.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from worldgauge.core.geometry import FloatArray

STRIDE_M = 1.5
"""Way of two steps along x; along other directions about as much."""
_SWING = 0.42
_THIGH_M, _SHANK_M, _HIP_M = 0.43, 0.42, 0.92
_ANKLE_M = 0.05

_SKIN, _HAIR = (214, 164, 132), (74, 48, 32)
_JACKET, _SLEEVE, _COLLAR = (38, 88, 120), (34, 79, 108), (226, 222, 210)
_PACK, _POCKET, _STRAP = (206, 92, 40), (180, 74, 32), (60, 44, 38)
_TROUSERS, _SHOE, _BELT = (58, 60, 74), (150, 112, 78), (36, 30, 28)


class Capsule(NamedTuple):
    """A stretched capsule: all points within the radii of a segment. A segment of no length gives an ellipsoid.

    Attributes:
        start: End of the segment in the body frame, metres.
        end: Other end.
        width: Radius across, along y as far as the segment allows, metres.
        colour: RGB in full light.
        flat: Depth over width.
        tall: Half height of an ellipsoid over width.
    """

    start: tuple[float, float, float]
    end: tuple[float, float, float]
    width: float
    colour: tuple[int, int, int]
    flat: float = 1.0
    tall: float = 1.0


def figure(phase: float) -> list[Capsule]:
    """The figure's parts at `phase` of its stride in radians; the lower foot is on the ground."""
    swing = _SWING * math.sin(phase)
    legs = [_leg(0.095, swing, math.cos(phase)), _leg(-0.095, -swing, -math.cos(phase))]
    sink = min(part.start[2] for leg in legs for part in leg if part.colour == _SHOE) - _ANKLE_M
    parts = [part for leg in legs for part in leg]
    parts += [*_TRUNK, *_arm(0.222, -0.8 * swing), *_arm(-0.222, 0.8 * swing)]
    return [part._replace(start=_lowered(part.start, sink), end=_lowered(part.end, sink)) for part in parts]


def phase_at(xy: FloatArray) -> float:
    """Phase of the stride of a walker at a place (2,): it runs on along x, and sweeps to and fro along y."""
    k = 2 * math.pi / STRIDE_M
    return k * float(xy[0]) + math.pi * math.sin(k / 2 * float(xy[1]))


def frames_of(parts: list[Capsule]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Where the parts are (P, 3), their unit axes times radii as columns (P, 3, 3), lengths in radii (P,)."""
    origins, axes, lengths = np.zeros((len(parts), 3)), np.zeros((len(parts), 3, 3)), np.zeros(len(parts))
    for n, part in enumerate(parts):
        along = np.subtract(part.end, part.start)
        length = float(np.linalg.norm(along))
        z = along / length if length > 0 else np.array([0.0, 0.0, 1.0])
        # A segment across the body takes its depth from x instead.
        x = np.array([1.0, 0.0, 0.0]) - z[0] * z
        x = x / np.linalg.norm(x) if np.linalg.norm(x) > 0.1 else np.array([0.0, 0.0, 1.0]) - z[2] * z
        axes[n] = np.stack([x, np.cross(z, x), z], -1) * part.width * np.array([part.flat, 1.0, part.tall])
        origins[n], lengths[n] = part.start, length / (part.width * part.tall)
    return origins, axes, lengths


def _leg(y: float, swing: float, lifting: float) -> list[Capsule]:
    """A leg: swing of the thigh in radians, ahead positive; lifting: 1 while it comes forward, -1 while it bears."""
    bend = 0.1 + 0.6 * max(0.0, lifting)
    hip = (0.0, y, _HIP_M)
    knee = _hung(hip, _THIGH_M, swing)
    ankle = _hung(knee, _SHANK_M, swing - bend)
    toe = (ankle[0] + 0.15 * math.cos(0.5 * (swing - bend)), y, ankle[2] + 0.15 * math.sin(0.5 * (swing - bend)))
    return [
        Capsule(hip, knee, 0.088, _TROUSERS),
        Capsule(knee, ankle, 0.062, _TROUSERS),
        Capsule(ankle, toe, _ANKLE_M, _SHOE),
        Capsule(toe, toe, _ANKLE_M, _SHOE),
    ]


def _arm(y: float, swing: float) -> list[Capsule]:
    shoulder = (0.0, y, 1.395)
    elbow = _hung((shoulder[0], y * 1.12, shoulder[2]), 0.27, swing)
    wrist = _hung((elbow[0], y * 1.12, elbow[2]), 0.23, swing + 0.35)
    hand = _hung(wrist, 0.07, swing + 0.35)
    return [
        Capsule(shoulder, elbow, 0.06, _SLEEVE),
        Capsule(elbow, wrist, 0.05, _SLEEVE),
        Capsule(wrist, hand, 0.04, _SKIN),
    ]


def _hung(point: tuple[float, float, float], length: float, angle: float) -> tuple[float, float, float]:
    return point[0] + length * math.sin(angle), point[1], point[2] - length * math.cos(angle)


def _lowered(point: tuple[float, float, float], by: float) -> tuple[float, float, float]:
    return point[0], point[1], point[2] - by


_TRUNK = (
    Capsule((0.0, 0.0, 0.9), (0.0, 0.0, 0.97), 0.165, _TROUSERS, flat=0.72, tall=0.4),
    Capsule((0.0, 0.0, 1.0), (0.0, 0.0, 1.02), 0.168, _BELT, flat=0.72, tall=0.15),
    Capsule((0.0, 0.0, 1.07), (0.0, 0.0, 1.36), 0.188, _JACKET, flat=0.62, tall=0.45),
    Capsule((0.0, -0.14, 1.395), (0.0, 0.14, 1.395), 0.085, _JACKET),
    Capsule((0.0, 0.0, 1.44), (0.0, 0.0, 1.48), 0.078, _COLLAR, tall=0.5),
    Capsule((0.0, 0.0, 1.45), (0.0, 0.0, 1.55), 0.055, _SKIN),
    Capsule((0.02, 0.0, 1.64), (0.02, 0.0, 1.64), 0.08, _SKIN, flat=1.2, tall=1.45),
    Capsule((0.0, 0.085, 1.625), (0.0, 0.085, 1.625), 0.018, _SKIN, tall=1.6),
    Capsule((0.0, -0.085, 1.625), (0.0, -0.085, 1.625), 0.018, _SKIN, tall=1.6),
    Capsule((-0.015, 0.0, 1.682), (-0.015, 0.0, 1.682), 0.092, _HAIR, flat=1.15, tall=1.2),
    Capsule((-0.045, 0.0, 1.60), (-0.045, 0.0, 1.60), 0.082, _HAIR, flat=0.8, tall=1.15),
    Capsule((-0.17, 0.0, 1.1), (-0.17, 0.0, 1.32), 0.13, _PACK, flat=0.62, tall=0.5),
    Capsule((-0.245, 0.0, 1.08), (-0.245, 0.0, 1.16), 0.09, _POCKET, flat=0.5, tall=0.4),
    Capsule((-0.13, 0.095, 1.33), (-0.02, 0.1, 1.475), 0.022, _STRAP),
    Capsule((-0.13, -0.095, 1.33), (-0.02, -0.1, 1.475), 0.022, _STRAP),
)
