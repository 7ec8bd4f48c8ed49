"""What settings of several suites share: errors that name the setting, prices of language models, parity=released."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.io import digest_of
from worldgauge.perception.network_source import What, network_digest, weights_digest
from worldgauge.serving import is_served, served_digest

S = TypeVar("S")


@contextmanager
def naming_setting(suite: str, name: str) -> Iterator[None]:
    """Context in which an error about what a setting names begins with the setting."""
    try:
        yield
    except (UnknownNameError, UsageError) as error:
        raise UsageError(f"{suite} setting '{name}': {error}") from error


def chat_prices(suite: str, text: Any) -> tuple[float | None, float | None]:
    """Prices of a million input and output tokens, from "IN,OUT"."""
    if text is None:
        return None, None
    try:
        given, got = (float(price) for price in str(text).split(","))
    except ValueError:
        given = got = -1.0
    if not (0 <= given < math.inf and 0 <= got < math.inf):
        raise UsageError(f"{suite} setting 'chat_prices' must be IN,OUT of a million tokens, got {text!r}")
    return given, got


def check_chat_budget(suite: str, budget: Any, *, recording: str | None, prices: str | None) -> None:
    """Check a budget for chat models."""
    if budget is not None and (isinstance(budget, (bool, str)) or not 0 < budget < math.inf):
        raise UsageError(f"{suite} setting 'chat_budget' must be more than 0, got {budget!r}")
    if budget is not None and (recording is None or prices is None):
        raise UsageError(f"{suite} setting 'chat_budget' needs chat_recording, where it is kept, and chat_prices")


def with_parity(settings: S, options: Mapping[str, Any], released: Mapping[str, Any]) -> S:
    """Apply the released values where the settings have parity=released."""
    if getattr(settings, "parity", None) != "released":
        return settings
    for name, value in released.items():
        if options.get(name, value) != value:
            raise UsageError(f"parity=released means {name}={value}; leave out '{name}' or parity")
    changed: S = replace(settings, **released)  # type: ignore[type-var]
    return changed


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
    """Digest of the weights of all networks in settings, computed on every call: other weights are another setting."""
    digests: list[str | None] = []
    for name, what in looking.items():
        value = getattr(settings, name)
        if value is not None and not (isinstance(value, str) and value):
            raise UsageError(f"{suite} setting '{name}' must be a name, a file or an address, got {value!r}")
        with naming_setting(suite, name):
            digests.append(weights_digest(value, what))
    digests += [network_digest(name) for name in networks]
    return digest_of(repr(digests)) if any(digests) else None
