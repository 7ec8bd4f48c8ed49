"""Runs cases of a format in a child process, which may crash, hang or swell without harm, and counts how they end.

A case is made again from the name of its format, the seed and its number alone.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import mmap
import os
import re
import resource
import signal
import struct
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from fuzz.format import Format

HANG_S = 30.0
"""Wall-clock seconds after which a case that has not ended is ended, for code that no limit reaches."""
START_S = 300.0
"""Likewise until the sound example has been read: what reads it may have to be imported on a busy machine."""
CORPUS = Path(__file__).parent / "corpus"
_COUNTS = struct.Struct("<QQQQddd")
_STARTING, _WORKING, _DONE = range(3)
_LOOK_S = 0.05
STOPPED: list[int] = []
"""Signals that asked for an end. A list, since what handles a signal does as little as it can."""
Cases = Callable[[int], tuple[str, bytes]]
"""Name and bytes of the file that is changed in a case, by its number."""
_TIMES = itertools.count(10**18, 10**9)


@dataclass
class Crash:
    """A case that ended as none should.

    Attributes:
        number: Number of the case; -1 for one of the corpus.
        file: The file that was changed, relative to the folder.
        data: Its bytes.
        how: What happened, on one line.
    """

    number: int
    file: str
    data: bytes
    how: str

    @property
    def place(self) -> str:
        """Where in the code it ended."""
        return self.how.rsplit(" at ", 1)[-1]


@dataclass
class Outcome:
    """What cases of one format came to.

    Attributes:
        name: The format.
        cases: Number of cases.
        refused: Number that ended in an error that is meant.
        crashes: Those that did not.
        seconds: Processor seconds of all.
        slowest_s: Processor seconds of the slowest case.
        peak_mb: Megabytes that the process grew by, at most.
    """

    name: str
    cases: int = 0
    refused: int = 0
    crashes: list[Crash] = field(default_factory=list)
    seconds: float = 0.0
    slowest_s: float = 0.0
    peak_mb: float = 0.0

    @property
    def rate(self) -> float:
        """Cases a processor second."""
        return self.cases / self.seconds if self.seconds else 0.0

    def add(self, other: Outcome) -> None:
        """Take along the cases of another part; of crashes that end in one place of the code the first is kept."""
        self.cases += other.cases
        self.refused += other.refused
        self.seconds += other.seconds
        self.slowest_s = max(self.slowest_s, other.slowest_s)
        self.peak_mb = max(self.peak_mb, other.peak_mb)
        known = {crash.place for crash in self.crashes}
        for crash in other.crashes:
            if crash.place not in known:
                known.add(crash.place)
                self.crashes.append(crash)


def run(form: Format, cases: int, *, seed: int = 0, first: int = 0, seconds: float = float("inf")) -> Outcome:
    """Run cases of a format.

    Args:
        form: The format.
        cases: Most cases.
        seed: Seed of all cases.
        first: Number of the first case.
        seconds: Processor seconds after which no case begins.

    Returns:
        How they ended. Of crashes that end in one place of the code the first is kept.
    """
    with _scratch() as folder:
        example = _Example(form, folder / "example")
        return _run(example, lambda number: example.case(number, seed), range(first, first + cases), seconds)


def replay(form: Format) -> Outcome:
    """Read what once crashed a format, from the corpus."""
    root = CORPUS / _folder_name(form.name)
    held = [path for path in sorted(root.rglob("*")) if path.is_file()]
    if not held:
        return Outcome(form.name)

    def case(number: int) -> tuple[str, bytes]:
        name = held[number].relative_to(root).as_posix().partition("/")[2]
        return name, held[number].read_bytes()

    with _scratch() as folder:
        return _run(_Example(form, folder / "example"), case, range(len(held)), float("inf"))


def keep(name: str, crash: Crash) -> Path:
    """Save a crash in the corpus, where tests find it.

    Args:
        name: The format.
        crash: The crash.

    Returns:
        The file.
    """
    path = CORPUS / _folder_name(name) / hashlib.sha256(crash.data).hexdigest()[:8] / crash.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(crash.data)
    return path


def _folder_name(name: str) -> str:
    return re.sub(r"[ ,]+", "-", name)


class _Example:
    """The sound folder of a format, and its cases."""

    def __init__(self, form: Format, folder: Path) -> None:
        self.form, self.folder = form, folder
        folder.mkdir()
        # In a process of its own: threads of decoders and linear algebra do not live on in the children to come.
        _forked(lambda: form.make(folder))
        found = {path for pattern in form.files for path in folder.glob(pattern) if path.is_file()}
        self.sound = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(found)}
        assert self.sound, f"{form.name}: no file matches {form.files}"

    def case(self, number: int, seed: int) -> tuple[str, bytes]:
        """Name and bytes of the file that is changed in a case."""
        rng = Random(f"{self.form.name}/{seed}/{number}")
        name = rng.choice(list(self.sound))
        return name, self.form.mutate(name, self.sound[name], rng)


def _ended(example: _Example, name: str, data: bytes) -> tuple[bool, str]:
    """Whether a case was refused, and how it crashed, if it did."""
    form, path = example.form, example.folder / name
    path.write_bytes(data)
    os.utime(path, ns=(next(_TIMES),) * 2)  # readers know a file again by its size and time, which ticks too slowly
    began = time.process_time()
    refused, how = False, ""
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            form.read(example.folder)
    except form.refusals as error:
        refused = True
        if "\n" in str(error):
            how = f"an error of several lines at {_place(error)}"
    except (Exception, SystemExit) as error:
        how = f"{type(error).__name__}: {str(error)[:120]!r} at {_place(error)}"
    finally:
        # What was made beside it, such as a cache, stays; the file itself is sound again.
        path.write_bytes(example.sound[name])
        os.utime(path, ns=(next(_TIMES),) * 2)
    took = time.process_time() - began
    if not how and took > form.most_s:
        how = f"{took:.1f} s of processor time at {name}"
    return refused, how


def _place(error: BaseException) -> str:
    """The innermost line of ours, and the innermost of all."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "worldgauge" in frame.filename]
    named = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in (*ours[-1:], frames[-1])]
    return " ".join(dict.fromkeys(named))


def _run(example: _Example, case: Cases, numbers: range, seconds: float) -> Outcome:
    """Cases in children, a new one after each that was lost."""
    outcome = Outcome(example.form.name)
    number = numbers.start
    while number < numbers.stop and outcome.seconds < seconds and not STOPPED:
        part, number = _in_child(example, case, range(number, numbers.stop), seconds - outcome.seconds)
        outcome.add(part)
    return outcome


def _fork(work: Callable[[], object]) -> int:
    """Do something in a child process; its id. The child leaves with 1 when it raises."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for all of a group; the parent ends its children
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def _forked(work: Callable[[], object]) -> None:
    """Do something in a child process, and raise where it raised."""
    if os.waitpid(_fork(work), 0)[1]:
        raise RuntimeError("the sound example cannot be made or read")


def _in_child(example: _Example, case: Cases, numbers: range, seconds: float) -> tuple[Outcome, int]:
    """Cases until one kills the child, hangs it, or all are done; and the number of the next case."""
    counts = mmap.mmap(-1, _COUNTS.size)
    counts.write(_COUNTS.pack(numbers.start, 0, 0, _STARTING, 0.0, 0.0, 0.0))
    log = example.folder.parent / "crashes.jsonl"
    log.write_bytes(b"")
    pid = _fork(lambda: _work(example, case, numbers, seconds, counts, log))
    status, last, since = None, (-1, _STARTING), time.monotonic()
    while status is None:
        ended, code = os.waitpid(pid, os.WNOHANG)
        if ended:
            status = code
            break
        number, *_, state = _read(counts)[:4]
        now = number, state
        if now != last and not STOPPED:
            last, since = now, time.monotonic()
        elif STOPPED or time.monotonic() - since > (START_S if state == _STARTING else HANG_S):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            status = -1
        time.sleep(_LOOK_S)
    number, cases, refused, state, spent, slowest, peak = _read(counts)
    outcome = Outcome(example.form.name, cases, refused, [], spent, slowest, peak)
    for line in log.read_text().splitlines():
        told = json.loads(line)
        outcome.crashes.append(Crash(told["number"], *case(told["number"]), told["how"]))
    if STOPPED:
        return outcome, number
    if state == _STARTING:
        raise RuntimeError(f"{example.form.name}: its sound example cannot be read")
    if state == _WORKING:
        how = f"no end within {HANG_S:g} s" if status == -1 else f"the process ended with status {status}"
        outcome.crashes.append(Crash(number, *case(number), f"{how} at case {number}"))
        outcome.cases += 1
        for name, data in example.sound.items():
            (example.folder / name).write_bytes(data)
        number += 1
    return outcome, number


def _work(example: _Example, case: Cases, numbers: range, seconds: float, counts: mmap.mmap, log: Path) -> None:
    """In the child: cases one after another, each told before it begins."""
    form = example.form
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash leaves no memory image behind
    with redirect_stdout(io.StringIO()):
        form.read(example.folder)  # a sound example is read, and what is imported or compiled late is so by now
    _limit_memory(8 * form.most_mb << 20)
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cases = refused = 0
    slowest, began = 0.0, time.process_time()
    before = began
    with log.open("a") as crashes, _silent():
        for number in numbers:
            _write(counts, number, cases, refused, _WORKING, before - began, slowest, _grown(base))
            name, data = case(number)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            was_refused, how = _ended(example, name, data)
            more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) / 1024
            if not how and more > form.most_mb:
                how = f"{more:.0f} MB of memory at {name}"
            if how:
                crashes.write(json.dumps({"number": number, "how": how}) + "\n")
                crashes.flush()
            cases, refused = cases + 1, refused + was_refused
            now = time.process_time()
            slowest, before = max(slowest, now - before), now
            if now - began > seconds:
                break
    _write(counts, number + 1, cases, refused, _DONE, before - began, slowest, _grown(base))


@contextmanager
def _silent() -> Iterator[None]:
    """What libraries in C mutter about files goes nowhere."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)


def _limit_memory(most: int) -> None:
    """What is asked for beyond `most` more bytes than are mapped now is refused by the system."""
    with suppress(OSError, ValueError):
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
        resource.setrlimit(resource.RLIMIT_AS, (mapped + most, mapped + most))


def _grown(base: int) -> float:
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) / 1024


def _read(counts: mmap.mmap) -> tuple[int, int, int, int, float, float, float]:
    return _COUNTS.unpack(counts[:])  # type: ignore[return-value]


def _write(counts: mmap.mmap, *values: float) -> None:
    counts[:] = _COUNTS.pack(*values)


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder in memory where the system has one."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=shared if os.access(shared, os.W_OK) else None) as folder:
        yield Path(folder)


def table(outcomes: Iterator[Outcome] | list[Outcome]) -> str:
    """The outcomes as a table in Markdown."""
    rows = list(outcomes)
    total = Outcome(
        "all",
        sum(one.cases for one in rows),
        sum(one.refused for one in rows),
        [crash for one in rows for crash in one.crashes],
        sum(one.seconds for one in rows),
        max((one.slowest_s for one in rows), default=0.0),
        max((one.peak_mb for one in rows), default=0.0),
    )
    lines = [
        "| format | cases | refused | crashes | cases/s | slowest, s | memory, MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in (*rows, total):
        lines.append(
            f"| {one.name} | {one.cases:,} | {one.refused / max(one.cases, 1):.0%} | {len(one.crashes)} "
            f"| {one.rate:,.0f} | {one.slowest_s:.2f} | {one.peak_mb:.0f} |"
        )
    return "\n".join(lines)
