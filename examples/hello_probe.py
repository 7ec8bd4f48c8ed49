"""A probe in a training loop: a few tasks of a suite after each epoch, within a time limit.

    python examples/hello_probe.py

The "model" has one parameter. Training moves it towards 1, where the last frame is repeated unchanged.
"""

import numpy as np

import worldgauge
from worldgauge_serve import ModelSpec


class Fade:
    """Repeats the last frame, darker."""

    spec = ModelSpec("fade", control="actions")

    def __init__(self) -> None:
        self.gain = 0.5

    def rollout(self, request):
        """Yield (n, H, W, 3) uint8 frames until there are `request.horizon` of them."""
        frame = request.context.clip[-1].astype(np.float32)
        for _ in range(request.horizon):
            frame = frame * self.gain
            yield frame.astype(np.uint8)[None]


def main() -> None:
    """Train for three epochs, and print a metric after each."""
    data = worldgauge.collect("loopnav", "data", settlements=1, ranges=(5,), per_combination=1, size=(64, 36))
    probe = worldgauge.Probe("loopnav", tasks=2, seconds=30, data=data)  # once, before the training
    model = Fade()
    for epoch in range(3):
        model.gain += (1 - model.gain) / 2  # one epoch of your training
        result = probe(model, epoch)
        print(f"epoch {epoch}: PSNR {result.values['psnr'].mean:.2f} dB")


if __name__ == "__main__":
    main()
