"""Finding and reading episodes: folders as we write them, as they are published, or one published file on its own.

Files are recognised by their content, so their names do not matter. A file that cannot be read is an error; a row
that cannot be read is a fault and does not affect the others.

Example:
    data = load(root)
    data.episodes["recognition"][0].start
    data.scenes[scene] or scenes.scene_missing(scene)

Published scenes are scans that come under agreements. Their episodes load; `scenes` maps them to the scan where its
folder is registered, else to None.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from worldgauge.core.episode import WorldFacts, short, world_of
from worldgauge.core.errors import DataError
from worldgauge.core.io import check_inside, list_folder
from worldgauge.engine.collection import MANIFEST
from worldgauge.suites.worldinworld.format.contract import (
    EpisodeFault,
    EpisodeFormat,
    EpisodeSet,
    EpisodeT,
    FoundFiles,
    TaskEpisode,
)
from worldgauge.suites.worldinworld.format.files import published_world, read_json
from worldgauge.suites.worldinworld.format.rows import REFUSALS, wrong
from worldgauge.suites.worldinworld.task import closed_loop_tasks, task_names

INSIDE = ("", "eval_datasets", "WIW_datasets/eval_datasets")
"""Where the published folders may lie below the folder that is given."""
MAX_FILES = 64
MAX_EPISODES = 100_000

MANIFEST_FORMAT = "closedloop"
MANIFEST_VERSION = 1


def load(root: Path) -> EpisodeSet:
    """All episodes of a folder, or of one episode file; no picture is decoded."""
    root, found = Path(root), FoundFiles()
    formats = episode_formats()
    if not root.exists():
        *names, last = (one.kind for one in formats)
        raise DataError(f"{root}: no such folder; give one with {', '.join(names)} or {last} in it")
    place = root if root.is_dir() else root.parent
    for path in [root] if root.is_file() else _files(root, formats, found.notes):
        _take(found, check_inside(path, place), formats)
    for one in formats:
        if one.kind in found.more:
            first = found.parts[one.kind]
            found.parts[one.kind] = first[0], one.merged([first, *found.more[one.kind]])
    episodes = {one.kind: tuple(one.completed(found, _read(found, one))) for one in formats}
    if not found.parts.keys() & episodes.keys():
        seen = "; ".join(found.notes) or "no JSON file is there"
        raise DataError(f"{root}: holds no episodes of the closed loop ({seen})")
    worlds = worlds_of(_home(root, formats))
    everything: Iterator[TaskEpisode] = (episode for own in episodes.values() for episode in own)
    named = dict.fromkeys(episode.scene for episode in everything)
    return EpisodeSet(
        episodes,
        scenes={scene: worlds.get(scene) or published_world(scene) for scene in named},
        faults=tuple(found.faults),
        notes=tuple(found.notes),
    )


def episode_formats() -> list[EpisodeFormat[Any]]:
    """Those of all tasks, in the order of tables."""
    return [closed_loop_tasks.get(name).format for name in task_names()]


def worlds_of(folder: Path) -> dict[str, WorldFacts]:
    """World of every scene, from the manifest of a collected folder; empty for published files, which have none."""
    path = folder / MANIFEST
    if not path.exists():
        return {}
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != MANIFEST_FORMAT:
        raise DataError(f"{path}: field 'format' is not '{MANIFEST_FORMAT}'; give a folder of closed-loop episodes")
    version = content.get("version")
    if version != MANIFEST_VERSION:
        raise DataError(f"{path}: version {short(version)} is not {MANIFEST_VERSION}; collect the data again")
    worlds = content.get("worlds")
    if not isinstance(worlds, dict):
        raise DataError(f"{path}: field 'worlds' is {short(worlds)}; remove or repair the manifest")
    return {scene: _world(row, f"{path}: scene {short(scene)}") for scene, row in worlds.items()}


def _take(found: FoundFiles, path: Path, formats: Sequence[EpisodeFormat[Any]]) -> None:
    """Add what a file holds."""
    value = read_json(path)
    part = _part_of(value, path, formats)
    merges = any(one.kind == part and one.merged([]) is not None for one in formats)
    if part is None:
        found.notes.append(f"{path.name} holds neither episodes nor anything that belongs to them: not used")
    elif part in found.parts and path.parent == found.parts[part][0].parent and merges:
        found.more.setdefault(part, []).append((path, value))
    elif part in found.parts:
        other, words = found.parts[part][0], {name: text for one in formats for name, text in one.contents.items()}
        raise DataError(f"{path}: holds {words[part]}, as {other} does; leave one of the two")
    else:
        found.parts[part] = path, value


def _read(found: FoundFiles, own: EpisodeFormat[EpisodeT]) -> Iterator[EpisodeT]:
    """The usable rows of a task; the others become faults."""
    if own.kind not in found.parts:
        return
    path, value = found.parts[own.kind]
    rows = own.rows(value)
    if len(rows) > MAX_EPISODES:
        raise DataError(f"{path}: {len(rows)} episodes pass the limit of {MAX_EPISODES}; split the file")
    seen: set[str] = set()
    for number, row in enumerate(rows):
        try:
            if not isinstance(row, dict):
                raise ValueError(f"{short(row)} is no object; give one an episode")
            episode = own.read(row)
            if episode.id in seen:
                raise ValueError(f"the id '{episode.id}' is there twice; rename one of the two")
        except REFUSALS as error:
            found.faults.append(EpisodeFault(own.kind, f"row-{number}", f"{path.name}: row {number}: {wrong(error)}"))
            continue
        seen.add(episode.id)
        yield episode


def _part_of(value: Any, path: Path, formats: Sequence[EpisodeFormat[Any]]) -> str | None:
    """What the value of a JSON file is; None for what is nothing of ours. Raises DataError for a broken one."""
    for one in formats if isinstance(value, dict) else ():
        if one.key and one.key in value:
            if not isinstance(value[one.key], list):
                raise DataError(f"{path}: field '{one.key}' is {short(value[one.key])}; give a list of episodes")
            return one.kind
    return next((part for one in formats if (part := one.content_of(value)) is not None), None)


def _files(root: Path, formats: Sequence[EpisodeFormat[Any]], notes: list[str]) -> list[Path]:
    """The JSON files of the folders of all tasks; of `root` itself where it has none of them."""
    inside = (root / middle / name for middle in INSIDE for one in formats for name in one.folders)
    folders = [check_inside(folder, root) for folder in inside if folder.is_dir()]
    found = [path for folder in folders or [root] for path in list_folder(folder) if _is_json(path)]
    if len(found) > MAX_FILES:
        raise DataError(f"{root}: {len(found)} JSON files pass the limit of {MAX_FILES}; give a folder of episodes")
    loose = [path.name for path in list_folder(root) if folders and _is_json(path)]
    notes += [f"{name} lies beside the folders of episodes, not in one: not used" for name in loose]
    return found


def _is_json(path: Path) -> bool:
    named = path.name.lower().endswith((".json", ".json.gz"))
    return named and path.name != MANIFEST and path.is_file()


def _home(root: Path, formats: Sequence[EpisodeFormat[Any]]) -> Path:
    """The folder with the manifest: `root`, or the one above when `root` is a file or the folder of one task."""
    if root.is_file():
        root = root.parent
    names = {name for one in formats for name in one.folders}
    return root.parent if root.name in names and not (root / MANIFEST).exists() else root


def _world(row: object, where: str) -> WorldFacts:
    if not isinstance(row, dict):
        raise DataError(f"{where}: {short(row)} is no world; remove or repair the manifest")
    try:
        return world_of({"name": row["world"], "params": row["params"], "digest": row.get("digest")})
    except KeyError as error:
        raise DataError(f"{where}: field {error} is missing; remove or repair the manifest") from error
    except (TypeError, ValueError) as error:
        raise DataError(f"{where}: {error}; remove or repair the manifest") from error
