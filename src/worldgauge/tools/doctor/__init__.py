"""Check whether the installation works: what everything needs, and what each optional part needs.

for requirement in examine_installation(): print(requirement.part, requirement.told)
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from worldgauge.tools.doctor import base
from worldgauge.tools.doctor.optional import EXTRAS, check_browser, check_cache, check_gpu, check_scans, check_weights
from worldgauge.tools.doctor.requirement import Requirement

NEEDED: Mapping[str, Callable[[], str]] = {
    "python": base.check_python,
    "packages": base.check_packages,
    "kernels": base.check_kernels,
    "videos": base.check_videos,
    "disk": base.check_disk,
}
"""What every suite needs. A check returns what it found in words, and raises an error where the part does not work."""
OPTIONAL: Mapping[str, Callable[[], str]] = {
    **{name: extra.check for name, extra in EXTRAS.items()},
    "cache": check_cache,
    "scans": check_scans,
    "weights": check_weights,
    "gpu": check_gpu,
    "browser": check_browser,
}
"""What only something needs. Here a check raises `AbsentError` where the part is not installed."""
DEADLINE_S = 180.0
ABSENT = 3
"""Exit code of the check of a part that is not installed."""


def examine_installation() -> Iterator[Requirement]:
    """Check all parts, each in a process of its own: a library that crashes or hangs costs one line.

    Yields:
        One requirement per part, those that everything needs first.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(_examine, [*NEEDED, *OPTIONAL])


def _examine(part: str) -> Requirement:
    needed = part in NEEDED
    command = [sys.executable, "-P", "-m", "worldgauge.tools.doctor", part]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        return Requirement(part, False, needed, f"no answer within {DEADLINE_S:.0f} s")
    if done.returncode == 0:
        return Requirement(part, True, needed, _last_line(done.stdout))
    told = _last_line(done.stderr)
    if done.returncode == ABSENT:
        return Requirement(part, False, needed, told)
    crash = f" (the check ended with signal {-done.returncode})" if done.returncode < 0 else ""
    return Requirement(part, False, needed, f"does not work{crash}: {told or 'nothing was printed'}")


def _last_line(printed: bytes) -> str:
    lines = printed.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip() if lines else ""
