"""What a model's controls do, as it was measured: the file of a calibration, and the model whose controls it mends.

worldgauge calibrate --model M --out calibration      writes calibration/calibration.json
worldgauge run loopnav --model "M?calibration=calibration/calibration.json" ...
"""

from worldgauge.models.calibration.calibrated import Calibrated
from worldgauge.models.calibration.file import Calibration, Gain, digest_of_spec, motion_word, read_calibration

__all__ = ["Calibrated", "Calibration", "Gain", "digest_of_spec", "motion_word", "read_calibration"]
