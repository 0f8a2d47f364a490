"""What a law is, how it fails, and what every law needs: rows, comparisons, a slow sure way to take expectations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from typing import Any

import numpy as np

from suffice.em.loop import run_em
from suffice.em.training import TrainingData
from suffice.errors import ParameterError, UnsupportedError
from suffice.types import Array

Law = Callable[[Any, np.random.Generator], None]
ROWS = 90  # enough for every family to have an interior maximum, few enough to be quick


class LawBroken(AssertionError):  # noqa: N818 (says what happened)
    """A distribution breaks a law: the message names the law, the value, the numbers and the likely suspects."""


class DoesNotApply(Exception):  # noqa: N818 (not an error)
    """The law has nothing to say about this value, with the reason."""


@dataclass(frozen=True)
class Entry:
    """A law and its sentence."""

    name: str
    function: Law


LAWS: list[Entry] = []


def law(name: str, suspects: str) -> Callable[[Law], Law]:
    """Enter a function into the list of laws; its failures get the name, the value and the suspects."""

    def enter(function: Law) -> Law:
        @wraps(function)
        def checked(distribution: object, rng: np.random.Generator) -> None:
            try:
                function(distribution, rng)
            except LawBroken as broken:
                msg = f"{name}: broken by {distribution!r}. {broken} Suspects: {suspects}."
                raise LawBroken(msg) from None
            except UnsupportedError as refusal:
                raise DoesNotApply(str(refusal)) from refusal

        LAWS.append(Entry(name, checked))
        return checked

    return enter


# ---- saying no -----------------------------------------------------------------------------------------------------
def require(holds: object, what: str) -> None:
    """Break the law unless ``holds``."""
    if not holds:
        raise LawBroken(what)


def close(
    got: Array | float, expected: object, tolerance: float, what: str, scale: Array | float | None = None
) -> None:
    """Break the law unless the numbers agree to ``tolerance`` of ``scale`` (by default of the larger of 1 and them)."""
    got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    require(got.shape == expected.shape, f"{what}: the shapes {got.shape} and {expected.shape} differ.")
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(expected), 1.0) if scale is None else np.asarray(scale, dtype=float)
        same = (np.abs(got - expected) <= tolerance * size) | (got == expected) | (np.isnan(got) & np.isnan(expected))
    if not same.all():
        place = tuple(np.argwhere(~same)[0].tolist())
        at = f" at {place}" if place else ""
        raise LawBroken(f"{what}: got {got[place]!r}, expected {expected[place]!r}{at} (tolerance {tolerance:g}).")


def same_statistics(got: Any, expected: Any, tolerance: float, what: str) -> None:
    """Break the law unless two statistics say the same, whatever centre they are held about."""
    require(type(got) is type(expected), f"{what}: {type(got).__name__} is not {type(expected).__name__}.")
    if hasattr(got, "parts"):
        for left, right in zip(got.parts, expected.parts, strict=True):
            same_statistics(left, right, tolerance, what)
        return
    if hasattr(got, "levels"):
        got, expected = got + expected * 0.0, expected + got * 0.0  # both on the union of their levels
        close(got.on(expected.levels), expected.count, tolerance, f"{what}: count")
        return
    left, right = _arrays(got), _arrays(expected)
    for name, value in right.items():
        finite = np.abs(value[np.isfinite(value)])
        scale = max(float(finite.max(initial=0.0)), 1e-300)
        close(left[name], value, tolerance, f"{what}: {name}", scale=max(scale, 1.0))


def _arrays(stats: object) -> dict[str, Array]:
    values = {f.name: getattr(stats, f.name) for f in fields(stats)} if is_dataclass(stats) else vars(stats)
    values = {name: np.asarray(v, dtype=float) for name, v in values.items() if isinstance(v, np.ndarray)}
    if {"centre", "shift"} <= set(values):
        values["mean"] = values.pop("centre") + values.pop("shift")
    return values


def same_value(got: Any, expected: Any, x: object, tolerance: float, what: str) -> None:
    """Break the law unless two distributions have the same parameters and score the rows alike."""
    if got.specs():
        away = float(expected.distance(got))
        require(away <= tolerance, f"{what}: {got!r} instead of {expected!r}, a relative distance of {away:.3g}.")
    close(got.log_prob(x), expected.log_prob(x), 1e3 * tolerance, f"{what}: log_prob")


# ---- rows and components
# ----------------------------------------------------------------------------------------------
def rows_of(distribution: object, rng: np.random.Generator, n: int = ROWS) -> Array:
    """Rows from a value; from a stack, each row from a component drawn at random."""
    return owned_rows(distribution, rng, n)[0]


def owned_rows(distribution: Any, rng: np.random.Generator, n: int = ROWS) -> tuple[Array, Array]:
    """Rows and uneven weights (n,); of a stack (n, k), heavy for the component that made the row."""
    x = np.asarray(distribution.sample(n, rng))
    if distribution.lone:
        return x, rng.uniform(0.2, 2.0, n)
    k = distribution.n_components
    owner = rng.integers(k, size=n)
    share = np.where(owner[:, None] == np.arange(k), 1.0, 0.02)
    return np.asarray(x[np.arange(n), owner]), share * rng.uniform(0.2, 2.0, (n, k))


def fresh(distribution: Any, rng: np.random.Generator) -> Any:
    """Another typical value of the same family and layout."""
    if not distribution.specs():
        raise DoesNotApply(f"{distribution.name} has no typical values of its own to begin at")
    try:
        other = type(distribution).example(rng, distribution.batch)
        learned = {name: getattr(other, name) for name in distribution.free}
        if any(np.shape(value) != np.shape(getattr(distribution, name)) for name, value in learned.items()):
            raise DoesNotApply(f"a typical {distribution.name} has another shape than this one")
        return replace(distribution, **learned)
    except (ParameterError, TypeError) as refusal:
        raise DoesNotApply(f"it has no other typical value: {refusal}") from refusal


def learn(distribution: Any, x: object, weights: object = None) -> Any:
    """The maximum-likelihood value, by one pass or by the loop, whatever the layout."""
    if distribution.exact:
        return distribution.estimate(distribution.suffstats(x, weights))
    model = distribution.for_data(distribution.read(x))
    start = model.start(x, weights, np.random.default_rng(0))
    path = run_em(start, TrainingData.read(start, x, weights), max_iter=5000)
    return path.distribution


def learnable(distribution: Any) -> None:
    """Step aside for distributions that are never fitted."""
    if not distribution.free:
        raise DoesNotApply(f"{distribution.name} has no free parameter")
    few = rows_of(distribution, np.random.default_rng(0), 3)
    distribution.estimate(distribution.suffstats(few))  # refuses, if it must, with the reason


def one_cell(distribution: Any) -> Any:
    """A distribution of a single number (or label): the first column of the first component."""
    if distribution.row_vector or distribution.support.core or not distribution.specs():
        raise DoesNotApply(f"a row of {distribution.name} is not a single number")
    return distribution.stacked.reshaped(lambda value: value[0, 0]) if distribution.batch else distribution


# ---- expectations --------------------------------------------------------------------------------------------------
def nodes_of(cell: Any, kinks: tuple[float, ...] = ()) -> tuple[Array, Array]:
    """Points and weights with Σ w f(x) = ∫ f, or = Σ f over the outcomes of a discrete distribution."""
    if getattr(cell, "levels", None) is not None:
        levels = np.array(cell.levels, dtype=object)
        return levels, np.ones(len(levels))
    if cell.atoms:
        x, w = nodes_of(cell.nonzero, (*kinks, *cell.atoms))
        return np.append(x, cell.atoms), np.append(w, np.ones(len(cell.atoms)))
    low, high = float(cell.quantile(0.0)), float(cell.quantile(1.0))
    if cell.discrete:
        far = float(cell.quantile(1 - 1e-12))
        last = high if np.isfinite(high) else max(4 * far, far + 50.0)
        outcomes = np.arange(low, min(last, low + 2e6) + 1)
        return outcomes, np.ones(len(outcomes))
    left, middle, right = (float(q) for q in cell.quantile([0.25, 0.5, 0.75]))
    edges = np.concatenate([_towards(low, left), np.linspace(left, right, 9)[1:-1], _towards(high, right)])
    edges = np.unique([*edges, middle, *(point for point in kinks if low < point < high)])
    points, weights = np.polynomial.legendre.leggauss(32)
    half = np.diff(edges)[:, None] / 2
    x, w = (edges[:-1, None] + half * (points + 1)).ravel(), (half * weights).ravel()
    inside = (x > low) & (x < high)
    return x[inside], w[inside]


def _towards(end: float, edge: float) -> Array:
    """Panel edges from ``edge`` that close in on a finite end, or run away to an infinite one, by factors of 2."""
    if np.isfinite(end):
        return np.asarray(end + (edge - end) * 2.0 ** -np.arange(0.0, 160.0))
    return np.asarray(edge + np.copysign(1.0, end) * max(abs(edge), 1.0) * (2.0 ** np.arange(-4.0, 160.0) - 2.0**-4))


def expectation(cell: Any, f: Callable[[Any], Any], kinks: tuple[float, ...] = ()) -> Array:
    """E f(X) by a fixed fine rule; f gives (n, …)."""
    x, w = nodes_of(cell, kinks)
    p = np.exp(np.asarray(cell.log_prob(x)))
    with np.errstate(all="ignore"):
        values = np.asarray(f(x), dtype=float)
        mass = (w * p).reshape((-1,) + (1,) * (values.ndim - 1))
        return np.asarray(np.where(mass > 0, mass * values, 0.0).sum(axis=0))


@contextmanager
def swapped(owner: Any, **changes: Any) -> Iterator[None]:
    """Set attributes of a module (or entries of a mapping) for a while."""
    mapping = isinstance(owner, dict) or hasattr(owner, "keys")
    missing = object()
    before = {name: owner.get(name, missing) if mapping else getattr(owner, name) for name in changes}
    try:
        for name, value in changes.items():
            owner.__setitem__(name, value) if mapping else setattr(owner, name, value)
        yield
    finally:
        for name, value in before.items():
            if not mapping:
                setattr(owner, name, value)
            elif value is missing:
                owner.pop(name, None)
            else:
                owner[name] = value
