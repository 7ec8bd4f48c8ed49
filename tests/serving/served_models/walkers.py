"""Policies of a walker as their authors write them, well-behaved and not."""

import numpy as np

from worldgauge_serve import EstimatorSpec


class Ahead:
    """Goes straight on, one step further with each plan; how names a promise that it breaks instead."""

    def __init__(self, how="", layout="steps"):
        self.spec = EstimatorSpec("ahead", kind="policy", layout=layout, settings={"how": how})
        self.how = how

    def estimate(self, arrays, options):
        n, length = options["n"], options["length"]
        views = arrays["views"]
        assert set(options["views"]) == {"front", "left", "right", "back"}
        assert (views.dtype, views.shape[0]) == (np.uint8, len(options["views"]))
        assert views.shape[1:3] == (options["camera"]["height"], options["camera"]["width"])
        if options["task"] == "navigation":
            assert arrays["goal"].ndim == 3
        if options["task"] == "questions":
            assert options["instruction"].endswith("?")
        ahead = options["steps"]["forward"]
        plans = np.zeros((n, length))
        for k in range(n):
            plans[k, : min(k + 1, length)] = ahead
        if self.how == "turning":
            plans[:, 0] = options["steps"]["turn_right"]
        if self.how == "wrong step":
            plans[0, 0] = 7
        if self.how == "too long":
            plans = np.ones((1, length + 1))
        if self.how == "gap":
            plans[0, :3] = 1, 0, 1
        if self.how == "none":
            plans = plans[:0]
        return {"steps": plans}, {}
