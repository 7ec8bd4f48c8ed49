"""Finding and reading episodes: folders as we write them, as they are published, or one published file on its own.

Files are recognised by their content, so their names do not matter. A file that cannot be read is an error; a row
that cannot be read is a fault and does not affect the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeVar

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.fields import MAX_COORDINATE_M, number_of, short, whole_of, world_of
from worldgauge.core.io import check_inside, check_name, list_folder
from worldgauge.engine.collection.manifest import MANIFEST
from worldgauge.suites.closedloop.format.coordinates import as_stored, our_stance
from worldgauge.suites.closedloop.format.episode import (
    GOAL_RADIUS_M,
    HFOV_DEG,
    KINDS,
    ClosedLoop,
    Episode,
    Fault,
    Kind,
    ManipulationEpisode,
    NavigationEpisode,
    QuestionEpisode,
    RecognitionEpisode,
)
from worldgauge.suites.closedloop.format.files import members_of, read_json
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.walking.stance import EYE_HEIGHT_M, Stance

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

FileContent = Literal["recognition", "navigation", "questions", "manipulation", "lengths", "blind", "evidence"]
_WORDS: Mapping[FileContent, str] = {
    "recognition": "recognition episodes",
    "navigation": "navigation episodes",
    "questions": "questions",
    "manipulation": "manipulation trials",
    "lengths": "reference lengths",
    "blind": "blind answers",
    "evidence": "evidence",
}
_E = TypeVar("_E", bound=Episode)

MAX_TEXT = 4000
"""Characters of a question, an answer or a name."""
MAX_WHOLE = 2**31 - 1
EYE_M = (0.05, 3.0)
"""Heights that an eye can have above the floor, metres."""

EpisodeRow = Mapping[str, Any]
REFUSALS = (KeyError, ValueError, TypeError, OverflowError, DataError)
"""What reading a row raises when it is no episode."""

MANIFEST_FORMAT = "closedloop"
MANIFEST_VERSION = 1

_SCAN = r"[A-Za-z0-9]{11}"
_AGREEMENTS = (
    (r"mp3d", "Matterport3D, under its Terms of Use (https://niessner.github.io/Matterport)"),
    (
        rf"hm3d|(^|/)\d{{5}}-{_SCAN}(/|$)",
        "HM3D, under Matterport's End User License Agreement for academic use (https://aihabitat.org/datasets/hm3d)",
    ),
    (rf"^(.*/)?{_SCAN}(\.glb)?$", "Matterport3D, under its Terms of Use (https://niessner.github.io/Matterport)"),
)


def load(root: Path) -> ClosedLoop:
    """All episodes of a folder, or of one episode file; no picture is decoded.

    Args:
        root: Holds the folders recognition, navigation, questions (published: AR, IGNav, AEQA) and manipulation, any of
            them, or the files themselves.

    Returns:
        The usable episodes. Rows that cannot be used are `faults`, what else is worth knowing is in `notes`.

    Raises:
        DataError: When nothing is there, a file cannot be read, or two files hold the same.
    """
    root = Path(root)
    found = _Found(root if root.is_dir() else root.parent)
    if not root.exists():
        raise DataError(
            f"{root}: no such folder; give one with recognition, navigation, questions or manipulation in it"
        )
    for path in [root] if root.is_file() else _files(root, found.notes):
        found.take(path)
    recognition = tuple(found.episodes("recognition", recognition_of, _rows_of("episodes")))
    navigation = tuple(_with_images(found, found.episodes("navigation", navigation_of, _rows_of("data"))))
    questions = tuple(_with_answers(found, found.episodes("questions", question_of, list)))
    manipulation = tuple(found.episodes("manipulation", manipulation_of, _rows_of("trials")))
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


def recognition_of(row: EpisodeRow) -> RecognitionEpisode:
    """Read one recognition episode (specification, 5.1).

    Raises:
        KeyError: For a missing field.
        ValueError: For a field that is wrong.
        DataError: For a field that is wrong.
    """
    start, floor = _stance(row, "start")
    label = text_of(row, "target_categrory").strip().replace("_", " ")  # so spelled in the files
    if label not in LABELS:
        raise ValueError(f"field 'target_categrory' is {short(label)}; give one of the {len(LABELS)} labels")
    return RecognitionEpisode(
        id=id_of(row, "id" if "id" in row else "episode_id"),
        scene=text_of(row, "scene_id"),
        difficulty=whole_of(row, "difficulty", 0, 2),
        target=whole_of(row, "target_id", 0, MAX_WHOLE),
        category=label,
        start=start,
        height_m=_eye(row),
        floor_m=floor,
    )


def navigation_of(row: EpisodeRow) -> NavigationEpisode:
    """Read one navigation episode (specification, 5.2); the caller finds its image.

    Raises:
        KeyError: As `recognition_of`; ValueError and DataError likewise.
    """
    start, floor = _stance(row, "start")
    goal, _ = _stance(row, "goal")
    return NavigationEpisode(
        id=id_of(row, "datum_id"),
        scene=text_of(row, "scene_relpath"),
        start=start,
        goal=goal,
        radius_m=number_of(row, "goal_radius", 1e-3, 100.0) if "goal_radius" in row else GOAL_RADIUS_M,
        step_to_goal=whole_of(row, "step_to_goal", 0, 100_000),
        height_m=_eye(row),
        floor_m=floor,
    )


def question_of(row: EpisodeRow) -> QuestionEpisode:
    """Read one question (specification, 5.3); the caller adds the content of the files next to it.

    Raises:
        KeyError: As `recognition_of`; ValueError and DataError likewise.
    """
    start, floor = _stance(row, "start")
    extra = row.get("extra_answers") or []
    if not isinstance(extra, list) or len(extra) > 100:
        raise ValueError(f"field 'extra_answers' is {short(extra)}; give a list of at most 100 texts")
    return QuestionEpisode(
        id=id_of(row, "question_id"),
        scene=text_of(row, "scene_id"),
        question=text_of(row, "question", lines=True),
        answer=text_of(row, "answer", lines=True),
        extra_answers=tuple(text_of({"extra_answers": one}, "extra_answers", lines=True) for one in extra),
        category=text_of(row, "category"),
        start=start,
        hfov_deg=number_of(row, "hfov", 10.0, 170.0) if row.get("hfov") is not None else HFOV_DEG,
        height_m=_eye(row),
        floor_m=floor,
    )


def manipulation_of(row: EpisodeRow) -> ManipulationEpisode:
    """Read one trial at a table.

    Raises:
        KeyError: As `recognition_of`; ValueError and DataError likewise.
    """
    wordings = row.get("wordings") or []
    if not isinstance(wordings, list) or len(wordings) > 100:
        raise ValueError(f"field 'wordings' is {short(wordings)}; give a list of at most 100 texts")
    return ManipulationEpisode(
        id=id_of(row, "episode_id"),
        scene=text_of(row, "scene_id"),
        table_task=check_name(text_of(row, "table_task"), "field 'table_task'"),
        variation=whole_of(row, "variation", 0, MAX_WHOLE),
        instruction=text_of(row, "instruction"),
        wordings=tuple(text_of({"wordings": one}, "wordings") for one in wordings),
        reference_poses=whole_of(row, "reference_poses", 0, 100_000) if "reference_poses" in row else 0,
    )


def id_of(row: EpisodeRow, key: str) -> str:
    """A whole number, or a name that is allowed in a path.

    Raises:
        ValueError: For anything else.
    """
    value = row[key]
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(f"field '{key}' is {short(value)}; give a whole number or a name")
    return check_name(_plain(str(value), key), f"field '{key}'")


def text_of(row: EpisodeRow, key: str, *, lines: bool = False) -> str:
    """Text that is not empty, within `MAX_TEXT` characters and without control characters.

    Args:
        row: Row of the file.
        key: Name of the field.
        lines: Allow several lines, and tabs.

    Raises:
        ValueError: For anything else.
    """
    value = row[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"field '{key}' is {short(value)}; give words")
    return _plain(value, key, r"\n\r\t" if lines else "")


def wrong(error: Exception) -> str:
    """An error of this module as one line."""
    if isinstance(error, KeyError):
        return f"field {error} is missing"
    return " ".join(str(error).split())


def worlds_of(folder: Path) -> dict[str, WorldFacts]:
    """World of every scene, from the manifest of a collected folder; empty for published files, which have none.

    Raises:
        DataError: When the manifest is not one of ours; names the field.
    """
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


def scene_missing(scene: str) -> str:
    """Why a scene without a world cannot be entered, and what to do, in one line."""
    for pattern, agreement in _AGREEMENTS:
        if re.search(pattern, scene):
            return (
                f"scene {short(scene)} is a scan of {agreement}, and does not come with worldgauge: sign it and name "
                f"a world that opens the scan in {MANIFEST}, or collect homes: worldgauge collect closedloop"
            )
    return (
        f"scene {short(scene)} is not in field 'worlds' of {MANIFEST}: put the manifest of the collection back, or "
        "collect again: worldgauge collect closedloop"
    )


@dataclass
class _Found:
    """What the files of a folder hold, as it is found."""

    place: Path
    parts: dict[FileContent, tuple[Path, Any]] = field(default_factory=dict)
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
        self, kind: Kind, read: Callable[[EpisodeRow], _E], rows_of: Callable[[Any], Sequence[Any]]
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
            except REFUSALS as error:
                self.fault(kind, f"row-{number}", f"{path.name}: row {number}: {wrong(error)}")
                continue
            seen.add(episode.id)
            yield episode

    def fault(self, kind: Kind, id: str, text: str) -> None:
        self.faults.append(Fault(kind, id, text))


def _part_of(value: Any, path: Path) -> FileContent | None:
    """What the value of a JSON file is; None for what is nothing of ours. Raises DataError for a broken one."""
    if isinstance(value, list):
        return "questions" if all("question" in row for row in value if isinstance(row, dict)) else None
    if not isinstance(value, dict) or not value:
        return None
    named: tuple[tuple[str, FileContent], ...] = (
        ("episodes", "recognition"),
        ("data", "navigation"),
        ("trials", "manipulation"),
    )
    for key, part in named:
        if key in value:
            if not isinstance(value[key], list):
                raise DataError(f"{path}: field '{key}' is {short(value[key])}; give a list of episodes")
            return part
    kinds: tuple[tuple[type | tuple[type, ...], FileContent], ...] = (
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
                blind_answer=text_of(blind, id, lines=True) if id in blind else None,
                evidence=tuple(whole_of({id: one}, id, 0, MAX_WHOLE) for one in evidence.get(id, ())),
            )
        except REFUSALS as error:
            found.fault("questions", id, f"a file beside the questions: {wrong(error)}")


def _plain(value: str, key: str, but: str = "") -> str:
    """A text without control characters but those in `but`."""
    if len(value) > MAX_TEXT:
        raise ValueError(f"field '{key}' has {len(value)} characters; give at most {MAX_TEXT}")
    if re.search(rf"[^\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff{but}]|[\u2028\u2029]", value):
        raise ValueError(f"field '{key}' is {short(value)}; leave out control characters and halves of characters")
    return value


def _eye(row: EpisodeRow) -> float:
    """Height of the camera above the floor: ours say it, published ones all have the same."""
    return number_of(row, "camera_height", *EYE_M) if "camera_height" in row else EYE_HEIGHT_M


def _stance(row: EpisodeRow, which: str) -> tuple[Stance, float]:
    """Stance and floor of the fields `<which>_position` and `<which>_rotation`.

    The rotation is w, x, y, z; x, y, z, w, which the simulator's own files have, is no rotation of an agent that stands
    upright, so that order is accepted as well where only it makes sense.
    """
    position = _numbers(row, f"{which}_position", 3)
    rotation = _numbers(row, f"{which}_rotation", 4)
    for order in (rotation, np.roll(rotation, 1)):
        try:
            stance, floor = our_stance(position, order)
        except ShapeError:
            continue
        return as_stored(stance), round(floor, 9) + 0.0
    raise ValueError(
        f"field '{which}_rotation' is {short(rotation.tolist())}; give a turn about the vertical as w, x, y, z"
    )


def _numbers(row: EpisodeRow, key: str, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    value = row[key]
    if not isinstance(value, list) or len(value) != n:
        raise ValueError(f"field '{key}' is {short(value)}; give a list of {n} numbers")
    return np.array([number_of({key: one}, key, -MAX_COORDINATE_M, MAX_COORDINATE_M) for one in value])


def _world(row: object, where: str) -> WorldFacts:
    if not isinstance(row, dict):
        raise DataError(f"{where}: {short(row)} is no world; remove or repair the manifest")
    try:
        return world_of({"name": row["world"], "params": row["params"], "digest": row.get("digest")})
    except KeyError as error:
        raise DataError(f"{where}: field {error} is missing; remove or repair the manifest") from error
    except (TypeError, ValueError) as error:
        raise DataError(f"{where}: {error}; remove or repair the manifest") from error
