"""Joins of tables by name, matches of catalogues and silhouettes, next to pandas, SciPy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import zipfold as zf


def _events(n: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    station = random.choice(["ham", "ber", "muc", None], n)
    time = np.round(random.uniform(0, 100, n), 1)
    when = pd.Timestamp("2026-01-01") + pd.to_timedelta(time, "s")
    return pd.DataFrame({"id": np.arange(n), "station": station, "time": time, "when": when})


A, B = _events(300, 1), _events(400, 2)


def test_keys_are_those_of_a_merge():
    found = zf.join(A, B, on="station", select="x.id, y.id as other")
    merged = A.dropna(subset="station").merge(B.dropna(subset="station"), on="station")
    merged = merged.sort_values(["id_x", "id_y"])
    assert found["id"].tolist() == merged["id_x"].tolist()
    assert found["other"].tolist() == merged["id_y"].tolist()


def test_a_left_join_keeps_rows_without_a_match_and_the_types_of_columns():
    found = zf.join(A, B, "abs(x.time - y.time) < 0.3", on="station", kind="left")
    inner = zf.join(A, B, "abs(x.time - y.time) < 0.3", on="station")
    assert set(found["id_x"]) == set(A["id"])
    assert found.dropna(subset="id_y")["id_y"].astype(int).tolist() == inner["id_y"].tolist()
    assert found["when_x"].dtype == A["when"].dtype


def test_the_nearest_before_is_that_of_merge_asof():
    found = zf.join(
        A, B, "y.time <= x.time", on="station", nearest=1, value="x.time - y.time", kind="left", select="x.id, y.time as before"
    )
    there = A.dropna(subset="station").sort_values("time")
    asof = pd.merge_asof(there, B.dropna(subset="station").sort_values("time").rename(columns={"time": "before"}),
                         left_on="time", right_on="before", by="station", suffixes=("", "_b"))
    expected = A[["id"]].merge(asof[["id", "before"]], on="id", how="left")
    np.testing.assert_array_equal(found["before"], expected["before"])


def test_other_libraries_and_formulas():
    import polars as pl
    import pyarrow as pa

    how = {"on": "station", "nearest": 2, "value": "abs(x.time - y.time)", "ties": "all", "kind": "left"}
    how["select"] = "x.id, y.id as other, value, x.time - y.time as gap"
    frame = zf.join(A, B, **how)
    arrow = zf.join(pa.table(A), pa.table(B), **how).to_pandas()
    polars = zf.join(pl.from_pandas(A), pl.from_pandas(B), **how).to_pandas()
    for other in (arrow, polars):
        np.testing.assert_array_equal(frame.to_numpy(dtype=float), other.to_numpy(dtype=float))
    gap = frame["gap"].abs()
    np.testing.assert_array_equal(gap, frame["value"])


def test_files_are_joined_into_a_file(tmp_path):
    A.to_parquet(tmp_path / "a.parquet"), B.to_csv(tmp_path / "b.csv", index=False)
    out = tmp_path / "o.parquet"
    rows = zf.join(tmp_path / "a.parquet", tmp_path / "b.csv", on="station", select="x.id,y.id as other", save=out)
    found = pd.read_parquet(out)
    assert len(found) == rows
    cells = zf.join(tmp_path / "a.parquet", tmp_path / "b.csv", on="station", select="x.id,y.id as other")
    assert found["other"].tolist() == cells["other"].tolist()
    assert "keys" in zf.join(A, B, "x.time < y.time", on="station", explain=True)


def test_files_without_a_format_of_rows_are_refused_before_any_work(tmp_path):
    for suffix in ("html", "svg"):
        path = tmp_path / f"m.{suffix}"
        # Neither file is there: reading them would be another error.
        for call in (lambda p: zf.join("no.csv", "no.csv", on="a", save=p), lambda p: zf.crossmatch("no.csv", "no.csv", save=p)):
            with pytest.raises(ValueError, match=f"names a format, got '.{suffix}'"):
                call(path)
    (tmp_path / "m.csv").write_text("mine")
    with pytest.raises(ValueError, match="overwrite=True"):
        zf.join("no.csv", "no.csv", on="a", save=tmp_path / "m.csv")


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"on": "statoin"}, "'station'"),
        ({"on": "time=station"}, "expected text or numbers on both sides"),
        ({"on": "station", "select": "x.id as a, y.id as a"}, "two columns of the output are called 'a'"),
        ({"ties": "all", "on": "station"}, "expected nearest rows"),
        ({"nearest": 0}, "expected at least 1 row"),
        ({"nearest": 1, "metric": "euclidian"}, "expected the name of a metric"),
    ],
)
def test_what_means_nothing_is_refused(how, says):
    with pytest.raises(ValueError, match=says):
        zf.join(A, B, **how)


def _sky(n: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame({"ra": random.uniform(0, 2, n) % 360, "dec": random.uniform(-1, 1, n)})


def _vectors(sky: pd.DataFrame) -> np.ndarray:
    ra, dec = np.radians(sky["ra"]), np.radians(sky["dec"])
    return np.column_stack([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)])


def test_matches_are_those_of_a_tree_of_unit_vectors():
    from scipy.spatial import cKDTree

    a, b = _sky(3000, 3), _sky(4000, 4)
    radius = 60.0
    chord = 2 * np.sin(np.radians(radius / 3600) / 2)
    tree = cKDTree(_vectors(b))
    lists = tree.query_ball_point(_vectors(a), chord)
    expected = [(i, j) for i, found in enumerate(lists) for j in sorted(found)]
    found = zf.crossmatch(a, b, radius=radius, find="all")
    assert list(zip(found.i.tolist(), found.j.tolist(), strict=True)) == expected
    far, nearest = tree.query(_vectors(a))
    found = zf.crossmatch(a, b, kind="left")
    np.testing.assert_array_equal(found.j, nearest)
    np.testing.assert_allclose(found.values, np.degrees(2 * np.arcsin(far / 2)) * 3600, rtol=1e-9)
    _, back = cKDTree(_vectors(a)).query(_vectors(b))
    mutual = zf.crossmatch(a, b, find="mutual")
    assert mutual.i.tolist() == [i for i in range(len(a)) if back[nearest[i]] == i]
    frame = zf.crossmatch(a, b, radius=radius, select="x.ra, y.ra as other, separation")
    assert list(frame.columns) == ["ra", "other", "separation"] and frame["separation"].max() <= radius


def test_angles_out_of_range_are_refused():
    with pytest.raises(ValueError, match="declinations from -90 to 90"):
        zf.crossmatch({"ra": [1.0], "dec": [100.0]}, {"ra": [1.0], "dec": [0.0]}, radius=1)
    with pytest.raises(ValueError, match="expected columns called ra and dec"):
        zf.crossmatch({"a": [1.0]}, {"a": [1.0]})


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine"])
def test_silhouettes_are_those_of_scikit_learn(metric):
    from sklearn.metrics import silhouette_samples, silhouette_score

    random = np.random.default_rng(5)
    labels = np.concatenate([random.integers(0, 5, 500), [7]])
    points = random.normal(size=(501, 4)) + labels[:, None]
    found = zf.silhouette(points, labels, metric=metric)
    np.testing.assert_allclose(found.values, silhouette_samples(points, labels, metric=metric), atol=1e-12)
    assert found.mean == pytest.approx(silhouette_score(points, labels, metric=metric), abs=1e-12)
    assert found.groups == ["0", "1", "2", "3", "4", "7"] and found.values[-1] == 0
    frame = pd.DataFrame(points, columns=list("abcd")).assign(kind=[f"k{label}" for label in labels])
    np.testing.assert_array_equal(zf.silhouette(frame, "kind", metric=metric).values, found.values)


def test_labels_that_divide_nothing_are_refused():
    for labels in ([1, 1, 1], [1, 2, 3]):
        with pytest.raises(ValueError, match="expected 2 to 2 labels"):
            zf.silhouette([[0.0], [1.0], [2.0]], labels)


@pytest.mark.parametrize("labels", [[0.0, 1.0, np.nan, 1.0], ["a", None, "b", "b"], ["a", "a", pd.NA, "b"]])
def test_a_row_without_a_label_is_refused(labels):
    with pytest.raises(ValueError, match="expected a label, got none in row"):
        zf.silhouette([[0.0], [1.0], [5.0], [6.0]], labels)


def test_formulas_of_a_join_without_a_match_have_no_rows():
    far = "x.time > y.time + 1000"
    found = zf.join(A, B, far, on="station", select="x.id, x.time - y.time as gap")
    assert list(found.columns) == ["id", "gap"] and len(found) == 0
    sky = {"ra": np.array([1.0]), "dec": np.array([0.0])}
    found = zf.crossmatch(sky, {"ra": np.array([9.0]), "dec": np.array([0.0])}, radius=1, select="x.ra - y.ra as gap, separation")
    assert len(found["gap"]) == 0


NESTED = "if(x.time > 50, x.id, abs(y.id - 3)) as m, x.id as left, if(y.station == 'a,b', 1, 0) as word"


def test_a_list_of_columns_is_cut_at_its_own_commas():
    found = zf.join(A, B, on="station", select=NESTED)
    pairs = zf.join(A, B, on="station", select="x.id, y.id as other, x.time")
    wanted = np.where(pairs["time"] > 50, pairs["id"], abs(pairs["other"] - 3))
    np.testing.assert_array_equal(found["m"], wanted)
    np.testing.assert_array_equal(found["left"], pairs["id"])
    assert set(found["word"]) == {0}


@pytest.mark.parametrize("kind", ["inner", "left", "any"])
@pytest.mark.parametrize("how", [{"where": "x.time > y.time + 1000"}, {"where": "x.time > y.time + 1000", "on": "station"}, {"nearest": 1, "on": "id"}],
                         ids=["where", "on", "nearest"])  # fmt: skip
def test_a_value_that_was_asked_is_a_column_without_matches_too(how, kind):
    if kind == "any" and "nearest" in how:
        pytest.skip("nearest rows have no first match")
    found = zf.join(A, B.assign(id=-1), value="x.time - y.time", kind=kind, **how)
    assert found.columns[-1] == "value" and found["value"].dtype == np.float64 and found["value"].isna().all()
    both = zf.join(A, B.assign(id=-1), value="x.time - y.time", kind=kind, rows=True, **how)
    assert both.values is not None and len(both.values) == len(both.i)


def test_a_match_without_matches_has_separations():
    found = zf.crossmatch({"x": [0.0], "y": [0.0]}, {"x": [9.0], "y": [0.0]}, 1)
    assert found.values.tolist() == []


def test_a_table_in_memory_beside_a_file_keeps_all_of_its_columns(tmp_path):
    B[["id", "time"]].to_csv(tmp_path / "b.csv", index=False)
    found = zf.join(A[["id", "station"]], tmp_path / "b.csv", on="id")
    assert found["station"] == [one if isinstance(one, str) else None for one in A["station"]]


NOTHING = {"s": [None, None], "n": [1, 2]}


@pytest.mark.parametrize("make", ["pandas", "polars", "arrow", "dict"])
@pytest.mark.parametrize("how", [{}, {"on": "n"}])
def test_nulls_without_a_type_match_nothing(make, how):
    import polars as pl
    import pyarrow as pa

    left = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table, "dict": dict}[make](NOTHING)
    right = pd.DataFrame({"k": ["a", "b"], "n": [1, 2], "t": [None, None]})
    for where, count in [
        ("x.s == y.k", 0), ("y.k != x.s", 0), ("not (x.s == y.k)", 0), ("x.s == 'a'", 0), ("x.s < y.n", 0), ("x.s == y.t", 0), ("x.s == x.s", 0),
        ("y.t == 'a' or y.k == 'a'", 1 if how else 2), (lambda x, y: x.s == y.k, 0),
    ]:  # fmt: skip
        assert len(zf.join(left, right, where, rows=True, **how).i) == count, where
    typed = pd.DataFrame({"s": [np.nan, np.nan], "n": [1, 2]})
    with pytest.raises(zf.RequestError, match="'y.k' beside a number"):
        zf.join(typed, right, "x.s == y.k", **how)


@pytest.mark.parametrize("where", ["abs(x.time - y.time) < 3", "abs(x[2] - y[2]) < 3", lambda x, y: abs(x.time - y.time) < 3, lambda x, y: abs(x[2] - y[2]) < 3])
def test_conditions_beside_keys_read_the_columns_that_the_caller_numbers(where):
    found = zf.join(A, B, where, on="station", select="x.id, y.id as other, x[2] - y[2] as gap")
    both = A.dropna().merge(B.dropna(), on="station").query("abs(time_x - time_y) < 3").sort_values(["id_x", "id_y"])
    assert (found["id"].tolist(), found["other"].tolist()) == (both["id_x"].tolist(), both["id_y"].tolist())
    np.testing.assert_array_equal(found["gap"], both["time_x"] - both["time_y"])


def test_slices_beside_keys_are_refused_by_name():
    with pytest.raises(zf.RequestError, match=r"expected columns by name beside keys.*got x\[1:3\]\n  try: x.station and x.time"):
        zf.join(A, B, "sum(x[1:3] - y[1:3]) < 1", on="id")


def test_keys_of_words_and_numbers_in_files_are_words_by_request(tmp_path):
    (tmp_path / "a.csv").write_text("station,t\nKJFK,1\n72501,2\n")
    (tmp_path / "b.csv").write_text("station,p\n72501,5\n0071,7\n")
    both = (tmp_path / "a.csv", tmp_path / "b.csv")
    with pytest.raises(zf.InputError, match=r"'72501' is a number.*\n.*ids='station'"):
        zf.join(*both, on="station")
    found = zf.join(*both, on="station", ids="station", select="x.station, x.t, y.p")
    assert found["station"] == ["72501"] and (found["t"].tolist(), found["p"].tolist()) == ([2], [5])
    with pytest.raises(zf.RequestError, match="ids: expected a file, got tables in memory"):
        zf.join(A, B, on="id", ids="id")


def test_names_come_from_suffixes_or_from_select():
    how = {"on": "station", "suffixes": ("_a", "_b")}
    assert "id_b" in zf.join(A, B, **how)
    with pytest.raises(zf.RequestError, match="suffixes: expected names of columns from select alone"):
        zf.join(A, B, select="x.id, y.id", **how)


def test_rows_with_or_without_a_match_have_no_value():
    for kind in ("semi", "anti"):
        for asked in ({"on": "station"}, {"where": "x.time < y.time"}):
            with pytest.raises(zf.RequestError, match="expected no value for rows with or without a match"):
                zf.join(A, B, kind=kind, value="x.time - y.time", **asked)


@pytest.mark.parametrize("kind", ["inner", "left", "any"])
def test_pairs_of_equal_keys_have_values_without_a_condition(kind):
    found = zf.join(A, B, on="station", kind=kind, value="x.time - 2 * y.time", select="x.time as mine, y.time as its, value")
    assert len(found) > 0
    np.testing.assert_array_equal(found["value"], found["mine"] - 2 * found["its"])


def test_nearest_rows_of_a_table_with_itself_by_key_may_come_earlier():
    frame = pd.DataFrame({"id": [1, 2, 3], "t": [0.0, 1.0, 3.0], "k": [1, 1, 1]})
    found = zf.join(frame, on="k", nearest=1, value="abs(x.t - y.t)", select="x.id, y.id as near, value")
    assert found[["id", "near", "value"]].values.tolist() == [[1, 2, 1.0], [2, 1, 1.0], [3, 2, 2.0]]


def test_codecs_of_parquet_that_are_not_built_in_are_told_by_name(tmp_path):
    A[["id", "time"]].to_parquet(tmp_path / "a.parquet", compression="brotli")
    with pytest.raises(zf.InputError, match=r"expected pages packed by .*got BROTLI(.|\n)*compression='zstd'"):
        zf.read(tmp_path / "a.parquet")
