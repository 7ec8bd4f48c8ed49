"""Servers of worldgauge 0.1.0 keep working: they get one form of the future and nothing that they did not know."""

import io
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.served import MODELS, PYTHON, question
from worldgauge.core.actions import describe
from worldgauge.core.errors import ModelError
from worldgauge.core.model import ModelSpec, RolloutRequest, checked_batch, checked_rollout
from worldgauge.serving import RemoteModel, open_model
from worldgauge.serving.messages import hello_of, rollout_message, spec_of
from worldgauge_serve import ModelSpec as ServedSpec
from worldgauge_serve import Request, Served, encode, read_message, requests_of

OLD = MODELS / "version_1.py"
FORMS = {"actions": "actions", "camera": "poses", "text": "text"}


def full() -> RolloutRequest:
    """A request that holds every form of its future, and a caption."""
    asked = question()
    assert asked.actions is not None
    poses = np.tile(np.eye(4), (asked.horizon, 1, 1))
    return replace(asked, poses=poses, text=describe(asked.actions), caption="A room.")


@pytest.fixture
def old(request: pytest.FixtureRequest) -> Iterator[RemoteModel]:
    model = open_model(f"cmd:{PYTHON} {OLD} {request.param}")
    yield model
    model.close()


@pytest.mark.parametrize("old", FORMS, indirect=True)
def test_a_server_of_version_1_gets_exactly_what_drives_it(old: RemoteModel) -> None:
    """Its stand-in refuses two forms, and any field that 0.1.0 did not send."""
    frames = np.concatenate(list(checked_rollout(old, full())))
    assert (frames == len(old.spec.control)).all()
    assert frames.shape == (6, 12, 16, 3)
    both = checked_batch(old, [full(), replace(full(), horizon=6, seed=9)])
    assert [len(one) for one in both] == [6, 6]


def test_over_http_too() -> None:
    with subprocess.Popen(
        [PYTHON, str(OLD), "camera", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            model = open_model(process.stdout.readline().split()[-1])
            assert (np.concatenate(list(checked_rollout(model, full()))) == 6).all()
            model.close()
        finally:
            process.kill()
        asked = json.loads(process.stderr.readline())
    assert [one["name"] for one in asked["arrays"]] == [
        "0/context/frames", "0/context/poses", "0/context/actions", "0/poses",
    ]  # fmt: skip
    assert asked["requests"][0]["text"] is None


@pytest.mark.parametrize("control", FORMS)
def test_a_server_of_version_2_gets_all_that_is_known(control: str) -> None:
    spec = ModelSpec("new", control=control)

    def heard_of(request: RolloutRequest) -> Request:
        data = b"".join(encode(*rollout_message([request], spec, name="q", deadline_s=1.0)))
        header, arrays = read_message(io.BytesIO(data).readinto)
        assert header["version"] == 2
        (heard,) = requests_of(header, arrays, control)
        return heard

    heard = heard_of(full())
    assert (heard.text, heard.caption) == (full().text, "A room.")
    assert heard.prompts == full().prompts
    assert heard.prompts
    np.testing.assert_array_equal(heard.actions.values, full().actions.values)
    np.testing.assert_array_equal(heard.poses, full().poses)
    alone = replace(full(), caption=None, **{form: None for form in FORMS.values() if form != FORMS[control]})
    bare = heard_of(alone)
    known = [form for form in FORMS.values() if getattr(bare, form) is not None]
    assert (known, bare.caption) == ([FORMS[control]], None)
    assert (bare.prompts is None) == (control != "actions")


def test_other_versions_and_required_captions_are_refused(tmp_path: Path) -> None:
    script = tmp_path / "changing.py"
    flag = tmp_path / "seen"
    text = OLD.read_text()
    script.write_text(
        text.replace('"version": 1, "serves"', f'"version": 2 if os.path.exists({str(flag)!r}) else 1, "serves"')
    )
    model = open_model(f"cmd:{PYTHON} {script} actions")
    list(model.rollout(full()))
    model.close()
    flag.touch()
    with pytest.raises(ModelError, match="came back as another model: its version is 2, was 1"):
        list(model.rollout(full()))
    model.close()
    script = tmp_path / "odd.py"
    script.write_text(OLD.read_text().replace('"inputs": []', '"inputs": ["caption"]'))
    with pytest.raises(ModelError, match=r"wants \['caption'\], which version 1 of the protocol does not carry"):
        open_model(f"cmd:{PYTHON} {script} actions")


def test_what_a_model_declares_of_lengths_and_actions_is_heard_as_it_was_said() -> None:
    class Model:
        spec = ServedSpec(
            "m", inputs=("caption", "poses"), lengths=[49, 81], context_lengths="4n+1", action_spaces=("loop-walk",)
        )

        def rollout(self, request: Request) -> None: ...

    header = json.loads(json.dumps(Served(Model(), "sha256:00:Model").hello()))
    heard = hello_of(header, "m", "model", spec_of).spec
    assert (heard.lengths, heard.context_lengths, heard.action_spaces) == ((49, 81), "4n+1", ("loop-walk",))
    assert heard.inputs == {"caption", "poses"}
    for wrong in ({"lengths": "4m"}, {"lengths": [49, "81"]}, {"context_lengths": {}}, {"action_spaces": "loop-walk"}):
        with pytest.raises(ModelError, match=f"model 'm': {next(iter(wrong))} is .*; give"):
            hello_of({**header, "spec": {**header["spec"], **wrong}}, "m", "model", spec_of)
