"""Labels and groups of actions: released ones, the README's, and what is none."""

import itertools
from typing import Any

import numpy as np
import pytest

from support.vectors import cases
from worldgauge.core.errors import ShapeError, UnknownNameError, UsageError
from worldgauge.suites.mind.metrics.action_accuracy import GROUPS, group_of, labels_of

EVERY = list(itertools.product(range(3), repeat=4))


@pytest.mark.parametrize("case", cases("mind_action_labels", "cases"))
def test_labels_and_groups_of_the_vector(case: dict[str, Any]) -> None:
    (label,) = labels_of([[case[key] for key in ("ws", "ad", "ud", "lr")]])
    assert label == case["label"]
    assert group_of(label, "released") == case["bucket_released"]
    assert group_of(label) == group_of(label, "keys") == case["bucket_recommended"]


def test_every_set_of_keys_has_a_label_of_its_own() -> None:
    labels = labels_of(EVERY)
    assert len(set(labels)) == len(EVERY) == 81
    assert labels[0] == "no_op"
    assert labels[-1] == "backward+right+look_down+look_right"
    assert {group_of(label) for label in labels} == set(GROUPS["keys"])
    # The released rotation group never holds anything (B2).
    assert {group_of(label, "released") for label in labels} == set(GROUPS["released"]) - {"rotation"}


def test_order_of_rows_is_kept() -> None:
    assert labels_of([[1, 0, 0, 0], [0, 0, 0, 2], [0, 0, 0, 0]]) == ["forward", "look_right", "no_op"]
    assert labels_of(EVERY[::-1]) == labels_of(EVERY)[::-1]
    assert labels_of(np.zeros((0, 4), np.uint8)) == []


def test_what_is_no_code_is_named() -> None:
    with pytest.raises(ShapeError, match=r"row 1: 'ud' is 3"):
        labels_of([[0, 0, 0, 0], [0, 0, 3, 0]])
    with pytest.raises(ShapeError, match=r"row 0: 'ws' is 0\.5"):
        labels_of([[0.5, 0, 0, 0]])
    with pytest.raises(ShapeError, match=r"\(n, 4\)"):
        labels_of([0, 1, 0, 0])
    with pytest.raises(UnknownNameError, match="Did you mean 'look_left'"):
        group_of("forward+look_lef")
    with pytest.raises(UsageError, match="no rule 'readme'"):
        group_of("forward", "readme")  # type: ignore[arg-type]
