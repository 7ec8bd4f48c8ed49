"""What a brought pipeline is told in words of a part of a clip."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from worldgauge.core.actions import Actions
from worldgauge.core.errors import UsageError
from worldgauge.worlds.walking.primitives import NAV_STEPS, Primitive, render_text
from worldgauge_train.training.clip import TrainingClip


def prompt_of(clip: TrainingClip, first: int, frames: int, kind: str) -> str:
    """The words for a part of a clip.

    Args:
        clip: The clip.
        first: Number of its first frame.
        frames: How many.
        kind: As `Adaptation.prompt`.

    Raises:
        UsageError: The clip has no such words.
    """
    if kind == "":
        return ""
    if kind == "text":
        if not clip.text:
            raise UsageError(f"{clip.id} has no words; use a recipe with prompt = '' or nav/v1")
        return clip.text
    return render_text(kind, steps=_steps(clip.actions[first : first + frames - 1], clip.id))


def check_words(clips: Mapping[str, TrainingClip], kind: str) -> None:
    """Check that all clips have words of a kind.

    Args:
        clips: The clips by id.
        kind: As `Adaptation.prompt`.

    Raises:
        UsageError: One has none.
    """
    for clip in clips.values():
        prompt_of(clip, 0, min(len(clip), 2), kind)


def _steps(actions: Actions, name: str) -> tuple[Primitive, ...]:
    if [axis.name for axis in actions.space.axes] != [axis.name for axis in NAV_STEPS.axes]:
        raise UsageError(f"{name} has actions of '{actions.space.name}'; nav/v1 tells steps of '{NAV_STEPS.name}'")
    pressed = np.asarray(actions.values) > 0.5
    return tuple(Primitive(int(row.argmax()) + 1) if row.any() else Primitive.STOP for row in pressed)
