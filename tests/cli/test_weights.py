"""`worldgauge weights`: as people type it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from weights.local_host import Answer, LocalHost, local_host, toy_file, toy_set
from worldgauge.cli.weights import app
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.weights import AbsentWeightsError, catalogue, download

DATA = b"weights" * 1000


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHost]:
    """A host of the one set there is, `toy`, and an empty store."""
    with local_host() as one:
        for name in list(catalogue):
            monkeypatch.delitem(catalogue, name)  # type: ignore[arg-type]
        toy = toy_set(toy_file(one, "net.pth", DATA), toy_file(one, "config.json", b"{}", sha256="", bytes=None))
        monkeypatch.setitem(catalogue, "toy", toy)  # type: ignore[arg-type]
        monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path / "store"))
        monkeypatch.delenv("WORLDGAUGE_OFFLINE", raising=False)
        monkeypatch.setattr(download, "WAITS_S", (0.0,))
        yield one


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("COLUMNS", "120")
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_list_says_whose_and_whether_here(host: LocalHost, cli: Callable[..., Any], tmp_path: Path) -> None:
    done = cli("list")
    assert done.exit_code == 0, done.output
    assert done.stdout.split("\n")[1].split() == ["toy", "play", "size", "not", "published", "Toy", "License", "absent"]
    assert f"in {tmp_path / 'store'}; download one: worldgauge weights pull NAME" in done.stdout
    told = json.loads(cli("list", "--json").stdout)
    assert told["folder"] == str(tmp_path / "store")
    (one,) = told["sets"]
    assert (one["name"], one["state"], one["licence"], one["gated"]) == ("toy", "absent", "Toy License", False)
    assert [(file["name"], file["sha256_is"], file["here"]) for file in one["files"]] == [
        ("net.pth", "published", False),
        ("config.json", "recorded on arrival", False),
    ]
    assert one["files"][1]["sha256"] is None
    cli("pull", "toy")
    (one,) = json.loads(cli("list", "--json").stdout)["sets"]
    assert one["state"] == "here"
    assert len(one["files"][1]["sha256"]) == 64


def test_pull_brings_once_and_dry_run_brings_nothing(host: LocalHost, cli: Callable[..., Any], tmp_path: Path) -> None:
    done = cli("pull", "toy", "--dry-run")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("toy: Toy, under Toy License of https://owner.example/toy; into ")
    assert "net.pth, 7000 B, checked against its sha256, from http://127.0.0.1" in done.stdout
    assert "config.json, size not published, its sha256 is recorded after the download" in done.stdout
    assert json.loads(cli("pull", "play", "--dry-run", "--json").stdout)["sets"][0]["to_bring"] == [
        "net.pth",
        "config.json",
    ]
    assert host.asked == []
    assert not (tmp_path / "store").exists()

    done = cli("pull", "play")
    assert done.exit_code == 0, done.output
    assert done.stdout == (
        f"{tmp_path / 'store' / 'toy'}: 2 files downloaded, under Toy License of https://owner.example/toy\n"
    )
    assert json.loads(cli("pull", "toy", "--json").stdout) == {
        "failures": [],
        "ok": True,
        "pulled": [{"brought": [], "folder": str(tmp_path / "store" / "toy"), "name": "toy"}],
    }
    assert "complete; nothing to download" in cli("pull", "toy", "--dry-run").stdout


def test_what_does_not_come_is_told(host: LocalHost, cli: Callable[..., Any]) -> None:
    host.answers["/net.pth"] = Answer(b"other")
    done = cli("pull", "toy", "--json")
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert (told["ok"], told["pulled"]) == (False, [])
    assert "expected 7000 bytes, the host announces 5" in told["failures"][0]["error"]
    assert "expected 7000 bytes" in done.stderr
    assert isinstance(cli("pull", "toi").exception, UnknownNameError)
    assert "Did you mean 'toy'?" in str(cli("pull", "toi").exception)


def test_verify_reads_everything(host: LocalHost, cli: Callable[..., Any], tmp_path: Path) -> None:
    assert cli("verify").stdout == f"no weights are in {tmp_path / 'store'}\n"
    assert (cli("verify", "toy").exit_code, cli("verify", "toy").stdout) == (1, "toy: absent\n")
    cli("pull", "toy")
    assert (cli("verify").exit_code, cli("verify").stdout) == (0, "toy: here\n")
    path = tmp_path / "store" / "toy" / "net.pth"
    path.write_bytes(DATA[:-1])
    done = cli("verify", "--json")
    assert done.exit_code == 1
    (one,) = json.loads(done.stdout)["sets"]
    assert one["faults"] == {"net.pth": "expected 7000 bytes, got 6999"}
    assert f"  {path}: expected 7000 bytes, got 6999" in cli("verify").stdout
    assert f"{path}: expected 7000 bytes, got 6999" in cli("list").stdout
    assert cli("pull", "toy").exit_code == 0
    assert cli("verify", "toy").exit_code == 0


def test_where(host: LocalHost, cli: Callable[..., Any], tmp_path: Path) -> None:
    assert cli("where").stdout == f"{tmp_path / 'store'}\n"
    error = cli("where", "toy").exception
    assert isinstance(error, AbsentWeightsError)
    cli("pull", "toy")
    assert json.loads(cli("where", "toy", "--json").stdout) == {"folders": [str(tmp_path / "store" / "toy")]}


def test_adopt(host: LocalHost, cli: Callable[..., Any], tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    assert isinstance(cli("adopt", mine).exception, UsageError)
    (mine / "blob").write_bytes(DATA)
    done = cli("adopt", mine)
    assert done.exit_code == 0, done.output
    assert done.stdout == f"toy net.pth: linked to {mine / 'blob'}\ntoy: still lacks config.json\n"
    (mine / "config.json").write_bytes(b"{}")
    told = json.loads(cli("adopt", mine, "--json").stdout)
    assert [one["name"] for one in told["taken"]] == ["config.json"]
    assert told["sets"][0]["state"] == "here"
    (mine / "net.pth").write_bytes(b"other")
    (mine / "blob").unlink()
    done = cli("adopt", mine)
    assert done.exit_code == 1
    assert f"not adopted: {mine / 'net.pth'}: expected 7000 bytes, got 5" in done.stdout
    assert host.asked == []
