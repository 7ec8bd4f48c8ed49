"""Bundles of real runs: what is in them, that changes are found, and which numbers stand."""

import json
import math
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import glow
from support.commands import command
from worldgauge.core.errors import DataError, RunError, UsageError, WorldgaugeError
from worldgauge.core.video import Clip
from worldgauge.engine.result import find_runs
from worldgauge.engine.suite.contract import Score
from worldgauge.tools.bundle import ABOUT, MANIFEST, About, Archive, write_archive, write_bundles
from worldgauge.tools.score_tolerance import Rescored, numbers_of
from worldgauge.tools.verify import Verification, look_over, verify

Files = dict[str, bytes]
ABOUT_MODEL = About("Apache-2.0", 1_300_000_000, "https://example.org/m", "the authors")


@pytest.fixture(scope="module")
def bundle(glow_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    return write_bundles([glow_runs / "glowing"], folder, whole=2, about=ABOUT_MODEL)[0].path


def files_of(path: Path) -> Files:
    with Archive(path) as archive:
        return {name: archive.read(name) for name in archive.files}


def checks(found: Verification) -> dict[str, str]:
    return {check.name: check.status for check in found.checks}


def forged(bundle: Path, path: Path, change: Callable[[Files], object]) -> Path:
    """What somebody who changes files and writes a new manifest for them sends."""
    files = files_of(bundle)
    change(files)
    write_archive(path, files)
    return path


def edit(name: str, change: Callable[[Any], object]) -> Callable[[Files], None]:
    def apply(files: Files) -> None:
        held = json.loads(files[name])
        change(held)
        files[name] = json.dumps(held).encode()

    return apply


def test_it_holds_the_run_without_its_data_folder(
    bundle: Path, glow_runs: Path, glow_data: Path, tmp_path: Path
) -> None:
    files = files_of(bundle)
    run = glow_runs / "glowing"
    assert files["scores.jsonl"] == (run / "scores.jsonl").read_bytes()
    assert json.loads(files["run.json"]) == {**json.loads((run / "run.json").read_text()), "source": "data"}
    assert not [name for name, held in files.items() if str(glow_data).encode() in held]
    whole = [name for name in files if name.startswith("records/") and name.endswith(".mp4")]
    assert len(whole) == 2
    for name in whole:
        assert files[name] == run.joinpath(*name.split("/")).read_bytes()
    assert sum(name.startswith("films/") for name in files) == 6
    told = json.loads(files[ABOUT])
    assert (told["about"]["licence"], told["about"]["parameters"]) == ("Apache-2.0", 1_300_000_000)
    assert len(told["left_out"]) == 4
    again = write_bundles([run], tmp_path, whole=2, about=ABOUT_MODEL)[0]
    assert again.path.read_bytes() == bundle.read_bytes()
    assert verify(bundle, root=again.root).ok


def test_a_bundle_that_is_there_is_not_replaced(glow_runs: Path, tmp_path: Path) -> None:
    (first,) = write_bundles([glow_runs / "glowing"], tmp_path, whole=2, about=About("MIT"))
    before = first.path.read_bytes()
    with pytest.raises(UsageError, match=r"glow-glowing.zip: there already, with other content; give another --out"):
        write_bundles([glow_runs / "glowing"], tmp_path, whole=2)
    made = {one.path.name: one for one in write_bundles([glow_runs], tmp_path, whole=2)}
    assert [name for name, one in made.items() if one.kept] == ["glow-glowing.zip"]
    assert made["glow-glowing.zip"].root == first.root
    assert first.path.read_bytes() == before
    assert verify(made["glow-faulty.zip"].path).ok
    assert not any(one.kept for one in write_bundles([glow_runs / "faulty"], tmp_path, whole=2))
    told = command(tmp_path, "bundle", glow_runs, "--whole", "2", "--out", ".")
    assert (told.returncode, "glow-glowing.zip: not overwritten: this run gives" in told.stdout) == (0, True)
    first.path.write_bytes(b"something else")
    with pytest.raises(UsageError, match="there already"):
        write_bundles([glow_runs / "glowing"], tmp_path)


@pytest.mark.parametrize("suite", ["../../x", "/tmp/x", ""])
def test_the_name_of_a_suite_leads_nowhere(suite: str, glow_runs: Path, tmp_path: Path) -> None:
    run = shutil.copytree(glow_runs / "glowing", tmp_path / "run")
    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**facts, "suite": suite}))
    with pytest.raises(DataError, match="the name"):
        write_bundles([run], tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_films_are_small(glow_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worldgauge.tools.bundle.FILM_SIZE", 8)
    path = write_bundles([glow_runs / "glowing"], tmp_path, whole=0)[0].path
    with Archive(path) as archive:
        name = next(name for name in archive.files if name.startswith("films/"))
        archive.extract(name, tmp_path / "film.mp4")
    clip = Clip.open(tmp_path / "film.mp4")
    assert (clip.width, clip.height, len(clip), clip.fps) == (8, 6, glow.HORIZON, 20.0)


def test_a_whole_bundle_is_reproduced(bundle: Path, glow_data: Path) -> None:
    found = verify(bundle, data=glow_data)
    assert found.ok
    assert set(checks(found).values()) == {"ok"}
    assert len(found.rescored) == 2
    numbers = {number.metric: number for number in found.numbers}
    assert (numbers["psnr"].tasks, numbers["psnr"].again, numbers["psnr"].same) == (6, 2, 2)
    assert (numbers["psnr"].largest, numbers["psnr"].verdict) == (0, "2 of 6 tasks reproduced")
    assert (numbers["ssim"].mean, numbers["ssim"].largest, numbers["ssim"].verdict) == (None, None, "no value")
    assert len(verify(bundle, data=glow_data, rescore=1).rescored) == 1
    found = verify(bundle)  # without data nothing is reproduced
    assert found.ok
    assert {number.verdict for number in found.numbers} == {"the author's word"}
    with pytest.raises(UsageError, match="--data"):
        verify(bundle, rescore=1)


def test_a_metric_without_a_value_among_the_tasks_scored_again_is_not_reproduced() -> None:
    def scores(*values: float | None) -> list[Score]:
        return [Score(str(at), "m", one, reason="none" if one is None else None) for at, one in enumerate(values)]

    stated = scores(0.5, None, math.inf)
    for again, verdict in (
        ([1], "no value"),
        ([2], "1 of 3 tasks reproduced"),
        ([0, 1], "2 of 3 tasks reproduced"),
        ([], "the author's word"),
    ):
        (number,) = numbers_of(stated, {str(at): Rescored([stated[at]], [stated[at]]) for at in again}, "glow")
        assert (number.tasks, number.verdict) == (3, verdict)
    (number,) = numbers_of(stated, {"1": Rescored([stated[1]], [Score("1", "m", 0.5)])}, "glow")
    assert number.verdict == "differs"


def test_tasks_that_failed_or_are_skipped_are_told(glow_runs: Path, glow_data: Path, tmp_path: Path) -> None:
    path = write_bundles([glow_runs / "faulty"], tmp_path)[0].path
    found = verify(path, data=glow_data)
    assert found.ok
    assert next(number.tasks for number in found.numbers if number.metric == "psnr") == 5
    assert len(found.rescored) == 5


def test_other_data_and_another_root_are_told(bundle: Path, glow_suite: None, tmp_path: Path) -> None:
    found = verify(bundle, data=glow.make_data(tmp_path / "other", n=5), root="0" * 64)
    assert (checks(found)["data"], checks(found)["root"]) == ("violated", "violated")
    assert not found.ok
    assert not found.rescored


FORGERIES: dict[str, tuple[str, Callable[[Files], object]]] = {
    "a better score": (
        "scores",
        lambda files: files.update({"scores.jsonl": files["scores.jsonl"].replace(b'"value": 3', b'"value": 4')}),
    ),
    "a task less": ("tasks", edit("run.json", lambda facts: facts["task_keys"].popitem())),
    "another seed": ("identity", edit("run.json", lambda facts: facts.update(seed=1))),
    "another model": ("identity", edit("run.json", lambda facts: facts["model"]["identity"].update(name="x"))),
    "other settings": ("identity", edit("run.json", lambda facts: facts["settings"].update(decoder="exact"))),
    "a film less": ("films", lambda files: files.pop(min(name for name in files if name.startswith("films/")))),
}


@pytest.mark.parametrize("how", FORGERIES)
def test_what_does_not_agree_is_found_under_a_new_manifest(how: str, bundle: Path, tmp_path: Path) -> None:
    name, change = FORGERIES[how]
    found = verify(forged(bundle, tmp_path / "f.zip", change))
    assert checks(found)[name] == "violated", found
    assert not found.ok


def _first_scores(files: Files) -> str:
    return min(name for name in files if name.endswith("/scores.json"))


def _of_record(pattern: bytes, text: bytes) -> Callable[[Files], object]:
    """Change the scores of the first record."""
    return lambda files: files.update(
        {_first_scores(files): re.sub(pattern, text, files[_first_scores(files)], count=1)}
    )


def _of_table(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Files], object]:
    """Change the lines of all scores."""
    return lambda files: files.update({"scores.jsonl": b"".join(change(files["scores.jsonl"].splitlines(True)))})


OF_RECORD = r"records/\S+/scores\.json: line "
DAMAGES: dict[str, tuple[Callable[[Files], object], str]] = {
    "a line of all scores": (
        _of_table(lambda lines: [lines[0], lines[1][:30] + b"\n", *lines[2:]]),
        r"scores\.jsonl: line 2 is damaged \(.+\)$",
    ),
    "a line of a record": (_of_record(b"\n.*\n", b'\n{"metric": 3},\n'), OF_RECORD + r"2 is damaged \(.+\)$"),
    "another value": (_of_record(b'"value": 3', b'"value": 4'), OF_RECORD + r"\d is not line \d of scores\.jsonl$"),
    "the end of a record": (_of_record(b"\n]}\n", b"\n]\n"), OF_RECORD + r"\d is damaged"),
    "a line more": (_of_table(lambda lines: [*lines, lines[0]]), r"scores\.jsonl: line \d+ is of no record$"),
    "no scores of a record": (lambda files: files.pop(_first_scores(files)), "not those in the journal"),
    "no scores": (lambda files: files.pop("scores.jsonl"), r"is not line 1 of scores\.jsonl$"),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_scores_are_named_by_file_and_line(how: str, bundle: Path, glow_data: Path, tmp_path: Path) -> None:
    change, said = DAMAGES[how]
    path = forged(bundle, tmp_path / "f.zip", change)
    for data in (None, glow_data):
        found = next(check for check in verify(path, data=data).checks if check.name == "scores")
        assert found.status == "violated"
        assert re.search(said, found.told), found.told
        assert str(tmp_path) not in found.told
        assert "worldgauge-verify-" not in found.told
    assert command(tmp_path, "verify", path).returncode == 1


def test_each_file_is_read_once(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    chunks = Archive.chunks
    monkeypatch.setattr(Archive, "chunks", lambda self, name: read.append(name) or chunks(self, name))
    with Archive(bundle) as archive:
        look_over(archive, tmp_path / "run")
        assert sorted(read) == sorted([*archive.files, MANIFEST, ABOUT])  # what the author says, once more


def test_scores_that_were_made_up_everywhere_differ(bundle: Path, glow_data: Path, tmp_path: Path) -> None:
    """A forger who changes the scores in every place still has to keep the videos."""

    def change(files: Files) -> None:
        for name in files:
            if name.endswith(("scores.json", "scores.jsonl")):
                files[name] = files[name].replace(b'"value": 3', b'"value": 4')

    path = forged(bundle, tmp_path / "f.zip", change)
    found = verify(path, data=glow_data)
    assert checks(found)["scores"] == "ok"
    assert checks(found)["whole videos"] == "violated"
    numbers = {number.metric: number.verdict for number in found.numbers}
    assert (numbers["psnr"], numbers["ssim"]) == ("differs", "no value")


@given(st.data())
@settings(max_examples=25)
def test_any_tampering_is_found(bundle: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Any file of the archive changed, lost, added or swapped, with the manifest as it was."""
    path = tmp_path_factory.getbasetemp() / "tampered.zip"
    with zipfile.ZipFile(bundle) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    name = data.draw(st.sampled_from(sorted(files)))
    how = data.draw(st.sampled_from(["bit", "lost", "added", "longer", "swapped"]))
    before = dict(files)
    if how == "bit":
        place = data.draw(st.integers(0, len(files[name]) - 1))
        files[name] = files[name][:place] + bytes([files[name][place] ^ 1]) + files[name][place + 1 :]
    elif how == "lost":
        del files[name]
    elif how == "added":
        files[name + "x"] = b""
    elif how == "longer":
        files[name] += b" "
    else:
        other = data.draw(st.sampled_from(sorted(files)))
        files[name], files[other] = files[other], files[name]
    with zipfile.ZipFile(path, "w") as archive:
        for one, held in files.items():
            archive.writestr(one, held)
    try:
        sound = verify(path).ok
    except WorldgaugeError:
        return
    # White space behind the JSON of the manifest says nothing; everything else is found.
    assert sound == (files == before or (how == "longer" and name == MANIFEST))


@pytest.mark.parametrize("setting", ["cmd:touch OWNED", "http://127.0.0.1:9/x", "./evil.py:run", "../w.bin"])
def test_nothing_that_a_bundle_names_is_run(setting: str, bundle: Path, glow_data: Path, tmp_path: Path) -> None:
    path = forged(bundle, tmp_path / "f.zip", edit("run.json", lambda facts: facts["settings"].update(decoder=setting)))
    found = verify(path, data=glow_data)
    assert checks(found)["identity"] == checks(found)["scored again"] == "not looked"
    assert not found.rescored


def test_metrics_of_authors_are_not_run(bundle: Path, glow_data: Path, tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('run')")
    change = edit("run.json", lambda facts: facts["settings"].update(metrics=["./evil.py:x"]))
    found = verify(forged(bundle, tmp_path / "f.zip", change), data=glow_data)
    assert checks(found)["identity"] == "not looked"
    assert len(found.rescored) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda files: files.pop(ABOUT), "holds no"),
        (lambda files: files.pop("run.json"), "no run.json"),
        (edit("run.json", lambda facts: facts.update(schema=9)), "another version"),
        (edit("run.json", lambda facts: facts["task_keys"].update({"../../x": "k"})), "no usable name"),
        (edit(ABOUT, lambda told: told.update(about={"link": "javascript:alert(1)"})), "--link"),
        (edit(ABOUT, lambda told: told.update(about={"unknown": 1})), "unknown"),
        (edit(ABOUT, lambda told: told.update(left_out=3)), "get the bundle again"),
        (lambda files: files.update({"journal.jsonl": b"{}\n"}), "damaged"),
    ],
)
def test_odd_bundles_are_one_line(change: Callable[[Files], object], said: str, bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said) as refused:
        verify(forged(bundle, tmp_path / "f.zip", change))
    assert len(str(refused.value).splitlines()) == 1
    assert "worldgauge-verify-" not in str(refused.value)


def test_unfinished_runs_and_equal_names_are_refused(glow_data: Path, glow_runs: Path, tmp_path: Path) -> None:
    model = glow.Glowing("glowing")
    glow.make_run(tmp_path / "a", model, glow_data, scoring=False)
    with pytest.raises(RunError, match="6 tasks not done or not scored"):
        write_bundles([tmp_path / "a"], tmp_path / "out")
    with pytest.raises(UsageError, match=r"glow-glowing\.zip"):
        write_bundles([glow_runs / "glowing", tmp_path / "a" / "glowing"], tmp_path / "out")
    with pytest.raises(UsageError, match="one model at a time"):
        write_bundles([glow_runs], tmp_path / "out", about=About("MIT"))
    assert len(find_runs([glow_runs])) == 3
    wrong = (
        {"licence": "a\nb"},
        {"link": "file:///etc"},
        {"parameters": -1},
        {"by": "x" * 101},
        {"link": "https://a b"},
    )
    for about in wrong:
        with pytest.raises(UsageError):
            About(**about)  # type: ignore[arg-type]


def test_commands(glow_runs: Path, glow_data: Path, tmp_path: Path) -> None:
    made = command(tmp_path, "bundle", glow_runs / "glowing", "--licence", "MIT", "--parameters", "1.3e9", "--json")
    assert made.returncode == 0, made.stderr
    told = json.loads(made.stdout)["bundles"][0]
    found = command(tmp_path, "verify", told["path"], "--data", glow_data, "--content-hash", told["root"])
    assert found.returncode == 0, found.stderr
    assert "6 of 6 tasks reproduced" in " ".join(found.stdout.split())
    assert "--rescore N for a run on a benchmark set" in " ".join(
        command(tmp_path, "verify", told["path"]).stdout.split()
    )
    wrong = command(tmp_path, "verify", told["path"], "--content-hash", "00", "--json")
    assert (wrong.returncode, json.loads(wrong.stdout)["ok"]) == (1, False)
    (tmp_path / "no.zip").write_bytes(b"PK")
    refused = command(tmp_path, "verify", "no.zip")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
