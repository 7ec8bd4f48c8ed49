"""A world from a kind and a seed."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from worldgauge.core.errors import WorldError
from worldgauge.worlds.voxel import families
from worldgauge.worlds.voxel.blocks import AIR, GROUND, block
from worldgauge.worlds.voxel.buildings import DESIGNS
from worldgauge.worlds.voxel.parts import BuildingSite, Cell, Design, awning, band, hip_roof, one, post
from worldgauge.worlds.voxel.styles import BIOMES, Biome, Palette
from worldgauge.worlds.voxel.terrain import (
    BoolArray,
    Canvas,
    PlotFrame,
    Terrain,
    flowerbed,
    grow,
    make_terrain,
    place_boulders,
    plant_flowers,
    plant_trees,
    sow_herbs,
    value_noise,
)
from worldgauge.worlds.voxel.world import FAMILIES, KINDS, VoxelWorld

# Where everything of a settlement goes: streets from the square, plots along them, landmarks beyond.

# What stands between the houses: farms, pens, the well, stalls' square, and landmarks of the countryside.


def draw_farm(site: BuildingSite) -> Cell:
    """Rows of crops along a channel, edged with beams."""
    f, p, r = site.frame, site.palette, site.body
    band(f, r, 0, p.beam)
    inner = r.grown(-1)
    f.box(inner.u, inner.v, one(0), "farmland")
    channel = inner.middle[0]
    f.box(one(channel), inner.v, one(0), "water")
    f.box(one(channel), inner.v, one(-1), "clay")
    first = int(site.rng.integers(4))
    for n, u in enumerate(u for u in inner.u if u != channel):
        crop = (*site.biome.crops, "wheat", "melon")[(first + n // 2) % 4]
        for v in inner.v:
            if site.rng.random() < (0.25 if crop == "melon" else 0.55 if site.biome.ruined else 0.93):
                f.put(u, v, 1, crop)
    if site.rng.integers(2):
        for u, v in r.border:
            if v != r.v0:
                f.put(u, v, 1, p.fence)
    scarecrow = (r.u0 + 1, r.v1)
    post(f, *scarecrow, range(1, 3), p.fence)
    f.put(*scarecrow, 3, "pumpkin")
    return r.middle[0], r.v0


def draw_pen(site: BuildingSite) -> Cell:
    """A fenced yard with a trough, hay and a small shelter."""
    f, p, r = site.frame, site.palette, site.body
    band(f, r, 1, p.fence)
    middle = r.middle[0]
    f.put(middle, r.v0, 1, "air")
    for u, v in r.corners:
        f.put(u, v, 1, p.beam)
    f.box(range(r.u0 + 1, r.u0 + 3), one(r.v1 - 1), one(1), "hay_bale")
    f.put(r.u0 + 1, r.v1 - 1, 2, "hay_bale")
    f.box(range(r.u1 - 3, r.u1), one(r.v1 - 3), range(1, 3), "air")
    for u, v in ((r.u1 - 3, r.v1 - 3), (r.u1 - 1, r.v1 - 3), (r.u1 - 3, r.v1 - 1), (r.u1 - 1, r.v1 - 1)):
        post(f, u, v, range(1, 3), p.fence)
    f.box(range(r.u1 - 4, r.u1 + 1), range(r.v1 - 4, r.v1 + 1), one(3), p.roof_slab)
    f.put(middle, r.middle[1], 1, "barrel")
    return middle, r.v0


def draw_well(site: BuildingSite) -> Cell:
    """A square shaft of water under a small roof, for the middle of the settlement."""
    f, p, r = site.frame, site.palette, site.body
    band(f, r, 0, p.plinth)
    band(f, r, 1, p.plinth)
    inner = r.grown(-1)
    f.box(inner.u, inner.v, range(-3, 1), "water")
    f.box(inner.u, inner.v, one(1), "air")
    for u, v in r.corners:
        post(f, u, v, range(2, 4), p.fence)
    hip_roof(f, inner.grown(1), 4, p, snowy=site.biome.snowy)
    if not site.biome.ruined:
        f.put(*inner.middle, 3, "lantern_post")
    return r.middle[0], r.v0


def draw_ruin(site: BuildingSite) -> Cell:
    """A broken arch and the stumps of a wall."""
    f, r = site.frame, site.body
    stone = ("mossy_cobblestone", "cobblestone", site.palette.plinth)
    for u, v in r.border:
        height = int(site.rng.integers(0, 4))
        for w in range(1, height + 1):
            f.put(u, v, w, stone[int(site.rng.integers(3))])
    middle = r.middle[0]
    for u in (middle - 2, middle + 2):
        for w in range(1, 7):
            f.put(u, r.v0, w, stone[int(site.rng.integers(3))])
    f.box(range(middle - 2, middle + 3), one(r.v0), one(6), site.palette.plinth)
    f.box(range(middle - 1, middle + 2), range(r.v0, r.v0 + 2), range(1, 5), "air")
    return middle, r.v0


def draw_stones(site: BuildingSite) -> Cell:
    """A ring of standing stones around an altar."""
    f, r = site.frame, site.body
    for n, (u, v) in enumerate(((2, 0), (6, 0), (8, 2), (8, 6), (6, 8), (2, 8), (0, 6), (0, 2))):
        f.box(one(r.u0 + u), one(r.v0 + v), range(1, 4 + (n * 5 + f.x) % 3), ("stone", "granite")[n % 2])
    f.box(range(r.u0 + 3, r.u0 + 6), range(r.v0 + 3, r.v0 + 6), one(1), "cobblestone_slab")
    f.put(r.u0 + 4, r.v0 + 4, 1, "mossy_cobblestone")
    return r.u0 + 4, r.v0


def draw_camp(site: BuildingSite) -> Cell:
    """Two small tents by a fire."""
    f, p, r = site.frame, site.palette, site.body
    for left, cloth in ((r.u0, p.cloth), (r.u1 - 3, "white_plaster")):
        for v in range(r.v1 - 4, r.v1 + 1):
            for step in range(2):
                f.put(left + step, v, step + 1, cloth)
                f.put(left + 3 - step, v, step + 1, cloth)
            f.box(range(left + 1, left + 3), one(v), one(3), p.roof_slab)
    middle = r.middle[0]
    f.box(range(middle - 1, middle + 2), range(r.v0 + 1, r.v0 + 4), one(0), "gravel")
    f.put(middle, r.v0 + 2, 1, "barrel" if site.biome.ruined else "torch")
    for u in (middle - 2, middle + 2):
        f.put(u, r.v0 + 2, 1, p.beam)
    return middle, r.v0


def draw_pavilion(site: BuildingSite) -> Cell:
    """A raised floor under a roof on posts, with benches."""
    f, p, r = site.frame, site.palette, site.body
    f.box(r.u, r.v, one(0), p.floor)
    for u, v in r.corners:
        post(f, u, v, range(1, 5), p.beam)
    for u in range(r.u0 + 1, r.u1):
        f.put(u, r.v1, 1, p.fence)
    awning(f, range(r.u0 + 1, r.u1), r.v0, 4, p.cloth)
    hip_roof(f, r, 5, p, snowy=site.biome.snowy)
    f.box(r.u, one(r.v0), one(5), p.roof_cube)
    for v in range(r.v0 + 1, r.v1):
        f.put(r.u0, v, 1, p.roof_stairs, "left")
        f.put(r.u1, v, 1, p.roof_stairs, "right")
    return r.middle[0], r.v0


GROUNDS: dict[str, Design] = {
    "farm": Design((9, 11), (7, 11), draw_farm),
    "pen": Design((9, 11), (8, 9), draw_pen),
    "well": Design((4, 4), (4, 4), draw_well),
    "pavilion": Design((7, 7), (6, 6), draw_pavilion),
    "ruin": Design((9, 11), (8, 10), draw_ruin),
    "stones": Design((9, 9), (9, 9), draw_stones),
    "camp": Design((10, 12), (9, 9), draw_camp),
}

# How an abandoned house falls apart: holes, moss, rot and cobwebs.

_TALLEST = 24
_BECOMES = {
    "oak_planks": ("rotten_planks", 0.5),
    "spruce_planks": ("rotten_planks", 0.5),
    "cobblestone": ("mossy_cobblestone", 0.6),
    "stone_bricks": ("mossy_cobblestone", 0.3),
    "bricks": ("mossy_cobblestone", 0.25),
    "white_plaster": ("rotten_planks", 0.2),
    "glass_pane": ("air", 0.65),
    "torch": ("air", 1.0),
    "lantern_post": ("air", 1.0),
    "white_carpet": ("air", 0.7),
    "bookshelf": ("cobweb", 0.5),
    "hay_bale": ("air", 0.4),
}


def decay(rng: np.random.Generator, canvas: Canvas, area: tuple[slice, slice], z: int, instance: int) -> None:
    """Let a building fall into ruin; what nothing supports falls."""
    where = (*area, slice(z, min(z + _TALLEST, canvas.states.shape[2])))
    states, owner = canvas.states[where], canvas.instances[where]
    mine = (owner == instance) & (states != AIR)
    hole = _blobs(rng, mine.shape) > 0.74
    hole |= rng.random(mine.shape) < 0.03
    hole[..., :2] = False
    states[mine & hole] = AIR
    for old, (new, share) in _BECOMES.items():
        states[mine & (states == block(old)) & (rng.random(mine.shape) < share)] = block(new)
    mine &= states != AIR
    inside = _between(mine) & (states == AIR)
    states[inside & (rng.random(mine.shape) < 0.03)] = block("cobweb")
    mine |= inside & (states == block("cobweb"))
    held = _held(mine)
    states[mine & ~held] = AIR
    owner[held] = instance
    owner[mine & ~held] = 0
    owner[(states == AIR)] = 0


def _blobs(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Random values in lumps of three cells, (X, Y, Z)."""
    coarse = rng.random(tuple(n // 3 + 1 for n in shape))
    for axis in range(3):
        coarse = np.repeat(coarse, 3, axis)
    return coarse[: shape[0], : shape[1], : shape[2]] * 0.8 + 0.2 * rng.random(shape)


def _between(mine: BoolArray) -> BoolArray:
    """Cells with parts of the building on both sides along x and along y."""
    inside = np.ones_like(mine)
    for axis in (0, 1):
        before = np.maximum.accumulate(mine, axis)
        after = np.flip(np.maximum.accumulate(np.flip(mine, axis), axis), axis)
        inside &= before & after
    return inside


def _held(mine: BoolArray) -> BoolArray:
    """Cells joined to the ground, cell by cell through faces."""
    held = np.zeros_like(mine)
    held[..., 0] = mine[..., 0]
    held[..., 1] = mine[..., 1]
    count = -1
    while count != int(held.sum()):
        count = int(held.sum())
        wide = np.pad(held, 1)
        near = wide[1:-1, 1:-1, 1:-1].copy()
        for axis in range(3):
            for shift in (-1, 1):
                near |= np.roll(wide, shift, axis)[1:-1, 1:-1, 1:-1]
        held = near & mine
    return held


HOUSES = (10, 14)
"""Fewest and most buildings besides the special ones and the stalls."""

_AXES = ((1, 0), (0, 1), (-1, 0), (0, -1))
_TURN_OF_FRONT = {(0, -1): 0, (1, 0): 1, (0, 1): 2, (-1, 0): 3}
_SQUARE = 7
_SETBACK = 3
_BLOCK = 15
"""Least metres between two parallel side streets: one row of houses."""

_MARGIN = 8
_ALL = DESIGNS | GROUNDS
_SPARED = ("farm", "ruin", "stones")
_LANDMARKS = (
    *("watchtower", "ruin", "cottage", "stones", "camp", "farm"),
    *("ruin", "camp", "cottage", "stones", "ruin", "pen"),
)


@dataclass(frozen=True)
class Plot:
    """A rectangle of ground for one design; see `PlotFrame` for its axes."""

    design: str
    x: int
    y: int
    width: int
    depth: int
    turn: int

    @property
    def area(self) -> tuple[slice, slice]:
        """Its cells in world x and y."""
        along_x, along_y = (self.width, self.depth) if self.turn % 2 == 0 else (self.depth, self.width)
        return slice(self.x, self.x + along_x), slice(self.y, self.y + along_y)


@dataclass(frozen=True)
class Slot:
    """A cell in the middle of a street, and the side on which a plot may lie."""

    x: int
    y: int
    side: tuple[int, int]


@dataclass
class SettlementPlan:
    """The plan of a settlement of `radius` metres, with masks (X, Y)."""

    radius: int
    street: BoolArray
    taken: BoolArray  # streets, plots and their margins
    slots: list[Slot] = field(default_factory=list)  # along the streets, for plots
    plots: list[Plot] = field(default_factory=list)


def plan_settlement(rng: np.random.Generator, land: Terrain, biome: Biome, radius: int) -> SettlementPlan:
    """Plan streets and plots, and level the land under the plots. `radius`: radius of the settlement, metres."""
    shape = land.height.shape
    plan = SettlementPlan(radius, np.zeros(shape, np.bool_), np.zeros(shape, np.bool_))
    plan.street |= land.distance < _SQUARE + 0.5
    _lay_streets(rng, plan, land)
    plan.taken |= plan.street | grow(land.wet, 2)
    # Beside the centre, which stays free: walks begin there.
    x, y = (c + (1 if rng.integers(2) else -7) for c in land.centre)
    plan.plots.append(Plot("well", x, y, 6, 7, int(rng.integers(4))))
    near_first = sorted(plan.slots, key=lambda slot: float(land.distance[slot.x, slot.y]))
    for name in biome.special:
        _claim(rng, plan, land, name, near_first[len(near_first) // 8 :])
    for name in ("stall", "stall", "pavilion"):
        _claim(rng, plan, land, name, near_first)
    for name in ("farm", "pen", "farm"):
        _claim(rng, plan, land, name, _shuffled(rng, plan.slots))
    wanted = int(rng.integers(HOUSES[0], HOUSES[1] + 1))
    for n in range(2 * wanted):
        name = biome.designs[n] if n < len(biome.designs) else biome.designs[int(rng.integers(len(biome.designs)))]
        wanted -= _claim(rng, plan, land, name, _shuffled(rng, plan.slots) + _anywhere(rng, plan, land, 0.2, 0.9))
        if wanted == 0:
            break
    for name in ("farm", "farm"):
        _claim(rng, plan, land, name, _shuffled(rng, plan.slots))
    for name in _LANDMARKS:
        _claim(rng, plan, land, name, _anywhere(rng, plan, land, 0.95, 2.1))
    for plot in plan.plots:
        land.level(*plot.area, int(np.median(land.height[plot.area])))
    for plot in plan.plots:
        # A neighbour's slope may have come over the edge.
        land.height[plot.area] = int(np.median(land.height[plot.area]))
    return plan


def build_settlement(
    rng: np.random.Generator, canvas: Canvas, land: Terrain, biome: Biome, plan: SettlementPlan
) -> None:
    """Draw a planned settlement onto filled land."""
    path = canvas.begin("path")
    _pave(rng, canvas, land, biome, plan, path)
    order = np.argsort(rng.random(len(biome.palettes)), kind="stable")
    for n, plot in enumerate(plan.plots):
        _build(rng, canvas, land, biome, plot, biome.palettes[order[n % len(order)]], path)
    _light(rng, canvas, land, biome, plan)
    # Stacks of hay on free ground of the settlement.
    free = ~grow(plan.taken, 2) & ~land.wet & (land.distance < 1.1 * plan.radius)
    spots = np.argwhere(free)
    for x, y in spots[rng.integers(len(spots), size=7)] if len(spots) else spots:
        own = canvas.begin("haystack", int(land.height[x, y]))
        for dx, dy, height in ((0, 0, 2), (1, 0, 1), (0, 1, 1 + int(rng.integers(2))), (1, 1, int(rng.integers(2)))):
            i, j = int(x) + dx, int(y) + dy
            for w in range(1, height + 1):
                canvas.put(i, j, int(land.height[i, j]) + w, "hay_bale", own)
            plan.taken[i, j] = True


def _lay_streets(rng: np.random.Generator, plan: SettlementPlan, land: Terrain) -> None:
    """Three or four streets out of the square, two of them roads into the country, and side streets."""
    x, y = land.centre
    first, count = int(rng.integers(4)), int(rng.integers(3, 5))
    mains = []
    for n in range(count):
        axis = (first + n) % 4
        dx, dy = _AXES[axis]
        shift = int(rng.integers(-3, 4))
        offers = int(plan.radius * (0.75 + 0.2 * rng.random()))
        length = 2 * offers if n < 2 else offers
        mains.append(
            (axis, _march(rng, plan, (x + dx * 4 + dy * shift, y + dy * 4 + dx * shift), axis, length, offers)[:offers])
        )
    for axis, cells in mains:
        for _ in range(12):
            turn = (axis + (1 if rng.integers(2) else 3)) % 4
            length = int(rng.integers(22, 40))
            start = cells[int(rng.integers(12, len(cells) - 4))] if len(cells) > 20 else cells[-1]
            if _is_open(plan, land, start, turn):
                _march(rng, plan, start, turn, length, length, land.wet)


def _is_open(plan: SettlementPlan, land: Terrain, start: tuple[int, int], axis: int) -> bool:
    """Whether a side street from `start` has room for houses on both sides and runs on dry land."""
    (x, y), (dx, dy) = start, _AXES[axis]
    along, across = (5, 26), (-_BLOCK, _BLOCK)
    xs = sorted(x + dx * a + dy * c for a in along for c in across)
    ys = sorted(y + dy * a + dx * c for a in along for c in across)
    room = slice(max(xs[0], 0), xs[-1] + 1), slice(max(ys[0], 0), ys[-1] + 1)
    return not plan.street[room].any() and bool(land.wet[room].mean() < 0.08)


def _march(
    rng: np.random.Generator,
    plan: SettlementPlan,
    start: tuple[int, int],
    axis: int,
    length: int,
    offers: int,
    stop_at: BoolArray | None = None,
) -> list[tuple[int, int]]:
    """Lay a street three cells wide that sways a little; its first `offers` metres offer plots. Returns its middle."""
    dx, dy = _AXES[axis]
    (x, y), cells = start, []
    sway = 0
    for n in range(length):
        outside = not all(_MARGIN <= c < size - _MARGIN for c, size in zip((x, y), plan.street.shape, strict=True))
        if outside or (stop_at is not None and stop_at[x, y]):
            break
        plan.street[x - 1 : x + 2, y - 1 : y + 2] = True
        cells.append((x, y))
        if n < offers:
            plan.slots += [Slot(x, y, (dy, dx)), Slot(x, y, (-dy, -dx))]
        if n % 9 == 8:
            sway = int(rng.integers(-1, 2))
        if sway and n % 3 == 0 and rng.random() < 0.6:
            x, y = x + abs(dy) * sway, y + abs(dx) * sway
        else:
            x, y = x + dx, y + dy
    return cells


def _claim(rng: np.random.Generator, plan: SettlementPlan, land: Terrain, name: str, slots: Iterable[Slot]) -> bool:
    """Give a design the first slot where it fits; returns whether there was one."""
    width, depth = _ALL[name].plot(rng)
    for slot in slots:
        plot = _plot_at(slot, name, width, depth)
        around = tuple(slice(s.start - 1, s.stop + 1) for s in plot.area)
        if any(s.start < _MARGIN or s.stop > n - _MARGIN for s, n in zip(around, plan.taken.shape, strict=True)):
            continue
        heights = land.height[around]
        if plan.taken[around].any() or int(heights.max()) - int(heights.min()) > 4:
            continue
        plan.plots.append(plot)
        plan.taken[around] = True
        return True
    return False


def _plot_at(slot: Slot, name: str, width: int, depth: int) -> Plot:
    """The plot next to a slot, its front to the street."""
    nx, ny = slot.side
    turn = _TURN_OF_FRONT[(-nx, -ny)]
    if ny:
        y = slot.y + _SETBACK if ny > 0 else slot.y - _SETBACK - depth + 1
        return Plot(name, slot.x - width // 2, y, width, depth, turn)
    x = slot.x + _SETBACK if nx > 0 else slot.x - _SETBACK - depth + 1
    return Plot(name, x, slot.y - width // 2, width, depth, turn)


def _shuffled(rng: np.random.Generator, slots: list[Slot]) -> list[Slot]:
    return [slots[n] for n in np.argsort(rng.random(len(slots)), kind="stable")]


def _anywhere(
    rng: np.random.Generator, plan: SettlementPlan, land: Terrain, nearest: float, farthest: float
) -> list[Slot]:
    """Random places off the streets, between two distances from the centre in units of the radius."""
    places = np.argwhere((land.distance > nearest * plan.radius) & (land.distance < farthest * plan.radius))
    chosen = places[rng.integers(len(places), size=40)] if len(places) else places
    return [Slot(int(x), int(y), _AXES[int(rng.integers(4))]) for x, y in chosen]


def _build(
    rng: np.random.Generator, canvas: Canvas, land: Terrain, biome: Biome, plot: Plot, palette: Palette, path: int
) -> None:
    """One design on its plot, with its door path and flower bed."""
    z = int(land.height[plot.x, plot.y])
    own = canvas.begin(plot.design, z)
    frame = PlotFrame(canvas, plot.x, plot.y, z, plot.width, plot.depth, plot.turn, own)
    door_u, door_v = _ALL[plot.design].draw(BuildingSite(frame, palette, biome, rng))
    if biome.ruined and plot.design not in _SPARED:
        decay(rng, canvas, plot.area, z, own)
    if plot.design == "well":
        return
    _pave_door(canvas, land, biome, frame, (door_u, door_v), path)
    if plot.design not in DESIGNS or plot.design == "stall":
        return
    spots = [frame.cell(u, door_v - 1) for u in range(1, plot.width - 1) if abs(u - door_u) > 1 and rng.random() < 0.8]
    spots = [(x, y) for x, y in spots if canvas.instances[x, y, z] == 0 and canvas.states[x, y, z + 1] == AIR]
    if spots and rng.random() < 0.75:
        for x, y in spots:
            canvas.put(x, y, z, "grass_block" if not biome.snowy else "podzol")
        flowerbed(canvas, land, np.array(spots), biome.flowers[int(rng.integers(len(biome.flowers)))])


def _pave_door(canvas: Canvas, land: Terrain, biome: Biome, frame: PlotFrame, door: tuple[int, int], path: int) -> None:
    """A path from a door straight out to the street."""
    for v in range(door[1] - 1, -_SETBACK - 2, -1):
        x, y = frame.cell(door[0], v)
        z = int(land.height[x, y])
        if canvas.instances[x, y, z] == path:
            return
        if GROUND[canvas.states[x, y, z]] and canvas.instances[x, y, z] == 0:
            canvas.put(x, y, z, biome.path, path)


def _pave(
    rng: np.random.Generator, canvas: Canvas, land: Terrain, biome: Biome, plan: SettlementPlan, path: int
) -> None:
    """Streets and square; bridges where they cross water."""
    dry = plan.street & ~land.wet
    edge = dry & grow(~plan.street, 1)
    chance = rng.random(plan.street.shape)
    country = land.distance > plan.radius
    bare = edge & (chance < np.where(country, 0.5, 0.08))
    i, j = np.nonzero(dry & ~bare)
    k = land.height[i, j]
    patchy = 0.7 * value_noise(rng, plan.street.shape, 4) + 0.3 * chance
    worn = patchy[i, j] > np.where(land.distance[i, j] < _SQUARE + 0.5, 0.5, 0.66)
    canvas.states[i, j, k] = np.where(worn, block(biome.path_worn), block(biome.path))
    canvas.instances[i, j, k] = path
    deck = plan.street & land.wet
    rail = grow(deck, 1) & land.wet & ~deck
    for mask, name, lift in ((deck | rail, biome.bridge, 0), (rail, biome.post, 1)):
        i, j = np.nonzero(mask)
        canvas.states[i, j, land.water[i, j] + lift] = block(name)
        canvas.instances[i, j, land.water[i, j] + lift] = path


def _light(rng: np.random.Generator, canvas: Canvas, land: Terrain, biome: Biome, plan: SettlementPlan) -> None:
    """Lanterns on posts along the streets and at the corners of the square."""
    built = plan.taken & ~grow(plan.street, 1)
    corners = [Slot(land.centre[0] + dx, land.centre[1] + dy, (0, 0)) for dx in (-6, 6) for dy in (-6, 6)]
    for n, slot in enumerate(corners + plan.slots[::23]):
        x, y = slot.x + 2 * slot.side[0], slot.y + 2 * slot.side[1]
        z = int(land.height[x, y])
        clear = (canvas.states[x, y, z + 1 : z + 5] == AIR).all() and GROUND[canvas.states[x, y, z]]
        if built[x, y] or land.wet[x, y] or not clear or (plan.street[x, y] and n >= len(corners)):
            continue
        own = canvas.begin("post" if biome.ruined else "lamp_post", z)
        height = int(rng.integers(2, 4))
        for w in range(1, height + 1):
            canvas.put(x, y, z + w, biome.post, own)
        if not biome.ruined:
            canvas.put(x, y, z + height + 1, "lantern_post", own)


SMALLEST = (160, 160, 56)
"""Cells along x, y, z below which a settlement or a scene does not fit."""

LARGEST = 2**28
"""Cells in all, 0.8 GB: sizes come from files."""

_WIDEST_RADIUS = 62


def generate(kind: str, seed: int, size: tuple[int, int, int] = (320, 320, 64)) -> VoxelWorld:
    """Generate a settlement or scene. Equal arguments give equal cells on every machine."""
    _check(kind, seed, size)
    if kind in FAMILIES:
        return families.build(kind, seed, size)
    biome = BIOMES[kind]
    radius = min(_WIDEST_RADIUS, min(size[:2]) // 2 - 18)
    # A stream of randomness for each stage: a change of one leaves the others as they were.
    lie, layout, building, growth = np.random.default_rng([seed, KINDS.index(kind)]).spawn(4)
    land = make_terrain(lie, size, biome, radius)
    plan = plan_settlement(layout, land, biome, radius)
    canvas = Canvas.blank(size)
    land.fill(canvas, biome)
    build_settlement(building, canvas, land, biome, plan)
    taken = place_boulders(growth, canvas, land, biome, plan.taken)
    taken = plant_trees(growth, canvas, land, biome, taken, radius)
    plant_flowers(growth, canvas, land, biome, taken)
    sow_herbs(growth, canvas, land, biome, taken)
    canvas.renumber()
    return VoxelWorld(kind, seed, canvas.states, canvas.instances, land.centre, tuple(canvas.drawn))


def _check(kind: str, seed: int, size: tuple[int, int, int]) -> None:
    known = (*KINDS, *FAMILIES)
    if kind not in known:
        near = difflib.get_close_matches(kind, known, n=1, cutoff=0.4)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise WorldError(f"no world of kind '{kind}': {hint}known are {', '.join(known)}")
    if seed < 0:
        raise WorldError(f"seed {seed} is negative: give 0 or more")
    if len(size) != 3 or any(given < least for given, least in zip(size, SMALLEST, strict=True)):
        raise WorldError(f"a world of {size} cells has no room: give at least {SMALLEST}")
    if math.prod(size) > LARGEST:
        raise WorldError(f"a world of {size} cells is too large: give at most {LARGEST} cells in all")
