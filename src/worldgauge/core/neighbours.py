"""The other packages of this project, which may be missing."""

from __future__ import annotations

from collections.abc import Mapping

from worldgauge.core.errors import UsageError

_NEIGHBOURS: Mapping[tuple[str, str], str] = {
    **{("command", name): "worldgauge-train" for name in ("export-data", "post-train", "train")},
    **{("model", name): "worldgauge-train" for name in ("adapted", "trained")},
    **{
        ("command", name): "worldgauge-lab"
        for name in (
            "calibrate",
            "study",
            "train-nearness",
            "train-panorama-reader",
            "train-recogniser",
            "validate-metric",
        )
    },
    **{("form", name): "worldgauge-lab" for name in ("eee", "inspect", "rrd")},
}
"""Packages of this project that offer a component: where it is unknown, the package is not installed."""


def check_neighbour(kind: str, name: str) -> None:
    """Check that an unknown component is not one of a package of this project that is missing.

    Raises:
        UsageError: It is; the message says how to install the package.
    """
    if package := _NEIGHBOURS.get((kind, name)):
        raise UsageError(f"the {kind} '{name}' comes with the package {package}; install it: pip install {package}")
