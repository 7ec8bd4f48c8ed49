"""The eight families of scenes: what they are made of, where one can walk, and that they look different."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy import ndimage

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import CATEGORIES, GROUND, LIQUID, SOLID, STATES
from worldgauge.worlds.voxel.generate import SMALLEST, generate
from worldgauge.worlds.voxel.world import FAMILIES, KINDS

SEEDS = (0, 1, 2)
CAMERA = Camera.from_vertical_fov(160, 90, 60)
EYE_M = 1.62

# As for the settlements: after a wanted change of a family, put `generate(family, 0, SMALLEST).digest()` here, and
# say in the change log that scenes differ from those of earlier versions.
DIGESTS = {
    "landscape": "47f144e7e0a6248e1e69ddfec77b808a685220795c1b9a58fb796df06c810a68",
    "scifi": "40eddcf1b070c86dfe55930fc97a6b7f131209a9ce9ac97514bb7e2d7dbc1b71",
    "stylized": "78ad19b86829884f086b0183509a17877f02fcf822a823af806771d4e4006aaa",
    "ancient": "36bcd023750630fafea09df10b8f7247f9de4c84a4efd1e897547953e8410036",
    "urban": "6c1399a952d258735373640f8e569667b259a8f9e468c377b627e71484935df1",
    "industrial": "a09b41329fdeb947ced622d4b7c6a5bf7f616b9001c8b7d1dba0001aa2b2849a",
    "interior": "eb1e221da517d85cdc1c526508ac34451467479ed6ef992adbd3009ab116dd5a",
    "aquatic": "6103040c06d5607b251a816ce864b1a339823a3daa08473284f883017c4087ba",
}


@cache
def scene(family: str, seed: int) -> Voxel:
    return Voxel(family, seed, SMALLEST)


def middle(world: Voxel) -> tuple[float, float]:
    x, y = world.voxels.centre
    return x + 0.5, y + 0.5


def walked(world: Voxel) -> tuple[np.ndarray, np.ndarray]:
    """Cells of the plan that one can walk to from the centre, and metres from it."""
    floor = world.floor
    parts, _ = ndimage.label(floor.free)
    own = parts[tuple(floor.cells_of(middle(world)))]
    assert own > 0, "nobody can stand at the centre"
    x, y = (
        floor.points_of(np.stack([np.arange(n)] * 2, -1))[:, 0] - c
        for n, c in zip(parts.shape, middle(world), strict=True)
    )
    return parts == own, np.hypot(x[:, None], y[None, :])


def views(world: Voxel, count: int = 8, seed: int = 0) -> np.ndarray:
    """What one sees from places within 22 m of the centre, (count, 90, 160, 3)."""
    mine, away = walked(world)
    spots = np.argwhere(mine & (away < 22) & (world.floor.clearance_m > 0.6))
    rng = np.random.default_rng(seed)
    frames = []
    for n, (i, j) in enumerate(spots[rng.integers(len(spots), size=count)]):
        x, y = world.floor.points_of((i, j))
        pose = pose_from_yaw_pitch((x, y, float(world.floor.height_m[i, j]) + EYE_M), 2 * np.pi * n / count)
        frames.append(world.view(pose, CAMERA).rgb)
    return np.stack(frames)


def histogram(frames: np.ndarray) -> np.ndarray:
    """Shares of 8 x 8 x 8 colours."""
    codes = (frames >> 5).astype(int) @ np.array([64, 8, 1])
    return np.bincount(codes.ravel(), minlength=512) / codes.size


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_scene_is_sound_and_one_can_walk_far_and_wide(family: str, seed: int) -> None:
    cells = scene(family, seed).voxels
    assert cells.kind == family
    assert cells.states.max() < len(STATES)
    assert not cells.states[:, :, -1].any()
    assert not cells.instances[cells.states == 0].any()
    numbers = np.unique(cells.instances)
    np.testing.assert_array_equal(numbers, np.arange(len(numbers)))
    assert len(cells.drawn) == numbers[-1]
    assert len(numbers) > 30
    # One can walk far and wide round the centre.
    world = scene(family, seed)
    mine, away = walked(world)
    assert mine[away < 25].mean() > 0.4
    assert (mine & (away < 25)).sum() > 0.75 * (world.floor.free & (away < 25)).sum()
    assert away[mine].max() > 40
    # Room for a camera on an arm, not just for feet.
    assert (world.floor.clearance_m > 3)[mine & (away < 25)].mean() > 0.1


@pytest.mark.parametrize("family", FAMILIES)
def test_a_scene_keeps_its_bytes_and_holds_together(family: str) -> None:
    assert scene(family, 0).voxels.digest() == DIGESTS[family]
    # Plants and water are held.
    states = scene(family, 0).voxels.states
    crossed = np.isin(
        states, [n for n, s in enumerate(STATES) if s.name in ("tall_grass", "poppy", "fern", "dead_bush")]
    )
    assert SOLID[states[:, :, :-1]][crossed[:, :, 1:]].all()
    water, empty = LIQUID[states], states == 0
    assert not (water[:, :, 1:] & empty[:, :, :-1]).any()
    for axis in (0, 1):
        here, there = np.moveaxis(water, axis, 0), np.moveaxis(empty, axis, 0)
        assert not (here[1:] & there[:-1]).any()
        assert not (here[:-1] & there[1:]).any()
    # Things have names and a place.
    world = scene(family, 0)
    found = world.landmarks
    assert len({one.category for one in found}) >= 5
    for one in found:
        assert 1 <= len(one.category.split()) <= 2
        assert all(low < high for low, high in zip(one.low, one.high, strict=True))
    # The ground of a column is where one walks.
    world = scene(family, 0)
    mine, away = walked(world)
    ground = world.voxels.shape[2] - np.argmax(GROUND[world.voxels.states][:, :, ::-1], axis=2)
    cells = np.kron(ground, np.ones((4, 4), int))
    near = mine & (away < 30)
    assert np.mean(np.abs(cells[near] - world.floor.height_m[near]) <= 1.0) > 0.85


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_floats_and_another_seed_is_another_place(family: str) -> None:
    states = scene(family, 1).voxels.states
    parts, _ = ndimage.label(states > 0, np.ones((3, 3, 3)))
    assert ((parts > 0) & (parts != parts[0, 0, 0])).sum() == 0
    # Same seed same cells other seed other place.
    first = scene(family, 1).voxels
    assert generate(family, 1, SMALLEST).digest() == first.digest()
    # `forgetful` shows the same kind of place under another seed: it has to be another place.
    other = scene(family, 2).voxels
    (x, y), (i, j) = first.centre, other.centre
    near = first.states[x - 40 : x + 40, y - 40 : y + 40]
    far = other.states[i - 40 : i + 40, j - 40 : j + 40]
    assert (near != far).any(axis=2).mean() > 0.3


def test_families_look_nothing_like_each_other() -> None:
    seen = {family: np.mean([histogram(views(scene(family, seed))) for seed in SEEDS], axis=0) for family in FAMILIES}
    gaps = {(a, b): np.abs(seen[a] - seen[b]).sum() / 2 for a, b in combinations(FAMILIES, 2)}
    assert min(gaps.values()) > 0.3, sorted(gaps.items(), key=lambda pair: pair[1])[:3]


@pytest.mark.parametrize("family", FAMILIES)
def test_views_change_as_one_turns(family: str) -> None:
    frames = views(scene(family, 0), 6).astype(float)
    gaps = [np.abs(a - b).mean() for a, b in combinations(frames, 2)]
    assert min(gaps) > 12
    assert all(frame.std() > 20 for frame in frames)


@pytest.mark.parametrize("seed", SEEDS)
def test_inside_the_museum_no_sky_is_seen_and_ceilings_are_high(seed: int) -> None:
    world = scene("interior", seed)
    mine, away = walked(world)
    spots = np.argwhere(mine & (away < 45) & (world.floor.clearance_m > 0.5))
    rng = np.random.default_rng(seed)
    for i, j in spots[rng.integers(len(spots), size=12)]:
        x, y = world.floor.points_of((i, j))
        yaw = float(rng.random() * 2 * np.pi)
        pose = pose_from_yaw_pitch((x, y, float(world.floor.height_m[i, j]) + EYE_M), yaw, 0.3)
        assert not (world.view(pose, CAMERA).category == CATEGORIES.index("sky")).any()
    roof = np.argmax((world.voxels.states[:, :, 15:] > 0), axis=2) + 15
    inside = np.kron(roof, np.ones((4, 4), int))[mine & (away < 40)]
    assert np.mean(inside - 12 >= 5) > 0.75


def test_other_sizes_work_and_unknown_families_are_refused() -> None:
    for family, size in zip(FAMILIES, ((192, 192, 64), (160, 224, 56), (230, 170, 60)) * 3, strict=False):
        world = generate(family, 3, size)
        assert world.shape == size
        assert not world.states[:, :, -1].any()
    # An unknown family names the nearest.
    with pytest.raises(WorldError, match="did you mean 'stylized'"):
        generate("stylised", 0)
    assert not set(FAMILIES) & set(KINDS)
