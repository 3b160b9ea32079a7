"""Mirrors of stores in object stores: few, locked by whoever uses them, and removed by the last one."""

from __future__ import annotations

import os
import subprocess
import sys

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
