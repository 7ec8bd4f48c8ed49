"""The table on one core: the engine beside its own renderer as it comes, and simulated seconds a second of moves."""

import copy
import statistics
import time
from collections.abc import Callable
from typing import Any

from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.engine import mujoco
from worldgauge.worlds.tabletop.simulation import Simulation, _arranged, front_camera, front_pose

TASKS = ("push_buttons", "slide_block", "insert_ring", "stack_cups")
GOAL_FRAMES_S, GOAL_TIMES_REAL = 20.0, 5.0
SIZE_PX, ROUNDS, MOST_POSES = 448, 20, 15


def run() -> dict[str, Any]:
    """Frames alone, then every task once by its expert: planning, inverse kinematics, physics and states."""
    simulation = Simulation(Tabletop("stack_cups", 0, seed=1))
    engines = _renderer_as_it_comes(simulation)
    front, view, reference = [], [], []
    for _ in range(ROUNDS):
        front.append(_s(lambda: simulation.front(SIZE_PX)))
        view.append(_s(lambda: simulation.view(front_pose(), front_camera(SIZE_PX))))
        reference.append(_s(engines))
    times_real = {task: _times_real(task) for task in TASKS}
    ours, other = (1 / statistics.median(times) for times in (front, reference))
    return {
        "name": "tabletop",
        "unit": f"front frames a core second at {SIZE_PX} px, processor time, median",
        "ours": round(ours, 1),
        "reference": round(other, 1),
        "reference_name": "mujoco.Renderer of the same table with MuJoCo's default shadows, samples and shapes",
        "ratio": round(ours / other, 1),
        "with_depth_and_masks": round(1 / statistics.median(view), 1),
        "times_real": times_real,
        "goal": f">= {GOAL_FRAMES_S:g} frames/s, >= {GOAL_TIMES_REAL:g} times real time",
        "met": ours >= GOAL_FRAMES_S and min(times_real.values()) >= GOAL_TIMES_REAL,
    }


def _renderer_as_it_comes(simulation: Simulation) -> Callable[[], Any]:
    """The same view from the engine's own renderer, with the quality that it has unless told otherwise."""
    mj = mujoco()
    model, usual = copy.copy(simulation.model), mj.MjSpec().compile().vis.quality
    for name in ("shadowsize", "offsamples", "numslices", "numstacks", "numquads"):
        setattr(model.vis.quality, name, getattr(usual, name))
    model.vis.global_.offwidth = model.vis.global_.offheight = SIZE_PX
    renderer = mj.Renderer(model, SIZE_PX, SIZE_PX)

    def picture() -> Any:
        renderer.update_scene(simulation.data)
        _arranged(simulation, front_pose(), front_camera(SIZE_PX), renderer.scene)
        return renderer.render()

    return picture


def _times_real(task: str) -> float:
    simulation = Simulation(Tabletop(task, 0, seed=1))
    start, simulated = time.process_time(), 0.0
    for _ in range(MOST_POSES):
        plan = simulation.task.plan(simulation)
        if not plan:
            break
        simulated += simulation.move(plan[0]).seconds
    return round(simulated / (time.process_time() - start), 1)


def _s(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
