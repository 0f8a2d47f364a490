"""Parameters that no sample can tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.models.mixture import Mixture
from suffice.numerics import derivatives
from suffice.types import Alert, Array
from suffice.uncertainty.information import chart

ROWS = 400  # of a sample whose scores show which parameters move alike
SINGULAR = 1e-8  # of the singular values of the scores: below it a direction is flat
ALIKE = 1e-9  # relative distance of equal components
CODE = "not identified"


def not_identified(truth: Family, points: list[Any], expected: Array, best: float) -> tuple[Alert, ...]:
    """Alerts that name parameters which no sample can tell apart.

    Looks for equal components and components of weight 0, for a point of the grid that is the same distribution as
    the truth, and for directions along which no score changes: there the information is singular.
    """
    found = [*_components(truth)]
    if found:
        return tuple(Alert(CODE, text) for text in found)
    same = _same(truth, points, expected, best) if _numbers(truth) else ""
    text = same or (_flat(truth) if _numbers(truth) else _flat_coordinates(truth))
    return (Alert(CODE, text),) if text else ()


def _numbers(truth: Family) -> bool:
    """Whether the free parameters are single numbers of one family."""
    if truth.is_mixture or truth.blocks or truth.row_vector or truth.batch:
        return False
    return not any(truth.specs()[name].domain.core for name in truth.free)


# ---- mixtures --------------------------------------------------------------------------------------------------------
def _components(model: Any, where: str = "") -> Iterator[str]:
    if model.is_mixture:
        yield from _of_mixture(model, where)
    for key, block in model.blocks.items():
        yield from _components(block, f"{where}{key}: ")


def _of_mixture(mixture: Mixture, where: str) -> Iterator[str]:
    learns = bool(mixture.free)
    for i, j in combinations(range(mixture.n), 2):
        one, other = mixture.parts[i], mixture.parts[j]
        if learns and type(one) is type(other) and one.distance(other) < ALIKE:
            yield (
                f"{where}components {i} and {j} are equal: any split of their weight is the same distribution, so no "
                "sample can tell their weights and parameters apart. Use one component less."
            )
    for j in np.flatnonzero(np.asarray(mixture.weights) == 0).tolist():
        if mixture.parts[j].free:
            yield f"{where}component {j} has weight 0: no row comes from it, so its parameters cannot be estimated."
    for j, part in enumerate(mixture.parts):
        yield from _components(part, f"{where}component {j}: ")


# ---- single numbers --------------------------------------------------------------------------------------------------
def _same(truth: Family, points: list[Any], expected: Array, best: float) -> str:
    for point, value in zip(points, expected, strict=True):
        away = any(not np.allclose(getattr(point, name), getattr(truth, name), rtol=1e-9) for name in truth.free)
        if away and abs(value - best) <= 1e-13 * (1 + abs(best)):
            return f"{point!r} is the same distribution as {truth!r}: no sample can tell their parameters apart."
    return ""


def _flat(truth: Any) -> str:
    sample = truth.sample(ROWS, np.random.default_rng(0))
    scores = []
    for name in truth.free:
        value = float(getattr(truth, name))
        scale = np.asarray(derivatives.smooth_scale(truth, name), dtype=float)
        if not (np.isfinite(scale) and scale > 0):
            return ""  # on a bound

        def along(v: Array, name: str = name) -> Array:
            return np.asarray(replace(truth, **{name: float(v)}).log_prob(sample))

        with np.errstate(all="ignore"):
            scores.append(derivatives.first_derivative(along, np.asarray(value), scale) * scale)
    return _flat_direction(np.array(scores).T, list(truth.free))


# ---- vectors, products, mixtures -------------------------------------------------------------------------------------
def _flat_coordinates(truth: Family) -> str:
    found = chart(truth.stacked)
    rows = truth.read(truth.sample(max(ROWS, 4 * found.size), np.random.default_rng(0)))
    names = found.coordinate_names()
    with np.errstate(all="ignore"):
        ((columns, scores),) = found.scores(rows)
    whole = np.zeros((len(rows), found.size))
    whole[:, columns] = scores
    return _flat_direction(whole, names)


def _flat_direction(scores: Array, names: list[str]) -> str:
    """Name the parameters along which the scores (rows, parameters) do not change; "" where there are none."""
    if not scores.size or not np.isfinite(scores).all():
        return ""
    size = np.sqrt(np.square(scores).mean(axis=0))
    dead = size < SINGULAR
    if dead.any():
        shown = ", ".join(np.array(names)[dead][:6])
        return f"{shown} can move without changing the distribution: it cannot be estimated."
    _, values, directions = np.linalg.svd(scores / size, full_matrices=False)
    if values[-1] >= SINGULAR * values[0]:
        return ""
    loadings = np.abs(directions[-1])
    shown = ", ".join(name for name, loading in zip(names, loadings, strict=True) if loading > 1e-3 * loadings.max())
    return f"{shown} can move together without changing the distribution: the information is singular."
