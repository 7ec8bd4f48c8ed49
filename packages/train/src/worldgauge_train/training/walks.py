"""Walks that are drawn while a model trains: data without end, none of them on disk.

Clip number n follows from (seed, n) alone, and a step sees the clips of its number alone, so that any number of workers
gives the same training.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any, Protocol, get_type_hints
from urllib.parse import parse_qsl

import numpy as np

from worldgauge.core.actions import ActionSpace
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.registry import Registry
from worldgauge.engine.options import given_fields, is_typed_as_text, options_of, parse
from worldgauge.models.baselines.tiny import Told
from worldgauge_serve import value_of
from worldgauge_train.training.cache import CachedClip
from worldgauge_train.training.clip import Split, TrainingClip

PER_WORLD = 4
"""Clips that are drawn in a world before the next one is built."""
RING_FRAMES = 10_000
"""Frames that windows are cut from at a time."""
RENEWED = 0.25
"""Clips that replace the oldest ones after each step."""


class WalkSource(Protocol):
    """A generator of episodes of `frames` frames and equal action columns; its fields are settings."""

    frames: int

    @property
    def fps(self) -> float:
        """Frames a second."""
        ...

    @property
    def space(self) -> ActionSpace:
        """Action space of a clip; all have the same columns."""
        ...

    @property
    def space_names(self) -> tuple[str, ...]:
        """Names of all action spaces."""
        ...

    def clip(self, number: int, seed: int, split: Split, size: tuple[int, int]) -> TrainingClip:
        """Generate a clip, deterministic in its arguments; PER_WORLD clips in a row share a world."""
        ...


walk_sources: Registry[type[Any]] = Registry("source of generated episodes", "worldgauge_train.sources")


def walks_of(text: str) -> WalkSource:
    """Read a source of walks with its settings, such as "walks?families=urban,desert"."""
    name, _, query = text.partition("?")
    kind = walk_sources.get(name)
    known, hints, given = [one.name for one in given_fields(kind)], get_type_hints(kind), {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise UsageError(f"{text}: settings look like ?families=urban&frames=120") from None
    for key, value in pairs:
        if key not in known:
            raise UnknownNameError(f"{name} setting", key, known)
        given[key] = parse(hints[key], value, key) if is_typed_as_text(hints[key]) else value_of(value)
    made: WalkSource = options_of(kind, name, given)
    return made


@dataclass
class WalkRing:
    """The clips that a step samples windows from: the latest ones, while workers generate the next.

    Attributes:
        text: The source with its settings, as for `walks_of`.
        size: (width, height) of frames.
        workers: Processes that generate; 0 for this one, when a clip is needed.
        frames: Frames that are held, about.
        renewed: Clips that replace the oldest ones after each step.
        scenes: Digests of the worlds so far.
    """

    text: str
    seed: int
    size: tuple[int, int]
    told: Told = "both"
    workers: int = 1
    frames: int = RING_FRAMES
    renewed: float = RENEWED
    split: Split = "train"
    scenes: set[str] = field(default_factory=set, repr=False)
    _clips: dict[int, CachedClip] = field(default_factory=dict, repr=False)
    _coming: dict[int, Future[list[CachedClip]]] = field(default_factory=dict, repr=False)
    _pool: ProcessPoolExecutor | None = field(default=None, repr=False)
    _shown: tuple[int, list[CachedClip]] = field(default=(-1, []), repr=False)

    def __post_init__(self) -> None:
        """Check the source, before anything is drawn."""
        self.source = walks_of(self.text)

    @property
    def count(self) -> int:
        """Clips that are held."""
        return max(PER_WORLD, round(self.frames / self.source.frames))

    def drawn_by(self, step: int) -> int:
        """Clips that steps up to this one have seen."""
        return self.count + int(step * self.renewed)

    def clips_at(self, step: int, progress: Callable[[int, int], None] = lambda done, total: None) -> list[CachedClip]:
        """The clips of a step, the oldest first; the same list as long as they are the same."""
        last = self.drawn_by(step)
        first = last - self.count
        if self._shown[0] != first:
            self._order(first // PER_WORLD, last // PER_WORLD + 1)
            for world in range(first // PER_WORLD, (last - 1) // PER_WORLD + 1):
                if world * PER_WORLD not in self._clips:
                    self._clips.update(enumerate(self._of_world(world), world * PER_WORLD))
                progress(min(self.count, (world + 1) * PER_WORLD - first), self.count)
            self._clips = {n: clip for n, clip in self._clips.items() if n >= first // PER_WORLD * PER_WORLD}
            self._shown = first, [self._clips[number] for number in range(first, last)]
            self.scenes |= {one.scene for one in self._shown[1] if one.scene is not None}
        return self._shown[1]

    def first_of_world(self, number: int) -> CachedClip:
        """The first clip of a world, drawn in this process."""
        clip = self.source.clip(number * PER_WORLD, self.seed, self.split, self.size)
        return CachedClip.of(clip, np.ascontiguousarray(clip.frames.to_array()), self.told)

    def close(self) -> None:
        """End the workers."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool, self._coming = None, {}

    def _order(self, first: int, last: int) -> None:
        """Let workers begin with the worlds that are not there, and with some that follow."""
        if self.workers < 1:
            return
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.workers, get_context("spawn"), _end_with_parent, (os.getpid(),))
        for world in range(first, last + self.workers):
            if world not in self._coming and world * PER_WORLD not in self._clips:
                self._coming[world] = self._pool.submit(draw_world, **self._task(world))

    def _of_world(self, world: int) -> list[CachedClip]:
        if self.workers < 1:
            return draw_world(**self._task(world))
        return self._coming.pop(world).result()

    def _task(self, world: int) -> Mapping[str, Any]:
        return {
            "text": self.text,
            "world": world,
            "seed": self.seed,
            "split": self.split,
            "size": self.size,
            "told": self.told,
        }


def draw_world(text: str, world: int, seed: int, split: Split, size: tuple[int, int], told: Told) -> list[CachedClip]:
    """Draw the clips of a world; runs in a worker."""
    source = walks_of(text)
    numbers = range(world * PER_WORLD, (world + 1) * PER_WORLD)
    clips = (source.clip(number, seed, split, size) for number in numbers)
    return [CachedClip.of(clip, np.ascontiguousarray(clip.frames.to_array()), told) for clip in clips]


def _end_with_parent(parent: int) -> None:
    """A worker whose parent was killed ends too."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
