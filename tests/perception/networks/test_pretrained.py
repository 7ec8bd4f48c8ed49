"""Folders of published models, loaded with tiny random weights and refused where something in them does not fit."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'torch'")
from safetensors.torch import load_file, save_file  # noqa: E402

from worldgauge.core.errors import DataError  # noqa: E402
from worldgauge.perception.networks import choose_device  # noqa: E402
from worldgauge.perception.networks._pretrained import load_pretrained, load_tokenizer  # noqa: E402

MODEL = "CLIPVisionModelWithProjection"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    config = transformers.CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        image_size=28,
        patch_size=14,
        projection_dim=8,
    )
    torch.manual_seed(0)
    transformers.CLIPVisionModelWithProjection(config).save_pretrained(tmp_path)
    return tmp_path


def load(folder: Path, **more: Any) -> Any:
    return load_pretrained(MODEL, folder, choose_device("cpu"), what="a test", **more)


def change_config(folder: Path, **fields: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def test_the_model_has_the_weights_of_the_file_in_the_precision_of_the_device(folder: Path) -> None:
    model = load(folder)
    published = load_file(folder / "model.safetensors")
    assert set(published) == set(model.state_dict())
    assert all(torch.equal(tensor, published[name]) for name, tensor in model.state_dict().items())
    assert not model.training
    assert not any(each.requires_grad for each in model.parameters())
    assert load_pretrained(MODEL, folder, choose_device("cpu", "bfloat16"), what="a test").dtype == torch.bfloat16
    change_config(folder, dtype="float16")
    assert load(folder).dtype == torch.float32


def rewrite(folder: Path, edit: Any) -> None:
    tensors = load_file(folder / "model.safetensors")
    edit(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def test_missing_tensors_are_named(folder: Path) -> None:
    rewrite(folder, lambda tensors: tensors.pop("visual_projection.weight"))
    with pytest.raises(DataError, match=r"model.safetensors: .*missing: visual_projection.weight"):
        load(folder)


def test_left_over_tensors_are_named_unless_they_are_expected(folder: Path) -> None:
    rewrite(folder, lambda tensors: tensors.update({"text_model.a": torch.zeros(2)}))
    with pytest.raises(DataError, match=r"left over: text_model.a"):
        load(folder)
    load(folder, ignored_prefixes=("text_model.",))


def test_tensors_of_another_shape_are_named_with_both_shapes(folder: Path) -> None:
    rewrite(folder, lambda tensors: tensors.update({"visual_projection.weight": torch.zeros(4, 16)}))
    with pytest.raises(DataError, match=r"of another shape: visual_projection.weight \(4, 16\) for \(8, 16\)"):
        load(folder)


def test_the_folder_of_another_architecture_is_refused_unless_it_holds_this_one(folder: Path) -> None:
    change_config(folder, model_type="bert")
    with pytest.raises(DataError, match=r"of a 'bert'; the folder of a clip_vision_model is needed"):
        load(folder)
    load(folder, also=("bert",))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named_in_one_line(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(DataError, match=name) as caught:
        load(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content", ["", "[]", "{", "[" * 100_000, '{"model_type": "clip_vision_model", "hidden_size": "wide"}']
)
def test_a_config_that_is_none_is_one_line(folder: Path, content: str) -> None:
    (folder / "config.json").write_text(content)
    with pytest.raises(DataError, match=r"config\.json") as caught:
        load(folder)
    assert "\n" not in str(caught.value)


def test_a_config_cannot_ask_for_more_memory_than_the_file_warrants(folder: Path) -> None:
    change_config(folder, hidden_size=2**20, intermediate_size=2**22)  # 70 terabytes
    with pytest.raises(DataError, match="one is of another model") as caught:
        load(folder)
    assert str(caught.value).count(str(folder)) == 1


def test_quantized_weights_are_refused(folder: Path) -> None:
    change_config(folder, quantization_config={"quant_method": "bitsandbytes", "load_in_8bit": True})
    with pytest.raises(DataError, match="quantized"):
        load(folder)


class _Ran:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_a_pickle_in_place_of_the_weights_is_refused_unread(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(pickle.dumps(_Ran(folder / "ran")))
    with pytest.raises(DataError, match="not a safetensors file"):
        load(folder)
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("name", ["pytorch_model.bin", ".metadata", "adapter_model.bin"])
def test_a_pickle_next_to_the_weights_is_not_read(folder: Path, name: str) -> None:
    (folder / name).write_bytes(pickle.dumps(_Ran(folder / "ran")))
    load(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(DataError, match=r"model\.safetensors: no such file"):
        load(folder)
    assert not (folder / "ran").exists()


def test_who_writes_to_the_file_later_does_not_change_the_model(folder: Path) -> None:
    model = load(folder)
    with (folder / "model.safetensors").open("r+b") as file:
        file.write(bytes((folder / "model.safetensors").stat().st_size))
    assert all(tensor.any() for name, tensor in model.named_parameters() if "norm" not in name and "bias" not in name)


def test_code_in_the_folder_is_not_run(folder: Path) -> None:
    trace = folder / "ran"
    (folder / "own.py").write_text(f"open({str(trace)!r}, 'w')\nclass Own: pass\n")
    change_config(folder, auto_map={"AutoConfig": "own.Own", "AutoModel": "own.Own"}, attn_implementation="a/kernel")
    load(folder)
    assert not trace.exists()


def test_a_tokenizer_neither_cuts_texts_nor_fills_them_up(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1, "b": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_padding(length=3)
    tokenizer.enable_truncation(3)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    loaded = load_tokenizer(tmp_path, what="a test", words=3)
    assert (loaded.encode("a b").ids, loaded.encode("a b c a b").ids) == ([1, 2], [1, 2, 0, 1, 2])
    with pytest.raises(DataError, match="of 3 words for a model of 2"):
        load_tokenizer(tmp_path, what="a test", words=2)


@pytest.mark.parametrize("content", [None, "", "{}", "nonsense"])
def test_a_tokenizer_that_is_none_is_one_line(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(DataError, match=r"tokenizer\.json") as caught:
        load_tokenizer(tmp_path, what="a test", words=3)
    assert "\n" not in str(caught.value)
