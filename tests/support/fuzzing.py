"""Starts the fuzzer in a process of its own: it forks, which threads of other tests would not survive."""

import os
import subprocess
import sys

from support.places import ROOT, TESTS


def fuzz(*arguments: str, module: str = "fuzz") -> subprocess.CompletedProcess[str]:
    """`python -m fuzz` with these arguments."""
    paths = [str(TESTS), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=250)
