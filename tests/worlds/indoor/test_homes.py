"""Homes: all can be walked through, nothing floats or intersects, and every object is where it is said to be."""

import itertools
from functools import cache

import cv2
import numpy as np
import pytest

from worldgauge.core.errors import UnknownNameError, UsageError, WorldError
from worldgauge.core.geometry import Camera, Panorama, invert, pose_from_yaw_pitch
from worldgauge.worlds import open_world
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS, SPLIT_SIZE, SPLITS, scene_name, scene_seed, world_of
from worldgauge.worlds.indoor.plan import HEIGHT_M
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import Stance, from_letters, walked

CLEARANCE_M = 0.25
CAMERA = Camera.from_vertical_fov(96, 54, 60)


@cache
def home(seed: int) -> Home:
    return Home(seed)


def check_walkable(world: Home) -> None:
    """One stretch of floor wide enough for a walker leads into every room and over most of its free floor."""
    floor = world.floor
    _, label = cv2.connectedComponents((floor.clearance_m >= CLEARANCE_M).astype(np.uint8))
    main = Geodesic(floor).main
    shares = []
    for room in world.plan.rooms:
        (a, b), (c, d) = floor.cells_of([room.low, room.high])
        inside = label[a:c, b:d]
        shares.append({int(n): float((inside == n).sum() / (inside > 0).sum()) for n in np.unique(inside[inside > 0])})
        free = floor.clearance_m[a:c, b:d] >= 0.1
        assert (main[a:c, b:d] & free).sum() > 0.8 * free.sum(), f"seed {world.seed}: {room.kind}"
        assert main[a:c, b:d].sum() * 0.05**2 > 1.0, f"seed {world.seed}: {room.kind}"
    common = set.intersection(*(set(share) for share in shares))
    assert any(all(share[n] > 0.8 for share in shares) for n in common), f"seed {world.seed}: {shares}"


@pytest.mark.parametrize("seed", range(8))
def test_every_room_can_be_reached(seed: int) -> None:
    check_walkable(home(seed))


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS)
def test_every_room_of_many_homes_can_be_reached_none_lacks_a_label_and_no_two_are_alike(split: str) -> None:
    digests, rooms, areas = set(), set(), []
    for number in range(24):
        world = Home(scene_seed(split, number))
        check_walkable(world)
        assert {thing.category for thing in world.objects} >= set(LABELS)
        digests.add(world.facts.digest)
        rooms.add(tuple(sorted(room.kind for room in world.plan.rooms)))
        areas.append(sum(np.prod(np.subtract(room.high, room.low)) for room in world.plan.rooms))
    assert len(digests) == 24
    assert len(rooms) >= 5
    assert max(areas) > 1.8 * min(areas)


@pytest.mark.parametrize("seed", range(4))
def test_a_home_is_whole_and_nothing_intersects_or_floats(seed: int) -> None:
    world = home(seed)
    assert {thing.category for thing in world.objects} >= set(LABELS)
    assert len(LABELS) == 27
    assert set(LABELS) <= set(world.categories)
    kinds = [room.kind for room in world.plan.rooms]
    assert {"corridor", "living room", "kitchen", "bedroom", "bathroom"} <= set(kinds)
    assert {thing.room for thing in world.objects} == set(kinds)
    assert all(thing.colour for thing in world.objects)
    # Nothing intersects and nothing leaves the building.
    boxes = home(seed).plan.boxes
    bounds, things = boxes.bounds, boxes.instance
    # Cushions are set against backs with a hair's breadth; a millimetre is no intersection.
    over = (bounds[:, None, :3] + 1e-3 < bounds[None, :, 3:]) & (bounds[None, :, :3] + 1e-3 < bounds[:, None, 3:])
    hit = over.all(-1) & (things[:, None] != things[None]) & (things[:, None] > 0)
    named = {thing.instance: thing.name for thing in home(seed).objects}
    pairs = {(named[int(things[i])], named.get(int(things[j]), "shell")) for i, j in np.argwhere(hit)}
    # The front door stands in its wall; furniture stands on rugs and sinks a centimetre into them.
    assert {pair for pair in pairs if "rug" not in pair} <= {("door", "shell"), ("window", "shell")}
    shell = things == 0
    assert (bounds[:, :3] >= bounds[shell, :3].min(0)).all()
    assert (bounds[:, 3:] <= bounds[shell, 3:].max(0)).all()
    # Every box touches, through others, the floor, a wall or the ceiling.
    boxes = home(seed).plan.boxes
    bounds = boxes.bounds
    near = (bounds[:, None, :3] <= bounds[None, :, 3:] + 6e-3) & (bounds[None, :, :3] <= bounds[:, None, 3:] + 6e-3)
    touching = near.all(-1)
    held = boxes.instance == 0
    for _ in range(20):
        held = held | touching[:, held].any(1)
    named = {thing.instance: thing.name for thing in home(seed).objects}
    assert not {named[int(n)] for n in boxes.instance[~held]}


def test_seeds_give_bytes_textures_and_colours() -> None:
    one, two = Home(3), home(3)
    assert one.facts == two.facts != home(2).facts
    assert one.objects == two.objects
    pose = pose_from_yaw_pitch((*one.plan.rooms[1].low, 1.0), 0.8)
    assert one.view(pose, CAMERA).rgb.tobytes() == two.view(pose, CAMERA).rgb.tobytes()
    assert open_world(one.facts).facts == one.facts
    # No two faces share a texture and colours change with the seed.
    seeds = home(1).plan.boxes.face_seeds
    assert len(np.unique(seeds)) == seeds.size
    sofas = {next(t.colour for t in home(seed).objects if t.category == "sofa") for seed in range(8)}
    assert len(sofas) > 2
    # A negative seed is refused.
    with pytest.raises(WorldError, match="seed"):
        Home(-1)


@pytest.mark.parametrize("seed", [0, 5])
def test_landmarks_are_where_the_camera_sees_them(seed: int) -> None:
    """Looked at from a metre or two away on free floor, most objects show at the middle of their box."""
    world = home(seed)
    free = world.floor.points_of(np.argwhere(world.floor.clearance_m > 0.2))
    seen = 0
    for landmark in world.landmarks:
        apart = np.linalg.norm(free - landmark.centre[:2], axis=1)
        near = free[np.argsort(np.abs(apart - 1.8), kind="stable")[:40:8]]
        shown = False
        for x, y in near:
            ahead = landmark.centre - (x, y, 0.9)
            pose = pose_from_yaw_pitch((x, y, 0.9), np.arctan2(ahead[1], ahead[0]))
            view = world.view(pose, CAMERA)
            mask = view.instance == landmark.instance
            if not mask.any():
                continue
            shown = True
            assert (view.category[mask] == world.categories.index(landmark.category)).all()
            rays = CAMERA.unproject(np.where(mask, view.depth, 0))[mask]
            places = rays @ pose[:3, :3].T + pose[:3, 3]
            assert (places > np.array(landmark.low) - 1e-3).all()
            assert (places < np.array(landmark.high) + 1e-3).all()
            corners = np.array(np.meshgrid(*zip(landmark.low, landmark.high, strict=True))).reshape(3, -1).T
            pixels, depth = CAMERA.project(corners @ invert(pose)[:3, :3].T + invert(pose)[:3, 3])
            if (depth > 0.05).all():
                rows, columns = np.nonzero(mask)
                assert columns.min() >= np.floor(pixels[:, 0].min()) - 1
                assert columns.max() <= np.ceil(pixels[:, 0].max()) + 1
                assert rows.min() >= np.floor(pixels[:, 1].min()) - 1
                assert rows.max() <= np.ceil(pixels[:, 1].max()) + 1
        seen += shown
    assert seen > 0.7 * len(world.landmarks)


@pytest.mark.parametrize("seed", [1, 6])
def test_free_floor_is_free(seed: int) -> None:
    """From any free cell a walker's head and feet see nothing nearer than the edge of the cell."""
    world, rng = home(seed), np.random.default_rng(0)
    cells = rng.permutation(np.argwhere(world.floor.free))[:25]
    for x, y in world.floor.points_of(cells):
        for z in (0.03, 0.3, 0.59):
            ring = Panorama(64, 3)
            level = world.view(pose_from_yaw_pitch((x, y, z), 0.0), ring).depth[1]
            assert level.min() > 0.0249
    bounds = world.plan.boxes.bounds
    low = bounds[(bounds[:, 5] > 0.02) & (bounds[:, 2] < 0.6)]
    inside = (low[:, :2] < world.floor.points_of(cells)[:, None]) & (
        world.floor.points_of(cells)[:, None] < low[:, 3:5]
    )
    assert not inside.all(-1).any()


@pytest.mark.parametrize("seed", [1, 6])
def test_a_walk_backwards_shows_the_rolled_panoramas(seed: int) -> None:
    """Seen backwards, left and right change places. Edges at the seam are smoothed without what is beside them."""
    world, camera = home(seed), Panorama(64, 36)
    roomiest = np.unravel_index(int(world.floor.clearance_m.argmax()), world.floor.clearance_m.shape)
    word = "LLFRRRFLFRR"
    walk = [Stance(*world.floor.points_of(np.array(roomiest)).tolist(), 0.3)]
    for step in from_letters(word):
        walk.append(walked(world.floor, walk[-1], step)[0])
    turned = [stance.turned(np.pi) for stance in walk]
    back = turned[-1]
    for step, there in zip(from_letters(word[::-1].translate(str.maketrans("LR", "RL"))), turned[-2::-1], strict=True):
        back, collided = walked(world.floor, back, step)
        assert not collided
        np.testing.assert_allclose(
            pose_from_yaw_pitch(back.at, back.yaw), pose_from_yaw_pitch(there.at, there.yaw), atol=1e-9
        )
    inner = [column for column in range(64) if column % 32 not in (0, 31)]
    for ahead, behind in zip(walk, turned, strict=True):
        rolled = np.roll(world.view(ahead.eye(), camera).rgb, 32, axis=1)
        np.testing.assert_array_equal(world.view(behind.eye(), camera).rgb[:, inner], rolled[:, inner])


def test_rooms_are_closed_and_doorways_wide() -> None:
    """No ray from inside leaves the building."""
    world = home(2)
    for room in world.plan.rooms:
        middle = (np.array(room.low) + room.high) / 2
        view = world.view(pose_from_yaw_pitch((*middle, 1.9), 0.0), Panorama(128, 64))
        assert np.isfinite(view.depth).all()
        assert view.category.min() > 0
    # Doorways are wide and high enough.
    for seed in range(8):
        for room in home(seed).plan.rooms:
            assert room.openings
            for opening in room.openings:
                assert opening.stop - opening.start >= 0.8
                assert 2.0 <= opening.top < HEIGHT_M


def test_names_lead_to_homes_of_one_split() -> None:
    ranges = [(scene_seed(split, 0), scene_seed(split, SPLIT_SIZE - 1)) for split in SPLITS]
    assert all(last - first == SPLIT_SIZE - 1 for first, last in ranges)
    for (_, last), (first, _) in itertools.pairwise(ranges):
        assert last < first
    assert ranges[0][0] > 100_000, "seeds used elsewhere are small"
    # Names lead to their homes.
    assert scene_name("test", 7) == "home-test-0007"
    rng = np.random.default_rng(0)
    for split in SPLITS:
        for number in (0, 9999, 10_000, SPLIT_SIZE - 1, *rng.integers(SPLIT_SIZE, size=20).tolist()):
            facts = world_of(scene_name(split, number))
            assert (facts.name, facts.params, facts.digest) == ("indoor", {"seed": scene_seed(split, number)}, None)
    assert open_world(world_of("home-val-0003")).facts.params == {"seed": scene_seed("val", 3)}
    # Other splits and numbers are refused.
    with pytest.raises(UnknownNameError, match="Did you mean 'train'"):
        scene_seed("trian", 0)
    for number in (-1, SPLIT_SIZE):
        with pytest.raises(UsageError, match="has homes 0 to"):
            scene_name("val", number)


OTHER_NAMES = "home-test-7 home-test-00007 home-tests-0007 ../home-test-0007 home-test-٠٠٠٧"


@pytest.mark.parametrize("name", ["", "home-test-0007\n", *OTHER_NAMES.split()])
def test_other_names_are_no_homes(name: str) -> None:
    with pytest.raises(UsageError, match="no home is called"):
        world_of(name)
