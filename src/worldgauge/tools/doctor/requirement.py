"""One part of an installation, and whether it works on this machine."""

from __future__ import annotations

from typing import NamedTuple


class Requirement(NamedTuple):
    """The result of one check.

    Attributes:
        part: What was checked.
        well: Whether it works.
        needed: Whether anything fails without it.
        told: The result in words.
    """

    part: str
    well: bool
    needed: bool
    told: str
