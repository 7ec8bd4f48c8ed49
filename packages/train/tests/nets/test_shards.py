"""Weights in several files: no file too large, nothing lost, nothing read from elsewhere."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402

from worldgauge.core.errors import DataError  # noqa: E402
from worldgauge_train.nets.checkpoint import load_tensors, save_shards, save_tensors  # noqa: E402
from worldgauge_train.nets.shards import digest_of_weights, files_of  # noqa: E402

INDEX = "model.safetensors.index.json"


def tensors() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {name: torch.randn(300_000, generator=generator) for name in ("a", "b.weight", "c", "d")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save_tensors(tmp_path / "model.safetensors", tensors())  # as an earlier run left it
    save_shards(tmp_path / "model.safetensors", tensors(), 2)
    return tmp_path / "model.safetensors"


def test_files_are_small_and_hold_everything(path: Path) -> None:
    files = files_of(path)
    assert [one.name for one in files] == [f"model-0000{n}-of-00004.safetensors" for n in range(1, 5)]
    assert not path.exists()
    assert all(one.stat().st_size <= 2 * 2**20 for one in files)
    found = load_tensors(path, tensors())
    assert all(torch.equal(found[name], value) for name, value in tensors().items())
    told = json.loads((path.parent / INDEX).read_text())
    assert told["weight_map"]["b.weight"] == files[1].name


def test_few_weights_are_one_file(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_shards(path, tensors(), 16)
    assert (files_of(path), [one.name for one in tmp_path.iterdir()]) == ([path], [path.name])


def test_the_digest_is_of_all_files(path: Path) -> None:
    before = digest_of_weights(path)
    last = files_of(path)[-1]
    data = bytearray(last.read_bytes())
    data[-1] ^= 1
    last.write_bytes(bytes(data))
    assert digest_of_weights(path) != before


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("../model-00001-of-00004.safetensors", "is no shard"),
        ("/etc/passwd", "is no shard"),
        ("model-1-of-4.safetensors", "is no shard"),
        ("model-00001-of-00004.safetensors/../x.safetensors", "is no shard"),
        ("model-00009-of-00009.safetensors", "is missing"),
        ("model-00001-of-00004.safetensors", "tensor 'c' is missing"),
        (None, "is no shard"),
    ],
)
def test_an_index_that_names_other_files(path: Path, file: object, told: str) -> None:
    index = path.parent / INDEX
    index.write_text(json.dumps({"weight_map": {**json.loads(index.read_text())["weight_map"], "c": file}}))
    with pytest.raises(DataError, match=told):
        load_tensors(path, tensors())


def test_other_tensors_and_no_index(path: Path) -> None:
    with pytest.raises(DataError, match="tensor 'e' is missing"):
        load_tensors(path, {**tensors(), "e": torch.zeros(1)})
    (path.parent / INDEX).write_text('{"weight_map": []}')
    with pytest.raises(DataError, match="no weight_map"):
        load_tensors(path, tensors())
