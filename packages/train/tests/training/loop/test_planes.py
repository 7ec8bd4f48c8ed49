"""Planes of a codec are made once for each clip, as it is and in the mirror, and are known by the codec."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402

from worldgauge.core.errors import DataError  # noqa: E402
from worldgauge_train.nets.codecs import Codec, Pixels  # noqa: E402
from worldgauge_train.nets.memory import memories  # noqa: E402
from worldgauge_train.training.cache import CachedClip, Windows, as_pixels  # noqa: E402
from worldgauge_train.training.device import same_bytes  # noqa: E402
from worldgauge_train.training.latents import Planes, digest_of_codec, look_through, pixels_of  # noqa: E402


class Lopsided(Codec):
    """Two planes of half the size, of which the mirror makes others; it counts what it encodes."""

    planes, shrink = 2, 2

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.layer, self.seen = torch.nn.Conv2d(3, 2, 2, 2), 0

    def encode(self, frames: Tensor) -> Tensor:
        self.seen += len(frames)
        made: Tensor = self.layer(frames)
        return made


def clips(count: int = 2) -> list[CachedClip]:
    rng = np.random.default_rng(3)
    made = []
    for number in range(count):
        frames = rng.integers(0, 256, (30, 8, 16, 3), np.uint8)
        path = np.cumsum(rng.normal(0, 0.3, (30, 5)), 0)
        made.append(
            CachedClip(f"made-up/{number}", "made-up", f"{number}", frames, rng.random((30, 4), np.float32), path)
        )
    return made


def test_windows_of_planes_are_windows_that_are_encoded_afterwards(tmp_path: Path) -> None:
    known, codec, mirror = clips(), Lopsided(), np.eye(4, dtype=np.float32)[::-1].copy()
    memory = memories.get("fetched")(2)
    look = look_through(codec, known, tmp_path, "cpu")
    batch = Windows(known, 4, 8, mirror, 7, 2, memory, look).batch(0, 40)
    plain = Windows(known, 4, 8, mirror, 7, 2, memory).batch(0, 40)
    assert (batch.frames.dtype, batch.frames.shape) == (np.float16, (40, 8, 2, 4, 8))
    for planes, pixels in ((batch.frames, plain.frames), (batch.fetched, plain.fetched)):
        seen = pixels_of(pixels, "cpu")
        with torch.no_grad():
            afterwards = codec.encode(seen.flatten(0, -4)).unflatten(0, seen.shape[:-3])
        np.testing.assert_allclose(planes, afterwards.numpy(), atol=2e-3)
    np.testing.assert_array_equal(batch.rows, plain.rows)
    np.testing.assert_array_equal(batch.relative, plain.relative)


def test_a_clip_is_encoded_once_also_by_the_next_training(tmp_path: Path) -> None:
    known, codec = clips(), Lopsided()
    look = look_through(codec, known, tmp_path, "cpu")
    first = np.array(look(known[0], False))
    look(known[0], False)
    look(known[0], True)
    assert codec.seen == 60
    assert len(list(tmp_path.rglob("*.npy"))) == 2
    again = look_through(codec, known, tmp_path, "cpu")
    np.testing.assert_array_equal(again(known[0], False), first)
    assert codec.seen == 60
    other = Lopsided()
    with torch.no_grad():
        other.layer.bias.add_(1)
    assert digest_of_codec(other) != digest_of_codec(codec)
    assert not np.array_equal(look_through(other, known, tmp_path, "cpu")(known[0], False), first)


def test_planes_of_what_is_drawn_while_training_lie_in_memory_as_long_as_the_clip(tmp_path: Path) -> None:
    known, codec = clips(), Lopsided()
    look = Planes(codec, [], tmp_path, "cpu")
    look(known[0], False)
    look.keep(known)
    look(known[0], False)
    assert codec.seen == 30
    look.keep(known[1:])
    look(known[0], False)
    assert codec.seen == 60
    assert not list(tmp_path.rglob("*.npy"))
    assert look_through(Pixels(), known, tmp_path, "cpu") is as_pixels


def test_damaged_planes_are_told(tmp_path: Path) -> None:
    known, codec = clips(1), Lopsided()
    look_through(codec, known, tmp_path, "cpu")(known[0], False)
    (path,) = tmp_path.rglob("*.npy")
    whole = path.read_bytes()
    for damage in (whole[:60], whole[:-8], b""):
        path.write_bytes(damage)
        with pytest.raises(DataError, match="made again"):
            look_through(codec, known, tmp_path, "cpu")(known[0], False)
    np.save(path, np.zeros((3, 2, 4, 8), np.float16))
    with pytest.raises(DataError, match="made again"):
        look_through(codec, known, tmp_path, "cpu")(known[0], False)


def test_planes_of_other_makers_are_not_taken(tmp_path: Path) -> None:
    codec, found = Lopsided(), {}
    for device in ("cpu", "cuda", "cuda:1"):
        for asked in (False, True):
            with same_bytes(asked):
                look = look_through(codec, [], tmp_path, device)
            assert isinstance(look, Planes)
            assert look._folder is not None
            found[device, asked] = look._folder.name.partition("-")[2].partition("-")[2]
    assert found["cpu", False] == found["cpu", True] == "cpu"  # one core computes in one order
    assert found["cuda", False] == found["cuda:1", False] == "cuda"
    assert found["cuda", True] == found["cuda:1", True] == "cuda-deterministic"


def test_few_files_are_mapped_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worldgauge_train.training.latents.MOST_MAPPED", 3)
    known, codec = clips(4), Lopsided()
    look = Planes(codec, {one.id for one in known}, tmp_path, "cpu")
    first = [np.array(look(one, turned)) for one in known for turned in (False, True)]
    assert len(look._mapped) == 3
    for old, (one, turned) in zip(first, [(one, turned) for one in known for turned in (False, True)], strict=True):
        np.testing.assert_array_equal(look(one, turned), old)
    assert codec.seen == 8 * 30  # read again, not made again
