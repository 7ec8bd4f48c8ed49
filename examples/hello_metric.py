"""A metric in one file, for every suite that compares frames.

    worldgauge run loopnav --data data --model freeze --metric ./examples/hello_metric.py:brightness_gap --out runs
    worldgauge score runs --metric ./examples/hello_metric.py:brightness_gap

The first command scores a new run with it, the second one adds it to the runs that exist.
"""

import numpy as np

from worldgauge.metrics import metric, psnr


@metric("brightness_gap", unit="grey level", better="lower", bounds=(0.0, 255.0), version=1, compares="frames")
def brightness_gap(truth: np.ndarray, rollout: np.ndarray) -> float:
    """Difference in mean brightness of two frames, each (H, W, 3) uint8."""
    return abs(float(truth.mean()) - float(rollout.mean()))


if __name__ == "__main__":
    dark, light = np.full((2, 2, 3), 7, np.uint8), np.full((2, 2, 3), 9, np.uint8)
    print(f"gap {brightness_gap(dark, light)} grey levels, PSNR {psnr(dark, light):.1f} dB")
