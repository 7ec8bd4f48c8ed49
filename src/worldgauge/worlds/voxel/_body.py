"""The compiled half of `player`: one tick of a body, and a look ahead with the same rules.

A body is a row of ten numbers: x, y, z, velocity x, y, z (metres a tick), yaw, on ground, in water, ticks
until a held jump key jumps again. The block tables (`_collisions.Tables`) come in as arguments, and all compiled code
is in this file: what is kept between runs would not notice that they, or another file, have changed.

Compiled code here passes constants on as numpy scalars, since each Python constant would get a copy of the function
of its own, and copies arrays in loops, since `a[:] = b` also compiles the words of its error, with all of `str`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

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
CURRENT = 0.014
# A web lets through so much of a move, in the plane and in height, and takes all speed.
WEB_PLANAR = 0.25
WEB_HEIGHT = 0.05

# A body is in a web that its box, shrunk by this much, is in, and in water if it is with so much less in height.
_EDGE = 0.001
_LIQUID_MARGIN = 0.4
# Boxes closer than this touch but do not overlap: walls must not catch a body that rounding put inside them.
_TOUCH = 1e-7
_SNEAK_STEP = 0.05
# More than the cells that the fastest fall passes hold.
_MAX_BOXES = 384

# Bits of a state's traits. HAS_ARMS: a thin wall, with arms to the sides where a state that JOINS stands.
IS_SOLID, IS_LIQUID, IS_ICE, IS_WEB, HAS_ARMS, JOINS = 1, 2, 4, 8, 16, 32

_X, _Y, _Z = np.int64(0), np.int64(1), np.int64(2)
_RELEASED = np.bool_(False)


@njit(cache=True, nogil=True)
def joined(states, tables, i, j, k, side):  # type: ignore[no-untyped-def]
    """Tell whether a thin wall connects to its neighbour, by the rule of `worlds.minecraft.names`; not at the edge."""
    i += (1, 0, -1, 0)[side]
    j += (0, 1, 0, -1)[side]
    inside = 0 <= i < states.shape[0] and 0 <= j < states.shape[1]
    return inside and tables.traits[states[i, j, k]] & JOINS > 0


@njit(cache=True, nogil=True)
def _gather(states, tables, lo, hi, out):  # type: ignore[no-untyped-def]
    """Boxes of the cells that the box lo..hi touches (and those below it) into `out`; returns their number."""
    sx, sy, sz = states.shape
    n = 0
    for k in range(math.floor(lo[2]) - 1, math.floor(hi[2]) + 1):
        for j in range(math.floor(lo[1]), math.floor(hi[1]) + 1):
            for i in range(math.floor(lo[0]), math.floor(hi[0]) + 1):
                if n + tables.boxes.shape[1] > out.shape[0]:
                    return n
                if i < 0 or j < 0 or i >= sx or j >= sy or k < 0:
                    for axis in range(3):
                        out[n, axis] = (i, j, k)[axis]
                        out[n, axis + 3] = out[n, axis] + 1.0
                    n += 1
                elif k < sz:
                    state = states[i, j, k]
                    count = tables.counts[state]
                    arms = count > 0 and tables.traits[state] & HAS_ARMS > 0
                    for b in range(count):
                        if arms and b > 0 and not joined(states, tables, i, j, k, b - 1):
                            continue
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
def _copy(box, out):  # type: ignore[no-untyped-def]
    for side in range(6):
        out[side] = box[side]


@njit(cache=True, nogil=True)
def _shift(box, dx, dy, dz):  # type: ignore[no-untyped-def]
    move = (dx, dy, dz)
    for axis in range(3):
        box[axis] += move[axis]
        box[axis + 3] += move[axis]


@njit(cache=True, nogil=True)
def _push(box, found, n, axis, move):  # type: ignore[no-untyped-def]
    """Slide `box` along `axis` by `move`, or as far as it goes; returns how far that was."""
    gone = _slide(box, found, n, axis, move)
    box[axis] += gone
    box[axis + 3] += gone
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
def _cells(box):  # type: ignore[no-untyped-def]
    """First and last cell along x, y and z that `box` is in.
    The game gives a border to the cell in which its own coordinates go on, and they run against our y."""
    return (
        (math.floor(box[0]), math.floor(box[3])),
        (math.ceil(box[1]) - 1, math.ceil(box[4]) - 1),
        (math.floor(box[2]), math.floor(box[5])),
    )


@njit(cache=True, nogil=True)
def _flow(states, tables, i, j, k):  # type: ignore[no-untyped-def]
    """Direction (x, y) of length 1, or 0, in which the water of a cell flows: to that which lies under a ledge."""
    flow_x, flow_y = 0, 0
    for side in range(4):
        dx, dy = (1, 0, -1, 0)[side], (0, 1, 0, -1)[side]
        a, b = i + dx, j + dy
        if k == 0 or a < 0 or b < 0 or a >= states.shape[0] or b >= states.shape[1]:
            continue
        if tables.traits[states[a, b, k]] & IS_SOLID and tables.traits[states[a, b, k - 1]] & IS_LIQUID:
            flow_x += dx
            flow_y += dy
    length = max(math.sqrt(flow_x * flow_x + flow_y * flow_y), 1.0)
    return flow_x / length, flow_y / length


@njit(cache=True, nogil=True)
def _surroundings(states, tables, box, margin, push):  # type: ignore[no-untyped-def]
    """Whether a web is in the cells of `box`, and whether water is in those of `box` less `margin` above and below.
    push (2,) becomes the sum of the water's flows."""
    sx, sy, sz = states.shape
    webbed, wet = False, False
    push[:] = 0.0
    (i0, i1), (j0, j1), (k0, k1) = _cells(box)
    low, high = math.floor(box[2] + margin), math.floor(box[5] - margin)
    for i in range(max(i0, 0), min(i1 + 1, sx)):
        for j in range(max(j0, 0), min(j1 + 1, sy)):
            for k in range(max(k0, 0), min(k1 + 1, sz)):
                traits = tables.traits[states[i, j, k]]
                if traits & IS_WEB:
                    webbed = True
                elif traits & IS_LIQUID and low <= k <= high:
                    wet = True
                    flow_x, flow_y = _flow(states, tables, i, j, k)
                    push[0] += flow_x
                    push[1] += flow_y
    return webbed, wet


@njit(cache=True, nogil=True)
def _holds(states, tables, box):  # type: ignore[no-untyped-def]
    """Whether a sneaking body may go where `box` is: anything that stops bodies is in its cells or those below."""
    sx, sy, sz = states.shape
    (i0, i1), (j0, j1), (k0, k1) = _cells(box)
    if i0 < 0 or j0 < 0 or k0 < 1 or i1 >= sx or j1 >= sy:
        return True
    for k in range(k0 - 1, min(k1 + 1, sz)):
        for j in range(j0, j1 + 1):
            for i in range(i0, i1 + 1):
                if tables.traits[states[i, j, k]] & IS_SOLID:
                    return True
    return False


@njit(cache=True, nogil=True)
def _hold_edge(states, tables, box, dx, dy):  # type: ignore[no-untyped-def]
    """A sneaking body's planar move, shortened until there is still something next to or under it."""
    probe = np.empty(6)
    for turn in range(3):
        while (turn != 1 and dx != 0.0) or (turn != 0 and dy != 0.0):
            if turn == 2 and (dx == 0.0 or dy == 0.0):
                break
            _copy(box, probe)
            _shift(probe, dx if turn != 1 else 0.0, dy if turn != 0 else 0.0, 0.0)
            if _holds(states, tables, probe):
                break
            if turn != 1:
                dx = 0.0 if abs(dx) < _SNEAK_STEP else dx - math.copysign(_SNEAK_STEP, dx)
            if turn != 0:
                dy = 0.0 if abs(dy) < _SNEAK_STEP else dy - math.copysign(_SNEAK_STEP, dy)
    return dx, dy


@njit(cache=True, nogil=True)
def _step(found, n, start, rise, vx, vy, box):  # type: ignore[no-untyped-def]
    """`box` becomes `start`, raised by `rise`, then moved in the plane as far as it goes; returns the planar move."""
    _copy(start, box)
    _shift(box, 0.0, 0.0, rise)
    gone_x = _push(box, found, n, _X, vx)
    return gone_x, _push(box, found, n, _Y, vy)


@njit(cache=True, nogil=True)
def _step_up(states, tables, found, lo, hi, start, wide, vx, vy, box):  # type: ignore[no-untyped-def]
    """`box` becomes `start` after a move from a step higher; returns the move, its height that of the fall at the end.
    wide: `start` and where the level move led it. The step goes as high as there is room over `wide`, or if that leads
    less far, over `start`."""
    _swept(start, vx, vy, STEP_HEIGHT_M, lo, hi)
    n = _gather(states, tables, lo, hi, found)
    rise = _slide(start, found, n, _Z, STEP_HEIGHT_M)
    dx, dy = _step(found, n, start, rise, vx, vy, box)
    wide_rise = _slide(wide, found, n, _Z, STEP_HEIGHT_M)
    if wide_rise != rise:
        other = np.empty(6)
        wide_dx, wide_dy = _step(found, n, start, wide_rise, vx, vy, other)
        if wide_dx * wide_dx + wide_dy * wide_dy > dx * dx + dy * dy:
            _copy(other, box)
            rise, dx, dy = wide_rise, wide_dx, wide_dy
    return dx, dy, _push(box, found, n, _Z, -rise)


@njit(cache=True, nogil=True)
def _move(states, tables, body, sneak, webbed):  # type: ignore[no-untyped-def]
    """Move by the velocity with collisions; sets on_ground, stops blocked velocities; whether a wall was hit."""
    found = np.empty((_MAX_BOXES, 6))
    lo, hi, start, box = np.empty(3), np.empty(3), np.empty(6), np.empty(6)
    _body_box(body, start)
    vx, vy, vz = body[3], body[4], body[5]
    if webbed:
        vx, vy, vz = vx * WEB_PLANAR, vy * WEB_PLANAR, vz * WEB_HEIGHT
        body[3:6] = 0.0
    if sneak and body[7] > 0:
        vx, vy = _hold_edge(states, tables, start, vx, vy)

    _swept(start, vx, vy, vz, lo, hi)
    n = _gather(states, tables, lo, hi, found)
    _copy(start, box)
    dz = _push(box, found, n, _Z, vz)
    dx = _push(box, found, n, _X, vx)
    dy = _push(box, found, n, _Y, vy)

    grounded = body[7] > 0 or (dz != vz and vz < 0.0)
    if grounded and (dx != vx or dy != vy):
        # Try again from a step higher and keep that if it leads farther.
        high, wide = np.empty(6), np.empty(6)
        _swept(start, dx, dy, 0.0, wide[:3], wide[3:])
        step_x, step_y, step_z = _step_up(states, tables, found, lo, hi, start, wide, vx, vy, high)
        if step_x * step_x + step_y * step_y > dx * dx + dy * dy:
            box, dx, dy, dz = high, step_x, step_y, step_z

    # The middle of y from its high side: the game's low one.
    body[0], body[1], body[2] = box[0] + HALF_WIDTH_M, box[4] - HALF_WIDTH_M, box[2]
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
    """Move a body by one tick, in place. `states`: cells (X, Y, Z). `body`: (10,) float64."""
    box, flow = np.empty(6), np.empty(2)
    _body_box(body, box)
    for axis in range(3):
        box[axis] += _EDGE
        box[axis + 3] -= _EDGE
    webbed, in_water = _surroundings(states, tables, box, _LIQUID_MARGIN, flow)
    flowing = math.sqrt(flow[0] * flow[0] + flow[1] * flow[1])
    if flowing > 0.0:
        body[3] += flow[0] / flowing * CURRENT
        body[4] += flow[1] / flowing * CURRENT
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
        if inside and tables.traits[states[i, j, k]] & IS_ICE:
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
    hit_wall = _move(states, tables, body, sneak, webbed)
    body[3] *= friction
    body[4] *= friction
    if in_water:
        body[5] = body[5] * LIQUID_DRAG - LIQUID_GRAVITY
        if hit_wall:
            _body_box(body, box)
            _shift(box, body[3], body[4], body[5] + STEP_HEIGHT_M - body[2] + before)
            if not _surroundings(states, tables, box, 0.0, flow)[1] and not _overlaps(
                states, tables, box, np.empty((_MAX_BOXES, 6)), np.empty(3), np.empty(3)
            ):
                body[5] = LEAVE_LIQUID
    else:
        body[5] = (body[5] - GRAVITY) * DRAG


@njit(cache=True, nogil=True)
def tick_all(states, tables, bodies, ahead, aside, jump, sprint, sneak):  # type: ignore[no-untyped-def]
    """`tick` of every row of bodies (N, 10), with keys (N,)."""
    for n in range(len(bodies)):
        tick(states, tables, bodies[n], ahead[n], aside[n], jump[n], sprint[n], sneak[n])


@njit(cache=True, nogil=True)
def reached(body, target, planar, height):  # type: ignore[no-untyped-def]
    """Tell whether the feet are at a target, to `planar` metres along x and along y and less than `height` along z."""
    return (
        abs(target[0] - body[0]) <= planar and abs(target[1] - body[1]) <= planar and abs(target[2] - body[2]) < height
    )


@njit(cache=True, nogil=True)
def would_reach(states, tables, body, target, planar, height, jump_after, ticks):  # type: ignore[no-untyped-def]
    """Tell whether a body (10,) that walks straight at a target gets there in `ticks`, jump from `jump_after` on."""
    ghost = body.copy()
    x, y, z = np.inf, np.inf, np.inf
    for now in range(ticks):
        ghost[6] = math.atan2(target[1] - ghost[1], target[0] - ghost[0])
        tick(states, tables, ghost, 1.0, 0.0, now >= jump_after, _RELEASED, _RELEASED)
        if reached(ghost, target, planar, height):
            return True
        if ghost[0] == x and ghost[1] == y and ghost[2] == z and now < jump_after:
            return False  # at a wall
        x, y, z = ghost[0], ghost[1], ghost[2]
    return False
