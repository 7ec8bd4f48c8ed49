"""The reader of panoramas: by loops, by differences, at every heading, what the shipped one knows, and its file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldgauge.core.io import digest_of_file
from worldgauge.suites.worldinworld.home_strips import save_network
from worldgauge.suites.worldinworld.questions import panorama_reader as network
from worldgauge.suites.worldinworld.questions.panorama_reader import KINDS, THINGS
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import scene_seed
from worldgauge_lab import network_panorama_reader as train
from worldgauge_lab.network_layers import initial_weights
from worldgauge_lab.network_panorama_reader import HomePanoramas, sample


def wide_weights(seed: int = 0) -> dict[str, Any]:
    """Random weights in double precision, with biases."""
    rng = np.random.default_rng(seed)
    made = initial_weights(network.shapes(), rng)
    return {name: array + 0.05 * rng.standard_normal(array.shape) for name, array in made.items()}


def drawn(n: int, seed: int = 1, columns: int = 32) -> HomePanoramas:
    rng = np.random.default_rng(seed)
    return HomePanoramas(
        rng.uniform(-1, 1, (n, 48, columns, 3)),  # type: ignore[arg-type]
        rng.integers(0, len(KINDS), n),
        rng.random((n, len(THINGS))) < 0.3,
    )


def test_gradients_are_those_of_small_differences() -> None:
    weights, one, rng = wide_weights(4), drawn(2, 5), np.random.default_rng(6)
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


@pytest.mark.slow
def test_training_learns_and_gives_the_same_bytes_again(tmp_path: Path) -> None:
    made = [train.train(1, held_out=1, epochs=80) for _ in range(2)]
    for number, one in enumerate(made):
        save_network(one, tmp_path / f"{number}.npz")
    assert digest_of_file(tmp_path / "0.npz") == digest_of_file(tmp_path / "1.npz")
    home = sample(Home(scene_seed("train", 0)), np.random.default_rng(3))
    untrained = initial_weights(network.shapes(), np.random.default_rng(0))
    assert train.loss_and_gradients(made[0].weights, home)[0] < 0.6 * train.loss_and_gradients(untrained, home)[0]


def test_the_shipped_file_is_small_and_says_what_it_was_made_of() -> None:
    assert (Path(network.__file__).parent / network.FILE).stat().st_size < 300_000
    facts = network.shipped().facts
    assert facts["trained_on"]["homes"] == train.HOMES
    assert facts["trained_on"]["epochs"] == train.EPOCHS
    assert facts["room_accuracy"] > 0.75
    assert network.identity() == f"panorama-reader-2-{facts['trained_on']['digest'][:16]}"
