"""The command line: what each command does, and that it does so in a process of its own, as people use it."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import worldgauge
from support.commands import Done
from worldgauge.cli import main as cli
from worldgauge.cli.main import _tell
from worldgauge.engine.collection import MANIFEST


def refused(done: Done, error: str = "") -> None:
    """It ended with one line."""
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith(f"error: {error}")


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\nfrom worldgauge.cli.main import main\nsys.argv = ['worldgauge', '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    code = end.code\n"
        "heavy = {'numpy', 'numba', 'av', 'cv2', 'pandas', 'gymnasium', 'jinja2'}\n"
        "print('code', code, 'heavy', sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.endswith("code 0 heavy []\n"), done.stdout + done.stderr
    for name in ("evaluate", "collect", "run", "score", "report", "list"):
        assert f" {name} " in done.stdout
    script = "import sys, worldgauge; print(sorted({'numpy', 'typer', 'rich'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "[]\n"


def test_the_package_has_its_names_and_is_a_program_of_its_python(cli: Callable[..., Done]) -> None:
    assert all(hasattr(worldgauge, name) for name in worldgauge.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        worldgauge.nothing  # noqa: B018
    assert cli("--version").stdout == f"{worldgauge.__version__}\n"
    refused(subprocess.run([sys.executable, "-m", "worldgauge", "list", "no-such"], capture_output=True, text=True))


def test_run_ends_with_tables_counts_and_the_next(alone: Callable[..., Done], data: Path, tmp_path: Path) -> None:
    run = ("run", "echo", "--data", data, "--model", "enginedoubles:Steady?level=7", "--out", "runs/x")
    done = alone(*run, COLUMNS="100")
    assert done.returncode == 0, done.stderr
    assert "[7.00, 7.00]" in done.stdout
    assert "steady-level-7: 3 expected = 2 scored + 1 skipped + 0 failed" in done.stdout
    assert "skipped steady-level-7 even/2: marked as unusable" in done.stdout
    assert done.stdout.endswith("next: worldgauge report runs/x --out runs/x/report.html\n")
    power = "Power: 2 clusters cannot order models. A test needs 6.\n"
    assert done.stderr == f"{power}[2/3] tasks, 67%\n[3/3] tasks, 100%\n"
    assert (tmp_path / "runs/x/steady-level-7/scores.jsonl").exists()
    # Unknown errors keep their traceback.
    (data / "tasks.json").write_text("{}")
    done = alone("run", "echo", "--data", data, "--model", "freeze")
    assert done.returncode == 1
    assert "KeyError: 'n'" in done.stderr
    assert done.stderr.endswith("please report it with the lines above.\n")


def test_run_json_is_one_object(cli: Callable[..., Done], data: Path) -> None:
    models = ["--model", "enginedoubles:Steady", "--model", "enginedoubles:Faulty?how=raise&on=1"]
    done = cli("run", "echo", "--data", data, *models, "--set", "gain=2", "--workers", 2, "--seed", 3, "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["counts"] == {"expected": 6, "scored": 3, "skipped": 2, "failed": 1, "unscored": 0, "left": 0}
    error = "model 'faulty-raise' raised ValueError at frame 2: no such latent"
    assert told["failures"] == [{"model": "faulty-raise-how-raise-on-1", "task": "odd/1", "error": error}]
    assert told["directory"] == "runs/echo"
    assert [row["label"] for row in told["tables"][0]["rows"]] == ["steady", "faulty-raise-how-raise-on-1"]
    facts = json.loads(Path(data.parent / "runs/echo/steady/run.json").read_text())
    assert (facts["seed"], facts["settings"]["gain"]) == (3, 2)


def test_failures_are_shown_and_retried(cli: Callable[..., Done], data: Path) -> None:
    arguments = ["run", "echo", "--data", data, "--model", "enginedoubles:Faulty?how=raise", "--limit", "2"]
    done = cli(*arguments)
    assert done.returncode == 1
    assert "  failed faulty-raise-how-raise odd/1: model 'faulty-raise' raised ValueError" in done.stdout
    assert "The same command tries the failed tasks again." in done.stdout
    assert "odd/1 failed" in cli(*arguments).stderr
    assert "1 answer from 20" in cli(*arguments, "--keep-failed").stderr
    (plan,) = json.loads(cli(*arguments, "--keep-failed", "--dry-run", "--json").stdout)["plans"]
    assert (plan["done_already"], plan["ask"], [kept["task"] for kept in plan["kept_failed"]]) == (1, 0, ["odd/1"])
    assert ", 1 failed before; into" in cli(*arguments, "--keep-failed", "--dry-run").stdout


def test_generate_then_score_then_score_otherwise_and_the_next_command(cli: Callable[..., Done], data: Path) -> None:
    done = cli("generate", "echo", "--data", data, "--model", "enginedoubles:Steady?level=7", "--out", "out")
    assert done.returncode == 0
    assert done.stdout.endswith("next: worldgauge score out\n")
    assert "0 scored + 1 skipped + 0 failed + 2 not scored" in done.stdout
    told = json.loads(cli("score", "out", "--json").stdout)
    assert told["tables"][0]["rows"][0]["cells"][0]["mean"] == 7
    told = json.loads(cli("score", "out/steady-level-7", "--set", "gain=2", "--json").stdout)
    assert told["tables"][0]["rows"][0]["cells"][0]["mean"] == 14
    for out in ("a b", "c"):
        models = ["--model", "enginedoubles:Steady?level=7", "--model", "freeze"]
        cli("generate", "echo", "--data", data, *models, "--out", out)
    runs = ["a b/steady-level-7", "c/freeze"]
    done = cli("score", *runs)
    assert done.stdout.endswith("next: worldgauge report 'a b' c --out 'a b/report.html'\n")
    told = json.loads(cli("score", *runs, "--json").stdout)
    assert told["directory"] is None
    assert sorted(run["directory"] for run in told["runs"].values()) == runs


def test_dry_run_says_what_would_be_done(cli: Callable[..., Done], data: Path, tmp_path: Path) -> None:
    arguments = ["run", "echo", "--data", data, "--model", "enginedoubles:Steady", "--out", "out"]
    done = cli(*arguments, "--dry-run")
    assert "3 tasks expected, 0 already done, 2 to run, 0 only to score, 1 skipped; into out/steady" in done.stdout
    assert "skipped even/2: marked as unusable" in done.stdout
    assert done.stdout.startswith("Power: 2 clusters cannot order models. A test needs 6.\n")
    assert not (tmp_path / "out").exists()
    power = {"clusters": 2, "models": 0, "tests": 0, "effect": None}
    ran = cli(*arguments, "--json")
    assert "Power: 2 clusters cannot order models." in ran.stderr
    assert json.loads(ran.stdout)["power"] == power
    told = json.loads(cli(*arguments, "--dry-run", "--json").stdout)
    assert told["power"] == power
    assert (told["plans"][0]["ask"], told["plans"][0]["done_already"]) == (0, 2)
    model = "enginedoubles:Faulty?how=hang"
    done = cli("run", "echo", "--data", data, "--model", model, "--deadline", "1.5", "--json")
    assert json.loads(done.stdout)["failures"][0]["error"] == "timed out after 1.5 s without progress"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["run", "echo", "--model", "fereeze"], "no model 'fereeze'. Did you mean 'freeze'?"),
        (["run", "loopnva", "--model", "freeze"], "no suite 'loopnva'. Did you mean 'loopnav'?"),
        (["run", "loopnva", "--help"], "no suite 'loopnva'. Did you mean 'loopnav'?"),
        (["generate", "--help", "loopnva"], "no suite 'loopnva'. Did you mean 'loopnav'?"),
        (
            ["run", "echo", "--model", "freeze?foo=1"],
            "model 'freeze?foo=1': model 'freeze' has no setting 'foo'. It takes: view='perspective'",
        ),
        (["run", "echo", "--model", "freeze", "--set", "gain"], "--set takes NAME=VALUE, not 'gain'"),
        (["run", "echo", "--model", "freeze", "--set", "gian=1"], "no echo setting 'gian'. Did you mean 'gain'"),
        (["run", "echo", "--model", "freeze", "--limit", "0"], "limit must be at least 1"),
        (["run", "echo", "--model", "freeze", "--workers", "0"], "workers must be at least 1"),
        (["check", "minecraft"], "no collection 'minecraft'. Known: coverage, demonstrations, loopnav, mind, mineany"),
    ],
)
def test_known_errors_are_one_line(cli: Callable[..., Done], data: Path, arguments: list[str], error: str) -> None:
    done = cli(*arguments, "--data", data)
    refused(done, error)
    assert done.stdout == ""


def test_notes_come_with_a_run_that_starts(
    cli: Callable[..., Done], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import enginedoubles

    monkeypatch.setattr(enginedoubles.Echo, "missing_data", lambda self, source: ["half of it is not here"])
    run = ["run", "echo", "--data", data, "--model"]
    for wrong in (["fereeze"], ["freeze", "--limit", 0], ["fereeze", "--dry-run"]):
        refused(cli(*run, *wrong))
    for good in (["enginedoubles:Steady"], ["enginedoubles:Steady", "--dry-run"]):
        done = cli(*run, *good)
        assert done.returncode == 0, done.stderr
        assert done.stderr.splitlines()[0] == "note: half of it is not here"
        assert done.stderr.count("note: ") == 1


def test_references_that_nobody_named_are_told(cli: Callable[..., Done], walks: Path) -> None:
    run = ["run", "loopnav", "--data", walks, "--dry-run", "--model"]
    told = (
        "note: baselines run as well: tiny, planar, hedge, noise, mean, replay, forgetful (--no-baselines runs none)\n"
    )
    assert cli(*run, "freeze").stderr == told
    for more in (["freeze", "--baselines"], ["freeze", "--no-baselines"]):
        assert "baselines run" not in cli(*run, *more).stderr


def test_data_of_others_and_whole_sets_are_named(cli: Callable[..., Done], walks: Path, tmp_path: Path) -> None:
    done = cli("check", "mind", "--data", walks)
    told = f"error: {walks} was made by collection 'loopnav': use: worldgauge check loopnav --data {walks}\n"
    assert (done.returncode, done.stderr) == (2, told)
    done = cli("run", "mind", "--data", walks, "--model", "freeze")
    refused(done, f"{walks}: no clips in ")  # and no notes in front of it
    assert done.stderr.endswith(" (this folder was made by: worldgauge collect loopnav)\n")
    mini = tmp_path / "mini"
    (mini / "mind").mkdir(parents=True)
    (mini / "loopnav").symlink_to(walks)
    (mini / "mind" / MANIFEST).write_text(json.dumps({"format": "mind"}))
    told = f"holds no data of suite 'loopnav' (this folder was made by: worldgauge collect mind); did you mean {mini}"
    done = cli("run", "loopnav", "--data", mini / "mind", "--model", "freeze")
    assert (done.returncode, done.stderr) == (2, f"error: {mini / 'mind'}: {told}/loopnav?\n")
    done = cli("run", "loopnav", "--data", mini, "--model", "freeze", "--dry-run")
    assert done.returncode == 0
    done = cli("run", "loopnav", "--data", tmp_path, "--model", "freeze")
    assert "try --data worldgauge-small" in done.stderr


def test_commands_without_data_have_their_errors_too(cli: Callable[..., Done], tmp_path: Path) -> None:
    for arguments, error in (
        (["score", "nowhere"], "nowhere: neither a run folder"),
        (["report", "nowhere"], "nowhere: neither a run folder"),
        (["collect", "minecraft", "--out", "x"], "no collection 'minecraft'"),
        (["collect", "loopnav", "--out", "x", "--world", "vokel"], "no walkable world 'vokel'. Did you mean 'voxel'?"),
        (["collect", "loopnav", "--out", "x", "--size", "640"], "--size takes whole numbers"),
        (["collect", "loopnav", "--out", "x", "--types", "ABBA"], "loopnav option 'types' must be"),
    ):
        refused(cli(*arguments), error)
    assert cli("run").returncode == 2


@pytest.mark.parametrize("kind", ["suites", "models", "metrics", "worlds", "estimators"])
def test_lists(cli: Callable[..., Done], kind: str) -> None:
    told = json.loads(cli("list", kind, "--json").stdout)[kind]
    assert told
    for entry in told:
        assert set(entry) == {"name", "summary", "origin", "facts"}
        assert entry["origin"].startswith("worldgauge")
        assert entry["summary"] or not entry["origin"].startswith("worldgauge.")
    assert told[0]["name"] in cli("list", kind).stdout


def test_a_data_set_is_checked(cli: Callable[..., Done], walks: Path, tmp_path: Path) -> None:
    done = cli("check", "loopnav", "--data", walks)
    assert done.returncode == 0, done.stderr
    assert "walks: 2 of 2 valid" in done.stdout
    told = json.loads(cli("check", "loopnav", "--data", walks, "--json").stdout)
    assert (told["ok"], told["n_valid"]) == (True, 2)
    done = cli("check", "loopnav", "--data", tmp_path / "none")
    assert (done.returncode, done.stderr) == (2, f"error: {tmp_path / 'none'}: no such folder\n")


def test_a_collection_is_planned_and_continued(cli: Callable[..., Done], walks: Path, tmp_path: Path) -> None:
    shutil.copytree(walks, tmp_path / "walks")
    arguments = ["collect", "loopnav", "--out", "walks", "--settlements", "1", "--ranges", "5", "--seed", "3"]
    arguments += ["--per-combination", "1", "--size", "160x90", "--types", "ABA,ABCA"]
    told = json.loads(cli(*arguments, "--dry-run", "--json").stdout)
    assert (told["expected"], told["done_already"], told["power"]["clusters"]) == (2, 2, 1)
    told = json.loads(cli(*arguments, "--json").stdout)
    assert told["power"] == {"clusters": 1, "models": 0, "tests": 0, "effect": None}
    assert (told["items"], told["ok"]) == (2, True)
    assert cli(*arguments[:-4], "--size", "80x60").returncode == 2
    for types in ("XYZ,../../etc", "/abs"):
        refused(cli(*arguments, "--types", types, "--dry-run"), "loopnav option 'types' must be")


@pytest.mark.slow
def test_target_scenarios_are_planned_collected_and_continued(cli: Callable[..., Done], tmp_path: Path) -> None:
    arguments = ["collect", "targetbench", "--out", "d", "--scenes", "1", "--per-scene", "1", "--size", "32x18"]
    assert cli(*arguments, "--dry-run").stdout == (
        "scenarios: 1 expected, 0 already done; in d\nPower: 1 cluster cannot order models. A test needs 6.\n"
    )
    assert not (tmp_path / "d").exists()
    done = cli(*arguments, "--places", "indoors")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("d: scenarios: 1, frames: 250\n")
    assert "next: worldgauge run targetbench --data d" in done.stdout
    assert "[1/1] scenarios, 100%" in done.stderr
    told = json.loads(cli(*arguments, "--places", "indoors", "--dry-run", "--json").stdout)
    assert (told["expected"], told["done_already"], told["settings"]["places"]) == (1, 1, ["indoors"])
    told = json.loads(cli(*arguments, "--places", "indoors", "--workers", "2", "--json").stdout)
    assert (told["items"], told["ok"]) == (1, True)
    for wrong, error in (
        (["--places", "sea"], "targetbench option 'places' must be different ones of outdoors, indoors"),
        (["--seed", "1"], "d was collected with seed 42"),
    ):
        refused(cli(*arguments, "--places", "indoors", *wrong), error)


@pytest.mark.slow
def test_mind_clips_are_planned_collected_continued_and_checked(cli: Callable[..., Done], tmp_path: Path) -> None:
    assert cli("collect", "mind", "--out", "d", "--dry-run").stdout == (
        "clips and start images: 350 expected, 0 already done; in d\n"
        "Power: 26 clusters can order 50 or more models that differ by 2 standard deviations.\n"
    )
    arguments = ["collect", "mind", "--out", "d", "--families", "interior,urban", "--perspectives", "3rd"]
    arguments += ["--train", "0", "--mem", "1", "--action-space", "1", "--mirror", "1", "--frames", "30"]
    arguments += ["--size", "64x36"]
    planned = cli(*arguments, "--dry-run").stdout
    assert planned.startswith("clips and start images: 3 expected, 0 already done; in d\nPower: 1 cluster ")
    assert not (tmp_path / "d").exists()
    done = cli(*arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("d: clips and start images: 3, frames: 61\n")
    assert "next: worldgauge run mind --data d" in done.stdout
    assert "[1/3] clips and start images, 33%" in done.stderr
    told = json.loads(cli(*arguments, "--dry-run", "--json").stdout)
    assert (told["expected"], told["done_already"], told["settings"]["frames"]) == (3, 3, 30)
    told = json.loads(cli(*arguments, "--workers", "2", "--json").stdout)
    assert (told["items"], told["ok"]) == (3, True)
    for wrong, error in (
        (["--families", "urbam"], "mind option 'families' must be different ones of"),
        (["--perspectives", "3rd,3rd"], "mind option 'perspectives' must be different ones of 1st, 3rd"),
        (["--mem", "-1"], "mind option 'mem' must be a whole number from 0 to 10000"),
        (["--frames", "60"], "d was collected with frames 30, not 60"),
    ):
        refused(cli(*arguments, *wrong), error)
    done = cli("check", "mind", "--data", "d", "--decode")
    assert done.returncode == 0, done.stderr
    assert "3rd action_space_test" in done.stdout
    assert "clips and mirror videos: 12 of 12 valid; frames: 60; usable" in done.stdout
    (tmp_path / "d/3rd_data/test/mem_test/data-150/action.json").write_text("{")
    told = json.loads(cli("check", "mind", "--data", "d", "--json").stdout)
    assert (told["ok"], told["n_valid"]) == (False, 11)


def test_loopnav_end_to_end_to_the_page(cli: Callable[..., Done], walks: Path, tmp_path: Path) -> None:
    models = ["--model", "truth", "--model", "freeze", "--no-baselines"]
    done = cli("run", "loopnav", "--data", walks, *models, "--limit", 1, "--out", "runs/x")
    assert done.returncode == 0, done.stderr
    assert "Baselines: truth" in done.stdout
    told = json.loads(cli("report", "runs/x", "--out", "page.html", "--json").stdout)
    with_films = (tmp_path / told["page"]).read_text()
    assert with_films.startswith("<!")
    cli("report", "runs/x", "--out", "plain.html", "--videos", 0)
    assert len((tmp_path / "plain.html").read_text()) < len(with_films)


def test_doctor_says_what_is_missing(cli: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_NODE_PACKAGES", str(tmp_path))
    done = cli("doctor", "minecraft")
    assert done.returncode == 1
    assert "worldgauge minecraft install" in " ".join(done.stdout.split())
    told = json.loads(cli("doctor", "minecraft", "--json").stdout)
    assert told["ok"] is False
    assert {"part", "well", "needed", "told"} == set(told["findings"][0])
    for wrong in (("doctor", "minecrft"), ("doctor", "minecraft", "--server", "here:port")):
        refused(cli(*wrong))


def test_what_is_not_measured_is_said_with_what_brings_it(
    cli: Callable[..., Done], walks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path / "none"))
    asked = ("--set", "lpips=lpips-alex", "--limit", 1, "--out", "runs/y", "--no-baselines")
    done = cli("run", "loopnav", "--data", walks, "--model", "freeze", *asked)
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "Not measured: lpips, lpips_320x180." in told
    assert "worldgauge weights pull lpips-alex" in told
    assert "Not measured: fvd_pair, fvd." in told
    page = json.loads(cli("report", "runs/y", "--out", "y.html", "--json").stdout)["page"]
    assert "networks_digest" not in (tmp_path / page).read_text().partition("worldgauge run loopnav")[2][:400]


def test_a_device_for_scores_that_is_not_here_is_one_line(data: Path, cli: Callable[..., Done]) -> None:
    run = ("--data", data, "--model", "enginedoubles:Steady", "--out", "runs", "--score-device", "cuda:99")
    for verb, words in (
        (("run", "echo"), ("scoring on a device needs the extra 'torch'", "device 'cuda:99' is not here")),
        (("generate", "echo"), ("generate makes no scores",)),
    ):
        for dry in ((), ("--dry-run",)):
            done = cli(*verb, *run, *dry)
            assert done.returncode == 2, done.stdout + done.stderr
            assert any(each in done.stderr for each in words)
            assert not (data.parent / "runs").exists()


def test_a_traceback_with_words_of_a_model_controls_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    error = RuntimeError("\x1b[2J\x1b]52;c;aGk=\x07 it said")
    error.add_note("\x1b[31m and noted")
    _tell(RuntimeError, error, None)
    told = capsys.readouterr().err
    assert "it said" in told
    assert "and noted" in told
    assert "\x1b" not in told


@pytest.mark.parametrize("line", ["--help", "data --help", "run --help", "list commands", "weights pul", "runn"])
def test_commands_without_their_options_change_no_word(line, monkeypatch, capsys):
    def shown():
        monkeypatch.setattr("sys.argv", ["worldgauge", *line.split()])
        with pytest.raises(SystemExit):
            cli.main()
        return capsys.readouterr()

    light = shown()
    assert light.out or light.err
    monkeypatch.setattr(cli, "_app_for", lambda words: cli.app)
    assert shown() == light


def test_only_named_commands_have_options():
    found = {one.name: one.callback for one in cli._app_for(["run"]).registered_commands}
    whole = {one.name: one.callback for one in cli.app.registered_commands}
    assert {name for name in found if found[name] is whole[name]} == {"run"}
