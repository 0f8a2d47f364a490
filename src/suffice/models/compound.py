"""What every distribution made of distributions shares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.family import Family
from suffice.errors import DataError, UnsupportedError, naming
from suffice.statistics.sums import Parts
from suffice.tables.scales import moments_of, scale_of_moments
from suffice.tables.sketch import blank, combined, points, rounded_hash, row_hash
from suffice.types import Alert, Array, Prior


@dataclass(frozen=True)
class Table:
    """Rows in parts, each read by the distribution that describes it; it has a length, slices and a shape."""

    parts: tuple[Any, ...]
    length: int

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.length

    def __getitem__(self, rows: slice) -> Self:
        """Return a slice of the rows."""
        start, stop, _ = rows.indices(self.length)
        return type(self)(tuple(part[rows] for part in self.parts), max(stop - start, 0))

    def take(self, index: Array) -> Self:
        """Return some of the rows."""
        taken = (part.take(index) if isinstance(part, Table) else part[index] for part in self.parts)
        return type(self)(tuple(taken), len(index))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.length, sum(int(np.prod(np.shape(part)[1:])) for part in self.parts)


def width_of(block: Family) -> int | None:
    """How many columns of an array a distribution describes; None where the data will tell."""
    if not block.support.core:
        return block.columns if block.row_vector else int(block.columns or 1)
    lengths = [
        np.shape(getattr(block, name))[-1]
        for name, spec in block.specs().items()
        if spec.domain.core and getattr(block, name) is not None
    ]
    return lengths[0] * int(block.columns or 1) if lengths else None


def filled(exposure: Array | None, block: Family, n: int) -> Any:
    """The exposure (n, cells) of a block's rows, where None is 1 everywhere."""
    return np.ones((n, _cells(block))) if exposure is None else exposure


def _cells(block: Family) -> int:
    """How many cells a block sees in a row: a vector is one."""
    return sum(map(_cells, block.blocks.values())) if block.blocks else 1 if block.row_vector else int(block.batch[-1])


@dataclass(frozen=True, eq=False, repr=False)
class Compound(Family, register=False):
    """A distribution made of ``blocks``; its statistics are theirs, side by side."""

    row_vector = True

    def rebuilt(self, blocks: Any) -> Self:
        """The same with other blocks."""
        raise NotImplementedError

    def by_key(self, answers: dict[Any, Any]) -> dict[Any, Any]:
        """Answers of the blocks, in the form in which they are given."""
        return answers

    @property
    def parameter_names(self) -> tuple[Any, ...]:
        return tuple(self.params)

    @property
    def params(self) -> dict[Any, Any]:
        """The parameters of each block."""
        return self.by_key({key: block.params for key, block in self.blocks.items()})

    @property
    def free(self) -> tuple[Any, ...]:
        """The blocks that fitting may change."""
        return tuple(key for key, block in self.blocks.items() if block.free)

    @property
    def is_single_cluster(self) -> bool:
        return all(block.is_single_cluster for block in self.blocks.values())

    @property
    def ready(self) -> bool:
        return all(block.ready for block in self.blocks.values())

    @property
    def exact(self) -> bool:
        return all(block.exact for block in self.blocks.values())

    @property
    def n_parameters(self) -> int:
        return sum(int(block.n_parameters) for block in self.blocks.values())

    def fix(self, *names: str) -> Self:
        raise self._per_block("fix", names)

    def tie(self, *names: str) -> Self:
        raise self._per_block("tie", names)

    def _per_block(self, verb: str, names: tuple[str, ...]) -> UnsupportedError:
        shown = ", ".join(map(repr, names)) or "…"
        return UnsupportedError(
            f"{self.name} has no parameters of its own: {verb} those of a part, as in Normal().{verb}({shown})."
        )

    def require_ready(self, what: str) -> None:
        for block in self.blocks.values():
            block.require_ready(what)

    def tag_family(self, stats: Parts) -> Any:
        parts = tuple(block.tag_family(part) for block, part in zip(self.blocks.values(), stats.parts, strict=True))
        return replace(stats, parts=parts, family=self._statistics_family)

    def check_family(self, stats: Parts) -> None:
        super().check_family(stats)
        parts = getattr(stats, "parts", ())
        if len(parts) != len(self.blocks):
            msg = (
                f"{self.name} has {len(self.blocks)} parts, but the statistics have {len(parts)}. "
                "Gather them with the same prototype."
            )
            raise DataError(msg)
        for (key, block), part in zip(self.blocks.items(), parts, strict=True):
            with naming(f"part {key!r}"):
                block.check_family(part)

    def needs_rows(self, stats: Parts) -> bool:
        return any(block.needs_rows(part) for block, part in zip(self.blocks.values(), stats.parts, strict=True))

    def log_likelihood(self, stats: Parts) -> Any:
        self.check_family(stats)
        model = self.for_statistics(stats)
        total = model.stacked.likelihood_cells(stats).sum(axis=-1)
        return float(total[0]) if model.lone else total

    def standard_errors(self, stats: Any) -> dict[Any, Any]:
        """Standard errors of each block's parameters."""
        self.check_family(stats)
        paired = zip(self.blocks.items(), stats.parts, strict=True)
        return self.by_key({key: block.standard_errors(part) for (key, block), part in paired})

    def for_statistics(self, stats: Parts) -> Self:
        return self.rebuilt(b.for_statistics(part) for b, part in zip(self.blocks.values(), stats.parts, strict=True))

    def estimate(self, stats: Parts, prior: Prior = None) -> Self:
        self.check_family(stats)
        whole = zip(*self.with_priors(stats, prior), strict=True)
        return self.rebuilt(block.estimate(part, own) for block, part, own in whole)

    def rounding(self, stats: Parts) -> float:
        return float(sum(b.rounding(part) for b, part in zip(self.blocks.values(), stats.parts, strict=True)))

    def with_priors(self: Any, stats: Parts, prior: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """The blocks, their statistics and their priors; None where a block has no prior."""
        priors = self.priors(prior)
        given = priors if isinstance(priors, dict) else dict(enumerate(priors))
        return list(self.blocks.values()), list(stats.parts), [given.get(key) for key in self.blocks]

    def block_alerts(self, stats: Parts, prior: Prior) -> Iterator[tuple[Any, Alert]]:
        """The alerts of each block, each with the key of the block."""
        for key, block, part, own in zip(self.blocks, *self.with_priors(stats, prior), strict=True):
            yield from ((key, alert) for alert in block.alerts_under(part, own))

    def alerts(self, stats: Parts) -> tuple[Alert, ...]:
        return self.alerts_under(stats, None)

    def errors_from(self, stats: Parts, data: tuple[Any, ...] | None) -> dict[Any, Any]:
        """Standard errors of each block's parameters; ``data`` are rows in parts and weights."""
        self.check_family(stats)
        views = [None] * len(self.blocks) if data is None else [(part, data[1]) for part in data[0].parts]
        whole = zip(self.blocks.items(), stats.parts, views, strict=True)
        return self.by_key({key: block.errors_from(part, view) for (key, block), part, view in whole})

    def confidence_bounds(self, errors: dict[Any, Any], reach: float) -> dict[Any, Any]:
        return self.by_key(super().confidence_bounds(errors, reach))

    @property
    def mean(self) -> dict[Any, Any]:
        """The mean of each block."""
        return self.by_key({key: block.mean for key, block in self.blocks.items()})

    @property
    def var(self) -> dict[Any, Any]:
        """The variance of each block."""
        return self.by_key({key: block.var for key, block in self.blocks.items()})

    @property
    def std(self) -> dict[Any, Any]:
        """The standard deviation of each block."""
        return self.by_key({key: block.std for key, block in self.blocks.items()})

    def cdf(self, x: Any) -> Any:
        raise self._of_parts("cdf")

    def quantile(self, q: Any) -> Any:
        raise self._of_parts("quantile")

    def _of_parts(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"{self.name} has no {what} as a whole; ask one of its blocks, as in .blocks[key].{what}(…)."
        )

    def __hash__(self) -> int:
        """Hash of the blocks."""
        return hash((type(self), *self.blocks, *self.blocks.values()))


@row_hash.register
def _(rows: Table, seed: int) -> Any:
    return combined([row_hash(part, seed) for part in rows.parts], seed)


@rounded_hash.register
def _(rows: Table, scale: tuple[Any, ...], steps: float, seed: int) -> Any:
    hashes = [rounded_hash(part, of_part, steps, seed) for part, of_part in zip(rows.parts, scale, strict=True)]
    return combined(hashes, seed)


@dataclass(frozen=True)
class _Moments:
    """The moments of each part of rows, None where it has no numbers."""

    parts: tuple[Any, ...]

    def __add__(self, other: _Moments) -> _Moments:
        pairs = zip(self.parts, other.parts, strict=True)
        return _Moments(tuple(None if one is None else one + its for one, its in pairs))


@moments_of.register
def _(rows: Table, weights: Array | None) -> _Moments:
    return _Moments(tuple(moments_of(part, weights) for part in rows.parts))


@scale_of_moments.register
def _(moments: _Moments) -> tuple[Any, ...]:
    return tuple(scale_of_moments(part) for part in moments.parts)


@points.register
def _(rows: Table, weights: Array) -> Any:
    return np.concatenate([points(part, weights) for part in rows.parts], axis=1)


@blank.register
def _(rows: Table) -> Any:
    return np.logical_and.reduce([blank(part) for part in rows.parts])
