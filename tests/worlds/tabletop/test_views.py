"""Pictures against geometry worked out beside them, and graphics that last."""

import math
import os
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError, WorldError
from worldgauge.core.geometry import Camera, FloatArray, Panorama, invert
from worldgauge.worlds.tabletop import Tabletop, engine
from worldgauge.worlds.tabletop.contract import TABLE_M, TableObject
from worldgauge.worlds.tabletop.pose_plans import reaching_down
from worldgauge.worlds.tabletop.simulation import (
    Simulation,
    front_camera,
    front_pose,
    matrix_of,
    wrist_camera,
    wrist_pose,
)

PLACE, HALF = np.array([0.3, 0.1, TABLE_M + 0.05]), np.array([0.04, 0.06, 0.05])
BLOCK = TableObject("red block", "thing", "block", "red", tuple(HALF))
OFF_CENTRE = Camera(200, 160, 260.0, 240.0, 70.0, 95.0)


@pytest.fixture
def block(furnished: Callable[..., Simulation]) -> Simulation:
    return furnished(tuple(HALF), *PLACE[:2], 0.05, things=(BLOCK,))


def seen_at(points: FloatArray, pose: FloatArray, camera: Camera) -> tuple[FloatArray, FloatArray]:
    """Pixels (n, 2) and depths (n,) of points (n, 3), written out."""
    local = points @ invert(pose)[:3, :3].T + invert(pose)[:3, 3]
    pixels = local[:, :2] / local[:, 2:] * (camera.fx, camera.fy) + (camera.cx, camera.cy)
    return pixels, local[:, 2]


@pytest.mark.parametrize("camera", [front_camera(448), front_camera(480), OFF_CENTRE])
def test_a_block_is_seen_where_its_corners_are(block: Simulation, camera: Camera) -> None:
    view = block.view(front_pose(), camera)
    assert view.rgb.shape == (camera.height, camera.width, 3)
    corners = PLACE + HALF * np.array(list(product((-1, 1), repeat=3)))
    pixels, _ = seen_at(corners, front_pose(), camera)
    rows, columns = np.nonzero(view.instance == 1)
    assert columns.min() == pytest.approx(pixels[:, 0].min(), abs=1.0)
    assert columns.max() + 1 == pytest.approx(pixels[:, 0].max(), abs=1.0)
    assert rows.min() == pytest.approx(pixels[:, 1].min(), abs=1.0)
    assert rows.max() + 1 == pytest.approx(pixels[:, 1].max(), abs=1.0)
    reds = view.rgb[view.instance == 1].astype(int)
    assert (reds[:, 0] > 2 * reds[:, 1:].max(1)).mean() > 0.99


@pytest.mark.parametrize("camera", [front_camera(224), OFF_CENTRE])
def test_depth_is_that_of_table_and_block(block: Simulation, camera: Camera) -> None:
    view = block.view(front_pose(), camera, position=True)
    names = block.world.categories
    rays = camera.unproject(np.ones((camera.height, camera.width))) @ front_pose()[:3, :3].T
    expected = (TABLE_M - front_pose()[2, 3]) / rays[..., 2]
    table = view.category == names.index("table")
    assert table.mean() > 0.2
    # Its rim is seen from the side.
    flat = table & (np.abs(expected) < 1.6)
    np.testing.assert_allclose(view.depth[flat], expected[flat], atol=0.002)
    assert view.position is not None
    points = view.position[view.instance == 1] - PLACE
    off = np.abs(np.abs(points) - HALF)
    assert (off.min(1) < 0.002).all()
    assert (np.abs(points) < HALF + 0.002).all()


def test_masks_name_arm_table_and_things(block: Simulation) -> None:
    view = block.view(front_pose(), front_camera(224))
    names = block.world.categories
    assert set(np.unique(view.category)) == {names.index(name) for name in ("background", "table", "arm", "block")}
    np.testing.assert_array_equal(view.instance == 1, view.category == names.index("block"))
    hand, _ = seen_at(np.array([block.hand[:3]]) + np.array([0.0, 0.0, 0.08]), front_pose(), front_camera(224))
    column, row = np.floor(hand[0]).astype(int)
    assert view.category[row, column] == names.index("arm")


def test_outside_there_is_nothing(block: Simulation) -> None:
    away = front_pose()
    away[:3, 3] = (0, 0, 50)
    view = block.view(away, Camera.from_vertical_fov(32, 32, 40.0), position=True)
    assert np.isinf(view.depth).all()
    assert not view.category.any()
    assert not view.instance.any()
    assert view.position is not None
    assert np.isnan(view.position).all()


def test_colours_alone_are_those_of_the_view(block: Simulation) -> None:
    view = block.view(front_pose(), front_camera(96))
    np.testing.assert_array_equal(block.front(96), view.rgb)
    np.testing.assert_array_equal(block.rgb(front_pose(), front_camera(96)), view.rgb)


def test_a_task_recolours_a_thing_and_nothing_else_changes(block: Simulation) -> None:
    before, colours = block.front(96), block.model.geom_rgba.copy()
    block.task.painted["red"] = (0.0, 0.0, 1.0)  # type: ignore[attr-defined]
    changed = (block.front(96) != before).any(-1)
    mask = block.view(front_pose(), front_camera(96)).instance == 1
    np.testing.assert_array_equal(changed, mask)
    np.testing.assert_array_equal(block.model.geom_rgba, colours)


def test_what_cannot_be_taken_is_refused(block: Simulation) -> None:
    with pytest.raises(UsageError, match="not all around"):
        block.view(front_pose(), Panorama(64, 32))
    with pytest.raises(UsageError, match="4096"):
        block.front(5000)


def test_many_worlds_neither_pile_up_nor_mix(folder: Path) -> None:
    plain = [Simulation(Tabletop("push_buttons", n, seed=n)) for n in range(4)]
    dressed = [Simulation(Tabletop("push_buttons", n, seed=n, meshes=str(folder))) for n in range(2 + engine._KEPT)]
    tables = [*dressed, *plain]
    first = [table.front(64) for table in tables]
    assert len({picture.tobytes() for picture in first}) == len(tables)
    for table, picture in zip(tables, first, strict=True):
        np.testing.assert_array_equal(table.front(64), picture)
        # Larger buffers are not of consequence.
        table.front(80)
        np.testing.assert_array_equal(table.front(64), picture)
        assert len(engine._DRAWINGS) <= engine._KEPT


def test_threads_draw_side_by_side() -> None:
    tables = [Simulation(Tabletop("slide_block", n, seed=n)) for n in range(3)]
    expected = [table.front(64) for table in tables]
    drawn: dict[int, list[NDArray[np.uint8]]] = {n: [] for n in range(3)}

    def draw(n: int) -> None:
        drawn[n] += [tables[n].front(64) for _ in range(5)]

    threads = [threading.Thread(target=draw, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, pictures in drawn.items():
        assert len(pictures) == 5
        assert all((picture == expected[n]).all() for picture in pictures)


def test_a_black_first_picture_is_tried_again_and_then_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    real, blacks = engine._pixels, [1]

    def flaky(drawing: Any, size_px: tuple[int, int], depth: Any = None) -> NDArray[np.uint8]:
        picture = real(drawing, size_px, depth)
        if blacks[0]:
            blacks[0] -= 1
            picture[:] = 0
        return picture

    monkeypatch.setattr(engine, "_pixels", flaky)
    monkeypatch.setattr(engine, "_DRAWINGS", OrderedDict())
    table = Simulation(Tabletop("push_buttons", 1, seed=8))
    picture = table.front(64)
    assert blacks == [0]
    assert picture.max() > 0
    engine._end()
    blacks[0] = 1000
    with pytest.raises(WorldError, match="one flat colour"):
        table.front(64)
    blacks[0] = 0
    np.testing.assert_array_equal(table.front(64), picture)
    engine._end()


FORKED = """
import os
from worldgauge.core.errors import WorldError
from worldgauge.worlds.tabletop.simulation import Simulation
from worldgauge.worlds.tabletop import Tabletop

table = Simulation(Tabletop("push_buttons", 0, seed=0))
if (child := os.fork()) == 0:
    table.front(32)
    os._exit(3)
before = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
table.front(32)
if (child := os.fork()) == 0:
    try:
        table.front(32)
    except WorldError as error:
        os._exit(4 if "forked" in str(error) else 5)
    os._exit(6)
after = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(before, after, table.front(32).max() > 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_fork_draws_of_its_own_and_is_stopped_where_it_would_hang() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout.split()) == (0, ["3", "4", "True"]), done.stderr


DRAW = """
import sys
from worldgauge.core.errors import WorldError
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.simulation import Simulation
sys.modules["mujoco.egl"] = None
try: Simulation(Tabletop("push_buttons", 0)).front(32)
except WorldError as error: print(error)
"""


@pytest.mark.parametrize("engine", [None, "raise AttributeError(\"'NoneType' object has no attribute 'glGetError'\")"])
def test_without_graphics_or_their_libraries_it_says_what_to_install(engine: str | None, tmp_path: Path) -> None:
    if engine is not None:
        (tmp_path / "mujoco.py").write_text(engine)
    environment = {name: value for name, value in os.environ.items() if name != "MUJOCO_GL"}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-c", DRAW], capture_output=True, text=True, check=True, env=environment)
    assert "libegl1, libopengl0 and libgl1-mesa-dri" in done.stdout
    assert done.stdout.count("\n") == 1


TILT = math.radians(5)


def test_the_wrist_camera_of_a_hand_that_points_down_by_hand() -> None:
    pose = wrist_pose(reaching_down(0.2, -0.1, 1.1, 1.0))
    np.testing.assert_allclose(pose[:3, 3], [0.25, -0.098, 1.1921], atol=1e-9)
    right, down, forward = [0, -1, 0], [-math.cos(TILT), 0, math.sin(TILT)], [-math.sin(TILT), 0, -math.cos(TILT)]
    np.testing.assert_allclose(pose[:3, :3], np.transpose([right, down, forward]), atol=1e-9)
    turned = wrist_pose(reaching_down(0.2, -0.1, 1.1, 1.0, yaw_rad=math.pi / 2))
    np.testing.assert_allclose(turned[:3, 3], [0.198, -0.05, 1.1921], atol=1e-9)


def test_the_cameras_are_those_of_the_released_demonstrations() -> None:
    """Their hand is ours turned half about its z; their cameras have x left and y up."""
    released = np.eye(4)
    released[:3] = [[0, -0.9962, 0.0872, -0.05], [1, 0, 0, 0.002], [0, 0.0872, 0.9962, -0.0921]]
    flipped, half = np.diag([-1.0, -1, 1, 1]), np.diag([-1.0, -1, 1, 1])
    rng = np.random.default_rng(0)
    for _ in range(5):
        quaternion = rng.normal(size=4)
        hand = np.array([*rng.normal(size=3), *quaternion / np.linalg.norm(quaternion), 1])
        np.testing.assert_allclose(wrist_pose(hand), matrix_of(hand) @ half @ released @ flipped, atol=1e-4)
    front = np.array([[0, -0.42262, -0.90631, 1.35], [-1, 0, 0, 0], [0, 0.90631, -0.42262, 1.58], [0, 0, 0, 1]])
    np.testing.assert_allclose(front_pose(published=True), front @ flipped, atol=1e-5)
    assert front_camera(256, published=True).fx == pytest.approx(351.67712)
    assert wrist_camera(256).fx == pytest.approx(221.7025)


def test_the_wrist_sees_a_block_where_its_corners_are(block: Simulation) -> None:
    for hand in (reaching_down(0.25, 0.1, 1.1, 1), reaching_down(0.3, 0.15, 1.05, 1, yaw_rad=0.8)):
        assert block.move(hand).reason is None
        seen = block.wrist(224).astype(int)
        rows, columns = np.nonzero(seen[..., 0] > 2 * seen[..., 1:].max(-1))
        corners = PLACE + HALF * np.array(list(product((-1, 1), repeat=3)))
        pixels, _ = seen_at(corners, wrist_pose(block.hand), wrist_camera(224))
        edges = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
        np.testing.assert_allclose(edges, [*pixels.min(0), *pixels.max(0)], atol=1.0)


def test_the_wrist_sees_between_the_tips_and_the_palm_stays_in_other_views(block: Simulation) -> None:
    home, front = block.wrist(64), block.front(64)
    np.testing.assert_array_equal(block.front(64), front)
    assert block.move(reaching_down(0.3, 0.1, 0.87, 1)).reason is None
    over = block.wrist(224)
    ((column, row),), _ = seen_at(np.array([[0.3, 0.1, 0.85]]), wrist_pose(block.hand), wrist_camera(224))
    red, *others = over[int(row), int(column)].astype(int)
    assert red > 2 * max(others)
    assert block.move(reaching_down(0.3, 0.1, 0.87, 0)).reason is None
    closed = block.wrist(224)
    assert closed[int(row), int(column)].max() < 100, "the fingers have met there"
    assert np.abs(block.wrist(64).astype(int) - home).mean() > 10
