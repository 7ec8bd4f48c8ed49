"""Training: windows, cache, recipes, and a loop whose bytes an interruption does not change."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldgauge.core.actions import HAND_POSES, LOOP_WALK, WALK_STEP_M, Actions, motions, path_moves
from worldgauge.core.episode import Context, Episode, WorldFacts
from worldgauge.core.errors import DataError, RunError, UnknownNameError, UsageError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.core.io import dumps, read_json_object
from worldgauge.core.model import RolloutRequest
from worldgauge.core.video import Clip
from worldgauge.models.baselines.tiny import mirror_of, row_width
from worldgauge_train.nets.memory import memories
from worldgauge_train.training import recipes
from worldgauge_train.training.cache import Windows, cached_clips
from worldgauge_train.training.clip import TrainingClip, read_clips, training_sources
from worldgauge_train.training.log import inspected, sentences_of
from worldgauge_train.training.material import Material, proof_of
from worldgauge_train.training.recipe import Recipe, changed, named_recipe, recipe_of_text

TINY = Recipe(size=(16, 8), frames=2, past=4, channels=(8,), batch=4, steps=12, warm_up=2)


def clip(number: int, frames: int = 30) -> TrainingClip:
    """A stripe that moves to the side that the walker turns away from."""
    rng = np.random.default_rng(number)
    turn = rng.choice([-0.1, 0.0, 0.1], frames - 1)
    wide = rng.integers(0, 256, (1, 400, 3), np.uint8).repeat(16, 0)
    place = 200 + np.rint(np.cumsum([0, *turn]) * -20).astype(int)
    shown = np.stack([wide[:, at : at + 32] for at in place])
    values = np.zeros((frames - 1, len(LOOP_WALK)), np.float32)
    values[:, LOOP_WALK.column("camera_yaw")] = turn
    walk = Episode(
        f"walk-{number}",
        Clip.from_array(shown, 20.0),
        np.tile(np.eye(4), (frames, 1, 1)),
        Actions(LOOP_WALK, values),
        Camera.from_horizontal_fov(32, 16, 90),
        WorldFacts("made-up", {"seed": number // 2}),
    )
    return TrainingClip.of_episode(walk, "made-up", "train", f"digest-{number}")


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Material:
    ready = cached_clips([clip(n) for n in range(6)], TINY.size, tmp_path_factory.mktemp("cache")).clips
    return Material(ready, (LOOP_WALK.name,), row_width(LOOP_WALK), mirror_of(LOOP_WALK), 20.0, LOOP_WALK)


def test_cached_frames_are_averages_over_areas(material: Material) -> None:
    frames = clip(3).frames.to_array().astype(float)
    mean = frames.reshape(30, 8, 2, 16, 2, 3).mean((2, 4))
    np.testing.assert_allclose(material.clips[3].frames, mean, atol=1)
    assert not material.clips[3].rows[0].any()
    np.testing.assert_allclose(material.clips[3].rows[1:, 2], clip(3).actions.values[:, 2])


def test_a_cache_is_read_again_and_damage_is_told(tmp_path: Path) -> None:
    clips = [clip(n) for n in range(2)]
    first = cached_clips(clips, (16, 8), tmp_path)
    (file,) = tmp_path.rglob("*.npy")
    made = file.stat().st_mtime_ns
    again = cached_clips(clips, (16, 8), tmp_path)
    assert file.stat().st_mtime_ns == made
    np.testing.assert_array_equal(first.clips[1].frames, again.clips[1].frames)
    whole = file.read_bytes()
    for damage in (whole[:200], whole[:60], b""):
        file.write_bytes(damage)
        with pytest.raises(DataError, match="made again"):
            cached_clips(clips, (16, 8), tmp_path)


def test_windows_are_drawn_alike_and_cut_whole(material: Material) -> None:
    windows = Windows(material.clips, 4, 8, material.mirror, 1)
    one, other = windows.batch(3, 16), windows.batch(3, 16)
    np.testing.assert_array_equal(one.frames, other.frames)
    assert one.frames.shape == (16, 8, 8, 16, 3)
    assert one.rows.shape == (16, 8, row_width(LOOP_WALK))
    assert not np.array_equal(one.frames, windows.batch(4, 16).frames)
    with pytest.raises(UsageError, match="windows need 31"):
        Windows(material.clips, 4, 31, None, 1)


def test_windows_hold_short_pasts_mirrors_and_no_actions(material: Material) -> None:
    batch = Windows(material.clips, 4, 8, material.mirror, 1).batch(0, 400)
    short = (batch.frames[:, :3] == batch.frames[:, 3:4]).all((1, 2, 3, 4)) & ~batch.rows[:, :4].any((1, 2))
    assert 0.2 < short.mean() < 0.5  # some walks stand still by themselves
    assert 0.05 < (~batch.rows.any((1, 2))).mean() < 0.25


def test_proof_names_each_scene_once(material: Material) -> None:
    (proof,) = proof_of(material.clips)
    assert (proof.clips, proof.frames, len(proof.scenes), proof.unknown) == (6, 180, 3, 0)
    assert set(proof.scenes) == {one.scene for one in material.clips}


def test_recipes_are_typed() -> None:
    assert named_recipe("mind-tiny").size == (64, 36)
    assert changed(Recipe(), {"steps": "20", "size": "[32, 16]"}).size == (32, 16)
    with pytest.raises(UnknownNameError, match="mind-tiny"):
        named_recipe("mind-tin")
    for text, told in (
        ("stepz = 3", "Did you mean 'steps'"),
        ("steps = 'many'", "give a value like"),
        ("size = [65, 36]", r"\(64, 36\)"),
        ("past = 2", "at least a step"),
        ("head = 'dream'", "moving, plain"),
        ("optimizer = 'sgd'", "adamw, muon"),
    ):
        with pytest.raises(UsageError, match=told):
            recipe_of_text(text, "mine", "", Recipe())
    with pytest.raises(DataError, match="mine"):
        recipe_of_text("steps =", "mine", "", Recipe())


def test_a_stage_has_its_own_keys_in_a_recipe() -> None:
    text = "steps = 9\nbatch = 3\n[init]\nsteps = 4"
    assert recipe_of_text(text, "mine", "", Recipe()).steps == 9
    init = recipe_of_text(text, "mine", "init", Recipe())
    assert (init.stage, init.steps, init.batch) == ("init", 4, 3)
    assert recipe_of_text(text, "mine", "distil", Recipe()).steps == 9
    with pytest.raises(UsageError, match=r"mine, \[init\]: no key 'stepz'"):
        recipe_of_text("[init]\nstepz = 4", "mine", "", Recipe())


def test_windows_fetch_frames_of_their_clip(material: Material) -> None:
    memory = memories.get("fetched")(2)
    windows = Windows(material.clips, 4, 10, material.mirror, 1, 2, memory)
    batch = windows.batch(0, 60)
    assert batch.fetched.shape == (60, 3, 2, 8, 16, 3)
    assert batch.relative.shape == (60, 3, 2, 5)
    known = np.concatenate([clip.frames for clip in material.clips])
    known = np.concatenate([known, known[:, :, ::-1]]).reshape(-1, 8 * 16 * 3)
    shown = batch.fetched[:5].reshape(30, -1)
    assert all((known == one).all(1).any() for one in shown)
    plain = Windows(material.clips, 4, 10, material.mirror, 1, 2).batch(0, 60)
    np.testing.assert_array_equal(plain.frames, batch.frames)
    assert plain.fetched.shape[2] == 0


RECIPES = sorted(one.stem for one in Path(recipes.__path__[0]).glob("*.toml"))


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_that_come_with_worldgauge(name: str) -> None:
    assert "mind-tiny" in RECIPES
    for stage in ("", "init", "distil"):
        recipe = named_recipe(name, stage)
        assert recipe.stage == stage or not stage
        is_of_walks = name.startswith(("mind-tiny", "causal-tiny")) or name == "tiny"
        assert recipe.told == ("motion" if is_of_walks else "both")  # motion: one checkpoint for mind and loopnav


def test_a_folder_without_training_clips_is_told(tmp_path: Path) -> None:
    @training_sources.register("nothing")
    def nothing(folder: Path, split: str) -> Iterator[TrainingClip]:
        """No clips."""
        yield from ()

    with pytest.raises(UsageError, match="no nothing clips"):
        read_clips([("nothing", tmp_path)])


torch = pytest.importorskip("torch")

from support.training_processes import interrupted  # noqa: E402
from worldgauge_train.models import Trained  # noqa: E402
from worldgauge_train.training import latents as autoencoder  # noqa: E402
from worldgauge_train.training.loop import train  # noqa: E402

TOKENS = {"stage": "causal", "architecture": "causal", "width": 16, "depth": 1, "heads": 2, "window": 3}


@pytest.mark.parametrize(
    "settings",
    [
        {"stage": "regress"},
        {"stage": "causal"},
        {"stage": "causal", "optimizer": "muon"},
        {"memory": "fetched"},
        {**TOKENS, "memory": "state"},
        {**TOKENS, "memory": "fetched"},
        {**TOKENS, "stage": "teacher"},
        {"codec": "tiny", "codec_width": 8, "latent_planes": 4, "codec_steps": 3, "size": [32, 16]},
    ],
    ids=lambda one: "-".join(str(value) for value in one.values() if isinstance(value, str)),
)
def test_an_interruption_changes_no_byte(
    settings: dict[str, Any], material: Material, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = changed(TINY, settings)
    if "codec" in settings:
        pytest.importorskip("diffusers")
        monkeypatch.setattr(autoencoder, "LEAST_DB", -100.0)
        large = [replace(one, frames=one.frames.repeat(2, 1).repeat(2, 2)) for one in material.clips]
        material = replace(material, clips=large, place=tmp_path / "cache")
        (tmp_path / "cache").mkdir()
    whole = train(recipe, material, tmp_path / "whole")
    interrupted(7, lambda: train(recipe, material, tmp_path / "again"))
    again = train(recipe, material, tmp_path / "again")
    assert (again / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_no_video_library_is_needed() -> None:
    """A machine that only trains may lack it: worlds are drawn, and films are left out."""
    code = """
import pkgutil, sys
sys.modules["av"] = None
from importlib import import_module
from worldgauge_train import nets, training
for package in (nets, training):
    for one in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not any(part in one.name for part in (".brought", ".adapt", ".adapting", ".on_paper", ".recipes")):
            import_module(one.name)
from worldgauge_train.training.rollouts import write_film
from worldgauge_train.training.walks import WalkRing
ring = WalkRing("walks?frames=20", 0, (16, 8), "motion", 0)
clip = ring.first_of_world(0)
assert clip.frames.shape == (20, 8, 16, 3)
from pathlib import Path
assert write_film(Path("film.mp4"), [clip.frames], [clip.frames], 24.0) is False
print("trained without it")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.stdout == "trained without it\n", done.stderr


def test_another_training_in_a_folder_is_refused(material: Material, tmp_path: Path) -> None:
    train(changed(TINY, {"steps": 2}), material, tmp_path)
    with pytest.raises(RunError, match=r"own = 0\.5, not 0\.25"):
        train(changed(TINY, {"steps": 2, "own": 0.25}), material, tmp_path)


def test_keys_are_learned(material: Material, tmp_path: Path) -> None:
    recipe = changed(TINY, {"steps": 150, "batch": 16, "learning_rate": 0.003, "average": 0.9})
    model = Trained(str(train(recipe, material, tmp_path)))
    truth = clip(7)
    frames = np.stack(list(truth.frames.resized(16, 8)))
    from worldgauge.models.baselines.tiny import action_rows

    errors = []
    for sign in (1.0, -1.0):
        values = truth.actions.values[9:15] * sign
        rows = action_rows(Actions(LOOP_WALK, values), truth.camera)
        drawn = np.concatenate(list(model._drawing.frames(frames[6:10], rows, 1)))
        errors.append(np.square(drawn.astype(float) - frames[10:16]).mean())
    assert errors[0] < errors[1]


@pytest.mark.parametrize("damage", ["cut", "missing", "other"])
def test_damaged_checkpoints_are_told(damage: str, material: Material, tmp_path: Path) -> None:
    folder = train(changed(TINY, {"steps": 2}), material, tmp_path)
    weights = folder / "model.safetensors"
    if damage == "cut":
        weights.write_bytes(weights.read_bytes()[:500])
    elif damage == "missing":
        weights.unlink()
    else:
        config = folder / "config.json"
        config.write_text(config.read_text().replace('"past": 4', '"past": 6'))
    with pytest.raises(DataError, match="safetensors"):
        Trained(str(folder))


def test_a_checkpoint_of_camera_paths_is_driven_by_poses(tmp_path: Path) -> None:
    poses = np.tile(np.eye(4), (24, 1, 1))
    poses[:, :3, :3] = [[0, 0, 1], [-1, 0, 0], [0, -1, 0]]  # looks along x
    poses[:, 0, 3] = np.arange(24) * 0.1
    frames = np.random.default_rng(0).integers(0, 256, (24, 8, 16, 3), np.uint8)
    camera = Camera.from_horizontal_fov(16, 8, 90)
    one = TrainingClip("a", "s", "train", "d", Clip.from_array(frames, 25.0), path_moves(poses), poses, camera)
    ready = cached_clips([one], TINY.size, tmp_path / "cache").clips
    space = one.actions.space
    paths = Material(ready, (space.name,), row_width(space), mirror_of(space), 25.0, space)
    model = Trained(str(train(changed(TINY, {"steps": 2}), paths, tmp_path / "out")))
    assert (model.spec.control, model.spec.view, model.spec.action_spaces) == ("camera", "perspective", None)
    context = Context(one.frames[:6], poses[:6], one.actions[:5], camera)
    drawn = np.concatenate(list(model.rollout(RolloutRequest(context, 5, 0, poses=poses[6:11]))))
    assert drawn.shape == (5, 8, 16, 3)
    with pytest.raises(DataError, match="frames need"):
        TrainingClip("a", "s", "train", "d", one.frames, one.actions[:3], poses, camera)


def test_every_so_many_frames_of_a_slow_walk() -> None:
    walk = clip(3, 31)
    slow = walk.every(4)
    assert (len(slow), slow.frames.fps, len(slow.actions)) == (8, 5.0, 7)
    np.testing.assert_array_equal(slow.frames[2], walk.frames[8])
    np.testing.assert_allclose(slow.actions.column("camera_yaw")[1], walk.actions.column("camera_yaw")[4:8].sum())
    np.testing.assert_allclose(motions(slow.actions)[:, 3], motions(walk.actions)[:28, 3].reshape(7, 4).sum(1))
    assert slow.fingerprint != walk.fingerprint
    assert walk.every(1) is walk
    held = np.zeros((8, len(LOOP_WALK)), np.float32)
    held[:6, LOOP_WALK.column("forward")] = 1
    fewer = Actions(LOOP_WALK, held).every(4, 5.0)
    assert fewer.column("forward").tolist() == [1, 0.5]
    np.testing.assert_allclose(motions(fewer)[:, 0], [4 * WALK_STEP_M, 2 * WALK_STEP_M])
    hand = np.arange(8 * len(HAND_POSES), dtype=np.float32).reshape(8, -1)
    np.testing.assert_array_equal(Actions(HAND_POSES, hand).every(4, 5.0).values[:, :6], hand[3::4, :6])


def test_every_so_many_poses_of_a_path() -> None:
    poses = pose_from_yaw_pitch(np.random.default_rng(1).random((13, 3)), np.linspace(0, 2, 13), 0.1)
    frames, camera = Clip.from_array(np.zeros((13, 8, 16, 3), np.uint8), 24.0), Camera.from_horizontal_fov(16, 8, 90)
    path = TrainingClip("a", "s", "train", "d", frames, path_moves(poses), poses, camera)
    np.testing.assert_array_equal(path.every(3).actions.values, path_moves(poses[::3]).values)


def test_nothing_led_to_the_first_frame_of_a_clip(material: Material) -> None:
    for one in material.clips:
        assert not one.rows[0].any()
        assert one.rows[1:].any()
    windows = Windows(material.clips, 4, 30, None, 1)  # whole clips, so that each begins with a first frame
    batch = windows.batch(0, 20)
    assert not batch.rows[:, 0].any()
    assert batch.rows[:, 4:].any((1, 2)).sum() > 10
    assert {at for _, at in batch.places} == {0}


def test_a_checkpoint_tells_terms_and_determinism_and_is_gone_on_with_alike(material: Material, tmp_path: Path) -> None:
    first = train(changed(TINY, {"steps": 2}), material, tmp_path / "first", deterministic=True)
    assert not torch.are_deterministic_algorithms_enabled()
    config = read_json_object(first / "config.json")
    assert config["deterministic"] is True
    assert config["licence"] == {"data": ["unknown"], "base": None}
    with pytest.raises(RunError, match="holds a training with --deterministic"):
        train(changed(TINY, {"steps": 2}), material, tmp_path / "first")
    free = replace(material, clips=[replace(one, terms="none") for one in material.clips])
    second = train(changed(TINY, {"steps": 2}), free, tmp_path / "second", parent=first)
    assert read_json_object(second / "config.json")["licence"]["data"] == ["none", "unknown"]
    assert "terms of its training images: none, unknown" in list(sentences_of(inspected(second)))


def test_a_checkpoint_of_before_is_gone_on_with(material: Material, tmp_path: Path) -> None:
    """It tells no terms and fewer keys of its recipe."""
    folder = train(changed(TINY, {"steps": 2}), material, tmp_path)
    config = read_json_object(folder / "config.json")
    for name in ("licence", "deterministic"):
        del config[name]
    for name in ("stride", "bearings", "ratio", "modulation", "poses"):
        del config["recipe"][name]
    del config["network"]["bearings"]
    del config["data"][0]["terms"]
    (folder / "config.json").write_text(dumps(config))
    assert Trained(str(folder))._drawing.net.shape.bearings is False
    train(changed(TINY, {"steps": 2}), material, folder)
