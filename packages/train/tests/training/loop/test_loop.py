"""The loop: what is logged and shown beside it changes no byte, and a kill at any moment gives the weights of none."""

import csv
import os
import random
import resource
import signal
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from worldgauge.core.actions import LOOP_WALK  # noqa: E402
from worldgauge.core.errors import DataError, RunError, UsageError  # noqa: E402
from worldgauge.core.io import dumps, read_json_object  # noqa: E402
from worldgauge.models.baselines.tiny import mirror_of, row_width, trained_scenes  # noqa: E402
from worldgauge_train.nets.checkpoint import load_tensors  # noqa: E402
from worldgauge_train.training import cache as disk  # noqa: E402
from worldgauge_train.training import device as memory  # noqa: E402
from worldgauge_train.training import stepping  # noqa: E402
from worldgauge_train.training.cache import CachedClip  # noqa: E402
from worldgauge_train.training.device import check_memory  # noqa: E402
from worldgauge_train.training.log import inspected, read_log, sentences_of, tensor_shapes  # noqa: E402
from worldgauge_train.training.loop import check_device, plan_training, train  # noqa: E402
from worldgauge_train.training.material import Material  # noqa: E402
from worldgauge_train.training.recipe import Recipe, changed  # noqa: E402
from worldgauge_train.training.state import claimed  # noqa: E402
from worldgauge_train.training.validation import Validation, opposite_of  # noqa: E402
from worldgauge_train.training.walks import WalkRing  # noqa: E402

TINY = Recipe(size=(16, 8), frames=2, past=4, channels=(8,), batch=4, steps=8, warm_up=2)


def clips(count: int, first: int = 0, frames: int = 40) -> list[CachedClip]:
    made = []
    for number in range(first, first + count):
        rng = np.random.default_rng(number)
        rows = rng.random((frames, row_width(LOOP_WALK)), np.float32)
        shown = rng.integers(0, 256, (frames, 8, 16, 3), np.uint8)
        made.append(CachedClip(f"{number}", "made-up", f"scene-{number}", shown, rows, rng.normal(0, 1, (frames, 5))))
    return made


@pytest.fixture(scope="module")
def material() -> Material:
    return Material(clips(3), (LOOP_WALK.name,), row_width(LOOP_WALK), mirror_of(LOOP_WALK), 20.0, LOOP_WALK)


def test_a_checkpoint_tells_by_what_it_was_made(material: Material, tmp_path: Path) -> None:
    validation = Validation(clips(2, 10), 20.0, opposite_of(LOOP_WALK, "both"), "two clips")
    config = read_json_object(train(TINY, material, tmp_path / "out", validation=validation) / "config.json")
    assert (config["device"], config["precision"]) == ("cpu", "float32")
    assert set(config["versions"]) == {"worldgauge", "torch", "numpy", "safetensors"}
    last = read_log(tmp_path / "out")[-1]
    assert config["validation"]["on"] == "two clips"
    assert (config["validation"]["step"], config["validation"]["mse_1s"]) == (8, last["mse_1s"])
    told = " ".join(sentences_of(inspected(tmp_path / "out")))
    assert "trained on cpu in float32, by " in told
    assert f"worldgauge {config['versions']['worldgauge']}" in told
    with pytest.raises(RunError, match=r"holds a training in float32, not bfloat16; take another folder"):
        train(TINY, material, tmp_path / "out", precision="bfloat16")
    later = ("device", "precision", "versions", "validation", "threads")
    old = {name: value for name, value in config.items() if name not in later}
    (tmp_path / "out" / "config.json").write_text(dumps(old))  # as before these were told
    assert train(TINY, material, tmp_path / "out") == tmp_path / "out"
    assert list(sentences_of(inspected(tmp_path / "out")))


def test_validation_and_log_change_no_weight(material: Material, tmp_path: Path) -> None:
    validation = Validation(clips(2, 10), 20.0, opposite_of(LOOP_WALK, "both"))
    plain = train(changed(TINY, {"stage": "causal"}), material, tmp_path / "plain")
    told = train(changed(TINY, {"stage": "causal"}), material, tmp_path / "told", validation=validation)
    assert (plain / "model.safetensors").read_bytes() == (told / "model.safetensors").read_bytes()
    rows = [row for row in read_log(told) if "mse_1s" in row]
    assert [row["step"] for row in rows] == [2, 4, 8]
    assert {path.name for path in (told / "films").iterdir()} == {"0000002.mp4", "0000004.mp4", "0000008.mp4"}
    with open(told / "log.csv", newline="") as table:
        last = list(csv.DictReader(table))[-1]
    assert (last["step"], last["samples"], last["frames"]) == ("8", "32", "256")
    assert float(last["gradient_norm"]) > 0
    assert any(last[f"loss_{number}"] for number in range(4))
    found = inspected(told)
    shapes = {name: list(one.shape) for name, one in load_tensors_of(told).items()}
    assert found["tensors"] == shapes
    assert found["parameters"] == sum(one.numel() for one in load_tensors_of(told).values())
    said = "\n".join(sentences_of(found))
    assert "8 of 8 steps" in said
    assert "3 clips, 120 frames, 3 scenes" in said
    assert "after 8 steps: psnr_4" in said


def load_tensors_of(folder: Path) -> dict[str, torch.Tensor]:
    like = {name: torch.zeros(shape) for name, shape in tensor_shapes(folder / "model.safetensors").items()}
    return load_tensors(folder / "model.safetensors", like)


def killed_training(material: Material, out: Path, kills: int) -> int:
    """Train in children that are killed after a random while; how many were."""
    rng, done = random.Random(kills), 0
    while True:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                torch.set_num_threads(1)
                stepping.SAVE_EVERY_S = -1.0  # after every step
                train(TINY, material, out)
                code = 0
            finally:
                os._exit(code)
        if done < kills:
            time.sleep(rng.uniform(0.0, 0.25))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            done += 1
        else:
            assert os.WEXITSTATUS(status) == 0
            return done


@pytest.mark.parametrize("kills", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_kills_give_the_weights_of_none(kills: int, material: Material, tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        whole = train(TINY, material, tmp_path / "whole")
        assert killed_training(material, tmp_path / "killed", kills) > 0
    finally:
        torch.set_num_threads(threads)
    assert (tmp_path / "killed" / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    steps = [row["step"] for row in read_log(tmp_path / "killed")]
    assert steps == sorted(set(steps))


def test_a_second_run_is_told_who_holds_the_folder(material: Material, tmp_path: Path) -> None:
    with claimed(tmp_path), pytest.raises(RunError, match=rf"process {os.getpid()} on .* trains in this folder"):
        train(TINY, material, tmp_path)


def test_steps_that_are_not_finite_are_left_out_and_ten_end_it(
    material: Material, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = stepping.Stepping.take

    def spoiled(self: object, state: object, window: object, *more: object) -> bool:
        if state.step in bad:  # type: ignore[attr-defined]
            window = window._replace(frames=window.frames * float("nan"))  # type: ignore[attr-defined]
        return step(self, state, window, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(stepping.Stepping, "take", spoiled)
    bad = {3, 5}
    train(TINY, material, tmp_path / "some")
    assert read_log(tmp_path / "some")[-1]["skipped"] == 2
    bad = set(range(2, 30))
    with pytest.raises(DataError, match="10 steps in a row"):
        train(changed(TINY, {"steps": 30}), material, tmp_path / "all")
    assert "10 steps in a row" in read_log(tmp_path / "all")[-1]["stopped"]
    assert (tmp_path / "all" / "state" / "counters.json").exists()


def test_a_full_disk_keeps_the_last_state(material: Material, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from worldgauge_train.training.state import ResumableState

    save = ResumableState.save

    def full(self: ResumableState, folder: Path, *, writes: bool = True) -> None:
        if self.step > 4:
            raise DataError(f"{folder}: cannot be written (No space left on device)")
        save(self, folder)

    monkeypatch.setattr(stepping, "SAVE_EVERY_S", -1.0)
    monkeypatch.setattr(ResumableState, "save", full)
    with pytest.raises(DataError, match="No space left"):
        train(TINY, material, tmp_path / "full")
    assert read_json_object(tmp_path / "full" / "state" / "counters.json")["step"] == 4
    monkeypatch.setattr(ResumableState, "save", save)
    whole = train(TINY, material, tmp_path / "whole")
    again = train(TINY, material, tmp_path / "full")
    assert (again / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_a_disk_that_is_full_while_the_state_is_written_keeps_the_one_before(
    material: Material, tmp_path: Path
) -> None:
    """The system itself refuses, in the middle of a file, as it does where a disk is full."""
    train(changed(TINY, {"steps": 4}), material, tmp_path / "out")
    config = read_json_object(tmp_path / "out" / "config.json")
    config["recipe"]["steps"] = 8
    (tmp_path / "out" / "config.json").write_text(dumps(config))
    before = {one.name for one in (tmp_path / "out" / "state").iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(DataError, match=r"safetensors"):
            train(TINY, material, tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {one.name for one in (tmp_path / "out" / "state").iterdir()} == before
    assert read_json_object(tmp_path / "out" / "state" / "counters.json")["step"] == 4
    train(TINY, material, tmp_path / "out")
    assert read_json_object(tmp_path / "out" / "config.json")["steps_done"] == 8


def test_a_disk_without_room_is_told_before_the_first_step(
    material: Material, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    with pytest.raises(DataError, match=r"two states \S+ GB are needed, and 1e-06 GB are free"):
        train(TINY, material, tmp_path)
    assert not (tmp_path / "state").exists()


def test_a_network_without_memory_is_told_before_it_is_made(
    material: Material, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    huge = changed(TINY, {"channels": [4096, 4096], "blocks": 16})  # 27 thousand million weights, half a terabyte
    for ask in (lambda: plan_training([huge], material), lambda: train(huge, material, tmp_path / "huge")):
        with pytest.raises(
            UsageError, match=r"\d+ million weights needs \S+ GB of memory to train, and \S+ GB are free"
        ):
            ask()
    assert not (tmp_path / "huge" / "state").exists()
    assert not (tmp_path / "huge" / "config.json").exists()  # so that another training may have the folder
    monkeypatch.setattr(memory, "_TOLD", tmp_path / "meminfo")
    check_memory(10**15, "cpu")  # where nobody tells what is free, nothing is refused
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   2 kB\n")
    check_memory(102, "cpu")
    with pytest.raises(UsageError):
        check_memory(103, "cpu")


def test_a_plan_counts_and_times(material: Material) -> None:
    (plan,) = plan_training([TINY], material)
    assert plan.parameters > 1000
    assert plan.flops
    assert plan.step_s
    assert plan.memory_gb
    assert plan.frames_per_s
    assert (plan.codec_s, plan.encoding_s) == (0, 0)
    assert plan.hours == pytest.approx((plan.prepared_s + plan.step_s * 8) / 3600)


def test_all_stages_are_planned_and_what_comes_before_their_steps(material: Material) -> None:
    causal = {"stage": "causal", "architecture": "causal", "width": 16, "depth": 1, "heads": 2, "denoising_steps": 2}
    order = [changed(TINY, {**causal, "stage": name, "trajectories": 8}) for name in ("causal", "init", "distil")]
    first, init, distil = plan_training(order, material)
    assert [one.stage for one in (first, init, distil)] == ["causal", "init", "distil"]
    assert first.prepared_s < init.prepared_s  # 48 guesses of the teacher for each of two batches
    assert distil.flops > init.flops  # the critic's and the student's rollouts
    for one in (init, distil):
        assert min(one.step_s, one.memory_gb, one.frames_per_s) > 0
        assert one.hours == pytest.approx((one.prepared_s + one.step_s * 8) / 3600)


def test_a_codec_that_learns_is_in_the_hours(material: Material) -> None:
    pytest.importorskip("diffusers")
    recipe = changed(
        TINY, {"codec": "tiny", "codec_width": 8, "latent_planes": 4, "size": [32, 16], "codec_steps": 100}
    )
    large = [replace(one, frames=one.frames.repeat(2, 1).repeat(2, 2)) for one in material.clips]
    (plan,) = plan_training([recipe], replace(material, clips=large))
    (longer,) = plan_training([changed(recipe, {"codec_steps": 10_000})], replace(material, clips=large))
    assert plan.codec_s > 0
    assert plan.encoding_s > 0
    assert longer.codec_s > 20 * plan.codec_s  # 100 times the steps
    assert plan.hours > (plan.codec_s + plan.encoding_s) / 3600


def test_room_for_planes_is_asked_before_the_codec_learns(
    material: Material, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("diffusers")
    settings = {"codec": "tiny", "codec_width": 8, "latent_planes": 4, "size": [32, 16], "codec_steps": 10**6}
    place = tmp_path / "cache"
    place.mkdir()
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda folder: SimpleNamespace(free=10**12 * (folder != place)))
    with pytest.raises(DataError, match=r"cache: planes \S+ GB are needed, and 0 GB are free"):
        train(changed(TINY, settings), replace(material, place=place), tmp_path / "out")


def test_minutes_with_a_cool_down(material: Material, tmp_path: Path) -> None:
    assert stepping.late_share(0, 1000, 0) == 1
    assert stepping.late_share(0, 1000, 0, 0.75) == pytest.approx(0.51)
    assert stepping.late_share(0, 1000, 0, 1.0) == pytest.approx(0.02)
    train(changed(TINY, {"steps": 100_000}), material, tmp_path, minutes=0.02, final=True)
    row = read_log(tmp_path)
    assert read_json_object(tmp_path / "config.json")["steps_done"] < 100_000
    assert not row or row[-1]["learning_rate"] < 1e-3


def test_bfloat16_learns_float32_weights(material: Material, tmp_path: Path) -> None:
    folder = train(changed(TINY, {"steps": 3}), material, tmp_path, precision="bfloat16")
    assert {one.dtype for one in load_tensors_of(folder).values()} == {torch.float32}


def test_a_device_that_is_not_there_is_told() -> None:
    check_device("cpu")
    for device in ("cuda:99", "tpu"):
        with pytest.raises(UsageError, match="here are: cpu"):
            check_device(device)


def test_walks_are_trained_on_alike_by_any_workers_and_prove_their_scenes(tmp_path: Path) -> None:
    recipe = changed(TINY, {"size": [16, 12], "steps": 6})

    def drawn(workers: int) -> Material:
        ring = WalkRing("walks?families=urban&frames=12", 0, recipe.size, workers=workers, frames=48, renewed=1.0)
        space = ring.source.space
        return Material([], ring.source.space_names, row_width(space), mirror_of(space), 24.0, space, ring=ring)

    alone = train(recipe, drawn(0), tmp_path / "alone")
    train(changed(recipe, {}), drawn(0), tmp_path / "again", minutes=1e-9)
    again = train(recipe, drawn(2), tmp_path / "again")
    assert (alone / "model.safetensors").read_bytes() == (again / "model.safetensors").read_bytes()
    (proof,) = read_json_object(alone / "config.json")["data"]
    assert (proof["clips"], proof["drawn"], len(proof["scenes"])) == (9, True, 3)
    assert read_json_object(again / "config.json")["data"] == [proof]
    assert set(trained_scenes(read_json_object(again / "config.json"))) == set(proof["scenes"])


@pytest.mark.parametrize("deterministic", [True, False])
def test_a_training_that_fails_before_its_first_state_leaves_the_folder_to_another(
    deterministic: bool, material: Material, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*given: object) -> bool:
        torch.zeros(1).put_(torch.tensor([0]), torch.ones(1))  # has no order, on a CPU, too
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patched:
        patched.setattr(stepping.Stepping, "take", refused)
        because = "--deterministic: put_ does not have" if deterministic else "out of memory"
        with pytest.raises(DataError if deterministic else RuntimeError, match=because):
            train(TINY, material, tmp_path, deterministic=deterministic)
    assert {path.name for path in tmp_path.iterdir()} == {".lock"}
    train(changed(TINY, {"seed": 1}), material, tmp_path)


def test_a_training_that_fails_later_goes_on(
    material: Material, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, left = stepping.Stepping.take, [3]

    def fails(*given: object) -> bool:
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("out of memory")
        return take(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(stepping, "SAVE_EVERY_S", -1.0)
    monkeypatch.setattr(stepping.Stepping, "take", fails)
    for _ in range(2):  # with a state, also where no further step is taken
        with pytest.raises(RuntimeError, match="out of memory"):
            train(TINY, material, tmp_path)
        assert read_json_object(tmp_path / "state" / "counters.json")["step"] == 3
    with pytest.raises(RunError, match="seed = 0, not 1"):
        train(changed(TINY, {"seed": 1}), material, tmp_path)


def test_what_is_prepared_goes_with_a_training_that_fails(tmp_path: Path) -> None:
    """A codec that was trained on other clips would be taken by the next training, which does not tell them."""

    def ends(out: Path, error: type[BaseException], *made: str) -> set[str]:
        with suppress(error), claimed(out, "codec"):
            for name in made:
                (out / name).touch()
            raise error("no")
        return {path.name for path in out.iterdir()} - {".lock"}

    made = ("config.json", "codec", "log.csv", "log.jsonl")
    assert ends(tmp_path / "new", UsageError, *made) == set()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "codec").touch()
    assert ends(tmp_path / "old", UsageError, *made) == {"codec"}
    assert ends(tmp_path / "new", KeyboardInterrupt, *made) == set(made)  # a stop is no failure
    assert ends(tmp_path / "new", UsageError) == set(made)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("architecture", ["conv", "causal"])
def test_on_a_gpu_deterministic_trainings_give_the_same_bytes(
    architecture: str, material: Material, tmp_path: Path
) -> None:
    stage = "regress" if architecture == "conv" else "causal"
    recipe = changed(TINY, {"architecture": architecture, "stage": stage, "width": 16, "depth": 1, "heads": 2})
    made = [train(recipe, material, tmp_path / name, device="cuda", deterministic=True) for name in "ab"]
    one, other = ((folder / "model.safetensors").read_bytes() for folder in made)
    assert one == other


@pytest.mark.parametrize(
    "change",
    [
        {"licence": "mit"},
        {"licence": {"data": 3}},
        {"data": [None]},
        {"data": [{"source": "made-up"}]},
        {"data": 7},
        {"recipe": []},
        {"lineage": [{}]},
        {"seconds": "long"},
    ],
)
def test_damaged_words_of_a_checkpoint_are_no_traceback(
    change: dict[str, object], material: Material, tmp_path: Path
) -> None:
    folder = train(changed(TINY, {"steps": 1}), material, tmp_path)
    (folder / "config.json").write_text(dumps({**read_json_object(folder / "config.json"), **change}))
    if "licence" in change:
        assert "terms of its training images: unknown" in list(sentences_of(inspected(folder)))
        return
    with pytest.raises(DataError, match=r"config\.json: .*it is damaged"):
        inspected(folder)
