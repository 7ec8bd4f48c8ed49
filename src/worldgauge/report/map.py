"""Maps: a walk from above, over the place it was walked in when that place is known."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from worldgauge.errors import WorldgaugeError
from worldgauge.geometry import FloatArray, yaw_pitch_from_pose
from worldgauge.report import svg
from worldgauge.suites.contract import Picture
from worldgauge.worlds import open_world
from worldgauge.worlds.voxel.blocks import AIR, STATES
from worldgauge.worlds.voxel.textures import texture_of
from worldgauge.worlds.voxel.world import VoxelWorld

SIDE_PX = 320
MARGIN_M = 9.0


@dataclass(frozen=True)
class Map:
    """A drawn walk. trail: (x, y, heading in degrees clockwise from the right) in map pixels, one a generated frame."""

    svg: Markup
    trail: tuple[tuple[float, float, float], ...]
    note: str = ""


def draw_map(ident: str, picture: Picture) -> Map:
    """North (+y) is up. The way out and the way that is asked for have different colours; marks are circles."""
    xy = picture.poses[:, :2, 3]
    low, side = _frame(xy, [np.asarray(place) for place in picture.marks.values()])
    place = _Place(low, side)
    ground, note = _ground(ident, picture, place)
    split = picture.generated_from
    out, back = place.points(xy[: split + 1]), place.points(xy[split:])
    drawn = svg.picture(
        f"{ident}-map",
        SIDE_PX,
        SIDE_PX,
        "The walk from above",
        f"A square of {side:.0f} metres. The way out has {split} frames, the way asked for {len(xy) - split}. "
        + "; ".join(f"{name} at ({x:.0f}, {y:.0f}) m" for name, (x, y) in picture.marks.items()),
        *ground,
        svg.polyline(out, class_="halo"),
        svg.polyline(back, class_="halo"),
        svg.polyline(out, class_="way-out"),
        svg.polyline(back, class_="way-back"),
        *(_mark(name, *place.point(np.asarray(at))) for name, at in picture.marks.items()),
        svg.tag("g", svg.tag("path", d="M0 0L26 -13A29 29 0 0 1 26 13Z"), svg.tag("circle", r=4), class_="walker"),
        _ruler(side),
    )
    yaw, _ = yaw_pitch_from_pose(picture.poses[split:])
    # The screen's y axis points down, so a counter-clockwise heading is a negative turn there.
    trail = tuple((x, y, -float(np.degrees(a))) for (x, y), a in zip(back, yaw, strict=True))
    return Map(drawn, trail, note)


def top_view(cells: VoxelWorld, low: tuple[int, int], side: int) -> NDArray[np.uint8]:
    """Colours (side, side, 3) of the highest cells of a square, north up; slopes are shaded, outside is grey.

    low: (x, y) of the square's south-west cell.
    """
    x, y = np.meshgrid(np.arange(low[0], low[0] + side), np.arange(low[1], low[1] + side), indexing="ij")
    inside = (x >= 0) & (y >= 0) & (x < cells.shape[0]) & (y < cells.shape[1])
    columns = cells.states[np.clip(x, 0, cells.shape[0] - 1), np.clip(y, 0, cells.shape[1] - 1)]
    height = cells.shape[2] - 1 - np.argmax(columns[:, :, ::-1] != AIR, axis=2)
    states = np.take_along_axis(columns, height[:, :, None], axis=2)[:, :, 0]
    slope = np.zeros(height.shape)
    slope[1:] += np.diff(height, axis=0)
    slope[:, :-1] -= np.diff(height, axis=1)
    light = 1.0 + 0.09 * np.clip(slope, -2, 2) + 0.012 * (height - np.median(height))
    colour = state_colours()[states] * np.clip(light, 0.55, 1.3)[:, :, None]
    colour[~inside] = 128
    rows_down: NDArray[np.uint8] = np.clip(colour, 0, 255).astype(np.uint8).transpose(1, 0, 2)[::-1]
    return np.ascontiguousarray(rows_down)


@cache
def state_colours() -> NDArray[np.float64]:
    """(states, 3): the mean colour of what is opaque of a state's upper face."""
    colours = np.full((len(STATES), 3), 225.0)
    for state in range(1, len(STATES)):
        texels = texture_of(state, "up").reshape(-1, 4)
        opaque = texels[texels[:, 3] > 0, :3]
        if len(opaque):
            colours[state] = opaque.mean(0)
    return colours


@dataclass(frozen=True)
class _Place:
    """Metres to map pixels. low: south-west corner."""

    low: FloatArray
    side: float

    def point(self, at: FloatArray) -> tuple[float, float]:
        x, y = (at[:2] - self.low) / self.side * SIDE_PX
        return round(float(x), 1), round(SIDE_PX - float(y), 1)

    def points(self, xy: FloatArray) -> list[tuple[float, float]]:
        return [self.point(row) for row in xy]


def _frame(xy: FloatArray, marks: list[FloatArray]) -> tuple[FloatArray, float]:
    """South-west corner and side in whole metres of a square around everything."""
    everything = np.vstack([xy, *marks]) if marks else xy
    low, high = everything.min(0), everything.max(0)
    side = float(np.ceil(max((high - low).max(), 6.0) + 2 * MARGIN_M))
    return np.floor((low + high - side) / 2), side


def _ground(ident: str, picture: Picture, place: _Place) -> tuple[list[Markup], str]:
    """The place from above, or a plain sheet and why."""
    sheet = svg.tag("rect", width=SIDE_PX, height=SIDE_PX, class_="sheet")
    if picture.world is None:
        return [sheet], "The place of this walk is known only from its recording."
    try:
        world = open_world(picture.world)
    except WorldgaugeError as error:
        return [sheet], f"The place cannot be drawn: {error}"
    cells = getattr(world, "voxels", None)
    if not isinstance(cells, VoxelWorld):
        return [sheet], f"No map is drawn of a '{picture.world.name}' world."
    low = int(place.low[0]), int(place.low[1])
    view = top_view(cells, low, int(place.side))
    _, png = cv2.imencode(".png", view[:, :, ::-1], [cv2.IMWRITE_PNG_COMPRESSION, 9])
    data = base64.b64encode(png.tobytes()).decode()
    return [
        sheet,
        svg.tag("image", href=f"data:image/png;base64,{data}", width=SIDE_PX, height=SIDE_PX, class_="ground"),
    ], ""


def _mark(name: str, x: float, y: float) -> Markup:
    return svg.tag(
        "g",
        svg.tag("circle", cx=x, cy=y, r=9),
        svg.label(name, x, y + 4, anchor="middle", class_="mark-name"),
        class_="mark",
    )


def _ruler(side: float) -> Markup:
    """A bar of round length, so that ranges can be read off."""
    metres = next(step for step in (50, 20, 10, 5, 2) if step <= side / 3 or step == 2)
    length = metres / side * SIDE_PX
    y = SIDE_PX - 12.0
    return svg.tag(
        "g",
        svg.tag("rect", x=8, y=y - 15, width=length + 8, height=22, rx=3),
        svg.tag("path", d=f"M12 {y - 4}V{y}H{12 + length:.1f}V{y - 4}"),
        svg.label(f"{metres} m", 12 + length / 2, y - 5, anchor="middle", class_="tick"),
        class_="ruler",
    )
