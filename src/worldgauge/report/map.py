"""Maps: a walk from above over its place, with the paths that models planned."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from worldgauge.core.english import listed
from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.geometry import FloatArray, yaw_pitch_from_pose
from worldgauge.engine.suite.contract import TaskView
from worldgauge.report import svg
from worldgauge.report.curves import SeriesStyle
from worldgauge.report.wording import MINUS, number
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
    """A square of the plane and its pixels on a map, north (+y) up; `low` is the south-west corner (2,). Metres."""

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
class MapGround:
    """What a map is drawn on."""

    parts: tuple[Markup, ...]
    bare: bool
    note: str = ""


def draw_ground(picture: TaskView, place: MapFrame) -> MapGround:
    """Draw a place from above, or a grid where its world cannot be opened or drawn."""
    if picture.world is None:
        return _grid(place, "The place is known only from its recording.")
    try:
        world = open_world(picture.world)
        drawn = _world(world, picture, place)
        return drawn or _grid(place, f"A '{picture.world.name}' has no floor plan: only places of things.")
    except WorldgaugeError as error:
        return _grid(place, f"The map cannot be rendered: {error}")


def axes(place: MapFrame) -> list[Markup]:
    """Metres along the left and lower edge of the square, outside of it."""
    across, up = _scales(place)
    return [
        *(svg.label(_metres(v), across(v), SIDE_PX + 12, anchor="middle") for v in across.ticks(6)),
        *(svg.label(_metres(v), -5, up(v) + 3.5, anchor="end") for v in up.ticks(6)),
        svg.label("metres", SIDE_PX, SIDE_PX + 24, anchor="end", class_="axis"),
    ]


def top_view(cells: VoxelWorld, low: tuple[int, int], side: int, ceiling: int | None = None) -> NDArray[np.uint8]:
    """Colours (side, side, 3) of the highest cells of a square, north up; slopes are shaded, the outside is grey."""
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
    """Colours (n, n, 3) of a floor plan around a square, north up; their south-west corner (2,) and side, metres."""
    count = int(np.ceil(side / floor.cell_m)) + 1
    step = -(-count // MAX_CELLS)
    first = floor.cells_of(low)
    x, y = (np.arange(start, start + count, step) for start in first)
    inside = ((x >= 0) & (x < floor.free.shape[0]))[:, None] & ((y >= 0) & (y < floor.free.shape[1]))
    free = floor.free[np.ix_(np.clip(x, 0, floor.free.shape[0] - 1), np.clip(y, 0, floor.free.shape[1] - 1))]
    colour = np.where(inside[..., None], np.where(free[..., None], FREE, TAKEN), OUTSIDE).astype(np.uint8)
    corner = floor.points_of(first) - floor.cell_m / 2
    return np.ascontiguousarray(colour.transpose(1, 0, 2)[::-1]), corner, len(x) * step * floor.cell_m


def _world(world: World, picture: TaskView, place: MapFrame) -> MapGround | None:
    """None of a world that has neither cells nor a floor."""
    cells = getattr(world, "voxels", None)
    if isinstance(cells, VoxelWorld):
        low = np.floor(place.low).astype(int)
        side = int(np.ceil((place.low - low).max() + place.side))
        view = top_view(cells, (int(low[0]), int(low[1])), side, _ceiling(cells, picture.poses[:, :3, 3]))
        return MapGround((_image(view, place, low.astype(np.float64), float(side)),), bare=False)
    floor = getattr(world, "floor", None)
    if not isinstance(floor, FloorPlan):
        return None
    things = _things(getattr(world, "landmarks", ()), picture.marks, place)
    view, corner, width = floor_view(floor, place.low, place.side)
    return MapGround((_image(view, place, corner, width), *things), bare=False)


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


def _grid(place: MapFrame, note: str) -> MapGround:
    across, up = _scales(place)
    lines = [f"M{across(v):.1f} 0V{SIDE_PX}" for v in across.ticks(6)]
    lines += [f"M0 {up(v):.1f}H{SIDE_PX}" for v in up.ticks(6)]
    sheet = svg.tag("rect", width=SIDE_PX, height=SIDE_PX, class_="sheet")
    return MapGround((sheet, svg.tag("path", d="".join(lines), class_="grid")), bare=True, note=note)


def _metres(value: float) -> str:
    return f"{value:g}".replace("-", MINUS)


def _scales(place: MapFrame) -> tuple[svg.Scale, svg.Scale]:
    (west, south), side = place.low, place.side
    return svg.Scale(west, west + side, 0.0, SIDE_PX), svg.Scale(south, south + side, SIDE_PX, 0.0)


MARGIN_M = 9.0
"""Around a walk that is shown alone, to see where in the place it lies."""
EDGES_PX = (30.0, 28.0)
"""Left of and below a map with axes."""
MOST_POINTS = 400
"""Of a line: a walk of an hour is drawn no finer than its map shows."""
DOTTED = 40
"""Points up to which a path shows each of them."""


@dataclass(frozen=True)
class MapPath:
    """A path on a map."""

    style: SeriesStyle
    xy: FloatArray  # (n, 2) metres of the world frame, finite, n >= 1

    @property
    def stays(self) -> bool:
        """Whether the camera does not move."""
        return self.extent_m < 0.05

    @property
    def extent_m(self) -> float:
        """Largest distance from its first point, in metres."""
        return float(np.linalg.norm(self.xy - self.xy[0], axis=1).max())


@dataclass(frozen=True)
class DrawnMap:
    """A drawn walk."""

    svg: Markup
    trail: tuple[
        tuple[float, float, float], ...
    ]  # x, y in pixels, heading in degrees clockwise from the right, per frame
    note: str = ""  # what could not be shown


def draw_map(
    ident: str,
    picture: TaskView,
    plans: Sequence[MapPath] = (),
    corridor: FloatArray | None = None,
    truth: FloatArray | None = None,
    title: str = "",
    whole: bool = False,
) -> DrawnMap:
    """Draw a map of a task, north (+y) up. `corridor` (m, 3) is x, y and radius in metres; `truth` (n, 2), in metres,
    replaces the path from `generated_from` on."""
    xy = picture.poses[:, :2, 3]
    split = picture.generated_from
    marks = {name: np.asarray(at, np.float64) for name, at in picture.marks.items()}
    place, away = _frame(xy, list(marks.values()), plans, corridor, whole)
    ground = draw_ground(picture, place)
    out = place.points(_thinned(xy[: split + 1]))
    back = place.points(_thinned(xy[split:] if truth is None else truth))
    # Where the future is unknown, the walker stands at the end of what was shown.
    ahead = picture.poses[split:] if split < len(xy) else picture.poses[-1:]
    yaw, _ = yaw_pitch_from_pose(ahead)
    # The screen's y axis points down, so a counter-clockwise heading is a negative turn there.
    trail = tuple((*place.point(at), -float(np.degrees(a))) for at, a in zip(ahead[:, :2, 3], yaw, strict=True))
    points = [
        *out,
        *back,
        *(place.point(at) for at in marks.values()),
        *(p for plan in plans for p in place.points(plan.xy)),
    ]
    square = svg.tag(
        "svg",
        *ground.parts,
        *_corridor(corridor, place),
        svg.polyline(out, class_="halo"),
        svg.polyline(back, class_="halo"),
        svg.polyline(out, class_="way-out"),
        svg.polyline(back, class_="way-back"),
        *_plans(plans, place),
        *_marks({name: place.point(at) for name, at in marks.items()}),
        *_walker(trail[:1]),
        _ruler(place, points),
        width=SIDE_PX,
        height=SIDE_PX,
        viewBox=f"0 0 {SIDE_PX} {SIDE_PX}",
        aria_hidden="true",
    )
    spoken = _spoken(place, xy[split:], split, picture.marks, plans)
    drawn = _framed(f"{ident}-map", title or "The path from above", spoken, square, ground, place)
    note = f"Not wholly on the map: {listed(away)}." if away else ""
    return DrawnMap(drawn, trail, " ".join(filter(None, [ground.note, note])))


def _thinned(xy: FloatArray) -> FloatArray:
    """About MOST_POINTS of the points (n, 2) at most, evenly, both ends among them."""
    kept: FloatArray = xy[np.linspace(0, len(xy) - 1, min(len(xy), MOST_POINTS)).round().astype(int)]
    return kept


def _framed(ident: str, title: str, spoken: str, square: Markup, ground: MapGround, place: MapFrame) -> Markup:
    """The square alone, or with axes where the ground does not say how large it is."""
    if not ground.bare:
        return svg.picture(ident, SIDE_PX, SIDE_PX, title, spoken, square, class_="chart day")
    left, below = EDGES_PX
    moved = svg.tag("g", square, *axes(place), transform=f"translate({left:g} 4)")
    wide, tall = SIDE_PX + left + 4, SIDE_PX + below + 4
    return svg.picture(ident, wide, tall, title, spoken, moved, class_="chart bare")


def _frame(
    xy: FloatArray, marks: list[FloatArray], plans: Sequence[MapPath], corridor: FloatArray | None, whole: bool
) -> tuple[MapFrame, list[str]]:
    """A square around everything, and the names of plans that leave it."""
    points = [xy, *(mark[None] for mark in marks)]
    if not plans and corridor is None:
        low, high = _bounds(points)
        side = float(np.ceil(max((high - low).max(), 6.0) + 2 * MARGIN_M))
        return MapFrame(np.floor((low + high - side) / 2), side), []
    if corridor is not None:
        points += [corridor[:, :2] - corridor[:, 2:], corridor[:, :2] + corridor[:, 2:]]
    low, high = _bounds(points)
    # A plan that strays far would make all others small.
    reach = np.inf if whole else max(0.35 * float((high - low).max()), 1.0)
    near = [np.clip(plan.xy, low - reach, high + reach) for plan in plans]
    low, high = _bounds([*points, *near])
    side = max(1.16 * float((high - low).max()), 2.0)
    place = MapFrame((low + high - side) / 2, side)
    away = [
        f"{plan.style.label} ({number(plan.extent_m, digits=1)} m from its start)"
        for plan in plans
        if ((plan.xy < place.low) | (plan.xy > place.low + side)).any()
    ]
    return place, away


def _bounds(points: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    everything = np.vstack(points)
    return everything.min(0), everything.max(0)


def _spoken(
    place: MapFrame, truth: FloatArray, split: int, marks: Mapping[str, tuple[float, float]], plans: Sequence[MapPath]
) -> str:
    said = [f"A square of {place.side:.0f} metres. {split} frames were shown, {len(truth)} are requested"]
    said += [f"{name} at ({x:.1f}, {y:.1f}) m" for name, (x, y) in marks.items()]
    for plan in plans:
        missed = float(np.linalg.norm(plan.xy[-1] - truth[-1])) if len(truth) else 0.0
        said.append(f"{plan.style.label} ends {number(missed, digits=2)} m from the end of the true path")
    return "; ".join(said)


def _corridor(circles: FloatArray | None, place: MapFrame) -> list[Markup]:
    if circles is None:
        return []
    drawn = []
    for x, y, radius in circles:
        across, down = place.point(np.array([x, y]))
        drawn.append(svg.tag("circle", cx=across, cy=down, r=round(place.pixels(float(radius)), 1)))
    return [svg.tag("g", *drawn, class_="corridor")]


def _plans(plans: Sequence[MapPath], place: MapFrame) -> list[Markup]:
    drawn, still = [], 0
    for plan in plans:
        points = place.points(plan.xy)
        style = plan.style
        if plan.stays:
            # Cameras that stay are all at one point: each gets a ring of its own.
            still += 1
            body = [svg.tag("circle", cx=points[-1][0], cy=points[-1][1], r=4.0 + 3 * still, class_="stay")]
        else:
            body = [svg.polyline(points, class_="under"), svg.polyline(points, class_="line")]
            if len(points) <= DOTTED:
                body += [svg.tag("circle", cx=x, cy=y, r=2, class_="step") for x, y in points[1:-1]]
            body.append(svg.tag("circle", cx=points[-1][0], cy=points[-1][1], r=4, class_="dot"))
        drawn.append(svg.tag("g", *body, class_=f"plan {style.css}", data_model=style.key or None))
    return drawn


def _marks(marks: Mapping[str, tuple[float, float]]) -> list[Markup]:
    """A short name inside its circle, a longer one next to it."""
    long = {name: at for name, at in marks.items() if len(name) > 2}
    places = svg.place_names(list(long.values()), [(6.4 * len(name), 13.0) for name in long], SIDE_PX, SIDE_PX)
    beside = dict(zip(long, places, strict=True))
    drawn = []
    for name, (x, y) in marks.items():
        at, down, anchor = beside.get(name, (x, y + 4, "middle"))
        drawn.append(
            svg.tag(
                "g",
                svg.tag("circle", cx=x, cy=y, r=5 if name in long else 9),
                svg.label(name, at, down, anchor=anchor, class_="mark-name"),
                class_="mark",
            )
        )
    return drawn


def _walker(start: Sequence[tuple[float, float, float]]) -> list[Markup]:
    """Who looks where, at the first of the trail; the page's script moves it on."""
    cone = svg.tag("path", d="M0 0L26 -13A29 29 0 0 1 26 13Z")
    return [
        svg.tag("g", cone, svg.tag("circle", r=4), class_="walker", transform=f"translate({x} {y}) rotate({turn:.1f})")
        for x, y, turn in start
    ]


def _ruler(place: MapFrame, points: Sequence[tuple[float, float]]) -> Markup:
    """A bar of round length, so that ranges can be read off; in the lower corner that hides fewer of the points."""
    metres = next((step for step in (50, 20, 10, 5, 2, 1, 0.5) if step <= place.side / 3), 0.2)
    length = place.pixels(metres)
    low = [x for x, y in points if y > SIDE_PX - 40]
    hidden = [sum(x < length + 24 for x in low), sum(x > SIDE_PX - length - 24 for x in low)]
    left = SIDE_PX - length - 12 if hidden[1] < hidden[0] else 12.0
    y = SIDE_PX - 12.0
    return svg.tag(
        "g",
        svg.tag("rect", x=left - 4, y=y - 15, width=length + 8, height=22, rx=3),
        svg.tag("path", d=f"M{left:.1f} {y - 4}V{y}H{left + length:.1f}V{y - 4}"),
        svg.label(f"{metres:g} m", left + length / 2, y - 5, anchor="middle", class_="tick"),
        class_="ruler",
    )
