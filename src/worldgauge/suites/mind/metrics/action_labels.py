"""Names of the keys that were held, and the groups that errors are told apart by (MIND, section 4.7)."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import ShapeError, UnknownNameError, UsageError

GroupRule = Literal["keys", "released"]
"""keys: by what the keys do: translation, rotation, combined (both) or no_op. released: as the released code groups:
translation for one walking key alone, other for all else; its rotation is always empty, since it looks for names such
as yaw_left that no label has (B2)."""

GROUPS: dict[GroupRule, tuple[str, ...]] = {
    "keys": ("translation", "rotation", "combined", "no_op"),
    "released": ("translation", "rotation", "other"),
}
NO_OP = "no_op"

_NAMES = (("forward", "backward"), ("left", "right"), ("look_up", "look_down"), ("look_left", "look_right"))
_WALK = {*_NAMES[0], *_NAMES[1]}
_LOOK = {*_NAMES[2], *_NAMES[3]}


def labels_of(keys: ArrayLike) -> list[str]:
    """The label of each row of key codes (n, 4): columns ws, ad, ud, lr of whole numbers, 0 none, 1 first, 2 second.

    Names are joined with "+" in the order of the columns, such as "forward+look_left"; "no_op" where none is held.
    Raises ShapeError naming the row for other codes.
    Source: MIND, section 4.7.3 of the specification.
    """
    codes = np.asarray(keys)
    if codes.ndim != 2 or codes.shape[1] != 4:
        raise ShapeError(f"key codes are (n, 4): ws, ad, ud, lr; got {codes.shape}")
    wrong = np.argwhere(~np.isin(codes, (0, 1, 2)))
    if len(wrong):
        row, column = wrong[0]
        raise ShapeError(f"row {row}: '{('ws', 'ad', 'ud', 'lr')[column]}' is {codes[row, column]}; one of 0, 1, 2")
    return [_label(row) for row in codes.astype(int).tolist()]


def group_of(label: str, rule: GroupRule = "keys") -> str:
    """The group that `label` is in; see `GroupRule`.

    Raises UnknownNameError for a part of a label that is no key, UsageError for another rule.
    """
    if rule not in get_args(GroupRule):
        raise UsageError(f"no rule '{rule}' to group actions by; known: {', '.join(get_args(GroupRule))}")
    parts = set() if label == NO_OP else set(label.split("+"))
    for part in sorted(parts - _WALK - _LOOK):
        raise UnknownNameError("action", part, {*_WALK, *_LOOK, NO_OP})
    if rule == "released":
        return "translation" if label in _WALK else "other"
    if not parts:
        return "no_op"
    return "translation" if parts <= _WALK else "rotation" if parts <= _LOOK else "combined"


def _label(codes: list[int]) -> str:
    return "+".join(names[code - 1] for names, code in zip(_NAMES, codes, strict=True) if code) or NO_OP
