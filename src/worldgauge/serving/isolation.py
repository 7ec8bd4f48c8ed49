"""What a child process is given: an environment without secrets, and a sandbox where one is asked for."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence

from worldgauge.core.errors import UsageError

PASS_VARIABLE = "WORLDGAUGE_PASS_ENV"
"""Names of secret variables that children get all the same, separated by commas."""
SANDBOX_VARIABLE = "WORLDGAUGE_SANDBOX"
"""Set to 1 by --sandbox, so that workers know it too."""

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API|ACCESS|PRIVATE|SECRET)?(?:KEYS?|TOKENS?|SECRETS?|PASS|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?|PAT)"
    r"(?:_|\d*$)",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"://[^/\s:@]*:[^/\s@]+@")


def without_secrets(environment: Mapping[str, str], command: Sequence[str] = ()) -> dict[str, str]:
    """The variables that a child may see.

    A variable is secret by its name, such as HF_TOKEN or OPENAI_API_KEY, or by an address with a password in it. It is
    passed on when `PASS_VARIABLE` lists it, or when its name stands in the command, as in `?key_env=REACTOR_API_KEY`.

    Args:
        environment: All variables.
        command: The command line of the child.

    Returns:
        Those that are not secret, or are named.
    """
    named = set(re.findall(r"\w+", environment.get(PASS_VARIABLE, "") + " " + " ".join(command)))
    return {name: value for name, value in environment.items() if name in named or not is_secret(name, value)}


def is_secret(name: str, value: str) -> bool:
    """Whether a variable holds what models have no business with."""
    return _SECRET_NAME.search(name) is not None or _LOGIN.search(value) is not None


def sandboxed(command: Sequence[str], folder: str, environment: Mapping[str, str], who: str) -> list[str]:
    """The command in a sandbox, where `SANDBOX_VARIABLE` asks for one.

    No network, own processes only, a read-only file system but for `folder`.

    Args:
        command: Command line of the child.
        folder: The one folder that it may write to.
        environment: Variables of this process.
        who: Name of the model, for messages.

    Returns:
        The command line to start.

    Raises:
        UsageError: The system has no bwrap.
    """
    if environment.get(SANDBOX_VARIABLE, "") in ("", "0"):
        return list(command)
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise UsageError(f"{who}: --sandbox needs bwrap, which is not here (Debian: apt install bubblewrap)")
    walls = ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent"]
    places = ["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--bind", folder, folder]
    return [bwrap, *walls, *places, "--setenv", "TMPDIR", folder, "--chdir", os.getcwd(), "--", *command]
