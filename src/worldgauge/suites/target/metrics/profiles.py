"""Named constants of the metrics of paths: as released, as printed, and as in another file of the release.

The paper prints other constants than those its tables were made with, so there is no score without its profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from worldgauge.core.errors import UnknownNameError


class Weights(NamedTuple):
    """Weights of the five terms of the overall score.

    endpoint and approach weigh one product, so only their sum counts.
    """

    ade: float
    fde: float
    miss_rate: float
    endpoint: float
    approach: float


_YAML_WEIGHTS = Weights(0.05, 0.10, 0.10, 0.45, 0.20)


@dataclass(frozen=True)
class Profile:
    """Constants of the metrics, by specification table 5.8.

    Attributes:
        name: Its name.
        miss_m: Metres beyond which a row is missed.
        sigma_m: Width of the soft endpoint, metres.
        radius_min_m: Radius of the corridor at its ends, metres.
        radius_max_m: Radius of the corridor in its middle, metres.
        references: Rows of the truth that the corridor is built on.
        beta: Width of the corridor in progress.
        gamma: Penalty for leaving the corridor.
        tau_ade_m: Metres in which the ADE term falls by e.
        tau_fde_m: Metres in which the FDE term falls by e.
        weights: Weights of the terms.
        cut_history: Drop the rows before the current frame, where a decoded path cannot be.
    """

    name: str
    miss_m: float = 1.0
    sigma_m: float = 0.5
    radius_min_m: float = 0.5
    radius_max_m: float = 1.5
    references: int = 20
    beta: float = 0.25
    gamma: float = 5.0
    tau_ade_m: float = 1.0
    tau_fde_m: float = 1.0
    weights: Weights = _YAML_WEIGHTS
    cut_history: bool = False


RELEASED = Profile("released")
"""Constants of `vggt_config.yaml`, which fit the published tables, with the history they were scored with."""

ALIGNED = replace(
    RELEASED, name="aligned", cut_history=True, weights=Weights(*(one / sum(_YAML_WEIGHTS) for one in _YAML_WEIGHTS))
)
"""The same constants on the rows that a decoded path can match, weights divided by their sum: the truth scores 1."""

PAPER_TEXT = Profile(
    "paper_text",
    miss_m=2.0,
    sigma_m=0.6,
    radius_min_m=0.15,
    radius_max_m=0.5,
    weights=Weights(0.05, 0.10, 0.10, 0.35, 0.30),
)
"""Constants as printed; no published table fits them."""

VIPE_CONFIG = Profile(
    "vipe_config",
    miss_m=2.0,
    sigma_m=1.0,
    tau_ade_m=5.0,
    tau_fde_m=8.0,
    weights=Weights(0.25, 0.25, 0.20, 0.15, 0.15),
)
"""Constants of `vipe_config.yaml`, which no released script loads by default."""

PROFILES: Mapping[str, Profile] = MappingProxyType({p.name: p for p in (RELEASED, ALIGNED, PAPER_TEXT, VIPE_CONFIG)})


def profile_of(name: str) -> Profile:
    """The profile called `name`.

    Raises:
        UnknownNameError: For an unknown name; suggests the nearest.
    """
    if name not in PROFILES:
        raise UnknownNameError("profile", name, PROFILES)
    return PROFILES[name]
