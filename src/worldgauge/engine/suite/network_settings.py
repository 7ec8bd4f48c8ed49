"""Digests of the perception networks that the settings of a suite name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from worldgauge.core.errors import UsageError
from worldgauge.core.io import digest_of
from worldgauge.engine.suite.settings import naming_setting
from worldgauge.perception.naming import What, network_digest, weights_digest
from worldgauge.serving import is_served, served_digest

SERVED = "served_digests"
"""Name of the digests of what settings name by its command or address, among the settings of a run."""


def digests_of_served(settings: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, str]:
    """Digests by setting of networks, decoders and policies that are served; `known` ones of servers that are down."""
    found = {}
    for name, value in settings.items():
        texts = [value, value.partition(",")[2]] if isinstance(value, str) else []  # FILE,cmd:... names a head as well
        if text := next(filter(is_served, texts), ""):
            found[name] = served_digest(text) or known.get(name, "")
    return {name: one for name, one in found.items() if one}


def networks_digest(suite: str, settings: Any, looking: Mapping[str, What], networks: Iterable[str] = ()) -> str | None:
    """Digest of the weights of all networks that settings name.

    It is computed on every call, so other weights count as another setting.
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
