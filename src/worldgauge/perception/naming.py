"""What a perception setting names: a network by the name of its weights, weight files, or a server address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.io import digest_of
from worldgauge.perception.network_source import network_names
from worldgauge.perception.networks import networks
from worldgauge.serving import SCHEMES, is_served
from worldgauge.weights import AbsentWeightsError, opened
from worldgauge_serve import digest

What = Literal["dino", "aesthetic", "imaging", "lpips", "video"]

PAPERS: Mapping[What, tuple[str, str]] = {
    "lpips": ("lpips", "lpips-alex"),
    "dino": ("dino", "dinov3-b16"),
    "aesthetic": ("aesthetic", "clip-laion"),
    "imaging": ("imaging", "musiq-spaq"),
    "video": ("fvd", "i3d"),
}
"""Kind of perception -> the setting of a suite that names it, and the network of the papers."""


class Named(NamedTuple):
    """What a text names.

    Attributes:
        files: Weight files.
        asked: Address of a server, or name of a network; empty when there is none.
        network: Whether `asked` is a network.
    """

    files: tuple[str, ...] = ()
    asked: str = ""
    network: bool = False


def named_by(text: str, what: What) -> Named:
    """Parse what a text names; nothing is opened.

    Args:
        text: The text.
        what: Kind of perception.

    Returns:
        The parts of the text.

    Raises:
        UnknownNameError: There is no such network; the message suggests the nearest one.
        UsageError: The text is neither a network nor a server.
    """
    if is_served(text):
        return Named(asked=text)
    known = network_names(what)
    if text in known:
        return Named(asked=text, network=True)
    headed = re.match(rf"(?P<file>.+?),(?P<address>(?:{'|'.join(SCHEMES)}):.*)$", text)
    if headed and what == "aesthetic":
        return Named((headed["file"],), headed["address"])
    if "." not in text and "/" not in text:
        raise UnknownNameError(f"network for {PAPERS[what][0]}", text, known)
    if what != "lpips":
        raise UsageError(
            f"{what}: '{text}' is neither a network nor a server; {missing_reason(what).partition(': ')[2]}"
        )
    return Named(tuple(text.split(",")))


def weights_digest(text: str | None, what: What) -> str | None:
    """Digest of the weights that a text names.

    Args:
        text: A network, weight files or a server; None for nothing.
        what: Kind of perception.

    Returns:
        SHA-256 in hexadecimal; "absent" when a network cannot be run here; None for a server alone.

    Raises:
        UsageError: The text is not allowed, or a file does not exist.
        UnknownNameError: There is no such network.
    """
    if text is None:
        return None
    named = named_by(text, what)
    if named.network:
        return network_digest(named.asked)
    for file in named.files:
        if not Path(file).is_file():
            raise UsageError(f"{what}: {file}: no such weight file")
    return digest_of(" ".join(digest(file) for file in named.files)) if named.files else None


def network_digest(name: str) -> str:
    """Digest of a network's weights and version.

    Args:
        name: Name of the network.

    Returns:
        SHA-256 in hexadecimal; "absent" when it cannot be run here.

    Raises:
        DataError: The weights are not the published ones.
    """
    try:
        weights = opened(name).digest
    except AbsentWeightsError:
        return "absent"
    if any(find_spec(module) is None for module in ("torch", "transformers")):
        return "absent"
    return digest_of(f"{weights} {networks.get(name).version}")  # type: ignore[attr-defined]


def missing_reason(what: What) -> str:
    """Why this perception is missing, and how to get it."""
    setting, name = PAPERS[what]
    files = ", the AlexNet and the LPIPS file as FILE,FILE," if what == "lpips" else ""
    head = ", after the head's file where it gives features" if what == "aesthetic" else ""
    return (
        f"its weights were not given: worldgauge weights pull {name}, then --set {setting}={name}; "
        f"or name{files} a server of kind '{what}', cmd:... or http://...{head}"
    )
