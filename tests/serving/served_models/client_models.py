"""Models as their authors write them, well-behaved and not; served, or made in worldgauge's own process."""

import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from worldgauge_serve import ModelSpec, NotApplicable, note


class Fade:
    """Fades the last frame to a seeded grey; two frames a chunk."""

    needs = {"gpus": 0.5}  # noqa: RUF012 - as users write it

    def __init__(self, gain=0.9):
        self.gain = gain
        self.spec = ModelSpec("fade", max_context=4, settings={"gain": gain})

    def rollout(self, request):
        grey = np.random.default_rng(request.seed).integers(256)
        frame = request.context.clip[-1].astype(np.float64)
        for start in range(0, request.horizon, 2):
            chunk = []
            for forward in request.actions.column("forward")[start : start + 2]:
                share = self.gain if forward else 0.99
                frame = share * frame + (1 - share) * grey
                chunk.append(frame.astype(np.uint8))
            yield np.stack(chunk)


class OnGpus(Fade):
    """Fades with a torch that counts what its answers take on two GPUs: `gb` on each, more in the first answer."""

    needs = {}  # noqa: RUF012 - it only counts

    def __init__(self, gb):
        super().__init__()
        self.peaks, self.gb, self.asked = [0, 0], gb, 0

        def forget(device):
            self.peaks[device] = 0

        cuda = SimpleNamespace(
            is_initialized=lambda: self.asked > 0,
            device_count=lambda: 2,
            reset_peak_memory_stats=forget,
            max_memory_allocated=lambda device: self.peaks[device],
        )
        sys.modules["torch"] = SimpleNamespace(cuda=cuda)

    def rollout(self, request):
        self.asked += 1
        self.peaks = [int(self.gb * 1e9) + (self.asked == 1)] * 2
        yield from super().rollout(request)


class Slow(Fade):
    """Takes its time for every frame."""

    def __init__(self, pause_s):
        super().__init__()
        self.pause_s = pause_s

    def rollout(self, request):
        for chunk in super().rollout(request):
            for frame in chunk:
                time.sleep(self.pause_s)
                yield frame[None]


class FadeBatch(Fade):
    """Makes several at once."""

    def rollout_batch(self, requests):
        print("a batch of", len(requests), flush=True)
        return [list(self.rollout(request)) for request in requests]


class Seeing:
    """Draws what it was told: for each part of a request one grey level."""

    def __init__(self, control="camera"):
        self.spec = ModelSpec("seeing", control=control, inputs=("depth",), settings={"control": control})

    def rollout(self, request):
        context, (width, height) = request.context, request.frame_size
        depth = np.stack([context.depth(i) for i in range(len(context))])
        told = [
            *(depth.mean() * 4, len(context.actions), context.clip.fps, request.seed, len(request.text or "")),
            *(0 if poses is None else poses[:, :3, 3].sum() for poses in (context.poses, request.poses)),
            *(len(request.task), context.camera.fx, context.last(2).depth(1).mean() * 4),
        ]
        for t in range(request.horizon):
            yield np.full((1, height, width, 3), int(told[t % len(told)]) % 256, np.uint8)


class Faulty:
    """Breaks one promise, named by `how`, at its third frame. log: folder in which it leaves signs of what it did."""

    def __init__(self, how, log=""):
        self.how, self.log = how, Path(log)
        self.spec = ModelSpec("faulty", max_context=2, settings={"how": how})
        if how == "unloadable":
            raise RuntimeError("no CUDA device")
        if how == "dies loading":
            print("cannot map the weights", flush=True)
            os._exit(9)

    def rollout(self, request):
        width, height = request.frame_size
        if self.how == "inapplicable":
            raise NotApplicable("needs a longer context")
        for t in range(request.horizon):
            frame = np.full((1, height, width, 3), 10 * t % 256, np.uint8)
            if t == 0 and self.how == "dies at once":
                self.die()
            if t == 0 and self.how == "dies twice" and len(list(self.log.glob("died*"))) < 2:
                (self.log / f"died{len(list(self.log.glob('died*')))}").touch()
                self.die()
            if t == 2:
                frame = self.misbehave(frame)
                if frame is None:
                    return
            yield frame
        if self.how == "more":
            yield frame
        if self.how == "late":
            raise ValueError("cannot let go")

    def misbehave(self, frame):
        if self.how == "raises":
            raise ValueError("no such latent")
        if self.how == "dies":
            self.die()
        if self.how == "dies once" and not (self.log / "died").exists():
            (self.log / "died").touch()
            self.die()
        if self.how == "waits once" and not (self.log / "pid").exists():
            self.wait()
        if self.how == "waits":
            self.wait()
        return {
            "short": None,
            "shape": np.concatenate([frame, frame], axis=2),
            "floats": frame.astype(np.float32) / 255,
            "wide": frame.astype(np.int64),
            "empty": frame[:0],
            "flat": frame[0],
            "list": frame.tolist(),
        }.get(self.how, frame)

    def die(self):
        print("about to go\nout of tokens", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    def wait(self):
        """Say who waits, and wait until somebody writes into the pipe `go`."""
        (self.log / "part").write_text(str(os.getpid()))
        os.rename(self.log / "part", self.log / "pid")
        with open(self.log / "go") as pipe:
            pipe.read()


class Told:
    """Prints what surrounds it, for the tests to read."""

    def __init__(self):
        self.spec = ModelSpec("told")
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "WORLDGAUGE_OUTER_ENVIRONMENT")
        print("threads", [os.environ.get(name) for name in names], flush=True)
        print(
            "input", repr(sys.stdin.read()), "group", os.getpgid(0) == os.getpid(), "session", os.getsid(0), flush=True
        )

    def rollout(self, request):
        yield from ()


class Telling(Fade):
    """Tells what it bent: one thing of each question, another of every second one."""

    def rollout(self, request):
        note(f"seed {request.seed} is bent")
        note(f"seed {request.seed} is bent")
        yield from super().rollout(request)
        if request.seed % 2 == 0:
            note("an  even\n one")
