"""The compiled half of `player`: one tick of a body, and a look ahead with the same rules.

A body is a row of ten numbers: x, y, z, velocity x, y, z (metres a tick), yaw, on ground, in water, ticks
until a held jump key jumps again. The block tables come in as arguments: compiled code that is kept between
runs would not notice that they have changed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.geometry import FloatArray
from worldgauge.worlds.voxel.blocks import LIQUID, SHAPE_OF, SHAPES, SOLID, Box, block, boxes_of

HALF_WIDTH_M = 0.3
HEIGHT_M = 1.8
STEP_HEIGHT_M = 0.6
GRAVITY = 0.08
DRAG = float(np.float32(0.98))
JUMP_SPEED = float(np.float32(0.42))
JUMP_COOLDOWN_TICKS = 10
SLIPPERINESS = 0.6
ICE_SLIPPERINESS = 0.98
AIR_FRICTION = 0.91
WALK_SPEED = 0.1
# 0.6^3 x 0.91^3 as the game rounds it: ground pushes are scaled so that slipperiness 0.6 gives WALK_SPEED.
GROUND_PUSH = 0.1627714
AIR_PUSH = 0.02
INPUT = 0.98
SPRINT = 1.3
SPRINT_JUMP = 0.2
SNEAK = 0.3
LIQUID_PUSH = 0.02
LIQUID_DRAG = 0.8
LIQUID_GRAVITY = GRAVITY / 16
SWIM_UP = 0.04
LEAVE_LIQUID = 0.3
STILL = 0.003

# The body's box shrunk by this much must touch a liquid for the body to be in it.
_LIQUID_MARGIN = 0.401
# Boxes closer than this touch but do not overlap: walls must not catch a body that rounding put inside them.
_TOUCH = 1e-7
_SNEAK_STEP = 0.05


class Tables(NamedTuple):
    """What a body needs to know of every state.

    boxes: (S, 2, 6) collision boxes, x0 y0 z0 x1 y1 z1 in the cell; counts: (S,) how many of them count.
    liquid, ice: (S,) bool.
    """

    boxes: FloatArray
    counts: NDArray[np.int64]
    liquid: NDArray[np.bool_]
    ice: NDArray[np.bool_]


def _boxes() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Collision boxes of every state, (S, 2, 6) as x0 y0 z0 x1 y1 z1, and how many of them count, (S,)."""
    boxes = np.zeros((len(SHAPE_OF), 2, 6))
    counts = np.zeros(len(SHAPE_OF), np.int64)
    for state in np.flatnonzero(SOLID).tolist():
        # A body collides with what is drawn, but with a pane as with a full cell: which of its arms are there
        # depends on the cells beside it, and this table knows one cell.
        pane = SHAPES[SHAPE_OF[state]] == "pane"
        own: list[Box] = [(0, 0, 0, 1, 1, 1)] if pane else boxes_of(state)
        counts[state] = len(own)
        boxes[state, : len(own)] = own
    return boxes, counts


TABLES = Tables(*_boxes(), LIQUID, np.array([state == block("ice") for state in range(len(SHAPE_OF))]))
_MAX_BOXES = 128


@njit(cache=True, nogil=True)
def _gather(states, tables, lo, hi, out):  # type: ignore[no-untyped-def]
    """Boxes of the cells that the box lo..hi touches (and those below it) into `out`; returns their number."""
    sx, sy, sz = states.shape
    n = 0
    for k in range(math.floor(lo[2]) - 1, math.floor(hi[2]) + 1):
        for j in range(math.floor(lo[1]), math.floor(hi[1]) + 1):
            for i in range(math.floor(lo[0]), math.floor(hi[0]) + 1):
                if n + 2 > out.shape[0]:
                    return n
                if i < 0 or j < 0 or i >= sx or j >= sy or k < 0:
                    out[n] = (i, j, k, i + 1, j + 1, k + 1)
                    n += 1
                elif k < sz:
                    state = states[i, j, k]
                    for b in range(tables.counts[state]):
                        for axis in range(6):
                            out[n, axis] = tables.boxes[state, b, axis] + (i, j, k)[axis % 3]
                        n += 1
    return n


@njit(cache=True, nogil=True)
def _slide(box, found, n, axis, move):  # type: ignore[no-untyped-def]
    """How far `box` can go along `axis`, at most `move`, before it touches one of the first n boxes of `found`."""
    a, b = (axis + 1) % 3, (axis + 2) % 3
    for index in range(n):
        other = found[index]
        if (
            other[a + 3] > box[a] + _TOUCH
            and other[a] < box[a + 3] - _TOUCH
            and other[b + 3] > box[b] + _TOUCH
            and other[b] < box[b + 3] - _TOUCH
        ):
            if move > 0.0 and other[axis] >= box[axis + 3] - _TOUCH:
                move = min(move, max(other[axis] - box[axis + 3], 0.0))
            elif move < 0.0 and other[axis + 3] <= box[axis] + _TOUCH:
                move = max(move, min(other[axis + 3] - box[axis], 0.0))
    return move


@njit(cache=True, nogil=True)
def _shift(box, axis, move):  # type: ignore[no-untyped-def]
    box[axis] += move
    box[axis + 3] += move


@njit(cache=True, nogil=True)
def _push(box, found, n, axis, move):  # type: ignore[no-untyped-def]
    """Slide `box` along `axis` by `move`, or as far as it goes; returns how far that was."""
    gone = _slide(box, found, n, axis, move)
    _shift(box, axis, gone)
    return gone


@njit(cache=True, nogil=True)
def _body_box(body, box):  # type: ignore[no-untyped-def]
    for axis in range(2):
        box[axis] = body[axis] - HALF_WIDTH_M
        box[axis + 3] = body[axis] + HALF_WIDTH_M
    box[2] = body[2]
    box[5] = body[2] + HEIGHT_M


@njit(cache=True, nogil=True)
def _swept(box, dx, dy, dz, lo, hi):  # type: ignore[no-untyped-def]
    move = (dx, dy, dz)
    for axis in range(3):
        lo[axis] = box[axis] + min(move[axis], 0.0)
        hi[axis] = box[axis + 3] + max(move[axis], 0.0)


@njit(cache=True, nogil=True)
def _overlaps(states, tables, box, found, lo, hi):  # type: ignore[no-untyped-def]
    """Whether any block's box overlaps `box`."""
    _swept(box, 0.0, 0.0, 0.0, lo, hi)
    n = _gather(states, tables, lo, hi, found)
    for index in range(n):
        inside = True
        for axis in range(3):
            if found[index, axis + 3] <= box[axis] + _TOUCH or found[index, axis] >= box[axis + 3] - _TOUCH:
                inside = False
        if inside:
            return True
    return False


@njit(cache=True, nogil=True)
def _touches_liquid(states, tables, box):  # type: ignore[no-untyped-def]
    sx, sy, sz = states.shape
    for i in range(max(math.floor(box[0]), 0), min(math.floor(box[3]) + 1, sx)):
        for j in range(max(math.floor(box[1]), 0), min(math.floor(box[4]) + 1, sy)):
            for k in range(max(math.floor(box[2]), 0), min(math.floor(box[5]) + 1, sz)):
                if tables.liquid[states[i, j, k]]:
                    return True
    return False


@njit(cache=True, nogil=True)
def _hold_edge(states, tables, box, dx, dy, found, lo, hi):  # type: ignore[no-untyped-def]
    """A sneaking body's planar move, shortened until there is still ground under it."""
    probe = np.empty(6)
    for turn in range(3):
        while (turn != 1 and dx != 0.0) or (turn != 0 and dy != 0.0):
            if turn == 2 and (dx == 0.0 or dy == 0.0):
                break
            probe[:] = box
            _shift(probe, 0, dx if turn != 1 else 0.0)
            _shift(probe, 1, dy if turn != 0 else 0.0)
            _shift(probe, 2, -STEP_HEIGHT_M)
            if _overlaps(states, tables, probe, found, lo, hi):
                break
            if turn != 1:
                dx = 0.0 if abs(dx) <= _SNEAK_STEP else dx - math.copysign(_SNEAK_STEP, dx)
            if turn != 0:
                dy = 0.0 if abs(dy) <= _SNEAK_STEP else dy - math.copysign(_SNEAK_STEP, dy)
    return dx, dy


@njit(cache=True, nogil=True)
def _move(states, tables, body, sneak):  # type: ignore[no-untyped-def]
    """Move by the velocity with collisions; sets on_ground, stops blocked velocities; whether a wall was hit."""
    found = np.empty((_MAX_BOXES, 6))
    lo, hi, start = np.empty(3), np.empty(3), np.empty(6)
    _body_box(body, start)
    vx, vy, vz = body[3], body[4], body[5]
    if sneak and body[7] > 0:
        vx, vy = _hold_edge(states, tables, start, vx, vy, found, lo, hi)

    _swept(start, vx, vy, vz, lo, hi)
    n = _gather(states, tables, lo, hi, found)
    box = start.copy()
    dz = _push(box, found, n, 2, vz)
    dx = _push(box, found, n, 0, vx)
    dy = _push(box, found, n, 1, vy)

    grounded = body[7] > 0 or (dz != vz and vz < 0.0)
    if grounded and (dx != vx or dy != vy):
        # Try again from a step higher and keep that if it leads farther.
        _swept(start, vx, vy, STEP_HEIGHT_M, lo, hi)
        n = _gather(states, tables, lo, hi, found)
        high = start.copy()
        rise = _push(high, found, n, 2, STEP_HEIGHT_M)
        step_x = _push(high, found, n, 0, vx)
        step_y = _push(high, found, n, 1, vy)
        fall = _push(high, found, n, 2, -rise)
        if step_x * step_x + step_y * step_y > dx * dx + dy * dy:
            box, dx, dy, dz = high, step_x, step_y, rise + fall

    body[0], body[1], body[2] = box[0] + HALF_WIDTH_M, box[1] + HALF_WIDTH_M, box[2]
    body[7] = 1.0 if dz != vz and vz < 0.0 else 0.0
    if dx != vx:
        body[3] = 0.0
    if dy != vy:
        body[4] = 0.0
    if dz != vz:
        body[5] = 0.0
    return dx != vx or dy != vy


@njit(cache=True, nogil=True)
def tick(states, tables, body, ahead, aside, jump, sprint, sneak):  # type: ignore[no-untyped-def]
    """One tick of `body` (10,), in place. ahead, aside: -1, 0, 1 along the heading and to its left."""
    box = np.empty(6)
    _body_box(body, box)
    box[2] += _LIQUID_MARGIN
    box[5] -= _LIQUID_MARGIN
    in_water = _touches_liquid(states, tables, box)
    body[8] = 1.0 if in_water else 0.0
    cos, sin = math.cos(body[6]), math.sin(body[6])

    for axis in range(3, 6):
        if abs(body[axis]) < STILL:
            body[axis] = 0.0
    if jump:
        if body[9] > 0:
            body[9] -= 1.0
        if in_water:
            body[5] += SWIM_UP
        elif body[7] > 0 and body[9] == 0:
            body[5] = JUMP_SPEED
            if sprint:
                body[3] += SPRINT_JUMP * cos
                body[4] += SPRINT_JUMP * sin
            body[9] = JUMP_COOLDOWN_TICKS
    else:
        body[9] = 0.0

    if in_water:
        push, friction = LIQUID_PUSH, LIQUID_DRAG
    elif body[7] > 0:
        i, j, k = math.floor(body[0]), math.floor(body[1]), math.floor(body[2]) - 1
        slippery = SLIPPERINESS
        inside = 0 <= i < states.shape[0] and 0 <= j < states.shape[1] and 0 <= k < states.shape[2]
        if inside and tables.ice[states[i, j, k]]:
            slippery = ICE_SLIPPERINESS
        friction = slippery * AIR_FRICTION
        push = WALK_SPEED * (SPRINT if sprint else 1.0) * GROUND_PUSH / friction**3
    else:
        push, friction = AIR_PUSH * (SPRINT if sprint else 1.0), AIR_FRICTION

    gain = INPUT * (SNEAK if sneak else 1.0)
    ahead, aside = ahead * gain, aside * gain
    length = math.sqrt(ahead * ahead + aside * aside)
    if length >= 0.01:
        push /= max(length, 1.0)
        body[3] += push * (ahead * cos - aside * sin)
        body[4] += push * (ahead * sin + aside * cos)

    before = body[2]
    hit_wall = _move(states, tables, body, sneak)
    if in_water:
        body[5] = body[5] * LIQUID_DRAG - LIQUID_GRAVITY
        if hit_wall:
            _body_box(body, box)
            _shift(box, 0, body[3])
            _shift(box, 1, body[4])
            _shift(box, 2, body[5] + STEP_HEIGHT_M - body[2] + before)
            if not _touches_liquid(states, tables, box) and not _overlaps(
                states, tables, box, np.empty((_MAX_BOXES, 6)), np.empty(3), np.empty(3)
            ):
                body[5] = LEAVE_LIQUID
    else:
        body[5] = (body[5] - GRAVITY) * DRAG
    body[3] *= friction
    body[4] *= friction


@njit(cache=True, nogil=True)
def reached(body, target, planar, height):  # type: ignore[no-untyped-def]
    """Whether the feet are within `planar` metres of `target` along x and along y, and less than `height` off it."""
    return (
        abs(target[0] - body[0]) <= planar and abs(target[1] - body[1]) <= planar and abs(target[2] - body[2]) < height
    )


@njit(cache=True, nogil=True)
def would_reach(states, tables, body, target, planar, height, jump_after, ticks):  # type: ignore[no-untyped-def]
    """Whether a body that walks at `target`, holding jump from tick `jump_after` on, reaches it within `ticks`."""
    ghost = body.copy()
    x, y, z = np.inf, np.inf, np.inf
    for now in range(ticks):
        ghost[6] = math.atan2(target[1] - ghost[1], target[0] - ghost[0])
        tick(states, tables, ghost, 1.0, 0.0, now >= jump_after, False, False)
        if reached(ghost, target, planar, height):
            return True
        if ghost[0] == x and ghost[1] == y and ghost[2] == z and now < jump_after:
            return False  # at a wall
        x, y, z = ghost[0], ghost[1], ghost[2]
    return False
