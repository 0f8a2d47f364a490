"""What a mixture asks of its components: share rows with each other, change places, take over parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from suffice import kernels
from suffice.core import responsibilities
from suffice.core.conjugate import Variational
from suffice.core.formulas import Formulas
from suffice.core.learner import Learner
from suffice.core.mixed_columns import Part
from suffice.errors import ParameterError
from suffice.numerics.low_rank import replace
from suffice.statistics.separation import Separation
from suffice.statistics.weights import Weights
from suffice.types import Array, Rows


@dataclass(frozen=True, eq=False, repr=False)
class Component(Learner):
    """Components of a mixture as one stack; every family inherits a general answer."""

    heterogeneous: ClassVar[bool] = False  # whether the components of a stack are of different families
    is_mixture: ClassVar[bool] = False  # whether p(x) = Σ weights[j] p(x | parts[j]), with the component not seen

    def e_step(self, x: Any, log_weights: Array, weights: Array | None = None) -> responsibilities.EStep:
        """One E-step over rows of the stack: (log-likelihood, entropy of the responsibilities, statistics).

        Parameters
        ----------
        x
            Rows in the form that ``read`` gives.
        log_weights
            Log probability of each component, (k,), or (n, k) for each row; −inf forbids a component.
        weights
            One per row, (n,).
        """
        return responsibilities.e_step(self, x, np.asarray(log_weights), weights)

    def best(self, x: Any, log_weights: Array) -> Array:
        """The component of the highest score log π + log p(x) for each row of a block, (n,); −1 where all are −inf."""
        return kernels.chosen(self.relative_density(x) + log_weights)

    def in_cells(self, x: Any) -> Part | None:
        """A block of rows whose log-density is a sum over cells, as one loop for columns of many kinds takes it."""
        del x
        return None

    def gather_together(self, x: Any, w: Any) -> Any:
        """The statistics of a block of rows, as far as the estimate of all components together needs them."""
        return self.gather(x, w)

    def relative_density(self, x: Any) -> Array:
        """The log density (n, k) of a block of rows, up to what is the same for all components of a row."""
        return np.asarray(self.log_density(x))

    @property
    def coupled(self) -> bool:
        """Whether components share parameters, so that none can be estimated without the others."""
        return bool(set(self.tied) & set(self.free)) or any(block.coupled for block in self.blocks.values())

    def can_generate(self, x: Any) -> Array:
        """Which rows (n,) this family can have made, whatever its parameters: where others can, they are theirs."""
        if not isinstance(x, np.ndarray):  # labels
            return np.ones(len(x), bool)
        axes = tuple(range(x.ndim - self.support.core, x.ndim))
        inside = self.support.contains(x) | np.isnan(x).any(axis=axes)
        return np.asarray(inside.reshape(len(x), -1).all(axis=1))

    @property
    def is_single_cluster(self) -> bool:
        """Whether a component is one cluster by itself, rather than several."""
        return True

    @property
    def is_quadratic(self) -> bool:
        """Whether log densities are quadratic in the row, and no parameter is fixed or tied."""
        return False

    def separation(self, stats: Any, floor: Any = None) -> Separation | None:
        """How far components differ in their normal columns; None where the family has none, or learns no spread."""
        del stats, floor
        return None

    def take_components(self, order: Array) -> Self:
        """The stack of some of its components, in this order."""
        return self.reshaped(lambda value: value[order])

    def with_parameters_of(self, components: Any, proportions: Array) -> Any:
        """This prototype with the parameters of as many ``components``, which have ``proportions`` (k,) of the rows.

        What is fixed, tied or restricted in the prototype stays so.
        """
        for one in components:
            if type(one) is not type(self) or one.blocks.keys() != self.blocks.keys():
                msg = f"start= has {one!r:.60} where the prototype has {self.name}; give parameters of the same family."
                raise ParameterError(msg)
        if self.blocks:
            parts = ([one.blocks[key] for one in components] for key in self.blocks)
            return self.rebuilt(
                b.with_parameters_of(part, proportions) for b, part in zip(self.blocks.values(), parts, strict=True)
            )
        stack, values = self.stacked, {}
        for name in self.free:
            value = np.concatenate([np.asarray(getattr(one.stacked, name)) for one in components])
            shape = np.shape(getattr(stack, name))
            if value.shape != shape:
                msg = f"start= has {self.name}s of {name} {value.shape}, where the data need {shape}; give as many."
                raise ParameterError(msg)
            mean = np.tensordot(proportions / proportions.sum(), value, axes=1)
            values[name] = np.broadcast_to(mean, shape) if name in self.tied else value
        return self.like(stack.constrain(values, proportions))

    def constrain(self, values: dict[str, Array], proportions: Array) -> Any:
        """The stack with these parameters, brought into what its structure allows."""
        del proportions
        return replace(self, **values)


@dataclass(frozen=True, eq=False, repr=False)
class Explained(Learner):
    """What each column says for and against a component."""

    def log_prob_by_column(self, x: Any) -> list[tuple[Any, Array]]:
        """The log density as a sum of independent pieces: each by its column, (n, k); a vector is one piece."""
        if self.row_vector or self.support.core:
            return [(tuple(range(int(np.prod(np.shape(x)[1:])))), self.log_density(x))]
        found = []
        for column in range(np.shape(x)[1]):
            part = x.column(column) if hasattr(x, "column") else x[:, column : column + 1]
            found.append(((column,), self.reshaped(lambda value, j=column: value[:, j : j + 1]).log_density(part)))
        return found

    def log_odds_by_column(self, x: Any, first: int, second: int) -> list[tuple[Any, Array]]:
        """Log p(x | first) − log p(x | second) as a sum: by columns, (n,); where both are impossible, 0."""
        with np.errstate(invalid="ignore"):
            pairs = [(columns, scores[:, first], scores[:, second]) for columns, scores in self.log_prob_by_column(x)]
            return [(columns, np.where(left == right, 0.0, left - right)) for columns, left, right in pairs]

    def unseen_levels(self, x: Any) -> list[tuple[Any, Array]]:
        """Which cells hold a label that is none of the levels: by columns, (n,)."""
        return [(columns, np.zeros(len(x), bool)) for columns, _ in self.log_prob_by_column(x)]


@dataclass(frozen=True, eq=False, repr=False)
class Bounded(Variational):
    """Parameters at the bounds of their domains: what a sample lacks is not impossible."""

    @property
    def learns_bounds(self) -> bool:
        """Whether a share of a row, however small, moves the estimate as far as the whole row: bounds are learned."""
        return any(block.learns_bounds for block in self.blocks.values())

    def with_wider_bounds(self, factor: float) -> Any:
        """The same with learned bounds ``factor`` times as far apart."""
        return self.rebuilt(block.with_wider_bounds(factor) for block in self.blocks.values()) if self.blocks else self

    def off_boundary(self, share: float) -> Any:
        """The same parameters off the bounds of their domains, by a small ``share`` of the way.

        What a sample happens to lack is not impossible: under a probability of 0 no pass would ever learn of it.
        """
        if self.blocks:
            return self.rebuilt(block.off_boundary(share) for block in self.blocks.values())
        stack, moved = self.stacked, {}
        for name in self.free:
            domain, value = self.specs()[name].domain, np.asarray(getattr(stack, name))
            edge = domain.on_boundary(value)
            if not edge.any():
                continue
            if domain.core:
                known = np.broadcast_to(stack.possible(), value.shape)
                even = known / np.maximum(known.sum(axis=-1, keepdims=True), 1.0)
                lacks = (edge & (known > 0)).any(axis=-1, keepdims=True)
                moved[name] = np.where(lacks, (1 - share) * value + share * even, value)
            else:
                width = domain.high - domain.low
                step = share * (width if np.isfinite(width) else 1.0)
                moved[name] = np.where(edge, np.where(value == domain.low, value + step, value - step), value)
        return self.like(replace(stack, **moved)) if moved else self

    def possible(self) -> Array:
        """Which entries of a vector of probabilities stand for something, as 1 and 0: all."""
        return np.ones(np.shape(self.params["probs"]))

    def chances(self, stats: Any) -> Array:
        """How often a probability could have shown itself in the rows of statistics, by their weight, (k, d)."""
        return self.exposed(stats)


@dataclass(frozen=True, eq=False, repr=False)
class Sequential(Formulas):
    """What a unit is: a row, or for models of sequences the rows that follow each other."""

    is_chain: ClassVar[bool] = False  # whether rows follow each other, by states that are not seen

    def rows_of_units(self, rows: Rows, weights: Weights) -> tuple[Rows, Weights]:
        """The rows whose cells statistics count, and their weights: these, or those of which units are made."""
        return rows, weights
