import base64
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

from support.toyworld import meadow
from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.core.registry import Entry
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import TaskView
from worldgauge.report.curves import SeriesStyle
from worldgauge.report.map import FREE, OUTSIDE, SIDE_PX, TAKEN, MapPath, draw_map, floor_view, state_colours, top_view
from worldgauge.worlds import worlds
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import block
from worldgauge.worlds.walking.floor import FloorPlan, Landmark

CLIP = Clip.from_array(np.zeros((5, 4, 4, 3), np.uint8), 20.0)


def walk() -> np.ndarray:
    x = np.array([20, 21, 22, 23, 24, 24, 23, 22, 21, 20], float)
    yaw = np.repeat([0.0, np.pi], 5)
    return pose_from_yaw_pitch(np.stack([x, np.full(10, 20.0), np.full(10, 5.6)], 1), yaw)


def test_directions_and_colours_of_cells() -> None:
    cells = meadow(16, blocks={(2, 13, 4): "red_wool", (13, 2, 4): "blue_wool"})
    view = top_view(cells, (0, 0), 16)
    assert view[2, 2, 0] > 1.5 * view[2, 2, 1]
    assert view[13, 13, 2] > 1.5 * view[13, 13, 1]
    view = top_view(meadow(16), (-4, -4), 24)
    assert (view[0, 0] == 128).all()
    assert not (view[12, 12] == 128).all()
    colours = state_colours()
    assert ((colours >= 0) & (colours <= 255)).all()
    assert colours[block("snow_block")].min() > 200


def test_the_way_and_its_headings_are_drawn_where_they_were() -> None:
    drawn = draw_map("m", TaskView(CLIP, walk(), 5, None, {"A": (20.0, 20.0), "<B>": (24.0, 20.0)}))
    root = ElementTree.fromstring(str(drawn.svg))
    ways = {line.get("class"): line.get("points", "").split() for line in root.iter("polyline")}
    assert len(ways["way-out"]) == 6
    assert len(ways["way-back"]) == len(drawn.trail) == 5
    first, last = drawn.trail[0], drawn.trail[-1]
    assert first[0] > last[0]
    assert first[1] == last[1] == pytest.approx(SIDE_PX / 2)
    assert abs(first[2]) == pytest.approx(180)
    assert "recording" in drawn.note
    poses = pose_from_yaw_pitch(np.zeros((4, 3)), np.full(4, np.pi / 2))
    assert draw_map("m", TaskView(CLIP, poses, 2)).trail[0][2] == pytest.approx(-90)


def test_the_place_lies_under_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    worlds.names()
    monkeypatch.setitem(worlds._entries, "toymeadow", Entry("toymeadow", "tests", lambda: Voxel.from_cells(meadow())))
    drawn = draw_map("m", TaskView(CLIP, walk(), 5, WorldFacts("toymeadow", {})))
    (image,) = ElementTree.fromstring(str(drawn.svg)).iter("image")
    kind, data = image.get("href", "").split(",")
    assert kind == "data:image/png;base64"
    picture = cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_COLOR)
    assert picture.shape[0] == picture.shape[1] > 20
    assert drawn.note == ""


def test_corridors_and_long_names() -> None:
    circles = np.array([[20.0, 20.0, 0.5], [22.0, 20.0, 1.0]])
    root = ElementTree.fromstring(str(draw_map("m", TaskView(CLIP, walk(), 5), [], circles).svg))
    (group,) = [g for g in root.iter("g") if g.get("class") == "corridor"]
    (a, b) = list(group)
    assert float(b.get("r", 0)) == pytest.approx(2 * float(a.get("r", 0)), rel=0.02)
    assert float(b.get("cx", 0)) - float(a.get("cx", 0)) == pytest.approx(2 * float(b.get("r", 0)), rel=0.02)
    marks = {"A": (20.0, 20.0), "street lamp": (24.0, 20.0)}
    root = ElementTree.fromstring(str(draw_map("m", TaskView(CLIP, walk(), 5, None, marks)).svg))
    texts = {t.text: float(t.get("x", 0)) for t in root.iter("text")}
    rings = sorted(float(c.get("cx", 0)) for g in root.iter("g") if g.get("class") == "mark" for c in g.iter("circle"))
    assert texts["A"] == pytest.approx(rings[0])
    assert abs(texts["street lamp"] - rings[1]) > 8
    drawn = draw_map("m", TaskView(CLIP, walk(), 5, WorldFacts("no-such-world", {})))
    assert "cannot be rendered" in drawn.note


def plan(name: str, *points: tuple[float, float]) -> MapPath:
    return MapPath(SeriesStyle(f"s-{name}", "k1", name), np.array(points, float))


def places(group: ElementTree.Element) -> np.ndarray:
    (line,) = [p for p in group.iter("polyline") if p.get("class") == "line"]
    return np.array([[float(v) for v in pair.split(",")] for pair in line.get("points", "").split()])


def test_both_axes_have_one_scale_and_the_bar_tells_it() -> None:
    square = plan("a", (20.0, 20.0), (22.0, 20.0), (22.0, 22.0))
    root = ElementTree.fromstring(str(draw_map("m", TaskView(CLIP, walk(), 5), [square]).svg))
    (group,) = [g for g in root.iter("g") if g.get("class") == "plan k1"]
    points = places(group)
    across, up = points[1] - points[0], points[2] - points[1]
    assert across[0] == pytest.approx(-up[1], abs=0.2)
    (ruler,) = [g for g in root.iter("g") if g.get("class") == "ruler"]
    bar = next(ruler.iter("path")).get("d", "")
    left, right = float(bar[1:].split()[0]), float(bar.split("H")[1].split("V")[0])
    metres = float(next(ruler.iter("text")).text.split()[0])
    assert (right - left) / metres == pytest.approx(across[0] / 2, rel=0.01)


def test_plans_that_stray_or_stay() -> None:
    near, far = plan("near", (20.0, 20.0), (24.0, 20.5)), plan("far <1>", (20.0, 20.0), (20.0, 120.0))
    alone = draw_map("m", TaskView(CLIP, walk(), 5), [near])
    both = draw_map("m", TaskView(CLIP, walk(), 5), [near, far])
    assert "Not wholly" not in alone.note
    assert both.note.endswith("Not wholly on the map: far <1> (100 m from its start).")
    (x, _, _), (u, _, _) = alone.trail[0], both.trail[0]
    assert abs(u - SIDE_PX / 2) > 0.4 * abs(x - SIDE_PX / 2), "the walk keeps its size"
    still = [plan("a", (20.0, 20.0), (20.01, 20.0)), plan("b", (20.0, 20.0))]
    root = ElementTree.fromstring(str(draw_map("m", TaskView(CLIP, walk(), 5), still).svg))
    rings = [c.get("r") for c in root.iter("circle") if c.get("class") == "stay"]
    assert len(set(rings)) == 2


def plan_of_floor() -> FloorPlan:
    free = np.ones((40, 20), bool)
    free[30:, :10] = False
    return FloorPlan(free, np.zeros((40, 20), np.float32), (10.0, 15.0), 0.5)


def test_a_floor_plan_is_drawn_where_it_lies() -> None:
    view, corner, side = floor_view(plan_of_floor(), np.array([8.0, 14.0]), 20.0)
    assert (corner <= [8.0, 14.0]).all()
    assert (corner + side >= 28.0).all()

    def at(x: float, y: float) -> tuple[int, ...]:
        column, row = int((x - corner[0]) / 0.5), int((y - corner[1]) / 0.5)
        return tuple(int(v) for v in view[len(view) - 1 - row, column])

    assert (at(12.0, 16.0), at(26.0, 16.0), at(26.0, 22.0)) == (FREE, TAKEN, FREE)
    assert at(9.0, 16.0) == OUTSIDE


def test_a_world_with_a_floor_is_drawn_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Flat:
        facts = WorldFacts("toyflat", {})
        floor = plan_of_floor()
        landmarks = (Landmark("<table>", 1, (20.0, 18.0, 0.0), (24.0, 22.0, 1.0)),)

    worlds.names()
    monkeypatch.setitem(worlds._entries, "toyflat", Entry("toyflat", "tests", Flat))
    drawn = draw_map("m", TaskView(CLIP, walk(), 5, WorldFacts("toyflat", {})), [plan("a", (20.0, 20.0), (24.0, 20.0))])
    root = ElementTree.fromstring(str(drawn.svg))
    assert len(list(root.iter("image"))) == 1
    assert "<table>" in [t.text for t in root.iter("text")]
    assert drawn.note == ""


def test_the_roof_is_taken_off_a_walk_below_one(monkeypatch: pytest.MonkeyPatch) -> None:
    roof = {(x, y, 9): "red_wool" for x in range(18, 27) for y in range(18, 23)}
    low, high = walk(), walk()
    high[:, 2, 3] = 12.6
    worlds.names()
    monkeypatch.setitem(
        worlds._entries, "toyroof", Entry("toyroof", "tests", lambda: Voxel.from_cells(meadow(40, blocks=roof)))
    )

    def red(poses: np.ndarray) -> float:
        root = ElementTree.fromstring(str(draw_map("m", TaskView(CLIP, poses, 5, WorldFacts("toyroof", {}))).svg))
        data = next(root.iter("image")).get("href", "").split(",")[1]
        picture = cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_COLOR).astype(int)
        return float((picture[:, :, 2] > 1.5 * picture[:, :, 1]).mean())

    assert red(low) == 0.0
    assert red(high) > 0.02


def test_a_path_that_strays_is_cut_unless_all_of_it_is_asked_for() -> None:
    far = MapPath(SeriesStyle("s0", "k1", "far"), np.array([[20.0, 20.0], [20.0, 60.0]]))
    picture = TaskView(CLIP, walk(), 5)
    cut, whole = (draw_map("m", picture, [far], whole=each) for each in (False, True))
    assert "Not wholly on the map" in cut.note
    assert "Not wholly on the map" not in whole.note
    (line,) = [
        p
        for g in ElementTree.fromstring(str(whole.svg)).iter("g")
        if (g.get("class") or "").startswith("plan ")
        for p in g.iter()
        if p.get("class") == "line"
    ]
    numbers = [
        float(v)
        for v in (line.get("d") or line.get("points") or "")
        .replace("M", " ")
        .replace("L", " ")
        .replace(",", " ")
        .split()
    ]
    assert len(numbers) == 4
    assert all(0 <= v <= SIDE_PX for v in numbers)
