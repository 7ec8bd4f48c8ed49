"""The model."""

from three_calls import Recorder as PathdreamerModel

__all__ = ["PathdreamerModel"]
