"""What a child process is given: an environment without secrets, limits, and a sandbox where one is asked for."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence

from worldgauge.core.errors import UsageError

PASS_VARIABLE = "WORLDGAUGE_PASS_ENV"
"""Names of secret variables that children get all the same, separated by commas."""
SANDBOX_VARIABLE = "WORLDGAUGE_SANDBOX"
"""Set to 1 by --sandbox, so that workers know it too."""
HIDDEN_VARIABLE = "WORLDGAUGE_HIDDEN"
"""Folders that a sandboxed model must not see, set for the workers of a run: the data and the runs."""
MEMORY_VARIABLE = "WORLDGAUGE_MODEL_MEMORY_GB"
"""Most memory that a process of a model may take, in gigabytes of 2**30 bytes; without it there is no limit."""
_NEEDED = re.compile(r"PATH|HOME|USER|LOGNAME|TMPDIR|TZ|LANG|LC_\w+|LD_LIBRARY_PATH|DISPLAY|XAUTHORITY|XDG_RUNTIME_DIR")
_LIMITED = """
import os, resource, signal, sys
def limit(kind, most):
    hard = resource.getrlimit(kind)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))
limit(resource.RLIMIT_CORE, 0)
if int(sys.argv[1]):
    limit(resource.RLIMIT_DATA, int(sys.argv[1]))
for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them, and what is ignored stays so in the program
    signal.signal(getattr(signal, name), signal.SIG_DFL)
os.execv(sys.argv[2], sys.argv[3:])
"""

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API|ACCESS|PRIVATE|SECRET)?(?:KEYS?|TOKENS?|SECRETS?|PASS|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?|PAT|"
    r"SIGNATURE|SIG)(?:_|\d*$)",
    re.IGNORECASE,
)
_LOGIN = re.compile(r":/{1,2}[^/\s:@]*:[^/\s@]+@")
"""An address with a password. One slash is what is left of two where an address was taken for a path."""
_USER = re.compile(r"://([^/\s:@]+)@")
_TYPED = re.compile(r"([A-Za-z_][\w-]*)=([^\s&'\"]+)|--([A-Za-z][\w-]*)\s+([^\s'\"-][^\s'\"]*)")
_LIKE_A_KEY = re.compile(r"(?=.*[A-Za-z])(?=.*\d)[\w.~+/=-]{12,}")
"""Letters and digits, as in all that is issued by machines; a file or a word is none."""

_LEAST_SECRET = 6
"""Letters of the shortest value that is hidden in texts: shorter ones are parts of words."""


def without_secrets(environment: Mapping[str, str], command: Sequence[str] = ()) -> dict[str, str]:
    """The variables that a child may see: not secret ones, unless `PASS_VARIABLE` or the command names them. A variable
    is secret by its name, such as HF_TOKEN, or by a password in an address."""
    named = set(re.findall(r"\w+", environment.get(PASS_VARIABLE, "") + " " + " ".join(command)))
    return {name: value for name, value in environment.items() if name in named or not is_secret(name, value)}


def is_secret(name: str, value: str) -> bool:
    """Whether a variable holds what models have no business with."""
    return _SECRET_NAME.search(name) is not None or _LOGIN.search(value) is not None


def check_no_secret(text: str, what: str) -> None:
    """Refuse a secret in what a user types, since that is recorded, printed and published. A secret is an address with
    a password, or a long value under a name such as api_key."""
    users = filter(_LIKE_A_KEY.fullmatch, _USER.findall(text))
    where = "an address with a password" if _LOGIN.search(text) or any(users) else ""
    for name, value, flag, behind in _TYPED.findall(text):
        word, given = (name or flag).replace("-", "_"), value or behind
        known = given in os.environ or (given.isupper() and given.isidentifier())
        if not known and not word.lower().endswith("_env") and is_secret(word, "") and _LIKE_A_KEY.fullmatch(given):
            where = f"what looks like a secret as '{word}'"
    if where:
        raise UsageError(
            f"{what}: {where}, and what is typed is recorded; put it into an environment variable"
            f" (models get those that {PASS_VARIABLE} names)"
        )


def hidden(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """A text of somebody else, such as a library's error, without the secrets of the environment."""
    text = _LOGIN.sub("://***@", text)
    for name, value in environment.items():
        if len(value) >= _LEAST_SECRET and is_secret(name, value):
            text = text.replace(value, f"[{name}]")
    return text


def check_command_line(words: Sequence[str]) -> None:
    """Refuse a secret anywhere in a command line; even a folder's name is written into what a command makes."""
    before = ""
    for word in words:
        check_no_secret(word, before if before.startswith("-") else "the command line")
        before = word.partition("=")[0]


def only_needed(environment: Mapping[str, str]) -> dict[str, str]:
    """The few variables that a program of ours in another language needs: where things are, language and time zone."""
    return {name: value for name, value in environment.items() if _NEEDED.fullmatch(name)}


def limited(command: Sequence[str], memory: int = 0) -> list[str]:
    """The command with system limits for all that it starts, and without core dumps, which would hold its inputs."""
    program = shutil.which(command[0])
    if program is None:
        return list(command)
    return [sys.executable, "-I", "-S", "-c", _LIMITED, str(memory), program, *command]


def memory_of_models(environment: Mapping[str, str]) -> int:
    """Bytes that `MEMORY_VARIABLE` allows; 0 where it is not set."""
    told = environment.get(MEMORY_VARIABLE, "")
    try:
        gigabytes = float(told or 0)
    except ValueError:
        gigabytes = -1.0
    if not 0 <= gigabytes <= 2**20:
        raise UsageError(f"{MEMORY_VARIABLE} is {told[:40]!r}; give gigabytes, such as 16")
    return int(gigabytes * 2**30)


def sandboxed(command: Sequence[str], folder: str, environment: Mapping[str, str], who: str) -> list[str]:
    """A command in a sandbox if requested: no network or other process, `folder` writable, `HIDDEN_VARIABLE` absent."""
    if environment.get(SANDBOX_VARIABLE, "") in ("", "0"):
        return list(command)
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise UsageError(f"{who}: --sandbox needs bwrap, which is not here (Debian: apt install bubblewrap)")
    walls = ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent"]
    hidden = [path for path in environment.get(HIDDEN_VARIABLE, "").split(os.pathsep) if os.path.isdir(path)]
    places = ["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc"]
    places += [word for path in hidden for word in ("--tmpfs", path)] + ["--bind", folder, folder]
    return [bwrap, *walls, *places, "--setenv", "TMPDIR", folder, "--chdir", os.getcwd(), "--", *command]
