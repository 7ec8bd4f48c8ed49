import math

import numpy as np
import pytest
from scipy.spatial.distance import cosine

from support.vectors import cases
from worldgauge.core.errors import ShapeError
from worldgauge.metrics.lpips_fvd import aesthetic, dino_mse, imaging


@pytest.mark.parametrize("case", cases("mind_feature_heads", "cases"))
def test_vector_feature_heads(case):
    r, count = np.random.default_rng(case["seed"]), case["F"]
    a = np.float32(r.normal(size=(count, 201, case["dim"])))
    b = np.float32(a + case["noise"] * r.normal(size=a.shape))
    features, weight = np.float32(r.normal(size=(count, 768))), np.float32(r.normal(size=768))
    bias, raw = np.float32(r.normal()), 100 * r.random(count)
    close = {"rtol": 1e-4, "atol": 1e-12}
    np.testing.assert_allclose([dino_mse(*pair) for pair in zip(a, b, strict=True)], case["dino_mse"], **close)
    np.testing.assert_allclose([aesthetic(each, weight[None], bias) for each in features], case["aesthetic"], **close)
    np.testing.assert_allclose([imaging(each) for each in raw], case["imaging"], **close)


def test_unit_tokens():
    # By hand.
    a, b = np.zeros((7, 2)), np.zeros((7, 2))
    a[5:], b[5:] = [[3, 0], [0, 2]], [[7, 0], [2, 0]]
    assert dino_mse(a, b) == pytest.approx((0 + 0 + 1 + 1) / 4), "one pair alike, one at a right angle"
    assert aesthetic(np.array([3.0, 4.0]), np.array([10.0, 5.0]), 2.0) == pytest.approx((6 + 4 + 2) / 10)
    assert imaging(62.5) == 0.625
    # Equals the cosine distance.
    a, b = np.random.default_rng(0).normal(size=(2, 12, 9))
    expected = np.mean([2 * cosine(one, other) for one, other in zip(a[5:], b[5:], strict=True)]) / 9
    assert dino_mse(a, b) == pytest.approx(expected)
    # Lengths order and special tokens do not matter.
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 12, 9))
    error = dino_mse(a, b)
    assert dino_mse(b, a) == pytest.approx(error)
    assert dino_mse(a * rng.uniform(0.1, 9, (12, 1)), b) == pytest.approx(error)
    a[:5] = 99
    assert dino_mse(a, b) == pytest.approx(error)
    feature, weight = rng.normal(size=(2, 9))
    assert aesthetic(7 * feature, weight, 1.0) == pytest.approx(aesthetic(feature, weight, 1.0))


def test_degenerate():
    tokens = np.random.default_rng(2).normal(size=(8, 4))
    assert dino_mse(tokens, tokens) == 0
    assert dino_mse(np.zeros_like(tokens), np.zeros_like(tokens)) == 0, "tokens of length 0 stay 0"
    assert dino_mse(tokens, -tokens) == pytest.approx(4 / 4), "the most there is"
    for one, other in ((tokens, tokens[:7]), (tokens[:5], tokens[:5]), (tokens[0], tokens[0]), (tokens[:, :0],) * 2):
        with pytest.raises(ShapeError, match="tokens"):
            dino_mse(one, other)
    with pytest.raises(ShapeError, match="not finite"):
        dino_mse(tokens, tokens * np.nan)
    for feature, weight in ((np.ones(3), np.ones(4)), (np.ones((1, 3)), np.ones(3)), (np.zeros(3), np.ones(3))):
        with pytest.raises(ShapeError, match="feature"):
            aesthetic(feature, weight, 0.0)
    for raw in (math.nan, math.inf):
        with pytest.raises(ShapeError, match="finite"):
            imaging(raw)
