"""CLIP's image half and LAION's head from a folder as published, tiny and random."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'torch'")
from safetensors.torch import load_file, save_file  # noqa: E402

from support.vectors import cases  # noqa: E402
from worldgauge.core.errors import DataError, ShapeError  # noqa: E402
from worldgauge.metrics.frame_pairs import prepared  # noqa: E402
from worldgauge.metrics.lpips_fvd import aesthetic  # noqa: E402
from worldgauge.perception.networks import choose_device, networks  # noqa: E402
from worldgauge.perception.networks._pretrained import clip_input  # noqa: E402
from worldgauge.perception.networks.embeddings import HEAD  # noqa: E402

CHANNELS = 768


def published(folder: Path, **fields: Any) -> Path:
    """The whole CLIP as its owner publishes it, and LAION's head; tiny but for the length of features."""
    torch.manual_seed(4)
    tiny = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision = {**tiny, "patch_size": 14, "projection_dim": CHANNELS, **fields}
    text = {**tiny, "vocab_size": 40, "bos_token_id": 0, "eos_token_id": 1, "projection_dim": CHANNELS}
    config = transformers.CLIPConfig(vision_config=vision, text_config=text, projection_dim=CHANNELS)
    model = transformers.CLIPModel(config)
    for parameter in model.parameters():
        parameter.data.normal_(std=0.2)
    model.save_pretrained(folder)
    write_head(folder, np.random.default_rng(5).normal(size=CHANNELS), 0.25)
    return folder


def write_head(folder: Path, weight: np.ndarray, bias: float) -> None:
    head = torch.nn.Linear(len(weight), 1)
    head.weight.data, head.bias.data = torch.tensor(weight).float()[None], torch.tensor([bias]).float()
    torch.save(head.state_dict(), folder / HEAD)


def opened(folder: Path, precision: Any = "float32") -> Any:
    return networks.get("clip-laion")(folder, choose_device("cpu", precision))


def frames(n: int = 3, seed: int = 0) -> np.ndarray:
    """Noise around another colour in every frame."""
    rng = np.random.default_rng(seed)
    return rng.normal(2 * rng.normal(size=(n, 1, 1, 3)), 1, (n, 224, 224, 3)).astype(np.float32)


def test_features_are_those_of_the_whole_clip_row_by_row(tmp_path: Path) -> None:
    network = opened(published(tmp_path))
    shown = frames(9)
    features = network.answer({"frames": shown})["features"]
    assert (features.shape, features.dtype) == ((9, CHANNELS), np.float32)
    whole = transformers.CLIPModel.from_pretrained(tmp_path, local_files_only=True).eval()
    with torch.inference_mode():
        seen = whole.vision_model(pixel_values=torch.from_numpy(shown).permute(0, 3, 1, 2)).pooler_output
        expected = whole.visual_projection(seen).numpy()
    np.testing.assert_allclose(features, expected, atol=5e-5)
    assert np.abs(features[0] - features[1]).max() > 0.02
    assert abs(np.linalg.norm(features[0]) - 1) > 0.1, "not of unit length yet"
    shown = frames(10)
    features = network.answer({"frames": shown})["features"]
    np.testing.assert_allclose(network.answer({"frames": shown[8:9]})["features"][0], features[8], atol=5e-5)
    assert network.answer({"frames": shown})["features"].tobytes() == features.tobytes()
    assert network.answer({"frames": shown[:0]})["features"].shape == (0, CHANNELS)


@pytest.mark.parametrize(("case", "probes"), cases("mind_preprocess", "cases", beside="clip_probes_at"))
def test_vector_what_the_network_sees_of_a_frame(
    case: dict[str, Any], probes: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    frame = np.random.default_rng(case["seed"]).integers(0, 256, (1, case["h"], case["w"], 3), dtype=np.uint8)[0]
    network = opened(published(tmp_path_factory.mktemp("clip"), num_hidden_layers=1))
    seen: list[Any] = []
    network._model.register_forward_pre_hook(lambda *given: seen.append(given[2]["pixel_values"]), with_kwargs=True)
    network.answer({"frames": clip_input(prepared(frame)[None])})
    (pixels,) = seen
    assert pixels.shape == (1, 3, 224, 224)
    np.testing.assert_allclose(
        [pixels[0, c, row, col] for c, row, col in probes["channel,row,col"]], case["clip_probes"], atol=2e-4
    )
    np.testing.assert_allclose(pixels[0].mean((1, 2)), case["clip_mean_rgb"], atol=2e-5)


@pytest.mark.parametrize("case", cases("mind_feature_heads", "cases"))
def test_vector_aesthetic_scores_through_the_network(case: dict[str, Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(case["seed"])
    rng.normal(size=(2, case["F"], 201, case["dim"]))  # the tokens of the other metric, drawn first
    features = rng.normal(size=(case["F"], CHANNELS)).astype(np.float32)
    folder = published(tmp_path)
    write_head(folder, rng.normal(size=CHANNELS).astype(np.float32), float(np.float32(rng.normal())))
    network = opened(folder)

    def given(module: Any, inputs: Any, output: Any) -> Any:
        output.image_embeds = torch.from_numpy(features)
        return output

    network._model.register_forward_hook(given)
    found = network.answer({"frames": frames(case["F"])})["features"]
    scores = [aesthetic(feature, network.weight, network.bias) for feature in found]
    np.testing.assert_allclose(scores, case["aesthetic"], rtol=1e-4)
    assert np.mean(scores) == pytest.approx(case["avg_aesthetic"], rel=1e-4)


def test_heads_and_files_of_older_versions(tmp_path: Path) -> None:
    network = opened(published(tmp_path))
    expected = np.random.default_rng(5).normal(size=CHANNELS).astype(np.float32)
    np.testing.assert_array_equal(network.weight, expected)
    assert (network.weight.dtype, network.bias) == (np.float32, 0.25)
    folder = published(tmp_path)
    before = opened(folder).answer({"frames": frames()})["features"]
    whole = load_file(folder / "model.safetensors")
    positions = {f"{half}_model.embeddings.position_ids": torch.arange(7)[None] for half in ("vision", "text")}
    save_file({**whole, **positions}, folder / "model.safetensors")
    assert opened(folder).answer({"frames": frames()})["features"].tobytes() == before.tobytes()


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_gives_float32_close_by(precision: str, tmp_path: Path) -> None:
    folder = published(tmp_path)
    features = opened(folder).answer({"frames": frames()})["features"]
    half = opened(folder, precision).answer({"frames": frames()})["features"]
    assert half.dtype == np.float32
    assert 0 < np.abs(half - features).mean() < 0.05 * np.abs(features).mean()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda whole: whole.pop("visual_projection.weight"), r"missing: visual_projection\.weight"),
        (lambda whole: whole.pop("vision_model.pre_layrnorm.bias"), r"missing: vision_model\.pre_layrnorm\.bias"),
        (lambda whole: whole.update({"vision_model.more": torch.zeros(1)}), r"left over: vision_model\.more"),
    ],
)
def test_wrong_vision_tensors_are_named(change: Any, says: str, tmp_path: Path) -> None:
    folder = published(tmp_path)
    whole = load_file(folder / "model.safetensors")
    change(whole)
    save_file(whole, folder / "model.safetensors")
    with pytest.raises(DataError, match=rf"model\.safetensors: .*{says}"):
        opened(folder)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"hidden_act": "gelu"}, "hidden_act is quick_gelu: this one's is gelu"),
        ({"patch_size": 32}, "patch_size is 14: this one's is 32"),
        ({"hidden_size": 768, "num_attention_heads": 12}, "hidden_size is 1024: this one's is 768"),
    ],
)
def test_other_clips_are_refused_by_name(fields: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"config\.json: not CLIP ViT-L/14.*{says}"):
        opened(published(tmp_path, **fields))


@pytest.mark.parametrize(
    ("tensors", "says"),
    [
        ({"weight": torch.zeros(1, 512), "bias": torch.zeros(1)}, "'weight'.*512"),
        ({"weight": torch.zeros(1, CHANNELS), "bias": torch.full((1,), torch.nan)}, "'bias'.*not finite"),
        ({"layers.0.weight": torch.zeros(1)}, "lacks 'weight', 'bias'"),
    ],
)
def test_a_head_that_does_not_fit_is_named(tensors: dict[str, Any], says: str, tmp_path: Path) -> None:
    folder = published(tmp_path)
    torch.save(tensors, folder / HEAD)
    with pytest.raises(DataError, match=f"{HEAD}: .*{says}"):
        opened(folder)


@pytest.mark.parametrize("shape", [(1, 200, 224, 3), (1, 3, 224, 224), (224, 224, 3)])
def test_other_frames_are_refused(shape: tuple[int, ...], tmp_path: Path) -> None:
    with pytest.raises(ShapeError, match="expected frames"):
        opened(published(tmp_path)).answer({"frames": np.zeros(shape, np.float32)})
