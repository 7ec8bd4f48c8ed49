"""A job that hangs, dies, prints or lies costs only itself."""

import os
import platform
import queue
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from worldgauge.core.errors import RunError, UsageError
from worldgauge.core.model import Needs
from worldgauge.engine.workers import worker as local
from worldgauge.engine.workers.pool import Job, JobResult, Pool
from worldgauge.engine.workers.site import LocalSite
from worldgauge.engine.workers.worker import LocalWorker, one_line, trace_now

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("doubles")]


def job(
    name: str, what: str, deadline_s: float | None = None, retries: int = 0, start_s: float | None = None, **facts: Any
) -> Job:
    return Job(name, "worldgauge.engine.doubles:job", {"what": what, **facts}, deadline_s, retries, start_s)


def run(*jobs: Job, workers: int = 1) -> dict[str, JobResult]:
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


@pytest.mark.parametrize("how", ["killed", "lost"])
@pytest.mark.parametrize("times", [0, 2, 3])
def test_a_lost_job_is_done_again_up_to_twice_and_tells_of_all_attempts(how: str, times: int, tmp_path: Path) -> None:
    frail = {"log": str(tmp_path), "times": times, "how": how}
    results = run(job("bad", "frail", retries=2, **frail), job("good", "echo", x=1), workers=2)
    one = {
        "killed": "the worker process was killed by SIGKILL (out of memory?)",
        "lost": "the model's process is gone",
    }[how]
    assert results["good"].value == {"x": 1}
    bad = results["bad"]
    assert bad.lost == (one,) * min(times, 2)
    if times < 3:
        assert (bad.error, bad.kind) == (None, None)
    else:
        assert (bad.error, bad.kind) == (f"lost 3 times: {one}", "LostError")


def test_a_job_that_never_comes_back_tells_how_each_attempt_ended(tmp_path: Path) -> None:
    with Pool(1) as pool:
        (result,) = pool.run([job("bad", "frail", retries=2, log=str(tmp_path), times=9, how="lost")])
    assert result.error == "lost 3 times: the model's process is gone"
    assert result.known
    assert "LostError" in (result.trace or "")
    assert len(list(tmp_path.iterdir())) == 3


def test_a_missed_deadline_is_not_tried_again(tmp_path: Path) -> None:
    note = tmp_path / "note"
    began = time.monotonic()
    result = run(job("hung", "child and hang", 1.0, 2, note=str(note)))["hung"]
    assert (result.error, result.lost) == ("timed out after 1 s without progress", ())
    assert all(gone(int(pid)) for pid in note.read_text().split())
    assert time.monotonic() - began < 30


def test_a_silent_job_is_killed_and_a_reporting_one_is_not() -> None:
    results = run(job("hung", "sleep", 0.4, seconds=60), job("slow", "drip", 3.0, seconds=0.5, times=8))
    assert results["hung"].error == "timed out after 0.4 s without progress"
    assert results["slow"].error is None


def test_the_deadline_counts_from_the_first_sign_where_a_start_is_allowed() -> None:
    results = run(
        job("slow", "start slowly", 0.5, start_s=60, seconds=1.5, hangs=False),
        job("hung", "start slowly", 0.5, start_s=60, seconds=1.0, hangs=True),
        job("never", "sleep", 60, start_s=0.5, seconds=60),
        workers=3,
    )
    assert {name: result.error for name, result in results.items()} == {
        "slow": None,
        "hung": "timed out after 0.5 s without progress",
        "never": "timed out after 0.5 s without beginning",
    }
    assert results["hung"].seconds >= 1.5


def test_a_job_that_is_done_again_may_start_again(tmp_path: Path) -> None:
    frail = {"log": str(tmp_path), "times": 1, "how": "killed after a start", "seconds": 1.0}
    result = run(job("a", "frail", 0.5, 1, start_s=60, **frail))["a"]
    assert (result.error, len(result.lost)) == (None, 1)


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


@pytest.mark.parametrize(("workers", "threads"), [(1, None), (2, "2"), (8, "1")])
def test_models_of_several_workers_share_the_cores(
    workers: int, threads: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch takes all cores in each process, which is ten times slower."""
    monkeypatch.setattr("worldgauge.engine.workers.site.cores_here", lambda: 4)
    for given, expected in ((None, threads), ("3", "3")):
        if given:
            monkeypatch.setenv("OMP_NUM_THREADS", given)
        else:
            monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        with LocalSite().pool(workers) as pool:
            (where,) = pool.run([job("a", "where")])
        assert (where.value["model"], where.value["numba"]) == (expected, 1)


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


@pytest.mark.parametrize("work", ["idle", "busy"])
def test_workers_and_their_children_end_when_their_parent_is_killed(work: str, doubles: ModuleType) -> None:
    script = (
        "import sys, time\n"
        "from worldgauge.engine.workers.pool import Job, Pool\n"
        "call = 'worldgauge.engine.doubles:job'\n"
        "kinds = ['pid', 'child', 'sleep'][:int(sys.argv[1])]\n"
        "jobs = [Job(kind, call, {'what': kind, 'seconds': 60}) for kind in kinds]\n"
        "with Pool(1) as pool:\n"
        "    for result in pool.run(jobs):\n"
        "        print(result.value, flush=True)\n"
        "    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, "2" if work == "idle" else "3"]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    started = [int(parent.stdout.readline()) for _ in range(2)]
    assert all(alive(pid) for pid in started)
    parent.kill()
    parent.communicate()
    assert all(gone(pid) for pid in started)


def test_what_workers_print_is_kept_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "MAX_LOG_BYTES", 1000)
    log = tmp_path / "logs" / "worker-0.log"

    def print_and_die(*texts: str) -> JobResult:
        with LocalSite(tmp_path / "logs").pool(1) as pool:
            jobs = [*(job(text, "say", text=text) for text in texts), job("bad", "exit")]
            return list(pool.run(jobs))[-1]

    error = f"the worker process exited with code 7; its last words: last words; more in {log}"
    assert print_and_die("first").error == error
    assert print_and_die("second\n" * 200, "third").error == error
    text = log.read_text()
    assert text.index("--- 2") < text.index("first") < text.index("last words") < text.index("second")
    assert text.count(f"{platform.node()} process") == 2
    assert text.endswith("\n--- more than 1,000 bytes: the rest is not kept ---\n")
    assert len(text) < 2000
    print_and_die()
    assert log.with_name("worker-0.old.log").read_text() == text
    assert "last words" in log.read_text()
    assert run(job("bad", "exit"))["bad"].error == error.partition("; more")[0], "nowhere to keep it"


def test_a_worker_that_prints_nothing_leaves_no_log(tmp_path: Path) -> None:
    with LocalSite(tmp_path).pool(1) as pool:
        list(pool.run([job("a", "echo")]))
    assert list(tmp_path.iterdir()) == []


def test_workers_that_cannot_start_end_the_run_and_not_its_jobs() -> None:
    pool = Pool(1, lambda place, events: LocalWorker(events, environment={"PYTHONHOME": "/nowhere"}))
    with (
        pool,
        pytest.raises(RunError, match=r"no worker starts, tried 5 times: the worker process exited with code 1; "),
    ):
        list(pool.run([job("a", "echo")]))


def test_a_place_where_no_worker_starts_does_not_stop_the_others() -> None:
    def hire(place: int, events: Any) -> LocalWorker:
        return LocalWorker(events, environment={"PYTHONHOME": "/nowhere"} if place else None)

    with Pool(2, hire) as pool:
        results = list(pool.run(job(str(n), "sleep", seconds=0.1) for n in range(10)))
    assert {result.error for result in results} == {None}
    assert len(results) == 10


def test_every_place_has_its_environment_also_for_the_next_worker_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    with LocalSite().pool(8, Needs(gpus=1)) as pool:
        for number in (2, 4):
            meet = {"log": str(tmp_path), "number": number, "variable": "CUDA_VISIBLE_DEVICES"}
            results = list(pool.run([job("a", "meet", **meet), job("b", "meet", **meet)]))
            assert {result.value for result in results} == {"4", "7"}
            list(pool.run([job("die", "exit"), job("die too", "exit")]))


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


def test_a_workers_folder_goes_with_it() -> None:
    """Its models keep their sockets there, and have no time to clean up when they are killed."""
    worker = LocalWorker(queue.SimpleQueue())
    folder = Path(worker._folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    worker.kill()
    assert not folder.exists()


def test_what_a_worker_says_of_an_error_controls_no_terminal() -> None:
    """Of errors that are not ours too, whose words nobody has cleaned."""
    words = "\x1b[31mred\x1b[0m\x07\nnext"
    assert one_line(ValueError(words)) == "ValueError: red next"
    try:
        raise ValueError(words)
    except ValueError:
        trace = trace_now()
    assert trace.endswith("ValueError: red \nnext\n")
