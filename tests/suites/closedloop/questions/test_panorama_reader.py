"""The reader of panoramas: by loops, by differences, at every heading, what the shipped one knows, and its file."""

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Panorama
from worldgauge.suites.closedloop.home_strips import panorama_strip
from worldgauge.suites.closedloop.questions import panorama_reader as network
from worldgauge.suites.closedloop.questions.panorama_reader import (
    FINER,
    KINDS,
    THINGS,
    PanoramaReader,
    Sample,
    look,
    read,
)
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import scene_seed
from worldgauge.worlds.walking.primitives import Stance


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


def drawn(n: int, seed: int = 1, columns: int = 32) -> Sample:
    rng = np.random.default_rng(seed)
    return Sample(
        rng.uniform(-1, 1, (n, 48, columns, 3)),  # type: ignore[arg-type]
        rng.integers(0, len(KINDS), n),
        rng.random((n, len(THINGS))) < 0.3,
    )


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
    weights, one = wide_weights(), drawn(1)
    np.testing.assert_allclose(look(weights, one.strips).logits[0], by_loops(weights, one.strips[0]), rtol=1e-9)


def test_the_heading_does_not_matter() -> None:
    weights, one = wide_weights(), drawn(2, columns=64)
    turned = np.roll(one.strips, 16, axis=2)
    np.testing.assert_allclose(look(weights, turned).logits, look(weights, one.strips).logits, rtol=1e-9)


def test_without_weights_all_rooms_are_as_likely_and_biases_decide() -> None:
    weights = {name: np.zeros(shape, np.float32) for name, shape in network.shapes().items()}
    weights["b6"][len(KINDS)] = np.log(3)
    found = PanoramaReader(weights, {}).read(drawn(1).strips[0])
    assert sum(found.rooms.values()) == pytest.approx(1)
    assert found.rooms["kitchen"] == pytest.approx(1 / len(KINDS))
    assert found.things[THINGS[0]] == pytest.approx(0.75)
    assert found.things[THINGS[1]] == pytest.approx(0.5)


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
    network.save(PanoramaReader(made, {"version": 2}), tmp_path / "made.npz")
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
