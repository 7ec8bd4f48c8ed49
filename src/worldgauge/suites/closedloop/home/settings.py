"""Settings of the tasks in which an agent walks through a home."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from worldgauge.engine.options import option, part_of


@dataclass(frozen=True)
class HomeSettings:
    """Settings of all of them."""

    RELEASED: ClassVar[Mapping[str, str]] = {"panorama_rule": "released"}

    leading_turns: Literal["exact", "model"] = option(
        "exact", "Turns at the beginning of a plan: exact turns the real panorama, model leaves them to the model."
    )
    panorama_px: int = option(1024, "Width of panoramas in pixels. Their height is 9/16 of it.", low=64, high=4096)
    panorama_rule: Literal["clean", "released"] = option("clean", "How views are cut out of panoramas.")
    sliding: Literal["on", "off"] | None = option(
        None,
        "In scans, whether a walker slides along a wall or stops. By default it slides in published episodes, as in "
        "their simulator, and stops in others. Homes have no sliding.",
    )


def sliding_of(settings: Any) -> bool | None:
    """Whether walkers slide along walls; None for the world's own rule."""
    given = part_of(settings, HomeSettings).sliding
    return None if given is None else given == "on"


@dataclass(frozen=True)
class StepSettings(HomeSettings):
    """Settings of those whose plans are steps that a heuristic can draw."""

    RELEASED: ClassVar[Mapping[str, str]] = {
        **HomeSettings.RELEASED,
        "budget": "inclusive",
        "heuristic_seeds": "zero",
    }

    budget: Literal["paper", "inclusive"] = option(
        "paper", "How decisions and steps are counted against K: as in the paper, or as released."
    )
    heuristic_seeds: Literal["decision", "zero"] = option(
        "decision", "Seed of the proposer heuristic: new at every decision, or 0 as released."
    )
