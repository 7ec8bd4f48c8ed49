"""The command line in this process: a test of what a command does need not wait for a Python of its own to start."""

import io
import signal
import subprocess
import sys
import traceback
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from worldgauge.cli.main import main

Done = subprocess.CompletedProcess[str]


def command(folder: Path, *arguments: str | Path, columns: int = 100) -> Done:
    """`worldgauge ...` in `folder`: how it ended, and what it printed."""
    words, out, errors, code = [str(word) for word in arguments], io.StringIO(), io.StringIO(), 0
    before = signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch, chdir(folder), redirect_stdout(out), redirect_stderr(errors):
        patch.setattr(sys, "argv", ["worldgauge", *words])
        patch.setenv("COLUMNS", str(columns))
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except Exception:
            traceback.print_exc()
            code = 1
        finally:
            signal.signal(signal.SIGTERM, before)
    return subprocess.CompletedProcess(words, code, out.getvalue(), errors.getvalue())
