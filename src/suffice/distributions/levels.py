"""Which labels there are: levels that are learned, declared, merged and padded, and probabilities that follow them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from suffice.core.parameters import UNIT, Domain, described, parameter
from suffice.core.value import replace_valid
from suffice.distributions.indicators import Indicators, short, uniform
from suffice.engines.once import cached_property
from suffice.errors import ParameterError
from suffice.statistics.sums import Counts, check_pools
from suffice.tables.labels import in_order, is_missing, plain
from suffice.types import Array, Label

Levels = tuple[tuple[Any, ...], ...]
POOL = "(other)"  # what `sf.infer` calls the level that stands for all rare ones


def _shares(value: Array) -> Array:
    """Whether probabilities sum to 1; all 0 where a column has no levels yet."""
    total = value.sum(axis=-1)
    return np.asarray((np.abs(total - 1.0) <= 1e-8) | (total == 0))


PROBABILITIES = Domain("probabilities that sum to 1", 0.0, 1.0, closed=(True, True), core=1, rule=_shares)


@dataclass(frozen=True, eq=False, repr=False)
class Levelled(Indicators, register=False):
    """Components with probabilities of the levels of each column."""

    levels: Any = field(
        default=None,
        metadata=described(
            "sequence, or one for each column, optional",
            "The labels there can be, in order; by default those of the data.",
        ),
    )
    probs: Any = parameter(PROBABILITIES, typical=(0.1, 0.9))
    unseen: Any = parameter(UNIT, typical=(0.0, 0.1), learned=False, estimated=True)
    pool: Any = field(
        default=None,
        kw_only=True,
        metadata=described("label, optional", "The level that stands for every label that is none of the levels."),
    )

    def __post_init__(self) -> None:
        """Bring levels and probabilities together: a tuple for one column, a tuple of tuples for several."""
        if self.levels is None and self.probs is not None:
            object.__setattr__(self, "levels", tuple(range(np.shape(self.probs)[-1])))
        named = None if self.levels is None else _columns(self.levels)
        if named is not None and self.probs is None:
            probs = np.array([uniform(len(column), max(map(len, named))) for column in named])
            object.__setattr__(self, "probs", probs[0] if not _nested(self.levels) else probs)
        super().__post_init__()
        if self.pool is not None and not (named and all(self.pool in column for column in named)):
            msg = (
                f"Categorical: pool is one of the declared levels, which stands for all others; got {self.pool!r:.60}."
            )
            raise ParameterError(msg)
        if named is None:
            return
        width = self.batch[-1] if self.batch else 1
        if len(named) not in (1, width):
            msg = f"Categorical names the levels of {len(named)} columns, but probs has {width}."
            raise ParameterError(msg)
        named = named if len(named) == width else named * width
        lengths = np.array([len(column) for column in named])
        beyond = np.arange(self.probs.shape[-1]) >= lengths[:, None]
        if lengths.max() > self.probs.shape[-1] or (self.probs * beyond).any():
            msg = f"Categorical has {self.probs.shape[-1]} probabilities for {lengths.max()} levels; give one for each."
            raise ParameterError(msg)
        if (np.atleast_1d(self.probs.sum(axis=-1) == 0) & (lengths > 0)).any():
            msg = f"Categorical: probs must be probabilities that sum to 1; got {self.probs.tolist()!r:.60}."
            raise ParameterError(msg)
        object.__setattr__(self, "levels", named if self.batch else named[0])
        object.__setattr__(self, "probs", self.probs[..., : lengths.max()])

    @classmethod
    def example(cls, rng: np.random.Generator, batch: tuple[int, ...] = ()) -> Self:
        """A typical value: three levels in each column, letters and words in turn."""
        kinds = (("a", "b", "c"), ("no", "perhaps", "yes"))
        named = tuple(kinds[column % 2] for column in range(batch[-1] if batch else 1))
        return cls(named if batch else named[0], rng.dirichlet(np.full(3, 3.0), batch))

    @property
    def by_label(self) -> dict[Any, float]:
        """The probability of each level of a single column."""
        return dict(zip(self.levels, np.asarray(self.probs).tolist(), strict=False))

    def reshaped(self, change: Callable[..., Any]) -> Self:
        """Apply ``change`` to the probabilities, and let the levels follow their columns."""
        if self.levels is None:
            return self
        places = np.arange(len(self.named))[:, None] if self.batch else np.zeros(1, dtype=int)
        moved = change(np.broadcast_to(places, (*self.batch, 1)))[..., 0]
        names = [self.named[j] for j in np.atleast_2d(moved)[0]]
        unseen = None if self.unseen is None else change(np.asarray(self.unseen))
        unseen = unseen if unseen is None or unseen.ndim else float(unseen)
        probs = change(np.asarray(self.probs))[..., : max(map(len, names))]
        found: Self = replace_valid(self, levels=tuple(names) if moved.ndim else names[0], probs=probs, unseen=unseen)
        found.__dict__["batch"] = probs.shape[:-1]
        return found

    @cached_property
    def named(self) -> Levels:
        """The levels of each column."""
        return () if self.levels is None else _columns(self.levels)

    def column_levels(self, label: int) -> tuple[Any, ...] | None:
        return self.named[label] if self.named else None

    def for_data(self, rows: Any) -> Self:
        if self.levels is not None:
            return self.widened(rows.shape[1])
        return self._over(tuple(column.seen for column in rows.columns))

    def for_statistics(self, stats: Counts) -> Self:
        if self.levels is None:
            check_pools("a Categorical", (stats.levels, self.pool), (stats.levels, stats.pool))
            return super(Levelled, self._over(tuple(map(in_order, stats.levels)))).for_statistics(stats)
        model = super().for_statistics(stats)
        check_pools("a Categorical", (model.named, self.pool), (stats.levels, stats.pool))
        named = tuple(
            mine if mine == theirs else mine + in_order(set(theirs) - set(mine))
            for mine, theirs in zip(model.named, stats.levels, strict=True)
        )
        if named == model.named:
            return model
        missing = max(map(len, named)) - model.probs.shape[-1]
        padded = np.pad(model.probs, [(0, 0)] * (model.probs.ndim - 1) + [(0, max(missing, 0))])
        return replace(model, levels=named if model.batch else named[0], probs=padded)

    def with_parameters_of(self, components: Any, proportions: Array) -> Any:
        found = [self._renamed(one) if isinstance(one, Levelled) else one for one in components]
        return super().with_parameters_of(found, proportions)

    def _renamed(self, other: Self) -> Self:
        """The same probabilities, by the names and in the order of these levels."""
        mine, theirs = self.stacked.named, other.stacked.named
        if mine == theirs:
            return other
        probs = np.zeros((1, *np.shape(self.stacked.probs)[1:]))
        for column, (names, known) in enumerate(zip(mine, theirs, strict=False)):
            if not set(names) <= set(known):
                unknown = next(name for name in names if name not in known)
                msg = f"start= gives no probability to {unknown!r}, one of the levels {short(names)}; give it one."
                raise ParameterError(msg)
            probs[:, column, : len(names)] = other.stacked.probs[:, column, [known.index(name) for name in names]]
        total = probs.sum(axis=-1, keepdims=True)
        return replace(self.stacked, probs=np.where(total > 0, probs / np.where(total > 0, total, 1.0), 1.0))

    def _over(self, named: Levels) -> Self:
        """The prototype over these levels, all equally probable."""
        width = max(map(len, named))
        probs = np.array([uniform(len(column), width) for column in named])
        lone = len(named) == 1
        return replace(self, levels=named[0] if lone else named, probs=probs[0] if lone else probs)

    def possible(self) -> Array:
        lengths = np.array([len(levels) for levels in self.named])
        return np.asarray(np.arange(self.probs.shape[-1]) < lengths[:, None], dtype=float)

    @property
    def n_parameters(self) -> int:
        """One less than the levels of each column, for each component."""
        own = sum(max(len(column) - 1, 0) for column in self.named)
        return 0 if not self.free else own * (1 if self.tied else self.n_components)

    def level_at(self, name: str, place: tuple[int, ...]) -> Label | None:
        levels = self.named[place[-2] if len(place) > 1 else 0]
        return levels[place[-1]] if place[-1] < len(levels) else None

    def label(self, name: str, place: tuple[int, ...]) -> str:
        levels = self.named[place[-2] if len(place) > 1 else 0]
        if place[-1] >= len(levels):  # padding
            return ""
        level = str(levels[place[-1]])
        return f"{name}[{', '.join([*map(str, place[:-1]), level])}]"


class _Checked(tuple[Any, ...]):
    """Levels of one column that were found to be in order."""

    __slots__ = ()


def _nested(levels: Any) -> bool:
    return len(levels) > 0 and all(isinstance(one, (tuple, list, np.ndarray)) for one in levels)


def _columns(levels: object) -> Levels:
    """Levels as given, checked, one tuple for each column."""
    if isinstance(levels, str) or not hasattr(levels, "__iter__") or not hasattr(levels, "__len__"):
        msg = f"Categorical: levels is a list of labels, such as ['no', 'yes']; got {levels!r:.60}."
        raise ParameterError(msg)
    single = isinstance(levels, _Checked) or not _nested(levels)
    return tuple(map(_checked, [levels] if single else levels))


def _checked(column: Any) -> tuple[Any, ...]:
    if isinstance(column, _Checked):
        return column
    labels = _Checked(map(plain, column))
    if len(set(labels)) < len(labels) or any(map(is_missing, labels)):
        msg = f"Categorical: levels are different labels, none of them missing; got {short(labels)}."
        raise ParameterError(msg)
    return labels
