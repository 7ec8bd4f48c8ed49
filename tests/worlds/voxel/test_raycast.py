"""The camera against a brute-force tracer that knows no grid walk: every ray against every box and plane, float64."""

import numpy as np
import pytest

from support.cells import FACE_NAMES, SKY_LABEL, litter
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.worlds.voxel.blocks import AIR, CATEGORY_OF, FACING_OF, KINDS, SHAPE_OF, SHAPES, STATES
from worldgauge.worlds.voxel.camera import Grid, render
from worldgauge.worlds.voxel.textures import SHADES, texture_of
from worldgauge.worlds.voxel.world import VoxelWorld


def free_place(world: VoxelWorld, rng: np.random.Generator) -> np.ndarray:
    while True:
        cell = rng.integers([0, 0, 1], world.shape)
        if world.states[tuple(cell)] == AIR:
            return cell + rng.uniform(0.05, 0.95, 3)


def boxes_of(world: VoxelWorld, cell: tuple[int, int, int]) -> list[tuple[float, ...]]:
    """Corners in the cell, in sixteenths."""
    state = world.states[cell]
    kind = KINDS[STATES[state].kind]

    def beside(dx: int, dy: int) -> bool:
        other = cell[0] + dx, cell[1] + dy, cell[2]
        return bool(world.inside(*other) and SHAPES[SHAPE_OF[world.states[other]]] in ("cube", "pane"))

    if kind.shape == "stairs":
        high = {0: (8, 0, 8, 16, 16, 16), 1: (0, 8, 8, 16, 16, 16), 2: (0, 0, 8, 8, 16, 16), 3: (0, 0, 8, 16, 8, 16)}
        return [(0, 0, 0, 16, 16, 8), high[int(FACING_OF[state])]]
    if kind.shape == "pane":
        core, arm = {"glass_pane": (1, 1), "cobblestone_wall": (4, 3)}.get(kind.name, (2, 1))
        parts = [(8 - core, 8 - core, 0, 8 + core, 8 + core, 16)]
        parts += [(8 + core, 8 - arm, 0, 16, 8 + arm, 16)] * beside(1, 0)
        parts += [(8 - arm, 8 + core, 0, 8 + arm, 16, 16)] * beside(0, 1)
        parts += [(0, 8 - arm, 0, 8 - core, 8 + arm, 16)] * beside(-1, 0)
        parts += [(8 - arm, 0, 0, 8 + arm, 8 - core, 16)] * beside(0, -1)
        return parts
    above = cell[0], cell[1], cell[2] + 1
    deep = world.inside(*above) and SHAPES[SHAPE_OF[world.states[above]]] == "liquid"
    return {
        "cube": [(0, 0, 0, 16, 16, 16)],
        "slab": [(0, 0, 0, 16, 16, 8)],
        "top_slab": [(0, 0, 8, 16, 16, 16)],
        "post": [(6, 6, 0, 10, 10, 13 if kind.name == "torch" else 16)],
        "layer": [(0, 0, 0, 16, 16, 2)],
        "liquid": [(0, 0, 0, 16, 16, 16 if deep else 14)],
        "carpet": [(0, 0, 0, 16, 16, 1)],
        "quarter": [(0, 0, 0, 16, 16, 4)],
        "three_quarter": [(0, 0, 0, 16, 16, 12)],
        "cross": [],
    }[kind.shape]


def trace(world: VoxelWorld, origin: np.ndarray, rays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Nearest hit of rays (N, 3): parameter (inf: none), cell (N, 3), face, texel colour lit (N, 3)."""
    n = len(rays)
    best = np.full(n, np.inf)
    cells, faces, colours = np.zeros((n, 3), int), np.full(n, -1), np.zeros((n, 3))

    def offer(t, face, across, down, cell, valid):
        state = int(world.states[cell])
        row, column = ((np.clip(np.nan_to_num(w), 0, 0.9999) * 16).astype(int) for w in (down, across))
        tiles = np.stack([texture_of(state, name) for name in FACE_NAMES])
        texel = tiles[face, row, column].astype(float)
        valid = valid & (t > 0) & (t < best) & (texel[:, 3] > 0)
        best[valid], faces[valid], cells[valid] = t[valid], face[valid], cell
        colours[valid] = np.rint(texel[valid, :3] * SHADES[face[valid], None])

    for cell in map(tuple, np.argwhere(world.states > 0)):
        if SHAPES[SHAPE_OF[world.states[cell]]] == "cross":
            for sign in (1, -1):
                # Normals (1, -1, 0) and (1, 1, 0) through the middle of the cell; planes are one metre wide.
                normal = np.array([1.0, -sign, 0.0])
                middle = np.array(cell) + 0.5
                t = (middle - origin) @ normal / (rays @ normal)
                hit = origin + t[:, None] * rays - middle
                wide = hit[:, 0] * np.sqrt(2)
                inside = (np.abs(wide) < 0.5) & (np.abs(hit[:, 2]) < 0.5)
                offer(t, np.full(n, 6), wide + 0.5, 0.5 - hit[:, 2], cell, inside)
        for box in boxes_of(world, cell):
            low, high = np.array(cell) + np.array(box[:3]) / 16, np.array(cell) + np.array(box[3:]) / 16
            t0, t1 = (low - origin) / rays, (high - origin) / rays
            enter, leave = np.minimum(t0, t1), np.maximum(t0, t1)
            axis = enter.argmax(1)
            t = enter.max(1)
            face = 2 * axis + (rays[np.arange(n), axis] > 0)
            inside = t < leave.min(1)
            if KINDS[STATES[world.states[cell]].kind].shape == "cube":
                before = np.array(cell) - np.eye(3, dtype=int)[axis] * np.sign(rays).astype(int)
                same = [world.inside(*b) and world.states[tuple(b)] == world.states[cell] for b in before]
                inside &= ~np.array(same)
            x, y, z = (origin + t[:, None] * rays - np.array(cell)).T
            across = np.choose(face, [y, 1 - y, 1 - x, x, x, x])
            down = np.choose(face, [1 - z] * 4 + [1 - y, y])
            offer(t, face, across, down, cell, inside)
    return best, cells, faces, colours


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
@pytest.mark.parametrize("kind", ["wide", "narrow", "panorama"])
@pytest.mark.parametrize("outside", [False, True])
def test_agrees_with_the_brute_force_tracer(seed: int, kind: str, outside: bool) -> None:
    world = litter(seed)
    rng = np.random.default_rng(100 + seed)
    if outside:
        around = rng.uniform(0, 2 * np.pi)
        place = np.array([5.5 + 16 * np.cos(around), 6 + 16 * np.sin(around), rng.uniform(-2, 9)])
        yaw, pitch = around + np.pi, np.arctan2(3 - place[2], 16)
    else:
        place, yaw, pitch = free_place(world, rng), rng.uniform(0, 2 * np.pi), rng.uniform(-0.6, -0.2)
    fov = {"wide": 70.0, "narrow": 4.0 if outside else 12.0}
    camera = Panorama(48, 24) if kind == "panorama" else Camera.from_vertical_fov(44, 30, fov[kind])
    pose = pose_from_yaw_pitch(place, yaw, pitch)
    view = render(Grid.of(world), pose, camera, view_m=60.0)

    rays = (camera.rays() @ pose[:3, :3].T).reshape(-1, 3)
    t, cells, faces, colours = trace(world, place, rays)
    state = world.states[tuple(cells.T)]
    hit = np.isfinite(t)
    assert hit.mean() > 0.01
    # Only rays along an edge may fall to the other side of it.
    close = np.isclose(view.depth.ravel(), t, rtol=0, atol=1e-3)
    assert close.mean() > 0.995
    assert (view.category.ravel() == np.where(hit, CATEGORY_OF[state], SKY_LABEL))[close].mean() > 0.998
    assert (view.instance.ravel() == np.where(hit, world.instances[tuple(cells.T)], 0))[close].mean() > 0.998
    if kind == "narrow":
        # A texel is wider than a pixel here, so the colour is that texel in the light of its face.
        slant = np.abs(rays[np.arange(len(rays)), np.clip(faces, 0, 5) // 2])
        sharp = close & hit & ((faces == 6) | (slant > 0.3)) & (16 * np.where(hit, t, 0) / camera.fx < 0.7)
        assert sharp.sum() > 50
        assert (view.rgb.reshape(-1, 3) == colours).all(1)[sharp].mean() > 0.99
