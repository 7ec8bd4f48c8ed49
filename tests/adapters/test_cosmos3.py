"""Cosmos 3: steps of a camera and of an arm as its call takes them; with torch, the real pipeline of random weights."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapters.image_to_video import CANVASES, DOMAINS, Cosmos3, camera_steps, hand_steps

from support.upstream import as_served, complaints, question, walk_rows
from worldgauge.core.actions import HAND_POSES, Actions
from worldgauge.core.episode import Context
from worldgauge.core.errors import ModelError, NotApplicableError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.core.model import RolloutRequest, checked_rollout, fitted
from worldgauge.core.video import Clip
from worldgauge.tools.check_model import check_model

SMALL = "320x192"
CAPTION = "A village of wooden houses."
ARM = "droid_lerobot"


class Drifting:
    """Draws the picture and drifts by what it is told; refuses what the real call refuses."""

    def __init__(self) -> None:
        self.identity = {"weights": "none"}
        self.asked: list[tuple[Any, ...]] = []

    def __call__(
        self, picture: Any, words: str, rows: Any, domain: str, view_point: str, fps: float, seed: int
    ) -> np.ndarray:
        width = {"camera_pose": 9, "droid_lerobot": 10, "robomind-franka": 10}[domain]
        assert rows.dtype == np.float32
        assert rows.shape[1:] == (width,)
        assert len(rows) % 4 == 0
        assert picture.shape[1::-1] in CANVASES
        assert view_point == ("ego_view" if domain == "camera_pose" else "third_person_view")
        self.asked.append((picture, words, rows, domain, fps, seed))
        told = np.cumsum(np.concatenate([[0.0], 20 * rows.sum(axis=1)])) + seed % 7 + len(words) % 13
        return (picture + (told[:, None, None, None] % 40).astype(np.uint8)).astype(np.uint8)


def model(**settings: Any) -> tuple[Cosmos3, Drifting]:
    backend = Drifting()
    return Cosmos3("weights/Cosmos3-Nano", backend=backend, **{"size": SMALL, **settings}), backend


def walk(spec: Any, frames: int) -> RolloutRequest:
    return replace(question(walk_rows(frames), seen=1, spec=spec), caption=CAPTION)


def reach(rows: Any, now: Any = None, size: tuple[int, int] = (256, 256)) -> RolloutRequest:
    """A question about an arm: rows (n, 7), and the row of the pose that it is in."""
    width, height = size
    before = np.zeros((0, 7), np.float32) if now is None else np.array([now], np.float32)
    seen = len(before) + 1
    clip = Clip.from_array(np.full((seen, height, width, 3), 80, np.uint8), 20.0)
    still = np.repeat(np.eye(4)[None], seen, axis=0)
    context = Context(clip, still, Actions(HAND_POSES, before), Camera.from_horizontal_fov(width, height, 60))
    actions = Actions(HAND_POSES, np.array(rows, np.float32))
    return RolloutRequest(context, len(actions), 5, actions, text="Push the red button.", caption="A table.")


def matrices(steps: Any) -> np.ndarray:
    """Rigid motions (n, 4, 4) of steps (n, 9): the turn from its first two columns."""
    whole = np.tile(np.eye(4), (len(steps), 1, 1))
    whole[:, :3, 3], whole[:, :3, 0], whole[:, :3, 1] = steps[:, :3], steps[:, 3:6], steps[:, 6:9]
    whole[:, :3, 2] = np.cross(steps[:, 3:6], steps[:, 6:9])
    return whole


def test_steps_of_a_camera_by_hand() -> None:
    """Facing +y: 2 m ahead, 1 m up, 3 m to the right, then 90 degrees to the left. x right, y down, z ahead."""
    places = [((3, 4, 9), 90), ((3, 6, 9), 90), ((3, 6, 10), 90), ((6, 6, 10), 90), ((6, 6, 10), 180)]
    rows = camera_steps(np.stack([pose_from_yaw_pitch(place, np.radians(yaw)) for place, yaw in places]))
    assert rows.dtype == np.float32
    assert rows[:, :3] == pytest.approx(np.array([[0, 0, 2], [0, -1, 0], [3, 0, 0], [0, 0, 0]]), abs=1e-6)
    assert rows[:3, 3:] == pytest.approx(np.tile([1.0, 0, 0, 0, 1, 0], (3, 1)), abs=1e-6)
    # What was to the right lies ahead, as seen from before.
    assert rows[3, 3:] == pytest.approx([0, 0, 1, 0, 1, 0], abs=1e-6)


def test_steps_lead_back_over_the_path_and_do_not_depend_on_the_world() -> None:
    rng = np.random.default_rng(3)
    yaw, pitch = rng.uniform(-3, 3, 9), rng.uniform(-1, 1, 9)
    path = pose_from_yaw_pitch(rng.normal(size=(9, 3)), yaw, pitch)
    rows = camera_steps(path)
    again = [path[0]]
    for step in matrices(rows.astype(float)):
        again.append(again[-1] @ step)
    assert np.stack(again) == pytest.approx(path, abs=1e-5)
    elsewhere = pose_from_yaw_pitch((4.0, -2.0, 7.0), 1.1, 0.3)
    assert camera_steps(elsewhere @ path) == pytest.approx(rows, abs=1e-5)


def test_steps_of_a_hand_by_hand() -> None:
    """A hand that points down moves 1 cm along x and opens; then it rises by 2 cm; then it turns by 90 degrees."""
    down = [np.pi, 0.0, 0.0]
    rows = hand_steps(
        reach(
            [[0.31, 0, 0.8, *down, 1], [0.31, 0, 0.82, *down, 1], [0.31, 0, 0.82, np.pi, 0, np.pi / 2, 0]],
            now=[0.30, 0, 0.8, *down, 0],
        )
    )
    assert rows.shape == (3, 10)
    assert rows[:, 9].tolist() == [1, 1, 0]
    # Of a camera on the hand x is across the fingers, z out; the hand's x is its -y.
    assert rows[0, :3] == pytest.approx([0, -0.01, 0], abs=1e-6)
    assert rows[1, :3] == pytest.approx([0, 0, -0.02], abs=1e-6)
    assert rows[2, :3] == pytest.approx([0, 0, 0], abs=1e-6)
    # To the left as seen from above is to the right about the axis that points down.
    assert rows[2, 3:9] == pytest.approx([0, -1, 0, 1, 0, 0], abs=1e-6)


def test_steps_of_a_hand_against_quaternions() -> None:
    from worldgauge.worlds.tabletop.pose_plans import from_actions

    rng = np.random.default_rng(4)
    rows = np.concatenate([rng.normal(size=(6, 3)), rng.uniform(-3, 3, (6, 3)), np.ones((6, 1))], axis=1)
    poses = from_actions(Actions(HAND_POSES, rows.astype(np.float32)))
    x, y, z, w = poses[:, 3:7].T
    turns = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    ).transpose(2, 0, 1)
    whole = np.tile(np.eye(4), (6, 1, 1))
    whole[:, :3, :3] = turns @ np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    whole[:, :3, 3] = poses[:, :3]
    told = hand_steps(reach(rows[1:], now=rows[0]))
    assert matrices(told[:, :9].astype(float)) == pytest.approx(np.linalg.inv(whole[:-1]) @ whole[1:], abs=1e-5)


def test_where_the_hand_is_may_be_unknown() -> None:
    rows = [[0.1 * t, 0, 1, 0, 0, 0, 1] for t in (1, 2, 3)]
    assert hand_steps(reach(rows))[:, 1] == pytest.approx([-0.1, -0.1, -0.1], abs=1e-6), "as its second step"
    alone = hand_steps(reach(rows[:1]))
    assert alone == pytest.approx(np.array([[0, 0, 0, 1, 0, 0, 0, 1, 0, 1]]), abs=1e-6), "it stands still"


def test_what_the_pipeline_is_asked() -> None:
    cosmos, backend = model(longest=9)
    request = walk(cosmos.spec, 10)
    frames = np.concatenate(list(checked_rollout(cosmos, request)))
    assert frames.shape == (10, 192, 320, 3)
    assert [len(asked[2]) for asked in backend.asked] == [8, 4], "13 frames with the picture: 9, and 4 more"
    assert {asked[1] for asked in backend.asked} == {CAPTION}
    assert {asked[3:5] for asked in backend.asked} == {("camera_pose", 30.0)}
    np.testing.assert_array_equal(backend.asked[1][0], frames[7], "it goes on from the last frame")
    told = np.concatenate([asked[2] for asked in backend.asked])
    path = np.concatenate([request.context.poses[-1:], request.poses])  # type: ignore[list-item]
    assert told[:10] == pytest.approx(camera_steps(path), abs=1e-5)
    assert told[10:, :3] == pytest.approx(np.zeros((2, 3)), abs=1e-6), "beyond the future it stands still"
    assert backend.asked[0][5] != backend.asked[1][5], "each call has a seed of its own"
    elsewhere = cosmos.rollout(as_served(fitted(request, cosmos.spec)))
    assert np.array_equal(np.concatenate(list(elsewhere))[:10], frames), "the same without worldgauge"


def test_the_arm_is_asked_through_calls_as_through_one() -> None:
    rows = [[0.02 * t, 0.3, 0.8, np.pi, 0, 0.1 * t, float(t > 4)] for t in range(1, 11)]
    whole, parts = (model(domain=ARM, size="256x256", longest=longest) for longest in (17, 5))
    for cosmos, _ in (whole, parts):
        list(checked_rollout(cosmos, reach(rows, now=[0, 0.3, 0.8, np.pi, 0, 0, 0])))
    one, several = (np.concatenate([asked[2] for asked in backend.asked]) for _, backend in (whole, parts))
    assert [len(asked[2]) for asked in parts[1].asked] == [4, 4, 4]
    assert several == pytest.approx(one, abs=1e-5)
    assert one[10:, :9] == pytest.approx(np.tile([0, 0, 0, 1.0, 0, 0, 0, 1, 0], (2, 1)), abs=1e-5), "the hand rests"
    assert one[:, 9].tolist() == [0] * 4 + [1] * 8
    assert {asked[1] for asked in parts[1].asked} == {"Push the red button."}


def test_scale_is_of_the_way_alone() -> None:
    plain, doubled = model(), model(scale=2.0)
    for cosmos, _ in (plain, doubled):
        list(checked_rollout(cosmos, walk(cosmos.spec, 4)))
    one, two = plain[1].asked[0][2], doubled[1].asked[0][2]
    assert two[:, :3] == pytest.approx(2 * one[:, :3], abs=1e-6)
    assert two[:, 3:] == pytest.approx(one[:, 3:], abs=1e-6)


def test_what_it_says_of_itself() -> None:
    spec = model(size="")[0].spec
    assert (spec.name, spec.control, spec.frame_size, spec.crop) == ("Cosmos3-Nano", "camera", (832, 480), (832, 480))
    assert (spec.fps, spec.max_context, spec.chunk, spec.lengths) == (30.0, 1, 60, "4n+1")
    assert (tuple(spec.inputs), spec.action_spaces) == (("caption",), None)
    arm = model(domain=ARM, size="")[0].spec
    assert (arm.control, arm.frame_size, arm.fps, arm.chunk) == ("actions", (640, 640), 15.0, 16)
    assert (tuple(arm.inputs), tuple(arm.action_spaces or ()), arm.max_context) == (("text",), ("hand-poses",), 2)
    assert "scale" not in arm.settings


def test_it_is_not_asked_what_it_cannot_know() -> None:
    cosmos, _ = model()
    with pytest.raises(NotApplicableError, match="needs a caption"):
        list(checked_rollout(cosmos, replace(walk(cosmos.spec, 4), caption=None)))
    arm, _ = model(domain=ARM)
    keys = replace(question(walk_rows(4), seen=1, spec=arm.spec), text="Go.")
    with pytest.raises(NotApplicableError, match=r"knows the actions of hand-poses"):
        list(checked_rollout(arm, keys))


@pytest.mark.parametrize(
    ("settings", "because"),
    [
        ({"domain": "agibotworld"}, "domain is 'agibotworld'; give one of camera_pose, droid_lerobot"),
        ({"size": "640x360"}, "size is '640x360'; give one of 320x192"),
        ({"longest": 12}, "longest is 12; give 5, 9, 13"),
        ({"longest": 1}, "longest is 1"),
        ({"steps": 0}, "steps are at least 1"),
        ({"dtype": "int8"}, "dtype is 'int8'"),
    ],
)
def test_settings_that_cannot_be_meant(settings: dict[str, Any], because: str) -> None:
    with pytest.raises(ValueError, match=because):
        model(**settings)


def test_another_number_of_frames_is_a_failure() -> None:
    cosmos, backend = model()
    cosmos._backend = lambda *given: backend(*given)[:-1]
    with pytest.raises(ModelError, match=r"drew frames of shape \(4, 192, 320, 3\), not \(5, 192, 320, 3\)"):
        list(checked_rollout(cosmos, walk(cosmos.spec, 4)))


def test_keeps_the_promises_of_a_model() -> None:
    assert complaints(check_model(model()[0])) == []


# With torch and diffusers: the real pipeline, saved, and loaded as a user's would be


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch, diffusers = pytest.importorskip("torch"), pytest.importorskip("diffusers")
    transformers, tokenizers = pytest.importorskip("transformers"), pytest.importorskip("tokenizers")
    torch.manual_seed(0)
    words = ["[PAD]", "[UNK]", "[EOS]", "<|vision_start|>", "A", "village", "of", "wooden", "houses", "Push", "red"]
    given = {word: number for number, word in enumerate(words)}
    tokens = tokenizers.Tokenizer(tokenizers.models.WordLevel(given, unk_token="[UNK]"))
    tokens.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    text_tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokens, pad_token="[PAD]", unk_token="[UNK]", eos_token="[EOS]"
    )
    text_tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    transformer = diffusers.Cosmos3OmniTransformer(
        head_dim=8,
        hidden_size=16,
        intermediate_size=32,
        latent_channel=4,
        num_attention_heads=2,
        num_hidden_layers=1,
        num_key_value_heads=1,
        patch_latent_dim=16,
        action_dim=16,
        action_gen=True,
        vocab_size=len(words),
        rope_axes_dim=[2, 1, 1],
    )
    vae = diffusers.AutoencoderKLWan(
        base_dim=4,
        z_dim=4,
        dim_mult=[1, 1, 1, 1],
        num_res_blocks=1,
        latents_mean=[0.0] * 4,
        latents_std=[1.0] * 4,
        is_residual=True,
        in_channels=12,
        out_channels=12,
        patch_size=2,
        scale_factor_spatial=16,
    )
    with torch.no_grad():  # so that what it is told is seen
        transformer.action_proj_in.fc.weight.mul_(20)
    folder = tmp_path_factory.mktemp("pipelines") / "Cosmos3-Tiny"
    scheduler = diffusers.UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True)
    diffusers.Cosmos3OmniPipeline(
        transformer=transformer,
        text_tokenizer=text_tokenizer,
        vae=vae,
        scheduler=scheduler,
        enable_safety_checker=False,
    ).save_pretrained(folder)
    return folder


def loaded(folder: Path, **settings: Any) -> Cosmos3:
    given = {"size": SMALL, "longest": 5, "steps": 2, "dtype": "float32", "device": "cpu"}
    return Cosmos3(str(folder), **{**given, **settings})


def drawn(cosmos: Cosmos3, request: RolloutRequest) -> np.ndarray:
    return np.concatenate(list(checked_rollout(cosmos, request)))


def test_a_camera_path_through_the_real_pipeline(weights: Path) -> None:
    cosmos = loaded(weights)
    assert cosmos._backend._pipe.scheduler.config.flow_shift == 5.0
    request = walk(cosmos.spec, 6)
    frames = drawn(cosmos, request)
    assert (frames.shape, frames.dtype) == ((6, 192, 320, 3), np.uint8)
    assert frames.std() > 1
    np.testing.assert_array_equal(drawn(loaded(weights), request), frames)
    assert not np.array_equal(drawn(cosmos, replace(request, seed=9)), frames)
    assert request.poses is not None
    other = np.repeat(request.poses[:1], 6, axis=0)
    assert not np.array_equal(drawn(cosmos, replace(request, poses=other)), frames), "it is told where to go"


@pytest.mark.parametrize("domain", [name for name in DOMAINS if name != "camera_pose"])
def test_an_arm_through_the_real_pipeline(weights: Path, domain: str) -> None:
    cosmos = loaded(weights, domain=domain, size="256x256", guidance=2.0)
    rows = [[0.02 * t, 0.3, 0.8, np.pi, 0, 0, 1.0] for t in range(1, 5)]
    request = reach(rows, now=[0, 0.3, 0.8, np.pi, 0, 0, 1])
    frames = drawn(cosmos, request)
    assert frames.shape == (4, 256, 256, 3)
    closed = replace(request, actions=Actions(HAND_POSES, np.array(rows, np.float32) * [1, 1, 1, 1, 1, 1, 0]))
    assert not np.array_equal(drawn(cosmos, closed), frames), "it is told the gripper"


def test_the_real_call_refuses_another_width(weights: Path) -> None:
    cosmos = loaded(weights)
    picture, rows = np.zeros((192, 320, 3), np.uint8), np.zeros((4, 10), np.float32)
    with pytest.raises(ValueError, match="width"):
        cosmos._backend(picture, "", rows, "camera_pose", "ego_view", 30.0, 0)


def test_frames_that_the_autoencoder_rounds(weights: Path) -> None:
    cosmos = loaded(weights)
    cosmos._backend, whole = (lambda *given: whole(*given[:2], given[2][:3], *given[3:])), cosmos._backend
    with pytest.raises(ModelError, match=r"drew frames of shape \(1, 192"):
        drawn(cosmos, walk(cosmos.spec, 4))
