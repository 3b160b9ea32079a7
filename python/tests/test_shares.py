"""Questions in shares: any executor gives the bits of one run, failures are told, nothing is lost."""

from __future__ import annotations

import concurrent.futures
import contextlib
import gc
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import types

import numpy as np
import pytest

import zipfold as zf
from zipfold import lazy
from zipfold.executors import EXTRAS, calls_of
from zipfold.settings import given
from zipfold.shares import work

SMALL = {"tile.rows": "128", "tile.cols": "128"}


def questions(rng: np.random.Generator) -> dict[str, zf.Pairs]:
    """Every fold, in every shape of shares."""
    x, y, w = rng.normal(size=(700, 3)), rng.normal(size=(300, 3)), rng.random(700)
    one, two = zf.pairs(x), zf.pairs(x, y)
    kinds = zf.pairs(x, attributes={"kind": list("abcdefg") * 100})
    near = "euclidean(x, y) < 0.5"
    return {
        "sum": one.sum(),
        "sums of halves": one.domain("triangle").sum(),
        "weighted": one.sum(weights=rng.random((700, 2))),
        "column": two.sum(axis=0),
        "mean of all": two.mean(axis=None),
        "extremes": two.min().argmax().count().max(axis=0).argmin(axis=None),
        "logsumexp": one.logsumexp(),
        "softmax": one.softmax(weights=w),
        "quantile": two.quantile([0.1, 0.5]),
        "matrix": one.matrix(),
        "matrix of two": two.matrix(),
        "condensed": one.condensed(),
        "nearest": one.nearest(4),
        "farthest": two.nearest(3, largest=True),
        "top": one.top(20),
        "histogram": one.histogram(30, (0, 6), weights=w),
        "values by bin": one.histogram(9, (0, 6), values={"v": "x[0] * y[0]"}, keep=["sum", "mean", "variance", "min", "max"]),
        "pruned": one.histogram(5, (0, 0.3)),
        "join": one.join(near),
        "join with values": two.join(near, "euclidean(x, y)"),
        "semi": two.join(near, kind="semi"),
        "anti": two.join(near, kind="anti"),
        "groups": kinds.by("kind").mean(),
        "counts of groups": kinds.by("kind").histogram(8, (0, 6)),
        "batches": kinds.batch("kind").condensed(),
        "keys": kinds.within("same:kind").nearest(2).join(near),
        "listed": zf.pairs(x, y, pairs=rng.integers(0, 300, (5000, 2))).sum().matrix(),
    }


def words_for(**fold: str) -> set[str]:
    """What the engine takes in the place of ``?``: its own list."""
    problem = {"schema": 1, "x": {"name": "X"}, "folds": [fold]}
    with pytest.raises(zf.ZipfoldError) as refused:
        zf._zipfold.explain(json.dumps(problem), (np.zeros((2, 1)), None, None, []), None, ([None], None), given())
    return set(re.findall(r"`(\w+(?:-\w+)*)`", str(refused.value).split("expected")[1]))


def test_every_fold_of_the_engine_is_asked_in_shares(rng):
    asked = [fold for question in questions(rng).values() for fold in question.problem["folds"]]
    assert {fold["kind"] for fold in asked} == words_for(kind="?")
    unknown = [("reduce", {"op": "?"}), ("reduce", {"op": "sum", "axis": "?"}), ("join", {"where": "true", "join_kind": "?"})]
    for kind, fields in unknown:
        key = next(key for key, word in fields.items() if word == "?")
        assert {fold[key] for fold in asked if fold["kind"] == kind} == words_for(kind=kind, **fields)
    kept = {word for fold in asked for value in fold.get("values", {}).values() for word in value["keep"]}
    assert kept == set(lazy._STATISTICS)


def same(one: object, other: object) -> None:
    """The same bits, whatever kind of result it is."""
    if isinstance(one, tuple) and not hasattr(one, "_fields"):
        assert isinstance(other, tuple)
        for a, b in zip(one, other, strict=True):
            same(a, b)
    elif isinstance(one, np.ndarray):
        assert np.array_equal(one, other, equal_nan=True)
    else:
        assert one == other


def pool(workers: int) -> concurrent.futures.ProcessPoolExecutor:
    return concurrent.futures.ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def test_every_fold_has_the_bits_of_one_run_over_processes(rng, tmp_path):
    for workers in (1, 2, 4):
        with pool(workers) as executor:
            asked = questions(rng)
            # Processes take a second each to begin: all questions go to the same ones.
            jobs = {
                name: zf.submit(
                    question, executor=executor, store=tmp_path / f"{workers} {name}", shares=2, threads=1, plan=SMALL
                )
                for name, question in asked.items()
            }
            for name, question in asked.items():
                same(jobs[name].result(timeout=300), question.run())
                assert jobs[name].failures() == [] and jobs[name].progress().seconds_left == 0.0


@pytest.fixture
def dask():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            yield client


def test_dask_gives_the_bits_of_one_run(rng, tmp_path, dask):
    for name, question in questions(rng).items():
        job = zf.submit(question, executor=dask, store=tmp_path / name, shares=2, threads=1, plan=SMALL)
        same(job.result(timeout=300), question.run())
    place = zf.submit(question, executor=None, store=tmp_path / "closed", shares=2, plan=SMALL).store
    dask.close()
    is_lost(zf.attach(place, executor=dask), "ClosedClientError: ", 0, 2)


def test_ray_gives_the_bits_of_one_run(rng, tmp_path):
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        for name, question in questions(rng).items():
            job = zf.submit(question, executor=ray, store=tmp_path / name, shares=2, threads=1, plan=SMALL)
            same(job.result(timeout=300), question.run())
    finally:
        ray.shutdown()


#: A program of the executor of mpi4py: every fold, and a problem file.
MPI = """
import sys
import numpy as np
import zipfold as zf
from mpi4py.futures import MPIPoolExecutor
from test_shares import SMALL, problem_file, questions, same

if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        rng, asked = np.random.default_rng(4), questions(np.random.default_rng(3))
        how = {"executor": executor, "shares": 2, "threads": 1, "plan": SMALL}
        jobs = {name: zf.submit(question, store=f"{sys.argv[1]}/{name}", **how) for name, question in asked.items()}
        for name, question in asked.items():
            same(jobs[name].result(timeout=300), question.run())
        path, question = problem_file(sys.argv[1], rng)
        same(zf.submit(path, store=f"{sys.argv[1]}/file", **how).result(timeout=300), question.run())
        print(executor.num_workers, "workers", len(asked) + 1, "questions")
"""


def test_mpi_gives_the_bits_of_one_run(tmp_path):
    pytest.importorskip("mpi4py")
    mpiexec = shutil.which("mpiexec") or pytest.skip("no mpiexec")
    (tmp_path / "program.py").write_text(MPI)
    here = pathlib.Path(__file__).parent
    # What Open MPI asks for in containers: it runs as root, and starts more processes than cores.
    more = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    path = os.pathsep.join([str(here.parent), str(here), os.environ.get("PYTHONPATH", "")])
    words = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", tmp_path / "program.py", tmp_path]
    said = subprocess.run(words, env={**os.environ, **more, "PYTHONPATH": path}, capture_output=True, text=True, timeout=600)
    assert said.returncode == 0, said.stderr
    assert said.stdout.split()[:2] == ["2", "workers"]


def problem_file(folder, rng: np.random.Generator) -> tuple[pathlib.Path, zf.Pairs]:
    """A problem over two files, and the same question over their rows."""
    folder = pathlib.Path(folder)
    x, y = rng.normal(size=(700, 3)), rng.normal(size=(300, 3))
    np.save(folder / "x.npy", x)
    np.savetxt(folder / "y.csv", y, fmt="%.17g", delimiter=",")
    problem = folder / "problem.toml"
    problem.write_text(
        f"schema = 1\nx = {{ name = '{folder / 'x.npy'}' }}\ny = {{ name = '{folder / 'y.csv'}' }}\n"
        "pair = { metric = 'euclidean' }\nfolds = [{ kind = 'nearest', k = 3 }, { kind = 'reduce', op = 'sum' }]\n"
    )
    return problem, zf.pairs(x, y).nearest(3).sum()


def test_a_problem_file_is_submitted_by_its_path(rng, tmp_path):
    path, question = problem_file(tmp_path, rng)
    wanted = question.run()
    for at, given in enumerate((path, str(path))):
        with pool(2) as executor:
            job = zf.submit(given, executor=executor, store=tmp_path / f"{at}", shares=3, threads=1, plan=SMALL)
            same(job.result(timeout=300), wanted)
    # The rows stay in their files.
    assert not (tmp_path / "0" / "data").exists()
    (tmp_path / "problem.json").write_text(json.dumps({"schema": 1, "x": {"name": str(tmp_path / "x.npy")}, "folds": []}))
    refused = {
        tmp_path / "none.toml": "none.toml",
        tmp_path / "x.npy": "x.npy",
        tmp_path / "problem.json": "no folds",
    }
    for wrong, words in refused.items():
        with pytest.raises(ValueError, match=words):
            zf.submit(wrong, executor=None, store=tmp_path / "refused")
    assert not (tmp_path / "refused").exists()


def test_a_worker_that_finds_another_file_refuses_it_by_name(rng, tmp_path):
    path, _ = problem_file(tmp_path, rng)
    job = zf.submit(path, executor=None, store=tmp_path / "store", shares=2, plan=SMALL)
    np.save(tmp_path / "x.npy", rng.normal(size=(700, 3)))
    with pytest.raises(zf.RequestError, match="x.npy: not the file that the store was planned with"):
        work(str(job.store))


def test_a_job_is_attached_from_another_process(rng, tmp_path):
    question = questions(rng)["nearest"]
    job = zf.submit(question, executor=None, store=tmp_path / "store", shares=4, plan=SMALL)
    assert job.progress()[:4] == (0, 4, 0, 0)
    script = f"import zipfold as zf, concurrent.futures as c\nwith c.ThreadPoolExecutor(1) as pool:\n    print(zf.attach({str(tmp_path / 'store')!r}, executor=pool).result().indices.sum())"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(said.stdout) == question.run().indices.sum()
    same(zf.attach(tmp_path / "store").result(), question.run())
    assert repr(job).startswith("<job of 4 shares, 4 done")


def test_a_worker_that_dies_costs_its_share_alone(rng, tmp_path):
    question = questions(rng)["sum"]
    folder = tmp_path / "store"
    zf.submit(question, executor=None, store=folder, shares=5, plan=SMALL)
    # A lease whose worker has gone, and is not waited for.
    (folder / "leases" / "000002").write_text(
        json.dumps({"who": {"host": "gone", "process": 1, "number": "0" * 32}, "lost": 0, "beat": 3})
    )
    os.utime(folder / "leases" / "000002", (1, 1))
    assert sorted(work(str(folder))["done"]) == [1, 2, 3, 4, 5]
    same(zf.attach(folder).result(), question.run())


def test_what_is_missing_is_named(rng, tmp_path):
    question = questions(rng)["matrix"]
    folder = tmp_path / "store"
    job = zf.submit(question, executor=None, store=folder, shares=4, plan=SMALL)
    work(str(folder), 1)
    with pytest.raises(zf.RequestError, match="1 of 4 shares are there: missing 2-4"):
        job._calls = calls_of(concurrent.futures.ThreadPoolExecutor(1))
        job.result()
    some = job.result(incomplete=True)
    assert np.isnan(some).any() and not np.isnan(some[0]).any()
    with pytest.raises(zf.RequestError, match="expected a share, got 9"):
        work(str(folder), 9)


class Broken(concurrent.futures.Executor):
    """An executor whose workers are lost."""

    def submit(self, function, /, *arguments, **named):
        future: concurrent.futures.Future = concurrent.futures.Future()
        future.set_exception(RuntimeError("the worker was lost"))
        return future


def test_workers_that_are_lost_are_tried_again_and_told(rng, tmp_path):
    job = zf.submit(questions(rng)["sum"], executor=Broken(), store=tmp_path / "s", shares=2, retries=3, plan=SMALL)
    assert job.wait(60)
    assert [(f.share, f.times, f.error) for f in job.failures()] == [
        (1, 3, "RuntimeError: the worker was lost"),
        (2, 3, "RuntimeError: the worker was lost"),
    ]
    with pytest.raises(zf.RequestError, match="the worker was lost"):
        job.result()


def is_lost(job: zf.Job, error: str, done: int, shares: int) -> None:
    """The executor of a job was lost with some shares: one error says so, and how another executor goes on."""
    with pytest.raises(zf.RequestError) as refused:
        job.result(timeout=60)
    first, second, third = str(refused.value).split("\n")
    assert first.startswith(f"executor: expected one that takes calls until all shares are done, got {error}")
    assert second.startswith(f"  {done} of {shares} shares are done and stay in the store")
    assert third == f"  try: zf.attach({job.store!r}, executor=…).result() with a new executor"
    assert job.failures() == []


def long_question(rows: int) -> zf.Pairs:
    x = np.random.default_rng(6).normal(size=(rows, 20))
    return zf.pairs(x).pair("exp(-sum(abs(x - y)^1.5))").logsumexp()


def worker_of(folder: pathlib.Path, share: int) -> int:
    """The process of the worker of a share, once there is one."""
    lease = folder / "leases" / f"{share:06}"
    for _ in range(4000):
        with contextlib.suppress(FileNotFoundError, ValueError):
            return json.loads(lease.read_text())["who"]["process"]
        time.sleep(0.005)
    raise AssertionError(f"share {share} has no worker")


def test_a_pool_that_a_killed_process_broke_is_told_once_and_another_one_goes_on(tmp_path):
    question, store = long_question(8000), tmp_path / "store"
    with pool(1) as executor:
        job = zf.submit(question, executor=executor, store=store, shares=3, threads=1)
        killed = worker_of(store, 2)
        os.kill(killed, signal.SIGKILL)
        assert job.wait(60)
        done = job.progress().done
        is_lost(job, "BrokenProcessPool: ", done, 3)
        # One that is broken already.
        is_lost(zf.attach(store, executor=executor), "BrokenProcessPool: ", done, 3)
    assert 1 <= done < 3
    assert job.result(incomplete=True).shape == (8000,)
    with pool(1) as executor:
        same(zf.attach(store, executor=executor, lease=1).result(timeout=60), question.run())
    same(job.result(), question.run())


def test_an_executor_that_was_shut_down_is_told_with_the_way_on(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    question = questions(rng)["sum"]
    gone = concurrent.futures.ThreadPoolExecutor(1)
    gone.shutdown()
    job = zf.submit(question, executor=gone, shares=2, plan=SMALL)
    is_lost(job, "RuntimeError: cannot schedule new futures after shutdown", 0, 2)
    with pytest.raises(zf.RequestError, match="0 of 2 shares are done and stay in the store until the last job at it has gone"):
        job.save(tmp_path / "sum.npy", incomplete=True)
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        # The store is temporary: it goes with the last job, and not with the first one.
        job = zf.attach(job.store, executor=executor)
        gc.collect()
        same(job.result(timeout=60), question.run())
    del job
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_share_that_failed_is_told_where_the_executor_was_shut_down_after_it(tmp_path):
    rows = np.arange(700.0)[:, None] - 1.0
    question = zf.pairs(rows).pair("sqrt(x[0] + y[0])").sum()
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        job = zf.submit(question, executor=executor, store=tmp_path / "s", shares=1, threads=1)
    with pytest.raises(zf.RequestError, match="failed 1, share 1 with: .*NaN"):
        job.result(timeout=60)
    assert [(one.share, one.times) for one in job.failures()] == [(1, 1)]


def test_ray_that_was_shut_down_is_told_and_not_started_again(rng, tmp_path):
    calls: list[str] = []
    up = [True]
    ray = types.SimpleNamespace(
        is_initialized=lambda: up[0],
        init=lambda: calls.append("init"),
        remote=lambda function: types.SimpleNamespace(remote=lambda *arguments: calls.append("remote")),
        wait=lambda handles, timeout: ([], handles),
        get=lambda handle: calls.append("get"),
        cancel=lambda handle: calls.append("cancel"),
    )
    job = zf.submit(questions(rng)["sum"], executor=ray, store=tmp_path / "s", shares=2, plan=SMALL)
    up[0] = False
    is_lost(job, "RuntimeError: ray was shut down", 0, 2)
    job.cancel()
    assert calls == ["remote", "remote"]


class Losing(concurrent.futures.ThreadPoolExecutor):
    """An executor whose first worker has gone, and left its lease."""

    def submit(self, function, /, *arguments, **named):
        lease = pathlib.Path(arguments[0][0]) / "leases" / "000001"
        if not lease.exists():
            lease.write_text(json.dumps({"who": {"host": "gone", "process": 1, "number": "0" * 32}, "lost": 0, "beat": 3}))
        return super().submit(function, *arguments, **named)


def test_the_lease_says_how_long_a_lost_worker_is_waited_for(rng, tmp_path):
    question = questions(rng)["sum"]
    begin = time.monotonic()
    with Losing(1) as executor:
        job = zf.submit(question, executor=executor, store=tmp_path / "a", shares=1, lease=2, plan=SMALL)
        same(job.result(timeout=30), question.run())
        place = zf.submit(question, executor=None, store=tmp_path / "b", shares=1, plan=SMALL).store
        same(zf.attach(place, executor=executor, lease=1).result(timeout=30), question.run())
    assert 2.5 < time.monotonic() - begin < 30


def test_a_share_that_fails_is_listed_and_the_others_go_on(tmp_path):
    rows = np.arange(700.0)[:, None]
    odd = rows.copy()
    odd[650] = -1.0
    question = zf.pairs(odd, rows).pair("sqrt(x[0]) + y[0]").sum()
    folder = tmp_path / "store"
    job = zf.submit(question, executor=None, store=folder, shares=5, plan=SMALL)
    said = work(str(folder), retries=2)
    assert len(said["done"]) == 4 and [share for share, _ in said["failed"]] == [5]
    assert [(f.share, f.times) for f in job.failures()] == [(5, 2)] and "NaN" in job.failures()[0].error
    with pytest.raises(zf.RequestError, match="missing 5; failed 5, share 5 with: .*NaN"):
        job._retries = 2
        job.result(timeout=60)
    some = job.result(timeout=60, incomplete=True)
    assert np.array_equal(some[:128], zf.pairs(odd[:128], rows).pair("sqrt(x[0]) + y[0]").sum().run())


def test_a_share_that_was_given_up_is_waited_for_where_it_is_tried_again(rng, tmp_path):
    question = questions(rng)["sum"]
    job = zf.submit(question, executor=None, store=tmp_path / "s", shares=1, plan=SMALL)
    note = {"share": 1, "times": 3, "error": "odd", "no_room": False, "host": "gone"}
    (tmp_path / "s" / "failed" / "000001").write_text(json.dumps(note))
    assert job.wait(5) and [one.error for one in job.failures()] == ["odd"]
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        executor.submit(time.sleep, 0.5)
        same(zf.attach(job.store, executor=executor).result(timeout=60), question.run())


def test_a_share_that_no_worker_has_room_for_is_given_up_and_can_be_done_later(rng, tmp_path, monkeypatch):
    monkeypatch.setattr("zipfold.shares._UNMOVED", 0.5)
    np.save(tmp_path / "x.npy", rng.random((1500, 3)))
    np.save(tmp_path / "y.npy", rng.random((700, 3)))
    problem = tmp_path / "p.toml"
    problem.write_text(
        f"schema = 1\nx = {{ name = '{tmp_path / 'x.npy'}' }}\ny = {{ name = '{tmp_path / 'y.npy'}' }}\n"
        "pair = { metric = 'euclidean' }\nfolds = [{ kind = 'nearest', k = 300 }]\n"
    )
    plan = {"tile.rows": "128", "prune": "off"}
    job = zf.submit(problem, executor=None, store=tmp_path / "store", shares=3, plan=plan)
    assert work(job.store, retries=1, memory=400_000, plan=plan)["done"] == []
    assert job.wait(60)
    failures = job.failures()
    assert [(one.share, one.times) for one in failures] == [(1, 0), (2, 0), (3, 0)]
    assert all("memory" in one.error for one in failures)
    with pytest.raises(zf.RequestError, match="memory"):
        job.result(timeout=60)
    assert sorted(work(job.store, plan=plan)["done"]) == [1, 2, 3]
    assert job.wait(60) and job.failures() == []


def test_cancel_keeps_what_is_done(rng, tmp_path):
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        job = zf.submit(questions(rng)["matrix"], executor=executor, store=tmp_path / "s", shares=5, threads=1, plan=SMALL)
        job.cancel()
        assert job.wait(1)
    if job.progress().done < 5:
        with pytest.raises(zf.Interrupted):
            job.result()
    assert sum(1 for _ in (tmp_path / "s" / "parts").iterdir()) == job.progress().done


def test_settings_that_are_no_numbers_are_refused_by_name(rng, tmp_path):
    question, place = questions(rng)["sum"], tmp_path / "store"
    zf.submit(question, executor=None, store=place, shares=1, plan=SMALL)
    doors = {
        "submit": lambda **how: zf.submit(question, executor=None, store=tmp_path / "new", **how),
        "attach": lambda **how: zf.attach(place, **how),
        "work": lambda **how: zf.work(place, **how),
    }
    for name, like, names in (("retries", 3, [*doors]), ("shares", 8, ["submit"]), ("share", 1, ["work"])):
        for bad in (2.5, "x", True, np.True_, 0, -1, [2], np.array([1, 2]), 2**40, *([None] if name != "share" else [])):
            bound = "up to 4294967295" if isinstance(bad, int) and bad > 2**32 else "from 1 on"
            told = f"{name}: expected a whole number {bound}, got {bad!r}\n  try: {name}={like}"
            for door in names:
                with pytest.raises(zf.RequestError, match=f"^{re.escape(told)}$"):
                    doors[door](**{name: bad})
    for bad in ("x", np.nan, None, True, 0.5, -1, [60], np.inf, 10**12, 2**60 + 1):
        bound = "up to 31622400" if bad in (np.inf, 10**12) else "from 1 on"
        told = f"lease: expected a number of seconds {bound}, got {bad!r}\n  try: lease=60"
        for door in doors.values():
            with pytest.raises(zf.RequestError, match=f"^{re.escape(told)}$"):
                door(lease=bad)
    job = zf.attach(place)
    for bad in ("x", np.nan, True):
        with pytest.raises(zf.RequestError, match=f"^timeout: expected a number of seconds, got {bad!r}\n  try: timeout=60"):
            job.result(timeout=bad)
    for bad in ("x", np.True_, 2.5, -1):
        with pytest.raises(zf.RequestError, match="^threads: "):
            zf.attach(place, threads=bad)
    for name, call in (("incomplete", job.result), ("incomplete", job.save), ("overwrite", job.save)):
        with pytest.raises(zf.ArrayTypeError, match=f"^{name}: expected True or False, got 'x'"):
            call(*([tmp_path / "out.npy"] if call == job.save else []), **{name: "x"})
    for bad in (3, b"store", ["a"]):
        for door in (zf.work, zf.attach, lambda store: zf.submit(question, executor=None, store=store)):
            with pytest.raises(zf.ArrayTypeError, match="^store: expected a path or a URL, got"):
                door(bad)
    assert not (tmp_path / "new").exists()
    # Those of NumPy are numbers.
    assert not job.wait(np.float32(-1))
    assert zf.work(place, np.int64(1), retries=np.int32(2), lease=np.float32(1))["done"] == [1]


def test_what_is_refused_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    large = zf.pairs(np.zeros((1, 2**25 + 1))).sum()
    small = zf.pairs([[0.0], [1.0]]).sum()
    (tmp_path / "own" / "parts").mkdir(parents=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    for store in (tmp_path / "a" / "b", tmp_path / "own", tmp_path / "mine", None):
        with pytest.raises(zf.RequestError, match="268435464 bytes of rows") as refused:
            zf.submit(large, executor=None, store=store, shares=1)
        # Not only when the error has gone.
        assert refused.value is not None and sorted(tmp_path.rglob("*")) == before
    for how in ({"shares": 10**6}, {"retries": 0}, {"memory": "x"}, {"executor": 3}):
        with pytest.raises(zf.ZipfoldError) as refused:
            zf.submit(small, **{"executor": None, **how})
        assert refused.value is not None and sorted(tmp_path.rglob("*")) == before
    # The store of another call stays as it is.
    zf.submit(small, executor=None, store=tmp_path / "a", shares=1)
    shutil.rmtree(tmp_path / "a" / "leases")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(zf.RequestError, match="a store already"):
        zf.submit(small, executor=None, store=tmp_path / "a", shares=1)
    assert sorted(tmp_path.rglob("*")) == before


def test_refusals_say_what_would_do(rng, tmp_path, monkeypatch):
    question = questions(rng)["sum"]
    with pytest.raises(zf.ArrayTypeError, match="expected an executor with submit"):
        zf.submit(question, executor=3)
    with pytest.raises(zf.RequestError, match="'dask' or 'ray'"):
        zf.submit(question, executor="spark")
    for name, extra in (("distributed", "dask"), ("ray", "ray")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(zf.RequestError, match=rf"pip install 'zipfold\[{extra}\]'"):
            zf.submit(question, executor=extra)
    with pytest.raises(zf.RequestError, match="shares"):
        zf.submit(question, executor=None, shares=0)
    with pytest.raises(zf.RequestError, match="1 to "):
        zf.submit(question, executor=None, store=tmp_path / "many", shares=5000)
    zf.submit(question, executor=None, store=tmp_path / "s", shares=1)
    with pytest.raises(zf.RequestError, match="a store already"):
        zf.submit(question, executor=None, store=tmp_path / "s", shares=1)
    with pytest.raises(zf.RequestError, match="a folder without a plan"):
        zf.attach(tmp_path / "none").result()
    with pytest.raises(zf.ArrayTypeError, match="zf.pairs.* or the path of a problem file"):
        zf.submit([[1.0]], executor=None)


def test_versions_that_do_not_do_are_refused_by_name(rng, monkeypatch):
    question = questions(rng)["sum"]
    for name, (extra, first, end) in EXTRAS.items():
        remedy = rf"pip install 'zipfold\[{extra}\]'"
        for version in ("0.9.1", f"{end}.0.1", f"{end}rc1"):
            told = f"expected {name} from {first} on and before {end}, got {re.escape(version)}(.|\n)*{remedy}"
            library = types.ModuleType(name)
            library.__version__ = version
            monkeypatch.setitem(sys.modules, name, library)
            if extra in ("dask", "ray"):
                with pytest.raises(zf.RequestError, match=told):
                    zf.submit(question, executor=extra)
            # An object that the caller has made.
            made = type("Client", (Broken,), {"__module__": f"{name}.client"})
            with pytest.raises(zf.RequestError, match=told):
                zf.submit(question, executor=made())
        monkeypatch.undo()


def test_extras_name_the_versions_that_are_refused_otherwise():
    project = pathlib.Path(__file__).parents[1]
    pins = (project.parent / ".ci" / "run").read_text()
    extras = tomllib.loads((project / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name, (extra, first, end) in EXTRAS.items():
        assert extras[extra] == [f"{name}>={first},<{end}"]
        assert re.search(rf"\b{name}==\d", pins), f"{name} is tested with a pinned version"


def test_parts_are_merged_from_bytes_and_from_files(rng, tmp_path):
    question = questions(rng)["join with values"]
    parts = [question.run(shard=(at, 3)) for at in range(3)]
    for at, part in enumerate(parts):
        (tmp_path / f"{at}.part").write_bytes(part)
    paths = [tmp_path / "0.part", bytearray(parts[1]), str(tmp_path / "2.part")]
    same(zf.merge(question, paths), question.run())
    with pytest.raises(zf.InputError, match="none.part"):
        zf.merge(question, [tmp_path / "none.part"])


def test_a_timeout_leaves_the_job_as_it_is(rng, tmp_path):
    job = zf.submit(questions(rng)["sum"], executor=None, store=tmp_path / "s", shares=2, plan=SMALL)
    begun = time.monotonic()
    with pytest.raises(TimeoutError, match="0 of 2 shares"):
        job.result(timeout=0.2)
    assert time.monotonic() - begun < 20
    assert pathlib.Path(job.store).is_dir()


def _grid(side: int) -> zf.Network:
    """A grid of variables with random tables."""
    rng = np.random.default_rng(5)
    cells = [(row, col) for row in range(side) for col in range(side)]
    scopes = [[f"{a}", f"{b}"] for a in cells for b in ((a[0], a[1] + 1), (a[0] + 1, a[1])) if b in cells]
    return zf.Network([rng.random((3, 3)) for _ in scopes], scopes, names=[f"{cell}" for cell in cells])


def _infer(task: str, store: str, threads: int) -> object:
    return zf.infer(_grid(11), task, keep=["(0, 0)"] if task == "sum" else (), store=store, memory="2MiB", threads=threads)


def test_slices_of_an_inference_are_shared_out(tmp_path):
    wanted = zf.infer(_grid(11), "sum", keep=["(0, 0)"], memory="2MiB")
    with pool(2) as executor:
        calls = [executor.submit(_infer, "sum", str(tmp_path / "store"), 1) for _ in range(2)]
        for call in calls:
            same(call.result(timeout=300), wanted)
    with pytest.raises(zf.RequestError, match="the task is not the same: this process has map"):
        _infer("map", str(tmp_path / "store"), 1)


def inference(task: str) -> zf.Inference:
    """A question about a network whose plan has slices within 2 MiB."""
    return zf.Inference(_grid(11), task, keep=["(0, 0)"] if task == "sum" else (), samples=3)


@pytest.mark.parametrize("task", ["pr", "mar", "map", "sum", "samples"])
def test_an_inference_has_the_bits_of_one_run_over_processes(task, tmp_path):
    wanted = inference(task).run(memory="2MiB")
    # Marginals of a share take an eighth of the memory.
    shares = 60 if task == "mar" else 5
    with pool(2) as executor:
        job = zf.submit(inference(task), executor=executor, store=tmp_path / "store", shares=shares, memory="2MiB", threads=1)
        same(job.result(timeout=300), wanted)
    assert job.progress() == (shares, shares, 0, 0, 0.0) and job.failures() == []
    again = zf.attach(tmp_path / "store")
    same(again.result(), wanted)
    with pytest.raises(zf.RequestError, match="got an inference"):
        again.save(tmp_path / "a.csv")


def test_shares_of_an_inference_that_are_missing_are_named(tmp_path):
    job = zf.submit(inference("pr"), executor=None, store=tmp_path / "store", shares=4, memory="2MiB")
    assert zf.work(tmp_path / "store", 2) == {"done": [2], "failed": []}
    with pytest.raises(TimeoutError, match="1 of 4 shares"):
        job.result(timeout=0.1)
    with pytest.raises(zf.RequestError, match="without some of its shares"):
        job.result(incomplete=True)
    with pytest.raises(zf.RequestError, match="memory: the plan of the inference says it"):
        zf.work(tmp_path / "store", memory="1GiB")
    assert sorted(zf.work(tmp_path / "store")["done"]) == [1, 3, 4]
    with pytest.raises(zf.RequestError, match="device: the plan of the inference says it"):
        job.result(device="cpu")
    assert job.result() == inference("pr").run(memory="2MiB")


def test_inferences_that_are_not_for_shares_are_refused(tmp_path):
    small = zf.Inference(_grid(3), "pr")
    with pytest.raises(zf.RequestError, match="none to share out"):
        zf.submit(small, executor=None, store=tmp_path / "a", memory="1GiB")
    with pytest.raises(zf.RequestError, match="of one stage, got mmap"):
        zf.submit(zf.Inference(_grid(11), "mmap", keep=["(0, 0)"]), executor=None, store=tmp_path / "b", memory="2MiB")
    with pytest.warns(zf.ZipfoldWarning, match="each worker holds up to"), pytest.raises(zf.RequestError, match="none to share"):
        zf.submit(small, executor=None, store=tmp_path / "e")
    with pytest.raises(zf.RequestError, match="takes no settings"):
        zf.submit(inference("pr"), executor=None, store=tmp_path / "c", plan={"prune": "off"})
    with pytest.raises(zf.RequestError, match="expected shares, got 5000"):
        zf.submit(inference("pr"), executor=None, store=tmp_path / "d", memory="2MiB", shares=5000)
    assert not [one for one in tmp_path.rglob("*") if one.is_file() and "clocks" not in one.parts]


def test_an_incomplete_answer_waits_only_for_workers_that_there_are(rng, tmp_path):
    question = questions(rng)["sum"]
    zf.submit(question, executor=None, store=tmp_path / "store", shares=3, plan=SMALL)
    work(str(tmp_path / "store"), 1)
    job = zf.attach(tmp_path / "store")
    begin = time.monotonic()
    some = job.result(timeout=30, incomplete=True)
    names = job.save(tmp_path / "some.npy", timeout=30, incomplete=True)
    assert time.monotonic() - begin < 5
    np.testing.assert_array_equal(np.load(names[0]), some)
    assert 0 < some.sum() < question.run().sum()
    # Others may be still to come for the whole answer.
    with pytest.raises(TimeoutError, match="1 of 3 shares"):
        job.result(timeout=0.2)


def test_a_temporary_store_goes_with_its_job(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    question = questions(rng)["sum"]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        job = zf.submit(question, executor=pool, shares=2, plan=SMALL)
        same(job.result(), question.run())
    same(job.result(), question.run())
    assert [str(one) for one in tmp_path.iterdir()] == [job.store]
    del job
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(zf.RequestError, match="shares"):
        zf.submit(question, executor=None, shares=10**6, plan=SMALL)
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    # A store that was named stays, and a process that ends takes its temporary ones along.
    zf.submit(question, executor=None, store=tmp_path / "named", shares=1)
    script = "import zipfold as zf\njob = zf.submit(zf.pairs([[0.0], [1.0]]).sum(), executor=None, shares=1)"
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert list(tmp_path.iterdir()) == [tmp_path / "named"]
