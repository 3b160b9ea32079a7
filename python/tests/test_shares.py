"""Questions in shares: any executor gives the bits of one run, failures are told, nothing is lost."""

from __future__ import annotations

import concurrent.futures
import gc
import json
import multiprocessing
import os
import pathlib
import re
import shutil
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
    with pytest.raises(zf.RequestError, match="the network, the evidence, the task or the plan is not the same"):
        _infer("map", str(tmp_path / "store"), 1)


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
