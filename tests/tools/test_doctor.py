"""`worldgauge doctor` on an installation that works, and on broken ones: each part ends in one line."""

import csv
import io
import json
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest

from support.commands import Done, command
from support.places import ROOT
from worldgauge.core.errors import UsageError, WorldgaugeError
from worldgauge.tools import doctor
from worldgauge.tools.doctor import EXTRAS, AbsentError, Requirement


def only(monkeypatch: pytest.MonkeyPatch, *parts: str) -> None:
    """Let the doctor look at these parts alone."""
    monkeypatch.setattr(doctor, "NEEDED", {name: check for name, check in doctor.NEEDED.items() if name in parts})
    monkeypatch.setattr(doctor, "OPTIONAL", {name: check for name, check in doctor.OPTIONAL.items() if name in parts})


def put_module(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that checks find in place of the installed one."""
    (folder / f"{name}.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(ROOT / "src")]))


def parts_of(done: Done) -> dict[str, Requirement]:
    return {one["part"]: Requirement(**one) for one in json.loads(done.stdout)["findings"]}


def test_an_installation_that_works(tmp_path: Path) -> None:
    done = command(tmp_path, "doctor")
    assert done.returncode == 0, done.stdout
    assert not done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    parts = re.findall(r"^(?:ok|optional) +(\w+): ", done.stdout, re.MULTILINE)
    assert parts == [*doctor.NEEDED, *doctor.OPTIONAL]
    assert f"GB free in {tmp_path}".replace(" ", "") in "".join(done.stdout.split())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(EXTRAS) == set(project["optional-dependencies"]) - {"dev"}


def test_a_needed_part_that_is_broken_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "packages", "browser")
    put_module(tmp_path, "av", "raise ImportError('libav.so.1: cannot open\\nshared object file')", monkeypatch)
    done = command(tmp_path, "doctor")
    assert (done.returncode, done.stderr) == (1, "")
    told = "FAILED packages: does not work: ImportError: libav.so.1: cannot open shared object file"
    assert " ".join(done.stdout.split()).startswith(told)
    found = command(tmp_path, "doctor", "--json")
    assert found.returncode == 1
    assert json.loads(found.stdout)["ok"] is False
    assert not parts_of(found)["packages"].well
    header, *rows = csv.reader(io.StringIO(command(tmp_path, "doctor", "--csv").stdout))
    assert dict(zip(header, rows[0], strict=True)).items() >= {"part": "packages", "well": "False"}.items()


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file where the folder would be: permissions do not keep root out."""
    only(monkeypatch, "kernels")
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    done = command(tmp_path, "doctor", "--json")
    assert done.returncode == 1
    assert "numba cannot write to NUMBA_CACHE_DIR" in parts_of(done)["kernels"].told
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    assert str(tmp_path / "kernels") in parts_of(command(tmp_path, "doctor", "--json"))["kernels"].told


def test_an_extra_that_is_not_there_names_what_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    with pytest.raises(AbsentError) as caught:
        EXTRAS["manipulation"].check()
    assert str(caught.value) == (
        'not installed: needed for the table with the arm; in a checkout: pip install --editable ".[manipulation]"'
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("raise OSError('libEGL.so.1: no such file')", "does not work: OSError: libEGL.so.1: no such file"),
        ("import os; os.kill(os.getpid(), 11)", "does not work (the check ended with signal 11): nothing was printed"),
    ],
)
def test_a_broken_extra_is_one_line(text: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "structures")
    put_module(tmp_path, "nbtlib", text, monkeypatch)
    done = command(tmp_path, "doctor", "--json")
    assert done.returncode == 0
    assert parts_of(done)["structures"] == Requirement("structures", False, False, told)
    put_module(tmp_path, "nbtlib", "import time; time.sleep(60)", monkeypatch)
    monkeypatch.setattr(doctor, "DEADLINE_S", 1.0)
    assert parts_of(command(tmp_path, "doctor", "--json"))["structures"].told == "no answer within 1 s"


def test_a_full_disk_and_an_older_python_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LEAST_FREE_GB", 1e9)
    with pytest.raises(UsageError, match=rf"GB free in {tmp_path}/new: make room"):
        doctor.check_folder(tmp_path / "new", "make room")
    with pytest.raises(UsageError, match=r"/proc/none cannot be written to .*: name another"):
        doctor.check_folder(Path("/proc/none"), "name another")
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    with pytest.raises(UsageError, match=r"worldgauge needs >=3\.11"):
        doctor.check_python()


def test_a_damaged_set_of_weights_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path))
    with pytest.raises(AbsentError, match="none here"):
        doctor.check_weights()
    (tmp_path / "lpips-alex").mkdir()
    (tmp_path / "lpips-alex" / "alex.pth").write_bytes(b"broken")
    with pytest.raises(Exception, match=r"expected 6009 bytes, got 6; worldgauge weights pull lpips-alex"):
        doctor.check_weights()


def test_only_minecraft_looks_at_a_server(tmp_path: Path) -> None:
    done = command(tmp_path, "doctor", "--server", "localhost:1")
    assert (done.returncode, done.stderr) == (2, "error: --server goes with: worldgauge doctor minecraft\n")


def test_a_texture_of_each_kind_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opengl_basisu")
    assert EXTRAS["scan"].check().endswith("decodes JPEG, PNG, WebP, KTX2 of UASTC, KTX2 of ETC1S, Basis")
    monkeypatch.setattr("worldgauge.tools.doctor._COLOUR", (10, 20, 30))
    with pytest.raises(WorldgaugeError, match="KTX2 of UASTC, is decoded 190 levels off"):
        EXTRAS["scan"].check()
