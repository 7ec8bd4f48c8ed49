"""Post-training of a brought pipeline: it goes on after a stop, and what it makes is a model under test."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
for needed in ("diffusers", "transformers", "peft", "ftfy"):
    pytest.importorskip(needed)

from support.commands import command  # noqa: E402
from support.pipelines import tiny_pipeline  # noqa: E402
from support.training_processes import interrupted  # noqa: E402
from worldgauge.core.actions import LOOP_WALK, Actions  # noqa: E402
from worldgauge.core.episode import Context  # noqa: E402
from worldgauge.core.errors import DataError, RunError, UsageError  # noqa: E402
from worldgauge.core.geometry import Camera  # noqa: E402
from worldgauge.core.io import read_json_object  # noqa: E402
from worldgauge.core.model import RolloutRequest, checked_rollout  # noqa: E402
from worldgauge.core.video import Clip  # noqa: E402
from worldgauge_train.models import Adapted  # noqa: E402
from worldgauge_train.training import adapting  # noqa: E402
from worldgauge_train.training.adapt import Adaptation  # noqa: E402
from worldgauge_train.training.adapting import adapt  # noqa: E402
from worldgauge_train.training.clip import Split, TrainingClip, read_clips, training_sources  # noqa: E402
from worldgauge_train.training.log import read_log  # noqa: E402
from worldgauge_train.training.material import Material, read_material, read_validation  # noqa: E402
from worldgauge_train.training.recipe import changed  # noqa: E402
from worldgauge_train.training.validation import Validation, opposite_of, psnr  # noqa: E402

TINY = Adaptation(rank=2, alpha=2, size=(32, 32), frames=5, batch=2, parts=2, steps=4, learning_rate=1e-2, average=0.9)


@training_sources.register("glimpses")
def glimpses(folder: Path, split: Split) -> Iterator[TrainingClip]:
    """Three walks through noise, one of them without words, and two longer ones to validate with."""
    count, length = {"train": (3, 9), "val": (2, 13), "test": (0, 0)}[split]
    for number in range(count):
        rng = np.random.default_rng([number, length])
        frames = Clip.from_array(rng.integers(0, 256, (length, 32, 32, 3), np.uint8), 20.0)
        actions = Actions(LOOP_WALK, rng.random((length - 1, len(LOOP_WALK)), np.float32))
        poses, camera = np.tile(np.eye(4), (length, 1, 1)), Camera.from_horizontal_fov(32, 32, 90)
        words = "walk left." if number else None
        yield TrainingClip(f"{number}", "glimpses", split, f"d-{number}", frames, actions, poses, camera, words)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_pipeline("ti2v", tmp_path_factory.mktemp("base") / "wan")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TrainingClip]:
    return {one.id: one for one in read_clips([("glimpses", tmp_path_factory.mktemp("none"))]).clips}


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Material:
    place = tmp_path_factory.mktemp("cache")
    return read_material([("glimpses", place)], TINY, place)


@pytest.fixture(scope="module")
def made(
    base: Path, material: Material, texts: dict[str, TrainingClip], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    return adapt(TINY, material, texts, base, tmp_path_factory.mktemp("made") / "adapter")


def request(turn: float = 0.0, horizon: int = 6) -> RolloutRequest:
    frames = np.random.default_rng(1).integers(0, 200, (2, 32, 32, 3), dtype=np.uint8)
    still = Actions(LOOP_WALK, np.zeros((1, len(LOOP_WALK)), np.float32))
    walk = np.full((horizon, len(LOOP_WALK)), turn, np.float32)
    camera = Camera.from_horizontal_fov(32, 32, 90)
    context = Context(Clip.from_array(frames, 20.0), np.stack([np.eye(4)] * 2), still, camera)
    return RolloutRequest(context, horizon, 5, actions=Actions(LOOP_WALK, walk))


def test_a_stopped_one_ends_in_the_same_bytes(
    base: Path, material: Material, texts: dict[str, TrainingClip], made: Path, tmp_path: Path
) -> None:
    interrupted(2, lambda: adapt(TINY, material, texts, base, tmp_path))
    adapt(TINY, material, texts, base, tmp_path)
    for name in ("adapter.safetensors", "config.json"):
        old, new = (folder / name for folder in (made, tmp_path))
        if name.endswith("json"):
            assert {**read_json_object(new), "seconds": 0} == {**read_json_object(old), "seconds": 0}
        else:
            assert new.read_bytes() == old.read_bytes()
    assert read_log(made)[-1]["step"] == 4


def test_it_is_a_model_that_obeys_and_repeats_itself(base: Path, made: Path) -> None:
    model = Adapted(str(made), str(base), steps=2)
    assert (model.spec.control, model.spec.frame_size, model.spec.chunk) == ("actions", (32, 32), 4)
    assert model.spec.action_spaces == (LOOP_WALK.name,)
    first, again, other = (list(checked_rollout(model, request(turn))) for turn in (1.0, 1.0, -1.0))
    assert [len(chunk) for chunk in first] == [4, 2]
    np.testing.assert_array_equal(np.concatenate(first), np.concatenate(again))
    assert not np.array_equal(np.concatenate(first), np.concatenate(other))
    assert model.spec.settings["base"] == read_json_object(made / "config.json")["base"]["digest"]


def test_validation_draws_as_the_model_will_and_changes_no_weight(
    base: Path,
    material: Material,
    texts: dict[str, TrainingClip],
    made: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(adapting, "VALIDATED_STEPS", 2)
    clips = read_validation(("glimpses", tmp_path), TINY, tmp_path / "cache").clips
    validation = Validation(clips, 20.0, opposite_of(LOOP_WALK, TINY.told))
    folder = adapt(TINY, material, texts, base, tmp_path / "out", validation=validation)
    assert (folder / "adapter.safetensors").read_bytes() == (made / "adapter.safetensors").read_bytes()
    drawing = Adapted(str(folder), str(base), steps=2)._drawing
    errors = []
    for asked, truth in zip(validation.asked(), validation.truths(), strict=True):
        drawn = np.concatenate(list(drawing.chunks(asked.past[-1], asked.rows, len(asked.rows), "", 0)))
        errors.append(psnr(drawn[3:4], truth[3:4]))
    row = read_log(folder)[-1]
    assert row["psnr_4"] == pytest.approx(np.mean(errors), abs=1e-6)
    assert row["gain_db"] is not None
    assert len(list((folder / "films").glob("*.mp4"))) == 3


def test_another_base_is_refused(base: Path, made: Path, tmp_path: Path) -> None:
    other = shutil.copytree(base, tmp_path / "other")
    config = other / "scheduler" / "scheduler_config.json"
    config.write_text(config.read_text().replace('"shift": 5.0', '"shift": 3.0'))
    with pytest.raises(DataError, match="is another pipeline"):
        Adapted(str(made), str(other))


@pytest.mark.parametrize(
    ("change", "because"),
    [
        ({"format": "own"}, "no finished adapter"),
        ({"base": None}, "no digest"),
        ({"frames": "many"}, "invalid literal"),
        ({"told": "much"}, "told is 'much'"),
        ({"adapter": {"rank": 1}}, "adapter: "),
        ({"size": [1]}, "frame_size"),
    ],
)
def test_configs_that_cannot_be(
    base: Path, made: Path, tmp_path: Path, change: dict[str, object], because: str
) -> None:
    copy = shutil.copytree(made, tmp_path / "copy")
    (copy / "config.json").write_text(json.dumps({**read_json_object(made / "config.json"), **change}))
    with pytest.raises(DataError, match=because):
        Adapted(str(copy), str(base))


def test_a_damaged_adapter_is_one_line(base: Path, made: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(made, tmp_path / "copy")
    whole = (copy / "adapter.safetensors").read_bytes()
    (copy / "adapter.safetensors").write_bytes(whole[:-9])
    with pytest.raises(DataError, match=r"adapter\.safetensors"):
        Adapted(str(copy), str(base))


@pytest.mark.parametrize(
    ("change", "because"),
    [
        ({"frames": 6}, r"takes 4 n \+ 1 of them: --set frames=5"),
        ({"size": (36, 32)}, r"multiples of 16: --set size=\[32,32\]"),
        ({"prompt": "text"}, "glimpses/0 has no words"),
        ({"prompt": "nav/v1"}, "nav/v1 takes steps of"),
    ],
)
def test_recipes_that_do_not_fit(
    base: Path,
    material: Material,
    texts: dict[str, TrainingClip],
    tmp_path: Path,
    change: dict[str, object],
    because: str,
) -> None:
    with pytest.raises(UsageError, match=because):
        adapt(changed(TINY, change), material, texts, base, tmp_path)
    assert not (tmp_path / "config.json").exists()  # so that another training may have the folder


def test_the_folder_of_another_training(
    base: Path, material: Material, texts: dict[str, TrainingClip], made: Path
) -> None:
    with pytest.raises(RunError, match="rank = 2, not 3"):
        adapt(changed(TINY, {"rank": 3}), material, texts, base, made)


def test_words_drive_it_where_no_action_is_told(
    base: Path, material: Material, texts: dict[str, TrainingClip], tmp_path: Path
) -> None:
    spoken = {id: one for id, one in texts.items() if one.text}
    clips = [one for one in material.clips if one.id in spoken]
    recipe = changed(TINY, {"actions": False, "prompt": "text", "steps": 1})
    from dataclasses import replace

    adapt(recipe, replace(material, clips=clips), spoken, base, tmp_path)
    model = Adapted(str(tmp_path), str(base), steps=1)
    assert model.spec.control == "text"
    frames = [
        np.concatenate(list(model.rollout(replace(request(), actions=None, text=text)))) for text in ("walk.", "turn.")
    ]
    assert not np.array_equal(*frames)


def test_by_commands(base: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        "rank = 2\nalpha = 2\nsize = [32, 32]\nframes = 5\nsteps = 1\nlearning_rate = 1e-3\n"
    )
    always = ("post-train", "--data", "glimpses=.", "--cache", "cache", "--out", "made")
    refused = command(tmp_path, *always, "--base", f"diffusers:{base}")
    assert refused.returncode == 2
    assert "that with --recipe" in " ".join(refused.stderr.split())
    worded = ("--set", "prompt=text", "--validate", "glimpses=.")
    refused = command(tmp_path, *always, "--base", f"diffusers:{base}", "--recipe", "mine.toml", *worded)
    assert "--validate passes actions only" in " ".join(refused.stderr.split())
    planned = command(tmp_path, *always, "--base", f"diffusers:{base}", "--recipe", "mine.toml", "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert "of them are trained" in planned.stdout
    assert "PFLOP a step on paper" in planned.stdout
    assert not (tmp_path / "made").exists()
    done = command(tmp_path, *always, "--base", f"diffusers:{base}", "--recipe", "mine.toml", "--clips", "2")
    assert done.returncode == 0, done.stderr
    config = read_json_object(tmp_path / "made" / "config.json")
    assert config["data"][0]["clips"] == 2
    assert config["adapter"]["columns"] == len(LOOP_WALK) + 5
