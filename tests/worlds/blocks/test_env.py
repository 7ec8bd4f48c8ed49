"""Building as a gymnasium environment: its contract, its counts against the functions, and its ends."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from worldgauge.core.errors import UsageError
from worldgauge.worlds.blocks.blueprint import Blueprint, shared_blocks
from worldgauge.worlds.blocks.env import ENV_ID, MOVES, PLACE, REMOVE, BuildEnv

NAMES = ("stone", "oak_stairs[facing=east]", "air", "oak_stairs[facing=west]", "glass")
HUT = Blueprint.of([[[1, 2, -1], [5, -1, 3]], [[-1, 4, 4], [1, 1, 2]]], NAMES)
WORDS = {"goal": "instruction", "instruction": "Build a hut – with stairs."}


def act(name: str) -> int:
    return list(MOVES).index(name)


WAYS = (("up", "down"), ("south", "north"), ("east", "west"))


def walk(env: BuildEnv, start: list[int], to: list[int]) -> None:
    """Move the cursor from a cell [y, z, x] to another."""
    for a, b, (more, less) in zip(start, to, WAYS, strict=True):
        for _ in range(abs(b - a)):
            env.step(act(more if b > a else less))


@pytest.mark.parametrize("options", [{}, WORDS])
def test_it_keeps_gymnasiums_contract(options: dict[str, Any], recwarn: pytest.WarningsRecorder) -> None:
    made = gymnasium.make(ENV_ID, target=HUT, **options)
    check_env(made.unwrapped)
    assert not [str(one.message) for one in recwarn if "gymnasium" in one.filename]


def f1(target: Blueprint, built: Blueprint) -> float:
    return 2 * shared_blocks(target, built) / (target.blocks + built.blocks)


@pytest.mark.parametrize("seed", range(6))
def test_rewards_are_gains_in_f1_of_the_function(seed: int) -> None:
    rng = np.random.default_rng(seed)
    target = Blueprint(rng.choice([-1, 1, 2, 3, 4, 5], rng.integers(1, 4, 3)).astype(np.int32), NAMES)
    if not target.blocks:
        target = HUT
    env = BuildEnv(target, step_cost=0.01, most_steps=400)
    env.reset(seed=seed)
    total, before = 0.0, 0.0
    for number in range(1, 401):
        seen, reward, terminated, truncated, info = env.step(rng.integers(PLACE + len(NAMES)))
        built = env.blueprint()
        now = f1(target, built)
        assert reward == pytest.approx(now - before - 0.01)
        assert (info["f1"], info["shared"], info["blocks"], info["steps"]) == pytest.approx(
            (now, shared_blocks(target, built), built.blocks, number)
        )
        assert (seen["grid"] == built.cells).all()
        assert terminated == (now == 1)
        total, before = total + float(reward), now
        if terminated or truncated:
            break
    assert truncated == (number == 400 and not terminated)
    assert total == pytest.approx(before - 0.01 * number)


def test_building_the_target_ends_it_at_one() -> None:
    env = BuildEnv(HUT)
    seen, info = env.reset()
    assert (info["f1"], info["materials"], seen["cursor"].tolist()) == (0.0, NAMES, [0, 0, 0])
    total, terminated, at = 0.0, False, [0, 0, 0]
    for y, z, x in np.argwhere(HUT.solid).tolist():
        assert not terminated
        walk(env, at, at := [y, z, x])
        _, reward, terminated, truncated, _ = env.step(PLACE + HUT.cells[y, z, x] - 1)
        total += float(reward)
    assert (terminated, truncated) == (True, False)
    assert total == pytest.approx(1.0)
    assert f1(HUT, env.blueprint()) == 1.0
    with pytest.raises(UsageError, match="call reset"):
        env.step(0)
    env.reset()
    assert env.blueprint().blocks == 0
    assert env.step(REMOVE)[1] == 0.0


def test_names_count_and_states_and_air_do_not() -> None:
    env = BuildEnv(Blueprint.of([[[2]]], ["stone", "oak_stairs[facing=east]", "oak_stairs[facing=west]"]))
    env.reset()
    assert env.step(PLACE)[1:3] == (0.0, False)
    assert env.step(PLACE + 2)[1:3] == (1.0, True)
    # A material called air is none.
    env = BuildEnv(HUT)
    env.reset()
    assert env.step(PLACE + 0)[1] > 0
    _, reward, _, _, info = env.step(PLACE + 2)
    assert (reward < 0, info["blocks"], env.blueprint().cells[0, 0, 0]) == (True, 0, 3)


def test_the_cursor_goes_where_it_is_told_and_stays_in_the_box() -> None:
    env = BuildEnv(HUT)
    env.reset()
    moves = "west down north east east east up up south south north"
    cells = "000 000 000 001 002 002 102 102 112 112 102"  # y, z, x
    for name, cell in zip(moves.split(), cells.split(), strict=True):
        assert env.step(act(name))[0]["cursor"].tolist() == [int(digit) for digit in cell], name


def test_episodes_end_at_their_limit_and_ignore_seeds() -> None:
    env = BuildEnv(HUT, most_steps=3)
    env.reset()
    assert [env.step(REMOVE)[3] for _ in range(3)] == [False, False, True]
    with pytest.raises(UsageError, match="call reset"):
        env.step(REMOVE)
    assert BuildEnv(HUT).most_steps == 48
    # All seeds give the same episode.
    runs = []
    for seed in (0, 7):
        env = BuildEnv(HUT)
        env.reset(seed=seed)
        rng = np.random.default_rng(3)
        runs.append([float(env.step(rng.integers(PLACE + len(NAMES)))[1]) for _ in range(40)])
    assert runs[0] == runs[1]


def test_what_is_seen() -> None:
    seen, _ = BuildEnv(HUT, **WORDS).reset()
    assert set(seen) == {"grid", "cursor", "instruction", "materials"}
    assert seen["instruction"] == WORDS["instruction"]
    assert seen["materials"].split("\n") == list(NAMES)
    assert set(BuildEnv(HUT).reset()[0]) == {"grid", "cursor", "target"}
    # What is seen is a copy.
    env = BuildEnv(HUT)
    seen, _ = env.reset()
    for key in ("grid", "target", "cursor"):
        seen[key][...] = 1
    env.blueprint().cells[...] = 1
    again = env.step(REMOVE)[0]
    assert (again["grid"] == -1).all()
    assert (again["target"] == HUT.cells).all()
    assert again["cursor"].tolist() == [0, 0, 0]
    # Pictures show the build.
    env = BuildEnv(HUT, render_mode="rgb_array")
    env.reset()
    empty = env.render()
    env.step(PLACE)
    built = env.render()
    assert empty is not None
    assert built is not None
    assert (built.shape, built.dtype) == ((512, 512, 3), np.uint8)
    assert (empty != built).any()
    blind = BuildEnv(HUT)
    blind.reset()
    assert blind.render() is None


@pytest.mark.parametrize(
    ("target", "options", "match"),
    [
        (Blueprint.of([[[-1, 1]]], ["air"]), {}, "the target has no blocks"),
        (HUT, {"goal": "instruction"}, "together with the text of one"),
        (HUT, {"goal": "picture"}, "goal is 'target'"),
        (HUT, {"step_cost": -0.1}, "step_cost -0.1 must be 0 or more"),
        (HUT, {"step_cost": float("nan")}, "step_cost nan"),
        (HUT, {"most_steps": 0}, "most_steps 0 1 or more"),
        (HUT, {"render_mode": "human"}, "no render mode 'human'"),
    ],
)
def test_what_cannot_be_meant_is_refused(target: Blueprint, options: dict[str, Any], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        BuildEnv(target, **options)


def test_wrong_steps_are_refused() -> None:
    env = BuildEnv(HUT)
    for call in (lambda: env.step(0), env.blueprint):
        with pytest.raises(UsageError, match="call reset"):
            call()
    with pytest.raises(UsageError, match="takes no options"):
        env.reset(options={"start": 1})
    env.reset()
    for action in (-1, PLACE + len(NAMES), 1.5):
        with pytest.raises(UsageError, match="is not in Discrete"):
            env.step(action)  # type: ignore[arg-type]
