"""MUSIQ trained on SPAQ, which gives the imaging score: our own torch for the published weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from worldgauge.perception.networks import Place, networks
from worldgauge.perception.networks._frames import framewise
from worldgauge.perception.networks._musiq_encoder import Encoder
from worldgauge.weights import read_tensors

WEIGHTS = "musiq_spaq_ckpt-358bb6af.pth"


@networks.register("musiq-spaq", what="imaging")
class Musiq:
    """MUSIQ of SPAQ: scores (n,), roughly 0 to 100.

    folder: musiq_spaq_ckpt-358bb6af.pth of IQA-PyTorch. Raises DataError for files of another network.
    With random weights of its size, where scores of frames differed by 0.05, float16 moved them by 0.0014 and bfloat16
    by 0.008: neither stands in for float32.
    Source: Ke et al. 2021, sections 3.1 to 3.5, in the form in which IQA-PyTorch runs it, which MIND asks; its authors'
    own resizes with a Gaussian and divides by the deviation with n.
    """

    name = "musiq-spaq"
    version = 1

    def __init__(self, folder: Path, place: Place) -> None:
        path = folder / WEIGHTS
        # Training on several devices puts "module." before every name.
        tensors = {name.removeprefix("module."): tensor for name, tensor in read_tensors(path).items()}
        self._encoder = Encoder(tensors, place, path)
        self._place = place

    def answer(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """frames (n, H, W, 3) float32 in [-1, 1] -> scores (n,) float32. One frame at a time. Raises ShapeError."""

        def scored(images: Any) -> Any:
            return self._encoder.score(images[0])

        return {"scores": framewise(arrays["frames"], self._place, scored, sides=(), at_once=1)}
