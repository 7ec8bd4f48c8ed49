"""Where weights lie on this machine, and whether they are what they should be."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from worldgauge.errors import UnknownNameError, WorldgaugeError
from worldgauge.weights.catalogue import WeightSet, catalogue

FOLDER_VARIABLE = "WORLDGAUGE_WEIGHTS"


class AbsentWeightsError(WorldgaugeError):
    """Weights that are not on this machine; says which command brings them."""


@dataclass(frozen=True)
class Opened:
    """A set that is here. digest: SHA-256, hexadecimal, of all its files."""

    set: WeightSet
    folder: Path
    digest: str


def opened(name: str) -> Opened:
    """The set `name`, all files there. Raises UnknownNameError, AbsentWeightsError, DataError for a wrong file."""
    if name not in catalogue:
        raise UnknownNameError("set of weights", name, catalogue)
    known = catalogue[name]
    folder = store_folder() / name
    missing = [file.name for file in known.files if not (folder / file.name).is_file()]
    if missing:
        raise AbsentWeightsError(f"weights '{name}' are not here: worldgauge weights pull {name}")
    return Opened(known, folder, digest_of(folder, [file.name for file in known.files]))


def store_folder() -> Path:
    """The folder of all sets; the environment variable WORLDGAUGE_WEIGHTS names another."""
    from platformdirs import user_data_dir

    return Path(os.environ.get(FOLDER_VARIABLE) or Path(user_data_dir("worldgauge")) / "weights")


def digest_of(folder: Path, names: Iterable[str]) -> str:
    """SHA-256, hexadecimal, of the files `names` in `folder`, in the order of their names."""
    total = hashlib.sha256()
    for name in sorted(names):
        with (folder / name).open("rb") as file:
            total.update(f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()
