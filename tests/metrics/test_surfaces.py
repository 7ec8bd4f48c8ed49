"""Surfaces told apart by where they are."""

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.metrics.reobservation import NO_SURFACE, surface_codes


def test_surface_codes() -> None:
    # By hand.
    hits = np.array([[[0.1, 0.1, 3.0], [0.2, -0.2, 3.0], [0.3, 0.1, 3.0], [np.nan] * 3]], np.float32)
    first, same, next_cell, sky = surface_codes(hits)[0]
    assert first == same
    assert first != next_cell
    assert sky == NO_SURFACE
    # Equals rounded triples.
    hits = np.random.default_rng(0).uniform(-5, 5, (30, 40, 3)).astype(np.float32)
    triples = [tuple(one) for one in np.floor(hits.reshape(-1, 3) / np.float32(0.5) + 0.5)]
    by_triple: dict[tuple[float, ...], int] = {}
    for triple, code in zip(triples, surface_codes(hits).ravel(), strict=True):
        assert by_triple.setdefault(triple, code) == code
    assert len(set(by_triple.values())) == len(by_triple)
    # The size of the lattice is a unit.
    hits = np.random.default_rng(1).uniform(-5, 5, (20, 20, 3)).astype(np.float32)
    assert np.array_equal(surface_codes(hits, cell=0.5), surface_codes(2 * hits, cell=1.0))
    # Wrong shapes and far places are refused.
    with pytest.raises(ShapeError, match="need shape"):
        surface_codes(np.zeros((4, 4), np.float32))
    with pytest.raises(ShapeError, match=r"more than .* cells"):
        surface_codes(np.full((2, 2, 3), 1e9, np.float32))
    assert surface_codes(np.zeros((0, 4, 3), np.float32)).shape == (0, 4)
