"""The registry of metrics. It is apart from the public front, so that nothing in the package imports the front."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from worldgauge.core.registry import Registry

F = TypeVar("F", bound=Callable[..., Any])

metrics: Registry[Callable[..., Any]] = Registry(
    "metric", "worldgauge.metrics", "worldgauge.perception.networks", group="worldgauge.metrics", in_suites="metrics"
)
"""All metrics by name. `metric` registers one; the facts of an entry are its arguments."""


def metric(
    name: str,
    *,
    unit: str,
    better: Literal["higher", "lower", "neither"],
    bounds: tuple[float, float],
    version: int = 1,
    source: str = "",
    compares: Literal["frames", "clips"] | None = None,
) -> Callable[[F], F]:
    """Decorator that registers a function as a metric.

    Args:
        name: Name in tables and on the command line.
        unit: Unit of its values; "1" if they have none.
        better: Which values are better.
        bounds: Lowest and highest possible value; infinite where there is none.
        version: Raise it when the function returns other numbers. Scores of older versions are then computed again.
        source: Paper or definition.
        compares: What `--metric` passes to the function: two frames (H, W, 3) uint8 at a time (the score is the mean),
            or two whole clips (T, H, W, 3). None for a metric that only a suite calls.

    Returns:
        The decorator; it returns the function unchanged.

    Raises:
        UsageError: Another metric has the same name.

    Examples:
        >>> @metric("darkest_gap", unit="grey level", better="lower", bounds=(0.0, 255.0), compares="frames")
        ... def darkest_gap(truth, rollout):
        ...     return abs(float(truth.min()) - float(rollout.min()))
        >>> darkest_gap(np.full((2, 2, 3), 40), np.full((2, 2, 3), 60)), "darkest_gap" in metrics
        (20.0, True)
    """
    facts: dict[str, Any] = {"unit": unit, "better": better, "bounds": bounds, "version": version, "source": source}
    if compares is not None:
        facts["compares"] = compares

    def register(function: F) -> F:
        metrics.register(name, **facts)(function)
        return function

    return register


def metric_bounds(name: str) -> tuple[float, float]:
    """Lowest and highest possible value of a metric.

    Args:
        name: Name of a registered metric. A suite may put words and "/" before it.

    Returns:
        The bounds; both infinite for a metric that is not registered.

    Examples:
        >>> metric_bounds("psnr"), metric_bounds("ssim_table")
        ((0.0, inf), (-1.0, 1.0))
    """
    known = next((one for one in (name, name.rpartition("/")[2]) if one in metrics), None)
    if known is None:
        return -math.inf, math.inf
    metrics.get(known)  # what another package offers declares its bounds when it is imported
    low, high = metrics.entry(known).facts.get("bounds", (-math.inf, math.inf))
    return low, high
