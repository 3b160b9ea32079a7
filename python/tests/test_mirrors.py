"""Mirrors of stores in object stores: few, locked by whoever uses them, and removed by the last one."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from test_object_stores import machine as machine

import zipfold as zf
from zipfold import mirrors

pytest.importorskip("fsspec")


def test_mirrors_are_few_and_those_that_were_left_go(rng, machine):
    left = machine / "zipfold-mirror-left"
    left.mkdir()
    (left / ".lock").touch()
    os.utime(left / ".lock", (1, 1))
    for at in range(6):
        zf.submit(zf.pairs([[0.0], [1.0]]).sum(), executor=None, store=f"memory://few/{at}", shares=1)
    assert len(list(machine.glob("zipfold-mirror-*"))) == 4 and not left.exists()
    for at in range(6):
        assert zf.work(f"memory://few/{at}")["done"] == [1]
    # Nobody removes what another one uses.
    with mirrors.held(str(machine / "zipfold-mirror-used")):
        (machine / "zipfold-mirror-used" / "a").touch()
        script = f"from zipfold import mirrors\nwith mirrors.held({str(machine / 'zipfold-mirror-used')!r}):\n    pass"
        subprocess.run([sys.executable, "-c", script], check=True)
        assert (machine / "zipfold-mirror-used" / "a").exists()
    mirrors._let_all_go()
    assert list(machine.glob("zipfold-mirror-*")) == []


#: A process that forks while it fills a mirror. It has filled it, or ends; the fork lives until its input ends.
FORKS = """
import os, sys
from zipfold import mirrors

root, how = sys.argv[1:]
with mirrors.held(root):
    with mirrors.filling(root):
        if os.fork() == 0:
            sys.stdin.read()
            os._exit(0)
        if how == "ends":
            print(how, flush=True)
            os._exit(0)
    print(how, flush=True)
    sys.stdin.read()
mirrors._let_all_go()
os._exit(0)
"""


@pytest.mark.parametrize("how", ["has filled it", "ends"])
def test_a_fork_keeps_no_mirror_and_no_filling(machine, how):
    root = machine / "zipfold-mirror-a"
    process = subprocess.Popen(
        [sys.executable, "-c", FORKS, str(root), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == f"{how}\n"
        # The fork lives. Another process fills the mirror, and removes it if it is the last one.
        script = f"from zipfold import mirrors\nwith mirrors.held({str(root)!r}), mirrors.filling({str(root)!r}):\n    pass"
        subprocess.run([sys.executable, "-c", script], check=True, timeout=20)
        assert root.exists() == (how == "has filled it")
    finally:
        process.communicate()
    assert not root.exists()


def test_a_fork_that_goes_on_leaves_the_mirror_of_its_parent_alone(machine):
    root = machine / "zipfold-mirror-a"
    script = f"""
import os
from zipfold import mirrors

with mirrors.held({str(root)!r}), mirrors.filling({str(root)!r}):
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        assert os.path.exists({str(root)!r})
mirrors._let_all_go()
assert os.path.exists({str(root)!r}) == (child == 0)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=30)
    assert not root.exists()


def test_a_mirror_of_somebody_else_is_refused(machine):
    (machine / "zipfold-mirror-a").symlink_to(machine)
    with pytest.raises(zf.RequestError, match="expected a folder of this user"):
        with mirrors.held(str(machine / "zipfold-mirror-a")):
            pass
    (machine / "file").touch()
    with pytest.raises(zf.ResourceError, match="TMPDIR"):
        with mirrors.held(str(machine / "file" / "zipfold-mirror-a")):
            pass


def written(x: np.ndarray, kind: str, folder: pathlib.Path) -> pathlib.Path:
    """The rows as an NPY file, as a Parquet file of six row groups, or as a Zarr array of six chunks."""
    path = folder / f"x.{kind}"
    if kind == "npy":
        np.save(path, x)
    elif kind == "parquet":
        table = pytest.importorskip("pyarrow").table({f"c{at}": column for at, column in enumerate(x.T)})
        pytest.importorskip("pyarrow.parquet").write_table(table, path, row_group_size=len(x) // 6, compression="none", use_dictionary=False)
    else:
        path.mkdir()
        about = {"zarr_format": 2, "shape": x.shape, "chunks": (len(x) // 6, x.shape[1]), "dtype": "<f8", "compressor": None}
        (path / ".zarray").write_text(json.dumps({**about, "fill_value": 0, "order": "C", "filters": None}))
        for at, chunk in enumerate(np.split(x, 6)):
            (path / f"{at}.0").write_bytes(chunk.tobytes())
    return path


@pytest.mark.parametrize("kind", ["npy", "parquet", "zarr"])
def test_a_mirror_has_the_rows_of_its_shares_alone(rng, machine, tmp_path, kind):
    x, y = rng.random((60_000, 8)), rng.random((50, 8))
    np.save(tmp_path / "y.npy", y)
    path = written(x, kind, tmp_path)
    problem = {"schema": 1, "x": {"name": str(path)}, "y": {"name": str(tmp_path / "y.npy")}, "pair": {"metric": "cityblock"}}
    (tmp_path / "p.json").write_text(json.dumps({**problem, "folds": [{"kind": "reduce", "op": "sum"}]}))
    store = f"file://{tmp_path}/bucket"
    job = zf.submit(tmp_path / "p.json", executor=None, store=store, shares=6, threads=1)
    # Workers of another machine have a mirror of their own.
    mirrors._let_all_go()

    def taken() -> int:
        [mirror] = machine.glob("zipfold-mirror-*")
        files = [one for one in mirror.glob(f"inputs/*/*/x.{kind}*/**/*" if kind == "zarr" else f"inputs/*/*/x.{kind}") if one.is_file()]
        assert sum(one.stat().st_size for one in files) >= x.nbytes
        return sum(one.stat().st_blocks * 512 for one in files)

    assert zf.work(store, 2)["done"] == [2]
    # A share has rows of two groups or chunks.
    assert x.nbytes / 8 < taken() < x.nbytes / 2
    assert zf.work(store, 5)["done"] == [5]
    assert x.nbytes / 4 < taken() < x.nbytes / 1.2
    assert sorted(zf.work(store)["done"]) == [1, 3, 4, 6]
    wanted = zf.pairs(x, y).pair("cityblock").sum().run()
    assert np.array_equal(job.result(), wanted)
    # Who merges reads all rows, and what was cut is whole then.
    assert taken() >= x.nbytes and not json.loads(next(machine.glob("zipfold-mirror-*/.pieces")).read_text())


def test_rows_that_are_others_than_planned_fail_their_share(rng, machine, tmp_path):
    x = rng.random((6_000, 8))
    np.save(tmp_path / "y.npy", x[:50])
    path = written(x, "npy", tmp_path)
    problem = {"schema": 1, "x": {"name": str(path)}, "y": {"name": str(tmp_path / "y.npy")}, "pair": {"metric": "cityblock"}}
    (tmp_path / "p.json").write_text(json.dumps({**problem, "folds": [{"kind": "reduce", "op": "sum"}]}))
    store = f"file://{tmp_path}/bucket"
    zf.submit(tmp_path / "p.json", executor=None, store=store, shares=6, threads=1)
    mirrors._let_all_go()
    [copy] = (tmp_path / "bucket").glob("*/inputs/*/*/x.npy")
    data = bytearray(copy.read_bytes())
    data[-1] ^= 1
    copy.write_bytes(data)
    assert zf.work(store, 1)["done"] == [1]
    [[share, error]] = zf.work(store, 6, retries=1)["failed"]
    assert share == 6 and "are not those that the store was planned with" in error
