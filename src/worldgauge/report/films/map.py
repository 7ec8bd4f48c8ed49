"""Maps: a walk from above over its place, with the paths that subjects planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from worldgauge.core.geometry import FloatArray, yaw_pitch_from_pose
from worldgauge.engine.suite.contract import TaskView
from worldgauge.report.charts import svg
from worldgauge.report.charts.curves import SeriesStyle
from worldgauge.report.films.ground import SIDE_PX, Ground, MapFrame, axes, draw_ground
from worldgauge.report.wording import listed, number

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
    """A path on a map.

    Attributes:
        style: Its style.
        xy: (n, 2) metres of the world frame, n >= 1, finite.
    """

    style: SeriesStyle
    xy: FloatArray

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
    """A drawn walk.

    Attributes:
        svg: The map.
        trail: x and y in map pixels and heading in degrees clockwise from the right, one per generated frame.
        note: What could not be shown.
    """

    svg: Markup
    trail: tuple[tuple[float, float, float], ...]
    note: str = ""


def draw_map(
    ident: str,
    picture: TaskView,
    plans: Sequence[MapPath] = (),
    corridor: FloatArray | None = None,
    truth: FloatArray | None = None,
    title: str = "",
    whole: bool = False,
) -> DrawnMap:
    """Draw a map of a task. North (+y) is up, both axes have one scale, and marks are circles.

    Args:
        ident: Id of the element.
        picture: Walk and world of the task.
        plans: Paths in drawing order, the last on top.
        corridor: (m, 3), x, y and radius in metres.
        truth: (n, 2) metres, instead of the walk from `generated_from` on.
        title: Title for screen readers.
        whole: Whether all of every plan is on the map, however far it goes.

    Returns:
        The map.
    """
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
    drawn = _framed(f"{ident}-map", title or "The walk from above", spoken, square, ground, place)
    note = f"Not wholly on the map: {listed(away)}." if away else ""
    return DrawnMap(drawn, trail, " ".join(filter(None, [ground.note, note])))


def _thinned(xy: FloatArray) -> FloatArray:
    """About MOST_POINTS of the points (n, 2) at most, evenly, both ends among them."""
    kept: FloatArray = xy[np.linspace(0, len(xy) - 1, min(len(xy), MOST_POINTS)).round().astype(int)]
    return kept


def _framed(ident: str, title: str, spoken: str, square: Markup, ground: Ground, place: MapFrame) -> Markup:
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
    """A square around everything, and the names of plans that leave it.

    A plan that strays far would make all others small: unless `whole`, it is followed for the walk's own size only.
    """
    points = [xy, *(mark[None] for mark in marks)]
    if not plans and corridor is None:
        low, high = _bounds(points)
        side = float(np.ceil(max((high - low).max(), 6.0) + 2 * MARGIN_M))
        return MapFrame(np.floor((low + high - side) / 2), side), []
    if corridor is not None:
        points += [corridor[:, :2] - corridor[:, 2:], corridor[:, :2] + corridor[:, 2:]]
    low, high = _bounds(points)
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
    said = [f"A square of {place.side:.0f} metres. {split} frames were shown, {len(truth)} are asked for"]
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
        drawn.append(svg.tag("g", *body, class_=f"plan {style.css}", data_subject=style.key or None))
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
