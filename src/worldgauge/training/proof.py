"""Proof of what a model was trained on: digests of scenes, kept with it and compared with those of a test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from worldgauge.core.io import digest_of, dumps
from worldgauge.training.cache import CachedClip


class SourceProof(NamedTuple):
    """What was read from one training source.

    Attributes:
        source: Its name.
        clips: Clips.
        frames: Frames.
        scenes: Digests of their worlds, sorted.
        unknown: Clips whose world is not known.
        digest: Digest of `scenes`.
    """

    source: str
    clips: int
    frames: int
    scenes: list[str]
    unknown: int
    digest: str


def proof_of(clips: Sequence[CachedClip]) -> list[SourceProof]:
    """Tell what clips were trained on, a row a source.

    Args:
        clips: All clips of a training.
    """
    found = []
    for source in sorted({clip.source for clip in clips}):
        own = [clip for clip in clips if clip.source == source]
        scenes = sorted({clip.scene for clip in own if clip.scene is not None})
        unknown = sum(clip.scene is None for clip in own)
        frames = sum(len(clip) for clip in own)
        found.append(SourceProof(source, len(own), frames, scenes, unknown, digest_of(dumps(scenes))))
    return found
