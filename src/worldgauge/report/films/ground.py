"""The ground of a map from above; a grid in metres where the place is not known."""

from __future__ import annotations

import base64
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.geometry import FloatArray
from worldgauge.engine.suite.contract import TaskView
from worldgauge.report.charts import svg
from worldgauge.report.wording import MINUS
from worldgauge.worlds import World, open_world
from worldgauge.worlds.voxel.blocks import AIR, STATES
from worldgauge.worlds.voxel.world import VoxelWorld
from worldgauge.worlds.walking.floor import FloorPlan, Landmark

SIDE_PX = 320
MAX_CELLS = 1200
"""Cells of a floor plan along one side of a map; a coarser picture is drawn beyond."""
FREE, TAKEN, OUTSIDE = (247, 244, 236), (168, 161, 148), (128, 128, 128)


@dataclass(frozen=True)
class MapFrame:
    """A square of the plane and its pixels on a map, with north (+y) up.

    Attributes:
        low: South-west corner, (2,) metres.
        side: Side in metres.
    """

    low: FloatArray
    side: float

    def point(self, at: FloatArray) -> tuple[float, float]:
        """Pixels of a point (2,) in metres."""
        x, y = (np.asarray(at, np.float64)[:2] - self.low) / self.side * SIDE_PX
        return round(float(x), 1), round(SIDE_PX - float(y), 1)

    def points(self, xy: FloatArray) -> list[tuple[float, float]]:
        """Pixels of points (n, 2) in metres."""
        return [self.point(row) for row in xy]

    def pixels(self, metres: float) -> float:
        """Pixels of a length."""
        return metres / self.side * SIDE_PX


@dataclass(frozen=True)
class Ground:
    """What a map is drawn on.

    Attributes:
        parts: The drawing.
        bare: Whether nothing is known of the place, so that a reader needs axes.
        note: The reason, in one sentence.
    """

    parts: tuple[Markup, ...]
    bare: bool
    note: str = ""


def draw_ground(picture: TaskView, place: MapFrame) -> Ground:
    """Draw a place from above, or a grid where its world cannot be opened or drawn.

    Args:
        picture: The task.
        place: Part of the plane to draw.
    """
    if picture.world is None:
        return _grid(place, "The place is known only from its recording.")
    try:
        world = open_world(picture.world)
        drawn = _world(world, picture, place)
        return drawn or _grid(place, f"A '{picture.world.name}' has no floor plan: only places of things.")
    except WorldgaugeError as error:
        return _grid(place, f"The place cannot be drawn: {error}")


def axes(place: MapFrame) -> list[Markup]:
    """Metres along the left and lower edge of the square, outside of it."""
    across, up = _scales(place)
    return [
        *(svg.label(_metres(v), across(v), SIDE_PX + 12, anchor="middle") for v in across.ticks(6)),
        *(svg.label(_metres(v), -5, up(v) + 3.5, anchor="end") for v in up.ticks(6)),
        svg.label("metres", SIDE_PX, SIDE_PX + 24, anchor="end", class_="axis"),
    ]


def top_view(cells: VoxelWorld, low: tuple[int, int], side: int, ceiling: int | None = None) -> NDArray[np.uint8]:
    """Colours of the highest cells of a square, north up. Slopes are shaded, and the outside is grey.

    Args:
        cells: The world.
        low: (x, y) of the south-west cell.
        side: Cells per side.
        ceiling: Cells at this height and above are removed.

    Returns:
        (side, side, 3) uint8.
    """
    x, y = np.meshgrid(np.arange(low[0], low[0] + side), np.arange(low[1], low[1] + side), indexing="ij")
    inside = (x >= 0) & (y >= 0) & (x < cells.shape[0]) & (y < cells.shape[1])
    columns = cells.states[np.clip(x, 0, cells.shape[0] - 1), np.clip(y, 0, cells.shape[1] - 1)][:, :, :ceiling]
    height = columns.shape[2] - 1 - np.argmax(columns[:, :, ::-1] != AIR, axis=2)
    states = np.take_along_axis(columns, height[:, :, None], axis=2)[:, :, 0]
    slope = np.zeros(height.shape)
    slope[1:] += np.diff(height, axis=0)
    slope[:, :-1] -= np.diff(height, axis=1)
    light = 1.0 + 0.09 * np.clip(slope, -2, 2) + 0.012 * (height - np.median(height))
    colour = state_colours()[states] * np.clip(light, 0.55, 1.3)[:, :, None]
    colour[~inside] = OUTSIDE
    rows_down: NDArray[np.uint8] = np.clip(colour, 0, 255).astype(np.uint8).transpose(1, 0, 2)[::-1]
    return np.ascontiguousarray(rows_down)


@cache
def state_colours() -> NDArray[np.float64]:
    """(states, 3): mean colour of the opaque part of each state's upper face."""
    # Textures are painted when they are imported, and most pages show no village.
    from worldgauge.worlds.voxel.textures import texture_of

    colours = np.full((len(STATES), 3), 225.0)
    for state in range(1, len(STATES)):
        texels = texture_of(state, "up").reshape(-1, 4)
        opaque = texels[texels[:, 3] > 0, :3]
        if len(opaque):
            colours[state] = opaque.mean(0)
    return colours


def floor_view(floor: FloorPlan, low: FloatArray, side: float) -> tuple[NDArray[np.uint8], FloatArray, float]:
    """Draw the cells of a floor plan that cover a square.

    Args:
        floor: The floor plan.
        low: South-west corner (2,), metres.
        side: Side of the square, metres.

    Returns:
        Colours (n, n, 3) uint8, north up; their south-west corner (2,) and side in metres.
    """
    count = int(np.ceil(side / floor.cell_m)) + 1
    step = -(-count // MAX_CELLS)
    first = floor.cells_of(low)
    x, y = (np.arange(start, start + count, step) for start in first)
    inside = ((x >= 0) & (x < floor.free.shape[0]))[:, None] & ((y >= 0) & (y < floor.free.shape[1]))
    free = floor.free[np.ix_(np.clip(x, 0, floor.free.shape[0] - 1), np.clip(y, 0, floor.free.shape[1] - 1))]
    colour = np.where(inside[..., None], np.where(free[..., None], FREE, TAKEN), OUTSIDE).astype(np.uint8)
    corner = floor.points_of(first) - floor.cell_m / 2
    return np.ascontiguousarray(colour.transpose(1, 0, 2)[::-1]), corner, len(x) * step * floor.cell_m


def _world(world: World, picture: TaskView, place: MapFrame) -> Ground | None:
    """None of a world that has neither cells nor a floor."""
    cells = getattr(world, "voxels", None)
    if isinstance(cells, VoxelWorld):
        low = np.floor(place.low).astype(int)
        side = int(np.ceil((place.low - low).max() + place.side))
        view = top_view(cells, (int(low[0]), int(low[1])), side, _ceiling(cells, picture.poses[:, :3, 3]))
        return Ground((_image(view, place, low.astype(np.float64), float(side)),), bare=False)
    floor = getattr(world, "floor", None)
    if not isinstance(floor, FloorPlan):
        return None
    things = _things(getattr(world, "landmarks", ()), picture.marks, place)
    return Ground((_image(*_placed(floor, place)), *things), bare=False)


def _placed(floor: FloorPlan, place: MapFrame) -> tuple[NDArray[np.uint8], MapFrame, FloatArray, float]:
    view, corner, side = floor_view(floor, place.low, place.side)
    return view, place, corner, side


def _ceiling(cells: VoxelWorld, xyz: FloatArray) -> int | None:
    """Where to take the roof off: one cell above the eye, when most of a walk (n, 3) is under one; else None."""
    at = np.floor(xyz).astype(int)
    at = at[((at >= 0) & (at < cells.shape)).all(1)]
    roofed = [bool((cells.states[x, y, z + 1 :] != AIR).any()) for x, y, z in at]
    return int(np.median(at[:, 2])) + 1 if roofed and np.mean(roofed) > 0.5 else None


def _image(view: NDArray[np.uint8], place: MapFrame, low: FloatArray, side: float) -> Markup:
    """A picture of the square at `low` with `side`, where it lies on the map."""
    _, png = cv2.imencode(".png", view[:, :, ::-1], [cv2.IMWRITE_PNG_COMPRESSION, 9])
    left, bottom = place.point(low)
    length = place.pixels(side)
    data = f"data:image/png;base64,{base64.b64encode(png.tobytes()).decode()}"
    return svg.tag("image", href=data, x=left, y=bottom - length, width=length, height=length, class_="ground")


def _things(landmarks: Sequence[Landmark], marks: Collection[str], place: MapFrame) -> list[Markup]:
    """Outlines of things that have names, what is higher on top; names where there is room, but not those of marks."""
    drawn, names = [], []
    taken: list[tuple[float, float, float, float]] = []
    for thing in sorted(landmarks, key=lambda thing: thing.high[2]):
        low, high = np.array(thing.low[:2]), np.array(thing.high[:2])
        if (high < place.low).any() or (low > place.low + place.side).any():
            continue
        (left, bottom), (right, top) = place.point(low), place.point(high)
        drawn.append(
            svg.tag("rect", svg.tag("title", thing.category), x=left, y=top, width=right - left, height=bottom - top)
        )
        across, down, half = (left + right) / 2, (top + bottom) / 2, 2.6 * len(thing.category)
        if right - left > 2 * half and bottom - top > 11 and thing.category not in marks:
            names.append((thing.category, across, down, half))
    for name, across, down, half in reversed(names):
        box = (across - half, down - 6, across + half, down + 6)
        inside = box[0] >= 0 and box[1] >= 0 and box[2] <= SIDE_PX and box[3] <= SIDE_PX
        if inside and not any(svg.overlap(box, other) for other in taken):
            taken.append(box)
            drawn.append(svg.label(name, across, down + 3, anchor="middle", class_=""))
    return [svg.tag("g", *drawn, class_="thing")] if drawn else []


def _grid(place: MapFrame, note: str) -> Ground:
    across, up = _scales(place)
    lines = [f"M{across(v):.1f} 0V{SIDE_PX}" for v in across.ticks(6)]
    lines += [f"M0 {up(v):.1f}H{SIDE_PX}" for v in up.ticks(6)]
    sheet = svg.tag("rect", width=SIDE_PX, height=SIDE_PX, class_="sheet")
    return Ground((sheet, svg.tag("path", d="".join(lines), class_="grid")), bare=True, note=note)


def _metres(value: float) -> str:
    return f"{value:g}".replace("-", MINUS)


def _scales(place: MapFrame) -> tuple[svg.Scale, svg.Scale]:
    (west, south), side = place.low, place.side
    return svg.Scale(west, west + side, 0.0, SIDE_PX), svg.Scale(south, south + side, SIDE_PX, 0.0)
