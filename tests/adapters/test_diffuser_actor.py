"""3D Diffuser Actor: what reaches the network, number by number, and from a served process to plans."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapters.diffuser_actor import FAR_M, DiffuserActor, bounds, recent_hands, seen, thinned, turned

from adapters import diffuser_actor
from support.upstream import ROOT, isolated
from worldgauge.core.geometry import Camera
from worldgauge.worlds.tabletop.simulation import matrix_of
from worldgauge_serve import Camera as ServedCamera
from worldgauge_serve import NotApplicable, Scene

CLONE = ROOT / "diffuser_actor"
HAND = np.array([0.1, 0.2, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0])


class Network:
    """Sample k goes up k cm in equal steps from the last hand; keeps what it was shown."""

    identity = {"weights": "none"}  # noqa: RUF012

    def sampled(
        self, colours: Any, points: Any, instruction: str, hands: Any, samples: int, poses: int, seed: int
    ) -> Any:
        self.seen = colours, points, instruction, hands, samples, poses, seed
        given = np.zeros((samples, poses, 8), np.float32)
        given[..., :7] = hands[-1]
        given[..., 2] += 0.01 * np.arange(samples)[:, None] * np.arange(1, poses + 1) / poses
        given[..., 3:7] *= 1.5
        given[..., 7] = np.arange(samples)[:, None] % 2 * 0.3 + 0.3
        return given


def scene(size: int = 448, **fields: Any) -> Scene:
    camera = Camera.from_vertical_fov(size, size, 40)
    pose = np.eye(4)
    pose[:3] = [[0, 0, -1, 1.35], [1, 0, 0, 0.25], [0, -1, 0, 1.5]]
    front = np.random.default_rng(0).integers(0, 256, (size, size, 3), dtype=np.uint8)
    depth = np.random.default_rng(1).uniform(1, 2, (size, size)).astype(np.float32)
    given: dict[str, Any] = {
        **{"instruction": "push the red button", "front": front, "depth": depth, "pose": pose, "hand": HAND},
        **{"camera": ServedCamera(**vars(camera)), "history": np.zeros((0, 8)), "n": 3, "length": 5, "seed": 7},
    }
    return Scene(**{**given, **fields})


@pytest.mark.parametrize("size", [256, 448, 480])
def test_points_and_colours_belong_to_one_pixel(size: int) -> None:
    given = scene(size)
    colours, points = seen(given)
    assert (colours.shape, colours.dtype) == (points.shape, points.dtype) == ((3, 256, 256), np.dtype("float32"))
    ours = Camera.from_vertical_fov(size, size, 40).unproject(given.depth) @ given.pose[:3, :3].T + given.pose[:3, 3]
    for row, column in ((0, 0), (10, 200), (255, 255)):
        v, u = int((row + 0.5) * size / 256), int((column + 0.5) * size / 256)
        np.testing.assert_allclose(points[:, row, column], ours[v, u], rtol=1e-5)
        np.testing.assert_allclose(colours[:, row, column] * 255, given.front[v, u], atol=1e-4)


def test_a_point_by_hand_and_one_of_nothing() -> None:
    depth = np.full((256, 256), 2.0, np.float32)
    depth[0, 0] = np.inf
    _, points = seen(scene(256, depth=depth, front=np.zeros((256, 256, 3), np.uint8)))
    np.testing.assert_allclose(points[:, 127:129, 127:129].mean((1, 2)), [1.35 - 2, 0.25, 1.5], atol=1e-6)
    assert points[0, 0, 0] == pytest.approx(1.35 - FAR_M)


def test_a_turned_hand_points_the_same_way_with_its_fingers_exchanged() -> None:
    np.testing.assert_allclose(turned(HAND[:7])[3:7], [0, 1, 0, 0], err_msg="as its simulator's hand at home")
    rng = np.random.default_rng(0)
    for _ in range(20):
        quaternion = rng.normal(size=4)
        pose = np.array([0.1, 0.2, 0.9, *quaternion / np.linalg.norm(quaternion)])
        one, other = (matrix_of([*each, 1.0]) for each in (pose, turned(pose)))
        np.testing.assert_allclose(other, one @ np.diag([-1.0, -1.0, 1.0, 1.0]), atol=1e-12)
        np.testing.assert_allclose(matrix_of([*turned(turned(pose)), 1.0]), one, atol=1e-12)
        assert turned(pose)[6] >= 0


def test_hands_by_hand() -> None:
    history = np.arange(32.0).reshape(4, 8)
    assert recent_hands(history[:0], HAND)[:, 0].tolist() == [0.1, 0.1, 0.1]
    assert recent_hands(history[:1], HAND)[:, 0].tolist() == [0.1, 0.1, 0.1], "the last one carried out is where it is"
    assert recent_hands(history[:2], HAND)[:, 0].tolist() == [0.0, 0.0, 0.1]
    assert recent_hands(history, HAND)[:, 0].tolist() == [8.0, 16.0, 0.1]
    assert recent_hands(history, HAND).shape == (3, 7)


@pytest.mark.parametrize(
    ("count", "most", "kept"),
    [(1, 5, [0]), (5, 5, [0, 1, 2, 3, 4]), (49, 5, [8, 18, 28, 38, 48]), (6, 4, [0, 2, 3, 5]), (7, 1, [6])],
)
def test_long_samples_are_thinned_to_the_length_of_a_plan(count: int, most: int, kept: list[int]) -> None:
    assert thinned(count, most) == kept


def test_no_two_poses_that_are_kept_are_the_same() -> None:
    """The release keeps 23 of 24 poses where the last two round to one, as of 31, 61 and 99."""
    for count in range(1, 200):
        kept = thinned(count, 24)
        assert len(set(kept)) == min(count, 24)
        assert kept[-1] == count - 1


def test_plans_are_in_our_frame_with_unit_quaternions_and_a_gripper_of_0_or_1() -> None:
    network = Network()
    plans = DiffuserActor(poses=10, backend=network).propose(scene())
    assert plans.shape == (3, 5, 8)
    np.testing.assert_allclose(plans[..., 3:7], np.broadcast_to(HAND[3:7], (3, 5, 4)), atol=1e-7)
    np.testing.assert_allclose(plans[2, :, 2], 1 + 0.02 * np.arange(2, 11, 2) / 10, atol=1e-6)
    assert plans[:, 0, 7].tolist() == [0, 1, 0]
    np.testing.assert_allclose(network.seen[3][:, 3:7], np.broadcast_to([0, 1, 0, 0], (3, 4)), atol=1e-12)
    assert network.seen[2] == "push the red button"
    assert network.seen[4:] == (3, 10, 7)


def test_settings_reach_the_network() -> None:
    network = Network()
    plans = DiffuserActor(samples=20, turned=False, backend=network).propose(scene())
    assert plans.shape == (20, 1, 8)
    assert network.seen[4] == 20
    np.testing.assert_allclose(network.seen[3][:, 3:7], np.broadcast_to([1, 0, 0, 0], (3, 4)), atol=1e-12)
    with pytest.raises(NotApplicable, match="needs an instruction"):
        DiffuserActor(backend=network).propose(scene(instruction=""))


def test_bounds_are_the_union_over_tasks() -> None:
    found = bounds(str(CLONE / "tasks" / "18_peract_tasks_location_bounds.json"), 0.08)
    np.testing.assert_allclose(found, [[-0.13, -0.43, 0.69], [0.58, 0.48, 1.08]])


def test_declares_itself() -> None:
    spec = DiffuserActor(backend=Network()).spec
    assert (spec.name, spec.kind, spec.layout) == ("3d-diffuser-actor", "policy", "")
    assert spec.settings == {"poses": 1, "turned": True, "samples": 0, "weights": "none"}
    assert DiffuserActor.needs == {"gpus": 1}


def test_says_what_is_missing(tmp_path: Path) -> None:
    weights = tmp_path / "w.pth"
    with pytest.raises(FileNotFoundError, match=r"there is no '/nowhere'; clone github.com/nickgkan/3d_diffuser_actor"):
        DiffuserActor(root="/nowhere")
    with pytest.raises(FileNotFoundError, match=r"there is no '.*w.pth'; give weights=FILE"):
        DiffuserActor(root=str(tmp_path), weights=str(weights))
    weights.write_bytes(b"")
    with pytest.raises(ValueError, match="quaternions are 'wxyz' or 'xyzw', not 'wxzy'"):
        DiffuserActor(root=str(tmp_path), weights=str(weights), quaternions="wxzy")
    with isolated(), pytest.raises(ImportError, match=r"cannot import '(torch|diffuser_actor.*)' .* README lists"):
        DiffuserActor(root=str(tmp_path), weights=str(weights))


def test_drives_the_repository(tmp_path: Path) -> None:
    """In a process of its own, from a folder where `import diffuser_actor` would find the adapter itself."""
    torch = pytest.importorskip("torch", reason="the repository's network is torch")
    weights = tmp_path / "actor.pth"
    torch.save({"weight": {"module.gain": torch.full((120,), 0.5)}, "iter": 3}, weights)
    place = tmp_path / "adapters"
    place.mkdir()
    shutil.copy(diffuser_actor.__file__, place)
    code = f"""if True:
        import json, sys
        import numpy as np
        from worldgauge_serve import Camera, Scene, load
        made = load("diffuser_actor.py:DiffuserActor?root={CLONE}&weights={weights}&device=cpu&poses=4&samples=6").model
        hand = np.array({HAND.tolist()})
        still = np.full((256, 256), 2.0, np.float32)
        pose = np.eye(4); pose[2, 3] = -0.2
        scene = Scene("push the red button", np.full((256, 256, 3), 200, np.uint8), still,
            Camera(256, 256, 300.0, 300.0, 128.0, 128.0), pose, hand, np.zeros((0, 8)), 3, 2, 7)
        one, again = made.propose(scene), made.propose(scene)
        print(json.dumps([one.tolist(), bool((one == again).all()), dict(made.spec.settings)]))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=place, timeout=300)
    assert done.returncode == 0, done.stderr
    told, same, settings = json.loads(done.stdout.strip().split("\n")[-1])
    plans = np.array(told)
    assert plans.shape == (6, 2, 8)
    assert same, "the seed of the question starts the noise"
    np.testing.assert_allclose(plans[..., 3:7], np.broadcast_to(HAND[3:7], (6, 2, 4)), atol=1e-6)
    np.testing.assert_allclose(plans[:, -1, :3], np.broadcast_to([0, 0, 0.9], (6, 3)), atol=6e-3)
    np.testing.assert_allclose(plans[:, 0, :3], (plans[:, -1, :3] + HAND[:3]) / 2, atol=1e-6)
    assert len(np.unique(plans[:, -1, 0])) == 6, "samples differ"
    assert (plans[..., 7] == 1).all()
    assert len(settings["weights"]) == 64
