"""Models of panoramas as their authors write them: turns by whole columns, driven by keys."""

import os

import numpy as np

from worldgauge_serve import ModelSpec


class Around:
    """Turns the last panorama as the keys say, a frame a chunk; with depth, row 0 tells it in decimetres."""

    def __init__(self, depth=False):
        inputs = ("depth",) if depth else ()
        self.spec = ModelSpec("around", view="panorama", max_context=1, inputs=inputs, settings={"depth": depth})

    def rollout(self, request):
        camera, context = request.context.camera, request.context
        if not camera.is_panorama or camera.cx is not None:
            raise ValueError("a panorama was to come")
        frame = context.clip[-1].copy()
        if context.depth is not None:
            frame[0] = np.clip(context.depth(0)[0, :, None] * 10, 0, 255)
        left = request.actions.column("turn_left") - request.actions.column("turn_right")
        for turn in left:
            frame = np.roll(frame, round(float(turn) * camera.width / 16), axis=1)
            if request.seed == 13:
                raise ValueError("out of luck")
            yield frame[None]


class AroundTogether(Around):
    """Makes several at once; seed 14 kills it once, half-way through sending, where `log` is a folder."""

    def __init__(self, log=""):
        super().__init__()
        self.log = log

    def rollout_batch(self, requests):
        print("a batch of", len(requests), flush=True)
        for request in requests:
            mark = os.path.join(self.log, "died")
            if self.log and request.seed == 14 and not os.path.exists(mark):
                open(mark, "w").close()
                os._exit(9)
            yield list(self.rollout(request))
