"""The one function of TensorFlow that the adapters call."""

from numpy import array as constant

__all__ = ["constant"]
