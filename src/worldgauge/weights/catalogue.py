"""Every set of weights that the networks can load: its owner, its licence, and the bytes it must have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class WeightFile:
    """One file of a set.
    `sha256` has 64 digits, or the first ones when only they are published. If it is empty, the first download is
    recorded, and later copies must be equal to it."""

    name: str
    url: str
    bytes: int | None = None
    sha256: str = ""

    @property
    def published(self) -> bool:
        """Whether the whole digest is known before the download."""
        return len(self.sha256) == 64


@dataclass(frozen=True)
class WeightSet:
    """The files that one network loads."""

    name: str
    title: str
    source: str
    licence: str  # short name, as the owner writes it
    serves: tuple[str, ...]
    files: tuple[WeightFile, ...]
    gated: bool = False  # the owner requires an account that has accepted the licence
    runs_code: bool = False  # a file is a program (TorchScript), run only when its digest is known
    pip: str = ""  # the package that holds the files, as pip takes it; such files have no address

    @property
    def bytes(self) -> int | None:
        """Size of all files; None when one of them is not known in advance."""
        sizes = [file.bytes for file in self.files]
        return None if None in sizes else sum(size for size in sizes if size is not None)


def _read(name: str, fields: dict[str, Any]) -> WeightSet:
    held = tuple(WeightFile(**file) for file in fields.pop("files"))
    return WeightSet(name, serves=tuple(fields.pop("serves")), files=held, **fields)


catalogue: Mapping[str, WeightSet] = {
    name: _read(name, fields)
    for name, fields in json.loads((files(__package__) / "catalogue.json").read_text("utf-8")).items()
}
"""Every set by its name.

No digest is from memory: LPIPS's heads were hashed as they are in the wheels of lpips 0.1.4 and torchmetrics 1.9.0 on
PyPI, which are equal. The others are printed, all 64 digits, by several public projects that check what they download
from these addresses; digits that end a file's name are the first of them. Files on the Hugging Face hub have the
address of one revision, so that none can change. Only what is read is fetched: config.json, model.safetensors, and
tokenizer.json if text is encoded. If no digest or size is certain, the first copy that is downloaded is recorded.
Files that come by pip were hashed in the wheel.
"""
