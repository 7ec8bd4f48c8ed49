"""The model."""

from three_calls import Recorder as SE3DSModel

__all__ = ["SE3DSModel"]
