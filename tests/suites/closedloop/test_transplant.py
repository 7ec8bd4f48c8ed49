"""Pasting what moved in one picture into another: painted tables, an arm that is a bar, and things of squares."""

import numpy as np

from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.core.image import Frames
from worldgauge.suites.closedloop.models import Backdrop, in_picture, transplanted

SIDE = 100
TABLE, ARM, THING, LIT = (180, 150, 120), (250, 250, 250), (200, 30, 30), (30, 30, 200)


def picture(arm: tuple[int, int] | None = None, **things: tuple[int, int, tuple[int, int, int]]) -> Frames:
    """A table; arm: column and row of the lower end of a bar from the upper edge. things: column, row, colour."""
    seen = np.full((SIDE, SIDE, 3), TABLE, np.uint8)
    for column, row, colour in things.values():
        seen[row - 4 : row + 4, column - 4 : column + 4] = colour
    if arm is not None:
        column, row = arm
        seen[:row, column - 5 : column + 5] = ARM
    return seen


HOME = (50, 15)
AWAY = [picture(arm=(column, 60)) for column in (10, 30, 70, 90)]
BACKDROP = Backdrop.of([picture(HOME)] * 3, AWAY)


def at(*places: tuple[int, int], depth: float = 1.0) -> np.ndarray:
    return np.array([(column, row, depth) for column, row in places])


def test_the_backdrop_takes_the_arm_away_and_leaves_things() -> None:
    assert BACKDROP.covered[5, 50]
    assert not BACKDROP.covered[60].any()
    start = picture(HOME, thing=(20, 60, THING))
    np.testing.assert_array_equal(BACKDROP.cleared(start), picture(thing=(20, 60, THING)))
    hidden = picture(HOME)
    hidden[8:14, 45:55] = THING  # hangs where the arm would be
    assert (BACKDROP.cleared(hidden)[8:14, 45:55] == THING).all()


def test_the_arm_comes_to_where_it_is_asked_to_be() -> None:
    recording = [picture(HOME), picture(HOME), picture((30, 40)), picture((30, 60))]
    seen = picture(HOME, other=(80, 80, THING))
    was, asked = at(HOME, (30, 40), (30, 60)), at(HOME, (40, 45), (42, 60))
    frames = list(transplanted(BACKDROP, seen, seen, recording, asked, was))
    for frame, end in zip(frames, ((40, 45), (42, 60)), strict=True):
        np.testing.assert_array_equal(frame, picture(end, other=(80, 80, THING)))


def test_what_was_done_stays_where_it_was_done() -> None:
    """A thing lights up under the hand, and keeps its place when the hand goes on with another shift."""
    lit = picture((70, 40), thing=(20, 70, LIT))
    recording = [picture(HOME, thing=(20, 70, THING)), picture(HOME, thing=(20, 70, THING))]
    recording += [picture((20, 55), thing=(20, 70, THING)), lit]
    seen = picture(HOME, thing=(32, 73, THING))
    was, asked = at(HOME, (20, 55), (70, 40)), at(HOME, (32, 58), (60, 45))
    _, last = transplanted(BACKDROP, seen, seen, recording, asked, was)
    np.testing.assert_array_equal(last, picture((60, 45), thing=(32, 73, LIT)))


def test_what_had_changed_before_is_not_pasted() -> None:
    lit = {"thing": (20, 70, LIT)}
    recording = [picture(HOME, thing=(20, 70, THING)), picture((70, 40), **lit), picture((75, 50), **lit)]
    start, now = picture(HOME), picture((70, 40))
    was = asked = at((70, 40), (75, 50))
    (frame,) = transplanted(BACKDROP, start, now, recording, asked, was)
    np.testing.assert_array_equal(frame, picture((75, 50)))


def test_the_arm_that_is_there_leaves_its_place() -> None:
    start, now = picture(HOME, thing=(70, 80, THING)), picture((68, 40), thing=(70, 80, LIT))
    recording = [picture(HOME), picture((70, 42)), picture((30, 50))]
    was, asked = at((70, 42), (30, 50)), at((68, 40), (30, 50))
    (frame,) = transplanted(BACKDROP, start, now, recording, asked, was)
    np.testing.assert_array_equal(frame, picture((30, 50), thing=(70, 80, LIT)))


def test_what_comes_nearer_is_larger() -> None:
    recording = [picture(HOME), picture(HOME), picture((50, 40))]
    asked, was = at(HOME, (50, 40)), np.array([(*HOME, 1.0), (50, 40, 1.5)])
    (frame,) = transplanted(BACKDROP, picture(HOME), picture(HOME), recording, asked, was)
    assert 14 <= (frame[20] == ARM).all(axis=-1).sum() <= 16, "1.5 times 10, less its soft edges"


def test_places_in_a_picture() -> None:
    camera = Camera.from_vertical_fov(100, 100, 90)
    eye = pose_from_yaw_pitch((1.0, 2.0, 3.0), 0.0)  # looks along x
    found = in_picture(np.array([[3.0, 2.0, 3.0], [3.0, 1.0, 4.0]]), camera, eye)
    np.testing.assert_allclose(found, [[50, 50, 2], [75, 25, 2]], atol=1e-9)
