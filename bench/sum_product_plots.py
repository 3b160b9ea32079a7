"""Plots of `zipfold bench sum-product --json`: the paper's figures 5 to 10 for the device of a record.

usage: python sum_product_plots.py ROWS.jsonl OUT.svg [--run NAME]      needs matplotlib
ROWS.jsonl is what the command writes, a JSON object a line. Where its rows name a run, --run takes the rows of one of them (by
default all): sections that a run does not have are left out of the picture.
"""
import argparse
import json


def read(path, run):
    with open(path) as lines:
        rows = [json.loads(line) for line in lines]
    return [row for row in rows if run is None or row.get("run") in run]


def of_section(rows, section, **fields):
    picked = [row for row in rows if row.get("section") == section]
    return [row for row in picked if all(row.get(key) == value for key, value in fields.items())]


#: Lines of figures 5 and 6: seconds by name of a row.
LINES = (("one_core", "one core"), ("all_cores", "all cores"), ("paged", "paper's kernel"), ("joins", "joins"))


def speeds(axes, rows, entries):
    """Figures 5 and 6: operations a second by the operations of a bucket, with the roofline."""
    rows = sorted(of_section(rows, "buckets", type="f32", entries=entries), key=lambda row: row["operations"])
    for name, label in LINES:
        shown = [row for row in rows if name in row]
        if not shown:
            continue
        axes.loglog([row["operations"] for row in shown], [row["operations"] / row[name] for row in shown], ".", label=label)
    axes.loglog([row["operations"] for row in rows], [row["operations"] / row["roofline"] for row in rows], "_", color="gray", label="roofline")
    axes.set(title=f"Random buckets, {entries} (figure {5 if entries == 'values' else 6})", xlabel="operations", ylabel="operations / s")


def ratios(axes, rows, key, title, label):
    """Figures 7 and 8: measured against predicted seconds of variants, by what varies."""
    rows = [row for row in rows if key in row]
    for value in sorted({row[key] for row in rows}, key=lambda value: (isinstance(value, str), value)):
        shown = [row for row in rows if row[key] == value]
        axes.loglog([row["predicted"] for row in shown], [row["measured"] for row in shown], ".", label=label(value))
    ends = [min(row["predicted"] for row in rows), max(row["measured"] for row in rows)]
    axes.loglog(ends, ends, color="gray", linewidth=0.8)
    axes.set(title=title, xlabel="predicted s", ylabel="measured s")


def gains(axes, rows):
    """Figure 9: what the software-managed cache gains over the hardware's caches alone."""
    for kind in ("f32", "f64"):
        shown = [row for row in rows if row["type"] == kind]
        axes.semilogx([row["operations"] for row in shown], [row["gain"] for row in shown], ".", label=kind)
    axes.axhline(1, color="gray", linewidth=0.8)
    axes.set(title="Segments / hardware caches only (figure 9)", xlabel="operations", ylabel="times as fast")


#: Parts of figure 10 with their labels.
PARTS = (("planning", "planning"), ("compiling", "loading the kernel"), ("upload", "upload"), ("download", "download"))


def overheads(axes, rows):
    """Figure 10: what a call does besides its kernel, in times of the kernel."""
    rows = sorted((row for row in rows if row["type"] == "f32"), key=lambda row: row["operations"])
    for at, (name, label) in enumerate(PARTS):
        places = [number + at * 0.2 for number in range(len(rows))]
        axes.bar(places, [row[name] / row["kernel"] for row in rows], width=0.2, label=label)
    axes.set_xticks([number + 0.3 for number in range(len(rows))], [f"{row['operations']:.1e}" for row in rows])
    axes.set_yscale("log")
    axes.margins(y=0.3)
    axes.set(title="Overheads (figure 10)", xlabel="operations", ylabel="times of the kernel")


def drawings(rows):
    """What there is to draw: a function of axes for each section that the rows have."""
    cache, unrolling = of_section(rows, "cache", type="f32"), of_section(rows, "unrolling", type="f32")
    hardware, parts = of_section(rows, "hardware"), of_section(rows, "overheads")
    out = []
    for entries in ("values", "logs"):
        if of_section(rows, "buckets", type="f32", entries=entries):
            out.append(lambda axes, entries=entries: speeds(axes, rows, entries))
    if cache:
        out.append(lambda axes: ratios(axes, cache, "cache_bytes", "Bytes of the cache (figure 7)", lambda size: f"{size / 1024:.3g} KiB"))
        out.append(lambda axes: ratios(axes, cache, "pages_per_block", "Pages of a thread block (figure 7)", lambda pages: f"{pages:g}"))
    if unrolling:
        out.append(lambda axes: ratios(axes, unrolling, "unroll", "Unrolling (figure 8)", str))
    if hardware:
        out.append(lambda axes: gains(axes, hardware))
    if parts:
        out.append(lambda axes: overheads(axes, parts))
    return out


def main():
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("rows")
    reader.add_argument("out")
    reader.add_argument("--run", action="append")
    asked = reader.parse_args()
    rows = read(asked.rows, asked.run)
    drawn = drawings(rows)
    if not drawn:
        raise SystemExit(f"{asked.rows}: expected rows of `zipfold bench sum-product --json`, got none with a section that is drawn")
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams.update({"svg.hashsalt": "zipfold", "font.size": 8})
    figure, grid = pyplot.subplots(-(-len(drawn) // 2), 2, figsize=(9, 3.2 * -(-len(drawn) // 2)), layout="constrained", squeeze=False)
    for axes, draw in zip(grid.flat, drawn, strict=False):
        draw(axes)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    for axes in list(grid.flat)[len(drawn):]:
        axes.remove()
    figure.savefig(asked.out, metadata={"Date": None})


if __name__ == "__main__":
    main()
