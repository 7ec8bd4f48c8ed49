"""What a setting names to look with: a network by the name of its weights, weight files, or a server's address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.io import digest_of, digest_of_file
from worldgauge.perception.network_source import network_names
from worldgauge.perception.networks import networks
from worldgauge.serving import SCHEMES, is_served
from worldgauge.weights import AbsentWeightsError, opened

What = Literal["dino", "aesthetic", "imaging", "lpips", "video"]

PAPERS: Mapping[What, tuple[str, str]] = {
    "lpips": ("lpips", "lpips-alex"),
    "dino": ("dino", "dinov3-b16"),
    "aesthetic": ("aesthetic", "clip-laion"),
    "imaging": ("imaging", "musiq-spaq"),
    "video": ("fvd", "i3d"),
}
"""What is looked with -> the setting of a suite that names it, and the network of the papers."""


class Named(NamedTuple):
    """What a text names: weight files, and a server's address or a network's name, each where there is one."""

    files: tuple[str, ...] = ()
    asked: str = ""
    network: bool = False


def named_by(text: str, what: What) -> Named:
    """What `text` names for `what`, unseen. Raises UnknownNameError with the nearest network, UsageError."""
    if is_served(text):
        return Named(asked=text)
    known = network_names(what)
    if text in known:
        return Named(asked=text, network=True)
    headed = re.match(rf"(?P<file>.+?),(?P<address>(?:{'|'.join(SCHEMES)}):.*)$", text)
    if headed and what == "aesthetic":
        return Named((headed["file"],), headed["address"])
    if "." not in text and "/" not in text:
        raise UnknownNameError(f"network for {what}", text, known)
    if what != "lpips":
        raise UsageError(
            f"{what}: '{text}' is neither a network nor a server; {missing_reason(what).partition(': ')[2]}"
        )
    return Named(tuple(text.split(",")))


def weights_digest(text: str | None, what: What) -> str | None:
    """SHA-256, hexadecimal, of the weights that `text` names for `what`; "absent" where a network cannot be run here.

    None for a server alone. Raises as `open_perception` would for a text that it would refuse unseen, and UsageError
    for a file that is not there.
    """
    if text is None:
        return None
    named = named_by(text, what)
    if named.network:
        return network_digest(named.asked)
    for file in named.files:
        if not Path(file).is_file():
            raise UsageError(f"{what}: {file}: no such weight file")
    return digest_of(" ".join(digest_of_file(Path(file)) for file in named.files)) if named.files else None


def network_digest(name: str) -> str:
    """SHA-256, hexadecimal, of a network's weights and version; "absent" where it cannot be run here.

    Raises DataError for weights that are not what they should be.
    """
    try:
        weights = opened(name).digest
    except AbsentWeightsError:
        return "absent"
    if any(find_spec(module) is None for module in ("torch", "transformers")):
        return "absent"
    return digest_of(f"{weights} {networks.get(name).version}")  # type: ignore[attr-defined]


def missing_reason(what: What) -> str:
    """Why there is nothing to look with, and what brings it."""
    setting, name = PAPERS[what]
    files = ", the AlexNet and the LPIPS file as FILE,FILE," if what == "lpips" else ""
    head = ", after the head's file where it gives features" if what == "aesthetic" else ""
    return (
        f"its weights were not given: worldgauge weights pull {name}, then --set {setting}={name}; "
        f"or name{files} a server of kind '{what}', cmd:... or http://...{head}"
    )
