"""Grounding DINO with tiny random weights in the published file format: texts, boxes, sizes, refusals."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'torch'")

from worldgauge.core.errors import DataError, ShapeError, UsageError  # noqa: E402
from worldgauge.perception.networks import choose_device, networks, segmentation  # noqa: E402
from worldgauge.perception.networks._pretrained import IMAGENET, shown  # noqa: E402
from worldgauge.perception.networks.segmentation import GroundingDino, shown_size  # noqa: E402

CLS, SEP, STOP, QUERY = 101, 102, 1012, 1029
"""Numbers that the network knows by heart, as BERT's vocabulary has them."""


def save_tokenizer(folder: Path) -> None:
    """A word-piece tokenizer as BERT's, of few words."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    known = {0: "[PAD]", 100: "[UNK]", CLS: "[CLS]", SEP: "[SEP]", STOP: ".", QUERY: "?"}
    known |= {200: "chair", 201: "coffee", 202: "table", 203: "book", 204: "##shelf", 205: "window", 206: "##s"}
    vocabulary = {known.get(index, f"[unused{index}]"): index for index in range(1030)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))


def tiny_config() -> Any:
    backbone = {
        "model_type": "swin",
        "embed_dim": 8,
        "depths": [1, 1, 1, 1],
        "num_heads": [1, 1, 2, 2],
        "window_size": 4,
        "out_indices": [2, 3, 4],
    }
    text = {
        "model_type": "bert",
        "vocab_size": 1030,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 64,
    }
    return transformers.GroundingDinoConfig(
        backbone_config=backbone,
        text_config=text,
        d_model=32,
        num_queries=12,
        encoder_layers=1,
        encoder_ffn_dim=32,
        encoder_attention_heads=4,
        decoder_layers=2,
        decoder_ffn_dim=32,
        decoder_attention_heads=4,
        max_text_len=14,
    )


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grounding-dino")
    torch.manual_seed(5)
    model = transformers.GroundingDinoForObjectDetection(tiny_config())
    for tensor in model.parameters():
        if tensor.dim() > 1:
            torch.nn.init.normal_(tensor, std=0.2)
    model.save_pretrained(folder)
    save_tokenizer(folder)
    return folder


@pytest.fixture(autouse=True)
def small_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the published sides."""
    monkeypatch.setattr(segmentation, "SHORT_PX", 80)
    monkeypatch.setattr(segmentation, "LONG_PX", 133)


@pytest.fixture(scope="module")
def network(published: Path) -> GroundingDino:
    return GroundingDino(published, choose_device("cpu"))


@pytest.fixture(scope="module")
def rgb() -> Any:
    return np.random.default_rng(2).integers(0, 256, (36, 80, 3), np.uint8)


@pytest.mark.parametrize(
    ("frame", "size"),
    [
        ((480, 640), (800, 1066)),  # 800 * 640 / 480 = 1066.7, cut
        ((640, 480), (1066, 800)),
        ((512, 512), (800, 800)),
        ((360, 640), (750, 1333)),  # 1333 * 360 / 640 = 749.8, rounded
        ((1080, 1920), (750, 1333)),
        ((800, 1000), (800, 1000)),
        ((750, 1334), (749, 1333)),
        ((1, 3000), (1, 1333)),
    ],
)
def test_the_shorter_side_is_800_unless_the_longer_one_would_exceed_1333(
    frame: tuple[int, int], size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segmentation, "SHORT_PX", 800)
    monkeypatch.setattr(segmentation, "LONG_PX", 1333)
    assert shown_size(*frame) == size


class Answers:
    """In place of the network: what it is asked is kept, and each question gets the next of `logits`, and two boxes."""

    def __init__(self, network: GroundingDino, *logits: Any, second: Any = (0.9, 0.1, 0.4, 0.4)) -> None:
        self.config, self.second = network._model.config, second
        self.logits, self.asked = list(logits), []

    def __call__(self, *, pixel_values: Any, input_ids: Any) -> Any:
        self.asked.append((tuple(pixel_values.shape), input_ids[0].tolist()))
        logits = torch.full((1, 2, 14), -torch.inf)
        for row, token, value in self.logits.pop(0):
            logits[0, row, token] = value
        boxes = torch.tensor([[[0.5, 0.5, 0.5, 0.25], self.second]])
        return SimpleNamespace(logits=logits, pred_boxes=boxes)


def test_boxes_have_the_best_name_and_a_score_above_the_limit(
    network: GroundingDino, rgb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = Answers(network, [(0, 4, 1.0), (0, 1, 0.5), (0, 2, 9.0), (1, 8, 2.0), (1, 0, 9.0)])
    monkeypatch.setattr(network, "_model", answers)
    found = network.detect(rgb, [" Chair", "coffee table", "bookshelfs", " Chair"])
    assert answers.asked == [((1, 3, 60, 133), [CLS, 200, STOP, 201, 202, STOP, 203, 204, 206, STOP, SEP])]
    assert [each.name for each in found] == ["bookshelfs", "coffee table"]
    assert [each.score for each in found] == pytest.approx([1 / (1 + np.exp(-2)), 1 / (1 + np.exp(-1))], abs=1e-6)
    # Centre, width and height of the picture to corners in pixels of the frame, cut to it.
    assert found[1].box == pytest.approx((20, 13.5, 60, 22.5))
    assert found[0].box == pytest.approx((56, 0, 80, 10.8), abs=1e-4)
    low = float(np.log(0.3 / 0.7))
    for offset, count in ((1e-3, 1), (-1e-3, 0)):
        monkeypatch.setattr(network, "_model", Answers(network, [(0, 1, low + offset)]))
        assert len(network.detect(rgb, ["chair"])) == count
        monkeypatch.undo()
        monkeypatch.setattr(segmentation, "SHORT_PX", 80)


@pytest.mark.parametrize("box", [(1.5, 0.5, 0.2, 0.2), (0.5, -0.5, 0.2, 0.2), (0.5, 0.5, 0.0, 0.2)])
def test_boxes_that_hold_nothing_of_the_frame_are_left_out(
    network: GroundingDino, rgb: Any, monkeypatch: pytest.MonkeyPatch, box: tuple[float, ...]
) -> None:
    monkeypatch.setattr(network, "_model", Answers(network, [(0, 1, 1.0), (1, 1, 2.0)], second=box))
    assert [each.box for each in network.detect(rgb, ["chair"])] == [pytest.approx((20, 13.5, 60, 22.5))]


def test_many_names_are_asked_in_several_texts(
    network: GroundingDino, rgb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """14 tokens a text, two of them its ends: six names of one token, or four of two."""
    names = ["chair", "table", "book", "window", "coffee", "chairs", "coffee table", "bookshelf", "windows", "tables"]
    # 5 * 2 + 3 + 2 is one too many; then four names of three.
    answers = Answers(network, [(0, 1, 1.0)], [(0, 1, 3.0), (1, 11, 2.0)], [(0, 1, 4.0)])
    monkeypatch.setattr(network, "_model", answers)
    found = network.detect(rgb, names)
    texts = [ids for _, ids in answers.asked]
    assert all(len(ids) <= 14 and ids[0] == CLS and ids[-2:] == [STOP, SEP] for ids in texts)
    assert [ids.count(STOP) for ids in texts] == [5, 4, 1]
    assert [each.name for each in found] == ["tables", "chairs", "windows", "chair"]


def test_answers_are_those_of_the_model_asked_directly(published: Path, network: GroundingDino, rgb: Any) -> None:
    model = transformers.GroundingDinoForObjectDetection.from_pretrained(published, local_files_only=True).eval()
    text = torch.tensor([[CLS, 200, STOP, 201, 202, STOP, 203, 204, STOP, SEP]])
    with torch.inference_mode():
        answer = model(
            pixel_values=shown(rgb, 60, 133, *IMAGENET, choose_device("cpu")),
            pixel_mask=torch.ones(1, 60, 133, dtype=torch.int64),
            input_ids=text,
            token_type_ids=torch.zeros_like(text),
            attention_mask=torch.ones_like(text),
        )
    tokens = answer.logits[0].sigmoid().numpy()
    by_name = np.stack([tokens[:, 1], tokens[:, 3:5].max(1), tokens[:, 6:8].max(1)], axis=1)
    names = ["chair", "coffee table", "bookshelf"]
    found = network.detect(rgb, names, score=0.0)
    order = (-by_name.max(1)).argsort()
    assert len(found) == 12
    assert [each.score for each in found] == pytest.approx(by_name.max(1)[order].tolist(), abs=1e-5)
    assert [each.name for each in found] == [names[best] for best in by_name[order].argmax(1)]
    x, y, width, height = answer.pred_boxes[0, order].numpy().T
    left, top = np.clip((x - width / 2) * 80, 0, 80), np.clip((y - height / 2) * 36, 0, 36)
    assert np.array([each.box[:2] for each in found]) == pytest.approx(np.stack([left, top], axis=1), abs=1e-3)
    assert found == network.detect(rgb, names, score=0.0)


def test_half_precision_no_names_and_other_frames(published: Path, rgb: Any, network: GroundingDino) -> None:
    half = GroundingDino(published, choose_device("cpu", "bfloat16"))
    assert all(0 <= each.score <= 1 for each in half.detect(rgb, ["chair"], score=0.0))
    assert network.detect(rgb, []) == []
    with pytest.raises(ShapeError, match="a frame is"):
        network.detect(np.zeros((4, 4), np.uint8), ["chair"])
    assert networks.get("grounding-dino") is GroundingDino
    assert networks.entry("grounding-dino").facts["what"] == "detect"


@pytest.mark.parametrize("name", ["", " ", "a.b", "why?", "\u200b", " ".join(["window"] * 12)])
def test_names_that_cannot_be_asked_are_refused(network: GroundingDino, rgb: Any, name: str) -> None:
    with pytest.raises(UsageError, match="name"):
        network.detect(rgb, ["chair", name])


def test_files_that_do_not_fit_are_named(published: Path, tmp_path: Path) -> None:
    for file in published.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(DataError, match=r"tokenizer\.json: no such file"):
        GroundingDino(tmp_path, choose_device("cpu"))
    (tmp_path / "config.json").write_text('{"model_type": "owlvit"}')
    with pytest.raises(DataError, match="of a 'owlvit'; the folder of a grounding-dino is needed"):
        GroundingDino(tmp_path, choose_device("cpu"))
