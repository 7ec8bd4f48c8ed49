"""Proof of what a model was trained on: digests of scenes, kept with it and compared with those of a test."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from worldgauge.core.errors import UsageError
from worldgauge.core.io import digest_of, dumps
from worldgauge_train.training.cache import CachedClip
from worldgauge_train.training.clip import Split
from worldgauge_train.training.terms import FREE


class SourceProof(NamedTuple):
    """What was read from one training source.

    Attributes:
        source: Its name, of walks with their settings.
        split: Split of its worlds.
        clips: Clips.
        frames: Frames.
        scenes: Digests of their worlds, sorted.
        unknown: Clips whose world is not known.
        digest: Digest of `scenes`.
        terms: Under whose terms its pictures are, sorted; "none" where there is no restriction.
        drawn: Whether its clips are drawn while training; there are more then at every step.
    """

    source: str
    split: Split
    clips: int
    frames: int
    scenes: list[str]
    unknown: int
    digest: str
    terms: list[str]
    drawn: bool = False


def proof_of(clips: Sequence[CachedClip], split: Split = "train") -> list[SourceProof]:
    """Tell what clips were trained on, a row a source.

    Args:
        clips: All clips of a training.
        split: Their split.
    """
    found = []
    for source in sorted({clip.source for clip in clips}):
        own = [clip for clip in clips if clip.source == source]
        scenes = sorted({clip.scene for clip in own if clip.scene is not None})
        unknown = sum(clip.scene is None for clip in own)
        frames, terms = sum(len(clip) for clip in own), sorted({clip.terms for clip in own})
        found.append(SourceProof(source, split, len(own), frames, scenes, unknown, _digest(scenes), terms))
    return found


def proof_of_walks(text: str, clips: int, frames: int, scenes: Collection[str]) -> SourceProof:
    """Tell what walks were drawn and trained on.

    Args:
        text: The source with its settings.
        clips: Clips so far.
        frames: Their frames.
        scenes: Digests of their worlds so far.
    """
    known = sorted(scenes)
    return SourceProof(text, "train", clips, frames, known, 0, _digest(known), [FREE], drawn=True)


def same_data(before: Any, now: Sequence[SourceProof]) -> bool:
    """Whether a checkpoint was trained on the same data; of walks that are drawn, only what they are is compared.

    Args:
        before: "data" of its config.json.
        now: What is to be trained on.
    """
    if not isinstance(before, list) or not all(isinstance(row, dict) for row in before):
        return False
    return [_compared(row) for row in before] == [_compared(one._asdict()) for one in now]


def check_apart(
    trained: Sequence[CachedClip], validated: Sequence[CachedClip], what: str, before: Collection[str] = ()
) -> None:
    """Check that no scene is trained and validated on.

    Args:
        trained: Clips to train on.
        validated: Clips to validate with.
        what: Name of the latter, for messages.
        before: Digests of scenes that the checkpoint was trained on that training begins from.

    Raises:
        UsageError: Some scenes are.
    """
    known = {clip.scene for clip in trained if clip.scene is not None}
    asked = {clip.scene for clip in validated}
    for shared, how in ((asked & known, "are also trained on"), (asked & {*before}, "were trained on before")):
        if shared:
            raise UsageError(
                f"{what}: {len(shared)} of its {len(asked)} scenes {how}; give other data, or say --allow-overlap"
            )


def _compared(row: Mapping[str, Any]) -> dict[str, Any]:
    """What of a row tells whether data are the same. Terms do not, and older checkpoints tell none."""
    if row.get("drawn"):
        return {name: row.get(name) for name in ("source", "split")}
    return {name: value for name, value in row.items() if name != "terms"}


def _digest(scenes: Sequence[str]) -> str:
    return digest_of(dumps(list(scenes)))
