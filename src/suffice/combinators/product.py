"""Independent columns of different kinds.

Over 400 lines: half of them turn what a caller gives (mappings, frames, rows, arrays) into columns, or say why not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np

from suffice.combinators.compound import Compound, Table, filled, naming, width_of
from suffice.combinators.product_posterior import ProductPosterior
from suffice.combinators.stack import stacked_or_side_by_side
from suffice.core.data import cells, listed, refuse_what_is_no_data
from suffice.core.distribution import Alert, Distribution
from suffice.core.errors import DataError, ParameterError, UnsupportedError
from suffice.core.parameters import Array
from suffice.core.statistics import Parts
from suffice.core.weights import Weights


@dataclass(frozen=True, eq=False, repr=False)
class Product(Compound, register=False):
    r"""Independent blocks of columns: :math:`p(x) = \prod_b p_b(x_b)`.

    Parameters
    ----------
    parts
        ``{"age": Normal(), ("x", "y"): MultivariateNormal()}``, columns by name, or ``[Normal(), Poisson()]``, by
        position. Rows are a mapping from names to columns, or an array (n, d) with the columns in that order. A prior
        is ``{column: prior}``.

    Examples
    --------
    >>> visits = sf.Product({"age": sf.Normal(), "smokes": sf.Bernoulli()})
    >>> sf.fit(visits, {"age": [30.0, 40.0], "smokes": [1, 0]}).distribution
    Product({'age': Normal(mean=35, std=5), 'smokes': Bernoulli(p=0.5)})
    """

    parts: Any = ()

    def __post_init__(self) -> None:
        """Bring the parts into one form and check that they are all single, or all stacks of as many members."""
        given = self.parts
        pairs = given.items() if isinstance(given, Mapping) else given
        parts = tuple(tuple(pair) if isinstance(pair, (tuple, list)) else pair for pair in pairs)
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
        columns = [name for key in self.blocks for name in _names(key)]
        if len(set(columns)) < len(columns):
            twice = next(name for name in columns if columns.count(name) > 1)
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
        return dict(self.parts) if self.named else dict(enumerate(self.parts))

    def rebuilt(self, blocks: Any) -> Self:
        """The same columns with other distributions."""
        return replace(self, parts=tuple(zip(self.blocks, blocks, strict=True)) if self.named else tuple(blocks))

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
    def each(self) -> tuple[Self, ...]:
        if self.lone:
            return (self,)
        members = zip(*(block.each for block in self.blocks.values()), strict=True)
        return tuple(self.rebuilt(blocks) for blocks in members)

    def squeezed(self, axes: int) -> Self:
        return self.each[0] if axes else self

    def stack(self, k: int) -> Any:
        if not self.lone:
            return super().stack(k)
        return self.rebuilt(stacked_or_side_by_side(block, k) for block in self.blocks.values())

    def marginal(self, *columns: Any) -> Any:
        """The distribution of some columns alone: a part itself where one part has them, else a product."""
        wanted = {name for column in columns for name in _names(column)}
        known = {name for key in self.blocks for name in _names(key)}
        if not wanted <= known or not wanted:
            msg = f"Product has the columns {', '.join(map(repr, known))}; got {columns!r}."
            raise ParameterError(msg)
        found = []
        for key, block in self.blocks.items():
            kept = [i for i, name in enumerate(_names(key)) if name in wanted]
            if kept and len(kept) == len(_names(key)):
                found.append((key, block))
            elif kept:
                names = tuple(key[i] for i in kept)
                found.append((names if len(names) > 1 else names[0], _columns_of(block, kept)))
        if len(found) == 1:
            return found[0][1]
        return replace(self, parts=tuple(found) if self.named else tuple(block for _, block in found))

    # ---- rows ---------------------------------------------------------------------------------------------------
    def settled(self, x: Any) -> Any:
        """Data in a form that can be read more than once; rows with names become columns with names."""
        x = listed(x)
        if isinstance(x, (np.ndarray, np.void)) and x.dtype.names:
            return {name: x[name] for name in x.dtype.names}
        if isinstance(x, (list, tuple)) and len(x) and isinstance(x[0], Mapping):
            other = next((i for i, row in enumerate(x) if not isinstance(row, Mapping)), None)
            if other is not None:
                msg = f"Product: row 0 is a mapping, but row {other} is {x[other]!r:.60}; give all rows alike."
                raise DataError(msg)
            return {name: [row.get(name) for row in x] for name in dict.fromkeys(name for row in x for name in row)}
        return x

    def read(self, x: Any) -> Table:
        x = self.settled(x)
        if not _keyed(x) and not isinstance(x, Table):
            refuse_what_is_no_data(x, self.name)
        columns = x.parts if isinstance(x, Table) else self._by_name(x) if _keyed(x) else self._by_position(x)
        parts = []
        for (key, block), column in zip(self.blocks.items(), columns, strict=True):
            with naming(f"column {key!r}"):
                parts.append(block.read(column))
        lengths = {key: len(part) for key, part in zip(self.blocks, parts, strict=True)}
        if len(set(lengths.values())) > 1:
            msg = f"the columns have different lengths: {lengths}; give as many values in each."
            raise DataError(msg)
        return Table(tuple(parts), len(parts[0]))

    def _by_name(self, x: Any) -> list[Any]:
        single, columns = self._single(x), []
        for key, block in self.blocks.items():
            missing = [name for name in _names(key) if name not in x]
            if missing or not self.named:
                needed = ", ".join(repr(name) for key in self.blocks for name in _names(key))
                there = ", ".join(map(repr, x.keys()))
                msg = f"Product needs the columns {needed}; the data have {there}. Name them alike."
                raise DataError(msg)
            values = [_array(x[name], f"column {name!r}") for name in _names(key)]
            values = [value[None] for value in values] if single else values
            if isinstance(key, tuple):
                columns.append(np.ma.stack(values, axis=1))
                continue
            value = values[0][:, None] if values[0].ndim == 1 else values[0]
            if value.ndim == 2 and value.shape[1] != 1 and not (block.row_vector or block.support.core):
                msg = f"column {key!r} has {value.shape[1]} columns of its own; name them one by one, as in ('x', 'y')."
                raise DataError(msg)
            columns.append(value)
        return columns

    def _by_position(self, x: Any) -> list[Any]:
        array = _array(x, self.name)
        if array.dtype.kind in "US" and not isinstance(x, np.ndarray):
            array = np.array(x, dtype=object)  # rows of numbers and labels: each cell keeps its kind
        if array.ndim == 1:
            array = array[None] if self._single(x) else array[:, None]
        widths = self._widths(array.shape[1] if array.ndim == 2 else None)
        if array.ndim != 2 or None in widths or sum(width or 0 for width in widths) != array.shape[1]:
            known = "an unknown number of" if None in widths else sum(width or 0 for width in widths)
            msg = (
                f"Product describes {known} columns, but the data have shape {array.shape}; give rows × those columns."
            )
            raise DataError(msg)
        cuts = np.cumsum([0, *(width or 0 for width in widths)])
        return [array[:, a:b] for a, b in pairwise(cuts)]

    def _single(self, x: Any) -> bool:
        if isinstance(x, Table):
            return False
        if _keyed(x):
            return all(
                np.ndim(x[name]) == (0 if isinstance(key, tuple) else max(block.support.core, int(block.row_vector)))
                for key, block in self.blocks.items()
                for name in _names(key)
                if name in x
            )
        return np.ndim(x) == 1 and self.columns not in (None, 1) and len(x) == self.columns

    def shaped(self, rows: Any) -> Self:
        return self.rebuilt(block.shaped(part) for block, part in zip(self.blocks.values(), rows.parts, strict=True))

    def remark(self, rows: Any, where: str = "") -> None:
        for (key, block), part in zip(self.blocks.items(), rows.parts, strict=True):
            block.remark(part, f"{where}column {key!r}: ")

    def log_density(self, x: Any) -> Array:
        out = np.zeros((len(x), self.members))
        for block, part in zip(self.blocks.values(), x.parts, strict=True):
            out += block.log_density(part)
        return out

    def pieces(self, x: Any) -> list[tuple[Any, Array]]:
        found, first = [], 0
        for (key, block), part in zip(self.blocks.items(), x.parts, strict=True):
            names = _names(key) if self.named else None
            width = 0
            for columns, scores in block.pieces(part):
                width = max(width, max(columns) + 1)
                if names is None:
                    found.append((tuple(first + column for column in columns), scores))
                else:
                    found.append((names if len(names) < width else tuple(names[column] for column in columns), scores))
            first += width
        return found

    def gather(self, x: Any, w: Weights) -> Parts:
        parts = []
        for (key, block), part in zip(self.blocks.items(), x.parts, strict=True):
            with naming(f"column {key!r}"):
                parts.append(block.gather(part, w))
        weight = np.concatenate([np.asarray(part.weight).reshape(self.members, -1) for part in parts], axis=1)
        return Parts(tuple(parts), weight)

    # ---- as members of a mixture --------------------------------------------------------------------------------
    def staged(self, rows: Any) -> Any:
        parts = zip(self.blocks.values(), rows.parts, strict=True)
        return Table(tuple(block.staged(part) for block, part in parts), len(rows))

    def floor(self) -> Any:
        return {key: block.floor() for key, block in self.blocks.items()}

    def raised(self, floor: Any) -> Self:
        return self if floor is None else self.rebuilt(block.raised(floor[key]) for key, block in self.blocks.items())

    def held(self, floor: Any) -> Array:
        floors = floor or dict.fromkeys(self.blocks)
        return np.asarray(np.any([block.held(floors[key]) for key, block in self.blocks.items()], axis=0))

    def narrowness(self, stats: Any) -> Array:
        return np.asarray(np.min([block.narrowness(part) for block, part in self._each_with(stats)], axis=0))

    def rounding(self, stats: Any) -> float:
        return float(sum(block.rounding(part) for block, part in self._each_with(stats)))

    def chosen(self, order: Array) -> Self:
        return self.rebuilt(block.chosen(order) for block in self.blocks.values())

    def exposure(self, x: Any) -> Array | None:
        parts = [block.exposure(part) for block, part in zip(self.blocks.values(), x.parts, strict=True)]
        if all(part is None for part in parts):
            return None
        paired = zip(parts, self.blocks.values(), strict=True)
        return np.concatenate([filled(part, block, len(x)) for part, block in paired], axis=1)

    def exposed(self, stats: Any) -> Array:
        return np.concatenate([block.exposed(part) for block, part in self._each_with(stats)], axis=1)

    # ---- learning -----------------------------------------------------------------------------------------------
    def _each_with(self, stats: Any) -> zip[tuple[Any, Any]]:
        return zip(self.blocks.values(), stats.parts, strict=True)

    def for_statistics(self, stats: Any) -> Self:
        return self.rebuilt(block.for_statistics(part) for block, part in self._each_with(stats))

    def start(self, x: Any, weights: Any = None, rng: np.random.Generator | None = None) -> Self:
        rows = self.read(x)
        paired = zip(self.shaped(rows).blocks.values(), rows.parts, strict=True)
        return self.rebuilt(block.start(part, weights, rng) for block, part in paired)

    def estimate(self, stats: Any, prior: Any = None) -> Self:
        self.check_owner(stats)
        priors = self.priors(prior)
        paired = zip(self.blocks.items(), stats.parts, strict=True)
        return self.rebuilt(block.estimate(part, priors.get(key)) for (key, block), part in paired)

    def estimate_above(self, stats: Any, prior: Any, floor: Any) -> Self:
        self.check_owner(stats)
        priors, floors = self.priors(prior), floor or dict.fromkeys(self.blocks)
        paired = zip(self.blocks.items(), stats.parts, strict=True)
        return self.rebuilt(block.estimate_above(part, priors.get(key), floors[key]) for (key, block), part in paired)

    def likelihood_cells(self, stats: Any) -> Array:
        return np.stack([block.likelihood_cells(part).sum(axis=-1) for block, part in self._each_with(stats)], axis=-1)

    def unbiased(self, stats: Any, ddof: float) -> Self:
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

    def alerts(self, stats: Any) -> tuple[Alert, ...]:
        paired = zip(self.blocks.items(), stats.parts, strict=True)
        return tuple(
            (code, f"column {key!r}: {text}") for (key, block), part in paired for code, text in block.alerts(part)
        )

    def column_label(self, column: int) -> str:
        labels = [
            str(key)
            for key, block in self.blocks.items()
            for _ in range(1 if block.row_vector or block.support.core else int(block.columns or 1))
        ]
        return labels[column] if self.named and column < len(labels) else super().column_label(column)

    # ---- believing ----------------------------------------------------------------------------------------------
    def priors(self, prior: Any) -> dict[Any, Any]:
        """The prior of each part."""
        if prior is None:
            return {}
        if isinstance(prior, str):
            return dict.fromkeys(self.blocks, prior)
        if isinstance(prior, ProductPosterior):
            return prior.beliefs
        if isinstance(prior, (list, tuple)) and not self.named and len(prior) == len(self.blocks):
            return dict(enumerate(prior))
        if not isinstance(prior, Mapping):
            msg = f"a product's prior is {{column: prior}}; got {prior!r:.60}."
            raise UnsupportedError(msg)
        unknown = [key for key in prior if key not in self.blocks]
        if unknown:
            there = ", ".join(map(repr, self.blocks))
            msg = f"the prior speaks of {unknown[0]!r}, but the product has {there}. Name them alike."
            raise ParameterError(msg)
        return dict(prior)

    def posterior(self, stats: Any, prior: Any) -> ProductPosterior:
        """What to believe of each part's parameters; independent parts have independent beliefs."""
        self.check_owner(stats)
        priors = self.priors(prior)
        silent = [key for key in self.blocks if priors.get(key) is None]
        if silent:
            msg = f"the prior says nothing of column {silent[0]!r}; give each part one, or 'weak'."
            raise UnsupportedError(msg)
        paired = zip(self.blocks.items(), stats.parts, strict=True)
        beliefs = {key: block.posterior(part, priors[key]) for (key, block), part in paired}
        return ProductPosterior(self, beliefs)

    def weak_prior(self, stats: Any) -> dict[Any, Any]:
        paired = zip(self.blocks.items(), stats.parts, strict=True)
        return {key: block.weak_prior(part) for (key, block), part in paired}

    def log_prior(self, prior: Any) -> Array:
        priors = self.priors(prior)
        given = {key: belief for key, belief in priors.items() if belief is not None}
        return np.asarray(sum(np.sum(self.blocks[key].log_prior(belief)) for key, belief in given.items()))

    def weak_belief(self, rows: Any, weights: Any) -> Any:
        found = {key: block.weak_belief(part, weights) for (key, block), part in self._each_row_part(rows)}
        return None if all(one is None for one in found.values()) else found

    def settle_prior(self, prior: Any, rows: Any, weights: Any) -> Any:
        """As each part does; a name is a prior of each part that has one."""
        named = any(isinstance(one, str) for one in self.priors(prior).values())
        return self._settled("settle_part" if named else "settle_prior", prior, rows, weights)

    def settle_part(self, prior: Any, rows: Any, weights: Any) -> Any:
        return self._settled("settle_part", prior, rows, weights)

    def _settled(self, how: str, prior: Any, rows: Any, weights: Any) -> Any:
        beliefs, settled = self.priors(prior), {}
        for (key, block), part in self._each_row_part(rows):
            with naming(f"column {key!r}", UnsupportedError):
                settled[key] = getattr(block, how)(beliefs.get(key), part, weights)
        same = all(settled[key] is beliefs.get(key) for key in settled)
        return prior if same else settled

    def _each_row_part(self, rows: Any) -> Iterator[tuple[tuple[Any, Any], Any]]:
        return zip(self.shaped(rows).blocks.items(), rows.parts, strict=True)

    def silent(self, prior: Any) -> tuple[str, ...]:
        beliefs = self.priors(prior)
        found = {key: block.silent(beliefs.get(key)) for key, block in self.blocks.items()}
        return tuple(f"column {key!r} ({name})" for key, names in found.items() for name in names)

    # ---- asking -------------------------------------------------------------------------------------------------
    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """Draw rows: a dictionary of columns, or for columns by position an array (n, d)."""
        rng = np.random.default_rng(random_state)
        drawn = {key: block.sample(n, rng) for key, block in self.blocks.items()}
        if self.named:
            columns: dict[Any, Any] = {}
            for key, values in drawn.items():
                if isinstance(key, tuple):
                    columns.update({name: values[..., i] for i, name in enumerate(key)})
                else:
                    columns[key] = values if self.lone or self.blocks[key].row_vector else values[..., 0]
            return columns
        lead = (n,) if self.lone else (n, self.members)
        arrays = [np.asarray(values) for values in drawn.values()]
        arrays = [array.reshape(*lead, int(np.prod(array.shape[len(lead) :]))) for array in arrays]
        mixed = any(array.dtype.kind not in "fiub" for array in arrays)
        return np.concatenate([array.astype(object) if mixed else array for array in arrays], axis=-1)

    def entropy(self) -> Any:
        return sum(block.entropy() for block in self.blocks.values())

    def kl(self, other: Any) -> Any:
        """D(self‖other): the sum over the parts, which must be the same columns."""
        if not isinstance(other, Product) or list(other.blocks) != list(self.blocks):
            msg = f"Product is compared with a product of the same columns; got {other!r:.80}."
            raise UnsupportedError(msg)
        return sum(block.kl(theirs) for block, theirs in zip(self.blocks.values(), other.blocks.values(), strict=True))

    def __repr__(self) -> str:
        """Show the call that makes it."""
        shown = ", ".join(f"{key!r}: {block!r}" if self.named else repr(block) for key, block in self.blocks.items())
        return f"Product({{{shown}}})" if self.named else f"Product([{shown}])"


def _names(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _keyed(x: Any) -> bool:
    """Whether rows come as columns by name: a mapping or anything like one."""
    return hasattr(x, "keys") and hasattr(x, "__getitem__")


def _array(x: Any, owner: str) -> Any:
    """An array, whose mask is left to the part that reads it."""
    if isinstance(x, np.ma.MaskedArray):
        return x
    array = cells(x, owner)
    text = array.dtype.kind in "US" and not hasattr(x, "dtype")
    return np.asarray(x, dtype=object) if text and array.ndim == 1 else array  # NumPy makes text of None and NaN


def _columns_of(block: Any, kept: list[int]) -> Any:
    if block.row_vector:
        return block.of_columns(kept)
    axis = len(block.batch) - 1
    chosen = kept if len(kept) > 1 else kept[0]
    return block.reshaped(lambda value: value[(slice(None),) * axis + (chosen,)])
