"""A codec is trained before its network, judged on clips it has not seen, and frozen."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")

from worldgauge.core.actions import LOOP_WALK  # noqa: E402
from worldgauge.core.errors import DataError  # noqa: E402
from worldgauge.models.baselines.tiny import mirror_of, row_width  # noqa: E402
from worldgauge_train.models import Trained  # noqa: E402
from worldgauge_train.nets.checkpoint import load_tensors  # noqa: E402
from worldgauge_train.nets.codecs import codecs  # noqa: E402
from worldgauge_train.training import latents as autoencoder  # noqa: E402
from worldgauge_train.training.cache import CachedClip  # noqa: E402
from worldgauge_train.training.latents import fidelity_db, reconstruction_loss  # noqa: E402
from worldgauge_train.training.loop import train  # noqa: E402
from worldgauge_train.training.material import Material  # noqa: E402
from worldgauge_train.training.recipe import Recipe, changed, told  # noqa: E402

TINY = Recipe(
    stage="causal", architecture="causal", codec="tiny", size=(32, 16), frames=2, past=2, drawn=3, width=16, depth=1,
    heads=2, patch=1, window=3, batch=2, steps=2, latent_planes=4, codec_width=8, codec_steps=12, denoising_steps=1,
)  # fmt: skip


@pytest.fixture
def material() -> Material:
    """Frames of one colour each, which are soon learned."""
    clips = []
    for number in range(4):
        rng = np.random.default_rng(number)
        frames = np.broadcast_to(rng.integers(100, 156, (20, 1, 1, 3), np.uint8), (20, 16, 32, 3))
        rows = rng.random((20, row_width(LOOP_WALK)), np.float32)
        clips.append(CachedClip(f"{number}", "made-up", f"{number}", frames, rows, np.zeros((20, 5))))
    return Material(clips, (LOOP_WALK.name,), row_width(LOOP_WALK), mirror_of(LOOP_WALK), 20.0, LOOP_WALK)


def test_a_codec_is_trained_first_and_kept(material: Material, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autoencoder, "LEAST_DB", 5.0)
    first = codecs.get("tiny").of_recipe(told(TINY))
    folder = train(TINY, material, tmp_path / "a")
    made = load_tensors(folder / "codec.safetensors", first.state_dict())
    assert any(not torch.equal(made[name], value) for name, value in first.state_dict().items())
    first.load_state_dict(made)
    seen = torch.from_numpy(material.clips[0].frames.copy()).permute(0, 3, 1, 2).float() / 127.5 - 1
    assert fidelity_db(first.eval(), seen) >= 5
    model = Trained(str(folder))
    assert "codec" in model.spec.settings
    student = train(changed(TINY, {"stage": "init", "trajectories": 2}), material, tmp_path / "b", parent=folder)
    kept = load_tensors(student / "codec.safetensors", first.state_dict())
    assert all(torch.equal(kept[name], made[name]) for name in made)
    again = train(TINY, replace(material, place=tmp_path / "frames"), tmp_path / "c")
    for name in ("codec.safetensors", "model.safetensors"):  # where planes are kept changes nothing
        assert (again / name).read_bytes() == (folder / name).read_bytes()
    (planes,) = (tmp_path / "frames").glob("planes-*")
    assert 0 < len(list(planes.glob("*.npy"))) <= 8  # four clips, also mirrored


def test_a_codec_that_is_not_good_enough_stops_the_training(material: Material, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"dB on clips .* 30 are needed"):
        train(changed(TINY, {"codec_steps": 1}), material, tmp_path)
    assert not (tmp_path / "codec.safetensors").exists()


def test_fidelity_and_loss_by_hand() -> None:
    codec = codecs.get("pixels").of_recipe({})
    seen = torch.zeros(1, 3, 4, 4)
    assert float(reconstruction_loss(seen + 0.5, seen)) == pytest.approx(0.5)
    slope = seen + torch.arange(4.0)
    assert float(reconstruction_loss(slope, seen)) == pytest.approx(1.5 + 1)
    codec.decode = lambda planes: planes + 0.02  # type: ignore[method-assign]
    assert fidelity_db(codec, seen) == pytest.approx(40)
