"""The network of nearness: by loops, by differences, at every heading, and its file."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldgauge.core.errors import DataError
from worldgauge.core.io import digest_of_file
from worldgauge.suites.worldinworld.home_strips import save_network
from worldgauge.suites.worldinworld.navigation import nearness as network
from worldgauge.suites.worldinworld.navigation.nearness import GROUP, GROUPS, Nearness, encode, match, read
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import scene_seed
from worldgauge_lab import network_nearness as train
from worldgauge_lab.network_nearness import HomeSample, sample


def wide_weights(seed: int = 0) -> dict[str, Any]:
    """Random weights in double precision, with biases."""
    rng = np.random.default_rng(seed)
    made = train.initial(rng)
    return {name: array + 0.05 * rng.standard_normal(array.shape) for name, array in made.items()}


def drawn(views: int, panoramas: int, seed: int = 1) -> HomeSample:
    rng = np.random.default_rng(seed)
    return HomeSample(
        rng.uniform(-1, 1, (views, 24, 32, 3)),
        rng.uniform(-1, 1, (panoramas, 24, 128, 3)),
        rng.uniform(0, 8, (views, panoramas)),  # type: ignore[arg-type]
    )


def estimates(weights: Any, views: Any, panoramas: Any) -> Any:
    return match(weights, encode(weights, views, wraps=False), encode(weights, panoramas, wraps=True)).estimates


def by_loops(weights: Any, view: Any, panorama: Any) -> float:
    """The same network, written from its description, one number at a time."""

    def layer(values: Any, name: str, wraps: bool) -> Any:
        height, width = values.shape[:2]
        out = np.zeros((height // 2, width // 2, len(weights[f"b{name}"])))
        for row in range(height // 2):
            for column in range(width // 2):
                near = []
                for down in (-1, 0, 1):
                    for right in (-1, 0, 1):
                        x = 2 * column + right
                        near.append(values[max(2 * row + down, 0), x % width if wraps else max(x, 0)])
                out[row, column] = np.concatenate(near) @ weights[f"w{name}"] + weights[f"b{name}"]
        return np.maximum(out, 0)

    def descriptors(strip: Any, wraps: bool) -> Any:
        values = layer(layer(strip, "1", wraps), "2", wraps)
        width = values.shape[1]
        found = []
        for column in range(width):
            sides = [
                (column + aside) % width if wraps else min(max(column + aside, 0), width - 1) for aside in (-1, 0, 1)
            ]
            raw = np.concatenate([values[:, side].ravel() for side in sides]) @ weights["w3"] + weights["b3"]
            parts = raw.reshape(GROUPS, GROUP)
            found.append([part / np.sqrt(part @ part + 0.1) for part in parts])
        return np.array(found)

    seen, around = descriptors(view, False), descriptors(panorama, True)
    hidden = []
    for shift in range(len(around)):
        matches = [
            seen[column, group] @ around[(column + shift + aside) % len(around), group]
            for column in range(len(seen))
            for aside in (-1, 0, 1)
            for group in range(GROUPS)
        ]
        hidden.append(np.maximum(np.array(matches) @ weights["w4"] + weights["b4"], 0))
    pooled = np.concatenate([np.max(hidden, axis=0), np.mean(hidden, axis=0)])
    last = np.maximum(pooled @ weights["w5"] + weights["b5"], 0)
    return float((last @ weights["w6"] + weights["b6"])[0])


def test_the_network_by_loops() -> None:
    weights, one = wide_weights(), drawn(1, 1)
    assert estimates(weights, one.views, one.panoramas)[0, 0] == pytest.approx(
        by_loops(weights, one.views[0], one.panoramas[0]), rel=1e-9
    )


def test_pairs_do_not_depend_on_what_they_are_asked_with() -> None:
    weights, one = wide_weights(), drawn(3, 2)
    together = estimates(weights, one.views, one.panoramas)
    alone = estimates(weights, one.views[1:2], one.panoramas[1:])
    assert together[1, 1] == pytest.approx(alone[0, 0], rel=1e-12)


@pytest.mark.parametrize("columns", [8, 40, 64, -8])
def test_the_heading_of_the_panorama_does_not_matter(columns: int) -> None:
    weights, one = wide_weights(), drawn(2, 2)
    turned = np.roll(one.panoramas, columns, axis=2)
    np.testing.assert_allclose(
        estimates(weights, one.views, turned), estimates(weights, one.views, one.panoramas), rtol=1e-12
    )


def test_without_weights_the_last_bias_is_the_estimate() -> None:
    weights = {name: np.zeros(shape, np.float32) for name, shape in network.shapes().items()}
    weights["b6"][:] = 1.25
    one = drawn(2, 1)
    np.testing.assert_array_equal(estimates(weights, one.views, one.panoramas), np.full((2, 1), 1.25))


def test_gradients_are_those_of_small_differences() -> None:
    weights, one, rng = wide_weights(4), drawn(3, 2, 5), np.random.default_rng(6)
    _, gradients = train.loss_and_gradients(weights, one)
    assert gradients.keys() == weights.keys()
    for name, array in weights.items():
        largest = np.unravel_index(int(np.abs(gradients[name]).argmax()), array.shape)
        for place in (largest, tuple(int(rng.integers(side)) for side in array.shape)):
            before, losses = array[place], []
            for step in (1e-5, -1e-5):
                array[place] = before + step
                losses.append(train.loss_and_gradients(weights, one)[0])
            array[place] = before
            slope = (losses[0] - losses[1]) / 2e-5
            assert gradients[name][place] == pytest.approx(slope, rel=1e-4, abs=1e-8), name


def test_training_learns_and_gives_the_same_bytes_again(tmp_path: Path) -> None:
    made = [train.train(1, held_out=1, epochs=12) for _ in range(2)]
    for number, one in enumerate(made):
        save_network(one, tmp_path / f"{number}.npz")
    assert digest_of_file(tmp_path / "0.npz") == digest_of_file(tmp_path / "1.npz")
    home = sample(Home(scene_seed("train", 0)), np.random.default_rng(3))
    untrained = train.loss_and_gradients(train.initial(np.random.default_rng(0)), home)[0]
    assert train.loss_and_gradients(made[0].weights, home)[0] < 0.6 * untrained


def test_the_shipped_network_orders_places_of_a_home_it_has_never_seen() -> None:
    home = sample(Home(scene_seed("test", 500_000)), np.random.default_rng(0))
    told = train.quality(network.shipped().weights, [home])
    assert told["rank_correlation"] > 0.35
    assert told["rank_correlation_within_3_m"] > 0.35


def test_the_shipped_file_is_small_and_says_what_it_was_made_of() -> None:
    assert (Path(network.__file__).parent / network.FILE).stat().st_size < 200_000
    facts = network.shipped().facts
    assert facts["trained_on"]["homes"] == train.HOMES
    assert facts["trained_on"]["epochs"] == train.EPOCHS
    assert network.identity() == f"nearness-{network.VERSION}-{facts['trained_on']['digest'][:16]}"


@pytest.fixture
def content(tmp_path: Path) -> dict[str, Any]:
    save_network(Nearness(train.initial(np.random.default_rng(0)), {"version": network.VERSION}), tmp_path / "made.npz")
    with np.load(tmp_path / "made.npz") as arrays:
        return {name: arrays[name] for name in arrays.files}


def stored(content: dict[str, Any]) -> bytes:
    made = io.BytesIO()
    np.savez(made, **content)
    return made.getvalue()


def test_what_is_saved_is_read(content: dict[str, Any]) -> None:
    made = read(stored(content), "made.npz")
    assert made.facts == {"version": network.VERSION}
    np.testing.assert_array_equal(made.weights["w3"], content["w3"].astype(np.float32))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"facts": np.frombuffer(json.dumps({"version": 1}).encode(), np.uint8)}, f"version 1, not {network.VERSION}"),
        ({"facts": np.frombuffer(b"[", np.uint8)}, "no network of nearness"),
        ({"w4": np.zeros((2, 2), np.float16)}, "not the arrays of this network: w4"),
        ({"b1": np.full(24, np.nan, np.float16)}, "not all are finite"),
        ({"more": np.zeros(2**20, np.uint8)}, "more than 1048576 bytes"),
    ],
)
def test_a_file_that_is_something_else_is_refused(content: dict[str, Any], change: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read(stored({**content, **change}), "made.npz")
