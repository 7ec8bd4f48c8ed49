from __future__ import annotations

import base64
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

from toyworld import meadow
from worldgauge.episode import WorldFacts
from worldgauge.geometry import pose_from_yaw_pitch
from worldgauge.registry import Entry
from worldgauge.report.map import SIDE_PX, draw_map, state_colours, top_view
from worldgauge.suites.contract import Picture
from worldgauge.video import Clip
from worldgauge.worlds import worlds
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import block

CLIP = Clip.from_array(np.zeros((5, 4, 4, 3), np.uint8), 20.0)


def walk() -> np.ndarray:
    x = np.array([20, 21, 22, 23, 24, 24, 23, 22, 21, 20], float)
    yaw = np.repeat([0.0, np.pi], 5)
    return pose_from_yaw_pitch(np.stack([x, np.full(10, 20.0), np.full(10, 5.6)], 1), yaw)


def test_north_is_up_and_east_is_right() -> None:
    cells = meadow(16, blocks={(2, 13, 4): "red_wool", (13, 2, 4): "blue_wool"})
    view = top_view(cells, (0, 0), 16)
    assert view[2, 2, 0] > 1.5 * view[2, 2, 1]
    assert view[13, 13, 2] > 1.5 * view[13, 13, 1]


def test_outside_of_the_world_is_grey() -> None:
    view = top_view(meadow(16), (-4, -4), 24)
    assert (view[0, 0] == 128).all()
    assert not (view[12, 12] == 128).all()


def test_every_state_has_a_colour() -> None:
    colours = state_colours()
    assert ((colours >= 0) & (colours <= 255)).all()
    assert colours[block("snow_block")].min() > 200


def test_the_way_is_drawn_where_it_was_walked() -> None:
    drawn = draw_map("m", Picture(CLIP, walk(), 5, None, {"A": (20.0, 20.0), "<B>": (24.0, 20.0)}))
    root = ElementTree.fromstring(str(drawn.svg))
    ways = {line.get("class"): line.get("points", "").split() for line in root.iter("polyline")}
    assert len(ways["way-out"]) == 6
    assert len(ways["way-back"]) == len(drawn.trail) == 5
    first, last = drawn.trail[0], drawn.trail[-1]
    assert first[0] > last[0]
    assert first[1] == last[1] == pytest.approx(SIDE_PX / 2)
    assert abs(first[2]) == pytest.approx(180)
    assert "recording" in drawn.note


def test_headings_turn_as_the_screen_does() -> None:
    poses = pose_from_yaw_pitch(np.zeros((4, 3)), np.full(4, np.pi / 2))
    assert draw_map("m", Picture(CLIP, poses, 2)).trail[0][2] == pytest.approx(-90)


def test_the_place_lies_under_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    worlds.names()
    monkeypatch.setitem(worlds._entries, "toymeadow", Entry("toymeadow", "tests", lambda: Voxel.from_cells(meadow())))
    drawn = draw_map("m", Picture(CLIP, walk(), 5, WorldFacts("toymeadow", {})))
    (image,) = ElementTree.fromstring(str(drawn.svg)).iter("image")
    kind, data = image.get("href", "").split(",")
    assert kind == "data:image/png;base64"
    picture = cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_COLOR)
    assert picture.shape[0] == picture.shape[1] > 20
    assert drawn.note == ""


def test_a_world_that_is_gone_is_said_and_not_raised() -> None:
    drawn = draw_map("m", Picture(CLIP, walk(), 5, WorldFacts("no-such-world", {})))
    assert "cannot be drawn" in drawn.note
