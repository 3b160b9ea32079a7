"""Stores in object stores: the answers of folders, whoever fails, and nothing twice that must be there once."""

from __future__ import annotations

import concurrent.futures
import fcntl
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pytest
from test_shares import SMALL, Broken, inference, pool, problem_file, questions, same

import zipfold as zf
from zipfold import _zipfold, mirrors, objects, stores

fsspec = pytest.importorskip("fsspec")
LocalFileSystem = pytest.importorskip("fsspec.implementations.local").LocalFileSystem

HOW = {"threads": 1, "plan": SMALL}


@pytest.fixture(autouse=True)
def machine(tmp_path):
    """The folder for temporary files of this machine, where its mirrors are."""
    mirrors._let_all_go()
    folder = tmp_path / "machine"
    folder.mkdir()
    # Tests undo patches of their own.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", str(folder))
        yield folder
        mirrors._let_all_go()


@pytest.fixture(scope="module")
def s3():
    """A bucket of a server that speaks as S3 does."""
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**keys, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}.items():
            patch.setenv(name, value)
        fsspec.filesystem("s3", use_listings_cache=False).mkdir("bucket")
        yield "s3://bucket"
        server.stop()


@pytest.fixture(params=["memory", "file", "s3"])
def place(request, tmp_path):
    """A place of each kind of object store."""
    if request.param == "s3":
        return f"{request.getfixturevalue('s3')}/{tmp_path.name}"
    return f"memory://{tmp_path.name}" if request.param == "memory" else f"file://{tmp_path}/bucket"


@pytest.fixture(params=["file", "s3"])
def far(request, tmp_path):
    """A place that other processes see, too."""
    return f"{request.getfixturevalue('s3')}/{tmp_path.name}" if request.param == "s3" else f"file://{tmp_path}/bucket"


def names_in(url: str) -> set[str]:
    """The names of the objects of a store, without the number of its plan."""
    fs, path = fsspec.core.url_to_fs(url, use_listings_cache=False)
    names = {name.lstrip("/").removeprefix(path.strip("/")).lstrip("/") for name in fs.find(path)}
    return {name.partition("/")[2] or name for name in names}


def put(url: str, name: str, data: bytes) -> None:
    """Puts an object into a store that has a plan."""
    fs, path = fsspec.core.url_to_fs(url, use_listings_cache=False)
    number = json.loads(fs.cat_file(f"{path}/plan.json"))["mirror"]["number"]
    fs.makedirs(f"{path}/{number}/{name}".rpartition("/")[0], exist_ok=True)
    fs.pipe_file(f"{path}/{number}/{name}", data)


def test_threads_give_the_bits_of_one_run(rng, place):
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        for name in ("histogram", "nearest", "sum", "join with values", "matrix"):
            question = questions(rng)[name]
            job = zf.submit(question, executor=executor, store=f"{place}/{name}", shares=3, **HOW)
            same(job.result(timeout=60), question.run())
            assert job.failures() == [] and job.progress() == (3, 3, 0, 0, 0.0)
            there = names_in(f"{place}/{name}")
            assert {f"parts/00000{share}" for share in (1, 2, 3)} <= there
            # Nothing is left of those who worked.
            assert not [one for one in there if one.startswith(("leases", "failed", "differing"))]


def test_every_fold_has_the_bits_of_one_run_over_processes(rng, far):
    asked = questions(rng)
    if far.startswith("s3"):
        # The server is a process of this machine, and takes its time.
        asked = {name: asked[name] for name in ("histogram", "nearest", "sum", "join with values", "matrix")}
    with pool(2) as executor:
        jobs = {
            name: zf.submit(question, executor=executor, store=f"{far}/{name}", shares=2, **HOW) for name, question in asked.items()
        }
        for name, question in asked.items():
            same(jobs[name].result(timeout=300), question.run())
            assert jobs[name].failures() == []


@pytest.mark.parametrize("task", ["pr", "map"])
def test_an_inference_has_the_bits_of_one_run(task, place):
    question = inference(task)
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        job = zf.submit(question, executor=executor, store=place, shares=4, memory="2MiB", threads=1)
        same(job.result(timeout=60), question.run(memory="2MiB"))
    assert job.progress() == (4, 4, 0, 0, 0.0) and job.failures() == []
    there = names_in(place)
    assert {"slices.json", "parts/000001", "parts/000004"} <= there
    assert [name for name in there if name.startswith("inference-")] and [name for name in there if name.startswith("order-")]
    assert not [one for one in there if one.startswith(("leases", "failed", "differing", "running", "clocks"))]
    same(zf.attach(place).result(), question.run(memory="2MiB"))


def test_matches_beyond_memory_are_objects_of_their_own(rng, far, tmp_path):
    question = zf.pairs(rng.normal(size=(700, 3))).join("euclidean(x, y) < 9", "euclidean(x, y)")
    with pool(2) as executor:
        job = zf.submit(question, executor=executor, store=f"{far}/join", shares=3, **HOW)
        same(job.result(timeout=300), question.run())
    assert [name for name in names_in(f"{far}/join") if name.startswith("matches/000002.runs/")]
    one, two = tmp_path / "one.npz", tmp_path / "two.npz"
    names = job.save(one)
    question.save(two)
    assert names == [str(one)]
    with np.load(one) as got, np.load(two) as wanted:
        assert got.files == wanted.files and all(np.array_equal(got[name], wanted[name]) for name in got.files)


def test_shares_of_squares_have_their_rows(rng, place):
    question = zf.pairs(rng.random((4000, 2))).histogram(5, (0, 0.02))
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        job = zf.submit(question, executor=executor, store=place, shares=4, threads=1)
        same(job.result(timeout=60), question.run())
    assert "rows/x000001" in names_in(place)


def test_a_problem_file_takes_its_inputs_along(rng, far, tmp_path, monkeypatch):
    path, question = problem_file(tmp_path, rng)
    fs = fsspec.filesystem("memory")
    fs.pipe("/y.csv", (tmp_path / "y.csv").read_bytes())
    mixed = tmp_path / "mixed.toml"
    mixed.write_text(path.read_text().replace(str(tmp_path / "y.csv"), "memory://y.csv"))
    wanted = question.run()
    for at, problem in enumerate((path, mixed)):
        job = zf.submit(problem, executor=None, store=f"{far}/{at}", shares=3, **HOW)
        assert [name for name in names_in(job.store) if name.startswith("inputs/") and name.endswith("x.npy")]
    # Neither the files nor what the URLs name are there for the workers, nor is the mirror of this process.
    (tmp_path / "x.npy").rename(tmp_path / "away.npy")
    fs.rm("/y.csv")
    mirrors._let_all_go()
    assert not list((tmp_path / "machine").glob("zipfold-mirror-*"))
    # Workers of another machine have temporary files elsewhere.
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "other"))
    with pool(2) as executor:
        for at in (0, 1):
            same(zf.attach(f"{far}/{at}", executor=executor, threads=1).result(timeout=300), wanted)


def test_a_problem_file_that_cannot_be_copied_says_for_what(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    text = 'schema = 1\nx = "%s"\npair = { metric = "euclidean" }\nfolds = [{ kind = "nearest", k = %s }]\n'
    odd, fine, noted = (tmp_path / f"{name}.toml" for name in ("odd", "fine", "noted"))
    odd.write_text(text % (tmp_path / "x.npy", "inf"))
    fine.write_text(text % (tmp_path / "x.npy", "1"))
    noted.write_text("# https://host/x\n" + text % (tmp_path / "x.npy", "1"))
    store = f"memory://{tmp_path.name}"
    if sys.version_info >= (3, 11):
        with pytest.raises(zf.RequestError, match="a value that JSON has not(.|\n)*try: finite numbers, or a store in a folder"):
            zf.submit(odd, executor=None, store=store, shares=1)
    # As before Python 3.11.
    monkeypatch.setitem(sys.modules, "tomllib", None)
    with pytest.raises(zf.RequestError, match="fine.toml: TOML for a store in an object store needs Python 3.11"):
        zf.submit(fine, executor=None, store=store, shares=1)
    with pytest.raises(zf.RequestError, match="noted.toml: TOML with :// in it, which may be a URL, needs Python 3.11"):
        zf.submit(noted, executor=None, store=tmp_path / "a", shares=1)
    assert zf.work(zf.submit(fine, executor=None, store=tmp_path / "b", shares=1).store)["done"] == [1]


def test_a_job_is_attached_from_another_process(rng, far):
    question = questions(rng)["nearest"]
    job = zf.submit(question, executor=None, store=far, shares=4, plan=SMALL)
    assert job.progress()[:4] == (0, 4, 0, 0)
    script = f"import zipfold as zf, concurrent.futures as c\nwith c.ThreadPoolExecutor(1) as pool:\n    print(zf.attach({far!r}, executor=pool).result().indices.sum())"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(said.stdout) == question.run().indices.sum()
    same(zf.attach(far).result(), question.run())
    assert repr(job) == f"<job of 4 shares, 4 done, in {far}>"


def test_workers_without_an_executor_share_the_work(rng, far, tmp_path):
    question = questions(rng)["matrix"]
    job = zf.submit(question, executor=None, store=far, shares=5, plan=SMALL)
    script = f"import zipfold as zf\nprint(*zf.work({far!r}, threads=1)['done'])"
    workers = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    done = [int(share) for worker in workers for share in worker.communicate(timeout=120)[0].split()]
    assert set(done) == {1, 2, 3, 4, 5}
    same(job.result(timeout=10), question.run())
    # The last process of a machine takes the mirror along.
    mirrors._let_all_go()
    assert list((tmp_path / "machine").glob("zipfold-mirror-*")) == []


def test_the_share_of_a_lost_worker_is_taken_over(rng, place):
    question = questions(rng)["sum"]
    job = zf.submit(question, executor=None, store=place, shares=3, plan=SMALL)
    gone = {"who": {"host": "gone", "process": 1, "number": "0" * 32}, "lost": 0, "beat": 3}
    put(place, "leases/000002", json.dumps(gone).encode())
    assert job.progress()[:4] == (0, 3, 1, 0)
    begun = time.monotonic()
    assert sorted(zf.work(place, lease=1.5)["done"]) == [1, 2, 3]
    assert time.monotonic() - begun > 1.4
    same(job.result(timeout=10), question.run())
    # A share that loses its workers again and again is left alone.
    job = zf.submit(question, executor=None, store=f"{place}-2", shares=2, plan=SMALL)
    put(job.store, "leases/000001", json.dumps({**gone, "lost": 2}).encode())
    assert zf.work(job.store, lease=1) == {"done": [2], "failed": [[1, "its worker was lost 3 times"]]}
    assert job.failures() == [(1, 3, "its worker was lost 3 times")]


def test_a_name_is_put_once_though_all_have_looked(place, tmp_path, monkeypatch):
    where, count = objects.Objects(place), 4
    start, look = threading.Barrier(count), objects.Objects._size
    looked = threading.local()

    def size(self, path):
        found = look(self, path)
        if not hasattr(looked, "once"):
            looked.once = start.wait(30)
        return found

    def put_own(at):
        (tmp_path / f"{at}").write_bytes(b"%d" % at * 1000)
        return where.put(str(tmp_path / f"{at}"), "parts/000001")

    monkeypatch.setattr(objects.Objects, "_size", size)
    with concurrent.futures.ThreadPoolExecutor(count) as threads:
        won = list(threads.map(put_own, range(count)))
    assert sorted(won) == [False] * (count - 1) + [True]
    assert where.read("parts/000001") == b"%d" % won.index(True) * 1000
    assert list(where.names("parts")) == ["000001"]
    monkeypatch.undo()
    # The same bytes again are as good as the first ones.
    assert put_own(won.index(True))


def test_of_submits_at_one_time_one_has_the_store(rng, place, monkeypatch):
    # None of them sees early that another one is ahead.
    monkeypatch.setattr(objects.Objects, "has", lambda *_: False)
    asked = [zf.pairs(rng.normal(size=(200, 2))).sum() for _ in range(6)]
    start = threading.Barrier(len(asked))

    def submit(question):
        start.wait()
        try:
            return zf.submit(question, executor=None, store=place, shares=1), question
        except zf.RequestError as error:
            assert str(error).startswith(f"{place}: a store already")
            return None

    with concurrent.futures.ThreadPoolExecutor(len(asked)) as threads:
        made = [one for one in threads.map(submit, asked) if one is not None]
    ((job, question),) = made
    monkeypatch.undo()
    assert zf.work(place)["done"] == [1]
    same(job.result(), question.run())
    # The others took away what they had put there.
    fs, path = fsspec.core.url_to_fs(place, use_listings_cache=False)
    assert len([name for name in fs.find(path) if name.endswith("/data")]) == 1
    assert names_in(place) == {"plan.json", "data", "question.json", "parts/000001", "told/000001"}
    with pytest.raises(zf.RequestError, match="a store already"):
        zf.submit(question, executor=None, store=place)


def test_of_two_workers_at_a_share_the_first_puts_its_part(rng, place, monkeypatch):
    question = zf.pairs(rng.normal(size=(700, 3))).join("euclidean(x, y) < 9", "euclidean(x, y)").sum()
    job = zf.submit(question, executor=None, store=place, shares=2, plan=SMALL)
    start = threading.Barrier(2)
    run = _zipfold.store_work

    def both(*arguments):
        said = run(*arguments)
        start.wait()
        return said

    monkeypatch.setattr(_zipfold, "store_work", both)
    folders = [tempfile.mkdtemp() for _ in range(2)]
    # Two machines: each has a mirror of its own.
    names = iter(folders)
    monkeypatch.setattr(stores.Store, "_root", lambda self: self.__dict__.setdefault("own", f"{next(names)}/{mirrors.PREFIX}x"))
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        for said in [threads.submit(zf.work, place, 1) for _ in range(2)]:
            assert said.result() == {"done": [1], "failed": []}
    monkeypatch.undo()
    assert zf.work(place, 1) == {"done": [], "failed": []}
    zf.work(place)
    same(job.result(), question.run())


def test_two_parts_of_the_best_pairs_give_one_answer(rng, place, monkeypatch):
    question = zf.pairs(rng.normal(size=(3000, 3))).pair("euclidean").top(50)
    job = zf.submit(question, executor=None, store=place, shares=2, threads=2, plan=SMALL)
    # Whoever is slow: both have seen that there is no part, and differ in what their threads found first.
    has = objects.Objects.has
    monkeypatch.setattr(objects.Objects, "has", lambda self, name: "/parts/" not in name and has(self, name))
    for threads in (1, 2, 2, 1):
        assert zf.work(place, 1, threads=threads) == {"done": [1], "failed": []}
    monkeypatch.undo()
    zf.work(place)
    same(job.result(), question.run())
    assert not [name for name in names_in(place) if "differing" in name]


@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_names_of_inputs_are_of_the_working_directory(rng, tmp_path, monkeypatch, kind):
    rows = rng.random((50, 2))
    (tmp_path / "problems").mkdir()
    np.save(tmp_path / "rows.npy", rows)
    folds = [{"kind": "reduce", "op": "sum"}]
    text = json.dumps({"schema": 1, "x": {"name": "rows.npy"}, "pair": {"metric": "euclidean"}, "folds": folds})
    (tmp_path / "problems" / "q.json").write_text(text)
    monkeypatch.chdir(tmp_path)
    store = f"memory://{tmp_path.name}" if kind == "memory" else tmp_path / "store"
    job = zf.submit("problems/q.json", executor=None, store=store, shares=1)
    assert zf.work(store)["done"] == [1]
    np.testing.assert_array_equal(job.result(), zf.pairs(rows).pair("euclidean").sum().run())


def test_parts_that_differ_are_named_both(rng, place, monkeypatch):
    job = zf.submit(questions(rng)["sum"], executor=None, store=place, shares=2, plan=SMALL)
    run = _zipfold.store_work

    def late(*arguments):
        said = run(*arguments)
        if arguments[1] == 1:
            own = pathlib.Path(arguments[0], "parts", "000001").read_bytes()
            put(place, "parts/000001", own[:-1] + bytes([own[-1] ^ 1]))
        return said

    monkeypatch.setattr(_zipfold, "store_work", late)
    names = r"parts/000001\b.*differing/000001-"
    # The worker lists the share and goes on, and the merge refuses it.
    said = zf.work(place)
    assert said["done"] == [2]
    ((share, error),) = said["failed"]
    assert share == 1 and re.search(names, error)
    monkeypatch.undo()
    # It has a part, so nobody computes it again, and no note of a failure outlives the remedy.
    assert job.progress()[:4] == (2, 2, 0, 0) and "failed/000001" not in names_in(place)
    with pytest.raises(zf.InputError, match=names):
        job.result()


class Flaky(LocalFileSystem):
    """Files whose accesses fail at random, after they have done what they should or before."""

    protocol = "flaky"
    random = random.Random(1)
    failed = 0


def _flaky(name):
    real = getattr(LocalFileSystem, name)

    def access(self, *arguments, **options):
        kind = Flaky.random.random()
        if kind < 0.1:
            Flaky.failed += 1
            raise OSError("the network is down")
        done = real(self, *arguments, **options)
        if kind < 0.15:
            Flaky.failed += 1
            raise TimeoutError("no answer")
        return done

    return access


for _name in ("cat_file", "get_file", "put_file", "pipe_file", "info", "ls", "link", "mv", "rm_file"):
    setattr(Flaky, _name, _flaky(_name))
fsspec.register_implementation("flaky", Flaky, clobber=True)


def test_a_store_that_fails_at_random_is_asked_again(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(objects, "_FIRST_WAIT", 0.001)
    # An access is several calls of the file system here.
    monkeypatch.setattr(objects, "_TRIES", 12)
    asked = {name: questions(rng)[name] for name in ("nearest", "sum", "join with values")}
    with concurrent.futures.ThreadPoolExecutor(3) as executor:
        for name, question in asked.items():
            job = zf.submit(question, executor=executor, store=f"flaky://{tmp_path}/{name}", shares=5, **HOW)
            same(job.result(timeout=60), question.run())
    assert Flaky.failed > 50


def test_a_store_that_fails_for_good_says_so(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(objects, "_FIRST_WAIT", 0.001)
    tried = []

    def fail(*_, **__):
        tried.append(1)
        raise OSError("the network is down at https://user:secret@host/x?key=secret")

    monkeypatch.setattr(Flaky, "put_file", fail)
    monkeypatch.setattr(Flaky, "info", LocalFileSystem.info)
    with pytest.raises(zf.InputError, match="cannot be written: the network is down at https://host/x") as told:
        zf.submit(zf.pairs([[0.0], [1.0]]).sum(), executor=None, store=f"flaky://{tmp_path}/a")
    assert "secret" not in str(told.value) and len(tried) % 6 == 0
    assert not (tmp_path / "a").exists() or names_in(f"flaky://{tmp_path}/a") == set()


def test_a_part_that_could_not_be_put_is_listed_and_put_by_the_next_try(rng, tmp_path, monkeypatch):
    for name in ("cat_file", "get_file", "put_file", "pipe_file", "info", "ls", "link", "mv", "rm_file"):
        monkeypatch.setattr(Flaky, name, getattr(LocalFileSystem, name))
    monkeypatch.setattr(objects, "_FIRST_WAIT", 0.001)
    monkeypatch.setattr(stores, "_AFTER_FAILURE", 0.01)
    question = questions(rng)["sum"]
    job = zf.submit(question, executor=None, store=f"flaky://{tmp_path}/a", shares=3, plan=SMALL)
    link = Flaky.link

    def down(self, path1, path2, **options):
        if path2.endswith("parts/000001"):
            raise OSError("the network is down")
        return link(self, path1, path2, **options)

    words = "parts/000001: cannot be written: the network is down"
    with monkeypatch.context() as patch:
        patch.setattr(Flaky, "link", down)
        said = zf.work(job.store)
    assert sorted(said["done"]) == [2, 3]
    ((share, error),) = said["failed"]
    assert share == 1 and words in error and job.store in error
    # It was tried as often as any share that fails. Others see it, and do not wait for it.
    assert job.progress()[:4] == (2, 3, 0, 1) and job.wait(30)
    assert [(one.share, one.times) for one in zf.attach(job.store).failures()] == [(1, 3)]
    with pytest.raises(zf.RequestError, match=f"failed 1, share 1 with: .*{words}"):
        job.result()
    # It was computed: what is left is to put it.
    with monkeypatch.context() as patch:
        patch.setattr(zf.stores._zipfold, "store_work", lambda *_: '{"done": [], "failed": []}')
        assert zf.work(job.store, 1) == {"done": [1], "failed": []}
    assert job.failures() == [] and "failed/000001" not in names_in(job.store)
    same(job.result(), question.run())


def test_a_worker_whose_store_takes_no_note_ends_with_the_error_of_the_part(rng, tmp_path, monkeypatch):
    for name in ("cat_file", "get_file", "put_file", "pipe_file", "info", "ls", "link", "mv", "rm_file"):
        monkeypatch.setattr(Flaky, name, getattr(LocalFileSystem, name))
    job = zf.submit(zf.pairs([[0.0], [1.0]]).sum(), executor=None, store=f"flaky://{tmp_path}/a", shares=1)

    def denied(*_, **__):
        raise PermissionError("Access Denied")

    with monkeypatch.context() as patch:
        for name in ("put_file", "pipe_file"):
            patch.setattr(Flaky, name, denied)
        with pytest.raises(zf.InputError, match="told/000001: cannot be written: Access Denied"):
            zf.work(job.store)
    assert zf.work(job.store)["done"] == [1]


def test_a_part_that_was_not_put_outlives_its_process(rng, tmp_path, machine, monkeypatch):
    question = questions(rng)["sum"]
    job = zf.submit(question, executor=None, store=f"file://{tmp_path}/bucket", shares=1, plan=SMALL)
    # The process that submitted is gone, too.
    mirrors._let_all_go()
    script = f"""
import zipfold as zf
from zipfold import objects
from fsspec.implementations.local import LocalFileSystem

def link(*_, **__):
    raise OSError("the network is down")

LocalFileSystem.link, objects._FIRST_WAIT = link, 0.001
print(zf.work({job.store!r}, 1)["failed"])
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "the network is down" in said.stdout
    with monkeypatch.context() as patch:
        patch.setattr(zf.stores._zipfold, "store_work", lambda *_: '{"done": [], "failed": []}')
        assert zf.work(job.store) == {"done": [1], "failed": []}
    same(job.result(), question.run())
    # It is put: the mirror goes with the last process.
    mirrors._let_all_go()
    assert list(machine.glob("zipfold-mirror-*")) == []


def test_the_note_of_a_failure_goes_when_the_share_is_done(rng, place):
    question = questions(rng)["sum"]
    job = zf.submit(question, executor=None, store=place, shares=2, plan=SMALL)
    put(place, "failed/000001", json.dumps({"share": 1, "times": 3, "error": "odd", "no_room": False, "host": "gone"}).encode())
    assert zf.work(place) == {"done": [2], "failed": [[1, "odd"]]}
    assert zf.work(place, 1)["done"] == [1] and "failed/000001" not in names_in(place)
    fs, path = fsspec.core.url_to_fs(place, use_listings_cache=False)
    number = json.loads(fs.cat_file(f"{path}/plan.json"))["mirror"]["number"]
    fs.rm_file(f"{path}/{number}/parts/000001")
    assert zf.work(place) == {"done": [1], "failed": []}
    same(job.result(), question.run())


def test_a_share_of_a_killed_process_starts_again_at_once_on_its_machine(rng, tmp_path):
    place, question = f"file://{tmp_path}/bucket", questions(rng)["sum"]
    job = zf.submit(question, executor=None, store=place, shares=3, plan=SMALL)
    assert zf.work(place, 3)["done"] == [3]
    root = pathlib.Path(job._store._root())
    lease = {"who": {"host": "here", "process": 1, "number": "0" * 32}, "lost": 0, "beat": 3}
    (root / "leases" / "000001").write_text(json.dumps(lease))
    begun = time.monotonic()
    assert zf.work(place, 1, lease=30)["done"] == [1]
    # What a killed process has open is there, and nobody has it locked.
    (root / "leases" / "000002").write_text(json.dumps(lease))
    (root / "running" / "000002.held").touch()
    (root / "running" / "000002-1.held").touch()
    held = mirrors._Lock(str(root / "running" / "000002-1.held"))
    held.take(fcntl.LOCK_EX)
    # One of a process that lives is left to it.
    mirrors.freed(str(root), "000002")
    assert (root / "leases" / "000002").exists()
    held.close()
    assert zf.work(place, 2, lease=30)["done"] == [2]
    assert time.monotonic() - begun < 15
    same(job.result(), question.run())


def test_a_lease_of_another_worker_is_neither_written_nor_removed(rng, place, monkeypatch):
    zf.submit(questions(rng)["sum"], executor=None, store=place, shares=2, plan=SMALL)
    run, other = _zipfold.store_work, json.dumps({"who": {"host": "a", "process": 1, "number": "b" * 32}, "lost": 1, "beat": 0})
    seen = []

    def taken_over(root, share, *rest):
        where = objects.Objects(place)
        name = f"{json.loads(where.read('plan.json'))['mirror']['number']}/leases/{share:06}"
        mine = json.loads(where.read(name))
        # One that is not there is written again, with the next beat.
        where.remove(name)
        end = time.monotonic() + 10
        while where.read(name) is None and time.monotonic() < end:
            time.sleep(0.05)
        seen.append(json.loads(where.read(name))["who"] == mine["who"])
        # Neither is one written that cannot be read.
        unread.append(name)
        where.write(name, other.encode())
        for _ in range(2):
            time.sleep(0.6)
            unread.clear()
            seen.append(where.read(name) == other.encode())
        return run(root, share, *rest)

    def read_or_fail(self, name):
        if name in unread:
            raise zf.InputError("the network is down")
        return read(self, name)

    unread, read = [], objects.Objects.read
    monkeypatch.setattr(objects.Objects, "read", read_or_fail)
    monkeypatch.setattr(_zipfold, "store_work", taken_over)
    assert zf.work(place, 1, lease=1)["done"] == [1] and seen == [True] * 3
    monkeypatch.undo()
    where = objects.Objects(place)
    assert where.read(f"{json.loads(where.read('plan.json'))['mirror']['number']}/leases/000001") == other.encode()
    zf.work(place, 2)
    assert "leases/000002" not in names_in(place)


def test_threads_look_at_one_job(rng, place, monkeypatch):
    question = questions(rng)["sum"]
    job = zf.submit(question, executor=None, store=place, shares=2, plan=SMALL)
    gone = {"who": {"host": "gone", "process": 1, "number": "0" * 32}, "lost": 0, "beat": 3}
    put(place, "leases/000002", json.dumps(gone).encode())
    assert job.progress()[:4] == (0, 2, 1, 0)
    job._store._objects.remove(job._store._of("leases/000002"))
    remove = os.remove

    def late(path, **options):
        if str(path).endswith("leases/000002"):
            time.sleep(0.5)
        remove(path, **options)

    with monkeypatch.context() as patch, concurrent.futures.ThreadPoolExecutor(2) as threads:
        patch.setattr(os, "remove", late)
        assert [one.result()[:4] for one in [threads.submit(job.progress) for _ in range(2)]] == [(0, 2, 0, 0)] * 2
    # Nothing that a look brings is below the hands of a merge.
    zf.work(place, 1)
    with job._store.gathered() as folder:
        zf.work(place, 2)
        assert job.progress().done == 2
        assert os.listdir(os.path.join(folder, "parts")) == ["000001"]
    same(job.result(), question.run())


def test_a_missing_permission_is_told_at_once(rng, tmp_path, monkeypatch):
    question = zf.pairs([[0.0], [1.0]]).sum()

    def denied(*_, **__):
        raise PermissionError("Access Denied")

    for name in ("cat_file", "get_file", "put_file", "pipe_file", "info", "ls", "link", "mv", "rm_file"):
        monkeypatch.setattr(Flaky, name, getattr(LocalFileSystem, name))
    job = zf.submit(question, executor=None, store=f"flaky://{tmp_path}/a", shares=1)
    for name, done in (("put_file", "written"), ("info", "read"), ("cat_file", "read")):
        with monkeypatch.context() as patch:
            patch.setattr(Flaky, name, denied)
            begun = time.monotonic()
            with pytest.raises(zf.InputError, match=f"cannot be {done}: Access Denied"):
                if name == "cat_file":
                    zf.attach(job.store).progress()
                else:
                    zf.submit(question, executor=None, store=f"flaky://{tmp_path}/b", shares=1)
            assert time.monotonic() - begun < 1
    # A worker that may read and not write fails by name, and the store stays.
    with monkeypatch.context() as patch:
        patch.setattr(Flaky, "put_file", denied)
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            with pytest.raises(zf.RequestError, match="Access Denied"):
                zf.attach(job.store, executor=executor, retries=1).result(timeout=30)
    assert zf.work(job.store)["done"] == [1]
    same(job.result(), question.run())


def test_urls_that_cannot_be_stores_are_refused(rng, tmp_path, monkeypatch):
    question = zf.pairs([[0.0], [1.0]]).sum()
    refused = {
        "nosuch://bucket/a": "nosuch",
        "https://host/a": "expected a file system that can be written",
        "s3://user:secret@bucket/a": "without user, password, query",
        "memory://a?key=secret": "without user, password, query",
        "simplecache::memory://a": "second scheme",
    }
    for url, words in refused.items():
        for call in (lambda url: zf.submit(question, executor=None, store=url), zf.attach, zf.work):
            with pytest.raises(zf.RequestError, match=words) as told:
                call(url)
            assert "secret" not in str(told.value)
    with monkeypatch.context() as patch:
        patch.setattr(fsspec, "__version__", "2024.10.0")
        with pytest.raises(zf.RequestError, match="expected fsspec from 2024.12 on, got 2024.10.0"):
            zf.attach("memory://a")
    # What Azure has before the @ is a container, unless it is a password or there are others.
    with monkeypatch.context() as patch:
        patch.setattr(zf.remote, "opened", lambda url, **_: (fsspec.filesystem("memory"), "/container/p"))
        for url in (f"{scheme}://container@account.dfs.core.windows.net/p" for scheme in ("abfs", "abfss", "az")):
            assert objects.Objects(url).url == url and zf.remote.shown(f"simplecache::{url}?sig=secret") == f"simplecache::{url}"
            odd = (url.replace("container", "user:secret"), f"{url}?sig=secret", url.replace("container", "user@container"))
            for wrong in (*odd, url.replace("abfs", "s3").replace("az:", "gs:")):
                if wrong != url:
                    with pytest.raises(zf.RequestError, match="without user, password, query") as told:
                        objects.Objects(wrong)
                    assert "secret" not in str(told.value)
    with pytest.raises(zf.RequestError, match="store: expected a folder that all processes see, got memory://a"):
        zf.infer(zf.Network([np.ones(2)], [["a"]]), "pr", store="memory://a?key=secret")
    for call in (lambda url: zf.attach(url).progress(), lambda url: zf.attach(url).result(), zf.work):
        with pytest.raises(zf.RequestError, match=r"memory://none/plan.json: expected a store, got a place without a plan"):
            call("memory://none")
    fs = fsspec.filesystem("memory")
    job = zf.submit(question, executor=None, store="memory://odd", shares=1)
    plan = json.loads(fs.cat_file("/odd/plan.json"))
    for wrong in ({"number": "../x"}, {"root": "/etc"}, {"files": {"../../x": [1, ""]}}, {"files": {"/x": [1, ""]}}):
        fs.pipe_file("/odd/plan.json", json.dumps({**plan, "mirror": {**plan["mirror"], **wrong}}).encode())
        with pytest.raises(zf.InputError, match="no plan of a store"):
            zf.work("memory://odd")
    # Another question in the same place is not that of this job.
    fs.rm("/odd", recursive=True)
    zf.submit(question, executor=None, store="memory://odd", shares=1)
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        job._calls = zf.executors.calls_of(executor)
        job._start(1)
        assert job.wait(30)
    assert "got that of a later one" in job.failures()[0].error


def test_a_share_that_fails_is_listed_and_the_others_go_on(place):
    rows = np.arange(700.0)[:, None]
    odd = rows.copy()
    odd[650] = -1.0
    question = zf.pairs(odd, rows).pair("sqrt(x[0]) + y[0]").sum()
    job = zf.submit(question, executor=None, store=place, shares=5, plan=SMALL)
    said = zf.work(place, retries=2)
    assert len(said["done"]) == 4 and [share for share, _ in said["failed"]] == [5]
    # Another process sees it, and leaves it alone.
    for seen in (job, zf.attach(place)):
        assert [(f.share, f.times) for f in seen.failures()] == [(5, 2)] and "NaN" in seen.failures()[0].error
        assert seen.progress()[:4] == (4, 5, 0, 1)
    assert zf.work(place, retries=2)["done"] == []
    with pytest.raises(zf.RequestError, match=f"{place}.*missing 5; failed 5, share 5 with: .*NaN"):
        job._retries = 2
        job.result(timeout=60)
    some = job.result(timeout=60, incomplete=True)
    assert np.array_equal(some[:128], zf.pairs(odd[:128], rows).pair("sqrt(x[0]) + y[0]").sum().run())
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        job = zf.attach(place, executor=executor, retries=2)
        assert job.wait(60)
        ((share, times, _),) = job.failures()
        assert share == 5 and times in (3, 4)


def test_a_share_that_no_worker_has_room_for_is_given_up_and_can_be_done_later(rng, tmp_path, monkeypatch):
    monkeypatch.setattr("zipfold.shares._UNMOVED", 0.5)
    np.save(tmp_path / "x.npy", rng.random((1500, 3)))
    np.save(tmp_path / "y.npy", rng.random((700, 3)))
    problem = tmp_path / "p.json"
    problem.write_text(
        json.dumps(
            {
                "schema": 1,
                "x": {"name": str(tmp_path / "x.npy")},
                "y": {"name": str(tmp_path / "y.npy")},
                "pair": {"metric": "euclidean"},
                "folds": [{"kind": "nearest", "k": 300}],
            }
        )
    )
    plan = {"tile.rows": "128", "prune": "off"}
    job = zf.submit(problem, executor=None, store="memory://room", shares=3, plan=plan)
    assert zf.work(job.store, retries=1, memory=400_000, plan=plan)["done"] == []
    assert job.wait(60)
    assert [(one.share, one.times) for one in job.failures()] == [(1, 0), (2, 0), (3, 0)]
    with pytest.raises(zf.RequestError, match="memory"):
        job.result(timeout=60)
    assert sorted(zf.work(job.store, plan=plan)["done"]) == [1, 2, 3]
    assert job.wait(60) and job.failures() == []


def test_what_is_missing_is_named_and_what_is_lost_is_told(rng, place):
    job = zf.submit(questions(rng)["matrix"], executor=Broken(), store=place, shares=4, plan=SMALL)
    assert job.wait(60)
    assert [f.error for f in job.failures()] == ["RuntimeError: the worker was lost"] * 4
    zf.work(place, 1)
    with pytest.raises(zf.RequestError, match="1 of 4 shares are there: missing 2-4(.|\n)*the worker was lost"):
        job.result()
    some = job.result(incomplete=True)
    assert np.isnan(some).any() and not np.isnan(some[0]).any()
    with pytest.raises(zf.RequestError, match="expected a share, got 9"):
        zf.work(place, 9)
    with pytest.raises(TimeoutError, match="1 of 4 shares"):
        zf.attach(place).result(timeout=0.2)


def test_cancel_keeps_what_is_done(rng, place):
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        job = zf.submit(questions(rng)["matrix"], executor=executor, store=place, shares=5, **HOW)
        job.cancel()
        assert job.wait(1)
    if job.progress().done < 5:
        with pytest.raises(zf.Interrupted):
            job.result()
    assert sum(name.startswith("parts/") for name in names_in(place)) == job.progress().done


def test_a_damaged_part_is_named_and_made_again(rng, place):
    question = zf.pairs(rng.normal(size=(700, 3))).join("euclidean(x, y) < 9", "euclidean(x, y)")
    job = zf.submit(question, executor=None, store=place, shares=2, plan=SMALL)
    zf.work(place)
    fs, path = fsspec.core.url_to_fs(place, use_listings_cache=False)
    (run,) = [name for name in names_in(place) if name.startswith("matches/000002.runs/")]
    for damaged in ("parts/000002", run):
        put(place, damaged, b"x" * 100)
        with pytest.raises(zf.InputError, match=f"{place}/[0-9a-f]{{32}}/{damaged}: (.|\n)*remove this file"):
            job.result()
        number = json.loads(fs.cat_file(f"{path}/plan.json"))["mirror"]["number"]
        for name in {damaged, "parts/000002"}:
            fs.rm_file(f"{path}/{number}/{name}")
        assert job.progress().done == 1
        assert zf.work(place)["done"] == [2]
        same(job.result(), question.run())


def test_what_workers_fetch_is_what_was_sent(rng, place, machine, monkeypatch):
    monkeypatch.setattr(objects, "_FIRST_WAIT", 0.001)
    job = zf.submit(questions(rng)["sum"], executor=None, store=place, shares=2, plan=SMALL)
    mirrors._let_all_go()
    put(place, "data", b"x" * 100)
    with pytest.raises(zf.InputError, match=r"data: cannot be read: expected the \d+ bytes that were sent"):
        zf.work(place)
    assert [f.name for f in machine.rglob("data")] == [] and job.progress().done == 0


class Counted(LocalFileSystem):
    """Files whose fetches are counted."""

    protocol = "counted"
    fetched: list[str] = []

    def get_file(self, path1, path2, **options):
        self.fetched.append(path1)
        time.sleep(0.05)
        return super().get_file(path1, path2, **options)


fsspec.register_implementation("counted", Counted, clobber=True)


def test_a_machine_fetches_inputs_once(rng, tmp_path, machine):
    path, question = problem_file(tmp_path, rng)
    url = f"counted://{tmp_path}/bucket"
    job = zf.submit(path, executor=None, store=url, shares=3, **HOW)
    mirrors._let_all_go()
    with concurrent.futures.ThreadPoolExecutor(3) as executor:
        same(zf.attach(url, executor=executor, threads=1).result(timeout=60), question.run())
    inputs = [pathlib.Path(one).name for one in Counted.fetched if "/inputs/" in one]
    assert sorted(inputs) == ["problem.json", "urls.json", "x.npy", "y.csv"]
    (mirror,) = machine.glob("zipfold-mirror-*")
    # Parts are in the store, and not in the mirror.
    assert list((mirror / "parts").iterdir()) == [] and mirror.stat().st_mode & 0o777 == 0o700
    del job


@pytest.mark.parametrize("sent", [True, False])
def test_a_share_of_squares_fetches_its_rows_alone(rng, tmp_path, machine, sent):
    rows = rng.random((20000, 2))
    np.save(tmp_path / "x.npy", rows)
    question = zf.pairs(rows).histogram(5, (0, 0.01))
    problem = {
        "schema": 1,
        "x": {"name": str(tmp_path / "x.npy")},
        "pair": {"metric": "euclidean"},
        "domain": "triangle",
        "folds": [{"kind": "histogram", "axes": [{"bins": 5, "range": [0.0, 0.01]}]}],
    }
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(problem))
    url = f"counted://{tmp_path}/squares-{sent}"
    job = zf.submit(question if sent else path, executor=None, store=url, shares=8, **HOW)
    mirrors._let_all_go()
    Counted.fetched.clear()
    assert zf.work(url, 3, threads=1) == {"done": [3], "failed": []}
    fetched = {one.split("/squares-")[1].split("/", 2)[2] for one in Counted.fetched}
    all_rows = {name for name in names_in(url) if name.startswith("rows/")}
    # A worker reads neither what was sent nor inputs, and the rows of its own squares.
    assert {name for name in fetched if not name.startswith(("rows/", "told/", "leases/", "failed/"))} == {"squares"}
    read = {name for name in fetched if name.startswith("rows/")}
    assert read and read <= all_rows and len(read) <= len(all_rows) / 2
    assert zf.work(url)["failed"] == []
    same(job.result(), question.run())
