"""Where everything of a settlement goes: streets from the square, plots along them, landmarks beyond."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from worldgauge.worlds.voxel.blocks import AIR, GROUND, block
from worldgauge.worlds.voxel.settlements.buildings import DESIGNS
from worldgauge.worlds.voxel.settlements.canvas import Canvas, Frame
from worldgauge.worlds.voxel.settlements.grounds import GROUNDS
from worldgauge.worlds.voxel.settlements.plants import flowerbed
from worldgauge.worlds.voxel.settlements.ruins import decay
from worldgauge.worlds.voxel.settlements.site import Site
from worldgauge.worlds.voxel.settlements.styles import Biome, Palette
from worldgauge.worlds.voxel.settlements.terrain import BoolArray, Terrain, grow, value_noise

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
    "watchtower",
    "ruin",
    "cottage",
    "stones",
    "camp",
    "farm",
    "ruin",
    "camp",
    "cottage",
    "stones",
    "ruin",
    "pen",
)


@dataclass(frozen=True)
class Plot:
    """A rectangle of ground for one design; see canvas.Frame for its axes."""

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
    """The plan of a settlement.

    Attributes:
        radius: Metres.
        street: (X, Y) mask.
        taken: (X, Y) mask of streets, plots and their margins.
        slots: Places along the streets for plots.
        plots: Plots that have a design.
    """

    radius: int
    street: BoolArray
    taken: BoolArray
    slots: list[Slot] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)


def plan_settlement(rng: np.random.Generator, land: Terrain, biome: Biome, radius: int) -> SettlementPlan:
    """Plan streets and plots, and level the land under the plots.

    Args:
        rng: Generator.
        land: The terrain, changed in place.
        biome: What is built there.
        radius: Radius of the settlement, metres.

    Returns:
        The plan.
    """
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
    """Draw a planned settlement onto filled land.

    Args:
        rng: Generator.
        canvas: What is drawn on.
        land: The terrain.
        biome: Materials.
        plan: The plan.
    """
    path = canvas.begin("path")
    _pave(rng, canvas, land, biome, plan, path)
    order = np.argsort(rng.random(len(biome.palettes)), kind="stable")
    for n, plot in enumerate(plan.plots):
        _build(rng, canvas, land, biome, plot, biome.palettes[order[n % len(order)]], path)
    _light(rng, canvas, land, biome, plan)
    _stack_hay(rng, canvas, land, plan)


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
    frame = Frame(canvas, plot.x, plot.y, z, plot.width, plot.depth, plot.turn, own)
    door_u, door_v = _ALL[plot.design].draw(Site(frame, palette, biome, rng))
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


def _pave_door(canvas: Canvas, land: Terrain, biome: Biome, frame: Frame, door: tuple[int, int], path: int) -> None:
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


def _stack_hay(rng: np.random.Generator, canvas: Canvas, land: Terrain, plan: SettlementPlan) -> None:
    """Stacks of hay on free ground of the settlement."""
    free = ~grow(plan.taken, 2) & ~land.wet & (land.distance < 1.1 * plan.radius)
    spots = np.argwhere(free)
    for x, y in spots[rng.integers(len(spots), size=7)] if len(spots) else spots:
        own = canvas.begin("haystack", int(land.height[x, y]))
        for dx, dy, height in ((0, 0, 2), (1, 0, 1), (0, 1, 1 + int(rng.integers(2))), (1, 1, int(rng.integers(2)))):
            i, j = int(x) + dx, int(y) + dy
            for w in range(1, height + 1):
                canvas.put(i, j, int(land.height[i, j]) + w, "hay_bale", own)
            plan.taken[i, j] = True
