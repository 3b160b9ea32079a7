"""Small pictures for notebooks, as SVG text: no library is loaded to show a result."""

from __future__ import annotations

import html
from collections.abc import Mapping

import numpy as np

__all__ = ["bars", "curve", "grid", "rows_of_bars"]

_WIDTH, _HEIGHT, _FOOT = 360, 120, 16
_MOST = 360


def _frame(inside: str, left: str, right: str, height: int = _HEIGHT) -> str:
    label = "font-family='sans-serif' font-size='11' fill='currentColor'"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{_WIDTH}' height='{height + _FOOT}' role='img'>{inside}"
        f"<text x='0' y='{height + 12}' {label}>{html.escape(left)}</text>"
        f"<text x='{_WIDTH}' y='{height + 12}' text-anchor='end' {label}>{html.escape(right)}</text></svg>"
    )


def bars(counts: np.ndarray, edges: np.ndarray) -> str:
    """A histogram. Bins narrower than a pixel are drawn by their largest neighbour."""
    if counts.size == 0:
        return ""
    top = float(counts.max()) or 1.0
    span = float(edges[-1] - edges[0])
    if not np.isfinite(span) or span <= 0:
        return ""
    shown = ""
    step = -(-counts.size // _MOST)
    for at in range(0, counts.size, step):
        height = float(counts[at : at + step].max()) / top * (_HEIGHT - 2)
        x = (edges[at] - edges[0]) / span * _WIDTH
        width = (edges[min(at + step, counts.size)] - edges[at]) / span * _WIDTH
        shown += f"<rect x='{x:.1f}' y='{_HEIGHT - height:.1f}' width='{width:.1f}' height='{height:.1f}'/>"
    return _frame(f"<g fill='#4477aa'>{shown}</g>", f"{edges[0]:.4g}", f"{edges[-1]:.4g}")


def curve(values: np.ndarray) -> str:
    """A line through values in their order, from the least to the largest."""
    values = values[np.isfinite(values)]
    if values.size < 2:
        return ""
    low, high = float(values.min()), float(values.max())
    picked = values[np.linspace(0, values.size - 1, min(values.size, _MOST)).astype(int)]
    scale = (_HEIGHT - 4) / ((high - low) or 1.0)
    points = " ".join(
        f"{at / (len(picked) - 1) * _WIDTH:.1f},{_HEIGHT - 2 - (v - low) * scale:.1f}" for at, v in enumerate(picked)
    )
    line = f"<polyline fill='none' stroke='#4477aa' stroke-width='1.5' points='{points}'/>"
    return _frame(line, f"{low:.4g}", f"{high:.4g}")


def grid(tiles: list[tuple[int, int, int, int]], shape: tuple[int, int]) -> str:
    """Rectangles (first and last row, first and last column) of an n × m matrix, drawn to its proportions."""
    n, m = shape
    if not tiles or min(shape) == 0:
        return ""
    scale = min(_WIDTH / m, _HEIGHT / n)
    shown = "".join(
        f"<rect x='{left * scale:.2f}' y='{top * scale:.2f}' width='{max((right - left) * scale, 0.5):.2f}' "
        f"height='{max((bottom - top) * scale, 0.5):.2f}'/>"
        for top, bottom, left, right in tiles
    )
    drawn = f"<g fill='#4477aa' fill-opacity='0.35' stroke='#4477aa' stroke-width='0.5'>{shown}</g>"
    return _frame(drawn, f"{n:,} × {m:,}", "tiles")


_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")


def rows_of_bars(rows: Mapping[str, Mapping[str, float]], most: int = 60) -> str:
    """A stacked bar for every row of shares, as a table."""
    lines = []
    for name, shares in list(rows.items())[:most]:
        pieces, left = "", 0.0
        for at, (state, share) in enumerate(shares.items()):
            title = html.escape(f"{state}: {share:.4g}")
            colour = _COLOURS[at % len(_COLOURS)]
            pieces += f"<rect x='{left:.2f}' width='{share * 240:.2f}' height='12' fill='{colour}'><title>{title}</title></rect>"
            left += share * 240
        best = max(shares, key=lambda s: shares[s]) if shares else ""
        words = f"{best} {shares[best]:.3f}" if shares else ""
        svg = f"<svg xmlns='http://www.w3.org/2000/svg' width='240' height='12'>{pieces}</svg>"
        lines.append(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{svg}</td><td>{html.escape(words)}</td></tr>"
        )
    more = f"<div>and {len(rows) - most} more</div>" if len(rows) > most else ""
    return f"<table>{''.join(lines)}</table>{more}"
