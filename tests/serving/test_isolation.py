"""What the process of a model can see, and cannot: secrets of the environment, the network, files to write to."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from support.served import PYTHON, question
from worldgauge.core.errors import ModelError, UsageError
from worldgauge.core.model import checked_rollout
from worldgauge.engine.workers.site import LocalSite
from worldgauge.serving import open_model
from worldgauge.serving.isolation import (
    HIDDEN_VARIABLE,
    MEMORY_VARIABLE,
    PASS_VARIABLE,
    SANDBOX_VARIABLE,
    limited,
    only_needed,
    sandboxed,
    without_secrets,
)

SECRETS = {
    **dict.fromkeys(("OPENAI_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "db_password", "GITHUB_PAT"), "canary"),
    **dict.fromkeys(("GOOGLE_APPLICATION_CREDENTIALS", "WANDB_API_KEY", "KEY2", "WORLDGAUGE_TOKEN"), "canary"),
    "HTTPS_PROXY": "http://me:canary@proxy:3128",
}
PLAIN = {
    **dict.fromkeys(("PATH", "HOME", "PYTHONPATH", "CUDA_VISIBLE_DEVICES", "SSH_AUTH_SOCK", "KEYBOARD", "MONKEY"), "x"),
    **dict.fromkeys(("XDG_SESSION_ID", "TOKENIZERS_PARALLELISM", "PATTERN", "COMPASS"), "x"),
    "HF_ENDPOINT": "https://host:8080/a@b",
}

MODEL = """
import os, socket
import numpy as np
from worldgauge_serve import ModelSpec

class Curious:
    spec = ModelSpec("curious")

    def rollout(self, request):
        found = []
        for name, value in os.environ.items():
            if "canary" in value:
                found.append("env " + name)
        try:
            open("{there}", "w").close()
            found.append("wrote")
        except OSError:
            pass
        try:
            with socket.create_connection(("127.0.0.1", {port}), 2):
                found.append("connected")
        except OSError:
            pass
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if b"canary" in open("/proc/" + pid + "/environ", "rb").read():
                    found.append("read of another process")
                    break
            except OSError:
                pass
        open(os.path.join(os.environ.get("TMPDIR", "/tmp"), "scratch"), "w").close()
        if found:
            raise ValueError("found: " + ", ".join(found))
        height, width = request.context.frames[0].shape[:2]
        yield np.zeros((request.horizon, height, width, 3), np.uint8)
"""


def test_secrets_are_known_and_not_for_clusters() -> None:
    assert without_secrets({**SECRETS, **PLAIN}) == PLAIN
    named = without_secrets({**SECRETS, PASS_VARIABLE: "HF_TOKEN,KEY2"}, ["python", "m.py?key_env=WANDB_API_KEY"])
    assert named.keys() == {"HF_TOKEN", "KEY2", "WANDB_API_KEY"}
    words = ["run", "loopnav", "--data", "x", "--model", "drift", "--on", "ray", "--sandbox"]
    command = [sys.executable, "-m", "worldgauge.cli.main", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "--sandbox is for workers on this machine" in done.stderr


@pytest.fixture
def curious(tmp_path: Path) -> Iterator[str]:
    """The command of a model that tells what it can reach; a server listens for it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        text = MODEL.replace("{there}", str(tmp_path / "there")).replace("{port}", str(listener.getsockname()[1]))
        (tmp_path / "curious.py").write_text(text)
        yield f"cmd:{PYTHON} -m worldgauge_serve {tmp_path / 'curious.py'}:Curious"


def said(text: str) -> str:
    model = open_model(text)
    try:
        assert np.concatenate(list(checked_rollout(model, question()))).shape[0] == 6
    except ModelError as error:
        return str(error).partition("found: ")[2]
    finally:
        model.close()
    return ""


def test_a_model_is_not_handed_the_keys_of_the_environment(curious: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUZZ_API_KEY", "canary")
    assert "env FUZZ_API_KEY" not in said(curious)
    monkeypatch.setenv(PASS_VARIABLE, "FUZZ_API_KEY")
    assert "env FUZZ_API_KEY" in said(curious)


def test_a_model_that_takes_too_much_memory_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
import resource
import numpy as np
from worldgauge_serve import ModelSpec

class Greedy:
    spec = ModelSpec("greedy")

    def rollout(self, request):
        core = resource.getrlimit(resource.RLIMIT_CORE)
        size = len(bytearray(3 << 30))
        raise ValueError(f"found: core {core}, {size} bytes")
        yield
"""
    (tmp_path / "greedy.py").write_text(text)
    greedy = f"cmd:{PYTHON} -m worldgauge_serve {tmp_path / 'greedy.py'}:Greedy"
    monkeypatch.setenv(MEMORY_VARIABLE, "2")
    model = open_model(greedy)
    try:
        with pytest.raises(ModelError, match="MemoryError"):
            list(checked_rollout(model, question()))
    finally:
        model.close()
    monkeypatch.setenv(MEMORY_VARIABLE, "4")
    assert said(greedy) == f"core (0, 0), {3 << 30} bytes"
    monkeypatch.setenv(MEMORY_VARIABLE, "much")
    with pytest.raises(UsageError, match=r"WORLDGAUGE_MODEL_MEMORY_GB is 'much'; give gigabytes"):
        said(greedy)


def test_limits_and_variables_of_other_programs() -> None:
    for wanted in (["grep", "^Sig", "/proc/self/status"], [PYTHON, "-c", "import sys; print(sys.argv)", "a b", ""]):
        plain, bound = (
            subprocess.run(one, capture_output=True, text=True) for one in (wanted, limited(wanted, 1 << 30))
        )
        assert (bound.stdout, bound.returncode) == (plain.stdout, 0)
    process = subprocess.Popen(limited(["sh", "-c", "echo $$"]), stdout=subprocess.PIPE, text=True)
    assert int(process.communicate()[0]) == process.pid
    assert subprocess.run(limited(["sh", "-c", "exit 7"])).returncode == 7
    assert limited(["no-such-program", "x"]) == ["no-such-program", "x"]
    assert only_needed({**SECRETS, **PLAIN, "LC_ALL": "C", "NODE_OPTIONS": "--require=x"}) == {
        "PATH": "x",
        "HOME": "x",
        "LC_ALL": "C",
    }


def _has_sandbox() -> bool:
    bwrap = shutil.which("bwrap")
    walls = ["--unshare-net", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    return bwrap is not None and subprocess.run([bwrap, *walls], capture_output=True).returncode == 0


@pytest.mark.skipif(not _has_sandbox(), reason="no bwrap that works here")
def test_a_sandboxed_model_reaches_neither_network_nor_files_nor_processes(
    curious: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {"wrote", "connected"} <= set(said(curious).split(", "))
    monkeypatch.setenv(SANDBOX_VARIABLE, "1")
    assert said(curious) == ""


def test_a_sandbox_that_is_not_there_is_one_line(curious: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SANDBOX_VARIABLE, "1")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UsageError, match=r"--sandbox needs bwrap, which is not here"):
        open_model(curious)


def test_a_sandbox_is_without_data_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    (tmp_path / "data").mkdir()
    hidden = os.pathsep.join(str(tmp_path / name) for name in ("data", "missing"))
    words = sandboxed(["true"], "/own", {SANDBOX_VARIABLE: "1", HIDDEN_VARIABLE: hidden}, "it")
    assert words.count("--tmpfs") == 1
    assert words[words.index("--tmpfs") + 1] == str(tmp_path / "data")
    assert words.index("--tmpfs") < words.index("--bind"), "its own folder stays, wherever it is"
    assert LocalSite(hidden=[tmp_path / "data"])._hidden == {HIDDEN_VARIABLE: str(tmp_path / "data")}
