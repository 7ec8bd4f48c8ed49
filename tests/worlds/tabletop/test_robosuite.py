"""Tables of robosuite, served from an environment of its own.

`make test-robosuite` makes that environment; WORLDGAUGE_ROBOSUITE names the Python of another one.
"""

import os
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from worldgauge.core.errors import NotApplicableError
from worldgauge.serving import RemoteWorld, open_world_server
from worldgauge.tools.check_world import TableTrial, _survives
from worldgauge.worlds.table_process import RemoteSimulation, ServedTable
from worldgauge.worlds.tabletop import servers
from worldgauge.worlds.tabletop.pose_plans import reaching_down

PYTHON = os.environ.get("WORLDGAUGE_ROBOSUITE", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="no environment with robosuite here (make test-robosuite)"),
]
FILE = f"{servers.__path__[0]}/robosuite_table.py"


@pytest.fixture(scope="module")
def server() -> Iterator[RemoteWorld]:
    with closing(open_world_server(f"cmd:{PYTHON} -m worldgauge_serve '{FILE}:RobosuiteTables'")) as made:
        yield made


@pytest.mark.parametrize("task", ["Lift", "Stack", "NutAssembly", "PickPlace", "Door"])
def test_five_poses_from_a_saved_state_repeat_to_the_bit(task: str, server: RemoteWorld) -> None:
    table = ServedTable(server, task, 0, 7)
    saved = table.start.plain()
    first = TableTrial(table).act_all()
    assert "same bytes and pictures" in first.check_same(TableTrial(table, saved).act_all())
    again = ServedTable(server, task, 0, 7)
    assert (again.digest, again.start.plain()) == (table.digest, saved), "the seed decides where things lie"
    assert ServedTable(server, task, 0, 8).digest != table.digest


def test_a_hand_lifts_the_cube(server: RemoteWorld) -> None:
    simulation = RemoteSimulation(ServedTable(server, "Lift", 0, 7))
    (cube,) = simulation.task.things
    x, y, z = simulation.middle(cube)
    assert (cube.name, cube.colour) == ("cube", "red")
    assert 0 < simulation.progress < 0.5
    for height, gripper in ((0.1, 1), (0.0, 1), (0.0, 0), (0.15, 0)):
        pose = reaching_down(x, y, z + height, gripper)
        assert simulation.move(pose).reason is None
        np.testing.assert_allclose(simulation.hand[:3], pose[:3], atol=0.01)
        turns = np.abs(np.dot(simulation.hand[3:7], pose[3:7]))
        assert turns > 0.99, "straight down is (1, 0, 0, 0)"
    assert simulation.solved
    assert simulation.middle(cube)[2] > z + 0.1
    with pytest.raises(NotApplicableError, match="no expert"):
        simulation.task.plan(simulation)


@pytest.mark.parametrize("task", ["Lift", "NutAssembly"])
def test_its_pictures_show_the_things_where_they_are(task: str, server: RemoteWorld) -> None:
    simulation = RemoteSimulation(ServedTable(server, task, 0, 7))
    camera, pose = simulation.camera(128), simulation.pose()
    view = simulation.view(pose, camera)
    for number, thing in enumerate(simulation.task.things, start=1):
        rows, columns = np.nonzero(view.instance == number)
        assert len(rows) > 10
        points = camera.unproject(view.depth)[rows, columns] @ pose[:3, :3].T + pose[:3, 3]
        off_m = np.abs(points - simulation.middle(thing))
        assert (off_m < 0.02 + max(thing.half_m)).all(), thing.name
    wrist = simulation.wrist(128)
    assert wrist.std() > 5
    simulation.move(simulation.hand._replace(z=simulation.hand.z - 0.05))
    assert (simulation.wrist(128) != wrist).mean() > 0.2


def test_a_server_that_is_killed_comes_back(server: RemoteWorld) -> None:
    trial = TableTrial(ServedTable(server, "Lift", 0, 0)).act_all()
    assert "same bytes and pictures" in _survives(server, "Lift", trial)
