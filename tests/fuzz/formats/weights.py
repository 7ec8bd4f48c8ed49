"""Weights, networks of ours, checkpoints, and the smaller files that tools write."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np

from fuzz.format import Format
from worldgauge.core.errors import DataError
from worldgauge.perception.colmap import read_images_txt, write_images_txt
from worldgauge.perception.decoders.recorded import read_poses
from worldgauge.suites.worldinworld.navigation import nearness
from worldgauge.suites.worldinworld.questions import panorama_reader
from worldgauge.suites.worldinworld.recognition import recogniser as recognition
from worldgauge.weights.reading import read_tensors

ARRAYS = {"a.weight": np.ones((3, 4), np.float32), "a.bias": np.zeros(3, np.float16), "steps": np.arange(2)}
POSES = np.tile(np.eye(4), (5, 1, 1))


def _make_npz(folder: Path) -> None:
    np.savez(folder / "a.npz", **ARRAYS)  # type: ignore[arg-type]


def _make_safetensors(folder: Path) -> None:
    table = {
        "a": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]},
        "b": {"dtype": "BF16", "shape": [2], "data_offsets": [48, 52]},
    }
    head = json.dumps(table).encode()
    (folder / "a.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + bytes(52))


def _read_weights(folder: Path) -> None:
    for tensor in read_tensors(next(folder.iterdir())).values():
        assert tensor.dtype == np.float32


NETWORKS: dict[str, Callable[[bytes, str], object]] = {
    "nearness.npz": nearness.read,
    "panorama_reader.npz": panorama_reader.read,
    "recogniser.npz": recognition.read,
}


def _network(name: str) -> Format:
    package = NETWORKS[name].__module__.rpartition(".")[0]

    def make(folder: Path) -> None:
        with files(package).joinpath(name).open("rb") as file, np.load(file) as held:
            np.savez(folder / name, **held)  # not packed, so that a case costs what reading costs

    return Format(
        name.removesuffix(".npz"), make, lambda folder: NETWORKS[name]((folder / name).read_bytes(), name), weight=0.3
    )


def _make_poses(folder: Path) -> None:
    np.savez(folder / "a.npz", poses=POSES, anchor=np.eye(4))
    (folder / "b.json").write_text(
        '{"format": "worldgauge-poses", "version": 1, "poses": '
        + str(POSES.tolist())
        + ', "frames": [0, 1, 2, 3, 4], "metric": true}'
    )
    (folder / "c.txt").write_text("".join(f"{0.1 * n} {n} 0 0 0 0 0 1\n" for n in range(5)))


def _read_poses(folder: Path) -> None:
    refused: Exception | None = None
    for path in sorted(folder.iterdir()):
        try:
            read_poses(path, fps=10.0)
        except DataError as error:
            refused = error
    if refused is not None:
        raise refused


FORMATS = (
    Format("npz", _make_npz, _read_weights),
    Format("safetensors", _make_safetensors, _read_weights),
    *map(_network, NETWORKS),
    Format("poses", _make_poses, _read_poses),
    Format(
        "images.txt",
        lambda folder: write_images_txt(folder / "images.txt", POSES),
        lambda folder: read_images_txt(folder / "images.txt"),
    ),
)
