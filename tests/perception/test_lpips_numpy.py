import json
import sys

import numpy as np
import pytest
from scipy.signal import correlate

from worldgauge.core.errors import DataError, MissingExtraError, ShapeError, WorldgaugeError
from worldgauge.perception import estimators
from worldgauge.perception.loading import Lpips

SHAPES = {"0": (8, 3, 11, 11), "3": (9, 8, 5, 5), "6": (7, 9, 3, 3), "8": (6, 7, 3, 3), "10": (5, 6, 3, 3)}
PLAN = [("0", 4, 2, False), ("3", 1, 2, True), ("6", 1, 1, True), ("8", 1, 1, False), ("10", 1, 1, False)]


@pytest.fixture
def tensors():
    """A small net of the right form; the real one is wider and takes the same way."""
    rng = np.random.default_rng(0)
    found = {}
    for i, (name, shape) in enumerate(SHAPES.items()):
        found[f"features.{name}.weight"] = rng.normal(0, 1 / np.sqrt(np.prod(shape[1:])), shape).astype(np.float32)
        found[f"features.{name}.bias"] = rng.normal(0, 0.1, shape[0]).astype(np.float32)
        found[f"lin{i}.model.1.weight"] = rng.random((1, shape[0], 1, 1)).astype(np.float32)
    return found


@pytest.fixture
def lpips(tensors, tmp_path):
    np.savez(tmp_path / "w.npz", **tensors)
    return Lpips(tmp_path / "w.npz")


def reference(a, b, tensors):
    """The same distance written out with scipy, channel by channel."""

    def features(image):
        x = image.transpose(2, 0, 1) / 255.0 * 2 - 1
        x = (x - np.array([-0.030, -0.088, -0.188])[:, None, None]) / np.array([0.458, 0.448, 0.450])[:, None, None]
        for name, stride, pad, pooled in PLAN:
            if pooled:
                h, w = ((n - 3) // 2 + 1 for n in x.shape[1:])
                x = np.array(
                    [[[c[2 * i : 2 * i + 3, 2 * j : 2 * j + 3].max() for j in range(w)] for i in range(h)] for c in x]
                )
            x = np.pad(x, ((0, 0), (pad, pad), (pad, pad)))
            kernels, biases = tensors[f"features.{name}.weight"], tensors[f"features.{name}.bias"]
            x = np.array(
                [correlate(x, k, "valid")[0, ::stride, ::stride] + c for k, c in zip(kernels, biases, strict=True)]
            )
            x = np.maximum(x, 0)
            yield x / (np.sqrt((x**2).sum(0)) + 1e-10)

    return sum(
        (tensors[f"lin{i}.model.1.weight"][0] * (f - g) ** 2).sum(0).mean()
        for i, (f, g) in enumerate(zip(features(a), features(b), strict=True))
    )


def test_it_equals_an_independent_implementation_and_orders_change(lpips, tensors):
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 256, (2, 70, 90, 3), dtype=np.uint8)
    assert lpips(a, b) == pytest.approx(reference(a, b, tensors), rel=1e-4)
    rng = np.random.default_rng(2)
    a = rng.integers(40, 200, (64, 64, 3), dtype=np.uint8)
    slightly, strongly = (np.clip(a + rng.normal(0, s, a.shape), 0, 255).astype(np.uint8) for s in (4, 60))
    assert (lpips(a, a), lpips(a, strongly)) == (0, pytest.approx(lpips(strongly, a)))
    assert 0 < lpips(a, slightly) < lpips(a, strongly)


def test_files_of_tensors_are_joined_and_checked(tensors, tmp_path, lpips):
    header, body = {"__metadata__": {"from": "a test"}}, b""
    for name, tensor in tensors.items():
        if name.startswith("features"):
            stop = len(body) + tensor.nbytes
            header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [len(body), stop]}
            body += tensor.tobytes()
    text = json.dumps(header).encode()
    (tmp_path / "alex.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + body)
    np.savez(tmp_path / "lin.npz", **{k: v for k, v in tensors.items() if k.startswith("lin")})
    a, b = np.random.default_rng(3).integers(0, 256, (2, 64, 64, 3), dtype=np.uint8)
    assert Lpips([tmp_path / "alex.safetensors", tmp_path / "lin.npz"])(a, b) == lpips(a, b)
    tensors["features.3.weight"] = tensors["features.3.weight"][:, :4]
    np.savez(tmp_path / "w.npz", **tensors)
    with pytest.raises(DataError, match=r"features\.3"):
        Lpips(tmp_path / "w.npz")


def test_says_what_is_missing(tmp_path, tensors, lpips, monkeypatch):
    with pytest.raises(WorldgaugeError, match="weights="):
        estimators.get("lpips")()
    with pytest.raises(DataError, match="no such"):
        Lpips(tmp_path / "absent.npz")
    (tmp_path / "broken.npz").write_bytes(b"not an archive")
    with pytest.raises(DataError, match=r"broken\.npz"):
        Lpips(tmp_path / "broken.npz")
    (tmp_path / "broken.safetensors").write_bytes(b"\x04" + b"\0" * 7 + b"oops")
    with pytest.raises(DataError, match=r"broken\.safetensors"):
        Lpips(tmp_path / "broken.safetensors")
    del tensors["lin3.model.1.weight"]
    np.savez(tmp_path / "part.npz", **tensors)
    with pytest.raises(DataError, match=r"lin3"):
        Lpips(tmp_path / "part.npz")
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "w.pth").write_bytes(b"")
    with pytest.raises(MissingExtraError, match="torch"):
        Lpips(tmp_path / "w.pth")
    with pytest.raises(ShapeError, match="equal size"):
        lpips(np.zeros((64, 64, 3), np.uint8), np.zeros((64, 70, 3), np.uint8))
