"""SAM 3 with tiny random weights in the published file format: preprocessing, confidences, masks, refusals."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'torch'")
from safetensors.torch import load_file, save_file  # noqa: E402

from worldgauge.core.errors import DataError, ShapeError, UsageError  # noqa: E402
from worldgauge.perception.instances import packed, unpacked  # noqa: E402
from worldgauge.perception.networks import choose_device, networks  # noqa: E402
from worldgauge.perception.networks._pretrained import IMAGENET, masks_of, shown  # noqa: E402
from worldgauge.perception.networks.segmentation import Sam3Network  # noqa: E402
from worldgauge.perception.segment import Masks  # noqa: E402

WORDS = ("sky", "tree", "water")


def save_tokenizer(folder: Path) -> None:
    """A byte-pair tokenizer as CLIP's: lower case, an end-of-word mark, a start and an end token."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = ["<|startoftext|>", "<|endoftext|>", *letters, *(f"{letter}</w>" for letter in letters), "sk", "sky</w>"]
    model = models.BPE(
        vocab={piece: index for index, piece in enumerate(pieces)},
        merges=[("s", "k"), ("sk", "y</w>")],
        end_of_word_suffix="</w>",
        unk_token="<|endoftext|>",
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|startoftext|> $A <|endoftext|>", special_tokens=[("<|startoftext|>", 0), ("<|endoftext|>", 1)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))


def detector_config() -> Any:
    layer = {"hidden_size": 32, "num_attention_heads": 2, "num_layers": 1, "intermediate_size": 64}
    backbone = {
        "model_type": "sam3_vit_model",
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 112,
        "pretrain_image_size": 112,
        "patch_size": 14,
        "window_size": 4,
        "global_attn_indexes": [1],
    }
    text = {
        "model_type": "clip_text_model",
        "vocab_size": 60,
        "hidden_size": 32,
        "intermediate_size": 64,
        "projection_dim": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "max_position_embeddings": 12,
        "bos_token_id": 0,
        "eos_token_id": 1,
    }
    return transformers.Sam3Config(
        vision_config={
            "backbone_config": backbone,
            "fpn_hidden_size": 32,
            "backbone_feature_sizes": [[32, 32], [16, 16], [8, 8]],
        },
        text_config=text,
        geometry_encoder_config=layer,
        detr_encoder_config=layer,
        detr_decoder_config={**layer, "num_queries": 6},
        mask_decoder_config={"hidden_size": 32, "num_attention_heads": 2},
    )


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sam3")
    torch.manual_seed(1)
    model = transformers.Sam3Model(detector_config())
    for tensor in model.parameters():  # the published start would make all answers nearly alike
        torch.nn.init.normal_(tensor, std=0.2)
    model.save_pretrained(folder)
    save_tokenizer(folder)
    return folder


@pytest.fixture(scope="module")
def network(published: Path) -> Sam3Network:
    return Sam3Network(published, choose_device("cpu"))


@pytest.fixture
def folder(published: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    for file in published.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


@pytest.fixture(scope="module")
def rgb() -> Any:
    return np.random.default_rng(2).integers(0, 256, (45, 80, 3), np.uint8)


def triangle(size: int, to: int) -> Any:
    """Weights (to, size) of smoothed bilinear resizing, written down from its definition."""
    weights = np.zeros((to, size))
    scale = size / to
    reach = max(scale, 1)
    for row in range(to):
        centre = (row + 0.5) * scale
        for column in range(size):
            weights[row, column] = max(0, 1 - abs(column + 0.5 - centre) / reach)
    return weights / weights.sum(1, keepdims=True)


@pytest.mark.parametrize("size", [(112, 112), (20, 100)])
def test_frames_are_squeezed_rounded_and_normalised_by_channel(rgb: Any, size: tuple[int, int]) -> None:
    mean, deviation = IMAGENET
    tensor = shown(rgb, *size, mean, deviation, choose_device("cpu"))
    rows, columns = (triangle(old, new) for old, new in zip(rgb.shape[:2], size, strict=True))
    levels = np.einsum("rh,hwc,sw->crs", rows, rgb.astype(float), columns)
    expected = (levels / 255 - np.array(mean)[:, None, None]) / np.array(deviation)[:, None, None]
    assert tensor.shape == (1, 3, *size)
    assert tensor.dtype == torch.float32
    one_level = (1 / 255 / np.array(deviation))[:, None, None]
    # Rounded to whole levels after each of the two passes.
    assert (np.abs(tensor[0].numpy() - expected) <= 1.1 * one_level).all()
    assert np.abs(tensor[0].numpy() - expected).mean() < 0.5 * one_level.mean()
    back = tensor[0].numpy() * np.array(deviation)[:, None, None] * 255 + 255 * np.array(mean)[:, None, None]
    assert np.abs(back - back.round()).max() < 1e-3


def test_frames_in_and_masks_out_by_hand() -> None:
    frame = np.array([[[255, 0, 51]]], np.uint8)
    tensor = shown(frame, 1, 1, (0.5, 0.5, 0.5), (0.5, 0.5, 0.25), choose_device("cpu"))
    assert tensor.flatten().tolist() == pytest.approx([1, -1, -1.2], abs=1e-6)
    logits = -torch.ones(2, 4, 4)
    logits[0, :, 2:] = 1  # the right half
    logits[1, 0] = 3  # the first row, and no more: half-way to the next is (3 - 1) / 2
    masks = masks_of(logits, 8, 16)
    assert masks.shape == (2, 8, 16)
    assert masks[0, :, 8:].all()
    assert not masks[0, :, :8].any()
    # Rows are at -0.25, 0.25, 0.75, 1.25 ... of the logits' rows: 3, 2 and 0 exactly at 0.75, which is not above it.
    assert masks[1].all(1).tolist() == [True, True, False, False, False, False, False, False]


class Answers:
    """In place of the network: one category of sure, unsure and sure masks, the left or the top half."""

    def __init__(self, model: Any) -> None:
        self.config = model.config
        self.get_text_features, self.get_vision_features = model.get_text_features, model.get_vision_features

    def __call__(self, *, text_embeds: Any, **_: Any) -> Any:
        n = len(text_embeds.pooler_output)
        masks = -torch.ones(n, 3, 6, 6)
        masks[:, 0, :, :3] = 1
        masks[:, 2, :3] = 1
        logits = torch.tensor([1.0, -3.0, 4.0]).expand(n, 3)
        return SimpleNamespace(pred_logits=logits, presence_logits=torch.full((n, 1), 2.0), pred_masks=masks)


def test_confidence_is_instance_times_presence_and_the_surest_come_first(
    published: Path, rgb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = Sam3Network(published, choose_device("cpu"))
    monkeypatch.setattr(network, "_model", Answers(network._model))
    found = network.segment(rgb, ["sky", "tree", "sky"])
    assert list(found) == ["sky", "tree"]
    presence = 1 / (1 + np.exp(-2))
    for pairs in found.values():
        assert [sure for _, sure in pairs] == pytest.approx(
            [presence / (1 + np.exp(-4)), presence / (1 + np.exp(-1))], abs=1e-6
        )
        top, left = (mask for mask, _ in pairs)
        assert top[:22].all()
        assert not top[23:].any()
        assert left[:, :40].all()
        assert not left[:, 40:].any()
    assert len(Masks(found).scene()["sky"]) == 2
    assert [len(pairs) for pairs in network.segment(rgb, ["sky"], above=0.0).values()] == [3]


def test_answers_are_those_of_the_model_asked_directly(published: Path, network: Sam3Network, rgb: Any) -> None:
    model = transformers.Sam3Model.from_pretrained(published, local_files_only=True).eval()
    found = network.segment(rgb, WORDS, above=0.0)
    ids = {"sky": [0, 55, 1], "tree": [0, 21, 19, 6, 32, 1], "water": [0, 24, 2, 21, 6, 45, 1]}
    for name in WORDS:
        tokens = torch.tensor([ids[name] + [1] * (12 - len(ids[name]))])  # filled up with another token than ours
        counts = torch.tensor([[1] * len(ids[name]) + [0] * (12 - len(ids[name]))])
        half = (0.5, 0.5, 0.5)
        with torch.inference_mode():
            answer = model(
                pixel_values=shown(rgb, 112, 112, half, half, choose_device("cpu")),
                input_ids=tokens,
                attention_mask=counts,
            )
        sure = (answer.pred_logits.sigmoid() * answer.presence_logits.sigmoid())[0]
        order = sure.argsort(descending=True)
        assert [each for _, each in found[name]] == pytest.approx(sure[order].tolist(), abs=1e-5)
        assert len(found[name]) == 6
        logits = torch.nn.functional.interpolate(answer.pred_masks, (45, 80), mode="bilinear")[0, order]
        for (mask, _), due in zip(found[name], logits, strict=True):
            assert (mask == (due > 0).numpy()).mean() > 0.999
    assert {round(sure, 5) for _, sure in found["sky"]} != {round(sure, 5) for _, sure in found["tree"]}


def test_answers_alone_in_half_precision_and_of_nothing(network: Sam3Network, rgb: Any, published: Path) -> None:
    together = network.segment(rgb, [*WORDS, "sand", "snow", "dirt", "path"], above=0.0)
    again = network.segment(rgb, [*WORDS, "sand", "snow", "dirt", "path"], above=0.0)
    alone = network.segment(rgb, ["dirt"], above=0.0)
    for name, pairs in together.items():
        assert [sure for _, sure in pairs] == [sure for _, sure in again[name]]
        assert all((a == b).all() for (a, _), (b, _) in zip(pairs, again[name], strict=True))
    assert [sure for _, sure in alone["dirt"]] == pytest.approx([sure for _, sure in together["dirt"]], abs=1e-5)
    half = Sam3Network(published, choose_device("cpu", "bfloat16")).segment(rgb, ["tree"], above=0.0)["tree"]
    full = network.segment(rgb, ["tree"], above=0.0)["tree"]
    assert [sure for _, sure in half] == pytest.approx([sure for _, sure in full], abs=0.1)
    assert network.segment(rgb, []) == {}


def test_the_folder_of_the_video_model_holds_the_same_network(folder: Path, network: Sam3Network, rgb: Any) -> None:
    tensors = load_file(folder / "model.safetensors")
    moved = {f"detector_model.{name}": tensor for name, tensor in tensors.items()}
    moved |= {"tracker_model.a": torch.zeros(1), "tracker_neck.b": torch.zeros(1)}
    save_file(moved, folder / "model.safetensors", metadata={"format": "pt"})
    config = {"model_type": "sam3_video", "detector_config": json.loads((folder / "config.json").read_text())}
    (folder / "config.json").write_text(json.dumps(config))
    found = Sam3Network(folder, choose_device("cpu")).segment(rgb, WORDS, above=0.0)
    for name, pairs in network.segment(rgb, WORDS, above=0.0).items():
        assert [sure for _, sure in pairs] == [sure for _, sure in found[name]]


@pytest.mark.parametrize("name", ["", "  ", "a very long text of many letters"])
def test_texts_without_words_or_with_too_many_are_refused(network: Sam3Network, rgb: Any, name: str) -> None:
    with pytest.raises(UsageError, match="no text to look for"):
        network.segment(rgb, [name])


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 4), (0, 4, 3)])
def test_frames_of_another_shape_are_refused(network: Sam3Network, shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="a frame is"):
        network.segment(np.zeros(shape, np.uint8), ["sky"])
    with pytest.raises(ShapeError, match="float64"):
        network.segment(np.zeros((4, 4, 3)), ["sky"])


def test_the_original_checkpoint_is_not_this_format(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    save_file({f"detector.{name}": tensor for name, tensor in tensors.items()}, folder / "model.safetensors")
    with pytest.raises(DataError, match=r"model\.safetensors: not the weights of 'sam3', tensors missing"):
        Sam3Network(folder, choose_device("cpu"))


def test_a_missing_tokenizer_is_named(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    with pytest.raises(DataError, match=r"tokenizer\.json: no such file"):
        Sam3Network(folder, choose_device("cpu"))


def test_packed_masks_come_back_the_same() -> None:
    random = np.random.default_rng(0)
    found = {
        "sky": [(random.random((5, 7)) > 0.5, 0.9), (random.random((5, 7)) > 0.5, 1 / 3)],
        "tree": [],
        "sand": [(np.zeros((5, 7), bool), 0.51)],
    }
    arrays = packed(found)
    assert arrays["bits"].shape == (3, 5)
    back = unpacked(arrays)
    assert list(back) == list(found)
    for name, pairs in found.items():
        assert [sure for _, sure in back[name]] == [sure for _, sure in pairs]
        assert all((a == b).all() for (a, _), (b, _) in zip(back[name], pairs, strict=True))
    assert (unpacked(packed({"sky": []})), unpacked(packed({}))) == ({"sky": []}, {})
    mixed = {"sky": [(np.zeros((2, 3), bool), 0.6), (np.zeros((3, 2), bool), 0.6)]}
    with pytest.raises(ShapeError, match="differ in size"):
        packed(mixed)
    arrays = packed({"sky": [(np.zeros((5, 7), bool), 0.6)]})
    with pytest.raises(ShapeError, match="are not 1 masks"):
        unpacked({**arrays, "size": np.array([50, 70], np.int32)})
    assert networks.get("sam3") is Sam3Network
    assert networks.entry("sam3").facts["what"] == "segment"
