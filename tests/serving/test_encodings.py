"""Keys, mouse and sentences made of the actions of every space, by what they do."""

import numpy as np
import pytest

from worldgauge.core.actions import HAND_POSES, LOOP_WALK, WALK_STEP_M, Actions
from worldgauge.core.actions import motions as nominal
from worldgauge.suites.mind.actions import walk_look
from worldgauge.worlds.walking.primitives import NAV_STEPS
from worldgauge_serve import KEYS, NotApplicable, key_rows, key_sentences, motions, mouse_deltas

MOVES = {"forward": "The camera pushes forward (W).", "forward+left": "Forward and left.", "back": "Back."}
TURNS = {"look_right": "The camera pans to the right.", "look_left": "It pans to the left.", "look_up": "It tilts up."}


def loop(*rows: tuple[float, float, float, float]) -> Actions:
    """forward, jump, yaw in degrees to the left, pitch in degrees up."""
    values = np.array(rows, np.float32).reshape(-1, 4)
    values[:, 2:] = np.radians(values[:, 2:])
    return Actions(LOOP_WALK, values)


def mind(*names: str) -> Actions:
    """A row for each text of held keys, such as "forward left"."""
    space = walk_look()
    rows = [[float(axis.name in held.split()) for axis in space.axes] for held in names]
    return Actions(space, np.array(rows, np.float32))


@pytest.mark.parametrize("space", [LOOP_WALK, NAV_STEPS, walk_look(3.0, 0.5)], ids=lambda space: space.name)
def test_motions_are_those_of_the_core(space: object) -> None:
    rng = np.random.default_rng(1)
    actions = Actions(space, rng.random((9, len(space))).astype(np.float32))
    np.testing.assert_allclose(motions(actions), nominal(actions), atol=1e-12)
    assert motions(actions)[:, 0].any()


def test_keys_of_loops_and_of_keys() -> None:
    actions = loop((1, 0, 0, 0), (1, 1, 3, 0), (0, 0, -3, 0), (0, 0, 0.05, 2), (0, 0, 0, -2))
    rows = key_rows(actions, ("forward", "back", "jump", "look_left", "look_right", "look_up", "look_down", "sprint"))
    assert rows.dtype == np.float32
    assert rows.tolist() == [
        [1, 0, 0, 0, 0, 0, 0, 0],
        [1, 0, 1, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 1, 0, 0],  # a turn of 0.05 degrees is no key
        [0, 0, 0, 0, 0, 0, 1, 0],
    ]
    assert key_rows(actions, ("look_left",), least_deg=0.01)[3] == 1
    assert key_rows(loop(), ("forward",)).shape == (0, 1)
    space = walk_look()
    names = [axis.name for axis in space.axes]
    held = (np.random.default_rng(2).random((50, 8)) < 0.3).astype(np.float32)
    held[:, 1::2] *= 1 - held[:, ::2]  # a key and its opposite cancel each other
    np.testing.assert_array_equal(key_rows(Actions(space, held), names), held)
    assert KEYS.keys() >= {axis.name for axis in walk_look().axes}
    assert motions(mind("forward left look_up look_left")).round(4).tolist() == [
        [round(2 / 24, 4), round(2 / 24, 4), 0, round(np.radians(1), 4), round(np.radians(1), 4)]
    ]
    assert motions(loop((1, 0, 0, 0)))[0, 0] == pytest.approx(WALK_STEP_M)


def test_the_mouse_moves_by_degrees_in_the_models_unit() -> None:
    actions = loop((0, 0, 30, 0), (0, 0, -15, 7.5), (1, 0, 0, 0))
    np.testing.assert_allclose(mouse_deltas(actions, 15.0), [[-2, 0], [1, -0.5], [0, 0]], atol=1e-6)
    np.testing.assert_allclose(mouse_deltas(actions, 15.0, ("up", "left")), [[0, 2], [0.5, -1], [0, 0]], atol=1e-6)
    np.testing.assert_allclose(mouse_deltas(mind("look_right look_up"), axes=("right", "up")), [[1, 1]], atol=1e-6)


def test_sentences_of_keys() -> None:
    actions = mind("forward", "forward", "forward look_right", "", "forward left look_left", "forward left", "", "")
    said = key_sentences(actions, MOVES, TURNS, steps=4)
    assert [one.text for one in said] == ["The camera pushes forward (W).", "Forward and left."]
    assert [one.share for one in said] == [0.5, 0.25]
    (whole,) = key_sentences(mind(*["forward look_right"] * 3), MOVES, TURNS, steps=32)
    assert whole == ("The camera pushes forward (W). The camera pans to the right.", 1.0)
    assert key_sentences(mind("", ""), MOVES, TURNS, steps=2) == [("", 1.0)], "standing still adds no sentence"
    assert key_sentences(loop(), MOVES, TURNS, steps=2) == []
    with pytest.raises(NotApplicable, match=r"no sentence for back\+left"):
        key_sentences(mind("back left"), MOVES, TURNS, steps=1)
    with pytest.raises(NotApplicable, match="no sentence for look_down"):
        key_sentences(mind("look_down"), MOVES, TURNS, steps=1)
    hand = Actions(HAND_POSES, np.zeros((2, 7), np.float32))
    for encode in (motions, lambda each: key_rows(each, ("forward",)), mouse_deltas):
        with pytest.raises(NotApplicable, match="actions of 'hand-poses' move no camera"):
            encode(hand)
