"""torch's own files: tensors are taken, everything else is refused, and nothing of it is ever run."""

import io
import os
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")

from worldgauge.core.errors import DataError  # noqa: E402
from worldgauge.weights import read_tensors  # noqa: E402


class Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("zipped", [True, False])
def test_state_dicts_are_read(tmp_path: Path, zipped: bool) -> None:
    state = OrderedDict(
        a=torch.arange(6.0).reshape(2, 3).t(),
        half=torch.tensor([0.5], dtype=torch.float16),
        brain=torch.tensor([1.5], dtype=torch.bfloat16),
        tied=torch.nn.Parameter(torch.ones(3)),
        count=torch.tensor(3),
    )
    for what in (state, {"params": state}, {"state_dict": state}):
        torch.save(what, tmp_path / "a.pth", _use_new_zipfile_serialization=zipped)
        found = read_tensors(tmp_path / "a.pth")
        assert set(found) == {"a", "half", "brain", "tied"}
        assert (found["a"].tolist(), found["brain"].tolist()) == ([[0, 3], [1, 4], [2, 5]], [1.5])
        assert all(array.dtype == np.float32 for array in found.values())


@pytest.mark.parametrize("zipped", [True, False])
def test_a_pickle_that_runs_code_is_refused(tmp_path: Path, zipped: bool) -> None:
    state = {"a": torch.ones(2), "b": Evil(tmp_path / "harm")}
    torch.save(state, tmp_path / "a.pth", _use_new_zipfile_serialization=zipped)
    with pytest.raises(
        DataError, match=r"a\.pth: holds more than tensors, or none, and is not read \(it asks for posix\.system\)"
    ):
        read_tensors(tmp_path / "a.pth")
    assert not (tmp_path / "harm").exists()


def test_pickles_and_views_of_nothing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.pt").write_bytes(pickle.dumps(Evil(tmp_path / "harm")))
    with pytest.raises(DataError, match="is not read"):
        read_tensors(tmp_path / "a.pt")
    assert not (tmp_path / "harm").exists()
    torch.save({"a": torch.zeros(1).expand(10**12)}, tmp_path / "a.pth")
    assert (tmp_path / "a.pth").stat().st_size < 5000
    with pytest.raises(DataError, match="says it holds 4000000000000 bytes of tensors"):
        read_tensors(tmp_path / "a.pth")


def test_what_is_no_tensor_is_named(tmp_path: Path) -> None:
    cases: list[tuple[Any, str]] = [
        ({"a": torch.ones(1), "epoch": 3}, "holds more than tensors: 'epoch' is a int"),
        ({3: torch.ones(1)}, "'3' is a Tensor"),
        (torch.ones(1), "holds a Tensor, not tensors by name"),
        ({"params": {"a": torch.ones(1)}, "params_ema": {}}, "'params' is a dict"),
        ({"a": torch.eye(3).to_sparse()}, "holds tensors that are no plain arrays"),
        ({"a": torch.empty(2, device="meta")}, "holds tensors that are no plain arrays"),
    ]
    for what, why in cases:
        torch.save(what, tmp_path / "a.pth")
        with pytest.raises(DataError, match=why):
            read_tensors(tmp_path / "a.pth")


def test_archives_that_are_packed_programs_or_noise_are_refused(tmp_path: Path) -> None:
    torch.save({"a": torch.zeros(3_000_000)}, tmp_path / "a.pth")
    with zipfile.ZipFile(tmp_path / "a.pth") as whole, zipfile.ZipFile(tmp_path / "b.pth", "w", 8) as packed:
        for one in whole.infolist():
            packed.writestr(one.filename, whole.read(one))
    assert (tmp_path / "b.pth").stat().st_size < 50_000
    with pytest.raises(DataError, match="is packed, which torch's own files never are"):
        read_tensors(tmp_path / "b.pth")

    @torch.jit.script
    def twice(x):
        return x * 2

    twice.save(str(tmp_path / "a.pt"))
    with pytest.raises(DataError, match=r"is a program \(TorchScript\), not tensors, and is not read"):
        read_tensors(tmp_path / "a.pt")
    stream = io.BytesIO()
    torch.save({"a": torch.ones(100)}, stream)
    whole = stream.getvalue()
    for bad in (b"", b"\0" * 100, b"PK\3\4", whole[: len(whole) // 2], whole[:300] + b"?" * 300 + whole[600:]):
        (tmp_path / "a.pth").write_bytes(bad)
        with pytest.raises(DataError):
            read_tensors(tmp_path / "a.pth")
