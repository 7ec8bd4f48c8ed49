"""Digests of the perception networks that the settings of a suite name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from worldgauge.core.errors import UsageError
from worldgauge.core.io import digest_of
from worldgauge.engine.suite.settings import naming_setting
from worldgauge.perception.naming import What, network_digest, weights_digest


def networks_digest(suite: str, settings: Any, looking: Mapping[str, What], networks: Iterable[str] = ()) -> str | None:
    """Digest of the weights of all networks that settings name.

    It is computed on every call, so other weights count as another setting.

    Args:
        suite: Name of the suite, for messages.
        settings: Settings of the suite.
        looking: Kind of network by name of the setting.
        networks: Further networks by name.

    Returns:
        SHA-256 in hexadecimal. None where the settings name no network.

    Raises:
        UsageError: For a setting that does not name a network.
    """
    digests: list[str | None] = []
    for name, what in looking.items():
        value = getattr(settings, name)
        if value is not None and not (isinstance(value, str) and value):
            raise UsageError(f"{suite} setting '{name}' must be a name, a file or an address, got {value!r}")
        with naming_setting(suite, name):
            digests.append(weights_digest(value, what))
    digests += [network_digest(name) for name in networks]
    return digest_of(repr(digests)) if any(digests) else None
