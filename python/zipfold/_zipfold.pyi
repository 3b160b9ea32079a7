"""The compiled half. Everything here is for the package's own modules."""

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

__version__: str

_Given = tuple[int, int | None, dict[str, str] | None, tuple[int, int] | None, Callable[[int, int], object] | None, str]
_Named = tuple[np.ndarray, list[str] | None, tuple[np.ndarray, list[str]] | None, list[int]]
_Weights = list[tuple[np.ndarray, np.ndarray] | None]
_Column = tuple[str, npt.NDArray[Any], list[str] | None]

def dense(
    x: np.ndarray,
    y: np.ndarray | None,
    metric: str | None,
    formula: str | None,
    parameters: dict[str, Any] | None,
    condensed: bool,
    out: np.ndarray | None,
    precision: str | None,
    given: _Given,
) -> np.ndarray: ...
def run(text: str, x: _Named, y: _Named | None, weights: _Weights, given: _Given) -> dict[str, Any]: ...
def merge(parts: list[bytes], x: _Named, y: _Named | None, weights: _Weights, given: _Given) -> dict[str, Any]: ...
def explain(
    text: str, x: _Named, y: _Named | None, weights: _Weights, given: _Given
) -> tuple[str, str, tuple[int, int], str]: ...
def metrics() -> list[tuple[str, list[str], list[str], bool, str, str, tuple[float, float], str]]: ...
def renamed() -> list[tuple[str, str, str]]: ...
def unknown_metric(name: str) -> Exception: ...
def arrow_columns(capsule: object, wanted: list[int] | None) -> list[_Column]: ...
def arrow_stream(columns: list[tuple[str, np.ndarray]]) -> object: ...
def infer(model: str | PathLike[str] | tuple[Any, ...], question: dict[str, Any]) -> dict[str, Any]: ...
def sum_product(
    semiring: str,
    cards: list[int],
    tables: list[tuple[list[int], list[float]]],
    keep: list[int],
    memory: int | None,
    threads: int,
    device: str | None = None,
) -> tuple[npt.NDArray[np.float64], list[str]]: ...
def available_memory() -> int: ...
def parse_bytes(text: str) -> int: ...
def check_device(name: str) -> None: ...
def devices() -> tuple[list[tuple[str, str, int, bool]], list[tuple[str, str]]]: ...
