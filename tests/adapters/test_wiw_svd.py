"""World-in-World's SVD: what a plan tells it, by hand; with torch, recorded outputs of the private network."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapters.wiw_svd import FILES, HOME, TASKS, WiwSvd, files_of, hand_rows, open_unet, squashed, step_rows

from adapters import wiw_svd
from support.upstream import as_served, complaints
from support.wiw_svd import Recorded
from worldgauge.core.actions import HAND_POSES, LOOP_WALK, Actions
from worldgauge.core.episode import Context
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.core.model import Needs, RolloutRequest, checked_rollout
from worldgauge.core.video import Clip
from worldgauge.serving.foreign import adopt
from worldgauge.tools.check_model import check_model
from worldgauge.worlds.tabletop.pose_plans import as_actions as as_poses
from worldgauge.worlds.tabletop.pose_plans import reaching_down
from worldgauge.worlds.walking.primitives import NAV_STEPS, as_actions, from_letters, micro_cond
from worldgauge_serve import NotApplicable, forget_notes, notes

SMALL = {14: TASKS[14]._replace(size=(64, 32)), 10: TASKS[10]._replace(size=(32, 32))}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames are small, so that a turn rolls noise by few columns."""
    monkeypatch.setattr(wiw_svd, "TASKS", SMALL)


class Recording:
    """Draws the picture 14 times, each a level brighter, and keeps what it was asked."""

    def __init__(self, channels: int = 14) -> None:
        self.channels, self.identity = channels, {"weights": "none"}
        self.asked: list[tuple[Any, ...]] = []

    def __call__(self, picture: Any, rows: Any, rolls: Any, seed: int) -> np.ndarray:
        assert rows.shape == (14, self.channels)
        self.asked.append((picture, rows, list(rolls), seed))
        return picture + np.arange(14, dtype=np.uint8)[:, None, None, None]


def walk(letters: str, seed: int = 5) -> RolloutRequest:
    frames = np.random.default_rng(1).integers(0, 200, (1, 32, 64, 3), dtype=np.uint8)
    context = Context(Clip.from_array(frames, 5.0), np.eye(4)[None], as_actions(()), Panorama(64, 32))
    return RolloutRequest(context, len(letters), seed, actions=as_actions(from_letters(letters)))


def reach(poses: Any, hands: Any = ()) -> RolloutRequest:
    """A question about an arm: poses (n, 8), and the poses of the hand after those before."""
    before = as_poses(np.array(hands, np.float64).reshape(-1, 8))
    frames = np.full((len(before) + 1, 32, 32, 3), 80, np.uint8)
    still = np.repeat(np.eye(4)[None], len(frames), axis=0)
    context = Context(Clip.from_array(frames, 7.0), still, before, Camera.from_horizontal_fov(32, 32, 60))
    return RolloutRequest(context, len(poses), 5, actions=as_poses(np.array(poses)))


def frames_of(model: Any, request: RolloutRequest) -> np.ndarray:
    return np.concatenate(list(checked_rollout(model, request)))


def test_steps_have_rows_as_micro_cond_has_them_and_turns_roll_the_noise() -> None:
    rows, rolls = step_rows(walk("FLLRFFFFFFFFR").actions)
    np.testing.assert_array_equal(rows, micro_cond([4, 1, 2, 2, 3, *[1] * 8, 3]))
    assert list(rolls) == [0, 0, 1, 1, -1, *[0] * 8, -1]
    assert rows[0].tolist() == [4, *[0] * 13]


def test_a_plan_is_answered_with_its_frames_and_filled_up_with_forward() -> None:
    backend = Recording()
    frames = frames_of(WiwSvd(backend=backend), walk("LF"))
    ((picture, rows, rolls, _),) = backend.asked
    assert len(frames) == 2
    np.testing.assert_array_equal(frames[1], picture + 2)  # frame 0 is the picture itself
    assert rows[13].tolist() == [4, 2, *[1] * 12]
    assert rolls == [0, 1, *[0] * 12]


def test_longer_plans_take_further_calls_and_the_record_says_so() -> None:
    backend = Recording()
    forget_notes()
    frames = frames_of(WiwSvd(backend=backend), walk("F" * 13 + "L"))
    assert [asked[1][1, 1] for asked in backend.asked] == [1, 2]
    np.testing.assert_array_equal(backend.asked[1][0], frames[12])
    assert backend.asked[0][3] != backend.asked[1][3]
    assert notes() == ("svd-dagger: 14 frames are asked for; each call of 13 starts from the last",)


def test_a_step_that_it_has_no_id_for_is_not_applicable() -> None:
    with pytest.raises(NotApplicable, match="a step of this plan is none of them"):
        list(WiwSvd(backend=Recording()).rollout(as_served(walk("FSF"))))
    other = replace(walk("F"), actions=Actions(LOOP_WALK, np.ones((1, 4), np.float32)))
    with pytest.raises(NotApplicable, match="takes actions of nav-steps"):
        list(WiwSvd(backend=Recording()).rollout(other))  # type: ignore[arg-type]
    with pytest.raises(NotApplicableError):
        frames_of(adopt(WiwSvd(backend=Recording())), walk("S"))


def test_poses_of_a_hand_by_hand() -> None:
    """Straight down is (0, 1, 0, 0) in the release: columns (-1, 0, 0) and (0, 1, 0)."""
    low, high = reaching_down(-0.4, 0.0, 1.1, 0.0), reaching_down(0.45, 0.5, 0.85, 1.0)
    rows = hand_rows(as_served(reach([low] * 12 + [high], hands=[high])), HOME)
    pi = np.pi
    columns = [-pi, 0, 0, pi, 0, 0]
    np.testing.assert_allclose(rows[0], [pi, 2 * pi, -pi, *columns, pi], atol=1e-5)
    np.testing.assert_allclose(rows[1], [-2 * pi, 0, 0, *columns, -pi], atol=1e-5)
    np.testing.assert_allclose(rows[13], rows[0], atol=1e-6)
    assert rows.shape == (14, 10)


def test_a_turned_hand_as_its_quaternion_says() -> None:
    """Another way to the same rotation: the quaternion of the pose, turned by half about its own z axis."""
    from worldgauge.core.geometry import rotation_of_quaternion

    rng = np.random.default_rng(2)
    poses = np.column_stack([rng.uniform([0.1, 0.1, 0.9], 1.1, (13, 3)), rng.normal(size=(13, 4)), rng.random(13)])
    rows = hand_rows(as_served(reach(poses, hands=poses[:1])), HOME)
    unit = poses[:, 3:7] / np.linalg.norm(poses[:, 3:7], axis=1, keepdims=True)
    turned = rotation_of_quaternion(unit) @ np.diag([-1.0, -1.0, 1.0])
    np.testing.assert_allclose(rows[1:, 3:9], np.pi * turned[:, :, :2].reshape(13, 6), atol=1e-5)


def test_the_present_pose_is_home_until_something_was_done() -> None:
    goal = [reaching_down(0.3, 0.1, 0.9, 0.0)] * 13
    forget_notes()
    backend = Recording(10)
    model = WiwSvd(backend=backend)
    frames_of(model, reach(goal))
    assert len(notes()) == 1
    assert "home is taken" in notes()[0]
    np.testing.assert_allclose(backend.asked[0][1][0, :3], 4 * np.pi * (np.array(HOME[:3]) - [0.2, 0, 1.1]), atol=1e-5)
    forget_notes()
    frames_of(model, reach(goal, hands=[reaching_down(0.2, 0.0, 1.1, 1.0)]))
    assert notes() == ()
    np.testing.assert_allclose(backend.asked[1][1][0, :3], 0, atol=1e-5)
    # A second call begins where the first one ended.
    frames_of(model, reach([*goal, *goal], hands=[reaching_down(0.2, 0.0, 1.1, 1.0)]))
    np.testing.assert_allclose(backend.asked[3][1][0], backend.asked[2][1][13], atol=1e-6)


def test_what_it_says_of_itself_and_of_settings_that_cannot_be() -> None:
    walks, arm = (WiwSvd(backend=Recording(channels)).spec for channels in (14, 10))
    assert (walks.name, walks.control, walks.view, walks.frame_size) == ("svd-dagger", "actions", "panorama", (64, 32))
    assert (walks.action_spaces, arm.action_spaces) == (("nav-steps",), ("hand-poses",))
    assert (walks.max_context, arm.max_context, arm.view) == (1, 2, "perspective")
    assert json.loads(json.dumps(walks.settings)) == {
        **{"weights": "none", "squash": 0, "features": "float", "steps": 30, "low": 1.0, "high": 3.0}
    }
    assert Needs.of(WiwSvd(backend=Recording())) == Needs(gpus=1)
    for settings, because in (
        ({"features": "fp16"}, "features is 'fp16'"),
        ({"steps": 0}, "steps are 1 to 1000"),
        ({"low": 4.0}, "low to high"),
        ({"home": [1, 2]}, r"home is \[1, 2\]; give x, y, z"),
    ):
        with pytest.raises(ValueError, match=because):
            WiwSvd(backend=Recording(), **settings)  # type: ignore[arg-type]


def test_the_published_sizes_are_those_of_the_release() -> None:
    assert {channels: (one.space, one.size) for channels, one in TASKS.items()} == {
        14: (NAV_STEPS.name, (1024, 576)),
        10: (HAND_POSES.name, (448, 448)),
    }


def test_a_detour_through_a_square_softens_and_keeps_the_size() -> None:
    pytest.importorskip("PIL")
    frames = np.random.default_rng(0).integers(0, 256, (3, 32, 64, 3), dtype=np.uint8)
    soft = squashed(frames, 16)
    assert soft.shape == frames.shape
    assert soft.std() < 0.7 * frames.std()
    flat = np.full((1, 32, 64, 3), 90, np.uint8)
    np.testing.assert_array_equal(squashed(flat, 48), flat)


@pytest.mark.parametrize("channels", [14, 10])
def test_check_model_has_nothing_against_it(channels: int) -> None:
    class Following(Recording):
        """Is brighter after a turn to the left than after one to the right."""

        def __call__(self, picture: Any, rows: Any, rolls: Any, seed: int) -> np.ndarray:
            levels = np.cumsum([20 + 5 * roll for roll in rolls or [0] * 14]) + seed % 7
            return super().__call__(picture, rows, rolls, seed) + levels[:, None, None, None].astype(np.uint8)

    report = check_model(WiwSvd(backend=Following(channels)), suite="worldinworld")
    assert complaints(report) == []


class TestFiles:
    """Where a checkpoint may lie; what is not there is said in one line."""

    @pytest.mark.parametrize("inner", ["", "unet", "checkpoint-6000/unet"])
    @pytest.mark.parametrize("name", [FILES[0], FILES[2]])
    def test_layouts(self, inner: str, name: str, tmp_path: Path) -> None:
        (tmp_path / inner).mkdir(parents=True, exist_ok=True)
        (tmp_path / inner / name).write_bytes(b"1")
        assert files_of(tmp_path) == [tmp_path / inner / name]

    @pytest.mark.parametrize("name", [FILES[1], FILES[3]])
    def test_an_index_names_its_parts(self, name: str, tmp_path: Path) -> None:
        index = {"weight_map": {"a": "two.safetensors", "b": "../one.safetensors", "c": "two.safetensors"}}
        (tmp_path / name).write_text(json.dumps(index))
        with pytest.raises(ValueError, match=r"names one\.safetensors, which is no safetensors file beside it"):
            files_of(tmp_path)
        for part in ("one", "two"):
            (tmp_path / f"{part}.safetensors").write_bytes(b"1")
        assert files_of(tmp_path) == [tmp_path / "one.safetensors", tmp_path / "two.safetensors"]
        (tmp_path / name).write_text(json.dumps({"weight_map": {"a": "one.bin"}}))
        (tmp_path / "one.bin").write_bytes(b"1")
        with pytest.raises(ValueError, match=r"names one\.bin"):
            files_of(tmp_path)

    def test_what_was_looked_for(self, tmp_path: Path) -> None:
        (tmp_path / "diffusion_pytorch_model.bin").write_bytes(b"1")
        with pytest.raises(ValueError, match="holds no checkpoint; looked in it, in unet and in") as raised:
            files_of(tmp_path)
        said = str(raised.value)
        assert all(name in said for name in FILES)
        assert "\n" not in said
        for number in (1, 2):
            place = tmp_path / f"checkpoint-{number}" / "unet"
            place.mkdir(parents=True)
            (place / FILES[0]).write_bytes(b"1")
        with pytest.raises(ValueError, match=r"holds several checkpoints .*checkpoint-1/unet, "):
            files_of(tmp_path)


# With torch and diffusers: the recorded outputs, and a tiny checkpoint in a tiny pipeline, as a user would load them


@pytest.fixture(scope="module")
def torch() -> Any:
    pytest.importorskip("diffusers")
    pytest.importorskip("transformers")
    return pytest.importorskip("torch")


@pytest.mark.parametrize(("channels", "numbers"), [(14, 1_528_603_626), (10, 1_528_591_338)])
def test_tensors_of_the_published_size(channels: int, numbers: int, torch: Any) -> None:
    """Counted on the private class of the release: 1,438 tensors, of which 1,428 are the stock network's."""
    from diffusers import UNetSpatioTemporalConditionModel

    with torch.device("meta"):
        unet = UNetSpatioTemporalConditionModel(num_attention_heads=(5, 10, 20, 20), num_frames=14)
        assert len(unet.state_dict()) == 1428
        held = wiw_svd.Conditioned(unet, channels).unet.state_dict()
    assert len(held) == 1438
    assert sum(one.numel() for one in held.values()) == numbers
    assert held["add_action_proj.proj.weight"].shape == (256, 12 * channels)
    assert held["add_embedding_action.linear_2.weight"].shape == (1280, 1280)


@pytest.mark.parametrize("task", ["navigation", "manipulation"])
def test_outputs_of_the_released_network(task: str, torch: Any) -> None:
    recorded = Recorded(task)
    conditioned = wiw_svd.Conditioned(recorded.network(), recorded.rows.shape[2])
    assert len(conditioned.unet.state_dict()) == 434
    recorded.fill(conditioned.unet)
    with torch.no_grad():
        conditioned.condition_on(torch.from_numpy(recorded.rows))
        made = conditioned.unet(**recorded.asked())[0].numpy()
        np.testing.assert_allclose(made, recorded.output, atol=1e-5)
        conditioned.condition_on(torch.from_numpy(recorded.rows[:, ::-1].copy()))
        assert np.abs(conditioned.unet(**recorded.asked())[0].numpy() - recorded.output).max() > 0.01


def test_plans_in_a_batch_get_their_own_rows(torch: Any) -> None:
    """The released class repeats rows frame by frame where there are no gradients, which mixes plans."""
    recorded = Recorded("navigation")
    conditioned = wiw_svd.Conditioned(recorded.network(), 14)
    recorded.fill(conditioned.unet)
    other = step_rows(walk("RRRRRRRRRRRRR").actions)[0][None]
    both = torch.from_numpy(np.concatenate([recorded.rows, other.astype(np.float32)]))
    with torch.no_grad():
        conditioned.condition_on(both)
        mixed = conditioned.unet(**recorded.asked(4))[0]
        alone = []
        for rows in both:
            conditioned.condition_on(rows[None])
            alone.append(conditioned.unet(**recorded.asked(1))[0][0])
    for number in range(4):
        torch.testing.assert_close(mixed[number], alone[number % 2], atol=1e-5, rtol=0)
    assert (alone[0] - alone[1]).abs().max() > 0.01


def test_features_in_half_as_the_release_counts_them(torch: Any) -> None:
    rows = np.random.default_rng(0).uniform(-6.28, 6.28, (14, 10)).astype(np.float32)
    half = wiw_svd.features(torch, torch.from_numpy(rows), True).float().numpy()
    whole = wiw_svd.features(torch, torch.from_numpy(rows), False).numpy()
    angles = rows[:, 3].astype(np.float16) * np.float16(10)
    np.testing.assert_allclose(half[:, 46], np.cos(angles.astype(np.float64)), atol=1e-3)
    np.testing.assert_allclose(whole[:, 47], np.sin(rows[:, 3].astype(np.float64) * 10), atol=1e-5)
    assert 1e-3 < np.abs(half - whole).max() < 0.06
    steps = torch.from_numpy(micro_cond([4, *[2] * 13]).astype(np.float32))
    exact = wiw_svd.features(torch, steps, False)
    torch.testing.assert_close(wiw_svd.features(torch, steps, True).float(), exact, atol=1e-3, rtol=0)


@pytest.fixture(scope="module")
def base(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny pipeline of 14 frames, as the folder of img2vid."""
    from support.pipelines import tiny_pipeline

    folder = tiny_pipeline("svd", tmp_path_factory.mktemp("base") / "svd")
    changed(folder / "unet", num_frames=14)
    return folder


def changed(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def checkpoint(base: Path, folder: Path, channels: int, **saved: Any) -> Path:
    """A checkpoint of a tiny network: the tensors of the stock one, and ten more."""
    import torch
    from diffusers import UNetSpatioTemporalConditionModel

    torch.manual_seed(3)
    unet = UNetSpatioTemporalConditionModel.from_pretrained(base, subfolder="unet")
    conditioned = wiw_svd.Conditioned(unet, channels)
    with torch.no_grad():
        conditioned.unet.add_embedding_action.linear_2.weight.mul_(5)
    conditioned.unet.save_pretrained(folder / "unet", **saved)
    return folder


@pytest.fixture(scope="module")
def weights(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint(base, tmp_path_factory.mktemp("weights") / "checkpoint-6000", 14)


def test_a_checkpoint_is_loaded_and_follows_its_plan(base: Path, weights: Path) -> None:
    model = WiwSvd(str(weights), str(base), steps=2, device="cpu")
    assert set(model.spec.settings["base"]) == {"feature_extractor", "image_encoder", "scheduler", "vae"}
    first, again, other = (frames_of(model, walk(plan)) for plan in ("LLLLF", "LLLLF", "FFFFF"))
    assert first.shape == (5, 32, 64, 3)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first, frames_of(model, walk("LLLLF", seed=6)))


def test_an_arm_is_loaded_by_its_channels(base: Path, tmp_path: Path) -> None:
    place = checkpoint(base, tmp_path / "arm", 10, variant="fp16")
    model = WiwSvd(str(place), str(base), steps=1, device="cpu", squash=16)
    assert model.spec.action_spaces == ("hand-poses",)
    assert frames_of(model, reach([reaching_down(0.3, 0.1, 0.9, 0.0)] * 3)).shape == (3, 32, 32, 3)


def test_shards_are_joined(base: Path, weights: Path, tmp_path: Path) -> None:
    whole = open_unet(weights, base)[0].unet.state_dict()
    parts = open_unet(checkpoint(base, tmp_path, 14, max_shard_size="300KB"), base)[0].unet.state_dict()
    assert len(list((tmp_path / "unet").glob("*.safetensors"))) > 1
    assert all((parts[name] == one).all() for name, one in whole.items())


def test_noise_is_drawn_as_the_pipeline_draws_and_rolled_by_turns(base: Path, weights: Path, torch: Any) -> None:
    model = WiwSvd(str(weights), str(base), steps=1, device="cpu")
    backend = model._backend
    straight, turned = (backend._noise(step_rows(walk(plan).actions)[1], 32, 64, 7) for plan in ("F" * 13, "FLLR"))
    columns = straight.shape[-1]
    assert columns == 32
    for frame, before, roll in ((2, 1, 2), (3, 2, 2), (4, 3, -2)):
        assert torch.equal(turned[:, frame], turned[:, before].roll(roll, -1))
    for frame in (0, 1, 5, 13):
        assert torch.equal(turned[:, frame], straight[:, frame])
    # The stock call, which draws its own noise for picture and latents, gives the same frames.
    rows = step_rows(walk("F" * 13).actions)[0]
    picture = walk("F").context.clip[0]
    mine = backend(picture, rows, [0] * 14, 7)
    given = {"generator": torch.Generator("cpu").manual_seed(7), "num_inference_steps": 1, "num_frames": 14}
    stock = backend._pipe(backend._image(picture), height=32, width=64, output_type="np", **given).frames[0]
    np.testing.assert_array_equal(mine, (stock.clip(0, 1) * 255).round().astype(np.uint8))


class TestRefusals:
    """One line each, before any network is made."""

    def opened(self, weights: Path, base: Path) -> str:
        with pytest.raises(ValueError, match="svd-dagger: ") as raised:
            WiwSvd(str(weights), str(base), device="cpu")
        said = str(raised.value)
        assert "\n" not in said
        return said

    def test_a_stock_network_has_no_ids(self, base: Path) -> None:
        assert "add_action_proj.proj.weight is of 0 numbers per frame, not of 14 or 10" in self.opened(base, base)

    def test_other_channels(self, base: Path, tmp_path: Path) -> None:
        assert "is of 7 numbers per frame" in self.opened(checkpoint(base, tmp_path, 7), base)

    def test_tensors_of_other_sizes(self, base: Path, weights: Path, tmp_path: Path) -> None:
        shutil.copytree(weights, tmp_path, dirs_exist_ok=True)
        changed(tmp_path / "unet", block_out_channels=[64, 32])
        assert "tensors do not fit its config.json, such as " in self.opened(tmp_path, base)
        changed(tmp_path / "unet", block_out_channels=[32, 10**9])
        assert "block_out_channels is [32, 1000000000]; up to 8192 are known" in self.opened(tmp_path, base)
        changed(tmp_path / "unet", block_out_channels=[32, 32], layers_per_block=900)
        assert "layers_per_block is 900; up to 8" in self.opened(tmp_path, base)
        changed(tmp_path / "unet", layers_per_block=1, num_frames=25)
        assert "draws 25 frames, not 14" in self.opened(tmp_path, base)

    def test_a_base_without_its_parts(self, base: Path, weights: Path, tmp_path: Path) -> None:
        shutil.copytree(base, tmp_path, dirs_exist_ok=True)
        shutil.rmtree(tmp_path / "vae")
        assert "has no folder vae; give stable-video-diffusion-img2vid" in self.opened(weights, tmp_path)

    def test_a_base_of_25_frames_is_warned_of(self, base: Path, weights: Path, tmp_path: Path) -> None:
        shutil.copytree(base, tmp_path, dirs_exist_ok=True)
        changed(tmp_path / "unet", num_frames=25)
        with pytest.warns(UserWarning, match="is of 25 frames; the release took that of 14"):
            WiwSvd(str(weights), str(tmp_path), device="cpu")
