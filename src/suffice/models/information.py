"""What rows tell of the parameters of products, components side by side, and mixtures; standard errors of mixtures.

The observed information of a mixture is what the components would know if it were seen who made each row, less what is
not seen (Louis): Σ w [Σ_j r_j (−H_j − s_j s_jᵀ) + s sᵀ], with r the responsibilities, s_j and H_j the derivatives of
log π_j + log p_j, and s = Σ_j r_j s_j. Components' parts are asked of their own charts, so that any nesting will do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.core.parameters import SIMPLEX
from suffice.core.responsibilities import normalize
from suffice.distributions import charts as _charts  # noqa: F401 (families that know their own derivatives)
from suffice.engines import local
from suffice.models.mixture_components import with_weights
from suffice.models.product import Product
from suffice.models.stack import Stack
from suffice.statistics.weights import Weights
from suffice.types import Array, Rows
from suffice.uncertainty.information import Chart, Knowledge, Score, chart


class PartsChart(Chart):
    """Charts of parts, their coordinates one after the other."""

    part_name = "{} "  # how a coordinate's name begins

    def __init__(self, stack: Family, parts: list[Chart]) -> None:
        """Number the coordinates."""
        self.stack, self.parts = stack, parts
        self.begins = np.cumsum([0, *(part.size for part in parts)])
        self.size = int(self.begins[-1])
        self.smoothness = min((part.smoothness or 2 for part in parts), default=2)

    def coordinate_names(self) -> list[str]:
        keyed = zip(self.stack.blocks, self.parts, strict=True)
        return [self.part_name.format(key) + name for key, part in keyed for name in part.coordinate_names()]

    def _errors(self, known: Knowledge) -> dict[Any, Any]:
        places = zip(self.begins, self.begins[1:], strict=False)
        own = [_part(known, slice(a, b)) for a, b in places]
        return {key: part.errors(one) for key, part, one in zip(self.stack.blocks, self.parts, own, strict=True)}


def _part(known: Knowledge, rows: slice) -> Knowledge:
    return Knowledge(known.root[rows], known.lost[rows], known.unit[rows])


class ProductChart(PartsChart):
    """Independent blocks: each row adds what its blocks add."""

    def scores(self, rows: Any) -> list[Score]:
        parts = [part.scores(view) for part, view in zip(self.parts, rows.parts, strict=True)]
        found = []
        for component in zip(*parts, strict=True):
            columns = [begin + one[0] for begin, one in zip(self.begins[:-1], component, strict=True)]
            found.append((np.concatenate(columns), np.concatenate([one[1] for one in component], axis=1)))
        return found

    def curvature(self, rows: Any, weights: Array) -> Array:
        total = np.zeros((self.size, self.size))
        for begin, part, view in zip(self.begins[:-1], self.parts, rows.parts, strict=True):
            there = slice(begin, begin + part.size)
            total[there, there] = part.curvature(view, weights)
        return total

    def gradient(self, rows: Any, weights: Array) -> dict[Any, Any]:
        whole = zip(self.stack.blocks, self.parts, rows.parts, strict=True)
        return {key: part.gradient(view, weights) for key, part, view in whole}

    def errors(self, known: Knowledge) -> dict[Any, Any]:
        return self._errors(known)


class StackChart(PartsChart):
    """Components of different kinds: each has its own chart."""

    part_name = "component {} "

    def scores(self, rows: Rows) -> list[Score]:
        found = []
        for begin, part, view in zip(self.begins[:-1], self.parts, self.stack.views(rows), strict=True):
            ((columns, score),) = part.scores(view)
            found.append((begin + columns, score))
        return found

    def curvature(self, rows: Rows, weights: Array) -> Array:
        total = np.zeros((self.size, self.size))
        views = self.stack.views(rows)
        for index, (begin, part) in enumerate(zip(self.begins[:-1], self.parts, strict=True)):
            there = slice(begin, begin + part.size)
            total[there, there] = part.curvature(views[index], weights[:, index : index + 1])
        return total

    def gradient(self, rows: Rows, weights: Array) -> dict[Any, Any]:
        whole = enumerate(zip(self.stack.parts, self.parts, self.stack.views(rows), strict=True))
        return {j: lone(one, part.gradient(view, weights[:, [j]])) for j, (one, part, view) in whole}

    def errors(self, known: Knowledge) -> dict[Any, Any]:
        return {key: lone(self.stack.parts[key], errors) for key, errors in self._errors(known).items()}


class MixtureChart(Chart):
    """The log-odds of the weights, and the coordinates of the components."""

    def __init__(self, mixture: Any) -> None:
        """Number the components' coordinates first, then the weights of all but the heaviest."""
        self.mixture = mixture
        self.components = chart(mixture.components)
        self.smoothness = self.components.smoothness
        weights = np.asarray(mixture.weights)
        free = weights > 0
        free[int(weights.argmax())] = False
        self.free = np.flatnonzero(free) if "weights" in mixture.free else np.zeros(0, int)
        self.size = self.components.size + len(self.free)
        self.own = np.arange(self.components.size, self.size)
        self.on_floor = mixture.components.on_floor(mixture.floors)  # components on the floor do not move

    def coordinate_names(self) -> list[str]:
        return [*self.components.coordinate_names(), *(f"weights[{j}]" for j in self.free)]

    def _parts(self, rows: Any) -> tuple[Array, list[Score]]:
        """Responsibilities (n, k), and scores of rows and component together."""
        scores = self.mixture.scores(rows)
        if self.mixture.hard:
            shares = np.asarray(scores.argmax(axis=1)[:, None] == np.arange(self.mixture.n), dtype=float)
        else:
            shares = normalize(scores).parts
        found = []
        for index, (columns, score) in enumerate(self.components.scores(rows)):
            about_weights = (self.free == index) - self.mixture.weights[self.free]
            whole = np.concatenate([score, np.broadcast_to(about_weights, (len(rows), len(self.free)))], axis=1)
            found.append((np.append(columns, self.own), np.where((shares[:, index] > 0)[:, None], whole, 0.0)))
        return shares, found

    def scores(self, rows: Rows) -> list[Score]:
        shares, parts = self._parts(rows)
        return [(np.arange(self.size), self._mean(shares, parts))]

    def _mean(self, shares: Array, parts: list[Score]) -> Array:
        mean = np.zeros((len(shares), self.size))
        for index, (columns, score) in enumerate(parts):
            mean[:, columns] += shares[:, index, None] * score
        return mean

    def curvature(self, rows: Any, weights: Array) -> Array:
        w = weights[:, 0]
        shares, parts = self._parts(rows)
        total = np.zeros((self.size, self.size))
        inner = self.components.size
        total[:inner, :inner] = self.components.curvature(rows, w[:, None] * shares)
        p = self.mixture.weights[self.free]
        total[inner:, inner:] = float(w @ shares.sum(axis=1)) * (np.diag(p) - np.outer(p, p))
        counted = w > 0
        mean = np.where(counted[:, None], self._mean(shares, parts), 0.0)
        total += mean.T @ (w[:, None] * mean)
        for index, (columns, score) in enumerate(parts):
            held = w * shares[:, index]
            counts = np.where((held > 0)[:, None], score, 0.0)
            total[np.ix_(columns, columns)] -= counts.T @ (held[:, None] * counts)
        for (columns, _), low in zip(parts, self.on_floor, strict=True):
            if low:
                total[columns[columns < inner]] = np.nan
        return total

    def gradient(self, rows: Any, weights: Array) -> dict[Any, Any]:
        """By Fisher's identity: that of each component under the responsibilities, soft ones also of a hard mixture."""
        mixture, own = self.mixture, np.asarray(self.mixture.weights)
        shares = weights * normalize(mixture.scores(rows)).parts
        count, total = shares.sum(axis=0), shares.sum()
        with np.errstate(all="ignore"):
            slope = np.where((own > 0) & (own < 1), (count / own - total) / (1 - own), np.nan)
        slope = slope if "weights" in mixture.free else np.zeros(len(own))
        components = _by_component(mixture.components, self.components.gradient(rows, shares))
        return with_weights(slope, mixture.components, components)

    def errors(self, known: Knowledge) -> dict[Any, Any]:
        inner = self.components.size
        weights = np.asarray(self.mixture.weights)
        if "weights" in self.mixture.free:
            gradient = (np.diag(weights) - np.outer(weights, weights))[:, self.free]
            spread = known.spread(gradient, self.own)
            own = np.where((weights > 0) & (weights < 1), spread, np.nan)
        else:
            own = np.zeros(len(weights))
        components = self.components.errors(_part(known, slice(0, inner)))
        return with_weights(own, self.mixture.components, _by_component(self.mixture.components, components))


@chart.register
def _(stack: Product) -> Chart:
    return ProductChart(stack, [chart(block.stacked) for block in stack.blocks.values()])


@chart.register
def _(stack: Stack) -> Chart:
    return StackChart(stack, [chart(part.stacked) for part in stack.parts])


def lone(one: Family, errors: dict[Any, Any]) -> Any:
    """Errors of a stack of one in the layout of the component alone."""
    if one.is_mixture:
        return errors
    if one.blocks:
        return {key: lone(block, errors[key]) for key, block in one.blocks.items()}
    lead = (0,) * one.lacking
    cut = {name: np.asarray(value)[lead] for name, value in errors.items()}
    return {name: float(value) if np.ndim(value) == 0 else value for name, value in cut.items()}


def _by_component(stack: Any, errors: dict[Any, Any]) -> dict[Any, Any]:
    """Errors with the components first, as ``Mixture.params`` has the parameters."""
    if isinstance(stack, Stack):
        return errors
    if stack.blocks:
        found: dict[Any, Any] = stack.by_key({k: _by_component(block, errors[k]) for k, block in stack.blocks.items()})
        return found
    one = not stack.row_vector and stack.columns is None
    return {name: np.asarray(value)[:, 0] if one else value for name, value in errors.items()}


def information(mixture: Any, rows: Any, weights: Weights) -> tuple[Chart, Array]:
    """The chart of a mixture and the observed information of the rows, (p, p)."""
    found = chart(mixture)

    def part(where: slice) -> Array:
        held = weights[where].dense()
        return found.information(rows[where], held)

    width = found.size + int(np.prod(np.shape(rows)[1:])) * mixture.n + 1
    return found, local.reduce(part, len(rows), 8 * width)


def mixture_errors(mixture: Family, rows: Rows, weights: Weights) -> dict[Any, Any]:
    """Standard errors in the layout of ``params``; NaN where the rows do not tell."""
    with np.errstate(all="ignore"):
        found, known = information(mixture, rows, weights)
        return found.errors(Knowledge.of(known))


def mixture_bounds(mixture: Any, errors: dict[Any, Any], reach: float) -> dict[Any, Any]:
    """Estimate ± reach × standard error, inside each domain."""
    own = mixture.weights
    ends = SIMPLEX.clip(np.stack([own - reach * errors["weights"], own + reach * errors["weights"]]))
    components = _bounds(mixture.components, mixture.params, errors, reach)
    return with_weights((ends[0], ends[1]), mixture.components, components)


def _bounds(stack: Family, params: dict[Any, Any], errors: dict[Any, Any], reach: float) -> dict[Any, Any]:
    if isinstance(stack, Stack):
        return {key: one.confidence_bounds(errors[key], reach) for key, one in stack.blocks.items()}
    if stack.blocks:
        return {key: _bounds(block, params[key], errors[key], reach) for key, block in stack.blocks.items()}
    found = {}
    for name in stack.params:
        value, domain = np.asarray(params[name]), stack.specs()[name].domain
        ends = domain.clip(np.stack([value - reach * errors[name], value + reach * errors[name]]))
        found[name] = (ends[0], ends[1])
    return found
