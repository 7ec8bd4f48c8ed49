"""Captions of clips in words of our own; the published data has captions next to its clips too."""

from __future__ import annotations

from worldgauge.core import polyline
from worldgauge.suites.mind.format.layout import FPS
from worldgauge.suites.mind.walks.key_walks import KeyWalk
from worldgauge.worlds.voxel.world import PLACES

_KEYS = (("forward", "backward"), ("to the left", "to the right"), ("up", "down"), ("left", "right"))
_VERBS = ("walks", "steps", "looks", "looks")


def caption(family: str, walk: KeyWalk) -> str:
    """Write one paragraph: the place, the viewpoint, and for how many seconds each key is held.

    Args:
        family: Family of the scene.
        walk: The walk.
    """
    seen = "from the walker's own eyes" if walk.perspective == "1st" else "over the shoulder of the walker"
    metres = polyline.length(walk.feet[:, :2])
    said = [
        f"{verb} {word} for {seconds:.1f} s"
        for column, (verb, words) in enumerate(zip(_VERBS, _KEYS, strict=True))
        for code, word in enumerate(words, 1)
        if (seconds := float((walk.keys[:, column] == code).sum()) / FPS) > 0
    ]
    does = f"The walker {_listed(said)}." if said else "The walker stands still."
    where = PLACES.get(family, family)
    return f"A walk of {len(walk) / FPS:.1f} s and {metres:.0f} m through {where}, seen {seen}. {does}\n"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
