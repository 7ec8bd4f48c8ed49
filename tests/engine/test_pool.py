"""A job that hangs, dies, prints or lies costs only itself."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from worldgauge.engine.pool import Job, Pool, Result
from worldgauge.errors import UsageError

pytestmark = pytest.mark.usefixtures("doubles")


def job(name: str, what: str, deadline_s: float | None = None, **facts: Any) -> Job:
    return Job(name, "worldgauge.engine.doubles:job", {"what": what, **facts}, deadline_s)


def run(*jobs: Job, workers: int = 1) -> dict[str, Result]:
    with Pool(workers) as pool:
        return {result.id: result for result in pool.run(jobs)}


def test_values_come_back_and_one_worker_serves_many_jobs() -> None:
    results = run(job("a", "echo", x=[1, None, "é"]), job("b", "pid"), job("c", "pid"))
    assert results["a"].value == {"x": [1, None, "é"]}
    assert results["b"].value == results["c"].value != os.getpid()


def test_an_exception_is_one_line_with_its_type_and_trace() -> None:
    result = run(job("a", "raise"))["a"]
    assert result.error == "KeyError: 'missing'"
    assert (result.kind, result.known) == ("KeyError", False)
    assert "enginedoubles.py" in (result.trace or "")
    known = run(job("a", "usage"))["a"]
    assert (known.error, known.known) == ("a known error", True)


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ("exit", "the worker process exited with code 7; its last words: last words"),
        ("segfault", "the worker process was killed by SIGSEGV"),
        ("unserialisable", "TypeError: Object of type object is not JSON serializable"),
    ],
)
def test_a_death_costs_one_job_and_says_how(what: str, error: str) -> None:
    results = run(job("bad", what), job("good", "echo", x=1))
    assert results["bad"].error == error
    assert results["good"].value == {"x": 1}


def test_a_silent_job_is_killed_and_a_reporting_one_is_not() -> None:
    results = run(job("hung", "sleep", 0.4, seconds=60), job("slow", "drip", 0.6, seconds=0.25, times=4))
    assert results["hung"].error == "timed out after 0.4 s without progress"
    assert results["slow"].error is None


def test_the_news_of_one_worker_do_not_hide_the_death_of_another() -> None:
    jobs = [job("busy", "drip", seconds=0.02, times=150), job("dead", "orphan", seconds=6)]
    with Pool(2) as pool:
        first = next(results := pool.run(jobs))
        results.close()
    assert first.id == "dead"
    assert (first.error or "").startswith("the worker process exited with code 7")


def test_a_worker_that_dies_while_idle_costs_nothing() -> None:
    for wait in (0.0, 1.0):  # noticed when the next job starts, or while another one is at work
        with Pool(2) as pool:
            list(pool.run([job("a", "die later", seconds=0.2), job("b", "sleep", seconds=wait)]))
            time.sleep(0.5)
            again = list(pool.run([job("c", "echo"), job("d", "echo")]))
        assert [result.error for result in again] == [None, None]


def test_progress_is_passed_on() -> None:
    seen = []
    with Pool(1) as pool:
        list(pool.run([job("a", "drip", seconds=0.01, times=3)], lambda *news: seen.append(news)))
    assert seen[-1] == ("a", 3, 3)


def test_prints_cannot_forge_an_answer() -> None:
    assert run(job("a", "print"))["a"].value != "forged"


def test_workers_have_one_thread_and_no_stdin() -> None:
    where = run(job("a", "where"))["a"].value
    assert (where["cv2"], where["numba"], where["stdin"]) == (1, 1, "")


def test_only_functions_of_this_package_can_be_called() -> None:
    with Pool(1) as pool:
        calls = ["os:getcwd", "worldgaugery:x", "worldgauge.engine.doubles:os.system", "nothing"]
        results = list(pool.run(Job(call, call, {}) for call in calls))
    assert all(result.error and result.error.startswith("a job may only call") for result in results)


def test_jobs_are_taken_lazily_and_results_come_in_order_of_completion() -> None:
    taken = []

    def jobs() -> Iterator[Job]:
        for number, seconds in enumerate([0.6, 0.0, 0.0, 0.0]):
            taken.append(number)
            yield job(str(number), "sleep", seconds=seconds)

    with Pool(2) as pool:
        results = pool.run(jobs())
        first = next(results)
        assert first.id != "0"
        assert len(taken) <= 3
        assert {first.id, *(result.id for result in results)} == {"0", "1", "2", "3"}


def test_leaving_early_ends_the_workers_and_their_children() -> None:
    with Pool(2) as pool:
        results = pool.run([job("a", "child"), job("b", "sleep", seconds=60)])
        child = next(results).value
        assert alive(child)
        results.close()
        pool.close()
    assert gone(child)


def test_workers_end_when_their_parent_is_killed(doubles: ModuleType, tmp_path: Path) -> None:
    script = (
        "from worldgauge.engine.pool import Job, Pool\n"
        "jobs = [Job('pid', 'worldgauge.engine.doubles:job', {'what': 'pid'}),"
        " Job('long', 'worldgauge.engine.doubles:job', {'what': 'sleep', 'seconds': 60})]\n"
        "with Pool(1) as pool:\n"
        "    for result in pool.run(jobs):\n"
        "        print(result.value, flush=True)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    time.sleep(0.2)
    parent.kill()
    parent.wait()
    assert gone(worker)


def test_a_pool_needs_a_worker() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        Pool(0)


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def gone(pid: int) -> bool:
    for _ in range(100):
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False
