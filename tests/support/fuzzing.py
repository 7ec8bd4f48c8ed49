"""Starts the fuzzer in a process of its own: it forks, which threads of other tests would not survive."""

import os
import subprocess
import sys

from support.places import ROOT, TESTS


def fuzz(*arguments: str, module: str = "fuzz") -> subprocess.CompletedProcess[str]:
    """`python -m fuzz` with these arguments."""
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, env=_environment(), capture_output=True, text=True, timeout=250)


def fuzz_started(*arguments: str, round_s: float) -> subprocess.Popen[str]:
    """The same, still running, with rounds of so many seconds a format."""
    code = f"import fuzz.__main__ as run; run.ROUND_S = {round_s}; raise SystemExit(run.main())"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _environment() -> dict[str, str]:
    paths = [str(TESTS), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
