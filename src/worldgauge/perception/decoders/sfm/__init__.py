"""sfm-global: structure from motion over all frames at once."""

from worldgauge.perception.decoders.sfm import decoder

__all__ = ["decoder"]
