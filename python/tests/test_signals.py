"""Signals that tell a worker to end: it keeps a checkpoint and takes its lease away, and other handlers are left alone."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import pytest
from test_shares import is_lost, long_question, pool, same, worker_of

import zipfold as zf
from zipfold import mirrors
from zipfold.signals import Ended, ends_in_order

#: A worker that tells what handler it has in the end.
WORKER = """
import signal, sys
import zipfold as zf
signal.signal(signal.SIGHUP, signal.SIG_IGN if "nohup" in sys.argv else signal.SIG_DFL)
zf.work(sys.argv[1], threads=1)
print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
"""


def start_worker(store: pathlib.Path | str, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKER, str(store), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_worker_that_is_told_to_end_keeps_a_checkpoint(tmp_path, number, status):
    question, store = long_question(8000), tmp_path / "store"
    zf.submit(question, executor=None, store=store, shares=1)
    worker = start_worker(store)
    worker_of(store, 1)
    time.sleep(0.2)
    worker.send_signal(number)
    said = worker.communicate(timeout=60)
    assert (worker.returncode, *said) == (status, "", "")
    assert list((store / "running").iterdir()) and not list((store / "leases").iterdir())
    # The next one goes on at once, and the handlers are what they were. One under nohup outlives its terminal.
    worker = start_worker(store, "nohup")
    worker_of(store, 1)
    worker.send_signal(signal.SIGHUP)
    assert worker.communicate(timeout=60) == ("True\n", "")
    assert not list((store / "running").iterdir())
    same(zf.attach(store).result(), question.run())


def _is_left_alone() -> bool:
    return signal.getsignal(signal.SIGTERM) is print


def test_a_process_of_a_pool_that_is_told_to_end_keeps_a_checkpoint(tmp_path):
    question, store = long_question(8000), tmp_path / "store"
    with pool(1) as executor:
        job = zf.submit(question, executor=executor, store=store, shares=1, threads=1)
        worker, (process,) = worker_of(store, 1), executor._processes.values()
        time.sleep(0.2)
        os.kill(worker, signal.SIGTERM)
        is_lost(job, "BrokenProcessPool: ", 0, 1)
        process.join(60)
        assert (process.pid, process.exitcode) == (worker, 143)
    assert list((store / "running").iterdir()) and not list((store / "leases").iterdir())
    # A process with a handler of its own keeps it, and the share goes on.
    context = multiprocessing.get_context("spawn")
    how = {"mp_context": context, "initializer": signal.signal, "initargs": (signal.SIGTERM, print)}
    with concurrent.futures.ProcessPoolExecutor(1, **how) as executor:
        job = zf.attach(store, executor=executor, threads=1)
        os.kill(worker_of(store, 1), signal.SIGTERM)
        same(job.result(timeout=60), question.run())
        assert executor.submit(_is_left_alone).result()


def test_handlers_are_restored_and_those_of_others_are_left_alone():
    before = signal.getsignal(signal.SIGTERM)
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with ends_in_order(), ends_in_order():
            assert callable(signal.getsignal(signal.SIGTERM))
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        with pytest.raises(Ended) as ended, ends_in_order():
            signal.raise_signal(signal.SIGTERM)
        assert ended.value.code == 143 and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        with ends_in_order():
            # Whoever sets one in the block keeps it.
            signal.signal(signal.SIGTERM, print)
        for own in (print, signal.SIG_IGN):
            signal.signal(signal.SIGTERM, own)
            with ends_in_order():
                assert signal.getsignal(signal.SIGTERM) is own
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

        def elsewhere() -> object:
            with ends_in_order():
                return signal.getsignal(signal.SIGTERM)

        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            assert executor.submit(elsewhere).result() is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_worker_at_an_object_store_takes_its_lease_away(tmp_path, monkeypatch):
    pytest.importorskip("fsspec")
    mirrors._let_all_go()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    question, place = long_question(8000), f"file://{tmp_path}/bucket"
    job = zf.submit(question, executor=None, store=place, shares=1)
    worker, mirror = start_worker(place), pathlib.Path(job._store._root())
    worker_of(mirror, 1)
    time.sleep(0.2)
    worker.send_signal(signal.SIGTERM)
    assert (*worker.communicate(timeout=60), worker.returncode) == ("", "", 143)
    leases = [mirror / "leases", tmp_path / "bucket" / mirror.name.removeprefix(mirrors.PREFIX) / "leases"]
    assert [list(folder.iterdir()) for folder in leases] == [[], []] and list((mirror / "running").iterdir())
    assert zf.work(place)["done"] == [1]
    same(job.result(), question.run())
    mirrors._let_all_go()
