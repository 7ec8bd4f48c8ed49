"""Kinds of tasks, and how large a build may be (MineAnyBuild, section 3)."""

from __future__ import annotations

from typing import Literal

Kind = Literal["planning", "understanding", "creativity", "reasoning", "commonsense"]
KINDS: tuple[Kind, ...] = ("planning", "understanding", "creativity", "reasoning", "commonsense")
BUILD_KINDS: tuple[Kind, ...] = ("planning", "understanding", "creativity")
"""Kinds that are answered with a matrix; the others with a choice, or in words."""
LIMITS = (50, 80, 80)
"""Height, depth and width in blocks that an answer may have, unless a setting says otherwise."""
