"""Calibrate a model: drive it along known short moves, find its camera, and say what its controls do.

study = calibrate("./wm.py:MyModel", Path("calibration"))
study.estimates.controls[0].gain
"""

from worldgauge_lab.calibrate.study import CalibrationStudy, Plan, calibrate, plan_calibration

__all__ = ["CalibrationStudy", "Plan", "calibrate", "plan_calibration"]
