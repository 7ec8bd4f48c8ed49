"""DINO from folders as published, tiny and random."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'torch'")
from safetensors.torch import load_file, save_file  # noqa: E402

from support.vectors import cases  # noqa: E402
from worldgauge.core.errors import DataError, ShapeError  # noqa: E402
from worldgauge.metrics.lpips_fvd import dino_mse  # noqa: E402
from worldgauge.perception.networks import choose_device, networks  # noqa: E402
from worldgauge.perception.networks._pretrained import dino_input  # noqa: E402

TOKENS = {"dinov3-b16": 201, "dinov2-b14": 261}
NAMES = {
    "dinov3-b16": {"embeddings.patch_embeddings.weight", "layer.0.attention.q_proj.weight", "layer.1.mlp.up_proj.bias"},
    "dinov2-b14": {
        "embeddings.patch_embeddings.projection.weight",
        "encoder.layer.0.attention.attention.query.weight",
        "encoder.layer.1.mlp.fc1.bias",
    },
}
"""Some of the tensors, as they are called in the published files."""
PATCHES_A_SIDE = {"dinov3-b16": 14, "dinov2-b14": 16}


def published(name: str, folder: Path, **fields: Any) -> Path:
    """A folder as the owner publishes it, of a tiny network."""
    torch.manual_seed(3)
    tiny = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_register_tokens": 4}
    if name == "dinov3-b16":
        config = transformers.DINOv3ViTConfig(**(tiny | {"intermediate_size": 48, "patch_size": 16} | fields))
        model = transformers.DINOv3ViTModel(config)
    else:
        config = transformers.Dinov2WithRegistersConfig(**(tiny | {"patch_size": 14, "image_size": 518} | fields))
        model = transformers.Dinov2WithRegistersModel(config)
    for parameter in model.parameters():
        parameter.data.normal_(std=0.3)
    model.save_pretrained(folder)
    return folder


def opened(name: str, folder: Path, precision: Any = "float32") -> Any:
    return networks.get(name)(folder, choose_device("cpu", precision))


def frames(n: int = 3, seed: int = 0) -> np.ndarray:
    """Noise around another colour in every frame."""
    rng = np.random.default_rng(seed)
    return rng.normal(2 * rng.normal(size=(n, 1, 1, 3)), 1, (n, 224, 224, 3)).astype(np.float32)


@pytest.fixture(params=sorted(TOKENS))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_tokens_are_those_of_transformers_for_channels_first(name: str, tmp_path: Path) -> None:
    network = opened(name, published(name, tmp_path))
    assert load_file(tmp_path / "model.safetensors").keys() > NAMES[name]
    shown = frames(9)
    tokens = network.answer({"frames": shown})["tokens"]
    assert (tokens.shape, tokens.dtype) == ((9, TOKENS[name], 32), np.float32)
    model_class = type(network._model)
    with torch.inference_mode():
        # At once and straight from the file: what is cut into parts and loaded here is compared with it.
        own = model_class.from_pretrained(tmp_path, local_files_only=True).eval()
        expected = own(pixel_values=torch.from_numpy(shown).permute(0, 3, 1, 2)).last_hidden_state
    np.testing.assert_allclose(tokens, expected.numpy(), atol=2e-5)
    assert np.abs(tokens[0] - tokens[1]).max() > 0.1


def test_rows_are_answered_one_by_one_and_the_same_again(name: str, tmp_path: Path) -> None:
    network = opened(name, published(name, tmp_path))
    shown = frames(10)
    tokens = network.answer({"frames": shown})["tokens"]
    alone = network.answer({"frames": shown[8:9]})["tokens"]
    np.testing.assert_allclose(alone[0], tokens[8], atol=2e-5)
    np.testing.assert_allclose(network.answer({"frames": shown[::-1]})["tokens"][::-1], tokens, atol=2e-5)
    assert network.answer({"frames": shown})["tokens"].tobytes() == tokens.tobytes()
    assert network.answer({"frames": shown[:0]})["tokens"].shape == (0, TOKENS[name], 32)


def test_patches_follow_row_by_row_after_the_special_tokens(name: str, tmp_path: Path) -> None:
    network = opened(name, published(name, tmp_path))
    embeddings = []
    hook = network._model.embeddings.register_forward_hook(lambda *seen: embeddings.append(seen[2].numpy()))
    plain, side = frames(1), 224 // PATCHES_A_SIDE[name]
    marked = plain.copy()
    marked[0, 3 * side, 5 * side, 1] += 1
    network.answer({"frames": np.concatenate([plain, marked])})
    hook.remove()
    (changed,) = np.flatnonzero(np.abs(embeddings[0][1] - embeddings[0][0]).max(1) > 1e-3)
    assert changed == 5 + 3 * PATCHES_A_SIDE[name] + 5


def test_a_patch_is_projected_as_by_hand(name: str, tmp_path: Path) -> None:
    network = opened(name, published(name, tmp_path))
    state = load_file(tmp_path / "model.safetensors")
    stem = next(key for key in state if "patch_embeddings" in key and key.endswith("weight"))
    weight, bias = state[stem].numpy(), state[stem.replace("weight", "bias")].numpy()
    seen = []
    patch_embeddings = network._model.get_submodule(stem.removesuffix(".weight"))
    patch_embeddings.register_forward_hook(lambda *given: seen.append(given[2].numpy()))
    shown, side = frames(1), weight.shape[-1]
    network.answer({"frames": shown})
    patch = shown[0, 2 * side : 3 * side, side : 2 * side]  # row 2, column 1, channels last
    by_hand = np.einsum("okij,ijk->o", weight.astype(np.float64), patch) + bias
    np.testing.assert_allclose(seen[0][0, :, 2, 1], by_hand, atol=1e-4)


@pytest.mark.parametrize("case", [case for case in cases("mind_feature_heads", "cases") if case.values[0]["dim"] < 384])
def test_vector_feature_error_through_the_network(case: dict[str, Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(case["seed"])
    a = rng.normal(size=(case["F"], 201, case["dim"])).astype(np.float32)
    b = (a + case["noise"] * rng.normal(size=a.shape)).astype(np.float32)
    folder = published("dinov3-b16", tmp_path, hidden_size=case["dim"], num_attention_heads=case["dim"] // 16)
    network = opened("dinov3-b16", folder)
    clips = []
    for states in (a, b):

        def given(module: Any, inputs: Any, output: Any, states: Any = states) -> Any:
            output.last_hidden_state = torch.from_numpy(states)
            return output

        hook = network._model.register_forward_hook(given)
        pictures = np.random.default_rng(0).random((case["F"], 36, 64, 3), dtype=np.float32)
        clips.append(network.answer({"frames": dino_input(pictures)})["tokens"])
        hook.remove()
    errors = [dino_mse(*pair) for pair in zip(*clips, strict=True)]
    np.testing.assert_allclose(errors, case["dino_mse"], rtol=1e-4)
    assert np.mean(errors) == pytest.approx(case["avg_dino_mse"], rel=1e-4)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_gives_float32_close_by(precision: str, name: str, tmp_path: Path) -> None:
    folder = published(name, tmp_path)
    tokens = opened(name, folder).answer({"frames": frames()})["tokens"]
    half = opened(name, folder, precision).answer({"frames": frames()})["tokens"]
    assert half.dtype == np.float32
    assert 0 < np.abs(half - tokens).mean() < 0.05 * np.abs(tokens).mean()


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"num_register_tokens": 0}, "num_register_tokens is 4: this one's is 0"),
        ({"patch_size": 32}, r"patch_size is 1[46]: this one's is 32"),
        ({"hidden_size": 384, "num_attention_heads": 6}, "hidden_size is 768: this one's is 384"),
    ],
)
def test_siblings_are_refused_by_name(fields: dict[str, int], says: str, name: str, tmp_path: Path) -> None:
    size = {"image_size": 544} if name == "dinov2-b14" else {}
    with pytest.raises(DataError, match=f"config.json: not '{name}'.*{says}"):
        opened(name, published(name, tmp_path, **fields, **(size if "patch_size" in fields else {})))


def test_a_network_cut_short_is_not_the_published_one(tmp_path: Path) -> None:
    folder = published("dinov3-b16", tmp_path, hidden_size=768, num_attention_heads=12, num_hidden_layers=1)
    with pytest.raises(DataError, match="num_hidden_layers is 12: this one's is 1"):
        opened("dinov3-b16", folder)


def test_other_files_are_named(name: str, tmp_path: Path) -> None:
    folder = published(name, tmp_path)
    whole = load_file(folder / "model.safetensors")
    lost = {key: tensor for key, tensor in whole.items() if not key.endswith("register_tokens")}
    save_file(lost, folder / "model.safetensors")
    with pytest.raises(DataError, match=r"model\.safetensors: .*missing: embeddings\.register_tokens"):
        opened(name, folder)
    save_file({**whole, "head.weight": torch.zeros(2)}, folder / "model.safetensors")
    with pytest.raises(DataError, match=r"left over: head\.weight"):
        opened(name, folder)
    (folder / "config.json").write_text(json.dumps({"model_type": "vit", "hidden_size": 32}))
    with pytest.raises(DataError, match="of a 'vit'"):
        opened(name, folder)


@pytest.mark.parametrize(
    "wrong",
    [np.zeros((1, 224, 225, 3), np.float32), np.zeros((1, 224, 224, 3)), np.zeros((1, 3, 224, 224), np.float32)],
    ids=["size", "dtype", "channels first"],
)
def test_other_frames_are_refused(wrong: np.ndarray, tmp_path: Path) -> None:
    network = opened("dinov3-b16", published("dinov3-b16", tmp_path))
    with pytest.raises(ShapeError, match="expected frames"):
        network.answer({"frames": wrong})
