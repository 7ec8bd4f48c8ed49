"""klt-vo: visual odometry from tracked corners."""

from worldgauge.perception.decoders.klt import decoder

__all__ = ["decoder"]
