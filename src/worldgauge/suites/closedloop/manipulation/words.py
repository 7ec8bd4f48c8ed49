"""Poses and things on a table in words: the bins that a language model reads and writes."""

from __future__ import annotations

from collections.abc import Sequence

from worldgauge.chat.prompt_runner import kept
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.suites.closedloop.policies.contract import History, SeenThing
from worldgauge.worlds.tabletop.pose_plans import HandPose, bins_from_points, bins_from_poses

OUTSIDE = "(outside the bins)"


def pose_in_words(pose: HandPose) -> str:
    """Return the seven bins of a pose, such as "[60, 50, 40, 0, 60, 60, 1]"."""
    try:
        return str(bins_from_poses([pose])[0].tolist())
    except (UsageError, ShapeError):
        return OUTSIDE


def poses_in_words(poses: Sequence[HandPose]) -> str:
    """Return the bins of each pose, in order; empty without any."""
    return ", ".join(map(pose_in_words, poses))


def things_in_words(things: Sequence[SeenThing]) -> str:
    """Return a line per thing: number, name, and the bins x, y, z of its centre."""
    return "\n".join(f"{number}. {thing.name}: {_place_in_words(thing)}" for number, thing in enumerate(things, 1))


def moves_in_words(history: History, squeeze: int) -> str:
    """Describe earlier decisions and the poses carried out, one line each.

    Args:
        history: Earlier decisions.
        squeeze: How much to shorten; the latest decisions are kept.
    """
    recent = kept(history, squeeze)
    if not recent:
        return "nothing yet" if not history else "left out here"
    lines = []
    for number, past in enumerate(recent, len(history) - len(recent) + 1):
        plan = past.decision.plan
        words = "" if plan is None or plan.aim is None else str(plan.aim.get("text") or "")
        done = [
            pose_in_words(pose) + (" (did not get there)" if missed else "")
            for pose, missed in zip(past.executed, past.collided, strict=True)
        ]
        lines.append(f"{number}. " + " - ".join(filter(None, (words, ", ".join(done) or "nothing"))))
    return "\n".join(lines)


def _place_in_words(thing: SeenThing) -> str:
    try:
        return str(bins_from_points([thing.place_m])[0].tolist())
    except UsageError:
        return OUTSIDE
