"""Scans as the kernels want them, made once and kept on disk: opened without reading, shared by all workers."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from worldgauge.core.errors import DataError, UsageError, WorldError
from worldgauge.core.io import atomic_folder, digest_of, digest_of_file, dumps, read_json_object, write_file
from worldgauge.worlds.scan.clusters import ScanScene, scene_of
from worldgauge.worlds.scan.mesh import ScanMesh, Up, cap_px
from worldgauge.worlds.scan.readers import files_beside, read_mesh

VERSION = 2
"""Of the readers and kernels; another one prepares again, and another digest follows."""
_SETTLED_NS = 2_000_000_000
"""A file that changed later than this ago may change again within the same tick of the clock."""


@dataclass(frozen=True)
class ScanOptions:
    """How a file is read."""

    up: Up = "y"
    scale: float = 1.0  # metres per unit
    two_sided: bool = False  # all triangles are seen from behind

    def __post_init__(self) -> None:
        if not 1e-6 <= self.scale <= 1e6:
            raise UsageError(f"scale is {self.scale}; give metres a unit, such as 0.001 for millimetres")


@dataclass(frozen=True)
class Prepared:
    """A scan that can be rendered."""

    scene: ScanScene
    digest: str
    categories: tuple[str, ...]  # the first is "void"
    notes: tuple[str, ...]
    lost: int
    unread: float  # share of its area whose texture could not be read


def prepare(path: Path, reading: ScanOptions) -> Prepared:
    """Read a scan, or what an earlier call kept of it in the user's cache (WORLDGAUGE_CACHE; "off" for none)."""
    digest = digest_of_scan(path, reading)
    root = cache_folder()
    if root is None:
        return _made(path, reading, digest)
    folder = root / digest
    with _locked(root, digest):
        if not (folder / "facts.json").is_file():
            made = _made(path, reading, digest)
            with atomic_folder(folder) as part:
                for name, values in made.scene._asdict().items():
                    np.save(part / f"{name}.npy", values, allow_pickle=False)
                facts = {name: getattr(made, name) for name in ("categories", "notes", "lost", "unread")}
                write_file(part / "facts.json", dumps(facts))
            folder.chmod(0o700)
    return _opened(folder, digest)


def digest_of_scan(path: Path, reading: ScanOptions, version: int = VERSION) -> str:
    """SHA-256 of a scan, of the files that it names or that name its things, and of how it is read."""
    held, beside = digest_of_kept(path), [digest_of_kept(one) for one in files_beside(path)]
    content = [held, *beside] if beside else held
    return digest_of(dumps([version, content, reading.up, reading.scale, reading.two_sided, cap_px()]))


def digest_of_kept(path: Path) -> str:
    """SHA-256 of a file, remembered while its size, times of change and inode are the same."""
    try:
        state = path.stat()
        return _digest(path, state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


@lru_cache(maxsize=4096)
def _digest(path: Path, size: int, written: int, changed: int, inode: int) -> str:
    """Kept in the cache too, since workers ask for the same files."""
    root = cache_folder()
    kept = (
        None if root is None else root / ".digests" / digest_of(f"{path.resolve()} {size} {written} {changed} {inode}")
    )
    if kept is not None and kept.is_file() and len(text := kept.read_text(encoding="ascii")) == 64:
        return text
    found = digest_of_file(path)
    if kept is not None and time.time_ns() - changed > _SETTLED_NS:
        with suppress(OSError, DataError):  # what cannot be kept is found again
            kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_file(kept, found)
    return found


def forget(digest: str | None = None) -> int:
    """Delete what is kept of one scan, or of all; returns the number of bytes."""
    import shutil

    root, freed = cache_folder(), 0
    for folder in sorted(root.glob("*")) if root is not None and root.is_dir() else []:
        if folder.is_dir() and (digest is None or folder.name == digest):
            freed += sum(file.stat().st_size for file in folder.iterdir())
            shutil.rmtree(folder)
    return freed


def _made(path: Path, reading: ScanOptions, digest: str) -> Prepared:
    mesh = read_mesh(path, up=reading.up)
    if reading.scale != 1.0:
        mesh = replace(mesh, vertices=mesh.vertices * reading.scale)
    try:
        scene, lost = scene_of(mesh, two_sided=reading.two_sided)
    except WorldError as error:
        raise WorldError(f"{path}: {error}") from error
    notes = list(mesh.notes)
    if lost:
        notes.append(f"{lost} damaged triangles are left out: not finite, or of corners that are not there")
    return Prepared(scene, digest, mesh.categories, tuple(notes), lost, _unread(mesh, scene))


def _unread(mesh: ScanMesh, scene: ScanScene) -> float:
    """Share of the area whose texture stands in for one that could not be read."""
    if not any(mesh.missing):
        return 0.0
    bad = np.array([one.page >= 0 and mesh.missing[one.page] for one in mesh.materials])
    corners = scene.corners.astype(np.float64).reshape(-1, 3, 3)
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.sqrt((cross * cross).sum(1))
    return float(area[bad[scene.material]].sum() / area.sum())


def _opened(folder: Path, digest: str) -> Prepared:
    try:
        facts = read_json_object(folder / "facts.json")
        arrays = [np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in ScanScene._fields]
        # Plain arrays over the mapped pages: the kernels are compiled for these.
        scene = ScanScene(*(one.view(np.ndarray) for one in arrays))
        names = tuple(str(one) for one in facts["categories"]), tuple(str(one) for one in facts["notes"])
        return Prepared(scene, digest, *names, int(facts["lost"]), float(facts["unread"]))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder}: the kept scan is damaged ({error}): worldgauge world remove --cache") from error


def cache_folder() -> Path | None:
    """Where prepared scans are kept; None for nowhere."""
    from platformdirs import user_cache_dir

    given = os.environ.get("WORLDGAUGE_CACHE", "")
    return None if given.lower() == "off" else Path(given or user_cache_dir("worldgauge")) / "scans"


@contextmanager
def _locked(root: Path, digest: str) -> Iterator[None]:
    """One process at a time prepares a scan; the others wait for it."""
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(root / f".{digest}.lock", "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise DataError(f"{root}: cannot be written ({error.strerror or error})") from error
