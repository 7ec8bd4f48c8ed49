"""Collections that are killed in the middle: kill -9, and no worker left that still writes."""

import signal
import subprocess
import sys
import time
from pathlib import Path


def kill_when_seen(script: str, out: Path, sight: str) -> None:
    """Run `script` with `out` as its argument until a file matches `sight` below it, kill it, and wait for quiet."""
    process = subprocess.Popen([sys.executable, "-c", script, str(out)])
    try:
        while process.poll() is None and not list(out.glob(sight)):
            time.sleep(0.002)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGKILL
    # Workers give up within a second of their parent's death.
    time.sleep(1.2)
    while any(time.time() - path.stat().st_mtime < 1 for path in out.rglob("*")):
        time.sleep(0.1)
