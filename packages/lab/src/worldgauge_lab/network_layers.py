"""What training networks over strips of panoramas needs: changed strips, gradients of layers, and Adam."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from worldgauge.suites.worldinworld.home_strips import Array, Strip, Weights
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import scene_seed

S = TypeVar("S", bound=Iterable[Any])
CONTRAST, OFFSET, NOISE = 0.1, 0.1, 0.12
"""Most that training changes a strip by, of values in [-1, 1]: the gain, the level, the deviation of noise."""


def as_imagined(strips: Strip, rng: np.random.Generator) -> Strip:
    """Strips (n, rows, columns, 3) in [-1, 1] as a model may show them: recoloured, a third blurred, half noisy."""
    each = (len(strips), 1, 1, 3)
    made = strips * (1 + rng.uniform(-CONTRAST, CONTRAST, each)) + rng.uniform(-OFFSET, OFFSET, each)
    wide = np.pad(made, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="edge")
    rows = (wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]) / 4
    soft = (rows[:, :, :-2] + 2 * rows[:, :, 1:-1] + rows[:, :, 2:]) / 4
    made = np.where(rng.random((len(strips), 1, 1, 1)) < 1 / 3, soft, made)
    sigma = rng.uniform(0, NOISE, (len(strips), 1, 1, 1)) * (rng.random((len(strips), 1, 1, 1)) < 0.5)
    return np.asarray(np.clip(made + sigma * rng.standard_normal(strips.shape), -1, 1), np.float32)


def initial_weights(shapes: Mapping[str, tuple[int, ...]], rng: np.random.Generator) -> dict[str, Array]:
    """Weights before training: normal by the number of inputs (He and others 2015), and biases of zero."""
    made = {}
    for name, shape in shapes.items():
        spread = math.sqrt(2 / shape[0]) if len(shape) > 1 else 0.0
        made[name] = (rng.standard_normal(shape) * spread).astype(np.float32)
    return made


def through_dense(layer: str, weights: Weights, inputs: Array, by_outputs: Array, gradients: dict[str, Array]) -> Array:
    """Add to the gradients of a dense layer, and return that of its inputs."""
    flat = by_outputs.reshape(-1, by_outputs.shape[-1])
    gradients[f"w{layer}"] += inputs.reshape(-1, inputs.shape[-1]).T @ flat
    gradients[f"b{layer}"] += flat.sum(axis=0)
    return np.asarray(by_outputs @ weights[f"w{layer}"].T)


def through_patches(by_patches: Array, values: Array, wraps: bool) -> Array:
    """Return the gradient of values (n, h, w, c) whose padded patches were taken."""
    n, height, width, units = values.shape
    by_padded = np.zeros((n, height + 1, width + 1, units), by_patches.dtype)
    by_patches = by_patches.reshape(n, height // 2, width // 2, 9, units)
    for row in range(3):
        for column in range(3):
            by_padded[:, row : row + height : 2, column : column + width : 2] += by_patches[:, :, :, 3 * row + column]
    by_padded[:, :, -1 if wraps else 1] += by_padded[:, :, 0]
    by_padded[:, 1] += by_padded[:, 0]
    return by_padded[:, 1:, 1:]


class Adam:
    """Fits weights step by step (Kingma and Ba 2015); the rate rises at first, then falls to 0 as a cosine."""

    RATE, WARM_UP, DECAY = 2e-3, 50, 1e-4

    def __init__(self, weights: Weights, steps: int) -> None:
        self.weights = dict(weights)
        self._steps, self._step = steps, 0
        self._mean = {name: np.zeros_like(array) for name, array in weights.items()}
        self._square = {name: np.zeros_like(array) for name, array in weights.items()}

    def step(self, gradients: Weights) -> None:
        """Move the weights against their gradients."""
        self._step += 1
        rate = self.RATE * min(1, self._step / self.WARM_UP) * (1 + math.cos(math.pi * self._step / self._steps)) / 2
        for name, array in self.weights.items():
            slope = gradients[name] + self.DECAY * array if array.ndim > 1 else gradients[name]
            self._mean[name] = 0.9 * self._mean[name] + 0.1 * slope
            self._square[name] = 0.99 * self._square[name] + 0.01 * slope**2
            size = np.sqrt(self._square[name] / (1 - 0.99**self._step)) + 1e-7
            moved = array - rate * self._mean[name] / (1 - 0.9**self._step) / size
            self.weights[name] = moved.astype(np.float32)


def trained_on_homes(
    homes: int,
    held_out: int,
    epochs: int,
    progress: Callable[[int, int], None],
    *,
    salt: int,
    version: int,
    sample: Callable[[Home, np.random.Generator], S],
    initial: Callable[[np.random.Generator], Weights],
    gradients: Callable[[Weights, S, np.random.Generator], Weights],
    quality: Callable[[Weights, Sequence[S]], dict[str, float]],
) -> tuple[Weights, dict[str, Any]]:
    """Fit a network to samples of homes, a home at a time; returns its weights and metadata. Homes are of the training
    split, `held_out` ones of the validation split. `salt` is of the random numbers of each home, `version` of the
    file."""
    total = homes + held_out + homes * epochs

    def samples(split: str, count: int, before: int) -> list[S]:
        made = []
        for number in range(count):
            seed = scene_seed(split, number)
            made.append(sample(Home(seed), np.random.default_rng([seed, salt])))
            progress(before + number + 1, total)
        return made

    learned, held = samples("train", homes, 0), samples("val", held_out, homes)
    rng = np.random.default_rng(0)
    fit = Adam(initial(rng), epochs * homes)
    order = (int(index) for _ in range(epochs) for index in rng.permutation(homes))
    for step, index in enumerate(order, 1):
        fit.step(gradients(fit.weights, learned[index], rng))
        progress(homes + held_out + step, total)
    return fit.weights, {
        "version": version,
        "trained_on": {"homes": homes, "epochs": epochs, "digest": digest_of_samples(learned)},
        "validated_on": {"homes": held_out, "digest": digest_of_samples(held)},
        **quality(fit.weights, held),
    }


def digest_of_samples(samples: Sequence[Iterable[Any]]) -> str:
    """SHA-256 over the arrays of samples."""
    found = hashlib.sha256()
    for array in (array for one in samples for array in one):
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()
