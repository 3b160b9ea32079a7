"""What every function of catalogues, tables and places takes for a column: no masks, no rounded numbers, any byte order, what is used alone."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import zipfold as zf

N = 12
RANDOM = np.random.default_rng(3)
X, Y, Z = np.round(RANDOM.random((3, N)) * 64) / 64
LABELS = np.array(list("abc") * (N // 3))
BOX = [0.0, 1, 0, 1]
Change = Callable[[np.ndarray], Any]


def _same(column: np.ndarray) -> np.ndarray:
    return column


#: Calls with a column that ``change`` has been at; what they give compares.
COLUMNS: dict[str, Callable[[Change], Any]] = {
    "variogram": lambda change: zf.variogram({"x": X, "y": change(Y), "v": Z}, "v", lags=3, max=1),
    "variogram values": lambda change: zf.variogram(np.column_stack([X, Y]), change(Z), lags=3, max=1),
    "variogram table and values": lambda change: zf.variogram({"x": change(X), "y": Y}, Z, lags=3, max=1),
    "correlogram": lambda change: zf.correlogram(change(X), LABELS, max=0.5, bins=5),
    "correlogram table": lambda change: zf.correlogram({"time": change(X), "unit": LABELS}, max=0.5, bins=5),
    "correlogram units": lambda change: zf.correlogram(X, change(np.repeat([1.0, 2], N // 2)), max=0.5, bins=5),
    "paircount": lambda change: zf.paircount({"x": X, "y": change(Y), "z": Z}, [0.1, 0.5, 1]),
    "paircount weights": lambda change: zf.paircount({"x": X, "y": Y, "z": Z, "w": change(X)}, [0.1, 1], weights="w"),
    "crossmatch": lambda change: zf.crossmatch({"x": X, "y": change(Y)}, {"x": Y, "y": X}, 0.5),
    "crossmatch table": lambda change: zf.crossmatch({"x": X, "y": change(Y)}, {"x": Y, "y": X}, 0.5, table=True),
    "ripley": lambda change: zf.ripley({"x": X, "y": change(Y)}, window=BOX, max=0.2, bins=4),
    "ripley by": lambda change: zf.ripley({"x": X, "y": Y, "k": change(np.repeat([1.0, 2], N // 2))}, by="k", window=BOX, max=0.2),
    "ripley labels": lambda change: zf.ripley(np.column_stack([X, Y]), by=change(np.repeat([1.0, 2], N // 2)), window=BOX, max=0.2),
    "ripley table and labels": lambda change: zf.ripley({"x": change(X), "y": Y}, by=LABELS, window=BOX, max=0.2),
    "cooccurrence": lambda change: zf.cooccurrence({"x": change(X), "y": Y}, LABELS, max=0.5, bins=3),
    "cooccurrence labels": lambda change: zf.cooccurrence({"x": X, "y": Y}, change(np.repeat([1.0, 2], N // 2)), max=0.5, bins=3),
    "silhouette": lambda change: zf.silhouette({"a": change(X), "b": Y, "l": LABELS}, "l"),
    "silhouette labels": lambda change: zf.silhouette(np.column_stack([X, Y]), change(np.repeat([1.0, 2], N // 2))),
    "join": lambda change: zf.join({"a": change(X)}, {"a": Y}, "abs(x.a - y.a) < 0.1"),
    "join on": lambda change: zf.join({"a": change(X)}, {"a": X}, on="a"),
    "join nearest": lambda change: zf.join({"a": change(X)}, {"a": Y}, nearest=1, columns=["a"]),
}  # fmt: skip
every_column = pytest.mark.parametrize("call", COLUMNS.values(), ids=COLUMNS)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, zf.Matches):
        return all(np.array_equal(getattr(a, one), getattr(b, one)) for one in ("i", "j", "values"))
    return a.equals(b) if hasattr(a, "equals") else a == b


@every_column
def test_masked_values_are_refused(call: Any) -> None:
    with pytest.raises(zf.InputError, match="expected numbers or labels, got masked values"):
        call(lambda column: np.ma.array(column, mask=np.arange(N) == 1))


def test_masked_rows_in_a_list_are_refused() -> None:
    with pytest.raises(zf.InputError, match="masked values"):
        zf.cdist([np.ma.array([1.0, 2], mask=[0, 1])], [[1.0, 2]])


@every_column
@pytest.mark.parametrize("type_", [">f8", ">f4", "longdouble"])
def test_other_byte_orders_and_longdouble_are_converted(call: Any, type_: str) -> None:
    plain = np.float32 if type_ == ">f4" else np.float64
    assert same(call(lambda column: column.astype(type_)), call(lambda column: column.astype(plain)))


@every_column
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda column: np.tile(column[:, None], 2), "expected one|shape"),
        (lambda column: [[1.0], [1.0, 2.0]] * (N // 2), "same length|expected one"),
        (lambda column: column + 1j, "complex"),
        (lambda column: 5.0, "expected one|shape"),
    ],
    ids=["2-D", "ragged", "complex", "scalar"],
)
def test_what_is_no_column_is_an_error_of_the_package(call: Any, change: Change, told: str, request: Any) -> None:
    if request.node.callspec.id == "2-D-variogram values":
        pytest.skip("two columns of values have a cross-variogram")
    with pytest.raises(zf.ZipfoldError, match=told):
        call(change)


@every_column
def test_whole_numbers_that_float64_rounds_are_refused(call: Any) -> None:
    for big in (lambda column: np.arange(N) * 100 + 2**60, lambda column: [2**60, 0.5] * (N // 2)):
        with pytest.raises(zf.ZipfoldError, match=r"the integer 1152921504606\d+ .*2\^53|ArrowInvalid|expected numbers, times"):
            call(big)


@pytest.mark.parametrize(
    "rows",
    [
        pd.DataFrame({"a": [2**60, 2**60 + 100], "b": [0.0, 0.0]}),
        pd.DataFrame({"a": [2**60, 2**60 + 100], "b": [0, 1]}).convert_dtypes(),
        pd.DataFrame({"a": pd.array([2**60, None], "Int64"), "b": [0, 1]}),
        [[2**60, 0.5], [2**60 + 100, 0.5]],
    ],
)
def test_rows_of_mixed_types_are_not_rounded_before_the_check(rows: Any) -> None:
    for call in (lambda: zf.knn(rows, k=1), lambda: zf.pdist(rows), lambda: zf.network(rows), lambda: zf.corr(rows)):
        with pytest.raises(zf.InputError, match="the integer 1152921504606846976 "):
            call()


@pytest.mark.parametrize("make", [lambda v: pd.Series(v, dtype="Int64"), pl.Series, lambda v: pa.chunked_array([v])], ids=["pandas", "polars", "arrow"])
def test_columns_with_nulls_are_not_rounded_before_the_check(make: Any) -> None:
    column = make([2**60 + 1, None])
    for call in (
        lambda: zf.pairs([[0.0], [1.0]], attributes={"id": column}).pair("x.id").sum().run(),
        lambda: zf.pairs([[0.0], [1.0]]).sum(weights=column).run(),
        lambda: zf.correlogram(column),
        lambda: zf.join({"a": column}, {"a": column}, on="a"),
    ):
        with pytest.raises(zf.ZipfoldError, match="the integer 1152921504606846977 "):
            call()


def test_bits_are_not_rounded_before_the_check() -> None:
    bits = {"x": [0.0, 1], "y": [0.0, 0], "z": [0.0, 0], "b": [2**60 - 1, 3]}
    with pytest.raises(zf.ZipfoldError, match="the integer 1152921504606846975 "):
        zf.paircount(bits, [0, 5], pip={"columns": ["b"], "realisations": 60})


def test_na_of_pandas_is_nan_in_a_matrix() -> None:
    plain = pd.DataFrame({"a": [1, 2, 3, 5], "b": [1, None, 3, 4]})
    nullable = plain.convert_dtypes()
    assert np.array_equal(zf.network(nullable, transpose=True).values, zf.network(plain, transpose=True).values)
    pd.testing.assert_frame_equal(zf.corr(nullable), zf.corr(plain))
    np.testing.assert_array_equal(zf.pdist(nullable), zf.pdist(plain))
    with pytest.raises(zf.InputError, match="NaN"):
        zf.knn(nullable, k=1)


UNUSED = {
    "text": ["a"] * N, "date": [datetime.date(2026, 1, 1)] * N, "source_id": [2**60 + k for k in range(N)], "list": [[1.0, 2.0]] * N,
}  # fmt: skip
TABLES = {
    "pandas": lambda columns: pd.DataFrame(columns).assign(nullable=pd.array([1, None] * (N // 2), "Int64")),
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "dict": lambda columns: {name: column for name, column in columns.items() if name != "list"},
}
USED: dict[str, Callable[[Any], Any]] = {
    "paircount": lambda t: zf.paircount(t, [0.1, 1]),
    "paircount columns": lambda t: zf.paircount(t, [0.1, 1], columns=["z", "x"], weights="y", cut=("abs(x.q - y.q)", 0, 0.5)),
    "crossmatch": lambda t: zf.crossmatch(t, t, 0.1),
    "crossmatch columns": lambda t: zf.crossmatch(t, t, 0.1, columns=["x", "q"]),
    "ripley": lambda t: zf.ripley(t, max=0.1, bins=2, correction="none"),
    "ripley labels": lambda t: zf.ripley(t, columns=["x", "y"], by=LABELS, max=0.1, bins=2),
    "cooccurrence": lambda t: zf.cooccurrence(t, "l", max=0.5),
    "variogram": lambda t: zf.variogram(t, "q", lags=3, max=1),
    "variogram values": lambda t: zf.variogram(t, Z, lags=3, max=1),
    "correlogram": lambda t: zf.correlogram(t, "l", time="x", max=0.2),
    "silhouette": lambda t: zf.silhouette(t, "l", columns=["x", "y"]),
    "network": lambda t: zf.network(t, transpose=True, columns=["q", "x", "y"]),
    "join": lambda t: zf.join(t, t, "x.x < y.q", rows=True),
    "join on": lambda t: zf.join(t, t, on="l", rows=True),
}  # fmt: skip


@pytest.mark.parametrize("call", USED.values(), ids=USED)
@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_columns_that_nobody_asked_for_may_be_of_any_kind(make: Any, call: Any) -> None:
    used = {"x": X, "y": Y, "z": Z, "q": Z, "l": LABELS}
    if not isinstance(make(used), pd.DataFrame):
        used |= {"X2": X}
    assert same(call(make(used | UNUSED)), call(make(used)))


def test_columns_may_be_called_by_numbers() -> None:
    frame, named = pd.DataFrame({0: X, 1: Y, 2: Z}), pd.DataFrame({"x": X, "y": Y, "2": Z})
    how: dict[str, Any] = {"window": BOX, "max": 0.2}
    assert zf.variogram(frame, Z, columns=[0, 1], lags=3, max=1).counts.tolist() == zf.variogram(named, Z, lags=3, max=1).counts.tolist()
    assert zf.variogram(frame, 2, columns=[0, 1], lags=3, max=1).values.tolist() == zf.variogram(named, Z, lags=3, max=1).values.tolist()
    for by in (LABELS, 2):
        assert zf.ripley(frame, columns=[0, 1], by=by, **how) == zf.ripley(named, by=by, **how)
    assert zf.silhouette(frame, LABELS, columns=[0, 1]) == zf.silhouette(named, LABELS, columns=["x", "y"])
    assert zf.paircount(frame, [0.1, 1], columns=[0, 1, 2]).terms == zf.paircount(frame.to_numpy(), [0.1, 1]).terms
    assert zf.network(frame, transpose=True, columns=[2, 0], threshold=0).names == ["2", "0"]
    found = zf.join(frame, frame, on="0", select="*")
    assert [str(name) for name in found.columns] == ["x.0", "x.1", "x.2", "y.0", "y.1", "y.2"]
    assert found["y.2"].tolist() == zf.join(named, named, on="x", select="y.2 as c")["c"].tolist()


def test_labels_of_truth_have_the_same_names_in_a_table_and_in_an_array() -> None:
    truths = X > 0.5
    for make in (pd.DataFrame, pl.DataFrame, pa.table, dict):
        table = make({"x": X, "y": Y, "f": truths})
        for call in (
            lambda data, by: zf.ripley(data, by=by, columns=["x", "y"], window=BOX, max=0.2).kinds,
            lambda data, by: zf.cooccurrence(data, by, columns=["x", "y"], max=0.2).kinds,
            lambda data, by: zf.silhouette(data, by, columns=["x", "y"]).groups,
            lambda data, by: (
                zf.correlogram(data, by, time="x") if isinstance(by, str) else zf.correlogram(data["x"], by)
            ).units,
        ):
            assert call(table, "f") == call(table, truths) == ["False", "True"]


@pytest.mark.parametrize("call", [zf.paircount, zf.ripley, zf.crossmatch], ids=["paircount", "ripley", "crossmatch"])
def test_a_mapping_without_columns_is_refused(call: Any) -> None:
    with pytest.raises(zf.InputError, match="a table without columns"):
        call({}, {}) if call is zf.crossmatch else call({})


def test_columns_of_unlike_lengths_are_refused() -> None:
    with pytest.raises(zf.InputError, match="expected columns of one length, got 12 rows in 'x' and 11 in 'y'"):
        zf.ripley({"x": X, "y": Y[1:]})
