"""Finding and reading episodes: folders as we write them, as they are published, or one published file by itself.

Files are told apart by what is in them, so their names do not matter. A file that cannot be read is an error; a row
that cannot is a fault, and the others are not touched by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeVar

from worldgauge.core.errors import DataError
from worldgauge.core.fields import number_of, short, whole_of
from worldgauge.core.io import check_inside, list_folder
from worldgauge.suites.closedloop.format import rows
from worldgauge.suites.closedloop.format.episode import (
    KINDS,
    ClosedLoop,
    Episode,
    Fault,
    Kind,
    NavigationEpisode,
    QuestionEpisode,
)
from worldgauge.suites.closedloop.format.files import members_of, read_json
from worldgauge.suites.closedloop.format.scenes import MANIFEST, worlds_of

FOLDERS: Mapping[Kind, tuple[str, ...]] = {
    "recognition": ("recognition", "AR"),
    "navigation": ("navigation", "IGNav"),
    "questions": ("questions", "AEQA"),
    "manipulation": ("manipulation",),
}
"""Ours, and the published one where there is one."""
INSIDE = ("", "eval_datasets", "WIW_datasets/eval_datasets")
"""Where the published folders may lie below the folder that is given."""
MAX_FILES = 64
MAX_EPISODES = 100_000
LONGEST_M = 1e5

Part = Literal["recognition", "navigation", "questions", "manipulation", "lengths", "blind", "evidence"]
_WORDS: Mapping[Part, str] = {
    "recognition": "recognition episodes",
    "navigation": "navigation episodes",
    "questions": "questions",
    "manipulation": "manipulation trials",
    "lengths": "reference lengths",
    "blind": "blind answers",
    "evidence": "evidence",
}
_E = TypeVar("_E", bound=Episode)


def load(root: Path) -> ClosedLoop:
    """All episodes of a folder, or of one episode file; no picture is decoded.

    root: holds the folders recognition, navigation, questions (published: AR, IGNav, AEQA) and manipulation, any of
    them, or the files themselves. Rows that cannot be used are `faults`, what is worth knowing beside is in `notes`.
    Raises DataError when nothing is there, a file cannot be read, or two files hold the same.
    """
    root = Path(root)
    found = _Found(root if root.is_dir() else root.parent)
    if not root.exists():
        raise DataError(
            f"{root}: no such folder; give one with recognition, navigation, questions or manipulation in it"
        )
    for path in [root] if root.is_file() else _files(root, found.notes):
        found.take(path)
    recognition = tuple(found.episodes("recognition", rows.recognition_of, _rows_of("episodes")))
    navigation = tuple(_with_images(found, found.episodes("navigation", rows.navigation_of, _rows_of("data"))))
    questions = tuple(_with_answers(found, found.episodes("questions", rows.question_of, list)))
    manipulation = tuple(found.episodes("manipulation", rows.manipulation_of, _rows_of("trials")))
    if not found.parts.keys() & set(KINDS):
        seen = "; ".join(found.notes) or "no JSON file is there"
        raise DataError(f"{root}: holds no episodes of the closed loop ({seen})")
    worlds = worlds_of(_home(root))
    episodes: tuple[Episode, ...] = (*recognition, *navigation, *questions, *manipulation)
    return ClosedLoop(
        recognition,
        navigation,
        questions,
        manipulation,
        scenes={episode.scene: worlds.get(episode.scene) for episode in episodes},
        faults=tuple(found.faults),
        notes=tuple(found.notes),
    )


@dataclass
class _Found:
    """What the files of a folder hold, as it is found."""

    place: Path
    parts: dict[Part, tuple[Path, Any]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def take(self, path: Path) -> None:
        check_inside(path, self.place)
        value = read_json(path)
        part = _part_of(value, path)
        if part is None:
            self.notes.append(f"{path.name} holds neither episodes nor anything that belongs to them: not used")
        elif part in self.parts:
            other = self.parts[part][0]
            raise DataError(f"{path}: holds {_WORDS[part]}, as {other} does; leave one of the two")
        else:
            self.parts[part] = path, value

    def episodes(
        self, kind: Kind, read: Callable[[rows.Row], _E], rows_of: Callable[[Any], Sequence[Any]]
    ) -> Iterator[_E]:
        """The usable rows of a kind; the others become faults."""
        if kind not in self.parts:
            return
        path, value = self.parts[kind]
        told = rows_of(value)
        if len(told) > MAX_EPISODES:
            raise DataError(f"{path}: {len(told)} episodes pass the limit of {MAX_EPISODES}; split the file")
        seen: set[str] = set()
        for number, row in enumerate(told):
            try:
                if not isinstance(row, dict):
                    raise ValueError(f"{short(row)} is no object; give one an episode")
                episode = read(row)
                if episode.id in seen:
                    raise ValueError(f"the id '{episode.id}' is there twice; rename one of the two")
            except rows.REFUSALS as error:
                self.fault(kind, f"row-{number}", f"{path.name}: row {number}: {rows.wrong(error)}")
                continue
            seen.add(episode.id)
            yield episode

    def fault(self, kind: Kind, id: str, text: str) -> None:
        self.faults.append(Fault(kind, id, text))


def _part_of(value: Any, path: Path) -> Part | None:
    """What the value of a JSON file is; None for what is nothing of ours. Raises DataError for a broken one."""
    if isinstance(value, list):
        return "questions" if all("question" in row for row in value if isinstance(row, dict)) else None
    if not isinstance(value, dict) or not value:
        return None
    named: tuple[tuple[str, Part], ...] = (
        ("episodes", "recognition"),
        ("data", "navigation"),
        ("trials", "manipulation"),
    )
    for key, part in named:
        if key in value:
            if not isinstance(value[key], list):
                raise DataError(f"{path}: field '{key}' is {short(value[key])}; give a list of episodes")
            return part
    kinds: tuple[tuple[type | tuple[type, ...], Part], ...] = (
        ((int, float), "lengths"),
        (str, "blind"),
        (list, "evidence"),
    )
    return next((part for kind, part in kinds if all(isinstance(one, kind) for one in value.values())), None)


def _rows_of(key: str) -> Callable[[Any], Sequence[Any]]:
    return lambda value: value[key]


def _files(root: Path, notes: list[str]) -> list[Path]:
    """The JSON files of the folders of all kinds; of `root` itself where it has none of them."""
    inside = (root / middle / name for middle in INSIDE for kind in KINDS for name in FOLDERS[kind])
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


def _home(root: Path) -> Path:
    """The folder with the manifest: `root`, or the one above when `root` is a file or the folder of one kind."""
    if root.is_file():
        root = root.parent
    names = {name for names in FOLDERS.values() for name in names}
    return root.parent if root.name in names and not (root / MANIFEST).exists() else root


def _with_images(found: _Found, episodes: Iterator[NavigationEpisode]) -> Iterator[NavigationEpisode]:
    """Each episode with the place of its goal image, where there is one."""
    if "navigation" not in found.parts:
        return
    path, value = found.parts["navigation"]
    told = {str(row.get("datum_id")): row.get("goal_image_relpath") for row in value["data"] if isinstance(row, dict)}
    images = _Images(path.parent)
    missing = []
    for episode in episodes:
        name = told.get(episode.id)
        name = f"images/{episode.id}.png" if name is None else name
        if not isinstance(name, str) or not _harmless(name):
            text = f"{path.name}: field 'goal_image_relpath' is {short(name)}; give a name such as images/7.png"
            found.fault("navigation", episode.id, text)
            continue
        where = images.find(name)
        if where is None:
            missing.append(episode.id)
        yield replace(episode, goal_image=where)
    if missing:
        many = f"{len(missing)} navigation episodes have" if len(missing) > 1 else "1 navigation episode has"
        zips = ", ".join(packed.name for packed in images.packed) or "no zip is there"
        found.notes.append(f"{many} no goal image beside {path.name} (first: {missing[0]}; {zips})")


def _harmless(name: str) -> bool:
    """Whether a name stays in the folder it is looked up in."""
    parts = PurePosixPath(name).parts
    plain = re.fullmatch(r"[A-Za-z0-9._/ -]{1,300}", name) is not None
    return plain and bool(parts) and not name.startswith("/") and ".." not in parts


class _Images:
    """The goal images of a folder: in zips, or unpacked in it or one folder below."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.packed = [path for path in list_folder(folder) if path.suffix.lower() == ".zip" and path.is_file()]
        self._below = [folder, *(path for path in list_folder(folder) if path.is_dir())]
        self._names: dict[str, list[tuple[Path, str]]] = {}
        for path in self.packed:
            for name in members_of(check_inside(path, folder)):
                self._names.setdefault(PurePosixPath(name).name, []).append((path, name))

    def find(self, name: str) -> Path | None:
        for packed, inner in sorted(self._names.get(PurePosixPath(name).name, ())):
            # A zip may have been made of the folder around its images.
            if (inner == name or inner.endswith(f"/{name}")) and _harmless(inner):
                return packed / inner
        plain = (folder / name for folder in self._below)
        return next((check_inside(path, self.folder) for path in plain if path.is_file()), None)


def _with_answers(found: _Found, episodes: Iterator[QuestionEpisode]) -> Iterator[QuestionEpisode]:
    """Each question with what the files beside it say: reference length, blind answer, evidence."""
    values = {part: value for part, (_, value) in found.parts.items()}
    lengths, blind, evidence = (values.get(part, {}) for part in ("lengths", "blind", "evidence"))
    for episode in episodes:
        id = episode.id
        try:
            yield replace(
                episode,
                reference_m=number_of(lengths, id, 0.0, LONGEST_M) if id in lengths else None,
                blind_answer=rows.text_of(blind, id, lines=True) if id in blind else None,
                evidence=tuple(whole_of({id: one}, id, 0, rows.MAX_WHOLE) for one in evidence.get(id, ())),
            )
        except rows.REFUSALS as error:
            found.fault("questions", id, f"a file beside the questions: {rows.wrong(error)}")
