"""The reader of panoramas, and the reviser that uses it."""

import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldgauge.core.episode import Goal
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.core.image import Image
from worldgauge.core.panorama import rolled
from worldgauge.suites.worldinworld.home_env import HomeTaskEnv
from worldgauge.suites.worldinworld.home_strips import panorama_strip, save_network
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    Candidate,
    Decision,
    PolicyKit,
    Rollout,
    revisers,
)
from worldgauge.suites.worldinworld.questions import panorama_reader as network
from worldgauge.suites.worldinworld.questions import panorama_reader as panorama_answerer
from worldgauge.suites.worldinworld.questions.answering import parse_question
from worldgauge.suites.worldinworld.questions.panorama_reader import (
    FINER,
    KINDS,
    MARGIN,
    THINGS,
    PanoramaAnswerer,
    PanoramaReader,
    PanoramaReading,
    look,
    promise,
    read,
)
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import scene_seed
from worldgauge.worlds.walking.primitives import QUARTER_TURN, Primitive, Stance

KIT = PolicyKit("questions", 60)


CAMERA, PANORAMA = Camera.from_horizontal_fov(84, 72, 105.0), Panorama(256, 144)


RNG = np.random.default_rng(0)


GOAL = Goal(text="Is the oven on or off?")


PLANS = [ActionPlan((Primitive.FORWARD,) * steps, "test") for steps in (3, 4, 5)]


@pytest.fixture(scope="module")
def env() -> HomeTaskEnv:
    home = Home(2_000_002)
    made = HomeTaskEnv(home, Stance(0.0, 0.0, 0.0), camera=CAMERA, panorama=PANORAMA)
    x, y, _ = made.ground.nearest([*made.rooms[0].middle, 0.0])
    made.stance = made._start = Stance(float(x), float(y), 0.3)
    return made


def middle(env: HomeTaskEnv, kind: str) -> Image:
    """The panorama in the middle of the first room of a kind."""
    room = next(room for room in env.world.plan.rooms if room.kind == kind)  # type: ignore[attr-defined]
    x, y, _ = env.ground.nearest([*(np.array(room.low) + np.array(room.high)) / 2, 0.0])
    return env.view(Stance(float(x), float(y), 0.0), PANORAMA).rgb


def panoramas(real: Image, ends: Sequence[Image]) -> list[Rollout]:
    return [Rollout(np.stack([real, end]), "panorama", CAMERA, np.array([0, 1]), 2) for end in ends]


def decide(env: HomeTaskEnv, rollouts: Sequence[Rollout | None]) -> Decision:
    candidates = [Candidate(plan, rollout, lambda: None) for plan, rollout in zip(PLANS, rollouts, strict=True)]
    return PanoramaAnswerer(KIT).revise(candidates, env.observe(), GOAL, [], RNG)


def test_the_way_whose_end_shows_the_room_of_the_thing_is_taken(env: HomeTaskEnv) -> None:
    real = env.observe().panorama
    ends = [middle(env, kind) for kind in ("bedroom", "bathroom", "kitchen")]
    found = decide(env, panoramas(real, ends))
    assert (found.chosen, found.answer, found.plan) == (2, None, PLANS[2])
    assert found.scores[0] is not None
    assert found.scores[2] > found.scores[0] + MARGIN


def test_without_anything_new_the_first_way_is_taken(env: HomeTaskEnv) -> None:
    real = env.observe().panorama
    assert decide(env, [None] * 3).chosen == 0
    assert decide(env, [None] * 3).scores == ()
    still = decide(env, panoramas(real, [rolled(real, 22.5 * turns) for turns in range(3)]))
    assert still.chosen == 0
    assert decide(env, panoramas(real, [middle(env, "kitchen")] * 3)).chosen == 0, "all promise the same"


def test_of_a_model_of_single_views_the_end_is_read_all_around(
    env: HomeTaskEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []

    class Reads:
        def read(self, strip: Any) -> PanoramaReading:
            read.append(strip)
            return PanoramaReading({}, {})

    monkeypatch.setattr(panorama_answerer, "shipped", Reads)
    shades = np.arange(0, 3 + 3 * QUARTER_TURN + 1, dtype=np.uint8) * 10
    frames = np.broadcast_to(shades[:, None, None, None], (len(shades), 72, 84, 3)).copy()
    steps = np.where(np.arange(len(shades)) < 4, np.arange(len(shades)), -1)
    decide(env, [Rollout(frames, "perspective", CAMERA, steps, 4), None, None])
    then, now = (np.rint((strip[24, 32::64, 0] + 1) * 127.5).tolist() for strip in read)
    # Frame 3 is the plan's end; the model then turned left: the left is frame 7, behind 11, the right 15.
    assert (then, now) == ([30.0, 150.0, 110.0, 70.0], [0.0, 0.0, 0.0, 0.0])
    assert read[0].shape == (48, 256, 3)


def test_the_answer_comes_from_what_was_really_seen(env: HomeTaskEnv) -> None:
    things = env.things
    oven = next(thing for thing in things.values() if thing.name == "oven")
    x, y, _ = env.ground.nearest((np.array(oven.low) + np.array(oven.high)) / 2)
    before = env.stance
    answerer = PanoramaAnswerer(KIT)
    candidates = [Candidate(PLANS[0], None, lambda: None)]
    assert answerer.revise(candidates, env.observe(), GOAL, [], RNG).answer is None
    env.stance = Stance(float(x), float(y), 0.0)
    found = answerer.revise(candidates, env.observe(), GOAL, [], RNG)
    env.stance = before
    assert (found.answer, found.stop, found.plan) == (oven.state, True, None)


def test_the_promise_by_hand() -> None:
    reading = PanoramaReading(
        {"kitchen": 0.5, "study": 0.25}, {"oven": 0.8, "books": 0.4, "table lamp": 0.6, "desk": 0.2}
    )
    assert promise(reading, parse_question("Is the oven on or off?")) == pytest.approx(0.8)
    assert promise(reading, parse_question("Is the oven in the kitchen on or off?")) == pytest.approx(0.4)
    assert promise(reading, parse_question("What in the kitchen is red?")) == pytest.approx(0.5)
    nearer = "Is the desk closer to the table lamp or to the books?"
    assert promise(reading, parse_question(nearer)) == pytest.approx(0.4), "the mean of those that it is about"
    assert promise(reading, parse_question("Hello?")) == 1.0, "nothing to look for: every place is alike"


def test_it_is_registered_with_what_its_answers_depend_on() -> None:
    assert revisers.get("panorama-answerer") is PanoramaAnswerer
    assert revisers.entry("panorama-answerer").facts["identity"]().startswith("panorama-reader-2-")


def random_weights(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Normal by the number of inputs, and biases of zero."""
    return {
        name: (rng.standard_normal(shape) * (math.sqrt(2 / shape[0]) if len(shape) > 1 else 0.0)).astype(np.float32)
        for name, shape in network.shapes().items()
    }


def wide_weights(seed: int = 0) -> dict[str, Any]:
    """Random weights in double precision, with biases."""
    rng = np.random.default_rng(seed)
    made = random_weights(rng)
    return {name: array + 0.05 * rng.standard_normal(array.shape) for name, array in made.items()}


def strips(n: int, columns: int = 32) -> Any:
    return np.random.default_rng(1).uniform(-1, 1, (n, 48, columns, 3))


def by_loops(weights: Any, strip: Any) -> Any:
    """The same network, written from its description, one number at a time."""
    values = strip
    for name in ("1", "2", "3"):
        height, width = values.shape[:2]
        out = np.zeros((height // 2, width // 2, len(weights[f"b{name}"])))
        for row in range(height // 2):
            for column in range(width // 2):
                near = [
                    values[max(2 * row + down, 0), (2 * column + right) % width]
                    for down in (-1, 0, 1)
                    for right in (-1, 0, 1)
                ]
                out[row, column] = np.maximum(np.concatenate(near) @ weights[f"w{name}"] + weights[f"b{name}"], 0)
        values = out
    width = values.shape[1]
    hidden = []
    for column in range(width):
        three = np.concatenate([values[:, (column + aside) % width].ravel() for aside in (-1, 0, 1)])
        hidden.append(np.maximum(three @ weights["w4"] + weights["b4"], 0))
    pooled = np.concatenate([np.max(hidden, axis=0), np.mean(hidden, axis=0)])
    return np.maximum(pooled @ weights["w5"] + weights["b5"], 0) @ weights["w6"] + weights["b6"]


def test_the_network_by_loops() -> None:
    weights, seen = wide_weights(), strips(1)
    np.testing.assert_allclose(look(weights, seen).logits[0], by_loops(weights, seen[0]), rtol=1e-9)


def test_the_heading_does_not_matter() -> None:
    weights, seen = wide_weights(), strips(2, columns=64)
    turned = np.roll(seen, 16, axis=2)
    np.testing.assert_allclose(look(weights, turned).logits, look(weights, seen).logits, rtol=1e-9)


def test_without_weights_all_rooms_are_as_likely_and_biases_decide() -> None:
    weights = {name: np.zeros(shape, np.float32) for name, shape in network.shapes().items()}
    weights["b6"][len(KINDS)] = np.log(3)
    found = PanoramaReader(weights, {}).read(strips(1)[0])
    assert sum(found.rooms.values()) == pytest.approx(1)
    assert found.rooms["kitchen"] == pytest.approx(1 / len(KINDS))
    assert (found.things[THINGS[0]], found.things[THINGS[1]]) == (pytest.approx(0.75), pytest.approx(0.5))


def test_the_shipped_network_knows_rooms_of_a_home_it_has_never_seen() -> None:
    home, reader = Home(scene_seed("test", 500_000)), network.shipped()
    right = []
    for room in home.plan.rooms:
        x, y = (np.array(room.low) + np.array(room.high)) / 2
        view = home.view(Stance(float(x), float(y), 0.4).eye(), Panorama(256, 144))
        found = reader.read(panorama_strip(view.rgb, FINER))
        right.append(max(found.rooms, key=lambda kind: found.rooms[kind]) == room.kind)
    assert np.mean(right) >= 0.75


@pytest.fixture
def content(tmp_path: Path) -> dict[str, Any]:
    made = random_weights(np.random.default_rng(0))
    save_network(PanoramaReader(made, {"version": 2}), tmp_path / "made.npz")
    with np.load(tmp_path / "made.npz") as arrays:
        return {name: arrays[name] for name in arrays.files}


def stored(content: dict[str, Any]) -> bytes:
    made = io.BytesIO()
    np.savez(made, **content)
    return made.getvalue()


def test_what_is_saved_is_read(content: dict[str, Any]) -> None:
    made = read(stored(content), "made.npz")
    assert made.facts == {"version": 2}
    np.testing.assert_array_equal(made.weights["w3"], content["w3"].astype(np.float32))


def test_a_file_of_another_version_is_refused(content: dict[str, Any]) -> None:
    other = {**content, "facts": np.frombuffer(json.dumps({"version": 1}).encode(), np.uint8)}
    with pytest.raises(DataError, match=r"made\.npz: no reader of panoramas \(version 1, not 2\); train it again"):
        read(stored(other), "made.npz")
