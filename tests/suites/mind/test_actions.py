"""MIND's keys: what a key code presses."""

import numpy as np

from worldgauge.suites.mind.actions import actions_of, space_of, steps_of, walk_look


def test_a_space_says_how_far_its_keys_lead() -> None:
    assert steps_of(walk_look()) == (1.0, 200.0)
    assert steps_of(space_of(0.4, 100.0)) == (0.4, 100.0)


def test_codes_become_the_buttons_of_the_space() -> None:
    space = walk_look()
    for column, names in enumerate((("forward", "back"), ("left", "right"), ("look_up", "look_down"))):
        for code, name in enumerate(names, start=1):
            keys = np.zeros((1, 4), np.uint8)
            keys[0, column] = code
            actions = actions_of(keys, space)
            assert actions.column(name)[0] == 1
            assert actions.values.sum() == 1
