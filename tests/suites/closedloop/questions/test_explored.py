"""A map made of depth: what was seen, where it ends, and the way there."""

import math

import numpy as np
import pytest

from worldgauge.core.geometry import Panorama, pose_from_yaw_pitch
from worldgauge.suites.closedloop.questions.proposer import ExploredFloor
from worldgauge.worlds.indoor.boxes import Box, Boxes, Paint
from worldgauge.worlds.indoor.camera import BoxScene, render

PAINT = Paint("plain", (120, 120, 120))
CAMERA = Panorama(256, 128)


def room(*boxes):
    """A room of 8 x 4 m whose east wall has a doorway of 1 m; more boxes by corners."""
    shell = [
        ((0, 0, -0.1), (16, 4, 0)),
        ((0, 0, 2.6), (16, 4, 2.7)),
        ((-0.1, 0, 0), (0, 4, 2.6)),
        ((0, -0.1, 0), (16, 0, 2.6)),
        ((0, 4, 0), (16, 4.1, 2.6)),
        ((8, 0, 0), (8.1, 1.5, 2.6)),
        ((8, 2.5, 0), (8.1, 4, 2.6)),
        ((16, 0, 0), (16.1, 4, 2.6)),
    ]
    return BoxScene.of(Boxes.of([Box(low, high, 1, 0, PAINT) for low, high in (*shell, *boxes)], 0))


def looked(scene, *places):
    known = ExploredFloor()
    for x, y in places:
        pose = pose_from_yaw_pitch([x, y, 1.0], 0.3)
        known.take(pose, render(scene, pose, CAMERA).depth)
    return known, pose


def test_the_doorway_is_where_the_seen_floor_ends():
    known, pose = looked(room(), (5.0, 2.0))
    (*_, far) = sorted(known.frontiers(pose), key=lambda one: one.xy[0])
    assert far.xy[0] > 8.0
    assert far.walk_m == pytest.approx(math.hypot(*(far.xy - pose[:2, 3])), rel=0.35)
    assert far.towards == pytest.approx(far.xy, abs=0.2), "in a straight line"


def test_a_closed_room_has_no_frontier():
    known, pose = looked(room(((8, 1.4, 0), (8.1, 2.6, 2.6))), (2.0, 2.0), (6.0, 2.0))
    assert known.frontiers(pose) == []


def test_the_way_leads_round_what_stands_there():
    table = ((4.0, 0.6, 0.0), (4.6, 3.0, 0.75))
    known, pose = looked(room(table), (2.0, 1.0), (2.0, 3.5))
    to = known.way_to(pose, np.array([7.5, 1.0]))
    assert to is not None
    line = pose[:2, 3] + np.linspace(0, 1, 50)[:, None] * (to - pose[:2, 3])
    inside = (line > [4.0, 0.6]).all(1) & (line < [4.6, 3.0]).all(1)
    assert not inside.any()


def test_a_block_closes_a_way():
    known, pose = looked(room(), (6.0, 2.0))
    assert any(one.xy[0] > 8 for one in known.frontiers(pose))
    for y in np.arange(1.4, 2.7, 0.1):
        known.block(np.array([8.05, y]))
    assert not any(one.xy[0] > 8.2 for one in known.frontiers(pose))


def test_nothing_is_known_before_anything_was_seen():
    known = ExploredFloor()
    pose = pose_from_yaw_pitch([0.0, 0.0, 1.0], 0.0)
    assert known.frontiers(pose) == []
    assert known.way_to(pose, np.zeros(2)) is None


def test_the_map_does_not_depend_on_where_the_world_begins():
    here, pose = looked(room(), (2.0, 2.0))
    known = ExploredFloor()
    moved = pose.copy()
    moved[:2, 3] += [100.0, -50.0]
    known.take(moved, render(room(), pose, CAMERA).depth)
    first, second = here.frontiers(pose), known.frontiers(moved)
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        assert other.xy - [100.0, -50.0] == pytest.approx(one.xy, abs=1e-6)
