"""Learned perception for suites: which networks their settings name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from worldgauge.core.errors import UsageError
from worldgauge.perception.naming import What, network_digest, weights_digest


def networks_digest(suite: str, settings: Any, looking: Mapping[str, What], networks: Iterable[str] = ()) -> str | None:
    """SHA-256, hexadecimal, of the weights that settings name; None where they name none.

    Found anew each time, so that other weights count as another setting. looking: settings that name what is looked
    with. networks: further ones by name. Raises UsageError for what names no network.
    """
    digests: list[str | None] = []
    for name, what in looking.items():
        value = getattr(settings, name)
        if value is not None and not (isinstance(value, str) and value):
            raise UsageError(f"{suite} setting '{name}' must be a name, a file or an address, got {value!r}")
        digests.append(weights_digest(value, what))
    digests += [network_digest(name) for name in networks]
    return hashlib.sha256(repr(digests).encode()).hexdigest() if any(digests) else None
