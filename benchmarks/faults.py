"""Machines that misbehave: a full disk, a file system that turns read-only, a clock that jumps, a second driver.

Each kind of fault hits one run again and again; every stop must be one line of a known error, and the run must end in
the bytes of one that was left alone. It needs root on Linux, for file systems of its own; the clock a C compiler.
`python -m benchmarks.faults --stops 50` is the long form.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks._bare import Bare, Still
from worldgauge.core.errors import WorldgaugeError
from worldgauge.engine.run import run as perform
from worldgauge.engine.store import MAKE_ROOM

STOPS, TASKS_A_STOP = 10, 12


def run() -> dict[str, Any]:
    return measure(STOPS)


def measure(stops: int) -> dict[str, Any]:
    """Let each kind of fault hit a run about `stops` times.

    Args:
        stops: How often.

    Returns:
        What `python -m benchmarks faults --json` prints.
    """
    if os.geteuid() or sys.platform != "linux":
        return {"name": "faults", "not_run": "file systems can only be made and broken by root on Linux"}
    kinds = {"full disk": _full_disk, "read-only": _read_only, "clock": _clock, "two drivers": _two_drivers}
    told: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        tasks = stops * TASKS_A_STOP
        whole = _bytes_of(_drive(Path(folder, "whole"), tasks))
        for name, act in kinds.items():
            place = Path(folder, name.replace(" ", "-"))
            place.mkdir()
            told[name] = act(place, tasks, stops, whole)
    done = [one for one in told.values() if "not_run" not in one]
    hits, lost = sum(one["hits"] for one in done), sum(not one["same_bytes"] for one in done)
    return {
        "name": "faults",
        "unit": "kinds of faults whose run ended in the same bytes",
        "ours": len(done) - lost,
        "reference": len(done),
        "reference_name": "kinds that could be tried here",
        "ratio": round(1 - lost / max(1, len(done)), 2),
        "goal": 1.0,
        "met": not lost,
        "hits": hits,
        "kinds": told,
    }


def _drive(out: Path, tasks: int, workers: int = 0, **more: Any) -> Path:
    """A run in this process, or with workers. Returns the folder of its model."""
    model = "benchmarks._bare:Still" if workers else Still()
    settings = {"tasks": tasks, "series": 40}
    result = perform(Bare.name, model=model, data=out.parent, out=out, workers=workers or 1, settings=settings, **more)
    assert result.counts.scored == tasks, result.failures[:3]
    return next(iter(result.directories.values()))


def _bytes_of(folder: Path) -> dict[str, str]:
    """Digest of every file of a run that must not depend on what happened to it."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("run.json", "journal.jsonl")
    }


def _full_disk(place: Path, tasks: int, stops: int, whole: dict[str, str]) -> dict[str, Any]:
    """The disk has room for a few more tasks, a random number of pages at a time; every third attempt has workers."""
    rng, size, errors = random.Random(stops), 64, []
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", place], check=True)
    try:
        while True:
            try:
                out = _drive(place / "out", tasks, workers=2 * (len(errors) % 10 == 9))
                break
            except WorldgaugeError as error:
                errors.append(str(error))
            size += 4 * rng.randint(1, 2 * TASKS_A_STOP * 4)
            subprocess.run(["mount", "-o", f"remount,size={size}k", place], check=True)
        same = _bytes_of(out) == whole
    finally:
        subprocess.run(["umount", place], check=True)
    plain = all(MAKE_ROOM in error and "\n" not in error for error in errors)
    return {"hits": len(errors), "same_bytes": same, "one_line_each": plain, "said": sorted(map(_shape, errors))[-1:]}


def _read_only(place: Path, tasks: int, stops: int, whole: dict[str, str]) -> dict[str, Any]:
    """A disk of ext4 whose kernel meets an error turns read-only under the running process."""
    image, errors = place / "image", []
    disk = place / "disk"
    disk.mkdir()
    with open(image, "wb") as file:
        file.truncate(256 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-N", str(20 * tasks + 1000), image], check=True)
    rng = random.Random(stops)
    for _ in range(10 * stops):
        subprocess.run(["mount", "-o", "loop,errors=remount-ro", image, disk], check=True)
        try:
            with _breaking(disk, after=rng.randint(1, 2 * TASKS_A_STOP)) as watch:
                try:
                    same = _bytes_of(_drive(disk / "out", tasks, progress=watch)) == whole
                    break
                except WorldgaugeError as error:
                    errors.append(str(error))
        finally:
            subprocess.run(["umount", disk], check=True)
            subprocess.run(["fsck.ext4", "-p", image], stdout=subprocess.DEVNULL)
    else:
        same = False
    plain = all("cannot be written" in error and "\n" not in error for error in errors)
    return {"hits": len(errors), "same_bytes": same, "one_line_each": plain, "said": sorted(map(_shape, errors))[-1:]}


@contextmanager
def _breaking(disk: Path, after: int) -> Iterator[Callable[[Any], None]]:
    """A watcher that breaks the disk when so many tasks have ended."""
    device = subprocess.run(["findmnt", "-no", "SOURCE", disk], capture_output=True, text=True, check=True)
    trigger = Path("/sys/fs/ext4", Path(device.stdout.strip()).name, "trigger_fs_error")
    ended = 0

    def watch(step: Any) -> None:
        nonlocal ended
        ended += step.status is not None
        if step.status is not None and ended == after:
            trigger.write_text("1\n")

    yield watch


def _clock(place: Path, tasks: int, stops: int, whole: dict[str, str]) -> dict[str, Any]:
    """The date is another by up to 200 days whenever the driver or a worker looks; what only ticks is left alone."""
    compiler = shutil.which("cc")
    if compiler is None:
        return {"not_run": "no C compiler here for the library that turns the clock"}
    library, readings = place / "clock.so", place / "readings"
    (place / "clock.c").write_text(_CLOCK)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, place / "clock.c", "-ldl"], check=True)
    command = [sys.executable, "-m", "benchmarks.faults", "--drive", str(place / "out"), "--tasks", str(tasks)]
    variables = {**os.environ, "LD_PRELOAD": str(library), "READINGS": str(readings)}
    done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    (folder,) = (path.parent for path in (place / "out").glob("*/run.json"))
    hits = sum(map(int, readings.read_text().split()))
    return {"hits": hits, "same_bytes": _bytes_of(folder) == whole, "one_line_each": True, "said": []}


_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#define DAYS 400
static int readings;

static time_t jump(void) { readings++; return (rand() % DAYS - DAYS / 2) * 86400L; }

int clock_gettime(clockid_t id, struct timespec *t) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, t);
    if (id == CLOCK_REALTIME) t->tv_sec += jump();
    return result;
}

int gettimeofday(struct timeval *t, void *zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

__attribute__((destructor)) static void tell(void) {
    const char *place = getenv("READINGS");
    FILE *file = place ? fopen(place, "a") : NULL;
    if (file) { fprintf(file, "%d\\n", readings); fclose(file); }
}
"""


def _two_drivers(place: Path, tasks: int, stops: int, whole: dict[str, str]) -> dict[str, Any]:
    """Three drivers on one folder at a time, each killed at a random moment; at most one of them works."""
    rng, errors, hits = random.Random(stops), set(), 0
    fork = multiprocessing.get_context("fork")
    for _ in range(stops):
        said = fork.SimpleQueue()
        drivers = [fork.Process(target=_try_to_drive, args=(place / "out", tasks, said)) for _ in range(3)]
        for driver in drivers:
            driver.start()
        time.sleep(rng.uniform(0.05, 1.0))
        for driver in drivers:
            with suppress(ProcessLookupError):
                os.kill(driver.pid, signal.SIGKILL)
            driver.join()
        while not said.empty():
            errors.add(_shape(said.get()))
            hits += 1
    folder = _drive(place / "out", tasks)
    ended = [json.loads(line)["task"] for line in (folder / "journal.jsonl").read_text().splitlines()]
    return {
        "hits": hits,
        "same_bytes": _bytes_of(folder) == whole and len(ended) == len(set(ended)) == tasks,
        "one_line_each": all("another process" in error and "\n" not in error for error in errors),
        "said": sorted(errors)[-1:],
    }


def _try_to_drive(out: Path, tasks: int, said: Any) -> None:
    try:
        _drive(out, tasks)
    except WorldgaugeError as error:
        said.put(str(error))


def _shape(error: str) -> str:
    """An error without what differs from time to time."""
    return re.sub(r"\S*/", "", re.sub(r"process \d+ on \S+ since \S+", "process N on HOST since THEN", error))


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__.split("\n")[0])
    parser.add_argument("--stops", type=int, default=STOPS, help="how often each kind hits (%(default)s)")
    parser.add_argument("--drive", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--tasks", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        _drive(options.drive, options.tasks, workers=2)
    else:
        print(json.dumps(measure(options.stops)))


if __name__ == "__main__":
    main()
