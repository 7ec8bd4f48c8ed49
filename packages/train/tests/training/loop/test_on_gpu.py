"""Training and drawing on a GPU: every stage, memory and codec, and frames as the processor draws them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from support.training_processes import material_of, noise_clips  # noqa: E402
from worldgauge.core.actions import LOOP_WALK, Actions  # noqa: E402
from worldgauge.core.episode import Context  # noqa: E402
from worldgauge.core.geometry import Camera  # noqa: E402
from worldgauge.core.io import read_json_object  # noqa: E402
from worldgauge.core.model import RolloutRequest  # noqa: E402
from worldgauge.core.video import Clip  # noqa: E402
from worldgauge_train.models import Trained  # noqa: E402
from worldgauge_train.training.loop import train  # noqa: E402
from worldgauge_train.training.material import Material  # noqa: E402
from worldgauge_train.training.recipe import Recipe, changed  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

TINY = Recipe(
    stage="causal", architecture="causal", size=(32, 16), frames=2, past=2, drawn=3, width=16, depth=1, heads=2,
    window=3, channels=(8,), batch=2, steps=6, warm_up=1, denoising_steps=2, trajectories=4, critic_steps=1,
)  # fmt: skip
KINDS: dict[str, dict[str, Any]] = {
    "conv": {"stage": "regress", "architecture": "conv"},
    "conv that fetches": {"stage": "regress", "architecture": "conv", "memory": "fetched", "past": 4, "drawn": 2},
    "teacher": {"stage": "teacher"},
    "causal": {},
    "causal that fetches": {"memory": "fetched"},
    "causal with a state": {"memory": "state"},
    "causal in planes": {"codec": "tiny", "codec_steps": 2, "codec_width": 8, "latent_planes": 4, "patch": 2},
}


@pytest.fixture(scope="module")
def material() -> Material:
    return material_of(noise_clips(3, 30, (32, 16)))


def drawn(folder: Path, **settings: Any) -> np.ndarray:
    rng = np.random.default_rng(1)
    steps = [Actions(LOOP_WALK, rng.integers(0, 2, (n, len(LOOP_WALK))).astype(np.float32)) for n in (9, 6)]
    clip = Clip.from_array(rng.integers(0, 256, (10, 16, 32, 3), np.uint8), 20.0)
    context = Context(clip, np.tile(np.eye(4), (10, 1, 1)), steps[0], Camera.from_horizontal_fov(32, 16, 90))
    asked = RolloutRequest(context, 6, 1, actions=steps[1])
    return np.concatenate(list(Trained(str(folder), **settings).rollout(asked))).astype(int)


def assert_draws_alike(folder: Path) -> None:
    """The processor's frames to a level and a half on average: convolutions on a GPU have 10 bits of mantissa."""
    want = drawn(folder)
    assert want.std() > 1
    assert np.abs(drawn(folder, device="cuda") - want).mean() <= 1.5
    assert drawn(folder, device="cuda", precision="bfloat16").shape == want.shape


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", KINDS)
def test_what_was_trained_on_a_gpu_draws_the_same_everywhere(
    name: str, precision: str, material: Material, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "causal in planes":
        pytest.importorskip("diffusers")
        # So few steps make no good codec, which a training refuses.
        monkeypatch.setattr("worldgauge_train.training.latents.LEAST_DB", 0.0)
    folder = train(changed(TINY, KINDS[name]), material, tmp_path, device="cuda", precision=precision)
    config = read_json_object(folder / "config.json")
    assert (config["device"], config["precision"]) == ("cuda", precision)
    assert_draws_alike(folder)


@pytest.mark.parametrize("way", ["ode", "consistency"])
def test_a_student_is_distilled_on_a_gpu(way: str, material: Material, tmp_path: Path) -> None:
    parent = train(TINY, material, tmp_path / "causal", device="cuda", precision="bfloat16")
    for stage in ("init", "distil"):
        recipe = changed(TINY, {"stage": stage, "init": way})
        parent = train(recipe, material, tmp_path / stage, device="cuda", precision="bfloat16", parent=parent)
    assert [one["stage"] for one in read_json_object(parent / "config.json")["lineage"]] == ["causal", "init"]
    assert_draws_alike(parent)


@pytest.mark.parametrize("name", ["conv", "causal"])
def test_a_compiled_network_is_trained(name: str, material: Material, tmp_path: Path) -> None:
    recipe = changed(TINY, KINDS[name])
    folder = train(recipe, material, tmp_path, device="cuda", precision="bfloat16", compiled=True)
    assert_draws_alike(folder)
