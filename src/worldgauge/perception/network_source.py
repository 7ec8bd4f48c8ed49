"""The source of a learned network's answers: a server of the user, or the network itself, run here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UnknownNameError, UsageError, WorldgaugeError
from worldgauge.core.io import digest_of
from worldgauge.core.model import Needs
from worldgauge.perception.cache import cached_rows
from worldgauge.perception.networks import RowNetwork, networks, ready
from worldgauge.serving import SCHEMES, is_served, open_estimator
from worldgauge.serving.remote_model import Expected
from worldgauge.weights import AbsentWeightsError, opened
from worldgauge_serve import digest

Arrays = Mapping[str, NDArray[np.float32]]

BATCH = 10
"""Most rows in one request to a server."""
ON_GPU = 24
"""Rows to ask a network on a GPU for at a time: pairs of frames at 720p take 22 MB each here."""


def source_of(text: str, kind: str, layouts: tuple[str, ...]) -> ServerSource | NetworkSource:
    """Open a server, when `text` is an address, or else the network with that name."""
    return ServerSource(text, kind, layouts) if is_served(text) else NetworkSource(text, kind)


def network_names(kind: str) -> list[str]:
    """Names of the networks of one kind that can be run here."""
    return [entry.name for entry in networks if entry.facts["what"] == kind]


class ServerSource:
    """A server of one kind. layout: what it returns if there is a choice; else empty."""

    at_once = BATCH

    def __init__(self, at: str, kind: str, layouts: tuple[str, ...]) -> None:
        self._remote = open_estimator(at)
        spec = self._remote.spec
        if spec.kind != kind or spec.layout not in layouts:
            self._remote.close()
            wanted = f"kind '{kind}'" + (f" and layout {' or '.join(layouts)}" if any(layouts) else "")
            raise UsageError(
                f"estimator '{spec.name}' has kind '{spec.kind}' and layout '{spec.layout}'; one of {wanted} is needed"
            )
        self.name, self.layout = spec.name, spec.layout
        self.needs = self._remote.needs

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that changes the answers, but not their location."""
        remote = self._remote
        identity = {"settings": dict(remote.spec.settings), "source": remote.source, "given": dict(remote.given)}
        return {"estimator": self.name, "layout": self.layout, **identity}

    def rows(self, arrays: Arrays, answer: str, sides: tuple[int, ...] | None) -> NDArray[Any]:
        """The output (n, *sides) of the server. At most BATCH rows go into one request."""
        if sides is None:
            raise WorldgaugeError(f"what a server of '{self.name}' has to answer is not told")
        (n,) = {len(array) for array in arrays.values()}
        parts = [np.zeros((0, *sides), np.float32)]
        for start in range(0, n, BATCH):
            part = slice(start, min(start + BATCH, n))
            expected = {answer: Expected(((part.stop - start, *sides),))}
            shown = {name: array[part] for name, array in arrays.items()}
            parts.append(self._remote.estimate(shown, {}, expected).arrays[answer])
        return np.concatenate(parts)

    def close(self) -> None:
        """Close the connection; a child process is ended."""
        self._remote.close()


class NetworkSource:
    """A network run here. Its answers are cached, for this run and later ones."""

    layout = ""
    needs = Needs()

    def __init__(self, name: str, kind: str) -> None:
        if name not in networks:
            raise UnknownNameError(f"network for {kind}", name, network_names(kind))
        what = networks.entry(name).facts["what"]
        if what != kind:
            known = " or ".join(network_names(kind)) or "none"
            raise UsageError(f"network '{name}' is for '{what}'; for '{kind}' there is {known}")
        self.network: RowNetwork
        self.network, self._identity = ready(name)
        self.name = name
        self.at_once = ON_GPU if self._identity["device"] == "cuda" else BATCH

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that changes the answers, but not their location."""
        return {"estimator": self.name, **self._identity}

    def rows(self, arrays: Arrays, answer: str, sides: tuple[int, ...] | None) -> NDArray[Any]:
        """The output (n, *sides) of the network."""
        return cached_rows(self._identity, arrays, self.network.answer)[answer]

    def close(self) -> None:
        """No effect; everything is released with the object."""


What = Literal["dino", "aesthetic", "imaging", "lpips", "video"]

PAPERS: Mapping[What, tuple[str, str]] = {
    "lpips": ("lpips", "lpips-alex"),
    "dino": ("dino", "dinov3-b16"),
    "aesthetic": ("aesthetic", "clip-laion"),
    "imaging": ("imaging", "musiq-spaq"),
    "video": ("fvd", "i3d"),
}
"""Kind of perception -> the setting of a suite that names it, and the network of the papers."""


class PerceptionText(NamedTuple):
    """What a text names. `asked`: Address of a server, or name of a network; empty when there is none."""

    files: tuple[str, ...] = ()
    asked: str = ""
    network: bool = False


def named_by(text: str, what: What) -> PerceptionText:
    """Parse what a text names; nothing is opened."""
    if is_served(text):
        return PerceptionText(asked=text)
    known = network_names(what)
    if text in known:
        return PerceptionText(asked=text, network=True)
    headed = re.match(rf"(?P<file>.+?),(?P<address>(?:{'|'.join(SCHEMES)}):.*)$", text)
    if headed and what == "aesthetic":
        return PerceptionText((headed["file"],), headed["address"])
    if "." not in text and "/" not in text:
        raise UnknownNameError(f"network for {PAPERS[what][0]}", text, known)
    if what != "lpips":
        raise UsageError(
            f"{what}: '{text}' is neither a network nor a server; {missing_reason(what).partition(': ')[2]}"
        )
    return PerceptionText(tuple(text.split(",")))


def weights_digest(text: str | None, what: What) -> str | None:
    """Digest of the weights that a text names."""
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
    """Digest of a network's weights and version."""
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
