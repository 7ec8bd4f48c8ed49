"""Learned perception for suites: which networks their settings name, and each opened once a process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from worldgauge.errors import DataError, UsageError
from worldgauge.estimators.naming import What, network_digest, weights_digest
from worldgauge.estimators.perception import Absent, Perception, open_perception
from worldgauge.estimators.sources import network_names


def perceived(text: str | None, what: What, parity: str | None = None) -> Perception | Absent:
    """As `open_perception`; never closed before the process ends, since behind it may be a large network.

    Weights that come or change meanwhile are another one. Files that are not what they should be cost their metric and
    no other: a reason, as for absent ones.
    """
    known = text is not None and text in network_names(what)
    return _perceived(text, what, parity, network_digest(str(text)) if known else "")


@lru_cache(maxsize=8)
def _perceived(text: str | None, what: What, parity: str | None, weights: str) -> Perception | Absent:
    try:
        return open_perception(text, what, parity=parity)
    except DataError as error:
        return Absent(what, str(error))


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
