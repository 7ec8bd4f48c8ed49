"""`trained`: settings, batches, short contexts, other actions, and files that are not what they should be."""

import json
import shutil
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from support.upstream import complaints  # noqa: E402
from worldgauge.core.actions import CAMERA_MOTION, LOOP_WALK, Actions  # noqa: E402
from worldgauge.core.episode import Context  # noqa: E402
from worldgauge.core.errors import NotApplicableError, WorldgaugeError  # noqa: E402
from worldgauge.core.geometry import Camera  # noqa: E402
from worldgauge.core.model import RolloutRequest  # noqa: E402
from worldgauge.core.video import Clip, resize  # noqa: E402
from worldgauge.models.baselines.tiny import mirror_of, row_width  # noqa: E402
from worldgauge.suites.mind.actions import walk_look  # noqa: E402
from worldgauge.tools.check_model import check_model  # noqa: E402
from worldgauge.worlds.walking.primitives import NAV_STEPS  # noqa: E402
from worldgauge_train.models import HOW_MADE, Trained  # noqa: E402
from worldgauge_train.training.cache import CachedClip  # noqa: E402
from worldgauge_train.training.log import inspected  # noqa: E402
from worldgauge_train.training.loop import train  # noqa: E402
from worldgauge_train.training.material import Material  # noqa: E402
from worldgauge_train.training.parents import made_by  # noqa: E402
from worldgauge_train.training.recipe import Recipe, changed  # noqa: E402

TINY = Recipe(
    stage="causal", architecture="causal", size=(16, 8), frames=2, past=2, drawn=3, width=16, depth=1, heads=2,
    window=3, channels=(8,), batch=2, steps=40, learning_rate=0.02, warm_up=1, average=0.5, denoising_steps=2,
)  # fmt: skip


@pytest.fixture(scope="module")
def material() -> Material:
    rng = np.random.default_rng(1)
    rows = rng.random((30, row_width(LOOP_WALK)), np.float32)
    frames = rng.integers(0, 256, (30, 8, 16, 3), np.uint8)
    clip = CachedClip("walk", "made-up", "here", frames, rows, rng.normal(0, 1, (30, 5)))
    return Material([clip], (LOOP_WALK.name,), row_width(LOOP_WALK), mirror_of(LOOP_WALK), 20.0, LOOP_WALK)


@pytest.fixture(scope="module")
def causal(material: Material, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(TINY, material, tmp_path_factory.mktemp("causal"))


@pytest.fixture(scope="module")
def fetched(material: Material, tmp_path_factory: pytest.TempPathFactory) -> Path:
    recipe = changed(TINY, {"architecture": "conv", "stage": "regress", "memory": "fetched", "past": 4, "drawn": 2})
    return train(recipe, material, tmp_path_factory.mktemp("fetched"))


def request(frames: int = 6, horizon: int = 5, seed: int = 1) -> RolloutRequest:
    rng = np.random.default_rng(seed)

    def some(n: int) -> Actions:
        return Actions(LOOP_WALK, rng.integers(0, 2, (n, len(LOOP_WALK))).astype(np.float32))

    clip = Clip.from_array(rng.integers(0, 256, (frames, 8, 16, 3), np.uint8), 20.0)
    poses = np.tile(np.eye(4), (frames, 1, 1))
    context = Context(clip, poses, some(frames - 1), Camera.from_horizontal_fov(16, 8, 90))
    return RolloutRequest(context, horizon, seed, actions=some(horizon))


def frames_of(model: Trained, asked: RolloutRequest) -> np.ndarray:
    return np.concatenate(list(model.rollout(asked)))


def test_settings_change_the_frames_and_the_model(causal: Path) -> None:
    plain = Trained(str(causal))
    before = frames_of(plain, request())
    assert before.shape == (5, 8, 16, 3)
    assert plain.spec.max_context == 6
    for settings in (
        {"steps": 1}, {"window": 2}, {"guidance": 3.0}, {"stabilise": 0.3}, {"weights": "last"},
        {"precision": "bfloat16"},
    ):  # fmt: skip
        other = Trained(str(causal), **settings)  # type: ignore[arg-type]
        assert other.spec.settings != plain.spec.settings, settings
        assert not np.array_equal(frames_of(other, request()), before), settings
    assert np.array_equal(frames_of(Trained(str(causal), device="cpu", memory="window"), request()), before)


def test_a_memory_can_be_left_out(fetched: Path) -> None:
    long = request(frames=14, horizon=8)
    with_memory, without = (frames_of(Trained(str(fetched), memory=name), long) for name in (None, "window"))
    assert not np.array_equal(with_memory, without)
    assert Trained(str(fetched)).spec.max_context is None


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"steps": 0}, "1 to 1000"),
        ({"window": 9}, "a window of 3"),
        ({"memory": "fetched"}, "can take window"),
        ({"weights": "best"}, "'ema'|ema"),
        ({"precision": "float16"}, "float32"),
        ({"device": "abacus"}, "abacus"),
        ({"device": "cuda:99"}, "CUDA"),
        ({"guidance": -1.0}, "0 to 100"),
        ({"as_size": "32"}, "one such as 256x144"),
        ({"as_size": "32x9999"}, "one such as 256x144"),
    ],
)
def test_settings_that_do_not_go_are_told(causal: Path, settings: dict[str, object], told: str) -> None:
    with pytest.raises(WorldgaugeError, match=told):
        Trained(str(causal), **settings)  # type: ignore[arg-type]


def test_how_a_network_was_made_makes_no_other_model(causal: Path, tmp_path: Path) -> None:
    folder = tmp_path / causal.name
    shutil.copytree(causal, folder)
    config = json.loads((folder / "config.json").read_text())
    before = Trained(str(folder)).spec.settings["config"]
    made = {"device": "cuda", "precision": "bfloat16", "threads": 7, "versions": {}, "validation": None, "seconds": 9.9}
    (folder / "config.json").write_text(json.dumps(config | made))
    assert Trained(str(folder)).spec.settings["config"] == before
    assert {*made_by("cpu", "float32"), "validation"} <= {*HOW_MADE}
    (folder / "config.json").write_text(json.dumps(config | {"denoising_steps": 3}))
    assert Trained(str(folder)).spec.settings["config"] != before


def test_frames_are_given_in_another_size(causal: Path) -> None:
    model = Trained(str(causal), as_size="40x24")
    assert (model.spec.frame_size, model.spec.settings["as_size"]) == ((40, 24), "40x24")
    assert model.spec.settings["drawn_size"] == [16, 8]  # the size of the reference `coarse` beside it
    asked = request()
    context = replace(
        asked.context, clip=asked.context.clip.resized(40, 24), camera=asked.context.camera.resized(40, 24)
    )
    large = replace(asked, context=context)
    given = frames_of(model, large)
    assert given.shape == (5, 24, 40, 3)
    small = replace(asked, context=replace(context, clip=context.clip.resized(16, 8)))
    drawn = frames_of(Trained(str(causal)), small)
    np.testing.assert_array_equal(given, np.stack([resize(frame, 40, 24) for frame in drawn]))
    (together,) = model.rollout_batch([large])
    np.testing.assert_array_equal(np.concatenate(together), given)


def test_weights_in_several_files_are_the_same_model(material: Material, tmp_path: Path) -> None:
    wide = changed(TINY, {"architecture": "conv", "stage": "regress", "channels": (128,), "past": 4, "steps": 1})
    whole, parts = (train(wide, material, tmp_path / name, shard_mb=mb) for name, mb in (("one", None), ("many", 1)))
    assert not (parts / "model.safetensors").exists()
    one, many = Trained(str(whole)), Trained(str(parts))
    np.testing.assert_array_equal(frames_of(one, request()), frames_of(many, request()))
    assert inspected(whole)["tensors"] == inspected(parts)["tensors"]
    assert len(str(many.spec.settings["weights"])) == 64


@pytest.mark.parametrize("which", ["causal", "fetched"])
def test_a_batch_is_its_questions(which: str, request: pytest.FixtureRequest) -> None:
    model = Trained(str(request.getfixturevalue(which)))
    asked = [_request(seed=1), _request(seed=2), _request(frames=3, horizon=4, seed=3)]
    for answer, one in zip(model.rollout_batch(asked), asked, strict=True):
        np.testing.assert_allclose(np.concatenate(answer).astype(int), frames_of(model, one), atol=1)


_request = request


@pytest.mark.parametrize("which", ["causal", "fetched"])
def test_it_keeps_what_every_model_must(which: str, request: pytest.FixtureRequest) -> None:
    report = check_model(Trained(str(request.getfixturevalue(which))))
    assert complaints(report) == []
    asked = [verdict for verdict in report.verdicts if verdict.status != "skipped"]
    assert len(asked) > 0.8 * len(report.verdicts)


@pytest.mark.parametrize("kind", ["mind", "worldinworld", "paths"])
def test_checkpoints_of_every_kind_keep_what_every_model_must(kind: str, tmp_path: Path) -> None:
    """Keys of mind, steps through homes that are seen in panoramas, and paths of a camera; loops are above."""
    space = {"mind": walk_look(), "worldinworld": NAV_STEPS, "paths": CAMERA_MOTION}[kind]
    rng = np.random.default_rng(1)
    rows = rng.random((30, row_width(space)), np.float32)
    clip = CachedClip(
        "walk", "made-up", "here", rng.integers(0, 256, (30, 8, 16, 3), np.uint8), rows, np.zeros((30, 5))
    )
    of_steps = kind == "worldinworld"
    material = Material(
        [clip],
        (space.name,),
        row_width(space),
        mirror_of(space),
        space.fps,
        space,
        "panorama" if of_steps else "perspective",
    )
    settings = {"architecture": "conv", "stage": "regress", "past": 4, "drawn": 2, "wraps": of_steps, "steps": 4}
    model = Trained(str(train(changed(TINY, settings), material, tmp_path)))
    report = check_model(model, suite=None if kind == "paths" else kind)
    assert complaints(report) == []
    asked = [verdict for verdict in report.verdicts if verdict.status != "skipped"]
    assert len(asked) > 0.8 * len(report.verdicts)


def test_who_takes_a_part_of_an_answer_still_has_gradients(causal: Path) -> None:
    model = Trained(str(causal))
    first, second = model.rollout(_request()), model.rollout(_request(seed=2))
    next(first), next(second)
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()
    first.close(), second.close()  # type: ignore[attr-defined]
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("frames", [1, 2, 5])
def test_short_contexts_are_filled_up(causal: Path, fetched: Path, frames: int) -> None:
    for folder in (causal, fetched):
        assert frames_of(Trained(str(folder)), _request(frames=frames)).shape == (5, 8, 16, 3)


def test_actions_of_another_family_are_not_applicable(causal: Path) -> None:
    asked = _request()
    other = Actions(NAV_STEPS, np.zeros((5, len(NAV_STEPS)), np.float32))
    with pytest.raises(NotApplicableError, match="was trained on actions of loop-walk"):
        list(Trained(str(causal)).rollout(RolloutRequest(asked.context, 5, 1, actions=other)))


def _with_huge_shape(weights: bytes, rng: np.random.Generator) -> bytes:
    """The file, whose header tells one tensor of a size that no memory has, its place in the file left or moved."""
    size = int.from_bytes(weights[:8], "little")
    header = json.loads(weights[8 : 8 + size])
    one = header[str(rng.choice([name for name in header if name != "__metadata__"]))]
    one["shape"] = [[10**9, 10**9], [2**40], [2**63 - 1, 2], [10**30], [0]][int(rng.integers(5))]
    if rng.integers(2):
        one["data_offsets"] = [0, 2**62]
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + weights[8 + size :]


@pytest.mark.parametrize("name", ["architecture", "codec", "memory", "head", "told"])
def test_nothing_is_imported_by_a_name_in_a_file(causal: Path, tmp_path: Path, name: str) -> None:
    """`antigravity` is a module of Python that nothing here imports."""
    shutil.copytree(causal, tmp_path / "changed")
    path = tmp_path / "changed" / "config.json"
    config = json.loads(path.read_text())
    for value in ("antigravity", "antigravity:webbrowser", "antigravity.webbrowser"):
        if name == "codec":
            config["codec"]["name"] = value
        elif name in config["network"]:
            config["network"][name] = value
        else:
            config[name] = value
        path.write_text(json.dumps(config))
        with pytest.raises(WorldgaugeError):
            Trained(str(tmp_path / "changed"))
        assert "antigravity" not in sys.modules


@pytest.mark.parametrize("count", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_files_that_are_not_what_they_should_be_are_told(count: int, causal: Path, tmp_path: Path) -> None:
    """Damaged checkpoints, cut, changed, renamed: an error of ours each time, or the same shapes."""
    weights, config = (causal / "model.safetensors").read_bytes(), (causal / "config.json").read_text()
    rng = np.random.default_rng(0)
    told, fine = json.loads(config), 0
    for number in range(count):
        data, text = bytearray(weights), config
        kind = number % 6
        if kind == 0:
            data = data[: int(rng.integers(len(data)))]
        elif kind == 1:
            for at in rng.integers(0, 2000, 4):
                data[at] = int(rng.integers(256))
        elif kind == 2:
            at = int(rng.integers(len(data) - 4))
            data[at : at + 4] = np.float32(np.nan).tobytes()
        elif kind == 5:
            data = bytearray(_with_huge_shape(weights, rng))
        elif kind == 3:
            name = str(rng.choice(list(told["network"])))
            value = [-1, 0, 2, 10**9, 10**30, 0.5, True, "2", [1], None][int(rng.integers(10))]
            text = json.dumps({**told, "network": {**told["network"], name: value}})
        else:
            name = str(rng.choice(["architecture", "network", "codec", "denoising_steps", "most_past", "told", "fps"]))
            text = json.dumps({**told, name: ["os.system", "", "conv", -1, 10**30, None, {}, []][int(rng.integers(8))]})
        (tmp_path / "model.safetensors").write_bytes(bytes(data))
        (tmp_path / "config.json").write_text(text)
        with suppress(WorldgaugeError):
            Trained(str(tmp_path))
            fine += 1
    assert fine < 0.3 * count


def test_told_nothing_it_plans_by_itself(material: Material, tmp_path: Path) -> None:
    clip = material.clips[0]
    mute = replace(
        material,
        clips=[replace(clip, rows=np.zeros((30, 1), np.float32))],
        columns=1,
        mirror=np.eye(1, dtype=np.float32),
    )
    model = Trained(str(train(changed(TINY, {"told": "nothing"}), mute, tmp_path)))
    assert (model.spec.control, model.spec.action_spaces) == ("text", None)
    asked = request()
    drawn = frames_of(model, replace(asked, actions=None, text="walk to the tree"))
    assert drawn.shape == (5, 8, 16, 3)
    np.testing.assert_array_equal(drawn, frames_of(model, asked))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("denoising_steps", 1e308, "denoising_steps is not a number of 0 to 1000"),
        ("denoising_steps", -1, "denoising_steps is not"),
        ("denoising_steps", 10**400, "denoising_steps is not"),
        ("size", [100_000, 100_000], "size is .100000, 100000.; two sides"),
        ("size", [16], "two sides"),
        ("size", "ab", "two sides"),
        ("size", [17, 8], "cannot generate .*is its config.json that of its weights"),
    ],
)
def test_what_a_file_tells_of_itself_is_checked(
    causal: Path, tmp_path: Path, name: str, value: object, words: str
) -> None:
    shutil.copytree(causal, tmp_path / "changed")
    path = tmp_path / "changed" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    with pytest.raises(WorldgaugeError, match=words):
        list(Trained(str(tmp_path / "changed")).rollout(request()))
