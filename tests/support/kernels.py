"""Compiled kernels of one checkout for the next: numba stores them beside the sources, by content of each source."""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numba

from support.made_once import CACHE
from support.places import ROOT

STORE = CACHE / "kernels"


def take(package: Path = ROOT / "src", store: Path = STORE) -> None:
    """Copy kernels that this checkout lacks, or has of an earlier source only."""
    for source, stored in sources(package, store):
        place = source.parent / "__pycache__"
        for index in stored.glob("*.nbi"):
            if not _is_current(place / index.name, source):
                _copy(index, place)


def give(package: Path = ROOT / "src", store: Path = STORE) -> None:
    """Store kernels that this checkout has and the store lacks, or has for fewer types."""
    for source, stored in sources(package, store):
        for index in (source.parent / "__pycache__").glob(f"{source.stem}.*.nbi"):
            if _is_current(index, source) and len(_compiled(index)) > len(_compiled(stored / index.name)):
                _copy(index, stored)


def sources(package: Path, store: Path) -> Iterator[tuple[Path, Path]]:
    """Sources of kernels, and where those of this content are stored."""
    texts = {path: text for path in sorted(package.rglob("*.py")) if "njit" in (text := path.read_text("utf-8"))}
    module_of = {".".join(path.relative_to(package).with_suffix("").parts): path for path in texts}

    # A compiled kernel holds those that it calls, and numba looks at its own file only.
    def called_by(path: Path, seen: frozenset[Path]) -> frozenset[Path]:
        found = {module_of[name] for name in re.findall(r"from ([\w.]+) import", texts[path]) if name in module_of}
        for other in found - seen:
            seen |= called_by(other, seen | {other})
        return seen

    for path in texts:
        digest = hashlib.sha256(f"{numba.__version__} {path.relative_to(package)}".encode())
        for part in sorted(called_by(path, frozenset({path}))):
            digest.update(texts[part].encode())
        yield path, store / digest.hexdigest()[:16]


def _is_current(index: Path, source: Path) -> bool:
    return index.exists() and index.stat().st_mtime >= source.stat().st_mtime


def _compiled(index: Path) -> list[Path]:
    return [*index.parent.glob(f"{index.stem}.*.nbc")]


def _copy(index: Path, place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    for path in (*_compiled(index), index):  # the index last: what it names is there
        part = place / f"{path.name}.{os.getpid()}"
        shutil.copyfile(path, part)
        part.replace(place / path.name)
