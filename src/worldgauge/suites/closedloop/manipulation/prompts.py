"""What a language model is shown of a table with an arm, and how its plans are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldgauge.chat.prompts import Field
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.suites.closedloop.manipulation.marks import marked_table
from worldgauge.suites.closedloop.manipulation.words import moves_in_words, pose_in_words, things_in_words
from worldgauge.suites.closedloop.policies.contract import ActionPlan, History, TableObservation
from worldgauge.suites.closedloop.policies.reading import read_poses

ASKS = 12
"""Most requests for one plan or choice (released code)."""


def table_now(observation: TableObservation, goal: Goal, history: History, squeeze: int) -> dict[str, Field]:
    """Return instruction, marked view, things, hand and past as fields of the prompts.

    Args:
        observation: What is sensed now.
        goal: Its text is the instruction.
        history: Earlier decisions.
        squeeze: How much to shorten the history.

    Raises:
        UsageError: If the goal has no instruction.
    """
    if not goal.text:
        raise UsageError("manipulation needs an instruction, and this episode has none")
    return {
        "instruction": goal.text,
        "view": marked_table(observation),
        "things": things_in_words(observation.things),
        "hand": pose_in_words(observation.hand),
        "history": moves_in_words(history, squeeze),
    }


def read_hand_plan(value: Mapping[str, Any], length: int) -> ActionPlan:
    """Read the plan of a reply of form `forms.HAND_PLAN`.

    Args:
        value: The reply.
        length: Most poses.

    Raises:
        Misread: If it is no plan of 1 to `length` poses.
    """
    poses = read_poses(value["poses"], length)
    words = " ".join(value["plan"].split())
    return ActionPlan((), "chat", aim={"text": words} if words else None, poses=poses)
