"""A world model for an environment that is not ours: it needs what numpy 2 no longer has, and nothing of worldgauge."""

import os
import time

import numpy as np

from worldgauge_serve import ModelSpec


class Blend:
    """Fades the last frame to a seeded grey, a little faster while it walks."""

    def __init__(self, gain=0.95):
        if int(np.__version__.split(".")[0]) > 1:
            raise ImportError(f"blend needs numpy 1, this is numpy {np.__version__}")
        self.gain = gain
        self.spec = ModelSpec("blend", control="actions", max_context=8, settings={"gain": gain})

    def rollout(self, request):
        rng = np.random.RandomState(request.seed % 2**32)
        frame = request.context.clip[-1].astype(np.float_)  # noqa: NPY201 - what makes it foreign
        for t, forward in enumerate(request.actions.column("forward")):
            if t == 5:
                self._pause_once()
            share = self.gain if forward else 1 - (1 - self.gain) / 2
            frame = share * frame + (1 - share) * rng.randint(0, 256)
            yield np.round(frame).astype(np.uint8)[None]

    def _pause_once(self):
        """Where WAIT_AT names a file that is not there yet: write the process id into it and wait to be killed."""
        path = os.environ.get("WAIT_AT")
        if path and not os.path.exists(path):
            with open(path + ".part", "w") as file:
                file.write(str(os.getpid()))
            os.rename(path + ".part", path)
            time.sleep(600)
