"""Readers with faults that the harness must find: `python -m fuzz.planted` prints what it says of each."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from fuzz import harness
from fuzz.format import Format
from worldgauge.core.errors import DataError

SOUND = b"0123456789" * 5
HELD: list[bytearray] = []


def _divides() -> None:
    _ = 1 // 0


def _talks() -> None:
    raise ValueError("one line\nand another")


def _refuses() -> None:
    raise DataError("one line")


def _slow() -> None:
    began = time.process_time()
    while time.process_time() - began < 0.3:
        pass


def _swells() -> None:
    HELD.append(bytearray(os.urandom(1 << 20) * 80))


FAULTS: dict[str, Callable[[], object]] = {
    "divides": _divides,
    "talks": _talks,
    "hangs": lambda: time.sleep(1000),
    "swells": _swells,
    "slow": _slow,
    "dies": lambda: os.kill(os.getpid(), 9),
    "sound": _refuses,
}


def _read(fault: Callable[[], object]) -> Callable[[Path], object]:
    return lambda folder: (folder / "a.bin").read_bytes() == SOUND or fault()


def main() -> None:
    """Try each."""
    harness.HANG_S = 5.0
    for name, fault in FAULTS.items():
        form = Format(
            name,
            lambda folder: (folder / "a.bin").write_bytes(SOUND),
            _read(fault),
            refusals=(DataError, ValueError),
            most_s=0.2 if name == "slow" else 2.0,
            most_mb=50,
        )
        crashes = harness.run(form, 2).crashes
        print(f"{name}: {crashes[0].how if crashes else 'nothing'}")


if __name__ == "__main__":
    main()
