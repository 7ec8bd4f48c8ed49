from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from scipy import ndimage

from support.settlements import NAMES, world_of
from worldgauge.worlds.voxel.blocks import CATEGORIES, CATEGORY_OF, GROUND, LIQUID, SHAPE_OF, SHAPES, SOLID, block
from worldgauge.worlds.voxel.buildings import DESIGNS
from worldgauge.worlds.voxel.generate import GROUNDS, decay
from worldgauge.worlds.voxel.parts import BuildingSite
from worldgauge.worlds.voxel.styles import BIOMES
from worldgauge.worlds.voxel.terrain import SIDES, Canvas, PlotFrame, Stamp
from worldgauge.worlds.voxel.world import KINDS as WORLD_KINDS
from worldgauge.worlds.voxel.world import VoxelWorld

BUILDING = CATEGORIES.index("building") == CATEGORY_OF
REACH_M = 80


@pytest.mark.parametrize("kind", WORLD_KINDS)
def test_a_settlement_has_houses_farms_and_ways(kind: str) -> None:
    houses = [box for box, cells in _objects(world_of(kind, 3)) if np.count_nonzero(BUILDING[cells]) > 120]
    assert len(houses) >= 10
    extents = {tuple(s.stop - s.start for s in box) for box in houses}
    assert len(extents) >= 6
    # There are farms lights and a well.
    world = world_of(kind, 3)
    names = set(NAMES[np.unique(world.states)])
    assert {"farmland", "hay_bale", "barrel", "pumpkin", "wheat"} <= names
    assert ("lantern_post" in names) == (kind != "zombie")
    x, y = world.centre
    assert LIQUID[world.states[x - 7 : x + 8, y - 7 : y + 8]].any()
    assert GROUND[world.states[x - 1 : x + 2, y - 1 : y + 2, world.surface(x, y) - 1]].all()
    assert not world.states[x, y, world.surface(x, y) + 1 :].any()
    if kind == "zombie":
        assert {"mossy_cobblestone", "rotten_planks", "cobweb"} <= names
        assert "torch" not in names
    # A walker gets about.
    world = world_of(kind, 3)
    reached = _walk(world)
    filled = SOLID[world.states] | LIQUID[world.states]
    top = world.shape[2] - 1 - np.argmax(filled[:, :, ::-1], axis=2)
    here, below = (np.take_along_axis(world.states, (top - n)[..., None], 2)[..., 0] for n in (0, 1))
    x, y = np.ogrid[: world.shape[0], : world.shape[1]]
    near = (x - world.centre[0]) ** 2 + (y - world.centre[1]) ** 2 <= REACH_M**2
    goals = GROUND[here] & GROUND[below] & near
    assert goals.sum() > 10_000
    assert reached[goals].mean() > 0.8


def test_seeds_give_other_layouts() -> None:
    masks = [BUILDING[world_of("plains", seed).states].any(axis=2) for seed in (3, 4, 5)]
    for one, two in ((0, 1), (1, 2), (0, 2)):
        common = np.count_nonzero(masks[one] & masks[two]) / np.count_nonzero(masks[one] | masks[two])
        assert common < 0.35


@pytest.mark.parametrize("turn", range(4))
def test_a_frame_turns_the_front_to_the_street(turn: int) -> None:
    canvas = Canvas.blank((20, 20, 8))
    frame = PlotFrame(canvas, 4, 5, 2, 6, 3, turn, canvas.begin())
    frame.box(range(6), range(3), range(1), "stone")
    expected = (6, 3) if turn % 2 == 0 else (3, 6)
    filled = np.argwhere(canvas.states)
    np.testing.assert_array_equal(filled.min(0), (4, 5, 2))
    np.testing.assert_array_equal(filled.max(0)[:2] + 1 - (4, 5), expected)
    inner, front = np.array(frame.cell(2, 1)), np.array(frame.cell(2, 0))
    np.testing.assert_array_equal(front - inner, ((0, -1), (1, 0), (0, 1), (-1, 0))[turn])
    # A stair that is high at the back has its high side away from the street.
    frame.put(0, 0, 1, "oak_stairs", SIDES[1])
    assert canvas.states[(*frame.cell(0, 0), 3)] == block(
        f"oak_stairs[facing={('north', 'west', 'south', 'east')[turn]}]"
    )


def test_a_stamp_leaves_what_stands_but_wood_grows_through_leaves() -> None:
    canvas = Canvas.blank((8, 8, 8))
    canvas.put(1, 1, 1, "oak_leaves", 7)
    canvas.put(2, 1, 1, "stone", 0)
    canvas.stamp(1, 1, 1, Stamp.of([(0, 0, 0, "oak_log"), (1, 0, 0, "oak_log"), (0, 1, 0, "oak_leaves")]), 9)
    assert canvas.states[1, 1, 1] == block("oak_log")
    assert canvas.states[2, 1, 1] == block("stone")
    assert canvas.instances[1, 2, 1] == 9


@pytest.mark.parametrize("kind", WORLD_KINDS)
@pytest.mark.parametrize("name", [*DESIGNS, *GROUNDS])
def test_a_design_keeps_to_its_plot_and_opens_to_the_street(name: str, kind: str) -> None:
    rng = np.random.default_rng(5)
    design = (DESIGNS | GROUNDS)[name]
    width, depth = design.plot(rng)
    canvas = Canvas.blank((40, 40, 40))
    canvas.states[:, :, :11] = block("dirt")
    frame = PlotFrame(canvas, 10, 10, 10, width, depth, 0, canvas.begin())
    u, v = design.draw(BuildingSite(frame, BIOMES[kind].palettes[0], BIOMES[kind], rng))
    assert canvas.states[10:, 10:].any()
    drawn = np.argwhere(canvas.instances)
    assert (drawn.min(0)[:2] >= 10).all()
    assert (drawn.max(0)[:2] < (10 + width, 10 + depth)).all()
    assert drawn.max(0)[2] - 10 <= 22
    # From the street to the door, and one step on, a body passes; the well is closed all round.
    for row in range(0, v + 2) if name not in ("well", "stall", "farm") else ():
        for w in (1, 2):
            assert not SOLID[canvas.states[10 + u, 10 + row, 10 + w]] or frame.get(u, row, w) == "white_carpet"
    assert design.width[1] <= 25
    assert design.depth[1] + 3 <= 25


def test_a_ruin_has_holes_and_nothing_floats() -> None:
    rng = np.random.default_rng(6)
    canvas = Canvas.blank((40, 40, 40))
    canvas.states[:, :, :11] = block("dirt")
    width, depth = DESIGNS["longhouse"].plot(rng)
    frame = PlotFrame(canvas, 10, 10, 10, width, depth, 0, canvas.begin())
    DESIGNS["longhouse"].draw(BuildingSite(frame, BIOMES["zombie"].palettes[0], BIOMES["zombie"], rng))
    before = np.count_nonzero(canvas.instances)
    decay(rng, canvas, (slice(10, 10 + width), slice(10, 10 + depth)), 10, frame.instance)
    after = np.count_nonzero(canvas.instances)
    assert 0.5 * before < after < 0.97 * before
    _, parts = ndimage.label(canvas.states > 0)
    assert parts == 1


def _objects(world: VoxelWorld) -> list[tuple[tuple[slice, slice, slice], np.ndarray]]:
    """Bounding box and states of every object."""
    boxes = ndimage.find_objects(world.instances.astype(np.int32))
    return [(box, world.states[box][world.instances[box] == n]) for n, box in enumerate(boxes, 1)]


def _walk(world: VoxelWorld) -> np.ndarray:
    """Columns (X, Y) reached from the settlement's centre: steps up of one cell, drops of up to four, no water."""
    body = SOLID[world.states] | LIQUID[world.states]
    thin = np.isin(SHAPE_OF, [SHAPES.index("pane"), SHAPES.index("post")])[world.states]
    stand = np.zeros(world.shape, bool)
    stand[:, :, 1:-1] = SOLID[world.states[:, :, :-2]] & ~thin[:, :, :-2] & ~body[:, :, 1:-1] & ~body[:, :, 2:]
    size_x, size_y, size_z = world.shape
    x0, y0 = world.centre
    can, blocked = stand.tobytes(), body.tobytes()
    seen = bytearray(len(can))
    start = (x0 * size_y + y0) * size_z + world.surface(x0, y0) + 1
    assert can[start]
    seen[start] = 1
    todo = deque([start])
    while todo:
        at = todo.popleft()
        column, z = divmod(at, size_z)
        x, y = divmod(column, size_y)
        if not (1 <= x < size_x - 1 and 1 <= y < size_y - 1):
            continue
        for step in (size_y, -size_y, 1, -1):
            base = (column + step) * size_z
            for rise in (1, 0, -1, -2, -3, -4):
                to = base + z + rise
                if rise == 1 and (blocked[at + 2] or not can[to]):
                    continue
                if rise < 1 and (blocked[base + z] or blocked[base + z + 1]):
                    break
                if can[to]:
                    if not seen[to]:
                        seen[to] = 1
                        todo.append(to)
                    break
    return np.frombuffer(bytes(seen), np.uint8).reshape(world.shape).any(axis=2)
