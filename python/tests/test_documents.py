"""The snippets of the pages and of the docstrings run, and the stubs name what there is."""

import ast
import doctest
import importlib
import inspect
import os
import pathlib
import pkgutil
import re
import subprocess
import sys

import pytest

import zipfold as zf
from zipfold import _zipfold

ROOT = pathlib.Path(__file__).parents[1]
PAGES = [*(ROOT.parent / page for page in ("README.md", "docs/correlogram.md", "docs/domains.md", "docs/join.md", "docs/ripley.md", "docs/stages.md", "docs/variogram.md")), ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_the_snippets_of_a_page_run_in_order(page, capsys):
    snippets = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    assert snippets
    names: dict = {}
    for snippet in snippets:
        exec(compile(snippet, str(page), "exec"), names)


MODULES = [m.name for m in pkgutil.iter_modules(zf.__path__) if m.name not in ("_zipfold", "compare")]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_the_docstrings_run(module):
    found = doctest.testmod(importlib.import_module(f"zipfold.{module}"))
    assert found.failed == 0


def test_every_public_name_is_described():
    for name in zf.__all__:
        assert getattr(zf, name).__doc__ or name == "__version__", name


@pytest.mark.parametrize("name", [name for name in zf.__all__ if inspect.isfunction(getattr(zf, name))])
def test_every_public_function_says_shapes_units_and_errors(name):
    function = getattr(zf, name)
    text, parameters = function.__doc__, inspect.signature(function).parameters
    sections = ["Parameters", "Returns", "Raises"] if parameters else []
    missing = [s for s in sections if f"\n    {s}\n    {'-' * len(s)}\n" not in text]
    unnamed = [p for p in parameters if not re.search(rf"\b{p}\b", text)]
    assert (missing, unnamed) == ([], []) and ">>>" in text


def test_the_stubs_name_what_there_is():
    stub = ast.parse((ROOT / "zipfold" / "_zipfold.pyi").read_text())
    declared = {node.name: [a.arg for a in node.args.args] for node in stub.body if isinstance(node, ast.FunctionDef)}
    compiled = {name for name in dir(_zipfold) if callable(getattr(_zipfold, name)) and not name.startswith("_")}
    assert set(declared) == compiled
    for name, arguments in declared.items():
        signature = getattr(_zipfold, name).__text_signature__
        assert re.findall(r"\w+", signature.replace("=None", "")) == arguments, name


@pytest.mark.parametrize("words", [["mypy"], ["mypy.stubtest", "zipfold._zipfold"]], ids=["types", "stubs"])
def test_types_hold_and_stubs_are_those_of_what_is_compiled(words, tmp_path):
    pytest.importorskip("mypy")
    environment = os.environ | {"MYPY_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    # The compiled half has an attribute __all__ of its own, which nobody reads.
    allowed = ["--allowlist", str(ROOT / "tests" / "stubtest.txt")] if len(words) > 1 else []
    command = [sys.executable, "-m", *words, *allowed]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "zipfold" / "py.typed").exists()


def test_the_comparison_prints_a_table_and_answers_agree(capsys):
    from zipfold.compare import main

    main(["--scale", "0.05", "--seconds", "0"])
    out = capsys.readouterr().out
    assert "| SciPy |" in out
    assert out.count("\n| ") >= 9
    # Every engine has a column, or is named as one that is not installed.
    head, missing = re.search(r"^\| task \|.*$", out, re.MULTILINE)[0], re.search(r"Not installed: .*", out)[0]
    for engine in ["SciPy", "scikit-learn", "FAISS", "KeOps", "pyAgrum"]:
        assert (engine in head) != (engine in missing), engine
    assert "other answer" not in out
