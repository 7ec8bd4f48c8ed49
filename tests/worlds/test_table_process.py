"""A table in another process: the same as at hand, whatever is forgotten, restarted or killed on the way."""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np
import pytest

from support.served import MODELS, PYTHON, http_server
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import ModelError, NotApplicableError, UsageError, WorldError
from worldgauge.serving.messages import TABLE_VARIABLE
from worldgauge.worlds import caption_of, open_world
from worldgauge.worlds.table_process import NAME, RemoteSimulation, ServedTable, TableProcess, opened
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.pose_plans import HandPose
from worldgauge.worlds.tabletop.simulation import UnstableError
from worldgauge_serve import MAX_STATES, MAX_TABLES

EMBEDDED = f"cmd:{PYTHON} -m worldgauge_serve worldgauge.worlds.tabletop.servers.embedded:EmbeddedTables"
UP = HandPose(0.1, 0.0, 1.1, 1, 0, 0, 0, 1)


def straight(settings: str = "", scheme: str = "cmd") -> str:
    pipes = " --pipes" if scheme == "pipe" else ""
    return f"{scheme}:{PYTHON} -m worldgauge_serve{pipes} '{MODELS / 'tables.py'}:Tables?{settings}'"


Serve = Callable[..., RemoteSimulation]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """A simulation of a table of the server that is named from now on."""

    def start(address: str = straight(), task: str = "reach-0", variation: int = 0, seed: int = 0) -> RemoteSimulation:
        monkeypatch.setenv(TABLE_VARIABLE, address)
        return TableProcess(task, variation, seed).simulation()

    return start


def test_the_embedded_table_served_is_the_table_at_hand_to_the_last_bit(serve: Serve) -> None:
    here = Tabletop("push_buttons", 2, 1)
    one, other = here.simulation(), serve(EMBEDDED, "push_buttons", 2, 1)
    facts = WorldFacts(NAME, {"task": "push_buttons", "variation": 2, "seed": 1}, here.facts.digest)
    table = open_world(facts)
    assert isinstance(table, TableProcess)
    assert table.facts == facts
    assert caption_of(facts) == caption_of(here.facts)
    assert (table.task.instruction, table.task.wordings) == (here.task.instruction, here.task.wordings)
    names = [(thing.name, thing.category, thing.colour, thing.half_m) for thing in here.task.things]
    assert [(thing.name, thing.category, thing.colour, thing.half_m) for thing in other.task.things] == names
    for number in range(4):
        pose = one.task.plan(one)[0]
        if number == 3:
            pose = pose._replace(x=0.69, y=0.49, z=1.59)
        assert other.task.plan(other)[0] == one.task.plan(one)[0]
        done, told = one.move(pose), other.move(pose)
        assert (told.reason, told.failed, told.seconds) == (done.reason, done.failed, done.seconds)
        assert len(told.states) == len(done.states)
        assert (other.hand, other.progress, other.solved) == (one.hand, one.progress, one.solved)
        places = [[table.middle(thing) for thing in table.task.things] for table in (one, other)]
        np.testing.assert_array_equal(*places)
        saved = other.state().plain()
        other.restore(other.state_of(saved))
        assert RemoteSimulation(other.table, saved).state().plain() == saved, "a restore repeats to the bit"
        for middle in (done.states or [one.state()])[len(done.states) // 2 :][:1]:
            one_there = Tabletop("push_buttons", 2, 1, state=middle.plain()).simulation()
            other_there = RemoteSimulation(other.table)
            other_there.restore(told.states[len(done.states) // 2] if told.states else other.state())
            assert other_there.hand == one_there.hand
    views = [table.view(table.pose(), table.camera(48)) for table in (one, other)]
    for name in ("rgb", "depth", "instance"):
        np.testing.assert_array_equal(*(getattr(view, name) for view in views))
    np.testing.assert_array_equal(other.rgb(other.pose(), other.camera(48)), views[0].rgb)
    np.testing.assert_array_equal(other.wrist(48), one.wrist(48))
    poses = [table.pose("published") for table in (one, other)]
    np.testing.assert_array_equal(*poses)
    seen = [table.rgb(poses[0], table.camera(48, "published")) for table in (one, other)]
    np.testing.assert_array_equal(*seen)
    for table in (one, other):
        table.task.finish(table)
    assert one.progress == other.progress == 1.0


@pytest.mark.parametrize("scheme", ["cmd", "pipe", "http"])
def test_the_same_over_every_transport(scheme: str, serve: Serve) -> None:
    with ExitStack() as stack:
        address = straight("tasks=2", scheme)
        if scheme == "http":
            address = stack.enter_context(http_server("Tables?tasks=2", file="tables.py")).url
        table = serve(address, "reach-1", 1, 3)
        assert table.hand == HandPose(0.1, 0.003, 1.1, 1, 0, 0, 0, 1)
        done = table.move(UP._replace(z=1.25))
        assert (done.reason, done.failed, len(done.states), done.seconds) == (None, False, 15, 0.3)
        assert (table.progress, table.solved) == (pytest.approx(0.75), False)
        assert table.wrist(4).shape == (4, 4, 3)
        assert table.view(table.pose(), table.camera(6)).category.max() == 1
        assert table.move(UP._replace(z=9)).reason == "(0.10, 0.00, 9.00) lies outside the workspace"
        assert table.move([1, 2]).failed
        with pytest.raises(UnstableError, match="it blew up"):
            table.move(UP._replace(x=0.66))
        assert table.hand.z == 1.25
        opened(address).close()


def test_what_a_server_forgets_is_put_back_from_bytes_and_poses(serve: Serve) -> None:
    table = serve()
    early = table.move(UP._replace(z=1.5)).states
    hands = [np.array(state.sensed.hand) for state in early[::7]]
    back = [UP._replace(z=0.7), UP._replace(z=1.5)]
    count = 0
    while count < MAX_STATES:
        count += len(table.move(back[count % 2]).states)
    late = table.state().plain()
    assert table.state_of(late).sensed.hand == table.hand
    for state, hand in zip(early[::7], hands, strict=True):
        del state.sensed
        assert np.array_equal(state.sensed.hand, hand)


def test_more_tables_than_a_server_holds_are_opened_again(serve: Serve) -> None:
    tables = [RemoteSimulation(ServedTable(serve().table.server, "reach-0", 0, n)) for n in range(2 * MAX_TABLES)]
    for step in (1, 2):
        for number, table in enumerate(tables):
            table.move(table.hand._replace(z=1.0 + 0.05 * step))
            assert (table.hand.y, table.hand.z) == (
                pytest.approx(0.001 * number + 2e-5 * (step - 1)),
                1.0 + 0.05 * step,
            )


@pytest.mark.process
def test_a_server_that_is_killed_while_it_acts_costs_one_retry(serve: Serve, capfd: pytest.CaptureFixture[str]) -> None:
    poses = [UP._replace(z=1.0 + 0.1 * n) for n in (1, 2)]
    calm = serve(straight("slow_s=0.0"))
    wanted = [[state.plain() for state in calm.move(pose).states] for pose in poses]
    table = serve(straight("slow_s=0.4"))
    found = [[state.plain() for state in table.move(poses[0]).states]]
    pid = table.table.server.pid()
    assert pid is not None
    threading.Timer(0.2, os.kill, (pid, signal.SIGKILL)).start()
    began = time.monotonic()
    moved = table.move(poses[1])
    assert time.monotonic() - began > 0.6, "it was killed in the middle"
    found.append([state.plain() for state in moved.states])
    assert found == wanted
    assert table.table.server.pid() not in (None, pid)
    assert capfd.readouterr().err.count("asked again") == 1


def test_what_cannot_be_done_is_one_line(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    table = serve()
    with pytest.raises(NotApplicableError, match="this table has no expert"):
        table.task.plan(table)
    with pytest.raises(NotApplicableError, match="cannot show how its task ends"):
        table.task.finish(table)
    with pytest.raises(NotApplicableError, match="its own cameras only"):
        table.rgb(np.eye(4), table.camera(8))
    with pytest.raises(UsageError, match="no view 'back'; it has front, wrist"):
        table.pose("back")
    with pytest.raises(WorldError, match="no state of a served table"):
        table.state_of("no base64!")
    with pytest.raises(ModelError, match="no state of the table: 3 bytes"):
        table.state_of("AAAA").sensed.hand  # noqa: B018
    for named in ({"task": "nobody"}, {"task": "reach-0", "variation": 2}, {"task": "reach-0", "seed": -1}):
        with pytest.raises(ModelError, match=r"lacks or garbles|refuses"):
            TableProcess(**named)  # type: ignore[arg-type]
    with pytest.raises(WorldError, match="another start of the task; collect the data again"):
        open_world(WorldFacts(NAME, {"task": "reach-0"}, "another digest"))
    with pytest.raises(ModelError, match="raised RuntimeError: the motor is hot"):
        serve(straight("fault=raises")).move(UP)
    with pytest.raises(ModelError, match="serves 'model', not 'world'"):
        serve(f"cmd:{PYTHON} -m worldgauge_serve '{MODELS / 'client_models.py'}:Fade'")
    monkeypatch.delenv(TABLE_VARIABLE)
    with pytest.raises(WorldError, match=f"cannot be verified here: name its server in {TABLE_VARIABLE}"):
        TableProcess("reach-0")
