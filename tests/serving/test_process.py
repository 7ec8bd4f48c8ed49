"""A model in a child process: the same frames, and whatever ends it costs no more than it must."""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.served import MODELS, PYTHON, command, is_alive, question, wait_until
from worldgauge.core.actions import Actions
from worldgauge.core.errors import DataError, LostError, ModelError, NotApplicableError, UsageError
from worldgauge.core.model import RolloutRequest, WorldModel, checked_rollout, rollout_batch
from worldgauge.core.video import Clip
from worldgauge.engine.model_entries import resolve_model
from worldgauge.engine.suite.contract import Stopwatch
from worldgauge.serving import RemoteModel, open_model
from worldgauge.serving import remote_model as remote

Open = Callable[..., RemoteModel]


@pytest.fixture
def opened() -> Iterator[list[RemoteModel]]:
    models: list[RemoteModel] = []
    yield models
    for model in models:
        model.close()


@pytest.fixture
def serve(opened: list[RemoteModel], tmp_path: Path) -> Open:
    """Opens a model of client_models.py in a child; MARKS in its name stands for the test's folder."""

    def opener(name: str, scheme: str = "cmd") -> RemoteModel:
        text = command(name.replace("MARKS", str(tmp_path)), *(["--pipes"] if scheme == "pipe" else []))
        opened.append(open_model(f"{scheme}:{text}"))
        return opened[-1]

    return opener


def pid_of(model: RemoteModel) -> int:
    return model._channel.pid


def frames_of(model: WorldModel, request: RolloutRequest) -> np.ndarray:
    return np.concatenate(list(checked_rollout(model, request)))


def test_notes_and_gpu_memory_of_an_answer_are_passed_on(serve: Open) -> None:
    model = serve("Telling")
    assert model.notes == ()
    frames_of(model, question(seed=6))
    assert model.notes == ("seed 6 is bent", "an even one"), "what is told twice is kept once"
    frames_of(model, question(seed=5))
    assert model.notes == ("seed 5 is bent",), "of this answer, not of the one before"
    rollout_batch(model, [question(seed=5), question(seed=6)])
    assert model.notes == ("seed 5 is bent", "seed 6 is bent", "an even one")
    watch = Stopwatch()
    watch.batch(model, [question(seed=5), question(seed=7)])
    assert watch.notes == ["seed 5 is bent", "seed 7 is bent"]
    model = serve("OnGpus?gb=1.5")
    assert model.gpu_peak_bytes is None
    frames_of(model, question())
    assert model.gpu_peak_bytes == 3_000_000_002
    rollout_batch(model, [question(), question(seed=6)])
    assert model.gpu_peak_bytes == 3_000_000_000, "of this answer, not of the one before"
    quiet = serve("Fade")
    frames_of(quiet, question())
    assert quiet.gpu_peak_bytes is None, "without torch there is nothing to tell"


@pytest.mark.parametrize("scheme", ["cmd", "pipe"])
def test_a_child_draws_what_the_class_draws_here(serve: Open, scheme: str) -> None:
    here = resolve_model(f"{MODELS / 'client_models.py'}:Fade?gain=0.8").model
    there = serve("Fade?gain=0.8", scheme)
    assert (there.spec, there.given, there.needs.gpus) == (here.spec, {"gain": 0.8}, 0.5)
    for seed in (1, 2):
        assert np.array_equal(frames_of(there, question(7, seed=seed)), frames_of(here, question(7, seed=seed)))
    chunk = next(there.rollout(question()))
    assert (chunk.shape, chunk.dtype, chunk.flags.writeable) == ((2, 12, 16, 3), np.uint8, True)


@pytest.mark.parametrize("control", ["camera", "text"])
def test_all_parts_of_a_request_arrive(serve: Open, control: str) -> None:
    poses = np.tile(np.eye(4), (12, 1, 1))
    poses[:, :3, 3] = 1.5
    asked = question(12, actions=None, **({"poses": poses} if control == "camera" else {"text": "Walk - \u4e2d."}))
    here = resolve_model(f"{MODELS / 'client_models.py'}:Seeing?control={control}").model
    assert np.array_equal(frames_of(serve(f"Seeing?control={control}"), asked), frames_of(here, asked))


def test_batches_go_at_once_where_the_model_takes_them(serve: Open, capfd: pytest.CaptureFixture[str]) -> None:
    requests = [question(5, seed=1), question(4, (8, 6), seed=2), question(2, seed=3)]
    here = resolve_model(f"{MODELS / 'client_models.py'}:FadeBatch").model
    for name, batches in (("Fade", 0), ("FadeBatch", 1)):
        model = serve(name)
        assert model.batch is bool(batches)
        for got, wanted in zip(rollout_batch(model, requests), rollout_batch(here, requests), strict=True):
            assert np.array_equal(np.concatenate(got), np.concatenate(wanted))
        model.close()
        assert capfd.readouterr().err.count("a batch of 3") == batches


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("cmd:", UsageError, "give a command"),
        ("cmd:python 'x", UsageError, "cannot be split into words: No closing quotation"),
        ("cmd:no-such-program x", UsageError, "'no-such-program' cannot be started: there is no such program"),
        ("pipe:no-such-program http://me:s3cret@box", UsageError, "^model 'pipe:no-such-program http://box': "),
        (f"cmd:{MODELS}/client_models.py", UsageError, "cannot be started: Permission denied"),
        (f"cmd:{PYTHON} -c 'print(1); print(\"my last\"); exit(4)'", ModelError, "code 4; its last words: my last"),
        (f"cmd:{PYTHON} -c 'print(\"\\33[31mred\\33]0;x\\7\"); exit(4)'", ModelError, "words: red\ufffd]0;x\ufffd$"),
        (f"cmd:{PYTHON} -c 'import os; os.kill(os.getpid(), 40)'", ModelError, "was killed by signal 40"),
        (f"pipe:{PYTHON} -c 'exit(0)'", ModelError, "exited with code 0"),
        (f"cmd:{command('Faulty?how=unloadable')}", ModelError, "making Faulty raised RuntimeError: no CUDA"),
        (f"cmd:{command('Faulty?how=dies+loading')}", ModelError, "code 9; its last words: cannot map the weights"),
        (f"cmd:{command('Nobody')}", ModelError, "holds no 'Nobody'"),
        (f"pipe:{PYTHON} -c 'print(\"<html>\" * 99)'", ModelError, "nothing but the server may write to its stdout"),
    ],
)  # fmt: skip
def test_a_command_that_serves_nothing_is_one_line(text: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        open_model(text)
    assert "\n" not in str(caught.value)


def test_closing_ends_the_child_and_its_folder(serve: Open) -> None:
    model = serve("Fade")
    pid = pid_of(model)
    environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    folder = next(Path(os.fsdecode(line[18:])).parent for line in environment if line.startswith(b"WORLDGAUGE_SOCKET"))
    assert is_alive(pid)
    assert folder.stat().st_mode & 0o777 == 0o700
    model.close()
    assert not is_alive(pid)
    assert not folder.exists()
    assert len(frames_of(model, question())) == 6, "asked again it comes back"
    assert pid_of(model) != pid


@pytest.mark.parametrize("ending", ["falls off its end", "raises", "is killed"])
def test_no_child_outlives_its_parent(ending: str) -> None:
    endings = {"falls off its end": "pass", "raises": "1 / 0", "is killed": "os.kill(os.getpid(), 9)"}
    code = (
        "import os, sys; from worldgauge.serving import open_model; model = open_model(sys.argv[1])\n"
        f"print(model._channel.pid, flush=True); {endings[ending]}"
    )
    # One that is killed leaves its folder; a short name of it, since sockets have no room for long ones.
    with tempfile.TemporaryDirectory() as folder:
        arguments = [PYTHON, "-c", code, f"cmd:{command('Fade')}"]
        done = subprocess.run(arguments, env={**os.environ, "TMPDIR": folder}, stdout=subprocess.PIPE, timeout=60)
    pid = int(done.stdout)
    wait_until(lambda: not is_alive(pid))


def test_a_model_that_is_forgotten_is_closed(serve: Open, opened: list[RemoteModel]) -> None:
    pid = pid_of(serve("Fade"))
    opened.clear()
    wait_until(lambda: not is_alive(pid))


def test_lost_before_its_first_frame_it_is_asked_again(
    serve: Open, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model = serve("Faulty?how=dies+twice&log=MARKS")
    first = pid_of(model)
    assert frames_of(model, question())[:, 0, 0, 0].tolist() == [0, 10, 20, 30, 40, 50]
    assert pid_of(model) != first
    assert len(list(tmp_path.glob("died*"))) == 2
    assert (
        capfd.readouterr().err.count("was killed by SIGKILL (out of memory?); its last words: out of tokens; asked")
        == 2
    )


def test_lost_again_and_again_it_is_given_up(serve: Open) -> None:
    with pytest.raises(ModelError, match=r"out of tokens, 3 times before its first frame") as caught:
        frames_of(serve("Faulty?how=dies+at+once"), question())
    assert not isinstance(caught.value, LostError)


def test_lost_after_a_frame_the_task_must_be_asked_again(serve: Open) -> None:
    """Frames that were handed over cannot be taken back."""
    model = serve("Faulty?how=dies+once&log=MARKS")
    taken = []
    with pytest.raises(LostError, match=r"was killed by SIGKILL .* after 2 frames of a rollout"):
        taken.extend(checked_rollout(model, question()))
    assert (len(taken), len(frames_of(model, question()))) == (2, 6)


def test_a_child_that_died_idle_is_started_again(serve: Open, capfd: pytest.CaptureFixture[str]) -> None:
    model = serve("Fade")
    before, pid = frames_of(model, question()), pid_of(model)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(pid))
    assert np.array_equal(frames_of(model, question()), before)
    assert capfd.readouterr().err.count("asked again") == 1


def test_loading_again_is_no_silence(
    tmp_path: Path, opened: list[RemoteModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever watches hears of it while the weights load a second time, however long that takes."""
    monkeypatch.setattr(remote, "_SAY_EVERY_S", 0.01)
    (tmp_path / "wm.py").write_text((MODELS / "client_models.py").read_text() + "\n\nimport time\n\ntime.sleep(0.2)\n")
    model = open_model(f"cmd:{PYTHON} -m worldgauge_serve {tmp_path / 'wm.py'}:Fade")
    opened.append(model)
    said: list[None] = []
    model.on_wait = lambda: said.append(None)
    list(model.rollout(question()))
    assert not said
    os.kill(pid_of(model), signal.SIGKILL)
    list(model.rollout(question()))
    assert said


def test_an_edited_file_is_another_model(tmp_path: Path, opened: list[RemoteModel]) -> None:
    file = tmp_path / "wm.py"
    source = (MODELS / "client_models.py").read_text()
    file.write_text(source)
    model = open_model(f"cmd:{PYTHON} -m worldgauge_serve {file}:Fade")
    opened.append(model)
    file.write_text(source + "\n# edited")
    os.kill(pid_of(model), signal.SIGKILL)
    with pytest.raises(ModelError, match="came back as another model: its source is 'sha256:"):
        frames_of(model, question())


def test_a_silent_child_is_ended(serve: Open, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    model = serve("Faulty?how=waits&log=MARKS")
    pid = pid_of(model)
    model.deadline_s = 0.5
    taken = []
    with pytest.raises(ModelError, match=r"timed out after 0\.5 s without a frame") as caught:
        taken.extend(checked_rollout(model, question()))
    assert not isinstance(caught.value, LostError), "a hang is not asked again"
    assert len(taken) == 2
    assert not is_alive(pid)


@pytest.mark.parametrize("scheme", ["cmd", "pipe"])
def test_a_rollout_can_be_left_early(serve: Open, scheme: str) -> None:
    model = serve("Fade", scheme)
    whole, pid = frames_of(model, question(60, (320, 180))), pid_of(model)
    for _ in range(3):
        with closing(model.rollout(question(60, (320, 180)))) as rollout:
            next(rollout)
    assert np.array_equal(frames_of(model, question(60, (320, 180))), whole)
    assert pid_of(model) == pid, "the same child goes on"


@pytest.mark.parametrize("how", ["raises", "floats", "wide", "shape", "flat", "empty", "short", "more", "late"])
def test_errors_read_as_in_this_process(serve: Open, how: str) -> None:
    texts = []
    there = serve(f"Faulty?how={how}")
    pid = pid_of(there)
    for model in (resolve_model(f"{MODELS / 'client_models.py'}:Faulty?how={how}").model, there, there):
        with pytest.raises(ModelError) as caught:
            frames_of(model, question())
        texts.append(str(caught.value))
    assert texts[0] == texts[1] == texts[2]
    assert pid_of(there) == pid, "its weights need not be loaded again"


def test_skips_tracebacks_and_values_that_are_not_finite(serve: Open) -> None:
    for model in (
        serve("Faulty?how=inapplicable"),
        resolve_model(f"{MODELS / 'client_models.py'}:Faulty?how=inapplicable").model,
    ):
        with pytest.raises(NotApplicableError, match=r"^needs a longer context$"):
            frames_of(model, question())
    with pytest.raises(ModelError) as caught:
        list(serve("Faulty?how=raises").rollout(question()))
    assert 'raise ValueError("no such latent")' in caught.value.__notes__[0]
    bad = question()
    values = bad.actions.values.copy()
    values[0, 2] = np.nan
    model = serve("Fade")
    with pytest.raises(DataError, match="task 'ABA/made/up': actions hold values that are not finite"):
        list(model.rollout(question(actions=Actions(bad.context.actions.space, values))))


def test_a_child_gets_the_users_environment_not_the_workers(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("MKL_NUM_THREADS", "1")
    monkeypatch.setenv("WORLDGAUGE_OUTER_ENVIRONMENT", json.dumps({"OMP_NUM_THREADS": "12", "MKL_NUM_THREADS": None}))
    open_model(f"cmd:{command('Told')}").close()
    said = capfd.readouterr().err
    assert "threads ['12', None, None]" in said
    assert f"input '' group True session {os.getsid(0)}" in said


def test_what_it_prints_is_passed_on_and_breaks_nothing(serve: Open, capfd: pytest.CaptureFixture[str]) -> None:
    model = serve("FadeBatch", "pipe")
    assert len(model.rollout_batch([question(), question()])) == 2
    model.close()
    assert "a batch of 2" in capfd.readouterr().err


def test_more_context_than_a_message_holds_is_refused_before_a_frame_is_read(serve: Open) -> None:
    class Long(Clip):
        def __len__(self) -> int:
            return 10_000_000

        def to_array(self) -> np.ndarray:
            raise AssertionError("all of it would be in memory")

    asked = question()
    clip = Long.from_array(asked.context.clip.to_array(), 20.0)
    with pytest.raises(ModelError, match=r"model 'fade': 5\.8 GB of context, and a message holds 4\.3 GB"):
        frames_of(serve("Fade"), replace(asked, context=replace(asked.context, clip=clip)))
