"""A world model in one file: it repeats the last frame, darker with every step.

    worldgauge check-model --model ./examples/hello_model.py:Fade
    worldgauge collect loopnav --out data --settlements 1 --ranges 5 --per-combination 1 --size 64x36
    worldgauge run loopnav --data data --model "./examples/hello_model.py:Fade?gain=0.95" --out runs

The file needs only numpy and `worldgauge_serve`. It also runs in an environment of its own:

    worldgauge run loopnav --data data --model "cmd:python -m worldgauge_serve examples/hello_model.py:Fade" --out runs
"""

import numpy as np

from worldgauge_serve import ModelSpec


class Fade:
    """Replace `rollout` with your network. The arguments of `__init__` are settings: `Fade?gain=0.95`."""

    def __init__(self, gain: float = 0.9):
        self.gain = gain
        self.spec = ModelSpec("fade", control="actions", max_context=32, settings={"gain": gain})

    def rollout(self, request):
        """Yield (n, H, W, 3) uint8 frames until there are `request.horizon` of them."""
        frame = request.context.clip[-1].astype(np.float32)  # (H, W, 3), the last frame of the context
        for _action in request.actions.values:  # (axes,) float32; what they mean: request.actions.space.axes
            frame = frame * self.gain
            yield frame.astype(np.uint8)[None]


if __name__ == "__main__":
    import worldgauge

    data = worldgauge.collect("loopnav", "data", settlements=1, ranges=(5,), per_combination=1, size=(64, 36))
    print(worldgauge.run("loopnav", data=data, model=[Fade(), "freeze"], out="runs"))
