"""`worldgauge weights`: as people type it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from support.commands import Done, command
from weights.local_host import Answer, LocalHost, local_host, toy_file, toy_set
from worldgauge.weights import catalogue, download

DATA = b"weights" * 1000


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHost]:
    """A host of the one set there is, `toy`, and an empty store."""
    with local_host() as one:
        toy = toy_set(toy_file(one, "net.pth", DATA), toy_file(one, "config.json", b"{}", sha256="", bytes=None))
        monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path / "store"))
        monkeypatch.delenv("WORLDGAUGE_OFFLINE", raising=False)
        monkeypatch.setattr(download, "WAITS_S", (0.0,))
        with patch.dict(catalogue, {"toy": toy}, clear=True):
            yield one


@pytest.fixture
def cli(tmp_path: Path) -> Callable[..., Done]:
    return lambda *words: command(tmp_path, *words, columns=120)


def test_list_says_whose_and_whether_here(host: LocalHost, cli: Callable[..., Done], tmp_path: Path) -> None:
    done = cli("list", "weights")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[1].split() == ["toy", "play", "size", "not", "published", "Toy", "License", "absent"]
    assert f"each in {tmp_path / 'store'}/NAME; download one: worldgauge weights pull NAME" in done.stdout
    told = json.loads(cli("list", "weights", "--json").stdout)
    assert told["folder"] == str(tmp_path / "store")
    (one,) = told["sets"]
    assert (one["name"], one["state"], one["licence"], one["gated"]) == ("toy", "absent", "Toy License", False)
    assert [(file["name"], file["sha256_is"], file["here"]) for file in one["files"]] == [
        ("net.pth", "published", False),
        ("config.json", "recorded on arrival", False),
    ]
    assert one["files"][1]["sha256"] is None
    cli("weights", "pull", "toy")
    (one,) = json.loads(cli("list", "weights", "--json").stdout)["sets"]
    assert one["state"] == "here"
    assert len(one["files"][1]["sha256"]) == 64


def test_pull_brings_once_and_dry_run_brings_nothing(host: LocalHost, cli: Callable[..., Done], tmp_path: Path) -> None:
    done = cli("weights", "pull", "toy", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("toy: Toy, under Toy License of https://owner.example/toy; into ")
    assert "net.pth, 7000 B, checked against its sha256, from http://127.0.0.1" in done.stdout
    assert "config.json, size not published, its sha256 is recorded after the download" in done.stdout
    assert json.loads(cli("weights", "pull", "play", "--dry-run", "--json").stdout)["sets"][0]["to_bring"] == [
        "net.pth",
        "config.json",
    ]
    assert host.asked == []
    assert not (tmp_path / "store").exists()

    done = cli("weights", "pull", "play")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"{tmp_path / 'store' / 'toy'}: 2 files downloaded, under Toy License of https://owner.example/toy\n"
    )
    assert json.loads(cli("weights", "pull", "toy", "--json").stdout) == {
        "failures": [],
        "ok": True,
        "pulled": [{"brought": [], "folder": str(tmp_path / "store" / "toy"), "name": "toy"}],
    }
    assert "complete; nothing to download" in cli("weights", "pull", "toy", "--dry-run").stdout


def test_what_does_not_come_is_told(host: LocalHost, cli: Callable[..., Done]) -> None:
    host.answers["/net.pth"] = Answer(b"other")
    done = cli("weights", "pull", "toy", "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert (told["ok"], told["pulled"]) == (False, [])
    assert "expected 7000 bytes, the host announces 5" in told["failures"][0]["error"]
    assert "expected 7000 bytes" in done.stderr
    for words, error in (
        (("toi",), "Did you mean 'toy'?"),
        ((), "give the NAMEs of weights to download, or only --from DIR"),
        (("toy", "--from", "."), "give the NAMEs of weights to download, or only --from DIR"),
    ):
        done = cli("weights", "pull", *words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert error in done.stderr


def test_verify_reads_everything(host: LocalHost, cli: Callable[..., Done], tmp_path: Path) -> None:
    def verify(*words: str) -> tuple[int, dict[str, str]]:
        done = cli("list", "weights", "--verify", *words, "--json")
        told = json.loads(done.stdout)
        assert told["ok"] == (done.returncode == 0)
        return done.returncode, {one["name"]: one["state"] for one in told["sets"]}

    assert verify() == (0, {})
    assert verify("toy") == (1, {"toy": "absent"})
    cli("weights", "pull", "toy")
    assert verify() == verify("toy") == (0, {"toy": "here"})
    folder = tmp_path / "store" / "toy"
    (one,) = json.loads(cli("list", "weights", "play", "--json").stdout)["sets"]
    assert one["folder"] == str(folder)
    assert cli("list", "weights", "toy", "--csv").stdout.splitlines()[1].endswith(f",here,{folder}")
    path = folder / "net.pth"
    path.write_bytes(DATA[:-1])
    (one,) = json.loads(cli("list", "weights", "--verify", "--json").stdout)["sets"]
    assert one["faults"] == {"net.pth": "expected 7000 bytes, got 6999"}
    for more in ((), ("--verify",)):
        done = cli("list", "weights", *more)
        assert f"{path}: expected 7000 bytes, got 6999" in done.stdout
        assert done.returncode == len(more)
    assert cli("weights", "pull", "toy").returncode == 0
    assert verify("toy")[0] == 0
    done = cli("list", "models", "--verify")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_adopt(host: LocalHost, cli: Callable[..., Done], tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    assert "holds no known file" in cli("weights", "pull", "--from", mine).stderr
    (mine / "blob").write_bytes(DATA)
    done = cli("weights", "pull", "--from", mine)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"toy net.pth: linked to {mine / 'blob'}\ntoy: still lacks config.json\n"
    (mine / "config.json").write_bytes(b"{}")
    told = json.loads(cli("weights", "pull", "--from", mine, "--json").stdout)
    assert [one["name"] for one in told["taken"]] == ["config.json"]
    assert told["sets"][0]["state"] == "here"
    (mine / "net.pth").write_bytes(b"other")
    (mine / "blob").unlink()
    done = cli("weights", "pull", "--from", mine)
    assert done.returncode == 1
    assert f"not adopted: {mine / 'net.pth'}: expected 7000 bytes, got 5" in done.stdout
    assert host.asked == []
