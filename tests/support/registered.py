"""What worldgauge itself registers. Plug-ins may be installed where the tests run, and have tests of their own."""

from typing import Any

from worldgauge import Registry


def own_names(registry: Registry[Any]) -> list[str]:
    """Names of the components that come from worldgauge, sorted."""
    return [entry.name for entry in registry if entry.origin.startswith("worldgauge.")]
