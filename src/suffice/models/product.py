"""Independent columns of different kinds.

Rows are read in `product_rows`, priors in `product_priors`, questions answered in `product_queries`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, Self, cast

import numpy as np

from suffice.core import mixed_columns
from suffice.core.distribution import Distribution
from suffice.core.family import WITHIN
from suffice.core.responsibilities import EStep
from suffice.engines.once import cached_property
from suffice.errors import ParameterError, UnsupportedError
from suffice.message_parts import Columns
from suffice.models.columns import (
    ByColumn,
    names_of,
    naming_columns,
)
from suffice.models.compound import Compound, Table, filled, width_of
from suffice.models.product_priors import ProductPriors
from suffice.models.product_queries import ProductQueries
from suffice.models.product_rows import ProductRows
from suffice.models.stack import stacked_or_side_by_side
from suffice.statistics.sums import Parts
from suffice.statistics.weights import Weights
from suffice.tables.rows import is_hashable, is_several
from suffice.tables.streams import read
from suffice.types import Alert, Array, Data, Rows, Seed


@dataclass(frozen=True, eq=False, repr=False)
class Product(ProductRows, ProductPriors, ProductQueries, Compound, register=False):  # type: ignore[override]
    r"""Independent blocks of columns: :math:`p(x) = \prod_b p_b(x_b)`.

    Parameters
    ----------
    parts : dict or sequence of distributions
        ``{"age": Normal(), ("x", "y"): MultivariateNormal()}``, columns by name, or ``[Normal(), Poisson()]``, by
        position. Rows are a mapping from names to columns, or an array (n, d) with the columns in that order. A prior
        is ``{column: prior}``. Like columns are fastest as one part, ``{("a", "b"): Normal()}``: their answers can
        be asked by any of the names.
    column_units : tuple of (column, unit)
        What numbers are multiples of, where a schema found it.
    fixed, tied : set of str
        Names of parameters that are not learned, and that components share; ``fix`` and ``tie`` set them.

    Examples
    --------
    >>> visits = sf.Product({"age": sf.Normal(), "smokes": sf.Bernoulli()})
    >>> sf.fit(visits, {"age": [30.0, 40.0], "smokes": [1, 0]}).distribution
    Product({'age': Normal(mean=35, std=5), 'smokes': Bernoulli(p=0.5)})
    """

    parts: Any = ()
    column_units: tuple[Any, ...] = field(default=(), kw_only=True, compare=False)  # pairs of a column and its unit

    def __post_init__(self) -> None:
        """Bring the parts into one form and check that they are all single, or all stacks of as many components."""
        parts = _checked_parts(self.parts)
        object.__setattr__(self, "parts", parts)
        if not parts:
            msg = "Product needs at least one part, as in Product({'age': Normal()}) or Product([Normal(), Poisson()])."
            raise ParameterError(msg)
        for key, block in self.blocks.items():
            if not isinstance(block, Distribution):
                msg = (
                    f"Product: the part for column {key!r} must be a distribution, such as Normal(); got {block!r:.60}."
                )
                raise ParameterError(msg)
        keys = [pair[0] for pair in parts] if self.named else list(self.blocks)
        columns = [name for key in keys for name in names_of(key)]
        if len(set(columns)) < len(columns):
            twice = next(name for name, times in Counter(columns).items() if times > 1)
            msg = f"Product: column {twice!r} stands in two parts; give each column once."
            raise ParameterError(msg)
        sizes = {block.batch[0] if not block.lone else None for block in self.blocks.values()}
        if sizes == {1, None} and all(block.stacked is block for block in self.blocks.values()):
            sizes = {1}  # a mixture is its own stack of one
        if len(sizes) > 1:
            msg = f"Product: its parts must be all single or all stacks of one size; got {sizes}."
            raise ParameterError(msg)
        size = sizes.pop()
        object.__setattr__(self, "batch", () if size is None else (int(size),))

    # ---- parts --------------------------------------------------------------------------------------------------
    @property
    def named(self) -> bool:
        """Whether columns go by name rather than by position."""
        return isinstance(self.parts[0], tuple)

    @cached_property
    def blocks(self) -> dict[Any, Any]:
        blocks = dict(self.parts) if self.named else dict(enumerate(self.parts))
        return ByColumn(blocks, blocks)

    def rebuilt(self, blocks: Any) -> Self:
        """The same columns with other distributions."""
        parts = tuple(zip(self.blocks, blocks, strict=True)) if self.named else tuple(blocks)
        return cast("Self", self.with_parts(parts))

    def with_parts(self, parts: tuple[Any, ...]) -> Product:
        """A product of other parts."""
        return replace(self, parts=parts)

    def by_key(self, answers: dict[Any, Any]) -> ByColumn:
        return ByColumn(answers, self.blocks)

    @property
    def units(self) -> dict[Any, float]:
        """The unit of columns of numbers, where it is known: all values that were seen are multiples of it.

        Known where :func:`infer` chose the families, for what is learned from them too. It changes no probability.
        """
        return dict(self.column_units)

    @cached_property
    def column_names(self) -> tuple[Any, ...] | None:
        return tuple(name for key in self.blocks for name in names_of(key)) if self.named else None

    @property
    def columns(self) -> int | None:
        widths = self._widths(None)
        return None if None in widths else sum(width or 0 for width in widths)

    def _widths(self, total: int | None) -> list[int | None]:
        """Columns of each part; one part that does not know takes what the others leave of ``total``."""
        widths = [
            len(key) if isinstance(key, tuple) else width_of(block) if not self.named or block.row_vector else 1
            for key, block in self.blocks.items()
        ]
        if total is not None and widths.count(None) == 1:
            left = total - sum(width or 0 for width in widths)
            widths = [left if width is None else width for width in widths]
        return widths

    @cached_property
    def stacked(self) -> Self:
        return self.rebuilt(block.stacked for block in self.blocks.values()) if self.lone else self

    @cached_property
    def unstacked(self) -> tuple[Self, ...]:
        if self.lone:
            return (self,)
        components = zip(*(block.unstacked for block in self.blocks.values()), strict=True)
        return tuple(self.rebuilt(blocks) for blocks in components)

    def squeezed(self, axes: int) -> Self:
        return self.unstacked[0] if axes else self

    def stack(self, k: int) -> Any:
        if not self.lone:
            return super().stack(k)
        return self.rebuilt(stacked_or_side_by_side(block, k) for block in self.blocks.values())

    # ---- statistics -----------------------------------------------------------------------------------------------
    def gather(self, x: Any, w: Weights) -> Parts:
        parts = []
        for (key, block), part in zip(self.blocks.items(), x.parts, strict=True):
            with naming_columns(self._columns_of(key)):
                parts.append(block.gather(part, w))
        weight = np.concatenate([np.asarray(part.weight).reshape(self.n_components, -1) for part in parts], axis=1)
        return Parts(tuple(parts), weight)

    def e_step(self, x: Any, log_weights: Array, weights: Array | None = None) -> EStep:
        """One E-step; a single block has its own, several share one loop as far as they can."""
        if len(self.blocks) > 1:
            found = mixed_columns.e_step(tuple(self.blocks.values()), x.parts, log_weights, weights)
            return super().e_step(x, log_weights, weights) if found is None else found
        ((key, block),) = self.blocks.items()
        with naming_columns(self._columns_of(key)):
            alone: EStep = block.e_step(x.parts[0], log_weights, weights)
        weight = np.asarray(alone.statistics.weight).reshape(self.n_components, -1)
        return replace(alone, statistics=Parts((alone.statistics,), weight))

    # ---- as components of a mixture --------------------------------------------------------------------------------
    def preprocess(self, rows: Any) -> Any:
        parts = zip(self.blocks.values(), rows.parts, strict=True)
        return Table(tuple(block.preprocess(part) for block, part in parts), len(rows))

    def can_generate(self, x: Rows) -> Array:
        return np.asarray(np.all([block.can_generate(part) for block, part in self._each_with(x)], axis=0))

    def floor(self) -> Any:
        return {key: block.floor() for key, block in self.blocks.items()}

    def apply_floor(self, floor: dict[Any, Any] | None) -> Self:
        return (
            self if floor is None else self.rebuilt(block.apply_floor(floor[key]) for key, block in self.blocks.items())
        )

    def on_floor(self, floor: dict[Any, Any] | None) -> Array:
        floors = floor or dict.fromkeys(self.blocks)
        return np.asarray(np.any([block.on_floor(floors[key]) for key, block in self.blocks.items()], axis=0))

    def floor_columns(self, floor: dict[Any, Any], index: int) -> tuple[Any, ...]:
        floors, found = floor or dict.fromkeys(self.blocks), []
        for key, block in self.blocks.items():
            own = self._columns_of(key).which
            found += [own[place] for place in block.floor_columns(floors[key], index) if isinstance(place, int)]
        return tuple(found)

    def degenerate(self, floor: dict[Any, Any] | None, stats: Parts) -> Array:
        floors = floor or dict.fromkeys(self.blocks)
        each = zip(self.blocks.items(), stats.parts, strict=True)
        return np.asarray(np.any([block.degenerate(floors[key], part) for (key, block), part in each], axis=0))

    def singular_alerts(self, floor: dict[Any, Any], stats: Parts) -> tuple[Alert, ...]:
        floors = floor or dict.fromkeys(self.blocks)
        each = zip(self.blocks.items(), stats.parts, strict=True)
        found = [(key, one) for (key, block), part in each for one in block.singular_alerts(floors[key], part)]
        return tuple(alert.of_columns(self._columns_of(key)) for key, alert in found)

    def separation(self, stats: Parts, floor: dict[Any, Any] | None = None) -> Any:
        floors = floor or dict.fromkeys(self.blocks)
        each = zip(self.blocks.items(), stats.parts, strict=True)
        found = [block.separation(part, floors[key]) for (key, block), part in each]
        known = [one for one in found if one is not None]
        if not known:
            return None
        others = sum(block.columns or 1 for block, one in zip(self.blocks.values(), found, strict=True) if one is None)
        return replace(reduce(add, known), others=others)

    def take_components(self, order: Array) -> Self:
        return self.rebuilt(block.take_components(order) for block in self.blocks.values())

    def exposure(self, x: Any) -> Array | None:
        parts = [block.exposure(part) for block, part in zip(self.blocks.values(), x.parts, strict=True)]
        if all(part is None for part in parts):
            return None
        paired = zip(parts, self.blocks.values(), strict=True)
        return np.concatenate([filled(part, block, len(x)) for part, block in paired], axis=1)

    def exposed(self, stats: Parts) -> Array:
        return np.concatenate([block.exposed(part) for block, part in self._each_with(stats)], axis=1)

    def seen_cells(self, stats: Parts) -> Array:
        parts = [np.asarray(block.seen_cells(part)) for block, part in self._each_with(stats)]
        return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)

    # ---- learning -----------------------------------------------------------------------------------------------
    def _each_with(self, stats: Any) -> zip[tuple[Any, Any]]:
        return zip(self.blocks.values(), stats.parts, strict=True)

    def in_order(self, stats: Parts, prior: dict[Any, Any] | None = None) -> tuple[Any, Any]:
        priors = self.priors(prior)
        paired = zip(self.blocks.items(), stats.parts, strict=True)
        blocks, parts = zip(*(block.in_order(part, priors.get(key)) for (key, block), part in paired), strict=True)
        if all(block is own for block, own in zip(blocks, self.blocks.values(), strict=True)):
            return self, stats
        return self.rebuilt(blocks), replace(stats, parts=parts)

    def start(self, x: Rows, weights: Data = None, rng: np.random.Generator | None = None) -> Self:
        rows, blocks = read(self, x), []
        for (key, block), part in zip(self.for_data(rows).blocks.items(), rows.parts, strict=True):
            with naming_columns(self._columns_of(key)):
                blocks.append(block.start(part, weights, rng))
        return self.rebuilt(blocks)

    def m_step(self, stats: Parts, prior: dict[Any, Any] | None, floor: dict[Any, Any] | None) -> Self:
        self.check_family(stats)
        priors, floors = self.priors(prior), floor or dict.fromkeys(self.blocks)
        paired = zip(self.blocks.items(), stats.parts, strict=True)
        return self.rebuilt(block.m_step(part, priors.get(key), floors[key]) for (key, block), part in paired)

    def likelihood_cells(self, stats: Parts) -> Array:
        return np.stack([block.likelihood_cells(part).sum(axis=-1) for block, part in self._each_with(stats)], axis=-1)

    def unbiased(self, stats: Parts, ddof: float) -> Self:
        """The estimate with variances of divisor Σ w − ddof in the parts that have one."""
        changed, refused = [], []
        for block, part in zip(self.blocks.values(), stats.parts if stats else [None] * len(self.blocks), strict=True):
            try:
                changed.append(block.unbiased(part, ddof))
            except UnsupportedError as error:
                refused.append(error)
                changed.append(block)
        if len(refused) == len(changed):
            raise refused[0]
        return self.rebuilt(changed)

    def alerts_under(self, stats: Parts, prior: dict[Any, Any] | None) -> tuple[Alert, ...]:
        return tuple(alert.of_columns(self._columns_of(key)) for key, alert in self.block_alerts(stats, prior))

    def _columns_of(self, key: Any) -> Columns:
        """The columns of a block as an alert names them: by name, else by place."""
        if self.named:
            return Columns.named(*names_of(key))
        widths = [width or 1 for width in self._widths(None)]
        return Columns(tuple(range(sum(widths[:key]), sum(widths[: key + 1]))))

    def column_label(self, column: int) -> str:
        labels: list[str] = []
        for key, block in self.blocks.items():
            several = isinstance(key, tuple) and not block.support.core
            labels += map(str, key if several else [key] * (1 if block.support.core else int(block.columns or 1)))
        return labels[column] if self.named and column < len(labels) else super().column_label(column)

    # ---- asking -------------------------------------------------------------------------------------------------
    def sample(self, n: int = 1, random_state: Seed = None) -> Any:
        """Draw rows: a dictionary of columns, or for columns by position an array (n, d)."""
        rng = np.random.default_rng(random_state)
        drawn = {key: block.sample(n, rng) for key, block in self.blocks.items()}
        if self.named:
            columns: dict[Any, Any] = {}
            for key, values in drawn.items():
                if isinstance(values, dict):  # a block whose columns have names of their own
                    columns.update(values)
                elif isinstance(key, tuple) and (len(key) > 1 or values.ndim > 1):
                    columns.update({name: values[..., i] for i, name in enumerate(key)})
                else:
                    (name,) = names_of(key)
                    columns[name] = values if self.lone or self.blocks[key].row_vector else values[..., 0]
            return columns
        lead = (n,) if self.lone else (n, self.n_components)
        arrays = [np.asarray(values) for values in drawn.values()]
        arrays = [array.reshape(*lead, int(np.prod(array.shape[len(lead) :]))) for array in arrays]
        mixed = any(array.dtype.kind not in "fiub" for array in arrays)
        return np.concatenate([array.astype(object) if mixed else array for array in arrays], axis=-1)

    def summarize(self, names: Any = None, fit: Any = None) -> Any:
        from suffice.models.summaries import of_product

        return of_product(self, names, fit)

    def numbers(
        self, names: tuple[Hashable, ...] | None = None, errors: object = None, reach: float = WITHIN
    ) -> tuple[Any, ...]:
        from suffice.models.summaries import numbers_of_product

        return numbers_of_product(self, names, errors, reach)

    def _repr_html_(self) -> str:
        """Show it as a table in a notebook."""
        from suffice.display.html import of_summary

        return of_summary(self.summarize())

    def entropy(self) -> Any:
        return sum(block.entropy() for block in self.blocks.values())

    def kl(self, other: Self) -> Any:
        """D(self‖other): the sum over the parts, which must be the same columns."""
        if not isinstance(other, Product) or list(other.blocks) != list(self.blocks):
            msg = f"Product is compared with a product of the same columns; got {other!r:.80}."
            raise UnsupportedError(msg)
        return sum(block.kl(theirs) for block, theirs in zip(self.blocks.values(), other.blocks.values(), strict=True))

    def __repr__(self) -> str:
        """Show the call that makes it."""
        shown = ", ".join(f"{key!r}: {block!r}" if self.named else repr(block) for key, block in self.blocks.items())
        return f"Product({{{shown}}})" if self.named else f"Product([{shown}])"


def _checked_parts(given: Data) -> tuple[Any, ...]:
    """The parts as a tuple: of pairs (column, distribution), or of distributions by position."""
    pairs = given.items() if isinstance(given, Mapping) else given
    if isinstance(pairs, Distribution) or not is_several(pairs):
        msg = (
            "Product takes distributions by column, as in Product({'age': Normal()}), or a list of them by position; "
            f"got {given!r:.60}."
        )
        raise ParameterError(msg)
    parts = tuple(tuple(pair) if isinstance(pair, (tuple, list)) else pair for pair in pairs)
    for index, part in enumerate(parts):
        paired = isinstance(part, tuple)
        if paired != isinstance(parts[0], tuple) or (paired and (len(part) != 2 or not is_hashable(part[0]))):
            msg = f"Product: part {index} is a distribution, or a pair of a column's name and one; got {part!r:.60}."
            raise ParameterError(msg)
    return parts
