"""Exact inference on discrete graphical models, and sum-products over bare tables."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _zipfold
from .arrays import array as array_of
from .arrays import number, numbers, whole
from .errors import ArrayTypeError, InputError, RequestError, warn
from .remote import is_url, place, shown
from .results import Marginals
from .settings import Given, _device, memory_bytes, seconds, settings, threads_of

__all__ = ["Inference", "Network", "infer", "sum_product"]


class Assignment(tuple[dict[str, str], float]):
    """A most probable assignment: its states by name, and its log10.

    ``proven`` says whether no assignment has more. ``upper`` is a log10 that none exceeds. They differ from ``True`` and
    the log10 itself only where a search ended at its time limit.
    """

    proven: bool
    upper: float

    def __new__(cls, states: dict[str, str], log10: float, upper: float | None = None, proven: bool = True) -> Assignment:
        own = super().__new__(cls, (states, log10))
        own.proven = proven
        own.upper = log10 if upper is None else upper
        return own


@dataclasses.dataclass(frozen=True)
class Network:
    """A discrete graphical model as arrays.

    ``tables[i]`` has an axis for each variable of ``scopes[i]`` (numbers, or names where ``names`` are given). In a
    Bayesian network the last variable of a scope is the child.
    """

    tables: Sequence[Any]
    scopes: Sequence[Sequence[Any]]
    names: Sequence[str] | None = None
    states: Sequence[Sequence[str]] | None = None
    bayes: bool = False


class Inference:
    """A question about a graphical model, to be answered now or in shares.

    ``Inference(model, task).run()`` is ``infer(model, task)``, and :func:`zipfold.submit` takes one in place of a question
    about pairs: workers share out the slices of its plan, and the answer has the same bits. ``memory`` decides how many slices
    there are; workers hold as much. The task "mmap" is for :func:`infer` alone.

    Parameters
    ----------
    model, task, evidence, keep, samples, precision, seed, order_seconds
        As in :func:`infer`.
    time_limit : float, optional
        Predicted seconds beyond which the network is refused: 120 for ``run``, none for shares, unless it is given.

    >>> import numpy as np, zipfold as zf
    >>> rain = zf.Network([np.array([0.8, 0.2]), np.array([[0.9, 0.1], [0.2, 0.8]])], [["rain"], ["rain", "wet"]],
    ...                   names=["rain", "wet"], bayes=True)
    >>> question = zf.Inference(rain, evidence={"wet": 1})
    >>> round(question.run()["rain"]["1"], 4)
    0.6667
    """

    def __init__(
        self,
        model: Any,
        task: str = "mar",
        *,
        evidence: Any = None,
        keep: Sequence[Any] = (),
        samples: int = 1,
        precision: str = "f64",
        seed: int = 1,
        order_seconds: float | None = None,
        time_limit: float | None = None,
    ) -> None:
        if precision not in ("f32", "f64"):
            raise RequestError(f"precision: '{precision}' (limit: 'f32' or 'f64')")
        kept = [keep] if isinstance(keep, (str, int, np.integer)) else list(keep)
        if kept and str(task).lower() not in ("mmap", "sum"):
            raise RequestError(f"keep: the task '{task}' keeps no variables (limit: 'mmap' or 'sum')\n  try: infer(…)['{kept[0]}']")
        path, observed = _evidence(evidence)
        self.task = str(task).lower()
        self._asked: dict[str, Any] = {
            "task": self.task,
            "keep": [str(variable) for variable in kept],
            "samples": whole(samples, "samples"),
            "evidence": path,
            "observed": observed,
            "single": precision == "f32",
            "seed": whole(seed, "seed"),
            "order_seconds": None if order_seconds is None else _seconds(order_seconds, "order_seconds"),
        }
        self._time_limit = None if time_limit is None else _seconds(time_limit, "time_limit")
        self._model = _model(model)

    def run(
        self,
        *,
        memory: int | float | str | None = None,
        threads: int | None = None,
        device: str | None = None,
        store: str | os.PathLike[str] | None = None,
    ) -> Any:
        """The answer; the arguments and what is raised are those of :func:`infer`."""
        now = settings()
        how: dict[str, Any] = {
            "memory": now.memory if memory is None else memory_bytes(memory),
            "threads": now.threads if threads is None else threads_of(threads),
            "device": now.device if device is None else _device(device),
            "store": None if store is None else _folder(store),
            "time_limit": 120.0 if self._time_limit is None else self._time_limit,
        }
        return _answer(self.task, _zipfold.infer(self._model, {**self._asked, **how}))

    def _plan(self, folder: str, shares: int | None, asked: Given) -> str:
        """Plans it in shares, in a folder: what a job takes of the plan, as JSON."""
        threads, memory, plan, _, _, device = asked
        if plan:
            raise RequestError("plan: an inference takes no settings of plans\n  try: without plan=")
        if memory is None:
            memory = _zipfold.available_memory()
            text = f"each worker holds up to {memory >> 20} MiB, which this machine has free: memory= says less"
            warn(text)
        limit = math.inf if self._time_limit is None else self._time_limit
        how = {"memory": memory, "threads": threads, "device": device, "store": None, "time_limit": limit}
        return _zipfold.infer_plan(self._model, {**self._asked, **how}, folder, shares)


def _merged(folder: str, threads: int) -> Any:
    """The answer of the parts of a store."""
    return _answer(*_zipfold.infer_merge(folder, threads))


def infer(
    model: Any,
    task: str = "mar",
    *,
    evidence: Any = None,
    keep: Sequence[Any] = (),
    samples: int = 1,
    precision: str = "f64",
    seed: int = 1,
    order_seconds: float | None = None,
    time_limit: float = 120.0,
    memory: int | float | str | None = None,
    threads: int | None = None,
    device: str | None = None,
    store: str | os.PathLike[str] | None = None,
) -> Any:
    """Answers a question about a graphical model, exactly.

    Parameters
    ----------
    model : path, Network, or a model of pgmpy or pyAgrum
        Files are UAI, Ergo, BIF, XMLBIF or Hugin's, also compressed.
    task : {"pr", "mar", "map", "mmap", "sum", "samples"}
        log10 of the probability of the evidence (of the partition function); all marginals; a most probable
        configuration of all variables, or of those of ``keep``; the unnormalised table over ``keep``; samples.
    evidence : mapping of variables to states, or path
    precision : "f64" or "f32"
    order_seconds, time_limit : float
        Seconds for the search of an order, and predicted seconds beyond which a network is refused. "map" and "mmap" then
        search for so many seconds; ``.proven`` and ``.upper`` of the answer say how good it is, and a warning if it is not
        proven.
    keep : sequence of variables, or one
        Those of "mmap" and "sum".
    samples, seed : int
        How many samples, and where their random numbers start.
    memory, threads, device
        As in :func:`zipfold.using`. Large joins run on the device, small ones beside it on the host.
    store : path, optional
        A folder that several processes see. All that make the same call share out the slices of its plan, and each returns
        the answer. Give ``memory``, so that all of them plan alike.

    Returns
    -------
    float for "pr"; Marginals for "mar"; dict of states and its log10 for "map" and "mmap"; array with an axis per kept
    variable and the log10 of its common factor for "sum"; list of dicts for "samples"

    Raises
    ------
    ValueError
        For files that cannot be read, unknown tasks, variables and states; for evidence of probability zero, which gives
        −inf for "pr".
    MemoryError
        For networks whose tables do not fit, or take longer than ``time_limit``.

    Source: ``crates/zipfold/src/infer.rs``; buckets after Silberstein et al. 2008.

    >>> import numpy as np, zipfold as zf
    >>> rain = zf.Network([np.array([0.8, 0.2]), np.array([[0.9, 0.1], [0.2, 0.8]])], [["rain"], ["rain", "wet"]],
    ...                   names=["rain", "wet"], bayes=True)
    >>> round(zf.infer(rain, evidence={"wet": 1})["rain"]["1"], 4)
    0.6667
    """
    place_of_slices = None if store is None else _folder(store)
    return Inference(
        model,
        task,
        evidence=evidence,
        keep=keep,
        samples=samples,
        precision=precision,
        seed=seed,
        order_seconds=order_seconds,
        time_limit=time_limit,
    ).run(memory=memory, threads=threads, device=device, store=place_of_slices)


def _folder(store: str | os.PathLike[str]) -> str:
    """The folder in which processes share out the slices."""
    if is_url(store):
        raise RequestError(f"store: expected a folder that all processes see, got {shown(str(store))}\n  try: store='/scratch/store'")
    return os.path.abspath(os.fspath(store))


def _seconds(value: Any, name: str) -> float:
    """A time, which may be endless."""
    return seconds(number(value, name), name, 120, least=0)


def _evidence(evidence: Any) -> tuple[str | None, list[tuple[str, str]]]:
    if evidence is None:
        return None, []
    if isinstance(evidence, (str, os.PathLike)):
        return place(evidence), []
    if isinstance(evidence, Mapping):
        return None, [(str(variable), str(state)) for variable, state in evidence.items()]
    kind = type(evidence).__name__
    raise ArrayTypeError(f"evidence: a mapping or a file is wanted, here is a {kind}\n  try: {{'name': 'state'}}")


def _warn(told: list[str]) -> None:
    for warning in told:
        import warnings

        warnings.warn(warning, stacklevel=4)


def _answer(task: str, raw: dict[str, Any]) -> Any:
    _warn(raw["warnings"])
    if task == "pr":
        return raw["log10"]
    if raw["impossible"]:
        raise InputError("evidence: its probability is zero, so there is nothing to ask after it")
    names, states = raw["names"], raw["states"]
    if task == "mar":
        rows = zip(names, states, raw["marginals"], strict=True)
        return Marginals({n: dict(zip(s, row.tolist(), strict=True)) for n, s, row in rows}, raw["log10"])
    if task in ("map", "mpe", "mmap"):
        own = {names[v]: states[v][s] for v, s in raw["assignment"]}
        return Assignment(own, raw["log10"], raw["upper"], raw["proven"])
    if task == "sum":
        return raw["values"].reshape([len(states[v]) for v in raw["scope"]]), raw["log10"]
    return [{names[v]: states[v][s] for v, s in enumerate(row)} for row in raw["samples"]]


def _model(model: Any) -> Any:
    if isinstance(model, (str, os.PathLike)):
        return place(model)
    if isinstance(model, Network):
        return _arrays(model)
    module = type(model).__module__.split(".")[0]
    if module == "pgmpy":
        return _arrays(_from_pgmpy(model))
    if module in ("pyagrum", "pyAgrum"):
        return _arrays(_from_pyagrum(model))
    kind = type(model).__name__
    raise ArrayTypeError(f"model: a file, a Network, or a model of pgmpy or pyAgrum is wanted, here is a {kind}")


def _arrays(network: Network) -> tuple[Any, ...]:
    if len(network.tables) != len(network.scopes):
        raise InputError(f"{len(network.tables)} tables and {len(network.scopes)} scopes (limit: as many)")
    names = None if network.names is None else [str(name) for name in network.names]
    index = {name: at for at, name in enumerate(names or ())}
    cards: dict[int, int] = {}
    factors = []
    for at, (table, scope) in enumerate(zip(network.tables, network.scopes, strict=True)):
        array = numbers(array_of(table, f"table {at}"), f"table {at}").astype(np.float64)
        numbered = [_variable(v, index, at) for v in scope]
        if array.ndim != len(numbered):
            raise InputError(f"table {at}: {array.ndim} axes for {len(numbered)} variables")
        for variable, card in zip(numbered, array.shape, strict=True):
            if cards.setdefault(variable, card) != card:
                have = cards[variable]
                raise InputError(f"table {at}: variable {variable} has {card} states here and {have} elsewhere")
        if network.bayes:
            _check_child(array, scope, at)
        factors.append((numbered, array.ravel().tolist()))
    count = len(names) if names is not None else max(cards, default=-1) + 1
    missing = [v for v in range(count) if v not in cards]
    if missing and network.states is None:
        raise InputError(f"variable {missing[0]} is in no table, so its states are not known\n  try: states=[…]")
    # An axis may have no values: its size is known then, too.
    sizes = [cards[v] if v in cards else len(network.states[v]) for v in range(count)]  # type: ignore[index]
    states = None if network.states is None else [[str(s) for s in row] for row in network.states]
    if names is None and states is not None:
        names = [str(v) for v in range(count)]
    return (network.bayes, sizes, names, states, factors)


#: How far a row of a conditional table may be from a sum of 1.
_ROUNDED = 1e-3


def _check_child(table: np.ndarray, scope: Sequence[Any], at: int) -> None:
    """The probabilities of the child, the last variable, sum to one for every state of the others."""
    sums = table.sum(axis=-1)
    off = abs(sums - 1)
    if not (off > _ROUNDED).any():
        return
    place = tuple(int(k) for k in np.unravel_index(int(off.argmax()), sums.shape))
    row = ", ".join(map(str, (*place, ":")))
    for axis in range(table.ndim - 1):
        if (abs(table.sum(axis=axis) - 1) <= _ROUNDED).all():
            remedy = f"numpy.moveaxis(table, {axis}, -1), and '{scope[-1]}' where '{scope[axis]}' stands in the scope"
            break
    else:
        remedy = "tables whose rows sum to 1, or bayes=False for factors"
    raise InputError(
        f"table {at}: the row [{row}] of the child '{scope[-1]}' sums to {sums[place]:.6g} (limit: 1, the child is the last axis)\n"
        f"  try: {remedy}"
    )


def _variable(variable: Any, index: dict[str, int], table: int) -> int:
    if not index:
        if isinstance(variable, (int, np.integer)) and variable >= 0:
            return int(variable)
        raise InputError(f"table {table}: '{variable}' is no number of a variable\n  try: names=[…]")
    if str(variable) not in index:
        raise InputError(f"table {table}: no variable '{variable}'\n  try: one of {', '.join(index)}")
    return index[str(variable)]


def _from_pgmpy(model: Any) -> Network:
    """Bayesian and Markov networks of pgmpy; its tables have the child first."""
    factors = model.get_cpds() if hasattr(model, "get_cpds") else model.get_factors()
    bayes = hasattr(model, "get_cpds")
    names = [str(node) for node in model.nodes()]
    states: dict[str, list[str]] = {}
    tables, scopes = [], []
    for factor in factors:
        potential = factor.to_factor() if hasattr(factor, "to_factor") else factor
        scope = [str(v) for v in potential.variables]
        for variable in potential.variables:
            known = potential.state_names.get(variable) if getattr(potential, "state_names", None) else None
            card = potential.get_cardinality([variable])[variable]
            states.setdefault(str(variable), [str(s) for s in (known or range(card))])
        values = np.asarray(potential.values, dtype=np.float64)
        if bayes:
            values, scope = np.moveaxis(values, 0, -1), [*scope[1:], scope[0]]
        tables.append(values)
        scopes.append(scope)
    return Network(tables, scopes, names, [states[name] for name in names], bayes)


def _from_pyagrum(model: Any) -> Network:
    """Bayesian networks and Markov random fields of pyAgrum."""
    ids = sorted(model.nodes())
    names = [model.variable(node).name() for node in ids]
    states = [list(model.variable(node).labels()) for node in ids]
    bayes = hasattr(model, "cpt")
    potentials = [(model.variable(n).name(), model.cpt(n)) for n in ids] if bayes else [("", f) for f in _factors(model)]
    tables, scopes = [], []
    for child, potential in potentials:
        # Its arrays have the last variable first.
        scope = list(reversed(potential.names))
        values = np.asarray(potential.toarray(), dtype=np.float64)
        if bayes:
            at = scope.index(child)
            values, scope = np.moveaxis(values, at, -1), [*scope[:at], *scope[at + 1 :], child]
        tables.append(values)
        scopes.append(scope)
    return Network(tables, scopes, names, states, bayes)


def _factors(model: Any) -> list[Any]:
    return [model.factor(scope) for scope in model.factors()]


def sum_product(
    tables: Sequence[Any],
    scopes: Sequence[Sequence[int]],
    keep: Sequence[int] = (),
    semiring: str = "sum-product",
    *,
    memory: int | float | str | None = None,
    threads: int | None = None,
    device: str | None = None,
) -> np.ndarray:
    """The table over ``keep`` of the product of ``tables``, all other variables folded away.

    On the host, the kernels of :func:`infer` serve sum-product, max-product, log-sum-exp and or-and: tables on the way are
    mantissas with a common exponent, which neither over- nor underflow. Tables of sum-product with numbers that are negative
    or not finite are multiplied and added in float64, as ``numpy.einsum`` does. So are the sums of min-sum; it takes no
    exponentials. An axis without values folds to the zero of the semiring.

    Parameters
    ----------
    tables : arrays, with an axis for each variable of their scope
    scopes : sequences of variables, numbered from 0
    keep : variables of the result, in the order of its axes
    semiring : {"sum-product", "max-product", "log-sum-exp", "min-sum", "or-and"}
        Natural logarithms for log-sum-exp; for or-and anything but 0 is true; finite numbers from 0 for max-product, numbers
        above -inf for min-sum.
    memory, threads
        As in :func:`zipfold.using`.
    device
        A name as in :func:`zipfold.using`; large joins of sum-product, max-product and log-sum-exp run there, within
        1e-12 of the host. Entries of sum-product are then not negative. Without one, the host computes.

    Returns
    -------
    float64 array with an axis per kept variable (bool for or-and)

    Raises
    ------
    ValueError
        For tables whose axes do not fit their scopes, entries that the semiring does not have, unknown semirings, variables
        without a table.
    MemoryError
        For tables on the way that do not fit.

    >>> import numpy as np, zipfold as zf
    >>> A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    >>> bool(np.allclose(zf.sum_product([A, B], [[0, 1], [1, 2]], keep=[0, 2]), A @ B))
    True
    """
    _, cards, _, _, factors = _arrays(Network(tables, scopes))
    now = settings()
    limit = now.memory if memory is None else memory_bytes(memory)
    kept = [_variable(variable, {}, -1) for variable in keep]
    many = now.threads if threads is None else threads_of(threads)
    wanted = None if device is None else _device(device)
    values, told = _zipfold.sum_product(semiring, (cards, factors, kept), limit, many, wanted)
    _warn(told)
    out = values.reshape([cards[v] for v in kept])
    return out != 0 if semiring == "or-and" else out
