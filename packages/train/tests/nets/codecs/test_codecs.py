"""Codecs: sizes, scale, what is refused, and one that is trained."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
diffusers = pytest.importorskip("diffusers")

from worldgauge.core.errors import DataError, UnknownNameError, UsageError  # noqa: E402
from worldgauge_train.nets.checkpoint import load_tensors, save_tensors  # noqa: E402
from worldgauge_train.nets.codecs import Codec, codecs  # noqa: E402

SETTINGS = {"size": (32, 16), "latent_planes": 4, "codec_width": 8, "codec_folder": ""}


@pytest.fixture(scope="module")
def brought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vae")
    torch.manual_seed(0)
    diffusers.AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
        block_out_channels=(8, 8), norm_num_groups=4, latent_channels=4, scaling_factor=0.5, shift_factor=0.1,
    ).save_pretrained(folder)  # fmt: skip
    return folder


def made(name: str, brought: Path) -> Codec:
    return codecs.get(name).of_recipe({**SETTINGS, "codec_folder": str(brought)}).eval()


@pytest.mark.parametrize("name", codecs.names())
def test_planes_have_the_size_that_is_told(name: str, brought: Path) -> None:
    codec = made(name, brought)
    frames = torch.rand(2, 3, 16, 32) * 2 - 1
    with torch.no_grad():
        planes = codec.encode(frames)
        assert planes.shape == (2, codec.planes, 16 // codec.shrink, 32 // codec.shrink)
        assert codec.decode(planes).shape == frames.shape


@pytest.mark.parametrize("name", codecs.names())
def test_a_codec_is_made_again_from_what_it_tells(name: str, brought: Path, tmp_path: Path) -> None:
    codec = made(name, brought)
    again = codecs.get(name).of_checkpoint(codec.told, brought).eval()
    if codec.learns:
        codec.measure(torch.rand(4, 3, 16, 32))
        save_tensors(tmp_path / "codec.safetensors", codec.state_dict())
        again.load_state_dict(load_tensors(tmp_path / "codec.safetensors", again.state_dict()))
    frames = torch.rand(2, 3, 16, 32) * 2 - 1
    with torch.no_grad():
        torch.testing.assert_close(again.encode(frames), codec.encode(frames))


def test_pixels_stay_as_they_are(brought: Path) -> None:
    frames = torch.rand(2, 3, 16, 32)
    assert made("pixels", brought).decode(made("pixels", brought).encode(frames)) is frames


def test_measured_planes_have_no_mean_and_unit_variance(brought: Path) -> None:
    codec = made("tiny", brought)
    frames = torch.rand(8, 3, 16, 32) * 2 - 1
    codec.measure(frames)
    with torch.no_grad():
        planes = codec.encode(frames)
    torch.testing.assert_close(planes.mean((0, 2, 3)), torch.zeros(4), atol=1e-5, rtol=0)
    torch.testing.assert_close(planes.std((0, 2, 3)), torch.ones(4), atol=1e-4, rtol=0)
    with torch.no_grad():
        torch.testing.assert_close(codec.decode(planes), codec.inner(frames).sample, atol=1e-3, rtol=0)


def test_an_adopted_one_is_scaled_as_its_config_says(brought: Path) -> None:
    codec = made("diffusers", brought)
    plain = diffusers.AutoencoderKL.from_pretrained(brought).eval()
    frames = torch.rand(1, 3, 16, 32)
    with torch.no_grad():
        latents = plain.encode(frames).latent_dist.mode()
        torch.testing.assert_close(codec.encode(frames), (latents - 0.1) * 0.5)
        torch.testing.assert_close(codec.decode((latents - 0.1) * 0.5), plain.decode(latents).sample)
    assert not any(parameter.requires_grad for parameter in codec.parameters())


def test_what_is_refused(brought: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="multiples of 8"):
        codecs.get("tiny").of_recipe({**SETTINGS, "size": (36, 20)})
    with pytest.raises(UsageError, match="codec_folder"):
        codecs.get("diffusers").of_recipe(SETTINGS)
    with pytest.raises(UsageError, match="codec=FOLDER"):
        codecs.get("diffusers").of_checkpoint({"digest": "x"}, None)
    with pytest.raises(DataError, match="another autoencoder"):
        codecs.get("diffusers").of_checkpoint({"digest": "x"}, brought)
    config = (brought / "config.json").read_text()
    (tmp_path / "config.json").write_text(config)
    np.save(tmp_path / "diffusion_pytorch_model.bin", np.zeros(3))
    with pytest.raises(DataError, match="safetensors"):
        made("diffusers", tmp_path)
    (tmp_path / "diffusion_pytorch_model.safetensors").write_bytes(b"1234")
    with pytest.raises(DataError, match=str(tmp_path)):
        made("diffusers", tmp_path)
    (tmp_path / "config.json").write_text(config.replace('"AutoencoderKL"', '"UNet2DModel"'))
    with pytest.raises(UnknownNameError, match="AutoencoderTiny"):
        made("diffusers", tmp_path)
