"""Models that show how a server treats them. Written as a user writes them: numpy and worldgauge_serve only."""

import os
import sys
import threading
from contextlib import suppress

import numpy as np

import worldgauge_serve
from worldgauge_serve import ModelSpec, NotApplicable

worldgauge_serve.GRACE_S = 0.3  # of the running server: there is one module, however it was started


class Echo:
    """Frames that depend on everything it was asked; prints, and reads standard input, as models do."""

    needs = {"cpus": 2}  # noqa: RUF012 - as users write it

    def __init__(self, control="actions", gain=1.0, inputs=""):
        inputs = tuple(filter(None, [inputs]))
        self.spec = ModelSpec("echo", control=control, inputs=inputs, settings={"gain": np.float32(gain)})

    def rollout(self, request):
        print("thinking, with", repr(sys.stdin.read()), "from standard input")
        os.write(1, b"straight to descriptor 1\n")
        noise = np.random.RandomState(request.seed % 2**32)
        frame = request.context.clip[-1].astype(np.float64) + len(request.task)
        if request.context.depth is not None:
            frame += request.context.last(1).depth(0)[..., None]
        for t in range(request.horizon):
            if request.actions is not None:
                frame += request.actions.column("forward")[t]
            elif request.poses is not None:
                frame += request.poses[t, 0, 3]
            else:
                frame += len(request.text)
            yield np.uint8((frame + noise.randint(0, 256)) % 256)[None]


class Batch(Echo):
    """The same, several at once; the count of requests is in the first pixel of each."""

    def rollout_batch(self, requests):
        for request in requests:
            yield (self._marked(chunk, len(requests)) for chunk in self.rollout(request))

    def _marked(self, chunk, count):
        chunk[0, 0, 0] = count
        return chunk


class Slow:
    """One frame; before the next, waits until the named pipe `gate` is opened. Tells in file `log` that it is left."""

    spec = ModelSpec("slow")

    def __init__(self, gate, log):
        self.gate, self.log = gate, log

    def rollout(self, request):
        width, height = request.frame_size
        try:
            for t in range(request.horizon):
                yield np.full((1, height, width, 3), t, np.uint8)
                if t == 0 and request.horizon > 1:
                    open(self.gate, "rb").close()
        finally:
            with open(self.log, "a") as file:
                file.write("left\n")


class Odd:
    """Does what a model should not, named by the text it is asked with."""

    spec = ModelSpec("odd", control="text")

    def rollout(self, request):
        width, height = request.frame_size
        whole = np.zeros((request.horizon, height, width, 3), np.uint8)
        yield from getattr(self, "_" + request.text)(whole)

    def _well(self, whole):
        yield whole

    def _views(self, whole):
        wide = np.zeros((2 * len(whole), *whole.shape[1:]), ">i4")
        wide[1::2] = 7
        yield wide[1::2]

    def _bool(self, whole):
        yield whole[:1]
        yield whole[1:].astype(bool)

    def _list(self, whole):
        yield whole.tolist()

    def _none(self, whole):
        yield np.uint8(3)[()]

    def _zero(self, whole):
        yield np.array(3, np.uint8)
        yield whole[:0]

    def _raise(self, whole):
        yield whole[:1]
        raise ValueError("x" * (3 << 20) + "\udcff end")

    def _surrogate(self, whole):
        yield whole[:1]
        raise KeyError("caf\udce9 日本")

    def _unprintable(self, whole):
        class Unprintable(Exception):
            def __str__(self):
                raise RuntimeError

        raise Unprintable
        yield

    def _exit(self, whole):
        sys.exit("bye")
        yield

    def _refuse(self, whole):
        raise NotApplicable("not on Sundays")
        yield

    def _hang(self, whole):
        yield whole[:1]
        threading.Event().wait()

    def _die(self, whole):
        yield whole[:1]
        os._exit(3)

    def _stubborn(self, whole):
        while True:
            with suppress(GeneratorExit):
                yield whole[:1]


class Unloadable:
    """Raises while it is made."""

    def __init__(self):
        print("loading")
        raise RuntimeError("no weights")


class Exits:
    def __init__(self):
        sys.exit("usage: none")


class NoSpec:
    def rollout(self, request):
        yield


class NoRollout:
    spec = ModelSpec("none")


class BadSettings(NoSpec):
    spec = ModelSpec("bad", settings={"weights": object()})


class NanSettings(NoSpec):
    spec = ModelSpec("bad", settings={"gain": float("nan")})


class WantsTruth(NoSpec):
    spec = ModelSpec("bad", inputs=("truth",))


class HalfSpec(NoSpec):
    class spec:
        name = "half"


ready = Echo(gain=2.0)
nothing = None
one = 1
