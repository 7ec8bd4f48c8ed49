"""Codecs: the planes in which a network sees and draws frames."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from worldgauge.core.registry import Registry


class Codec(nn.Module):
    """Turns pixels, -1 to 1, into the planes of a network, and back.

    Attributes:
        planes: Planes of a frame, P.
        shrink: How many times the height and width of frames are those of their planes.
        learns: Whether it is trained before the network; otherwise it is as it is.
    """

    planes: int = 3
    shrink: int = 1
    learns: bool = False

    @classmethod
    def of_recipe(cls, settings: Mapping[str, Any]) -> Codec:
        """Make one by the keys of a recipe.

        Args:
            settings: Keys of the recipe.

        Raises:
            UsageError: They do not go together.
            MissingExtraError: A package is not installed.
        """
        raise NotImplementedError

    @classmethod
    def of_checkpoint(cls, told: Mapping[str, Any], folder: Path | None) -> Codec:
        """Make one by what a checkpoint tells of it; the weights of one that was trained are read afterwards.

        Args:
            told: What `told` gave.
            folder: Folder of an adopted one, which the user names again.

        Raises:
            DataError: It is not the one that the network was trained with.
            UsageError: The folder is not named.
        """
        raise NotImplementedError

    @property
    def told(self) -> dict[str, Any]:
        """What a checkpoint tells of it, as plain JSON values."""
        return {}

    def encode(self, frames: Tensor) -> Tensor:
        """Turn pixels into planes.

        Args:
            frames: (B, 3, H, W), -1 to 1.

        Returns:
            (B, P, H / shrink, W / shrink).
        """
        raise NotImplementedError

    def decode(self, planes: Tensor) -> Tensor:
        """Turn planes into pixels.

        Args:
            planes: (B, P, H / shrink, W / shrink).

        Returns:
            (B, 3, H, W), -1 to 1.
        """
        raise NotImplementedError

    def measure(self, frames: Tensor) -> None:
        """Fit the scale of the planes after training. Only codecs that learn have one.

        Args:
            frames: (B, 3, H, W), -1 to 1.
        """


codecs: Registry[type[Codec]] = Registry("codec", "worldgauge_train.nets.codecs", group="worldgauge.codecs")
