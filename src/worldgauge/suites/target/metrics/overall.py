"""The overall score of a path: one number of five (Target-Bench, section 4)."""

from __future__ import annotations

import math

from worldgauge.metrics._registry import metric
from worldgauge.suites.target.metrics.profiles import RELEASED, Profile

_SOURCE = "Target-Bench (arXiv 2511.17792), section 4; constants of the profile"


@metric("path/overall", unit="1", better="higher", bounds=(0.0, 1.0), version=2, source=_SOURCE)
def overall(
    ade: float,
    fde: float,
    miss_rate: float,
    soft_endpoint: float,
    approach_consistency: float,
    *,
    profile: Profile = RELEASED,
) -> float:
    """Weighted sum of the five. The weights of the profiles released and paper_text add up to 0.90, as in the release.

    Args:
        ade: Metres.
        fde: Metres.
        miss_rate: Percent.
        soft_endpoint: 0 to 1.
        approach_consistency: 0 to 1.
        profile: Weights and constants.
    """
    weights = profile.weights
    return (
        weights.ade * math.exp(-ade / profile.tau_ade_m)
        + weights.fde * math.exp(-fde / profile.tau_fde_m)
        + weights.miss_rate * (1 - miss_rate / 100)
        + (weights.endpoint + weights.approach) * soft_endpoint * approach_consistency
    )
