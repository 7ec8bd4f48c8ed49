"""Episodes of recognition, and their file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from worldgauge.core.episode import WorldFacts, short, whole_of
from worldgauge.suites.worldinworld.format.contract import (
    EpisodeCheck,
    HomeFormat,
    Worlds,
    counted,
    distinct,
    place_fields,
    put_json,
)
from worldgauge.suites.worldinworld.format.files import lacks_names
from worldgauge.suites.worldinworld.format.rows import MAX_WHOLE, EpisodeRow, eye_of, id_of, stance_of, text_of
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.walking.primitives import EYE_HEIGHT_M, Stance

HIDDEN = 2
"""Design of episodes whose target is hidden, so that no enlarged view shows what it is."""


@dataclass(frozen=True)
class RecognitionEpisode:
    """Name the boxed object; `design` 1: hidden, small, or from an extreme angle; 2: `HIDDEN`."""

    id: str
    scene: str
    difficulty: int
    target: int
    category: str
    start: Stance
    height_m: float = EYE_HEIGHT_M
    design: int = 1


class RecognitionFormat(HomeFormat[RecognitionEpisode]):
    """recognition/episodes.json.gz; published: AR/."""

    kind, key = "recognition", "episodes"
    contents: ClassVar[Mapping[str, str]] = {"recognition": "recognition episodes"}
    folders = ("recognition", "AR")
    published = 551
    discordance = 0.18
    tallied: ClassVar[Mapping[str, str]] = {"difficulties": "difficulty", "labels": "target"}

    def merged(self, files: Sequence[tuple[Path, Any]]) -> dict[str, Any]:
        """The release reads every file of its folder, one a scene. Ids of several files begin with the file's name."""
        rows: list[Any] = []
        for path, value in files:
            for row in value[self.key]:
                own = row.get("id", row.get("episode_id")) if isinstance(row, dict) else None
                rows.append(row if own is None else {**row, "id": f"{path.name.partition('.')[0]}-{own}"})
        return {self.key: rows}

    def read(self, row: EpisodeRow) -> RecognitionEpisode:
        """Read one episode."""
        label = text_of(row, "target_categrory").strip().replace("_", " ")  # so spelled in the files
        if label not in LABELS:
            raise ValueError(f"field 'target_categrory' is {short(label)}; give one of the {len(LABELS)} labels")
        return RecognitionEpisode(
            id=id_of(row, "id" if "id" in row else "episode_id"),
            scene=text_of(row, "scene_id"),
            difficulty=whole_of(row, "difficulty", 0, 2),
            target=whole_of(row, "target_id", 0, MAX_WHOLE),
            category=label,
            start=stance_of(row, "start"),
            height_m=eye_of(row),
            design=whole_of(row, "design", 1, HIDDEN) if "design" in row else 1,
        )

    def lacks(self, world: WorldFacts) -> str | None:
        """It is about things that have names."""
        return lacks_names(world)

    def check(self, episodes: Sequence[RecognitionEpisode], worlds: Worlds, *, decode: bool) -> EpisodeCheck:
        """How many are of each difficulty and label."""
        difficulties = counted(str(one.difficulty) for one in episodes)
        return EpisodeCheck(tallies={"difficulties": difficulties, "labels": counted(one.category for one in episodes)})


def write_recognition(root: Path, episodes: Iterable[RecognitionEpisode]) -> Path:
    """Write <root>/recognition/episodes.json.gz; `episode_id` is a number: else the row, and the id a field."""
    unique = distinct(episodes)
    content = {"episodes": [_row(number, episode) for number, episode in enumerate(unique)]}
    return put_json(Path(root) / "recognition" / "episodes.json.gz", content, packed=True)


def _row(number: int, episode: RecognitionEpisode) -> dict[str, Any]:
    whole = episode.id.isascii() and episode.id.isdecimal() and str(int(episode.id)) == episode.id
    return {
        "episode_id": int(episode.id) if whole else number,
        **({} if whole else {"id": episode.id}),
        "scene_id": episode.scene,
        "difficulty": episode.difficulty,
        "target_id": episode.target,
        "target_categrory": episode.category.replace(" ", "_"),
        **place_fields("start", episode.start),
        "camera_height": episode.height_m,
        **({} if episode.design == 1 else {"design": episode.design}),
    }
