"""What rows tell of parameters: scores, curvature of the likelihood, and the standard errors that follow.

A `Chart` is a set of free coordinates around an estimate, 0 at the estimate itself: one for each parameter that can
move, tied ones once, a simplex with one less than it has entries. It knows the first derivatives of each component's
log density by them (``scores``), minus the second derivatives of a weighted log-likelihood (``curvature``), and how the
parameters depend on them (``errors``). Charts of compounds are made of those of their parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.engines.once import cached_property
from suffice.numerics.derivatives import FIRST, STEP, hessian, smooth_scale
from suffice.statistics.weights import Weights
from suffice.types import Array, Rows

Score = tuple[Array, Array]  # columns (q,), and the derivatives by those coordinates (n, q)
SINGULAR = 1e-10  # of the information scaled to a unit diagonal: eigenvalues below it are 0
NEAR = 1e-6  # step of a difference where a density has kinks: few rows are passed by it
LOST = 1e-3  # share of a parameter's gradient along what is not known, that makes its error unknown


class Chart:
    """Coordinates of a stack of components; ``components`` and ``size`` count them and the coordinates."""

    stack: Any
    size: int
    smoothness: int = 2  # how many derivatives the likelihood has

    def coordinate_names(self) -> list[str]:
        """What an alert calls the coordinates."""
        return [f"coordinate {i} of {self.stack.name}" for i in range(self.size)]

    def scores(self, rows: Rows) -> list[Score]:
        """The derivatives of each component's log density."""
        raise NotImplementedError

    def curvature(self, rows: Rows, weights: Array) -> Array:
        """−∂²Σ w log p (p, p), with weights (n, k)."""
        raise NotImplementedError

    def errors(self, known: Knowledge) -> dict[Any, Any]:
        """Standard errors in the layout of the stack's parameters."""
        raise NotImplementedError

    def gradient(self, rows: Rows, weights: Array) -> dict[Any, Any]:
        """∂Σ w log p in the layout of the stack's parameters, with weights (n, k): 0 at a maximum.

        An entry of probabilities moves while the others keep their proportions. A parameter that components share has
        the sum of their derivatives. What is fixed has 0, what lies on a boundary NaN.
        """
        raise NotImplementedError

    def information(self, rows: Rows, weights: Array) -> Array:
        """The observed information of rows under one component.

        Where densities have kinks, the scores' outer product.
        """
        if self.smoothness > 1:
            return self.curvature(rows, weights)
        total = np.zeros((self.size, self.size))
        for index, (columns, score) in enumerate(self.scores(rows)):
            w = weights[:, index]
            counted = np.where((w > 0)[:, None], score, 0.0)
            total[np.ix_(columns, columns)] += counted.T @ (w[:, None] * counted)
        return total


@dataclass(frozen=True)
class Knowledge:
    """The covariance of the coordinates as root rootᵀ, and the directions in which nothing is known.

    ``unit`` is the length of each coordinate in which the information has a unit diagonal; ``lost`` counts in it.
    """

    root: Array
    lost: Array
    unit: Array

    @classmethod
    def of(cls, information: Array) -> Knowledge:
        """Invert the information where it can be."""
        size, diagonal = len(information), np.diag(information)
        usable = np.isfinite(diagonal) & (diagonal > 0)
        usable[usable] = np.isfinite(information[np.ix_(usable, usable)]).all(axis=1)
        kept = information[np.ix_(usable, usable)]
        unit = np.ones(size)
        unit[usable] = 1 / np.sqrt(np.diag(kept))
        values, vectors = np.linalg.eigh(kept * unit[usable][:, None] * unit[usable])
        good = values > SINGULAR * max(float(values.max(initial=0.0)), 1.0)
        root, null = np.zeros((size, int(good.sum()))), np.zeros((size, int((~good).sum())))
        root[usable] = unit[usable][:, None] * vectors[:, good] / np.sqrt(values[good])
        null[usable] = vectors[:, ~good]
        return cls(root, np.concatenate([np.eye(size)[:, ~usable], null], axis=1), unit)

    @property
    def complete(self) -> bool:
        """Whether the information could be inverted."""
        return bool(self.lost.shape[1] == 0)

    def spread(self, gradient: Array, columns: Array) -> Array:
        """Standard errors (e,) of numbers with the gradient (e, q) by some coordinates; NaN where not known."""
        error = np.sqrt(np.square(gradient @ self.root[columns]).sum(axis=1))
        if self.complete:
            return np.asarray(error)
        along = gradient * self.unit[columns]
        length = np.sqrt(np.square(along).sum(axis=1))
        gone = np.abs(along @ self.lost[columns]) > LOST * length[:, None]
        return np.asarray(np.where(gone.any(axis=1), np.nan, error))


@dataclass(frozen=True)
class Slot:
    """The coordinates of one parameter in every cell: numbers by their scale, probabilities by their log-odds."""

    name: str
    value: Array  # (k, d, width)
    scale: Array  # (k, d, width): 0 where a coordinate cannot move
    simplex: bool  # whether its entries are probabilities that sum to 1

    @property
    def width(self) -> int:
        """Coordinates in a cell."""
        return int(self.value.shape[-1])

    def at(self, z: Array, shape: tuple[int, ...]) -> Array:
        """The parameter in its own shape, at coordinates (k, d, width)."""
        if not self.simplex:
            return np.asarray((self.value + self.scale * z).reshape(shape))
        odds = self.value * np.exp(self.scale * z)
        whole = odds.sum(axis=-1, keepdims=True)
        return np.asarray((odds / np.where(whole > 0, whole, 1.0)).reshape(shape))


def slots(stack: Family) -> list[Slot]:
    """The coordinates of a family's free parameters."""
    found = []
    for name in stack.free:
        domain, value = stack.specs()[name].domain, np.asarray(getattr(stack, name), dtype=float)
        flat = value.reshape(*stack.batch, -1) if value.size else value.reshape(*stack.batch, 0)
        if domain.rule is not None:  # probabilities: all can move but the largest, which the others leave its part
            scale = (flat > 0).astype(float)
            np.put_along_axis(scale, flat.argmax(axis=-1)[..., None], 0.0, axis=-1)
            found.append(Slot(name, flat, scale, simplex=True))
            continue
        edge = domain.on_boundary(value)
        scale = np.where(edge, 0.0, smooth_scale(stack, name)).reshape(flat.shape)
        found.append(Slot(name, flat, np.where(np.isfinite(scale), scale, 0.0), simplex=False))
    return found


class CellChart(Chart):
    """The chart of a family whose cells are independent: by central differences of its own formulas."""

    def __init__(self, stack: Family) -> None:
        """Number the coordinates; tied parameters have one for all components."""
        self.stack = stack
        self.slots = self.find_slots()
        k, d = stack.batch
        places, count = [], 0
        for slot in self.slots:
            lead = 1 if slot.name in stack.tied else k
            movable = (slot.scale > 0).any(axis=0, keepdims=True) if lead == 1 else slot.scale > 0
            movable = movable & (self.smoothness > 0)
            place = np.full((lead, d, slot.width), -1)
            place[movable] = count + np.arange(int(movable.sum()))
            count += int(movable.sum())
            places.append(np.broadcast_to(place, (k, d, slot.width)))
        self.size = count
        self.places = np.concatenate(places, axis=-1) if places else np.zeros((k, d, 0), int)  # (k, d, m)

    def coordinate_names(self) -> list[str]:
        names = [""] * self.size
        k, d, _ = self.places.shape
        labels = [(slot.name, entry, slot.width) for slot in self.slots for entry in range(slot.width)]
        for (j, column, m), place in np.ndenumerate(self.places):
            if place >= 0 and not names[place]:
                name, entry, width = labels[m]
                index = [str(i) for i, many in ((j, k > 1), (column, d > 1), (entry, width > 1)) if many]
                names[place] = name + (f"[{', '.join(index)}]" if index else "")
        return names

    def find_slots(self) -> list[Slot]:
        """The coordinates of the free parameters."""
        return slots(self.stack)

    def moved(self, z: Array, along: list[Slot] | None = None) -> Any:
        """The stack at coordinates (k, d, m); ``along`` other slots than its own."""
        values: dict[str, Any] = {}
        begin = 0
        for slot in self.slots if along is None else along:
            shape = np.shape(getattr(self.stack, slot.name))
            values[slot.name] = slot.at(z[..., begin : begin + slot.width], shape)
            begin += slot.width
        return replace(self.stack, **values)

    @cached_property
    def active(self) -> Array:
        """The slots (of m) in which any cell can move."""
        return np.flatnonzero((self.places >= 0).any(axis=(0, 1)))

    def scores(self, rows: Rows) -> list[Score]:
        """By central differences of the log density of each cell."""
        k, d, m = self.places.shape
        found = np.zeros((k, len(rows), d, m))
        for slot in self.active:
            step = np.zeros((k, d, m))
            step[..., slot] = STEP * (self.places[..., slot] >= 0)
            for j, c in enumerate(FIRST, 1):
                ahead, behind = self.moved(j * step), self.moved(-j * step)
                for index in range(k):
                    difference = self.cells(ahead.unstacked[index], rows) - self.cells(behind.unstacked[index], rows)
                    found[index, :, :, slot] += c / STEP * difference
        out = []
        for index in range(k):
            place = self.places[index].ravel()
            out.append((place[place >= 0], found[index].reshape(len(rows), d * m)[:, place >= 0]))
        return out

    def cells(self, component: Family, rows: Any) -> Array:
        """Log density of each cell (n, d) under one component; 0 where it was not seen."""
        seen = self.stack.support.contains(rows)
        with np.errstate(all="ignore"):
            return np.where(seen, component.log_cell(rows), 0.0)

    def curvature(self, rows: Rows, weights: Array) -> Array:
        """By central differences of the likelihood, from exact statistics where there are any."""
        k, d = self.places.shape[:2]
        total = np.zeros((self.size, self.size))
        if not self.size:
            return total
        slots = self.active
        bent = hessian(self.likelihood(rows, weights), np.zeros((k, d, len(slots))), np.ones((k, d, len(slots))))
        place = self.places[..., slots]
        for index in np.ndindex(k, d):
            there = place[index] >= 0
            total[np.ix_(place[index][there], place[index][there])] -= bent[index][np.ix_(there, there)]
        return total

    def likelihood(self, rows: Rows, weights: Array) -> Callable[..., Any]:
        """Σ w log p of each cell (k, d) as a function of coordinates (k, d, active)."""
        k, d, m = self.places.shape
        still = self.places[..., self.active] < 0

        def spread(z: Array) -> Any:
            whole = np.zeros((k, d, m))
            whole[..., self.active] = np.where(still, 0.0, z)
            return self.moved(whole)

        if self.stack.exact:
            stats = self.stack.gather(rows, Weights(len(rows), weights, n_components=k))
            return lambda z: np.asarray(spread(z).likelihood_cells(stats))

        def summed(z: Array) -> Array:
            moved = spread(z)
            return np.stack([weights[:, j] @ self.cells(moved.unstacked[j], rows) for j in range(k)])

        return summed

    def gradient(self, rows: Rows, weights: Array) -> dict[Any, Any]:
        """By central differences of the likelihood, eighth order: about ten digits of its size."""
        found: dict[Any, Any] = {name: np.zeros(np.shape(value)) for name, value in self.stack.params.items()}
        slope = self.slopes(rows, weights)  # by coordinates, (k, d, m)
        begin = 0
        for slot in self.slots:
            there = slice(begin, begin + slot.width)
            by = slope[..., there]
            begin += slot.width
            with np.errstate(all="ignore"):
                by = by / (slot.value * (1 - slot.value)) if slot.simplex else by / slot.scale
            if slot.name in self.stack.tied:
                by = np.broadcast_to(by.sum(axis=0), by.shape)
            found[slot.name] = by.reshape(np.shape(getattr(self.stack, slot.name)))
        return found

    def slopes(self, rows: Rows, weights: Array) -> Array:
        """∂Σ w log p by every coordinate, (k, d, m); of probabilities by the log-odds of each, the largest too."""
        k, d, m = self.places.shape
        free = [((slot.value > 0) & (slot.value < 1)) if slot.simplex else slot.scale > 0 for slot in self.slots]
        slots = [
            replace(one, scale=there * 1.0) if one.simplex else one for one, there in zip(self.slots, free, strict=True)
        ]
        stats = self.stack.gather(rows, Weights(len(rows), weights, n_components=k)) if self.stack.exact else None

        def log_likelihood(z: Array) -> Array:
            moved = self.moved(z, slots)
            if stats is not None:
                return np.asarray(moved.likelihood_cells(stats))
            return np.stack([weights[:, j] @ self.cells(moved.unstacked[j], rows) for j in range(k)])

        rule, size = (FIRST, STEP) if self.smoothness > 1 else ((0.5,), NEAR)
        out = np.full((k, d, m), np.nan)
        for entry, there in enumerate(np.moveaxis(np.concatenate(free, axis=-1), -1, 0) if free else ()):
            step = np.zeros((k, d, m))
            step[..., entry] = size * there
            with np.errstate(all="ignore"):
                slope = (
                    sum(c * (log_likelihood(j * step) - log_likelihood(-j * step)) for j, c in enumerate(rule, 1))
                    / size
                )
            out[..., entry] = np.where(there, slope, np.nan)
        return out

    def errors(self, known: Knowledge) -> dict[Any, Any]:
        """Of numbers by their scale, of probabilities by the derivatives of the softmax; 0 for what is fixed."""
        found: dict[Any, Any] = {name: np.zeros(np.shape(value)) for name, value in self.stack.params.items()}
        begin = 0
        for slot in self.slots:
            place = self.places[..., begin : begin + slot.width]
            begin += slot.width
            shape = np.shape(getattr(self.stack, slot.name))
            error = _simplex_errors(slot, place, known) if slot.simplex else _numbers(slot, place, known)
            found[slot.name] = error.reshape(shape)
        return found


@singledispatch
def chart(stack: Family) -> Chart:
    """The chart of a stack of components."""
    return CellChart(stack)


class ShareChart(CellChart):
    """The chart of a family with log p = Σ_j u_j(x) log p_j, such as labels and counts of them: in closed form."""

    def indicators(self, rows: Rows) -> Array:
        """Each cell's u, (n, d, L); 0 where a cell was not seen."""
        raise NotImplementedError

    def scores(self, rows: Rows) -> list[Score]:
        """The derivatives u − p Σu."""
        u = self.indicators(rows)
        (slot,) = self.slots
        out = []
        for index, place in enumerate(self.places):
            score = (u - u.sum(axis=-1, keepdims=True) * slot.value[index]).reshape(len(u), place.size)
            out.append((place[place >= 0], score[:, place.ravel() >= 0]))
        return out

    def curvature(self, rows: Rows, weights: Array) -> Array:
        """Count × (diag p − ppᵀ): it depends on the rows by their number only."""
        total = np.zeros((self.size, self.size))
        count = weights.T @ self.indicators(rows).sum(axis=-1)  # (k, d)
        (slot,) = self.slots
        for index in np.ndindex(*count.shape):
            free, p = self.places[index] >= 0, slot.value[index]
            bent = count[index] * (np.diag(p) - np.outer(p, p))[np.ix_(free, free)]
            total[np.ix_(self.places[index][free], self.places[index][free])] += bent
        return total


def _numbers(slot: Slot, place: Array, known: Knowledge) -> Array:
    error = np.full(place.shape, np.nan)
    free = place >= 0
    columns = place[free]
    spread = np.sqrt(np.square(known.root[columns]).sum(axis=1))
    gone = (np.abs(known.lost[columns]) > LOST).any(axis=1)
    error[free] = slot.scale[free] * np.where(gone, np.nan, spread)
    return error


def _simplex_errors(slot: Slot, place: Array, known: Knowledge) -> Array:
    """Of probabilities p ∝ p₀ e^z, ∂p/∂z = diag p − ppᵀ; a probability of 0 lies on the boundary."""
    error = np.full(place.shape, np.nan)
    for index in np.ndindex(*place.shape[:-1]):
        free, p = place[index] >= 0, slot.value[index]
        gradient = (np.diag(p) - np.outer(p, p))[:, free]
        spread = known.spread(gradient, place[index][free])
        error[index] = np.where(p > 0, np.where(p == 1, np.nan, spread), np.nan)
    return error
