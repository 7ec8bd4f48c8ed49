"""What is read of frames that are known: each state, what stands still, what is not there, and changed pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest
from scipy.optimize import nnls

from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.image import Image
from worldgauge.suites.unseen import scoring
from worldgauge.suites.unseen.format import FPS, SHOWN, STILL
from worldgauge.suites.unseen.metrics import progress
from worldgauge.suites.unseen.scoring import STEPS, Alternatives, alternatives_of, looks_away, read_end, world_of

KINDS = ("cart", "level", "lamp")
MOVING = ("cart", "level")


@pytest.fixture(scope="module")
def shown(things: dict[str, Episode]) -> dict[str, Alternatives]:
    """What the end of each episode may show."""
    sizes = {name: (one.camera.width, one.camera.height) for name, one in things.items()}
    return {name: alternatives_of(one, one.camera, sizes[name]) for name, one in things.items()}


def read(episode: Episode, shown: Alternatives, *frames: Image) -> scoring.Reading:
    return read_end(list(frames), episode.clip[-1], episode, shown)


def end(episode: Episode) -> list[Image]:
    return list(episode.clip[len(episode) - STILL :])


def left(episode: Episode, shown: Alternatives) -> Image:
    """The picture of the state that was left."""
    world = world_of(episode)
    picture: Image = shown.frames[int(np.abs(shown.states - world.state_at(world.time_s)).argmin())]
    return picture


@pytest.mark.parametrize("kind", MOVING)
def test_each_rendered_state_is_read_as_itself(
    kind: str, things: dict[str, Episode], shown: dict[str, Alternatives]
) -> None:
    world, times = world_of(things[kind]), (len(things[kind]) - 1) / FPS
    start, true = world.state_at(world.time_s), world.state_at(times)
    for state, frame in zip(shown[kind].states, shown[kind].frames, strict=False):
        found = read(things[kind], shown[kind], frame)
        assert found.state == state
        assert found.progress == pytest.approx(progress(state, start, true))
        assert found.fit < 1e-6
    ways = (shown[kind].states - start) / (true - start)
    assert ways[-1] == pytest.approx(2)
    assert np.allclose(np.diff(ways), 1 / STEPS, atol=0.6 / STEPS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_truth_has_advanced_and_a_stopped_clock_leaves_it(
    kind: str, things: dict[str, Episode], shown: dict[str, Alternatives]
) -> None:
    episode = things[kind]
    assert read(episode, shown[kind], *end(episode)).outcome == "advanced"
    assert read(episode, shown[kind], *[left(episode, shown[kind])] * STILL).outcome == "as left"
    assert read(episode, shown[kind], *[shown[kind].frames[-1]] * STILL).outcome == "other"


HARMLESS: dict[str, Callable[[Image], Image]] = {
    "tint": lambda frame: np.clip(frame.astype(int) + np.array([3, -3, 3]), 0, 255).astype(np.uint8),
    "brighter": lambda frame: np.clip(frame.astype(int) + 25, 0, 255).astype(np.uint8),
    "blur": lambda frame: cv2.GaussianBlur(frame, (0, 0), 1.0),
    "noise": lambda frame: np.clip(frame + np.random.default_rng(1).normal(0, 10, frame.shape), 0, 255).astype(
        np.uint8
    ),
    "jpeg": lambda frame: np.asarray(cv2.imdecode(cv2.imencode(".jpg", frame)[1], 1), np.uint8),
    "3 px off": lambda frame: np.roll(frame, 3, axis=1),
}


@pytest.mark.parametrize("change", HARMLESS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_harmless_change_changes_no_outcome(
    kind: str, change: str, things: dict[str, Episode], shown: dict[str, Alternatives]
) -> None:
    episode = things[kind]
    stopped = left(episode, shown[kind])
    assert read(episode, shown[kind], *map(HARMLESS[change], end(episode))).outcome == "advanced"
    assert read(episode, shown[kind], *[HARMLESS[change](stopped)] * STILL).outcome == "as left"


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_without_the_room_show_nothing(
    kind: str, things: dict[str, Episode], shown: dict[str, Alternatives]
) -> None:
    rng, shape = np.random.default_rng(5), shown[kind].frames[0].shape
    flat = [np.full(shape, colour, np.uint8) for colour in (0, 128, 255)]
    for red, green, blue in ((206, 40, 36), (246, 206, 60), (44, 158, 72), (46, 96, 214)):
        flat.append(np.full(shape, (red, green, blue), np.uint8))
    noise = [rng.integers(0, 256, shape, dtype=np.uint8) for _ in range(3)]
    for frame in (*flat, *noise):
        assert read(things[kind], shown[kind], frame, frame).outcome == "other"


def test_a_clock_that_runs_twice_as_fast_or_half_as_fast_is_neither(
    things: dict[str, Episode], shown: dict[str, Alternatives]
) -> None:
    for kind in MOVING:
        world, way = world_of(things[kind]), {}
        start = world.state_at(world.time_s)
        for speed in (0.5, 2.0):
            state = start + speed * (world.state_at((len(things[kind]) - 1) / FPS) - start)
            frame = shown[kind].frames[int(np.abs(shown[kind].states - state).argmin())]
            found = read(things[kind], shown[kind], frame)
            way[speed] = found.progress
            assert found.outcome == "other"
        assert way == pytest.approx({0.5: 0.5, 2.0: 2.0}, abs=0.05)


def test_a_thing_that_waits_at_the_end_of_its_rail_has_not_advanced(
    things: dict[str, Episode], shown: dict[str, Alternatives]
) -> None:
    for kind in MOVING:
        for frame in (shown[kind].frames[0], shown[kind].frames[len(shown[kind].states) - 1]):
            assert read(things[kind], shown[kind], *[frame] * STILL).outcome != "advanced"


@pytest.mark.parametrize("kind", KINDS)
def test_least_squares_agrees(kind: str, things: dict[str, Episode], shown: dict[str, Alternatives]) -> None:
    """An independent reading: the alternative that carries most weight when the frame is mixed from all of them."""
    episode = things[kind]
    pictures = shown[kind].frames.reshape(len(shown[kind].frames), -1).astype(np.float64)
    weights, _ = nnls(pictures.T, episode.clip[-1].ravel().astype(np.float64))
    found = read(episode, shown[kind], episode.clip[-1])
    assert found.state == pytest.approx(
        shown[kind].states[weights[:-1].argmax()], abs=2 * float(np.diff(shown[kind].states).max())
    )


def test_who_stays_or_turns_too_little_did_not_look_away(things: dict[str, Episode]) -> None:
    for episode in things.values():
        hidden = episode.facts["unseen"][0]
        in_view = np.stack(list(episode.clip[SHOWN - 1 : hidden]))
        middle = episode.clip[(SHOWN + len(episode) - STILL) // 2]
        assert looks_away(middle, middle, in_view)
        assert looks_away(np.full_like(middle, 128), middle, in_view)
        assert not looks_away(in_view[0], middle, in_view)
        assert not looks_away(in_view[len(in_view) // 2], middle, in_view)
        assert not looks_away(cv2.GaussianBlur(in_view[0], (0, 0), 2.0), middle, in_view)


def test_another_world_is_refused(things: dict[str, Episode]) -> None:
    params: dict[str, Any] = {"seed": 1}
    with pytest.raises(Exception, match="is not 'going-on'"):
        world_of(replace(things["cart"], world=WorldFacts("indoor", params)))
