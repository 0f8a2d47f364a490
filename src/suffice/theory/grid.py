"""A compact grid of distributions around a truth: for the supremum of the uniform law of large numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.core.parameters import Domain
from suffice.errors import ParameterError
from suffice.models.mixture import Mixture
from suffice.types import Array

LINE = 9  # values of a single number
ENTRY = (0.0, 0.25, 0.75, 1.0)  # places of one entry of a vector between the ends of its line; the truth is at 0.5
MOST = 96  # points of a grid; of more, every so many-th is kept


def box(truth: Family) -> list[Any]:
    """A compact grid around the truth: one parameter at a time, and the numbers of a family also together.

    Numbers move half-way to their bounds or by their own size, means by a standard deviation, probabilities half-way
    to each corner, covariances to half and twice their size. A mixture moves one component at a time, or its
    weights; a product one block at a time.
    """
    points = list(_points(truth))
    if len(points) <= MOST:
        return points
    return [points[i] for i in np.unique(np.linspace(0, len(points) - 1, MOST).astype(int))]


def _points(model: Any) -> Iterator[Any]:
    if model.is_mixture:
        yield from _of_mixture(model)
    elif model.blocks:
        for place, block in enumerate(model.blocks.values()):
            for point in _points(block):
                others = list(model.blocks.values())
                others[place] = point
                yield model.rebuilt(others)
    elif model.row_vector or model.batch or any(model.specs()[name].domain.core for name in model.free):
        yield from _of_vectors(model)
    else:
        yield from _of_numbers(model)


def _of_mixture(mixture: Mixture) -> Iterator[Any]:
    for place, part in enumerate(mixture.parts):
        for point in _points(part):
            components = list(mixture.parts)
            components[place] = point
            yield mixture.with_components(components, mixture.weights)
    if "weights" in mixture.free:
        for weights in _move_probabilities(np.asarray(mixture.weights)):
            yield replace(mixture, weights=weights)


def _of_numbers(truth: Family) -> Iterator[Any]:
    lines = {}
    for name in truth.free:
        value, domain = float(getattr(truth, name)), truth.specs()[name].domain
        reach = float(truth.scale_of(name)) if np.isinf(domain.low) and np.isinf(domain.high) else abs(value) or 1.0
        lines[name] = np.linspace(*_ends(value, reach, domain), LINE)
    points: list[dict[str, Any]] = [{name: value} for name, line in lines.items() for value in line]
    points += [  # and together, the first the same way and the other way
        {name: line[i if j else first] for j, (name, line) in enumerate(lines.items())}
        for i in range(LINE if len(lines) > 1 else 0)
        for first in (i, LINE - 1 - i)
    ]
    yield from _with_values(truth, points)


def _of_vectors(truth: Family) -> Iterator[Any]:
    for name in truth.free:
        value, domain = np.asarray(getattr(truth, name), dtype=float), truth.specs()[name].domain
        if domain.core == 2:
            yield from _with_values(truth, ({name: value * factor} for factor in (0.5, 0.75, 1.5, 2.0)))
        elif domain.rule is not None:
            for cell in np.ndindex(value.shape[:-1]):
                for probabilities in _move_probabilities(value[cell]):
                    moved = value.copy()
                    moved[cell] = probabilities
                    yield from _with_values(truth, [{name: moved}])
        else:
            yield from _with_values(truth, _entries(truth, name, value, domain))


def _entries(truth: Family, name: str, value: Array, domain: Domain) -> Iterator[dict[str, Any]]:
    """One entry after the other, at some places of its line."""
    free = np.isinf(domain.low) and np.isinf(domain.high)
    spread = np.asarray(truth.std, dtype=float) if free and name != "eta" else np.abs(value)
    reach = np.broadcast_to(spread, value.shape) if np.shape(spread) in (value.shape, ()) else np.abs(value)
    for entry in np.ndindex(value.shape):
        low, high = _ends(float(value[entry]), float(reach[entry]) or 1.0, domain)
        for place in ENTRY:
            moved = value.copy()
            moved[entry] = low + place * (high - low)
            yield {name: moved}


def _ends(value: float, reach: float, domain: Domain) -> tuple[float, float]:
    low = value - reach if np.isinf(domain.low) else 0.5 * (value + domain.low)
    high = value + reach if np.isinf(domain.high) else 0.5 * (value + domain.high)
    return low, high


def _move_probabilities(probabilities: Array) -> Iterator[Array]:
    """Probabilities moved half-way to each corner, and half-way away from it."""
    for corner in np.eye(len(probabilities)):
        if probabilities @ corner < 1:
            yield 0.5 * (probabilities + corner)
            left = probabilities * (1 - 0.5 * corner)
            yield left / left.sum()


def _with_values(truth: Family, points: Iterable[dict[str, Any]]) -> Iterator[Any]:
    """The truth with other parameters, where they go together."""
    for values in points:
        try:
            yield replace(truth, **values)
        except ParameterError:
            continue
