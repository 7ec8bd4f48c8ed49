"""Where scans are: folders that the user has registered, and the files of each scene in them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import get_args

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, UnknownNameError, UsageError, WorldError, did_you_mean
from worldgauge.core.io import check_name, digest_of, dumps, read_json_object, write_file
from worldgauge.worlds.scan.mesh import Up
from worldgauge.worlds.scan.readers import ENDINGS, SCENE_ENDING, is_capture

KINDS = ("hm3d", "mp3d", "gibson", "replica", "replicacad", "scannetpp", "files")
"""Layouts of folders; "files" is any folder of GLB, glTF and PLY files, and of rooms that a headset captured."""
EXAMPLE = "example"
"""Name of the source that is a part of the package."""
_ALIGNED = "mesh_aligned_0.05.ply"
_ID = r"[A-Za-z0-9]{11}"
_MOST_SCENES = 20_000
_DEEPEST = 4
_TERMS = {
    "hm3d": "the Matterport terms of use for academic research: https://matterport.com/matterport-end-user-license-agreement-academic-use-model-data",
    "mp3d": "the Matterport3D terms of use: https://kaldir.vc.in.tum.de/matterport/MP_TOS.pdf",
    "gibson": "the Gibson terms of use: https://storage.googleapis.com/gibson_material/Agreement%20GDS%2006-04-18.pdf",
    "replica": "the Replica licence: https://github.com/facebookresearch/Replica-Dataset/blob/main/LICENSE",
    "replicacad": "CC BY 4.0: https://aihabitat.org/datasets/replica_cad/",
    "scannetpp": "the ScanNet++ terms of use: https://kaldir.vc.in.tum.de/scannetpp/documentation",
}


@dataclass(frozen=True)
class ScanFolder:
    """A registered folder."""

    name: str
    folder: Path
    kind: str
    up: Up

    @property
    def terms(self) -> str | None:
        """Under whose terms its scans are used; None where the user knows."""
        return _TERMS.get(self.kind)


@dataclass(frozen=True)
class SceneFiles:
    """The files of one scene."""

    key: str  # such as "hm3d/00800-TEEsavR23oF"
    geometry: Path
    up: Up
    navmesh: Path | None = None
    names: tuple[Path, Path] | None = None  # the mesh of its things and the table of their names
    is_published: bool = False  # from a dataset that publishes names of things beside its scans


def sources() -> dict[str, ScanFolder]:
    """Registered folders by name: those of `worldgauge world add`, then those of WORLDGAUGE_SCENES (NAME=DIR:...)."""
    found = {EXAMPLE: ScanFolder(EXAMPLE, Path(__file__).parent / "examples", "files", "y")}
    found |= _listed()
    for entry in os.environ.get("WORLDGAUGE_SCENES", "").split(os.pathsep):
        if not entry:
            continue
        name, _, folder = entry.partition("=")
        if not folder:
            raise UsageError(
                f"WORLDGAUGE_SCENES holds '{entry[:40]}'; give NAME=DIR, several with '{os.pathsep}' between"
            )
        found[name] = _source(name, Path(folder), None, None)
    return found


def add(name: str, folder: Path, *, kind: str | None = None, up: Up | None = None) -> ScanFolder:
    """Register a folder of scans, in the place of an older one of this name.
    By default `kind` is what its layout looks like, and `up` is z for published datasets and y for others."""
    if name == EXAMPLE:
        raise UsageError(f"'{EXAMPLE}' is the name of the package's own scans; take another")
    source = _source(name, folder, kind, up)
    if next(iter(scenes_of(source)), None) is None:
        raise UsageError(
            f"{folder}: no scan was found in it: GLB, glTF, PLY or captured JSON files in the layout '{source.kind}'"
        )
    _write({**_listed(), name: source})
    return source


def remove(name: str) -> None:
    """Forget a registered folder; its files stay."""
    listed = _listed()
    if name not in listed:
        raise UnknownNameError("folder of scans", name, listed)
    del listed[name]
    _write(listed)


def scenes_of(source: ScanFolder) -> Iterator[SceneFiles]:
    """Scenes of a folder, sorted by key."""
    found = {scene.key: scene for scene in _found(source)}
    for key in sorted(found):
        yield found[key]


def scene(key: str) -> SceneFiles:
    """Files of the scene with a key."""
    name = key.partition("/")[0]
    source = sources().get(name)
    if source is None:
        raise WorldError(
            f"scene '{key[:80]}': no folder '{name[:40]}' is registered: worldgauge world add {name[:40]} DIR"
        )
    held = {one.key: one for one in scenes_of(source)}
    if key not in held:
        near = did_you_mean(key, tuple(held))
        raise WorldError(f"scene '{key[:80]}' is not in {source.folder}. {near}See: worldgauge list scans")
    return held[key]


def digest_of_scene(files: SceneFiles, version: int | None = None) -> str:
    """SHA-256 of all files of a scene and of how (readers' `version`) they are read; the scan need not be opened."""
    from worldgauge.worlds.scan.prepared import VERSION, ScanOptions, digest_of_kept, digest_of_scan

    geometry = digest_of_scan(files.geometry, ScanOptions(files.up), VERSION if version is None else version)
    beside = [one for one in (files.navmesh, *(files.names or ())) if one is not None]
    return digest_of(dumps([geometry, *map(digest_of_kept, beside)])) if beside else geometry


def published(id: str) -> SceneFiles | None:
    """The scene of HM3D or Matterport3D with an id of eleven characters, in any registered folder; None for none."""
    data_sets = [source for source in sources().values() if source.kind in ("hm3d", "mp3d")]
    return next((table[id] for table in map(_published, data_sets) if id in table), None)


def chosen(text: str) -> tuple[str, ...]:
    """Keys that a list of scenes names, in its order, each once."""
    known = sources()
    keys: dict[str, None] = {}
    for name in (one.strip() for one in text.split(",") if one.strip()):
        if "/" in name:
            keys[scene(name).key] = None
        elif name in known:
            keys |= dict.fromkeys(one.key for one in scenes_of(known[name]))
        else:
            raise UnknownNameError("folder of scans", name, known)
    if not keys:
        raise UsageError(f"no scenes are named in '{text[:40]}'; give folders or keys: worldgauge list scans")
    return tuple(keys)


def _source(name: str, folder: Path, kind: str | None, up: Up | None) -> ScanFolder:
    check_name(name, "name of a folder of scans")
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder")
    if kind is not None and kind not in KINDS:
        raise UnknownNameError("layout of scans", kind, KINDS)
    if up is not None and up not in get_args(Up):
        raise UsageError(f"up is '{up}'; give y or z")
    kind = kind or _kind_of(folder)
    return ScanFolder(name, folder.resolve(), kind, up or ("y" if kind in ("files", "replicacad") else "z"))


def _kind_of(folder: Path) -> str:
    """What a layout looks like."""
    for path, _ in _walked(folder):
        stem = path.name.split(".")[0]
        own = re.fullmatch(rf"(\d{{5}}-)?{re.escape(stem)}", path.parent.name) if re.fullmatch(_ID, stem) else None
        if path.name.endswith((".basis.glb", ".semantic.txt")) or (own and own[1] and path.suffix == ".glb"):
            return "hm3d"
        if path.suffix == ".house" or (own and path.suffix == ".glb"):
            return "mp3d"
        if path.name == "mesh_semantic.ply" and path.parent.name == "habitat":
            return "replica"
        if path.name.endswith(SCENE_ENDING):
            return "replicacad"
        if path.name == _ALIGNED:
            return "scannetpp"
    for path, _ in _walked(folder):
        if path.suffix == ".glb" and path.with_suffix(".navmesh").is_file():
            return "gibson"
    return "files"


def _found(source: ScanFolder) -> Iterator[SceneFiles]:
    beside = {"hm3d": ("{}.semantic.glb", "{}.semantic.txt"), "mp3d": ("{}_semantic.ply", "{}.house")}.get(
        source.kind, ()
    )
    for path, parts in _walked(source.folder):
        own: tuple[str, ...] = ()
        stem, navmesh = path.name.split(".")[0], path.with_suffix(".navmesh")
        is_named = ".semantic." in path.name or path.stem.endswith("_semantic")
        match source.kind:
            case "replica":
                if path.name == "mesh_semantic.ply" and path.parent.name == "habitat":
                    own = parts[:-2] or ("room",)
            case "replicacad":
                if path.name.endswith(SCENE_ENDING):
                    own = (path.name.removesuffix(SCENE_ENDING),)
                    navmesh = source.folder / "navmeshes" / f"{own[0]}.navmesh"
            case "scannetpp":
                if path.name == _ALIGNED:
                    own = tuple(part for part in parts[:-1] if part not in ("data", "scans")) or ("scan",)
            case "hm3d" | "mp3d":
                # One folder a scene. Of an uncompressed copy beside, the compressed one is what was published.
                is_copy = path.name == f"{stem}.glb" and path.with_name(f"{stem}.basis.glb").is_file()
                if path.suffix == ".glb" and len(parts) > 1 and not is_named and not is_copy:
                    own = (parts[-2],)
            case _:
                if (path.suffix in ENDINGS or is_capture(path)) and not is_named:
                    own = (*parts[:-1], path.stem)
        if own:
            names = tuple(path.with_name(name.format(stem)) for name in beside)
            yield SceneFiles(
                "/".join((source.name, *own)),
                path,
                source.up,
                navmesh if navmesh.is_file() else None,
                (names[0], names[1]) if names and all(one.is_file() for one in names) else None,
                bool(names),
            )


@lru_cache(maxsize=8)
def _published(source: ScanFolder) -> dict[str, SceneFiles]:
    """Scenes of a folder by id; a folder that gets scenes while a program runs is looked at once."""
    return {scene.key.rpartition("/")[2].rpartition("-")[2]: scene for scene in scenes_of(source)}


def _walked(folder: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Files below a folder, four levels deep, without hidden ones; each with its path within."""
    count = 0
    for place, folders, files in os.walk(folder):
        within = Path(place).relative_to(folder).parts
        folders[:] = sorted(one for one in folders if one[0] != "." and len(within) < _DEEPEST)
        for file in sorted(files):
            if file[0] == ".":
                continue
            count += 1
            if count > 20 * _MOST_SCENES:
                raise DataError(
                    f"{folder}: more than {20 * _MOST_SCENES} files; register the folder of the scans itself"
                )
            yield Path(place) / file, (*within, file)


def _place() -> Path:
    from platformdirs import user_config_dir

    return Path(os.environ.get("WORLDGAUGE_CONFIG") or user_config_dir("worldgauge")) / "scenes.json"


def _listed() -> dict[str, ScanFolder]:
    path = _place()
    if not path.is_file():
        return {}
    found = {}
    for name, held in read_json_object(path).items():
        known = isinstance(held, dict) and all(isinstance(held.get(key), str) for key in ("folder", "kind", "up"))
        if not known or held["kind"] not in KINDS or held["up"] not in get_args(Up):
            raise DataError(f"{path}: '{name[:40]}' is damaged; register it again: worldgauge world add NAME DIR")
        found[name] = ScanFolder(name, Path(held["folder"]), held["kind"], held["up"])
    return found


def _write(listed: dict[str, ScanFolder]) -> None:
    rows = {one.name: {"folder": str(one.folder), "kind": one.kind, "up": one.up} for one in listed.values()}
    write_file(_place(), dumps(rows, 2) + "\n")


SCENES_HELP = "With --world scan: scan folders or keys, separated by commas."
WORLD_HELP = 'Collect in your own scans with "scan", which --scenes names.'
MOST_SCENES = 1000
_HM3D = re.compile(r"(\d{5})-[A-Za-z0-9]{11}")
_MP3D_SPLIT: dict[str, str] = {
    id: split
    for split, ids in json.loads(Path(__file__).with_name("mp3d_splits.json").read_text("utf-8")).items()
    for id in ids.split()
}
"""The split that Matterport3D's benchmark publishes, 61 / 11 / 18 scenes."""


def split_of(key: str) -> str:
    """What a scene is for: train, val or test.
    Published for HM3D (by number: 800, 100, 100) and Matterport3D (by list); others by a hash of the key, 80, 10, 10
    %."""
    name = key.rpartition("/")[2]
    published = _HM3D.fullmatch(name)
    if published:
        number = int(published[1])
        return "train" if number < 800 else "val" if number < 900 else "test"
    if name in _MP3D_SPLIT:
        return _MP3D_SPLIT[name]
    place = int(sha256(key.encode()).hexdigest()[:8], 16) % 100
    return "train" if place < 80 else "val" if place < 90 else "test"


def scan_scenes(world: str | None, scenes: object, split: str) -> tuple[str, ...]:
    """Keys of the scans of a collection: those that are named, and those of folders that are in the split."""
    if (world == "scan") != isinstance(scenes, str):
        raise UsageError("--world scan and --scenes with folders or keys go together: worldgauge list scans")
    if not isinstance(scenes, str):
        return ()
    named = {one.strip() for one in scenes.split(",")}
    found = chosen(scenes)
    kept = tuple(key for key in found if key in named or split_of(key) == split)
    if not kept:
        told = ", ".join(f"{key} {split_of(key)}" for key in found[:4])
        raise UsageError(
            f"no scene of '{scenes[:40]}' is in split {split} ({told}): name keys, or give another --split"
        )
    if len(kept) > MOST_SCENES:
        raise UsageError(f"--scenes names {len(kept)} scans; a collection holds up to {MOST_SCENES}")
    return kept


def scan_facts(key: str) -> WorldFacts:
    """The world of a scene, without opening it."""
    return WorldFacts("scan", {"scene": key})


def told_of(keys: tuple[str, ...], *, ground: bool = False) -> dict[str, str]:
    """What the settings of a collection say of its scans: floor and licence, if any is known.
    The floor is "navmesh" if all have a published one and `ground` requests it. Distances on a "heightfield" are not
    comparable with published ones."""
    known = sources()
    published = ground and all(scene(key).navmesh is not None for key in keys)
    held = (known[name].terms for name in dict.fromkeys(key.partition("/")[0] for key in keys) if name in known)
    terms = "; ".join(dict.fromkeys(one for one in held if one))
    return {"floor": "navmesh" if published else "heightfield", **({"licence": terms} if terms else {})}
