"""The walker in view: where it stands, that it is drawn exactly, and that all else stays as it was."""

import json
import math

import numpy as np
import pytest

from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.worlds import open_world, worlds
from worldgauge.worlds._figure import figure, frames_of, phase_at
from worldgauge.worlds.third_person import ARM_M, CHARACTER, FIGURE, PIVOT_M, ThirdPerson, feet_of, figure_mask
from worldgauge.worlds.voxel.blocks import block
from worldgauge.worlds.voxel.world import VoxelWorld

CAMERA = Camera.from_vertical_fov(160, 90, 60.0)
GROUND = 4
FEET = np.array([20.3, 20.6, float(GROUND)])


def field(wall_at_y: int | None = None) -> ThirdPerson:
    """Flat stone, with a wall across it."""
    states = np.zeros((40, 40, 16), np.uint8)
    states[:, :, :GROUND] = block("stone")
    if wall_at_y is not None:
        states[:, wall_at_y, GROUND:12] = block("stone")
    return ThirdPerson.from_cells(VoxelWorld("plains", 0, states, np.zeros(states.shape, np.uint16), (20, 20)))


def behind(feet: np.ndarray, yaw: float, pitch: float) -> np.ndarray:
    """The camera of a walker at `feet`."""
    pose = pose_from_yaw_pitch(feet + np.array([0, 0, PIVOT_M]), yaw, pitch)
    pose[:3, 3] -= ARM_M * pose[:3, 2]
    return pose


POSES = [behind(FEET, yaw, pitch) for yaw, pitch in ((0.0, 0.0), (1.3, -0.3), (-2.5, 0.2), (math.pi / 2, -0.69))]


def inside(points: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Whether world points (..., 3) are in the figure: nearest point of each capsule's axis, in its own units."""
    feet, (yaw, _) = feet_of(pose), (math.atan2(pose[1, 2], pose[0, 2]), 0)
    c, s = math.cos(yaw), math.sin(yaw)
    found = np.zeros(points.shape[:-1], bool)
    near = np.linalg.norm(points - feet, axis=-1) < 2.5  # more than a person reaches
    body = (points[near] - feet) @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    for origin, axes, length in zip(*frames_of(figure(phase_at(feet[:2]))), strict=True):
        local = (body - origin) @ np.linalg.inv(axes).T
        local[..., 2] -= np.clip(local[..., 2], 0, length)
        found[near] |= (local**2).sum(-1) <= 1
    return found


@pytest.mark.parametrize("pose", [POSES[1], *(pytest.param(POSES[n], marks=pytest.mark.slow) for n in (0, 2, 3))])
def test_the_nearest_surface_is_shown_to_a_tenth_of_a_millimetre(pose: np.ndarray) -> None:
    world = field()
    view = world.view(pose, CAMERA)
    rays = CAMERA.rays() @ pose[:3, :3].T
    mask = figure_mask(view)
    assert 300 < mask.sum() < 2500
    hits = rays[mask]
    depth = view.depth[mask][:, None].astype(float)
    assert inside(pose[:3, 3] + (depth + 1e-4) * hits, pose).mean() > 0.98  # grazing rays leave again at once
    assert not inside(pose[:3, 3] + (depth - 1e-4) * hits, pose).any()
    # March along every ray up to what the picture shows: nothing of the figure is missed.
    for share in np.linspace(0.3, 0.999, 120):
        reach = np.minimum(np.where(np.isfinite(view.depth), view.depth, 10.0), 10.0) * share
        assert not inside(pose[:3, 3] + reach[..., None] * rays, pose).any()


@pytest.mark.parametrize("pose", POSES)
def test_all_else_is_as_without_the_figure(pose: np.ndarray) -> None:
    world = field(wall_at_y=30)
    seen, still = world.view(pose, CAMERA, position=True), world.still(pose, CAMERA, position=True)
    mask = figure_mask(seen)
    assert (seen.instance[mask] == FIGURE).all()
    assert (seen.category[mask] == world.categories.index(CHARACTER)).all()
    assert (seen.depth[mask] < still.depth[mask]).all()
    for name in ("rgb", "depth", "category", "instance", "position"):
        assert np.array_equal(getattr(seen, name)[~mask], getattr(still, name)[~mask], equal_nan=True), name
    assert not figure_mask(still).any()


def test_positions_are_those_of_the_depth() -> None:
    view = field().view(POSES[1], CAMERA, position=True)
    points = CAMERA.unproject(np.where(np.isfinite(view.depth), view.depth, 1)) @ POSES[1][:3, :3].T + POSES[1][:3, 3]
    mask = figure_mask(view)
    assert view.position is not None
    np.testing.assert_allclose(view.position[mask], points[mask], atol=1e-4)


@pytest.mark.parametrize("pose", POSES)
def test_it_stands_on_its_feet_and_is_a_person_tall(pose: np.ndarray) -> None:
    np.testing.assert_allclose(feet_of(pose), FEET, atol=1e-12)
    view = field().view(pose, CAMERA.resized(640, 360), position=True)
    assert view.position is not None
    body = view.position[figure_mask(view)]
    assert body[:, 2].min() == pytest.approx(GROUND, abs=0.06)
    assert 1.7 < body[:, 2].max() - GROUND < 1.85
    assert np.abs(body[:, :2] - FEET[:2]).max() < 0.55


def test_what_is_nearer_hides_it() -> None:
    """A wall two metres before the camera stands before all of a figure at 2.5 m."""
    pose = behind(FEET, math.pi / 2, 0.0)
    y = int(pose[1, 3]) + 1
    assert figure_mask(field().view(pose, CAMERA)).any()
    assert not figure_mask(field(wall_at_y=y).view(pose, CAMERA)).any()


def test_a_panorama_shows_the_same_figure() -> None:
    world, panorama = field(), Panorama(720, 360)
    wide = world.view(POSES[1], panorama, position=True)
    mask = figure_mask(wide)
    assert wide.position is not None
    distance = np.linalg.norm(wide.position[mask] - POSES[1][:3, 3], axis=-1)
    np.testing.assert_allclose(distance, wide.depth[mask], rtol=1e-5)
    pixels, _ = panorama.project((wide.position[mask].astype(float) - POSES[1][:3, 3]) @ POSES[1][:3, :3])
    rows, columns = np.nonzero(mask)
    np.testing.assert_allclose(pixels, np.stack([columns + 0.5, rows + 0.5], -1), atol=0.01)
    flat = world.view(POSES[1], Camera.from_vertical_fov(720, 360, 60.0), position=True)
    assert flat.position is not None
    for end in ("min", "max"):
        one, other = (getattr(v.position[figure_mask(v)], end)(0) for v in (wide, flat))
        np.testing.assert_allclose(one, other, atol=0.03)


def test_it_strides_wherever_it_walks() -> None:
    """Along x and along y the legs swing through most of their range within two metres."""
    for step in ((0.05, 0), (0, 0.05), (0.035, 0.035)):
        places = np.array([3.2, 5.1]) + np.arange(40)[:, None] * np.array(step)
        phases = np.array([phase_at(place) for place in places])
        assert np.abs(np.diff(phases)).max() < 0.6
        assert np.ptp(np.sin(phases)) > 1.5
    heights = [min(min(part.start[2], part.end[2]) for part in figure(phase)) for phase in np.linspace(0, 7, 50)]
    np.testing.assert_allclose(heights, 0.05, atol=1e-12)


def test_it_is_built_again_from_its_facts() -> None:
    world = worlds.get("third-person")("plains", 2, (160, 160, 56))
    facts = world.facts
    again = open_world(WorldFacts(facts.name, json.loads(json.dumps(facts.params)), facts.digest))
    plain = worlds.get("voxel")("plains", 2, (160, 160, 56))
    assert facts.name == "third-person"
    assert again.facts == facts
    assert facts.digest == plain.facts.digest
    assert facts.params == plain.facts.params
    assert world.categories == (*plain.categories, CHARACTER)
    pose = pose_from_yaw_pitch((80.0, 80.0, 30.0), 1.0, -0.5)
    assert np.array_equal(world.still(pose, CAMERA).rgb, plain.view(pose, CAMERA).rgb)
