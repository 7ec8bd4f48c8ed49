"""What is told of Node, its packages and the rest when they are missing, old or broken; without Node."""

import json
import stat
from pathlib import Path

import pytest

from worldgauge.errors import UsageError, WorldError
from worldgauge.worlds.minecraft import doctor, install
from worldgauge.worlds.minecraft.bridge import Bridge
from worldgauge.worlds.minecraft.doctor import Finding, examine
from worldgauge.worlds.minecraft.java import address
from worldgauge.worlds.minecraft.server import JsServer


def program(folder: Path, name: str, text: str) -> None:
    """A shell program called `name`."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def put_packages(folder: Path, **other: str | None) -> None:
    """A folder as npm leaves it, with the pinned versions apart from `other`."""
    versions = {**install.pinned(), **{name.replace("_", "-"): version for name, version in other.items()}}
    listed = {f"node_modules/{name}": {"version": version} for name, version in versions.items() if version}
    (folder / "node_modules").mkdir(parents=True)
    (folder / "node_modules" / ".package-lock.json").write_text(json.dumps({"packages": listed}))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty search path for programs, and a folder for packages that is not there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv(install.PACKAGES_VARIABLE, str(tmp_path / "packages"))
    return folder


def found() -> dict[str, Finding]:
    return {one.part: one for one in examine()}


def test_nothing_is_there(path: Path, tmp_path: Path) -> None:
    parts = found()
    assert list(parts) == ["node", "packages", "browser", "server"]
    assert not any(one.well for one in parts.values())
    assert parts["node"].told == "no Node on the search path: install Node 20 or later"
    assert parts["packages"].told.startswith(f"no Node packages in {tmp_path / 'packages'}: run `make minecraft`")
    assert "npm" in parts["packages"].told
    assert not parts["browser"].needed
    assert "apt install chromium" in parts["browser"].told
    assert parts["server"].told == "not tried: it needs Node and its packages"
    with pytest.raises(WorldError, match="run `make minecraft`"):
        JsServer()


@pytest.mark.parametrize(
    ("says", "words"),
    [
        ("echo v18.19.1", "is Node v18.19.1: install Node 20"),
        ("echo hello", "is Node hello"),
        ("exit 1", r"is Node \?"),
    ],
)
def test_a_node_that_is_too_old(path: Path, tmp_path: Path, says: str, words: str) -> None:
    program(path, "node", says)
    put_packages(tmp_path / "packages")
    with pytest.raises(WorldError, match=words):
        install.find_node()
    with pytest.raises(WorldError, match=words):
        Bridge.start()
    assert not found()["node"].well
    assert found()["packages"].well


@pytest.mark.parametrize(
    ("other", "words"),
    [({"mineflayer": "4.39.0"}, "mineflayer 4.39.0"), ({"flying_squid": None}, "flying-squid missing")],
)
def test_packages_of_other_versions(path: Path, tmp_path: Path, other: dict[str, str | None], words: str) -> None:
    put_packages(tmp_path / "packages", **other)
    with pytest.raises(WorldError, match=rf"not those of this version \({words}\): run `make minecraft`"):
        install.find_packages()


def test_a_broken_list_of_packages(path: Path, tmp_path: Path) -> None:
    put_packages(tmp_path / "packages")
    (tmp_path / "packages" / "node_modules" / ".package-lock.json").write_text("{")
    with pytest.raises(WorldError, match="cannot be read"):
        install.find_packages()


def test_install_runs_npm_once_without_scripts(path: Path, tmp_path: Path) -> None:
    program(path, "node", "echo v20.20.2")
    put_packages(tmp_path / "ready")
    listing = (tmp_path / "ready" / "node_modules" / ".package-lock.json").read_text()
    puts = f"/bin/mkdir node_modules\necho '{listing}' > node_modules/.package-lock.json"
    program(path, "npm", f'echo "$PWD $@" >> {tmp_path}/asked\n{puts}')
    folder = tmp_path / "packages"
    assert install.install() == install.install() == folder
    assert (tmp_path / "asked").read_text() == f"{folder} ci --ignore-scripts --no-audit --no-fund\n"
    for name in ("package.json", "package-lock.json"):
        assert (folder / name).read_bytes() == (install.BRIDGE_FOLDER / name).read_bytes()


def test_an_npm_that_fails_is_quoted(path: Path, tmp_path: Path) -> None:
    program(path, "node", "echo v22.1.0")
    with pytest.raises(WorldError, match="no npm on the search path"):
        install.install()
    program(path, "npm", "echo 'npm error network is down' >&2; exit 1")
    with pytest.raises(WorldError, match="npm error network is down"):
        install.install()


def test_the_lock_file_holds_what_is_pinned() -> None:
    locked = json.loads((install.BRIDGE_FOLDER / "package-lock.json").read_bytes())["packages"]
    assert locked[""]["dependencies"] == install.pinned()
    assert {name: locked[f"node_modules/{name}"]["version"] for name in install.pinned()} == install.pinned()
    assert all("integrity" in one for name, one in locked.items() if name)


def test_a_server_that_does_not_start_is_told(path: Path, tmp_path: Path) -> None:
    program(path, "node", 'if [ "$1" = --version ]; then echo v20.0.0; else echo "out of memory" >&2; exit 7; fi')
    program(path, "chromium", "")
    put_packages(tmp_path / "packages")
    parts = found()
    assert [one.well for one in parts.values()] == [True, True, True, False]
    assert "exited with code 7; its last words: out of memory" in parts["server"].told


def test_an_address_is_host_and_port() -> None:
    assert address("localhost") == ("localhost", 25565)
    assert address("10.0.0.1:8105") == ("10.0.0.1", 8105)
    for text in ("", ":1", "host:", "host:0", "host:65536", "host:x"):
        with pytest.raises(UsageError, match="write host:port"):
            address(text)
    with pytest.raises(UsageError, match="write host:port"):
        next(doctor.examine("host:x"))


@pytest.mark.minecraft
def test_all_is_well_where_all_is_there(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(install.PACKAGES_VARIABLE, str(packages))
    assert all(one.well for one in examine() if one.needed)
